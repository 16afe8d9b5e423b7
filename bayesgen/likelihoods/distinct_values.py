"""Distinct values as statistics, for naive families without sufficient ones.

Columns are independent given the class, so the values of each class and column, and how often they
come, are all that rows say. Counts and rounded numbers become few; missing cells vanish.
"""

import dataclasses
from typing import ClassVar

import numpy as np

from bayesgen.likelihoods.base import Statistics
from bayesgen.typing import Labels, Numbers, Weights

SLOTS = 32
"""Values a segment: terms of parameters alone are computed once for each segment."""


@dataclasses.dataclass(frozen=True, eq=False)
class Values(Statistics):
    """Distinct values in one order that does not depend on how they came, cut into segments.

    A segment holds up to SLOTS values of one class and column, in rising order; segments are
    ordered by column, then class. Slots left over repeat a value of their segment with weight 0,
    so that every slot can be scored, and segments left over repeat the last one: there are 4, 6,
    8, 12, 16, ... of them, so that tables of about one size share compiled code.

    value, weight: (segment, slot). y, column: class and column of each segment, (segment,).
    """

    value: np.ndarray
    weight: np.ndarray
    y: np.ndarray
    column: np.ndarray
    n_classes: int
    n_features: int
    axes: ClassVar = {
        **dict.fromkeys(("value", "weight"), ("segment", "slot")),
        **dict.fromkeys(("y", "column"), ("segment",)),
    }

    def cells(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return column, class, value and weight of each distinct value, in order."""
        kept = self.weight > 0
        shape = self.value.shape
        column, y = (np.broadcast_to(a[:, None], shape)[kept] for a in (self.column, self.y))
        return column, y, self.value[kept], self.weight[kept]

    def count(self) -> np.ndarray:
        """Return the weight of the observed cells, shape (class, feature)."""
        total = np.zeros((self.n_classes, self.n_features))
        np.add.at(total, (self.y, self.column), self.weight.sum(axis=1))
        return total

    def group(self, cls: int, feature: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the distinct values of a class and column, in rising order, and their weights."""
        key = self.column * self.n_classes + self.y
        first, last = np.searchsorted(key, feature * self.n_classes + cls + np.arange(2))
        value, weight = self.value[first:last].ravel(), self.weight[first:last].ravel()
        return value[weight > 0], weight[weight > 0]

    def pooled(self, feature: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the distinct values of a column over all classes, and their weights."""
        first, last = np.searchsorted(self.column, feature + np.arange(2))
        value, weight = self.value[first:last].ravel(), self.weight[first:last].ravel()
        _, value, weight = _merged(np.zeros(len(value), int), value, weight)
        return value[weight > 0], weight[weight > 0]

    def borrowed(self, cls: int, feature: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the values of a class in a column; those of all classes where it has none."""
        own = self.group(cls, feature)
        return own if len(own[0]) else self.pooled(feature)

    def __add__(self, other: "Values") -> "Values":
        """Return the values of both."""
        parts = zip(self.cells(), other.cells(), strict=True)
        cells = (np.concatenate(pair) for pair in parts)
        return _packed(*cells, self.n_classes, self.n_features)

    def __sub__(self, other: "Values") -> "Values":
        """Return the values without those of the other, which must be among them."""
        column, y, value, weight = other.cells()
        parts = zip(self.cells(), (column, y, value, -weight), strict=True)
        column, y, value, weight = (np.concatenate(pair) for pair in parts)
        both = np.stack([weight, np.abs(weight)], axis=1)
        group, value, both = _merged(column * self.n_classes + y, value, both)
        # what cancels but for rounding is gone
        left = both[:, 0] > 1e-9 * both[:, 1]
        return _grouped(group[left], value[left], both[left, 0], self.n_classes, self.n_features)

    def take(self, axis: str, index: np.ndarray) -> "Values":
        """Return the values of some of the columns, in the order of `index`."""
        column, y, value, weight = self.cells()
        place = np.full(self.n_features, -1)
        place[index] = np.arange(len(index))
        kept = place[column] >= 0
        cells = (place[column[kept]], y[kept], value[kept], weight[kept])
        return _packed(*cells, self.n_classes, len(index))

    def reindex(self, axis: str, index: np.ndarray, size: int) -> "Values":
        """Return the values over `size` classes; old class k is index[k]."""
        column, y, value, weight = self.cells()
        return _packed(column, index[y], value, weight, size, self.n_features)


def distinct_values(x: Numbers, y: Labels, weight: Weights, n_classes: int) -> Values:
    """Return the distinct values of encoded rows; missing cells (NaN) are left out."""
    parts = []
    for j in range(x.shape[1]):
        seen = ~np.isnan(x[:, j]) & (weight > 0)
        # 0.0: minus zero is zero
        cells = _merged(y[seen], x[seen, j] + 0.0, weight[seen])
        parts.append((np.full(len(cells[0]), j), *cells))
    empty = (np.empty(0, int), np.empty(0, int), np.empty(0), np.empty(0))
    columns = (np.concatenate(c) for c in zip(empty, *parts, strict=True))
    return _cut(*columns, n_classes, x.shape[1])


def _merged(y: np.ndarray, value: np.ndarray, weight: np.ndarray) -> tuple:
    order = np.lexsort((value, y))
    y, value, weight = y[order], value[order], weight[order]
    first = np.flatnonzero(np.r_[True, (np.diff(y) != 0) | (np.diff(value) != 0)][: len(y)])
    return y[first], value[first], np.add.reduceat(weight, first) if len(y) else weight


def _packed(
    column: np.ndarray,
    y: np.ndarray,
    value: np.ndarray,
    weight: np.ndarray,
    n_classes: int,
    n_features: int,
) -> Values:
    merged = _merged(column * n_classes + y, value, weight)
    return _grouped(*merged, n_classes, n_features)


def _grouped(
    group: np.ndarray, value: np.ndarray, weight: np.ndarray, n_classes: int, n_features: int
) -> Values:
    return _cut(group // n_classes, group % n_classes, value, weight, n_classes, n_features)


def _cut(
    column: np.ndarray,
    y: np.ndarray,
    value: np.ndarray,
    weight: np.ndarray,
    n_classes: int,
    n_features: int,
) -> Values:
    """Return merged cells in segments."""
    n_cells = np.bincount(column * n_classes + y, minlength=n_classes * n_features)
    n_segments = -(-n_cells // SLOTS)
    place = np.arange(len(value)) - np.repeat(np.cumsum(n_cells) - n_cells, n_cells)
    segment = np.repeat(np.cumsum(n_segments) - n_segments, n_cells) + place // SLOTS
    slot = place % SLOTS
    first, size = np.flatnonzero(slot == 0), few_sizes(int(n_segments.sum()))
    # the last segment once more, without weight, up to the size (none at all: zeros)
    whose = np.append(first, np.full(size - len(first), first[-1])) if len(first) else None
    filled = np.zeros((size, SLOTS)) if whose is None else np.repeat(value[whose, None], SLOTS, 1)
    weights = np.zeros((size, SLOTS))
    filled[segment, slot], weights[segment, slot] = value, weight
    codes = np.zeros((2, size), int) if whose is None else np.stack([y[whose], column[whose]])
    return Values(filled, weights, codes[0], codes[1], n_classes, n_features)


def few_sizes(n: int) -> int:
    """Return the smallest of 4, 6, 8, 12, 16, 24, ... that is at least n."""
    power = 4
    while 2 * power <= n:
        power *= 2
    return next(size for size in (power, power + power // 2, 2 * power) if size >= n)
