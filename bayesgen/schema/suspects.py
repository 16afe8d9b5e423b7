"""Columns that look like something other than a feature: numbers as text, row numbers, keys.

These are warnings: codes such as ICD's mix numbers and text, and a sorted column may be measured.
"""

import re

import numpy as np

from bayesgen.errors import (
    BayesgenWarning,
    IdentifierColumn,
    NotNumeric,
    TextNumbers,
)
from bayesgen.table import TableColumn, is_number

FEW_ROWS = 20
"""With so few rows neither a level for every row nor ascending numbers are a sign of a key."""
NUMBERS_SHARE = 0.9
"""Of the observed cells of a column of text: with fewer numbers it is one of names."""
FEWEST_NUMBERS = 10
"""Different numbers in a column of text: "0", "1", "2" and "3+" are levels."""
UNNAMED = re.compile(r"|Unnamed: \d+|__index_level_\d+__")
"""How pandas, polars and pyarrow name the index of a table that was written to a file."""


def suspicion(
    found: TableColumn, n_levels: int, *, named: bool, first: bool
) -> BayesgenWarning | None:
    """Return what a person should be asked about a column to fit, if anything.

    Args:
        found: the column.
        n_levels: how many levels it is read as; 0 if it is read as numbers.
        named: whether columns have names: those of an array cannot be unnamed, and are measured.
        first: whether it is the first column of its table.
    """
    if named and not found.is_missing and UNNAMED.fullmatch(str(found.name)):
        return IdentifierColumn.unnamed(found.name, first=first)
    if named and _counts_rows(found):
        return IdentifierColumn.ascending(found.name, first=first)
    if found.declared or not n_levels:
        return None
    n_rows = len(found.values)
    if found.kind == "level":
        cells, numbers, different = unreadable(found)
        observed = numbers + len(cells)
        if cells and different >= FEWEST_NUMBERS and numbers >= NUMBERS_SHARE * observed:
            return TextNumbers.cells(found.name, cells, observed)
    if n_rows > FEW_ROWS and 2 * n_levels > n_rows:
        return IdentifierColumn.column(found.name, n_levels, n_rows)
    return None


def not_numeric(found: TableColumn) -> NotNumeric:
    """Return what is wrong with a column of levels where numbers are needed."""
    cells, numbers, _ = unreadable(found)
    if found.declared or numbers <= len(cells):
        return NotNumeric.column(found.name, found.levels)
    return NotNumeric.cells(found.name, cells) if cells else NotNumeric.text(found.name)


def unreadable(found: TableColumn) -> tuple[list[tuple[str, int]], int, int]:
    """Return the cells of a column of levels that are no numbers.

    Returns:
        (text, row) of each such cell in the order of rows; how many cells are numbers; how many
        different numbers these are. Nothing of levels that are no text.
    """
    if not all(isinstance(level, str) for level in found.levels):
        return [], 0, 0
    number = np.array([is_number(level) for level in found.levels] + [False])
    observed = found.values >= 0
    rows = np.flatnonzero(observed & ~number[found.values])
    cells = [(found.levels[found.values[row]], int(row)) for row in rows]
    return cells, int(observed.sum()) - len(cells), int(number.sum())


def _counts_rows(found: TableColumn) -> bool:
    """Say whether a column holds whole numbers that rise from every row to the next."""
    values = found.values
    return (
        found.whole
        and len(values) > FEW_ROWS
        and not np.isnan(values).any()
        and bool((np.diff(values) > 0).all())
    )
