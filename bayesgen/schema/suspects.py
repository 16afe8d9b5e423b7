"""Warnings about columns that may not be as they seem.

Numbers stored as text, row numbers, keys, blank text, and levels that may be one level in two
spellings. They are not errors: codes such as ICD's mix numbers and text, a measured column may be
sorted, and "m" and "M" may differ.
"""

import re
from collections.abc import Mapping

import numpy as np
from jaxtyping import Bool

from bayesgen.errors import (
    BayesgenWarning,
    BlankText,
    IdentifierColumn,
    NotNumeric,
    SimilarLevels,
    TextNumbers,
)
from bayesgen.table import Name, Table, TableColumn, alike, is_number

FEW_ROWS = 20
"""With so few rows neither a level for every row nor ascending numbers are a sign of a key."""
NUMBERS_SHARE = 0.9
"""Smallest share of numbers in a column of text that is taken for numbers; others hold names."""
FEWEST_NUMBERS = 10
"""Different numbers in a column of text: "0", "1", "2" and "3+" are levels."""
UNNAMED = re.compile(r"|Unnamed: \d+|__index_level_\d+__")
"""How pandas, polars and pyarrow name the index of a table that was written to a file."""


def suspicions(table: Table, n_levels: Mapping[Name, int]) -> list[BayesgenWarning]:
    """Return warnings about columns to check before fitting.

    Args:
        table: to fit.
        n_levels: columns to check, and the number of levels of each; 0 for numbers.
    """
    # columns of an array have no names, and are measured
    named = table.container != "numpy"
    place = {column.name: (column, i == 0) for i, column in enumerate(table.columns)}
    found: list[BayesgenWarning] = []
    for name, n in n_levels.items():
        column, first = place[name]
        if not column.declared and (groups := alike(column.levels)):
            found.append(SimilarLevels.column(name, groups))
        suspicion = _suspicion(column, n, named=named, first=first)
        found += [] if suspicion is None else [suspicion]
    return found


def blank_text(table: Table) -> BlankText | None:
    """Return a warning about text of blanks alone, which is read as missing."""
    blank = [] if table.matrix is not None else [c.name for c in table.columns if c.blank]
    return BlankText.in_columns(blank) if blank else None


def _suspicion(
    found: TableColumn, n_levels: int, *, named: bool, first: bool
) -> BayesgenWarning | None:
    if named and UNNAMED.fullmatch(str(found.name)) and not found.is_missing:
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
    """Return the error about a column of levels where numbers are needed."""
    if are_words(found):
        return NotNumeric.column(found.name, found.levels)
    others = _others(found, _are_numbers(found))
    return NotNumeric.cells(found.name, others) if others else NotNumeric.text(found.name)


def are_words(found: TableColumn) -> bool:
    """Return whether a column of levels is more than numbers that are written as text."""
    seen = _are_numbers(found)[found.values[found.values >= 0]]
    return found.declared or 2 * seen.sum() <= len(seen)


def _are_numbers(found: TableColumn) -> Bool[np.ndarray, " level"]:
    """Return which levels of a column are numbers that are written as text."""
    return np.array([isinstance(v, str) and is_number(v) for v in found.levels], dtype=bool)


def _others(found: TableColumn, number: Bool[np.ndarray, " level"]) -> list[tuple[str, int]]:
    """Return (text, row) of the observed cells that are not numbers, in the order of rows."""
    rows = np.flatnonzero((found.values >= 0) & ~np.append(number, True)[found.values])
    return [(found.levels[found.values[row]], int(row)) for row in rows]


def _counts_rows(found: TableColumn) -> bool:
    """Return whether a column holds whole numbers that rise from every row to the next."""
    if not found.whole or len(found.values) <= FEW_ROWS:
        return False
    # most columns fall among the first rows; a difference to a missing cell is not above 0
    return all((np.diff(values) > 0).all() for values in (found.values[:FEW_ROWS], found.values))
