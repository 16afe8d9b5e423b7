"""Imputation: draws from p(missing given observed, data), returned in the user's table."""

from typing import TypeVar, cast

import numpy as np

from bayesgen.explain.cells import Rows
from bayesgen.table import fill_table

T = TypeVar("T")
"""A table of any kind: the result is of the same kind."""


def imputed(X: T, rows: Rows, draws: int, rng: np.random.Generator) -> T | list[T]:
    """Return the table with imputed cells, or a list of such tables.

    Args:
        X: the table that the rows were read from.
        rows: whose missing cells are drawn.
        draws: number of tables; 1 returns the table itself, not a list.
        rng: random numbers.
    """
    filled = (rows.components.impute(rows.encoded, rows.n_rows, rng) for _ in range(draws))
    tables = [_filled_in(X, rows, rows.decoded(encoded)) for encoded in filled]
    return tables[0] if draws == 1 else tables


def _filled_in(X: T, rows: Rows, written: dict) -> T:
    """Return X with the missing cells of its columns filled in from whole columns."""
    parts = rows.schema.blocks.values()
    levels = {c.name: c.levels for part in parts for c in part if c.declared}
    missing, cells, declared = rows.missing(), {}, {}
    for name, values in written.items():
        own, where = missing[name]
        cells[own] = where, values
        if name in levels:
            declared[own] = levels[name]
    there = tuple(rows.table.names)
    fitted = [name for name in rows.schema.names if name in cells or name in there]
    # in the order of the fit, unless the table has one of its own
    ordered = [name for name in fitted if name in there] == list(there)
    names = fitted if ordered else dict.fromkeys([*there, *cells])
    return cast(T, fill_table(X, rows.table.container, tuple(names), cells, declared))
