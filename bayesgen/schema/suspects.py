"""Columns that look like something other than a feature: numbers as text, row numbers, keys.

These are warnings: codes such as ICD's mix numbers and text, and a sorted column may be measured.
"""

import re

import numpy as np
from jaxtyping import Bool

from bayesgen.errors import BayesgenWarning, IdentifierColumn, NotNumeric, TextNumbers
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
        number = _are_numbers(found)
        seen = number[found.values[found.values >= 0]]
        mixed = seen.mean() if len(seen) else 0.0
        if number.sum() >= FEWEST_NUMBERS and NUMBERS_SHARE <= mixed < 1:
            return TextNumbers.cells(found.name, _others(found, number), len(seen))
    if n_rows > FEW_ROWS and 2 * n_levels > n_rows:
        return IdentifierColumn.column(found.name, n_levels, n_rows)
    return None


def not_numeric(found: TableColumn) -> NotNumeric:
    """Return what is wrong with a column of levels where numbers are needed."""
    number = _are_numbers(found)
    seen = number[found.values[found.values >= 0]]
    if found.declared or 2 * seen.sum() <= len(seen):
        return NotNumeric.column(found.name, found.levels)
    if seen.all():
        return NotNumeric.text(found.name)
    return NotNumeric.cells(found.name, _others(found, number))


def _are_numbers(found: TableColumn) -> Bool[np.ndarray, " level"]:
    """Return which levels of a column are numbers that are written as text."""
    return np.array([isinstance(v, str) and is_number(v) for v in found.levels], dtype=bool)


def _others(found: TableColumn, number: Bool[np.ndarray, " level"]) -> list[tuple[str, int]]:
    """Return (text, row) of the observed cells that are not numbers, in the order of rows."""
    rows = np.flatnonzero((found.values >= 0) & ~np.append(number, True)[found.values])
    return [(found.levels[found.values[row]], int(row)) for row in rows]


def _counts_rows(found: TableColumn) -> bool:
    """Say whether a column holds whole numbers that rise from every row to the next."""
    if not found.whole or len(found.values) <= FEW_ROWS:
        return False
    # most columns fall among the first rows; a difference to a missing cell is not above 0
    return all((np.diff(values) > 0).all() for values in (found.values[:FEW_ROWS], found.values))
