"""Contingency tables over columns of levels: the cell of each row, sums over missing columns.

A table is stored flat: one cell for each combination of levels, the last column varying fastest.
"""

import functools
import math
from collections.abc import Callable, Iterator

import numpy as np
from jaxtyping import Bool, Int

from bayesgen.typing import Block, LevelCounts, Traceable

MOST_CELLS = 10_000
"""Largest table of one class. The 4,000 draws that samplers keep of it are 320 MB, and a table of
more cells than that needs tens of thousands of rows to be informative."""

CACHED_FLOATS = 8_000_000
"""Entries of summed tables kept while rows are scored: 64 MB, or one table where it has more."""

ROWS = (True, False)
"""The pattern of a table of rows by missing columns: its rows are observed."""

Pattern = tuple[bool, ...]
"""Which columns are observed."""


def shape(n_levels: LevelCounts) -> LevelCounts:
    """Return the shape of the table; a column without levels has one slot."""
    return tuple(max(n, 1) for n in n_levels)


def n_cells(n_levels: LevelCounts) -> int:
    """Return the number of cells of the table."""
    return math.prod(shape(n_levels))


def cells(x: Traceable, n_levels: LevelCounts, pattern: Pattern) -> Traceable:
    """Return the cell of each row in the table of the observed columns.

    Runs on NumPy and on traced JAX arrays.
    """
    out = 0 * x[:, 0]
    for j, (size, seen) in enumerate(zip(shape(n_levels), pattern, strict=True)):
        if seen:
            out = out * size + x[:, j]
    return out


def summed(table: Traceable, n_levels: LevelCounts, pattern: Pattern) -> Traceable:
    """Return the table of the observed columns: the others summed out, (..., cell) to (..., cell).

    Runs on NumPy and on traced JAX arrays.
    """
    missing = [j for j, seen in enumerate(pattern) if not seen]
    if not missing:
        return table
    batch = table.shape[:-1]
    wide = table.reshape(*batch, *shape(n_levels))
    return wide.sum(axis=tuple(len(batch) + j for j in missing)).reshape(*batch, -1)


def log_summed(table: np.ndarray, n_levels: LevelCounts, pattern: Pattern) -> np.ndarray:
    """Return `summed` of logs, in logs: exact however small the probabilities."""
    batch = table.shape[:-1]
    wide = table.reshape(*batch, *shape(n_levels))
    # the last axis first: positions of the others stay
    for j in reversed([j for j, seen in enumerate(pattern) if not seen]):
        wide = np.logaddexp.reduce(wide, axis=len(batch) + j)
    return wide.reshape(*batch, -1)


def repeated(table: np.ndarray, n_levels: LevelCounts, pattern: Pattern) -> np.ndarray:
    """Return a table of the observed columns over all cells: the transpose of `summed`."""
    batch, whole = table.shape[:-1], shape(n_levels)
    thin = (n if seen else 1 for n, seen in zip(whole, pattern, strict=True))
    wide = table.reshape(*batch, *thin)
    return np.broadcast_to(wide, (*batch, *whole)).reshape(*batch, -1)


def fitting(n_levels: LevelCounts, pattern: Pattern) -> Int[np.ndarray, "cell fit"]:
    """Return the cells of the full table consistent with each cell of the observed columns."""
    whole = np.arange(n_cells(n_levels)).reshape(shape(n_levels))
    missing = [j for j, seen in enumerate(pattern) if not seen]
    behind = np.moveaxis(whole, missing, range(len(pattern) - len(missing), len(pattern)))
    return behind.reshape(-1, math.prod(shape(n_levels)[j] for j in missing))


def by_pattern(
    observed: Bool[np.ndarray, "row feature"],
) -> Iterator[tuple[Pattern, Int[np.ndarray, " row"]]]:
    """Yield each nonempty pattern of observed columns, and its rows."""
    packed, which = np.unique(np.packbits(observed, axis=1), axis=0, return_inverse=True)
    order = np.argsort(which.ravel(), kind="stable")
    ends = np.cumsum(np.bincount(which.ravel(), minlength=len(packed)))
    for rows in np.split(order, ends[:-1]):
        if observed[rows[0]].any():
            yield tuple(observed[rows[0]].tolist()), rows


def look_up(
    table: np.ndarray,
    n_levels: LevelCounts,
    fold: Callable[[np.ndarray, LevelCounts, Pattern], np.ndarray],
) -> Callable[[Block], np.ndarray]:
    """Return x -> entries of the table folded onto a row's observed columns, (row, *batch).

    fold: `summed` or a variant. For a missing pattern shared by many rows the whole table is folded
    once; for few rows only the cells consistent with them. A row with nothing observed has 0.
    """
    size = n_cells(n_levels)

    @functools.lru_cache(maxsize=max(1, CACHED_FLOATS // max(table.size, 1)))
    def folded(pattern: Pattern) -> np.ndarray:
        return np.ascontiguousarray(np.moveaxis(fold(table, n_levels, pattern), -1, 0))

    def few(cell: np.ndarray, pattern: Pattern) -> np.ndarray:
        part = table[..., fitting(n_levels, pattern)[cell]]
        # rows by missing columns: a table of its own
        return np.moveaxis(fold(part.reshape(*table.shape[:-1], -1), part.shape[-2:], ROWS), -1, 0)

    def entries(x: Block, pattern: Pattern) -> np.ndarray:
        cell = cells(x, n_levels, pattern)
        choices = size // math.prod(n for n, s in zip(shape(n_levels), pattern, strict=True) if s)
        # a small table is folded whole, and kept
        sparse = 2 * len(cell) * choices < size and table.size > CACHED_FLOATS
        return few(cell, pattern) if sparse else folded(pattern)[cell]

    def scores(x: Block) -> np.ndarray:
        observed = x >= 0
        if observed.all():
            return entries(x, (True,) * x.shape[1])
        out = np.zeros((len(x), *table.shape[:-1]))
        for pattern, rows in by_pattern(observed):
            out[rows] = entries(x[rows], pattern)
        return out

    return scores
