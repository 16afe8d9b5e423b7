"""Rows as statistics, for families without sufficient ones: distinct rows and their weights."""

import dataclasses
from typing import ClassVar

import numpy as np

from bayesgen.likelihoods.base import Statistics
from bayesgen.typing import Block, Labels, Weights


@dataclasses.dataclass(frozen=True, eq=False)
class Rows(Statistics):
    """Distinct rows in one order that does not depend on how they came: by class, then by cells.

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

    def __add__(self, other: "Rows") -> "Rows":
        """Return the rows of both."""
        parts = zip(self.arrays().values(), other.arrays().values(), strict=True)
        return gather(*(np.concatenate(pair) for pair in parts), self.n_classes)

    def __sub__(self, other: "Rows") -> "Rows":
        """Return the rows without those of the other."""
        minus = other.with_arrays({"weight": -other.weight})
        both = (np.concatenate([getattr(s, n) for s in (self, minus)]) for n in Rows.axes)
        return gather(*both, self.n_classes)

    def take(self, axis: str, index: np.ndarray) -> "Rows":
        """Return the rows with some of the columns, in the order of `index`."""
        return gather(self.x[:, index], self.y, self.weight, self.n_classes)

    def reindex(self, axis: str, index: np.ndarray, size: int) -> "Rows":
        """Return the rows over `size` classes; old class k is index[k]."""
        return gather(self.x, index[self.y], self.weight, size)


def gather(x: Block, y: Labels, weight: Weights, n_classes: int) -> Rows:
    """Return rows in their canonical form; negative weights take rows away."""
    seen = observed(x).any(axis=1) & (weight != 0)
    x, y, weight = x[seen], y[seen], weight[seen]
    order = np.lexsort((*x.T[::-1], y))
    x, y, weight = x[order], y[order], weight[order]
    same = (x[1:] == x[:-1]) | ~(observed(x[1:]) | observed(x[:-1]))
    first = np.concatenate([[True], ~same.all(axis=1) | (y[1:] != y[:-1])])[: len(y)]
    total = np.add.reduceat(weight, np.flatnonzero(first)) if len(y) else weight
    x, y = x[first], y[first]
    # what cancels but for rounding is gone
    left = total > 1e-9 * np.abs(weight).max(initial=0.0)
    return Rows(x[left], y[left], total[left], n_classes)


def observed(x: Block) -> np.ndarray:
    """Return which cells are observed."""
    return ~np.isnan(x) if x.dtype.kind == "f" else x >= 0
