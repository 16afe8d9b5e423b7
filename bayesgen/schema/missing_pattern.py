"""Columns of the missing pattern: "age missing" is 1 where the cell of "age" is missing, else 0."""

from collections.abc import Sequence

import numpy as np

from bayesgen.schema.blocks import Column
from bayesgen.table import Name, Names, TableColumn, free
from bayesgen.typing import Block

MISSING = "missing"
"""The kind of these columns."""


class PatternOf(tuple[Name, ...]):
    """Names of the columns of a block that reads their missing pattern in place of their cells."""

    __slots__ = ()


def pattern_columns(sources: Names, taken: Names) -> tuple[Column, ...]:
    """Return the columns of the missing pattern of some columns, under names that are not taken."""
    return tuple(
        Column(free(f"{name} missing", taken), MISSING, origin=0.0, source=name) for name in sources
    )


def encoded_pattern(found: Sequence[TableColumn | None], n_rows: int) -> Block:
    """Return the missing pattern of columns, shape (row, feature).

    A column absent from the table (None) has NaN, as no cell of it is known to be missing.
    """
    out = np.full((len(found), n_rows), np.nan).T
    for j, column in enumerate(found):
        if column is not None:
            out[:, j] = column.missing
    return out
