"""Log densities of columns that are independent given the class, over rows that are mostly zeros.

What a row of zeros has is added up once; stored cells add what they change.
"""

import functools
from collections.abc import Callable

import numpy as np
from jaxtyping import Float
from scipy.sparse import csr_array, issparse

from bayesgen.likelihoods.sparse_rows import SCORED_CELLS, Cells, observed_sums, row_blocks
from bayesgen.typing import Block

Scores = Callable[..., np.ndarray]
CACHE_FLOATS = 4_000_000
"""Draws of columns kept for the next row: 32 MB."""


def dispatch_sparse(dense: Callable[[], Scores], compressed: Callable[[], Scores]) -> Scores:
    """Return a score of rows of both forms; what each needs is made at its first row."""
    made: dict[bool, Scores] = {}

    def score(x: Block, *more: np.ndarray) -> np.ndarray:
        sparse = issparse(x)
        if sparse not in made:
            made[sparse] = compressed() if sparse else dense()
        return made[sparse](x, *more)

    return score


def sparse_scores(
    zero: Float[np.ndarray, "*batch feature"], cell: Callable[[Cells], np.ndarray]
) -> Scores:
    """Return x -> the sum over observed columns, shape (row, *batch).

    Args:
        zero: log density of a 0 in each column.
        cell: gives what the stored cells of rows change, missing ones nothing, (row, batch).
    """
    flat = zero.reshape(-1, zero.shape[-1])
    whole = flat.sum(axis=1)

    def score(x: Block) -> np.ndarray:
        out = np.empty((x.shape[0], len(flat)))
        for rows, cells in row_blocks(x, SCORED_CELLS):
            base = (
                whole if cells.missing_cells is None else observed_sums(flat, cells.missing_cells)
            )
            out[rows] = base + cell(cells)
        return out.reshape(-1, *zero.shape[:-1])

    return score


def linear(
    zero: Float[np.ndarray, "*batch feature"], one: Float[np.ndarray, "*batch feature"]
) -> Scores:
    """Return x -> sum over observed columns of `one` where x is 1 and `zero` where it is 0.

    A column that cannot be 0, or cannot be 1, has -inf there and makes the row impossible.
    """
    never_zero, never_one = np.isneginf(zero), np.isneginf(one)
    base = np.where(never_zero, 0.0, zero)
    slope = _wide(np.where(never_one, 0.0, one) - base)
    impossible = bool(never_zero.any() or never_one.any())
    needed, banned = never_zero.astype(float), _wide(never_one.astype(float))

    def cell(cells: Cells) -> np.ndarray:
        rows = cells.compressed()
        out = rows @ slope
        if impossible:
            lacking = _needed(needed, cells) - rows @ _wide(needed)
            out[(rows @ banned > 0) | (lacking > 0)] = -np.inf
        return out

    return sparse_scores(base, cell)


def _needed(needed: np.ndarray, cells: Cells) -> np.ndarray:
    if cells.missing_cells is not None:
        return observed_sums(needed, cells.missing_cells).reshape(cells.shape[0], -1)
    return needed.sum(axis=-1).reshape(1, -1)


def _wide(values: Float[np.ndarray, "*batch feature"]) -> Float[np.ndarray, "feature ..."]:
    return np.ascontiguousarray(values.reshape(-1, values.shape[-1]).T)


def draws_by_column(
    draw: Callable[[int], tuple[np.ndarray, ...]],
    score: Callable[..., Float[np.ndarray, "2 draw class"]],
    shape: tuple[int, int, int],
) -> Callable[[Block, np.ndarray], np.ndarray]:
    """Return (x, own) -> log p(x given y = k, theta), shape (draw, row, class), column by column.

    No more than a few columns are held at a time; each has random numbers of its own, drawn again
    whenever a row needs it.

    Args:
        draw: position of a column -> its draws, each of shape (draw, class).
        score: (position, value, *draws) -> log density of the value under theta, and under theta
            updated by the value.
        shape: how many draws, classes and columns.
    """
    n, n_classes, size = shape
    column = functools.lru_cache(maxsize=max(16, CACHE_FLOATS // (3 * n * n_classes)))(draw)

    @functools.cache
    def zeros() -> Float[np.ndarray, "2 draw class"]:
        total = np.zeros((2, n, n_classes))
        for j in range(size):
            total += score(j, 0.0, *draw(j))
        return total

    def of_row(indices: np.ndarray, data: np.ndarray) -> Float[np.ndarray, "2 draw class"]:
        total = zeros().copy()
        for j, value in zip(indices.tolist(), data.tolist(), strict=True):
            if value:
                total -= score(j, 0.0, *column(j))
            if value == value:
                total += score(j, float(value), *column(j)) if value else 0.0
        return total

    def log_density(x: csr_array, own: np.ndarray) -> Float[np.ndarray, "draw row class"]:
        out = np.empty((*own.shape, n_classes))
        for i in range(x.shape[0]):
            row = slice(x.indptr[i], x.indptr[i + 1])
            prior, updated = of_row(x.indices[row], x.data[row])
            out[:, i] = np.where(own[:, i, None] == np.arange(n_classes), updated, prior)
        return out

    return log_density
