"""Moments of pairs of columns within classes: the statistics of trees over numbers."""

import dataclasses
from typing import ClassVar

import numpy as np
from jaxtyping import Bool

from bayesgen.likelihoods.base import Statistics, row_chunks
from bayesgen.likelihoods.normal_statistics import NormalStatistics
from bayesgen.typing import Labels, Numbers, Weights

CHUNK_ROWS = 8192
"""Rows a block, as for the multivariate normal."""

Moments = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


@dataclasses.dataclass(frozen=True, eq=False)
class PairMoments(Statistics):
    """What rows say of each pair of columns: those that show both, weighted.

    All arrays are (class, feature, feature). count[i, j]: weight of the rows that show i and j.
    centre[i, j]: mean of column j over these rows, in its unit. square[i, j]: sum of squares of
    column j around that. cross[i, j]: sum of products of the two. On the diagonal stand the moments
    of a column's own cells.
    """

    count: np.ndarray
    centre: np.ndarray
    square: np.ndarray
    cross: np.ndarray
    axes: ClassVar = {
        name: ("class", "feature", "feature") for name in ("count", "centre", "square", "cross")
    }

    def __add__(self, other: "PairMoments") -> "PairMoments":
        """Return the moments of the rows of both (Chan, Golub and LeVeque 1979)."""
        return PairMoments(*merged(tuple(self.arrays().values()), tuple(other.arrays().values())))

    def __sub__(self, other: "PairMoments") -> "PairMoments":
        """Return the moments without the rows of the other: the merge, solved for one part."""
        count = self.count - other.count
        # what cancels but for rounding is gone
        count = np.where(count > 1e-9 * other.count, count, 0.0)
        share = np.divide(other.count, count, out=np.zeros_like(count), where=count > 0)
        delta = self.centre - other.centre
        both = self.count * share * delta
        left = count > 0
        square = np.maximum(self.square - other.square - both * delta, 0.0)
        cross = self.cross - other.cross - both * np.swapaxes(delta, -1, -2)
        return PairMoments(
            count,
            np.where(left, self.centre + share * delta, 0.0),
            np.where(left, square, 0.0),
            np.where(left, cross, 0.0),
        )

    def columns(self) -> NormalStatistics:
        """Return the statistics of each column by itself: every observed cell counts."""
        arrays = (self.count, self.centre, self.square)
        return NormalStatistics(*(np.diagonal(a, axis1=-2, axis2=-1).copy() for a in arrays))

    def gaps(self) -> Bool[np.ndarray, "*batch class"]:
        """Return the classes in which some pair of columns misses a row of either."""
        most = self.count.max(axis=(-2, -1), initial=0.0)[..., None, None]
        return (self.count < most * (1 - 1e-9)).any(axis=(-2, -1))


def gather(x: Numbers, y: Labels, weight: Weights, n_classes: int) -> PairMoments:
    """Return the moments of rows; NaN is missing."""
    q = x.shape[1]
    totals = [np.zeros((n_classes, q, q)) for _ in range(4)]
    for rows in row_chunks(len(y), CHUNK_ROWS):
        labels = np.where(weight[rows] > 0, y[rows], -1)
        for k in np.unique(labels[labels >= 0]):
            mine = np.flatnonzero(labels == k) + rows.start
            both = merged(tuple(t[k] for t in totals), _moments(x[mine], weight[mine]))
            for total, part in zip(totals, both, strict=True):
                total[k] = part
    return PairMoments(*totals)


def merged(a: Moments, b: Moments) -> Moments:
    """Return the moments of two sets of rows taken together."""
    count = a[0] + b[0]
    share = np.divide(b[0], count, out=np.zeros_like(count), where=count > 0)
    delta = b[1] - a[1]
    both = a[0] * share * delta
    # with nothing on one side the other is returned to the last bit
    centre = np.where(a[0] == 0, b[1], a[1] + share * delta)
    cross = a[3] + b[3] + both * np.swapaxes(delta, -1, -2)
    return count, centre, a[2] + b[2] + both * delta, cross


def _moments(x: Numbers, weight: Weights) -> Moments:
    seen = ~np.isnan(x)
    first = seen.argmax(axis=0)
    # equal cells have squares of 0 exactly: centre on the first before averaging
    shift = np.where(seen.any(axis=0), np.nan_to_num(x[first, np.arange(x.shape[1])]), 0.0)
    z = np.where(seen, x - shift, 0.0)
    heavy = seen * weight[:, None]
    mean = (heavy * z).sum(axis=0) / np.maximum(heavy.sum(axis=0), np.finfo(float).tiny)
    z = np.where(seen, z - mean, 0.0)
    count = heavy.T @ seen
    off = np.divide(heavy.T @ z, count, out=np.zeros_like(count), where=count > 0)
    square = np.maximum(heavy.T @ z**2 - count * off**2, 0.0)
    cross = (heavy * z).T @ z - count * off * off.T
    return count, np.where(count > 0, shift + mean + off, 0.0), square, cross
