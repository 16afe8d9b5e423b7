"""Distinct rows or values with their weights, for families without sufficient statistics.

`Rows` keeps whole rows. Where columns are independent given the class, `Values` keeps the distinct
values of each class and column with their weights: counts and rounded numbers then take little
space, and missing cells none.
"""

import dataclasses
import itertools
from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from bayesgen.likelihoods.base import Statistics, is_missing
from bayesgen.likelihoods.remainder import Sum
from bayesgen.typing import Block, Labels, Numbers, Weights

SLOTS = 32
"""Values a segment: terms of parameters alone are computed once for each segment."""
ROUNDING = 1e-9
"""Share of a weight below which the rest of a difference is rounding."""


@dataclasses.dataclass(frozen=True, eq=False)
class Rows(Statistics):
    """Distinct rows in canonical order: by class, then by cells.

    Equal rows of one class are one entry, whose weight is the sum of theirs; rows without an
    observed cell are left out.

    x: (entry, feature), missing cells NaN (or -1 among codes). y: their classes, (entry,).
    weight: (entry,).
    """

    x: np.ndarray
    y: np.ndarray
    weight: np.ndarray
    n_classes: int
    axes: ClassVar = {"x": ("entry", "feature"), "y": ("entry",), "weight": ("entry",)}
    weighted: ClassVar = ("weight",)

    def __add__(self, other: "Rows") -> "Rows":
        """Return the rows of both."""
        return gather(
            np.concatenate([self.x, other.x]),
            np.concatenate([self.y, other.y]),
            np.concatenate([self.weight, other.weight]),
            self.n_classes,
        )

    def __sub__(self, other: "Rows") -> "Rows":
        """Return the rows without those of the other."""
        return self + other.with_arrays({"weight": -other.weight})

    def sums(self) -> tuple[Sum, ...]:
        """Return the weight of the rows of each class, which shows strange ones."""
        weight = self.class_weight()[:, None]
        return (Sum(weight, weight),)

    def only_classes(self, stay: np.ndarray) -> "Rows":
        """Return the rows over some of the classes; the others have no rows."""
        return self.reindex("class", np.searchsorted(stay, np.arange(self.n_classes)), len(stay))

    def equals(self, other: "Rows") -> bool:
        """Return whether these are the rows of the other."""
        same = (np.array_equal(getattr(self, n), getattr(other, n)) for n in ("y", "weight"))
        return self is other or (all(same) and np.array_equal(self.x, other.x, equal_nan=True))

    def class_weight(self) -> np.ndarray:
        """Return the weight of the rows of each class, shape (class,)."""
        return np.bincount(self.y, self.weight, minlength=self.n_classes)

    def shifted(self, by: np.ndarray) -> "Rows":
        """Return the rows with `by` added to every observed cell."""
        return gather(self.x + by, self.y, self.weight, self.n_classes)

    def take(self, axis: str, index: np.ndarray) -> "Rows":
        """Return the rows with some of the columns, in the order of `index`."""
        return gather(self.x[:, index], self.y, self.weight, self.n_classes)

    def reindex(self, axis: str, index: np.ndarray, size: int) -> "Rows":
        """Return the rows over `size` classes; old class k is index[k]."""
        return gather(self.x, index[self.y], self.weight, size)


def gather(x: Block, y: Labels, weight: Weights, n_classes: int) -> Rows:
    """Return rows in canonical form; negative weights subtract rows."""
    observed = ~is_missing(x)
    seen = observed.any(axis=1) & (weight != 0)
    x, y, weight, observed = x[seen], y[seen], weight[seen], observed[seen]
    order = np.lexsort((*x.T[::-1], y))
    x, y, weight, observed = x[order], y[order], weight[order], observed[order]
    same = (x[1:] == x[:-1]) | ~(observed[1:] | observed[:-1])
    first = np.concatenate([[True], ~same.all(axis=1) | (y[1:] != y[:-1])])[: len(y)]
    total = np.add.reduceat(weight, np.flatnonzero(first)) if len(y) else weight
    x, y = x[first], y[first]
    left = total > ROUNDING * np.abs(weight).max(initial=0.0)
    return Rows(x[left], y[left], total[left], n_classes)


@dataclasses.dataclass(frozen=True, eq=False)
class Values(Statistics):
    """Distinct values in canonical order, cut into segments.

    A segment holds up to SLOTS values of one class and column, in rising order; segments are
    ordered by column, then class. Unused slots repeat a value of their segment with weight 0, so
    that every slot can be scored, and unused segments repeat the last one: there are 4, 6, 8, 12,
    16, ... of them, so that tables of similar size share compiled code.

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
    weighted: ClassVar = ("weight",)

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
        """Return the values of a class in a column, or of all classes if it has none."""
        own = self.group(cls, feature)
        return own if len(own[0]) else self.pooled(feature)

    def by_column(self) -> Iterator[Rows]:
        """Yield the distinct values of each column as rows of one cell."""
        ends = np.searchsorted(self.column, np.arange(self.n_features + 1))
        for first, last in itertools.pairwise(ends.tolist()):
            kept = self.weight[first:last] > 0
            value, weight = self.value[first:last][kept], self.weight[first:last][kept]
            y = np.repeat(self.y[first:last], kept.sum(axis=1))
            yield Rows(value[:, None], y, weight, self.n_classes)

    def __add__(self, other: "Values") -> "Values":
        """Return the values of both."""
        return self._with(other, 1.0)

    def __sub__(self, other: "Values") -> "Values":
        """Return the values without those of the other, which must be among them."""
        return self._with(other, -1.0)

    def sums(self) -> tuple[Sum, ...]:
        """Return the weight of the values of each class and column, which shows strange ones."""
        weight = self.count()
        return (Sum(weight, weight),)

    def only_classes(self, stay: np.ndarray) -> "Values":
        """Return the values over some of the classes; the others have no rows."""
        return self.reindex("class", np.searchsorted(stay, np.arange(self.n_classes)), len(stay))

    def _with(self, other: "Values", sign: float) -> "Values":
        parts = zip(self.cells(), other.cells(), strict=True)
        column, y, value, _ = (np.concatenate(pair) for pair in parts)
        weight = np.concatenate([self.cells()[3], sign * other.cells()[3]])
        return _packed(column, y, value, weight, self.n_classes, self.n_features)

    def take(self, axis: str, index: np.ndarray) -> "Values":
        """Return the values of some of the columns, in the order of `index`."""
        column, y, value, weight = self.cells()
        place = np.full(self.n_features, -1)
        place[index] = np.arange(len(index))
        kept = place[column] >= 0
        column, y, value, weight = place[column[kept]], y[kept], value[kept], weight[kept]
        return _packed(column, y, value, weight, self.n_classes, len(index))

    def reindex(self, axis: str, index: np.ndarray, size: int) -> "Values":
        """Return the values over `size` classes; old class k is index[k]."""
        column, y, value, weight = self.cells()
        return _packed(column, index[y], value, weight, size, self.n_features)


def distinct_values(x: Numbers, y: Labels, weight: Weights, n_classes: int) -> Values:
    """Return the distinct values of encoded rows; missing cells (NaN) are left out."""
    parts = [_merged(np.empty(0, int), np.empty(0), np.empty(0))]
    # column by column: two thirds of the time of sorting all cells at once
    for j in range(x.shape[1]):
        seen = ~np.isnan(x[:, j]) & (weight > 0)
        # 0.0: minus zero is zero
        group = j * n_classes + y[seen]
        parts.append(_merged(group, x[seen, j] + 0.0, weight[seen]))
    return _cut(*map(np.concatenate, zip(*parts, strict=True)), n_classes, x.shape[1])


def _merged(group: np.ndarray, value: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return sorted cells, equal ones of a group merged, without weights that cancel."""
    order = np.lexsort((value, group))
    group, value, weight = group[order], value[order], weight[order]
    new = (np.diff(group) != 0) | (np.diff(value) != 0)
    first = np.flatnonzero(np.r_[True, new][: len(group)])
    if not len(first):
        return group, value, weight
    total, gross = np.add.reduceat(weight, first), np.add.reduceat(np.abs(weight), first)
    left = total > ROUNDING * gross
    return group[first][left], value[first][left], total[left]


def _packed(
    column: np.ndarray,
    y: np.ndarray,
    value: np.ndarray,
    weight: np.ndarray,
    n_classes: int,
    n_features: int,
) -> Values:
    """Return cells, in any order and possibly repeated, as distinct values."""
    merged = _merged(column * n_classes + y, value, weight)
    return _cut(*merged, n_classes, n_features)


def _cut(
    group: np.ndarray, value: np.ndarray, weight: np.ndarray, n_classes: int, n_features: int
) -> Values:
    """Return merged cells in segments; group: column * n_classes + class."""
    n_cells = np.bincount(group, minlength=n_classes * n_features)
    n_segments = -(-n_cells // SLOTS)
    place = np.arange(len(value)) - np.repeat(np.cumsum(n_cells) - n_cells, n_cells)
    segment = np.repeat(np.cumsum(n_segments) - n_segments, n_cells) + place // SLOTS
    slot = place % SLOTS
    size = few_sizes(int(n_segments.sum()))
    filled, weights, whose = np.zeros((size, SLOTS)), np.zeros((size, SLOTS)), np.zeros(size, int)
    if len(value):
        # the last segment once more, without weight, up to the size
        first = np.flatnonzero(slot == 0)
        first = np.append(first, np.full(size - len(first), first[-1]))
        filled[:], whose = value[first, None], group[first]
    filled[segment, slot], weights[segment, slot] = value, weight
    return Values(filled, weights, whose % n_classes, whose // n_classes, n_classes, n_features)


def few_sizes(n: int) -> int:
    """Return the smallest of 4, 6, 8, 12, 16, 24, ... that is at least n."""
    power = 4
    while 2 * power <= n:
        power *= 2
    return next(size for size in (power, power + power // 2, 2 * power) if size >= n)
