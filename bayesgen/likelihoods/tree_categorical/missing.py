"""Missing levels summed out, one combination of them after another."""

from collections.abc import Callable

import numpy as np
from jaxtyping import Bool, Float

from bayesgen.typing import Block, Joint

MOST = 64
"""Combinations of levels that the missing values of a row may take and still be summed over."""

Score = Callable[[np.ndarray, Block], Joint]
"""(positions of rows, these rows with some cells filled in) -> log density, (row, class)."""


def are_few(x: Block, n_levels: tuple[int, ...]) -> Bool[np.ndarray, " row"]:
    """Return which rows have missing values of MOST combinations at most."""
    return _combinations(x, n_levels).prod(axis=1) <= MOST


def summed(score: Score, x: Block, n_levels: tuple[int, ...]) -> Joint:
    """Return log densities of rows, summed over missing levels where these are few."""
    sizes = _combinations(x, n_levels)
    count = sizes.prod(axis=1)
    out = score(np.arange(len(x)), x)
    some = np.flatnonzero((count > 1) & (count <= MOST))
    out[some], place = -np.inf, sizes[some].cumprod(axis=1) / sizes[some]
    for c in range(int(count[some].max(initial=0))):
        left = c < count[some]
        rows = some[left]
        filled = _filled(x[rows], c, place[left], sizes[rows], n_levels)
        out[rows] = np.logaddexp(out[rows], score(rows, filled))
    return out


def completed(row: Block, n_levels: tuple[int, ...]) -> np.ndarray:
    """Return a table of one row with every combination of levels in its missing cells."""
    sizes = _combinations(row, n_levels)
    every = np.arange(int(sizes.prod()))[:, None]
    return _filled(row, every, sizes.cumprod(axis=1) / sizes, sizes, n_levels)


def _filled(
    x: Block, c: int | np.ndarray, place: np.ndarray, sizes: np.ndarray, n_levels: tuple[int, ...]
) -> np.ndarray:
    """Return rows with combination c of levels in their missing cells, digit by digit."""
    blank = (x < 0) & (np.array(n_levels) > 0)
    return np.where(blank, c // place % sizes, x).astype(x.dtype)


def _combinations(x: Block, n_levels: tuple[int, ...]) -> Float[np.ndarray, "row feature"]:
    """Return how many levels each missing cell may take, 1 where it is not missing."""
    return np.where(x < 0, np.maximum(n_levels, 1.0), 1.0)
