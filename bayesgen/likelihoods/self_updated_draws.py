"""Densities of rows under parameters updated by the row itself, column by column."""

import functools
from collections.abc import Callable

import numpy as np
from jaxtyping import Float
from scipy.sparse import csr_array, issparse

from bayesgen.likelihoods.base import Likelihood, Statistics
from bayesgen.typing import Block, Params

CACHE_FLOATS = 4_000_000
"""Draws of columns kept for the next row: 32 MB."""

Scores = Float[np.ndarray, "2 draw class"]
"""Log densities under theta, and under theta updated."""


class SelfUpdatedDensity:
    """(x, own) -> log p(x given y = k, theta), shape (draw, row, class).

    theta comes from the posterior updated, for class own[draw, row] alone, by the row x itself.
    Columns are independent, so that a cell updates its own column; each distinct value of a column
    is updated once. Each column has random numbers of its own, drawn again for every value: an
    answer for a row does not depend on the rows beside it, nor on whether they are sparse.

    Args:
        posterior: a family of independent columns.
        log_density_cell: (parameters, value) -> log density of the value, of the parameters' shape.
        one_cell: value -> its statistics, in one column and every class.
        rng: random numbers.
        n: the number of draws.
    """

    def __init__(
        self,
        posterior: Likelihood,
        log_density_cell: Callable[[Params, float], np.ndarray],
        one_cell: Callable[[float], Statistics],
        rng: np.random.Generator,
        n: int,
    ) -> None:
        self.posterior, self.one_cell = posterior, one_cell
        self.log_density_cell, self.n = log_density_cell, n
        self.seed = int(rng.integers(2**63))
        self.n_classes, self.size = next(iter(posterior.arrays().values())).shape
        kept = functools.lru_cache(max(16, CACHE_FLOATS // (3 * n * self.n_classes)))
        self.column, self.score = kept(self._column), kept(self._score)

    def __call__(self, x: Block, own: np.ndarray) -> Float[np.ndarray, "draw row class"]:
        """Return the log densities of rows, dense or sparse."""
        mine = own[..., None] == np.arange(self.n_classes)
        out = np.zeros(mine.shape)
        if issparse(x):
            rows = csr_array(x)
            for i in range(x.shape[0]):
                at = slice(rows.indptr[i], rows.indptr[i + 1])
                before, after = self._sparse_row(rows.indices[at], rows.data[at])
                out[:, i] = np.where(mine[:, i], after, before)
            return out
        for j in range(self.size):
            before, after = self._cells(j, x[:, j])
            out += np.where(mine, after, before)
        return out

    def _column(self, j: int) -> tuple[Likelihood, Params]:
        part = self.posterior.take("feature", np.array([j]))
        return part, part.draw(self._rng(j), self.n)

    def _rng(self, j: int) -> np.random.Generator:
        return np.random.default_rng((self.seed, j))

    def _score(self, j: int, value: float) -> Scores:
        part, params = self.column(j)
        after = part.posterior(self.one_cell(value)).draw(self._rng(j), self.n)
        both = (self.log_density_cell(params, value), self.log_density_cell(after, value))
        return np.stack(both)[..., 0]

    def _cells(self, j: int, x: np.ndarray) -> Float[np.ndarray, "2 draw row class"]:
        """Return log densities of the cells of a column, 0 for missing ones."""
        values, place = np.unique(x, return_inverse=True)
        scores = [self.score(j, value) for value in values[~np.isnan(values)].tolist()]
        # a missing value is the last one
        table = [*scores, np.zeros((2, self.n, self.n_classes))]
        return np.stack(table, axis=2)[:, :, place]

    @functools.cached_property
    def _zeros(self) -> Scores:
        """Log densities of a row of zeros."""
        total = np.zeros((2, self.n, self.n_classes))
        for j in range(self.size):
            total += self.score(j, 0.0)
        return total

    def _sparse_row(self, indices: np.ndarray, data: np.ndarray) -> Scores:
        total = self._zeros.copy()
        for j, value in zip(indices.tolist(), data.tolist(), strict=True):
            if value != 0:
                total -= self.score(j, 0.0)
                total += self.score(j, float(value)) if value == value else 0.0
        return total
