"""Counts of levels within classes: the statistics of every family of levels."""

import dataclasses
from collections.abc import Callable
from typing import ClassVar

import numpy as np
from jaxtyping import Float

from bayesgen.likelihoods.dirichlet import kept_levels, segments, starts
from bayesgen.likelihoods.exponential_family import SufficientStatistics
from bayesgen.likelihoods.row_chunks import row_chunks
from bayesgen.typing import Block, Labels, Traceable, Weights

COUNTED_ROWS = 8192
"""Rows a block: 8192 x 20 positions are 1.3 MB, about a second-level cache (measured)."""


@dataclasses.dataclass(frozen=True, eq=False)
class CategoricalStatistics(SufficientStatistics):
    """count: weight of each level of each column within each class, shape (class, level)."""

    count: np.ndarray
    n_levels: tuple[int, ...]
    axes: ClassVar = {"count": ("class", "level")}

    @property
    def shape(self) -> tuple[int, ...]:
        """(..., class, level)."""
        return self.count.shape

    def pooled(self) -> "CategoricalStatistics":
        """Return the counts over all classes, as of one class."""
        return self.with_arrays({"count": self.count.sum(axis=-2, keepdims=True)})

    def total_features(self) -> Traceable:
        """Return the counts: the features of a row are its 0/1 levels."""
        return self.count

    def per_column(self) -> Traceable:
        """Return the weight of observed cells, shape (class, feature)."""
        return self.count @ segments(self.n_levels)

    def take(self, axis: str, index: np.ndarray) -> "CategoricalStatistics":
        """Keep classes or flat levels."""
        n_levels = kept_levels(self.n_levels, index) if axis == "level" else self.n_levels
        return CategoricalStatistics(
            np.take(self.count, index, {"class": -2, "level": -1}[axis]), n_levels
        )

    def reindex_levels(
        self, index: np.ndarray, n_levels: tuple[int, ...]
    ) -> "CategoricalStatistics":
        """Return the counts over grown columns; old flat level i is at index[i]."""
        count = np.zeros((len(self.count), sum(n_levels)))
        count[:, index] = self.count
        return CategoricalStatistics(count, n_levels)


def cross_tables(
    codes: Block, y: Labels, weight: Weights, n_classes: int, n_levels: tuple[int, ...]
) -> Float[np.ndarray, "class level"]:
    """Return the weight of each level within each class, columns side by side; -1 is missing."""
    # one slot more for each column, in front, for missing cells
    size = sum(n_levels) + len(n_levels)
    slot = starts(tuple(n + 1 for n in n_levels)) + 1
    even = bool((weight == 1).all())
    counts = np.zeros(n_classes * size)
    first = np.arange(n_classes)[:, None] * size + slot
    for rows in row_chunks(len(y), COUNTED_ROWS):
        cells = first.take(y[rows], axis=0)
        cells += codes[rows]
        weights = None if even else np.repeat(weight[rows], cells.shape[1])
        counts += np.bincount(cells.ravel(), weights, minlength=len(counts))
    levels = np.delete(np.arange(size), slot - 1)
    return counts.reshape(n_classes, size)[:, levels]


def look_up(
    probs: Float[np.ndarray, "*batch level"], n_levels: tuple[int, ...]
) -> Callable[[Block], np.ndarray]:
    """Return x -> sum over observed columns of log probs, shape (row, *batch)."""
    first = starts(n_levels)
    with np.errstate(divide="ignore"):
        table = np.concatenate([np.log(probs), np.zeros((*probs.shape[:-1], 1))], axis=-1)
    table = np.moveaxis(table, -1, 0).copy()

    def log_density(x: Block) -> np.ndarray:
        out = np.zeros((len(x), *table.shape[1:]))
        for j in range(x.shape[1]):
            # the last row of the table is the missing cell's zero
            out += table[np.where(x[:, j] < 0, len(table) - 1, first[j] + x[:, j])]
        return out

    return log_density
