"""Counts, means and scatter matrices: of complete rows by class, of incomplete rows by cell.

A cell is one class and one pattern of observed columns. The normal likelihood of any rows depends
on their cells' moments alone, so nothing is lost and nothing is imputed.
"""

import dataclasses
import functools
from typing import ClassVar

import numpy as np
from jaxtyping import Bool, Int

from bayesgen.likelihoods.base import row_chunks
from bayesgen.likelihoods.exponential_family import SufficientStatistics
from bayesgen.likelihoods.multivariate_normal.scatter import (
    group_moments,
    merged_moments,
    nothing,
)
from bayesgen.likelihoods.normal_statistics import NormalStatistics
from bayesgen.typing import Labels, Numbers, Traceable, Weights

SCATTER_ROWS = 10_240
"""Rows a block: large enough that the calls for each class cost little, small enough that 20
columns about stay in a second-level cache (measured; from 8,000 to 12,000 it is the same)."""

COMPLETE = {
    "count": ("class",),
    "mean": ("class", "feature"),
    "scatter": ("class", "feature", "feature"),
}
CELLS = {
    "cell_class": ("cell",),
    "cell_observed": ("cell", "feature"),
    "cell_count": ("cell",),
    "cell_mean": ("cell", "feature"),
    "cell_scatter": ("cell", "feature", "feature"),
}


@dataclasses.dataclass(frozen=True, eq=False)
class MultivariateNormalStatistics(SufficientStatistics):
    """Moments of complete rows by class and of incomplete rows by cell; unobserved entries are 0.

    count (class,), mean (class, feature), scatter (class, feature, feature): complete rows.
    cell_class (cell,), cell_observed (cell, feature), cell_count, cell_mean, cell_scatter: cells in
    order of class and pattern. A row with nothing observed is in neither.
    """

    count: np.ndarray
    mean: np.ndarray
    scatter: np.ndarray
    cell_class: np.ndarray
    cell_observed: np.ndarray
    cell_count: np.ndarray
    cell_mean: np.ndarray
    cell_scatter: np.ndarray
    axes: ClassVar = {**COMPLETE, **CELLS}

    def __add__(self, other: "MultivariateNormalStatistics") -> "MultivariateNormalStatistics":
        """Return the statistics of the rows of both."""
        if self.has_missing or other.has_missing:
            return collect(len(self.count), *all_cells(self, other))
        names, parts = tuple(COMPLETE), (self.arrays(), other.arrays())
        both = merged_moments(*(tuple(part[name] for name in names) for part in parts))
        return self.with_arrays(dict(zip(names, both, strict=True)))

    def __sub__(self, other: "MultivariateNormalStatistics") -> "MultivariateNormalStatistics":
        """Return the statistics without the complete rows of the other."""
        count = self.count - other.count
        count = np.where(count > 1e-9 * other.count, count, 0.0)
        share = np.divide(other.count, count, out=np.zeros_like(count), where=count > 0)
        delta = self.mean - other.mean
        outer = (self.count * share)[..., None, None] * delta[..., None] * delta[..., None, :]
        left = (count > 0)[..., None]
        return self.with_arrays(
            {
                "count": count,
                "mean": np.where(left, self.mean + share[..., None] * delta, 0.0),
                "scatter": np.where(left[..., None], self.scatter - other.scatter - outer, 0.0),
            }
        )

    def take(self, axis: str, index: np.ndarray) -> "MultivariateNormalStatistics":
        """Keep columns; rows without a missing value in them become complete."""
        kept = super().take(axis, index)
        return collect(len(self.count), *all_cells(kept)) if self.has_missing else kept

    def reindex(self, axis: str, index: np.ndarray, size: int) -> "MultivariateNormalStatistics":
        """Return a copy whose classes have grown to `size`; old class k is at index[k]."""
        grown = super().reindex(axis, index, size)
        return grown.with_arrays({"cell_class": np.asarray(index, dtype=int)[self.cell_class]})

    @functools.cached_property
    def pooled_scatter(self) -> Traceable:
        """The scatter of all classes, each around its mean, shape (1, feature, feature)."""
        return self.scatter.sum(axis=-3, keepdims=True)

    @property
    def has_missing(self) -> bool:
        """Whether any row lacks a cell."""
        return len(self.cell_class) > 0

    def total_features(self) -> Traceable:
        """Return sums over complete rows of x_i x_j (i <= j), x and 1, shape (class, natural)."""
        xp = self.mean.__array_namespace__()
        i, j = np.triu_indices(self.mean.shape[-1])
        second = (
            self.scatter + self.count[:, None, None] * self.mean[:, :, None] * self.mean[:, None]
        )
        first = self.count[:, None] * self.mean
        return xp.concat([second[:, i, j], first, self.count[:, None]], axis=-1)

    def marginal(self) -> NormalStatistics:
        """Return the statistics of each column by itself: every observed cell counts."""
        n_classes, n_features = self.mean.shape[-2:]
        diagonal = np.arange(n_features)
        own = self.scatter[..., diagonal, diagonal]
        if not self.has_missing:
            return NormalStatistics(
                np.broadcast_to(self.count[..., None], own.shape), self.mean, own
            )
        member = np.equal(self.cell_class, np.arange(n_classes)[:, None]).astype(float)
        member_count = member * self.cell_count
        count = self.count[..., None] + member_count @ self.cell_observed
        # averaged around one of the means: where all are equal no rounding becomes a variance
        shown = np.argmax(member[..., None] * self.cell_observed, axis=1)
        pilot = np.where(self.count[..., None] > 0, self.mean, self.cell_mean[shown, diagonal])
        away = (self.cell_mean - pilot[..., self.cell_class, :]) * self.cell_observed
        total = self.count[..., None] * (self.mean - pilot) + member_count @ away
        shift = np.divide(total, count, out=np.zeros_like(total), where=count > 0)
        mean = np.where(count > 0, pilot + shift, 0.0)
        off = (away - shift[..., self.cell_class, :]) ** 2 * self.cell_observed
        between = self.count[..., None] * (self.mean - mean) ** 2 + member_count @ off
        scatter = own + member @ self.cell_scatter[:, diagonal, diagonal] + between
        return NormalStatistics(count, mean, scatter)


def gather(x: Numbers, y: Labels, weight: Weights, n_classes: int) -> MultivariateNormalStatistics:
    """Return the statistics of rows; blocks of rows are centred on their own class means."""
    if not weight.all():
        # a row without weight is no row: its cell would have no mean
        x, y, weight = x[weight > 0], y[weight > 0], weight[weight > 0]
    total = None
    rest, ones = [], np.ones(x.shape[1])
    even = bool((weight == 1).all())
    room = np.empty((min(len(x), SCATTER_ROWS), x.shape[1]), dtype=x.dtype)
    for rows in row_chunks(len(x), SCATTER_ROWS):
        # a missing cell makes the sum of its row missing: one product instead of a mask
        missing = np.isnan(x[rows] @ ones)
        complete = None
        if missing.any():
            rest.append(rows.start + np.flatnonzero(missing))
            complete = np.flatnonzero(~missing)
        labels = y[rows] if complete is None else y[rows][complete]
        # labels of 16 bits are sorted by counting, ten times as fast
        narrow = labels.astype(np.int16) if n_classes < 1 << 15 else labels
        order = np.argsort(narrow, kind="stable")
        order = rows.start + (order if complete is None else complete[order])
        # into the same memory again and again; any mode but "raise" writes straight into it
        block = np.take(x, order, axis=0, out=room[: len(order)], mode="clip")
        sizes = np.bincount(labels, minlength=n_classes)
        part = group_moments(block, sizes, None if even else weight[order], total)
        total = part if total is None else merged_moments(total, part)
    count, mean, scatter = nothing(n_classes, x.shape[1]) if total is None else total
    if not rest:
        return MultivariateNormalStatistics(count, mean, scatter, *_no_cells(x.shape[1]))
    incomplete = np.concatenate(rest)
    cells = _cells(x[incomplete], y[incomplete], weight[incomplete])
    return collect(
        n_classes,
        np.concatenate([np.arange(n_classes), cells[0]]),
        np.concatenate([np.ones_like(mean, dtype=bool), cells[1]]),
        np.concatenate([count, cells[2]]),
        np.concatenate([mean, cells[3]]),
        np.concatenate([scatter, cells[4]]),
    )


def patterns(
    observed: Bool[np.ndarray, "row feature"],
) -> tuple[Bool[np.ndarray, "pattern feature"], Int[np.ndarray, " row"]]:
    """Return the distinct rows of a boolean matrix, sorted, and which of them each row is."""
    packed = np.packbits(observed, axis=1)
    keys = np.ascontiguousarray(packed).view(np.dtype((np.void, max(packed.shape[1], 1))))[:, 0]
    _, first, which = np.unique(keys, return_index=True, return_inverse=True)
    return observed[first], which


def collect(
    n_classes: int,
    label: np.ndarray,
    observed: np.ndarray,
    count: np.ndarray,
    mean: np.ndarray,
    scatter: np.ndarray,
) -> MultivariateNormalStatistics:
    """Merge cells of one class and pattern; complete ones become the class's own moments."""
    n_features = mean.shape[1]
    merged: dict[tuple, tuple] = {}
    useful = (count > 0) & observed.any(axis=1)
    for c in np.flatnonzero(useful):
        key = (int(label[c]), observed[c].tobytes())
        part = (count[c], mean[c], scatter[c])
        merged[key] = _merge(merged[key], part) if key in merged else part
    everything = np.ones(n_features, dtype=bool).tobytes()
    complete = [merged.pop((k, everything), _nothing(n_features)) for k in range(n_classes)]
    keys = sorted(merged)
    cells = [merged[key] for key in keys] or [_nothing(n_features)]
    own = (np.stack([np.asarray(p) for p in parts]) for parts in zip(*complete, strict=True))
    missing_cells = (
        np.stack([np.asarray(p) for p in parts])[: len(keys)] for parts in zip(*cells, strict=True)
    )
    masks = np.array([np.frombuffer(mask, dtype=bool) for _, mask in keys], dtype=bool)
    return MultivariateNormalStatistics(
        *own,
        np.array([k for k, _ in keys], dtype=int),
        masks.reshape(len(keys), n_features),
        *missing_cells,
    )


def all_cells(*parts: MultivariateNormalStatistics) -> tuple[np.ndarray, ...]:
    """Return class, pattern, count, mean and scatter of all cells, complete ones among them."""
    n_classes, n_features = parts[0].mean.shape
    every = np.ones((n_classes, n_features), dtype=bool)
    complete = [(np.arange(n_classes), every, s.count, s.mean, s.scatter) for s in parts]
    missing_cells = [tuple(getattr(s, name) for name in CELLS) for s in parts]
    return tuple(np.concatenate(arrays) for arrays in zip(*complete, *missing_cells, strict=True))


def _cells(x: Numbers, y: Labels, weight: Weights) -> tuple[np.ndarray, ...]:
    """Return class, pattern and moments of incomplete rows, one entry for each cell."""
    observed = ~np.isnan(x)
    which = patterns(observed)[1]
    key = which * (int(y.max(initial=0)) + 1) + y
    cells, index = np.unique(key, return_inverse=True)
    order = np.argsort(index, kind="stable")
    sizes = np.bincount(index, minlength=len(cells))
    first = order[np.cumsum(sizes) - sizes]
    filled = np.where(observed, x, 0.0)[order]
    return y[first], observed[first], *group_moments(filled, sizes, weight[order])


def _nothing(n_features: int) -> tuple[float, np.ndarray, np.ndarray]:
    return 0.0, np.zeros(n_features), np.zeros((n_features, n_features))


def _no_cells(n_features: int) -> tuple[np.ndarray, ...]:
    """Return class, pattern, count, mean and scatter of no cells."""
    p = n_features
    seen = np.empty((0, p), dtype=bool)
    return np.empty(0, dtype=int), seen, np.empty(0), np.empty((0, p)), np.empty((0, p, p))


def _merge(a: tuple, b: tuple) -> tuple[float, np.ndarray, np.ndarray]:
    """Merge two sets of moments (Chan, Golub and LeVeque 1979)."""
    if a[0] == 0 or b[0] == 0:
        return b if a[0] == 0 else a
    count, delta = a[0] + b[0], b[1] - a[1]
    outer = delta[:, None] * delta
    return count, a[1] + b[0] / count * delta, a[2] + b[2] + a[0] * b[0] / count * outer
