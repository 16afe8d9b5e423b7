"""Counts of levels within classes: the statistics of every family of levels."""

import dataclasses
from collections.abc import Callable
from typing import ClassVar

import numpy as np
from jaxtyping import Float

from bayesgen.likelihoods.base import Statistics
from bayesgen.likelihoods.simplexes import kept_levels, segments, starts
from bayesgen.typing import Block, Labels, Weights


@dataclasses.dataclass(frozen=True, eq=False)
class CategoricalStatistics(Statistics):
    """count: weight of each level of each column within each class, shape (class, level)."""

    count: np.ndarray
    n_levels: tuple[int, ...]
    axes: ClassVar = {"count": ("class", "level")}

    def total_features(self) -> np.ndarray:
        """Return the counts: the features of a row are its 0/1 levels."""
        return self.count

    def per_column(self) -> np.ndarray:
        """Return the weight of observed cells, shape (class, feature)."""
        return self.count @ segments(self.n_levels)

    def take(self, axis: str, index: np.ndarray) -> "CategoricalStatistics":
        """Keep classes or flat levels."""
        n_levels = kept_levels(self.n_levels, index) if axis == "level" else self.n_levels
        return CategoricalStatistics(
            np.take(self.count, index, {"class": 0, "level": 1}[axis]), n_levels
        )

    def spread_levels(
        self, index: np.ndarray, n_levels: tuple[int, ...]
    ) -> "CategoricalStatistics":
        """Return the counts over grown columns; old flat level i is at index[i]."""
        count = np.zeros((len(self.count), sum(n_levels)))
        count[:, index] = self.count
        return CategoricalStatistics(count, n_levels)


def cross_table(
    codes: np.ndarray, y: Labels, weight: Weights | None, n_classes: int, size: int
) -> Float[np.ndarray, "class level"]:
    """Return the weight of each level of one column within each class; code -1 is missing."""
    # one slot more, in front, for missing cells
    cell = y * (size + 1) + (codes + 1)
    counts = np.bincount(cell, weight, minlength=n_classes * (size + 1))
    return counts.reshape(n_classes, size + 1)[:, 1:].astype(float)


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
