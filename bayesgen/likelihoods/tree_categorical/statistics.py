"""Counts of pairs of levels within classes: the statistics of trees over columns of levels."""

import dataclasses
from typing import ClassVar

import numpy as np
from jaxtyping import Bool, Float, Int

from bayesgen.likelihoods.base import Statistics, row_chunks
from bayesgen.likelihoods.dirichlet import kept_levels, segments, starts
from bayesgen.typing import Block, Labels, Weights


@dataclasses.dataclass(frozen=True, eq=False)
class PairCounts(Statistics):
    """Weight of the rows that show two levels, over all levels side by side.

    count: (class, level, level), symmetric; on the diagonal the weight of each level itself. A row
    with missing values counts in the pairs of which it shows both.
    """

    count: np.ndarray
    n_levels: tuple[int, ...]
    axes: ClassVar = {"count": ("class", "level", "level")}

    def __sub__(self, other: "PairCounts") -> "PairCounts":
        """Return the counts without the rows of the other."""
        count = self.count - other.count
        # what cancels but for rounding is gone
        return PairCounts(np.where(count > 1e-9 * other.count, count, 0.0), self.n_levels)

    def per_level(self) -> Float[np.ndarray, "*batch class level"]:
        """Return the weight of each level."""
        return np.diagonal(self.count, axis1=-2, axis2=-1)

    def gaps(self) -> Bool[np.ndarray, " class"]:
        """Return the classes in which some pair of observed columns misses a row of either."""
        wide = segments(self.n_levels)[:, np.array(self.n_levels) > 0]
        pairs = wide.T @ self.count @ wide
        most = pairs.max(axis=(-2, -1), initial=0.0)[:, None, None]
        return (pairs < most * (1 - 1e-9)).any(axis=(-2, -1))

    def take(self, axis: str, index: np.ndarray) -> "PairCounts":
        """Keep classes or flat levels."""
        if axis != "level":
            return super().take(axis, index)
        kept = self.count[..., index, :][..., index]
        return PairCounts(kept, kept_levels(self.n_levels, index))

    def reindex_levels(self, index: np.ndarray, n_levels: tuple[int, ...]) -> "PairCounts":
        """Return the counts over grown columns; old flat level i is at index[i]."""
        count = np.zeros((len(self.count), sum(n_levels), sum(n_levels)))
        count[:, np.asarray(index)[:, None], index] = self.count
        return PairCounts(count, n_levels)


def gather(
    x: Block, y: Labels, weight: Weights, n_classes: int, n_levels: tuple[int, ...]
) -> PairCounts:
    """Return the counts of rows of codes; -1 is missing."""
    size = sum(n_levels)
    count = np.zeros((n_classes, size, size))
    for rows in row_chunks(len(y)):
        shown = indicators(x[rows], n_levels)
        for k in np.unique(y[rows]):
            mine = y[rows] == k
            count[k] += (shown[mine] * weight[rows][mine, None]).T @ shown[mine]
    return PairCounts(count, tuple(n_levels))


def indicators(x: Block, n_levels: tuple[int, ...]) -> Float[np.ndarray, "row level"]:
    """Return the 0/1 levels of rows; a missing cell has none."""
    out = np.zeros((len(x), sum(n_levels)))
    row, column = np.nonzero(x >= 0)
    out[row, starts(n_levels)[column] + x[row, column]] = 1.0
    return out


def places(x: Block, n_levels: tuple[int, ...]) -> Int[np.ndarray, "row feature"]:
    """Return the flat level of each cell; that of some level where it is missing."""
    last = max(sum(n_levels) - 1, 0)
    return np.minimum(starts(n_levels) + np.maximum(x, 0), last)
