"""What a model reads of a block: the columns, or levels, that tell classes apart."""

import dataclasses

import numpy as np

from bayesgen.likelihoods.base import A, Likelihood
from bayesgen.likelihoods.dirichlet import kept_codes, narrowed, widened
from bayesgen.likelihoods.multivariate_normal.indicators import unknown_blank
from bayesgen.likelihoods.sparse import kept_columns
from bayesgen.typing import Block, Kept, LevelCounts


@dataclasses.dataclass(frozen=True, eq=False)
class Selection:
    """The positions of a block that tell classes apart: its columns, or the levels of all of them.

    Densities, programs and evidence are those of these positions alone. To blank the others, as
    missing cells, would not do: a level of probability 0 has no Dirichlet density, and a joint
    block would count every row as incomplete.

    index: of the positions, rising; None: all. n_levels: of each column of levels; () if positions
    are columns. blank: what the cells of the other columns are in rows of all columns. lost: of
    each variable whose indicators are read and of which some level has no row, the positions of
    its indicators and the codes of the others; a row of a level without rows misses the variable.
    """

    index: np.ndarray | None = None
    n_levels: LevelCounts = ()
    blank: float = np.nan
    lost: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...] = ()

    @classmethod
    def of(cls, completed: Likelihood, uninformative: np.ndarray | None) -> "Selection":
        """Return the positions that are informative under a completed likelihood.

        uninformative: which are not (see `Likelihood.uninformative`).
        """
        if uninformative is None or not uninformative.any():
            return cls()
        index = np.flatnonzero(~uninformative)
        return cls(index, completed.n_levels, completed.blank, completed.lost_levels())

    @property
    def is_empty(self) -> bool:
        """Whether no position is informative."""
        return self.index is not None and not len(self.index)

    @property
    def axis(self) -> str:
        """The axis of statistics and parameters that the positions are of."""
        return "level" if self.n_levels else "feature"

    def positions(self, axis: str, size: int) -> np.ndarray:
        """Return which columns ("feature") or flat levels ("level") of `size` are read."""
        return self.index if self.index is not None and self.axis == axis else np.arange(size)

    def reads(self, column: int) -> bool:
        """Return whether a column is read, be it without any of its levels."""
        return column in self.positions("feature", column + 1)

    def codes(self, column: int, size: int) -> np.ndarray:
        """Return the codes that are read of the `size` values of a column."""
        if self.index is not None and self.n_levels:
            return kept_codes(self.index, self.n_levels)[column]
        return np.arange(size if self.reads(column) else 0)

    def leaves_out(self, uninformative: np.ndarray | None) -> np.ndarray | np.bool_ | bool:
        """Return whether a mask, perhaps one of several, marks the positions left out."""
        if uninformative is None:
            return True
        size = uninformative.shape[-1]
        informative = np.isin(np.arange(size), self.positions(self.axis, size))
        return (uninformative != informative).all(axis=-1)

    def reads_all(self, uninformative: np.ndarray) -> np.ndarray | np.bool_:
        """Return whether every position that a mask, perhaps one of several, has left is read."""
        size = uninformative.shape[-1]
        read = np.isin(np.arange(size), self.positions(self.axis, size))
        return (uninformative | read).all(axis=-1)

    def take(self, arrays: A) -> A:
        """Return a likelihood, or statistics, of the positions alone."""
        return arrays if self.index is None else arrays.take(self.axis, self.index)

    def read(self, x: Block) -> Kept:
        """Return encoded rows of the positions alone: a level left out is missing."""
        if self.index is None:
            return x
        if self.n_levels:
            return narrowed(x, self.index, self.n_levels)
        return kept_columns(unknown_blank(x, self.lost), self.index)

    def restored(self, x: Kept, n_columns: int) -> Block:
        """Return rows, or values of their cells, among all columns: the inverse of `read`."""
        if self.index is None:
            return x
        if self.n_levels:
            return widened(x, self.index, self.n_levels)
        out = np.full((len(x), n_columns), self.blank)
        out[:, self.index] = x
        return out


NOTHING = Selection(np.arange(0))
"""What a model reads of a block without informative positions, which is no part of it."""
