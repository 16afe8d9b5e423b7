"""Counts of complete rows in a table of each class, and incomplete rows as they are."""

import dataclasses
import itertools
from collections.abc import Iterator
from typing import ClassVar

import numpy as np
from jaxtyping import Float

from bayesgen.likelihoods import distinct_rows
from bayesgen.likelihoods.base import Statistics
from bayesgen.likelihoods.dirichlet import kept_codes, kept_levels, narrowed, starts
from bayesgen.likelihoods.joint_categorical import tables
from bayesgen.likelihoods.joint_categorical.tables import Levels, Pattern
from bayesgen.typing import Block, Labels, Weights


@dataclasses.dataclass(frozen=True, eq=False)
class JointStatistics(Statistics):
    """What rows say about a joint table; rows with nothing observed are left out.

    count: weight of the complete rows in each cell, (class, cell).
    partial: distinct incomplete rows, codes and -1, (entry, feature), in order of pattern, class
    and codes. partial_class, partial_weight: their classes and weights, (entry,).
    patterns: the observed columns of these rows, and how many rows in turn show them.
    """

    count: np.ndarray
    partial: np.ndarray
    partial_class: np.ndarray
    partial_weight: np.ndarray
    n_levels: Levels
    patterns: tuple[tuple[Pattern, int], ...]
    axes: ClassVar = {
        "count": ("class", "cell"),
        "partial": ("entry", "feature"),
        "partial_class": ("entry",),
        "partial_weight": ("entry",),
    }

    def __add__(self, other: "JointStatistics") -> "JointStatistics":
        """Return the statistics of the rows of both."""
        return self._joined(self.count + other.count, other, other.partial_weight)

    def __sub__(self, other: "JointStatistics") -> "JointStatistics":
        """Return the statistics without the rows of the other, which must be among them."""
        count = self.count - other.count
        # what cancels but for rounding is gone
        count = np.where(count > 1e-9 * other.count, count, 0.0)
        return self._joined(count, other, -other.partial_weight)

    def _joined(
        self, count: np.ndarray, other: "JointStatistics", weight: np.ndarray
    ) -> "JointStatistics":
        x = np.concatenate([self.partial, other.partial])
        y = np.concatenate([self.partial_class, other.partial_class])
        return collect(count, x, y, np.concatenate([self.partial_weight, weight]), self.n_levels)

    @property
    def has_missing(self) -> bool:
        """Whether a row with a missing value could lie in more than one cell."""
        open_ = (self._choices(pattern) > 1 for pattern, _ in self.patterns)
        return any(open_)

    def by_pattern(self) -> Iterator[tuple[Pattern, slice]]:
        """Yield each pattern of incomplete rows, and where these rows are."""
        ends = itertools.accumulate(n for _, n in self.patterns)
        for (pattern, n), end in zip(self.patterns, ends, strict=True):
            yield pattern, slice(end - n, end)

    def totals(self) -> Float[np.ndarray, "class cell"]:
        """Return the counts of all rows, none of which may have a choice of cells."""
        out = self.count.copy()
        for pattern, at in self.by_pattern():
            cell = tables.cells(self.partial[at], self.n_levels, pattern)
            np.add.at(out, (self.partial_class[at], cell), self.partial_weight[at])
        return out

    def expected(self, probs: Float[np.ndarray, "class cell"]) -> "JointStatistics":
        """Return the expected counts of the filled rows given what they show and the table."""
        out = self.count.copy()
        for pattern, at in self.by_pattern():
            fits = tables.summed(probs, self.n_levels, pattern)
            cell = tables.cells(self.partial[at], self.n_levels, pattern)
            ratio = np.zeros_like(fits)
            ratio[self.partial_class[at], cell] = self.partial_weight[at]
            np.divide(ratio, fits, out=ratio, where=ratio > 0)
            out += probs * tables.repeated(ratio, self.n_levels, pattern)
        return whole(out, self.n_levels)

    def per_column(self) -> list[Float[np.ndarray, " level"]]:
        """Return the observed weight of each level of each column over all classes."""
        table = self.count.sum(axis=0).reshape(tables.shape(self.n_levels))
        out = []
        for j, size in enumerate(table.shape):
            seen = self.partial[:, j] >= 0
            more = np.bincount(self.partial[seen, j], self.partial_weight[seen], minlength=size)
            out.append(table.sum(axis=tuple(np.delete(np.arange(table.ndim), j))) + more)
        return out

    def take(self, axis: str, index: np.ndarray) -> "JointStatistics":
        """Keep flat levels; a column of which none is left is summed out."""
        if axis != "level":
            return super().take(axis, index)
        count = kept_cells(self.count, index, self.n_levels)
        partial = narrowed(self.partial, index, self.n_levels)
        n_levels = kept_levels(self.n_levels, index)
        return collect(count, partial, self.partial_class, self.partial_weight, n_levels)

    def reindex(self, axis: str, index: np.ndarray, size: int) -> "JointStatistics":
        """Return a copy whose classes have grown to `size`; old class k is at index[k]."""
        grown = super().reindex(axis, index, size)
        own = np.asarray(index, dtype=int)[self.partial_class]
        return collect(grown.count, self.partial, own, self.partial_weight, self.n_levels)

    def reindex_levels(self, index: np.ndarray, n_levels: Levels) -> "JointStatistics":
        """Return a copy over grown columns; old flat level i is at index[i]."""
        places = zip(starts(self.n_levels), self.n_levels, starts(n_levels), strict=True)
        # the last entry serves missing cells
        code = [np.append(index[a : a + n] - b, -1).astype(int) for a, n, b in places]
        new = [column[: max(n, 1)] for column, n in zip(code, self.n_levels, strict=True)]
        count = np.zeros((len(self.count), *tables.shape(n_levels)))
        old = self.count.reshape(-1, *tables.shape(self.n_levels))
        count[np.ix_(np.arange(len(count)), *new)] = old
        partial = np.stack([c[self.partial[:, j]] for j, c in enumerate(code)], axis=1)
        flat = count.reshape(len(count), -1)
        return collect(flat, partial, self.partial_class, self.partial_weight, n_levels)

    def _choices(self, pattern: Pattern) -> int:
        hidden = [n for n, seen in zip(self.n_levels, pattern, strict=True) if not seen]
        return tables.n_cells(tuple(hidden))


def gather(
    x: Block, y: Labels, weight: Weights, n_classes: int, n_levels: Levels
) -> JointStatistics:
    """Return the statistics of rows of codes."""
    nothing = np.zeros((n_classes, tables.n_cells(n_levels)))
    return collect(nothing, x, y, weight, n_levels)


def whole(count: Float[np.ndarray, "class cell"], n_levels: Levels) -> JointStatistics:
    """Return the statistics of complete rows."""
    none = np.empty(0, dtype=int)
    return JointStatistics(count, none.reshape(0, len(n_levels)), none, np.empty(0), n_levels, ())


def collect(
    count: Float[np.ndarray, "class cell"],
    x: Block,
    y: Labels,
    weight: Weights,
    n_levels: Levels,
) -> JointStatistics:
    """Return statistics with rows added to counts: the complete ones there, the others in order."""
    complete = (x >= 0).all(axis=1)
    n_classes, size = count.shape
    every = (True,) * x.shape[1]
    cell = y[complete] * size + tables.cells(x[complete], n_levels, every)
    more = np.bincount(cell, weight[complete], minlength=count.size).reshape(count.shape)
    left = distinct_rows.gather(x[~complete], y[~complete], weight[~complete], n_classes)
    seen = left.x >= 0
    # stable: within a pattern rows keep the order of class and codes
    order = np.lexsort(seen.T[::-1])
    new = np.flatnonzero((seen[order][1:] != seen[order][:-1]).any(axis=1)) + 1
    sizes = np.diff([0, *new, len(order)]) if len(order) else []
    firsts = seen[order][[0, *new]] if len(order) else []
    patterns = zip((tuple(p.tolist()) for p in firsts), map(int, sizes), strict=True)
    return JointStatistics(
        count + more, left.x[order], left.y[order], left.weight[order], n_levels, tuple(patterns)
    )


def kept_cells(table: np.ndarray, index: np.ndarray, n_levels: Levels) -> np.ndarray:
    """Return tables (..., cell) of the kept flat levels; a column without any is summed out."""
    batch = table.shape[:-1]
    wide = table.reshape(*batch, *tables.shape(n_levels))
    for j, kept in enumerate(kept_codes(index, n_levels)):
        axis = len(batch) + j
        wide = np.take(wide, kept, axis) if len(kept) else wide.sum(axis=axis, keepdims=True)
    return wide.reshape(*batch, -1)
