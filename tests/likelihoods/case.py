"""What the laws need to know of a likelihood family."""

import dataclasses
from collections.abc import Callable, Mapping

import numpy as np

from bayesgen.likelihoods import Likelihood

N_CLASSES = 3

Table = tuple[np.ndarray, np.ndarray]
"""x (row, feature) and y (row,)."""


def some_classes(rng: np.random.Generator, n: int) -> np.ndarray:
    """Return n labels in random order; every class is there when n is at least 6."""
    return rng.permutation(np.resize([0, 1, 2, 0, 0, 1], n))


@dataclasses.dataclass(frozen=True, eq=False)
class Case:
    """One family.

    prior: every guess stated. vague: guesses left to the columns.
    table: (rng, n) -> n complete rows of three columns. blank: what a missing cell holds.
    line: (x, column) -> every value the column may take, with quadrature weights where these are
    no list. other: (x, prior) -> the same rows and guesses told in other units.
    params: (completed likelihood, rng, n) -> n draws of plausible parameters.
    exempt: laws that the family cannot obey, by name, with the reason.
    """

    prior: Likelihood
    vague: Likelihood
    table: Callable[[np.random.Generator, int], Table]
    blank: float
    line: Callable[[np.ndarray, int], tuple[np.ndarray, np.ndarray]]
    other: Callable[[np.ndarray, Likelihood], tuple[np.ndarray, Likelihood]]
    n_levels: tuple[int, ...] = ()
    params: Callable[[Likelihood, np.random.Generator, int], dict] = lambda part, rng, n: part.draw(
        rng, n
    )
    exempt: Mapping[str, str] = dataclasses.field(default_factory=dict)

    def rows(self, rng: np.random.Generator, n: int, gaps: bool = False) -> Table:
        """Return n rows, of which a quarter of the cells and all of one row may be missing."""
        x, y = self.table(rng, n)
        if gaps:
            x = np.where(rng.random(x.shape) < 0.25, self.blank, x)
            x[n // 2] = self.blank
        return x, y

    def missing(self, x: np.ndarray) -> np.ndarray:
        """Return which cells are missing."""
        return np.isnan(x) if np.isnan(self.blank) else x == self.blank

    def spaces(self, x: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return everything that a column, and that the first two together, may hold, weighed."""
        return [self.space(x, columns) for columns in ((0,), (1,), (2,), (0, 1))]

    def space(self, x: np.ndarray, columns: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
        """Return rows with every value of some columns, the others missing, and their weights."""
        values, weights = zip(*(self.line(x, j) for j in columns), strict=True)
        grid = np.stack(np.meshgrid(*values), axis=-1).reshape(-1, len(columns))
        rows = np.full((len(grid), x.shape[1]), self.blank, dtype=x.dtype)
        rows[:, list(columns)] = grid
        return rows, np.prod(np.meshgrid(*weights), axis=0).ravel()
