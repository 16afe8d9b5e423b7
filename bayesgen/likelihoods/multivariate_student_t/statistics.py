"""Rows that know which of their cells are missing: complete ones, and others by pattern."""

import dataclasses
from typing import ClassVar

import numpy as np

from bayesgen.likelihoods.distinct_rows import Rows, gather
from bayesgen.likelihoods.multivariate_normal.statistics import patterns


@dataclasses.dataclass(frozen=True, eq=False)
class PatternedRows(Rows):
    """Distinct rows (see `Rows`), and where they have missing values.

    complete: entries without a missing value. holed: the others; cell: the cell of each of these. A
    cell is
    a class and a pattern of observed columns: cell_class (cell,), cell_observed (cell, feature).
    """

    complete: np.ndarray
    holed: np.ndarray
    cell: np.ndarray
    cell_class: np.ndarray
    cell_observed: np.ndarray
    axes: ClassVar = {
        **Rows.axes,
        "complete": ("complete",),
        "holed": ("holed",),
        "cell": ("holed",),
        "cell_class": ("cell",),
        "cell_observed": ("cell", "feature"),
    }

    def __add__(self, other: Rows) -> "PatternedRows":
        """Return the rows of both."""
        both = (np.concatenate([getattr(s, n) for s in (self, other)]) for n in Rows.axes)
        return arranged(gather(*both, self.n_classes))

    def __sub__(self, other: Rows) -> "PatternedRows":
        """Return the rows without those of the other."""
        minus = other.with_arrays({"weight": -other.weight})
        both = (np.concatenate([getattr(s, n) for s in (self, minus)]) for n in Rows.axes)
        return arranged(gather(*both, self.n_classes))

    def take(self, axis: str, index: np.ndarray) -> "PatternedRows":
        """Return the rows with some of the columns, in the order of `index`."""
        return arranged(super().take(axis, index))

    def reindex(self, axis: str, index: np.ndarray, size: int) -> "PatternedRows":
        """Return the rows over `size` classes; old class k is index[k]."""
        return arranged(super().reindex(axis, index, size))


def arranged(rows: Rows) -> PatternedRows:
    """Return the same rows with their patterns."""
    observed = ~np.isnan(rows.x)
    whole = observed.all(axis=1)
    holed = np.flatnonzero(~whole)
    masks, which = patterns(observed[holed])
    keys, cell = np.unique(rows.y[holed] * max(len(masks), 1) + which, return_inverse=True)
    label, mask = np.divmod(keys, max(len(masks), 1))
    plain = (rows.x, rows.y, rows.weight, rows.n_classes)
    return PatternedRows(*plain, np.flatnonzero(whole), holed, cell, label, masks[mask])
