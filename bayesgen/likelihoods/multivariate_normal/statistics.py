"""Sufficient statistics of multivariate normals: counts, means and scatter matrices.

A cell is one class and one pattern of observed columns. The normal likelihood of any rows depends
on their cells' moments alone: these are sufficient, and nothing is imputed.

Source of the updates: Chan, Golub and LeVeque (1979), Updating formulae and a pairwise algorithm.
"""

import dataclasses
import functools
import itertools
from collections.abc import Hashable
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.linalg import get_blas_funcs

from bayesgen.likelihoods.exponential_family import SufficientStatistics
from bayesgen.likelihoods.multivariate_normal.elimination import by_similar_gaps
from bayesgen.likelihoods.normal_statistics import NormalStatistics
from bayesgen.likelihoods.remainder import ROUNDING, Remainder, Sum
from bayesgen.typing import Labels, Numbers, Traceable, Weights

SCATTER_ROWS = 10_240
"""Rows a chunk: large enough that the calls for each class cost little, small enough that 20
columns about stay in a second-level cache (measured; from 8,000 to 12,000 it is the same)."""
PRODUCT = get_blas_funcs("gemm", dtype=np.float64)
FEW_COLUMNS = 32
"""Columns up to which all p^2 products of columns are faster than the p (p + 1) / 2 different ones,
which BLAS computes for NumPy if both sides are one array (measured: 1.7 times as fast for 20)."""

PILOT_ROWS = 16
"""Number of rows whose mean is the guess of that of their group."""

Moments = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Counts (group,), means (group, feature), scatter matrices (group, feature, feature)."""

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
    weighted: ClassVar = ("count", "scatter", "cell_count", "cell_scatter")
    summed: ClassVar = ()

    def __add__(self, other: "MultivariateNormalStatistics") -> "MultivariateNormalStatistics":
        """Return the statistics of the rows of both."""
        if self.has_missing or other.has_missing:
            return collect(len(self.count), *all_cells(self, other))
        moments = merged_moments(self.moments, other.moments)
        return self.with_arrays(dict(zip(COMPLETE, moments, strict=True)))

    def __sub__(self, other: "MultivariateNormalStatistics") -> "MultivariateNormalStatistics":
        """Return the statistics without the rows of the other, which must be among them."""
        if self.has_missing or other.has_missing:
            return collect(len(self.count), *_cells_without(self, other))
        moments = unmerged_moments(self.moments, other.moments)
        return self.with_arrays(dict(zip(COMPLETE, moments, strict=True)))

    def without(
        self, part: "MultivariateNormalStatistics", *, exact: bool
    ) -> Remainder["MultivariateNormalStatistics"]:
        """Return the statistics without some rows.

        Of every class the scatter that is left must be positive semidefinite.
        """
        found = super().without(part, exact=exact)
        # of a class with too few digits left it cannot be said
        sure = (part.class_weight() > 0) & (found.error < ROUNDING).all(axis=1)
        strange = sure[:, None] & self._indefinite(found.statistics)
        return dataclasses.replace(found, foreign=found.foreign | strange)

    def sums(self) -> tuple[Sum, ...]:
        """Return the sums of each column by itself."""
        return self.marginal().sums()

    def _indefinite(self, left: "MultivariateNormalStatistics") -> Bool[np.ndarray, "class 1"]:
        """Return the classes whose scatter of complete rows lost more than it had."""
        scale = np.sqrt(self.scatter.diagonal(axis1=1, axis2=2))
        unit = np.divide(1.0, scale, out=np.zeros_like(scale), where=scale > 0)
        smallest = np.linalg.eigvalsh(left.scatter * unit[:, :, None] * unit[:, None])[:, :1]
        return smallest < -ROUNDING

    @property
    def moments(self) -> Moments:
        """Count, mean and scatter of complete rows."""
        return self.count, self.mean, self.scatter

    def only_classes(self, stay: np.ndarray) -> "MultivariateNormalStatistics":
        """Return the statistics of some of the classes; the others have no rows."""
        moments = self.with_arrays({name: getattr(self, name)[stay] for name in COMPLETE})
        return moments.with_arrays({"cell_class": np.searchsorted(stay, self.cell_class)})

    def class_weight(self) -> Float[np.ndarray, " class"]:
        """Return the weight of the rows of each class with an observed cell."""
        cells = np.bincount(self.cell_class, self.cell_count, minlength=len(self.count))
        return self.count + cells

    def shifted(self, by: Float[np.ndarray, " feature"]) -> "MultivariateNormalStatistics":
        """Return the statistics of cells to which `by` was added: only the means change."""
        mean = np.where(self.count[:, None] > 0, self.mean + by, 0.0)
        cell_mean = np.where(self.cell_observed, self.cell_mean + by, 0.0)
        return self.with_arrays({"mean": mean, "cell_mean": cell_mean})

    def by_class_and_column(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the weight and the sum of the observed cells of every column, by class."""
        columns = self.marginal()
        return columns.count, columns.count * columns.mean

    def with_whole_indicators(self, at: Int[np.ndarray, " some"]) -> "MultivariateNormalStatistics":
        """Return the statistics without the rounding errors that subtraction left in indicators.

        A column of 0 and 1 whose mean in a class, or a cell, is one of them does not vary there.

        at: positions of such columns.
        """
        indicator = np.isin(np.arange(self.mean.shape[-1]), at)
        arrays = {}
        for mean, scatter in (("mean", "scatter"), ("cell_mean", "cell_scatter")):
            share, squares = getattr(self, mean), getattr(self, scatter)
            whole = np.rint(share)
            constant = indicator & (np.abs(share - whole) < ROUNDING)
            arrays[mean] = np.where(constant, whole, share)
            arrays[scatter] = np.where(constant[:, :, None] | constant[:, None], 0.0, squares)
        return self.with_arrays(arrays)

    def rewritten(
        self,
        matrix: Float[np.ndarray, "new old"],
        offset: Float[np.ndarray, " new"],
        like: Int[np.ndarray, " new"],
    ) -> "MultivariateNormalStatistics":
        """Return the statistics of the same rows with columns matrix @ old columns + offset.

        like: for every new column an old one that was observed in the same rows, as must have been
            all that it is computed from.
        """
        mean = np.where(self.count[:, None] > 0, self.mean @ matrix.T + offset, 0.0)
        observed = self.cell_observed[:, like]
        cell_mean = np.where(observed, self.cell_mean @ matrix.T + offset, 0.0)
        new = self.with_arrays(
            {
                "mean": mean,
                "scatter": matrix @ self.scatter @ matrix.T,
                "cell_observed": observed,
                "cell_mean": cell_mean,
                "cell_scatter": matrix @ self.cell_scatter @ matrix.T,
            }
        )
        return collect(len(self.count), *all_cells(new)) if self.has_missing else new

    def take(self, axis: str, index: np.ndarray) -> "MultivariateNormalStatistics":
        """Keep columns; rows without a missing value in them become complete."""
        taken = super().take(axis, index)
        return collect(len(self.count), *all_cells(taken)) if self.has_missing else taken

    def reindex(self, axis: str, index: np.ndarray, size: int) -> "MultivariateNormalStatistics":
        """Return a copy whose classes have grown to `size`; old class k is at index[k]."""
        grown = super().reindex(axis, index, size)
        return grown.with_arrays({"cell_class": np.asarray(index, dtype=int)[self.cell_class]})

    @functools.cached_property
    def pooled_scatter(self) -> Traceable:
        """The scatter of all classes, each around its mean, shape (1, feature, feature)."""
        return self.scatter.sum(axis=-3, keepdims=True)

    @functools.cached_property
    def pooled_observed_scatter(self) -> Traceable:
        """The same with incomplete rows, whose missing cells are at the means of their classes.

        Positive semidefinite; covariances are too small by about the share of missing pairs.
        """
        if not self.has_missing:
            return self.pooled_scatter
        mean = self.marginal().mean
        complete = self.mean - mean
        cells = np.where(self.cell_observed, self.cell_mean - mean[self.cell_class], 0.0)
        between = (self.count[:, None] * complete).T @ complete
        between += (self.cell_count[:, None] * cells).T @ cells
        return self.pooled_scatter + self.cell_scatter.sum(axis=0) + between

    @property
    def has_missing(self) -> bool:
        """Whether any row is incomplete."""
        return len(self.cell_class) > 0

    @functools.cached_property
    def derived(self) -> dict[Hashable, Any]:
        """Results of long computations from these statistics, which never change, by name."""
        return {}

    @functools.cached_property
    def gaps(self) -> "list[Gaps]":
        """The cells, those that miss about equally many columns together, in chunks."""
        spread = self.cell_scatter.any(axis=(1, 2))
        return [
            Gaps(cells, missing, np.flatnonzero(spread[cells]))
            for cells, missing in by_similar_gaps(self.cell_observed)
        ]

    @functools.cached_property
    def spare_columns(self) -> int:
        """How many columns beyond the last fill up cells that miss fewer than others."""
        last = max((int(gaps.missing.max()) for gaps in self.gaps), default=0)
        return max(last + 1 - self.cell_observed.shape[1], 0)

    @functools.cached_property
    def scatter_of_cells(self) -> Float[np.ndarray, "class feature feature"]:
        """The scatter of the observed cells of incomplete rows around the means of their cells."""
        out = np.zeros_like(self.scatter)
        varying = np.concatenate([gaps.cells[gaps.varying] for gaps in self.gaps] or [[]])
        np.add.at(out, self.cell_class[varying.astype(int)], self.cell_scatter[varying.astype(int)])
        return out

    def with_cells_filled(
        self, means: Float[np.ndarray, "cell feature"], scatter: Float[np.ndarray, "class ..."]
    ) -> "MultivariateNormalStatistics":
        """Return the statistics of complete rows and of cells whose rows were filled.

        Args:
            means: of the filled rows of each cell.
            scatter: (class, feature, feature), of the cells around these means.
        """
        starts = np.searchsorted(self.cell_class, np.arange(len(self.count) + 1))
        weight, mean, scatters = np.zeros(len(scatter)), np.zeros_like(self.mean), scatter.copy()
        for k, (start, end) in enumerate(itertools.pairwise(starts.tolist())):
            if start == end:
                continue
            n, rows = self.cell_count[start:end], means[start:end]
            weight[k] = n.sum()
            mean[k] = rows[0] + n @ (rows - rows[0]) / weight[k]
            off = rows - mean[k]
            scatters[k] += (n[:, None] * off).T @ off
        return complete_rows(*merged_moments(self.moments, (weight, mean, scatters)))

    def total_features(self) -> Traceable:
        """Return sums over complete rows of x_i x_j (i <= j), x and 1, shape (class, natural)."""
        xp = self.mean.__array_namespace__()
        i, j = np.triu_indices(self.mean.shape[-1])
        squares = (
            self.scatter + self.count[:, None, None] * self.mean[:, :, None] * self.mean[:, None]
        )
        sums = self.count[:, None] * self.mean
        return xp.concat([squares[:, i, j], sums, self.count[:, None]], axis=-1)

    def marginal(self) -> NormalStatistics:
        """Return the statistics of each column separately, using every observed cell."""
        n_classes, n_features = self.mean.shape[-2:]
        diagonal = np.arange(n_features)
        within = self.scatter[..., diagonal, diagonal]
        if not self.has_missing:
            return NormalStatistics(
                np.broadcast_to(self.count[..., None], within.shape), self.mean, within
            )
        member = np.equal(self.cell_class, np.arange(n_classes)[:, None]).astype(float)
        member_count = member * self.cell_count
        count = self.count[..., None] + member_count @ self.cell_observed
        # averaged around one of the means: if all are equal, rounding leaves no variance
        shown = np.argmax(member[..., None] * self.cell_observed, axis=1)
        pilot = np.where(self.count[..., None] > 0, self.mean, self.cell_mean[shown, diagonal])
        away = (self.cell_mean - pilot[..., self.cell_class, :]) * self.cell_observed
        total = self.count[..., None] * (self.mean - pilot) + member_count @ away
        shift = np.divide(total, count, out=np.zeros_like(total), where=count > 0)
        mean = np.where(count > 0, pilot + shift, 0.0)
        squares = (away - shift[..., self.cell_class, :]) ** 2 * self.cell_observed
        between = self.count[..., None] * (self.mean - mean) ** 2 + member_count @ squares
        scatter = within + member @ self.cell_scatter[:, diagonal, diagonal] + between
        return NormalStatistics(count, mean, scatter)


@dataclasses.dataclass(frozen=True, eq=False)
class Gaps:
    """Cells that miss about equally many columns, these columns, and positions of those that vary.

    A cell that misses fewer than others has columns beyond the last, all different, in their place.
    A cell of one row, or of equal ones, does not vary: its scatter is 0.
    """

    cells: Int[np.ndarray, " cell"]
    missing: Int[np.ndarray, "missing cell"]
    varying: Int[np.ndarray, " some"]


def gather(x: Numbers, y: Labels, weight: Weights, n_classes: int) -> MultivariateNormalStatistics:
    """Return the statistics of rows; chunks of rows are centered on their own class means."""
    if not weight.all():
        # a row of weight 0 does not count, and its cell would have no mean
        x, y, weight = x[weight > 0], y[weight > 0], weight[weight > 0]
    total = None
    gaps, ones = [], np.ones(x.shape[1])
    even = bool((weight == 1).all())
    room = np.empty((min(len(x), SCATTER_ROWS), x.shape[1]), dtype=x.dtype)
    for start in range(0, len(x), SCATTER_ROWS):
        rows = slice(start, start + SCATTER_ROWS)
        # a missing cell makes the sum of its row NaN: one product instead of a mask
        missing = np.isnan(x[rows] @ ones)
        complete = None
        if missing.any():
            gaps.append(start + np.flatnonzero(missing))
            complete = np.flatnonzero(~missing)
        labels = y[rows] if complete is None else y[rows][complete]
        # labels of 16 bits are sorted by counting, ten times as fast
        narrow = labels.astype(np.int16) if n_classes < 1 << 15 else labels
        order = np.argsort(narrow, kind="stable")
        order = start + (order if complete is None else complete[order])
        # memory is reused; any mode but "raise" writes straight into it
        block = np.take(x, order, axis=0, out=room[: len(order)], mode="clip")
        sizes = np.bincount(labels, minlength=n_classes)
        moments = group_moments(block, sizes, None if even else weight[order], total)
        total = moments if total is None else merged_moments(total, moments)
    total = nothing(n_classes, x.shape[1]) if total is None else total
    if not gaps:
        return complete_rows(*total)
    incomplete = np.concatenate(gaps)
    cells = _cells(x[incomplete], y[incomplete], weight[incomplete])
    return MultivariateNormalStatistics(*total, *cells)


def complete_rows(
    count: np.ndarray, mean: np.ndarray, scatter: np.ndarray
) -> MultivariateNormalStatistics:
    """Return the statistics of complete rows alone."""
    p = mean.shape[1]
    return MultivariateNormalStatistics(
        count,
        mean,
        scatter,
        cell_class=np.empty(0, dtype=int),
        cell_observed=np.empty((0, p), dtype=bool),
        cell_count=np.empty(0),
        cell_mean=np.empty((0, p)),
        cell_scatter=np.empty((0, p, p)),
    )


def patterns(
    observed: Bool[np.ndarray, "row feature"],
) -> tuple[Bool[np.ndarray, "pattern feature"], Int[np.ndarray, " row"]]:
    """Return the distinct rows of a boolean matrix, sorted, and which of them each row is."""
    if observed.all():
        return observed[:1], np.zeros(len(observed), dtype=int)
    packed = np.packbits(observed, axis=1)
    keys = np.ascontiguousarray(packed).view(np.dtype((np.void, max(packed.shape[1], 1))))[:, 0]
    _, position, which = np.unique(keys, return_index=True, return_inverse=True)
    return observed[position], which


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
    useful = np.flatnonzero((count > 0) & observed.any(axis=1))
    # a complete cell without rows for each class: the last pattern, for patterns are sorted
    full = np.ones((n_classes, n_features), dtype=bool)
    masks, which = patterns(np.concatenate([full, observed[useful]]))
    label = np.concatenate([np.arange(n_classes), label[useful]])
    keys, key = np.unique(label * len(masks) + which, return_inverse=True)
    total, cells = nothing(len(keys), n_features), key[n_classes:]
    while len(useful):  # one cell of every key at a time
        at, places = np.unique(cells, return_index=True)
        added = tuple(array[useful[places]] for array in (count, mean, scatter))
        moments = merged_moments(tuple(array[at] for array in total), added)
        for array, values in zip(total, moments, strict=True):
            array[at] = values
        useful, cells = np.delete(useful, places), np.delete(cells, places)
    label, mask = np.divmod(keys, len(masks))
    complete = mask == len(masks) - 1
    return MultivariateNormalStatistics(
        *(array[complete] for array in total),
        label[~complete],
        masks[mask[~complete]],
        *(array[~complete] for array in total),
    )


def all_cells(*statistics: MultivariateNormalStatistics) -> tuple[np.ndarray, ...]:
    """Return class, pattern, count, mean and scatter of all cells, complete ones among them."""
    n_classes, n_features = statistics[0].mean.shape
    full = np.ones((n_classes, n_features), dtype=bool)
    complete = [(np.arange(n_classes), full, s.count, s.mean, s.scatter) for s in statistics]
    missing_cells = [tuple(getattr(s, name) for name in CELLS) for s in statistics]
    return tuple(np.concatenate(arrays) for arrays in zip(*complete, *missing_cells, strict=True))


def _cells(x: Numbers, y: Labels, weight: Weights) -> tuple[np.ndarray, ...]:
    """Return class, pattern and moments of incomplete rows, one entry for each cell."""
    observed = ~np.isnan(x)
    shown = observed.any(axis=1)
    x, y, weight, observed = x[shown], y[shown], weight[shown], observed[shown]
    masks, which = patterns(observed)
    keys, index = np.unique(y * len(masks) + which, return_inverse=True)
    label, mask = np.divmod(keys, max(len(masks), 1))
    order = np.argsort(index, kind="stable")
    filled = np.where(observed, x, 0.0)[order]
    sizes = np.bincount(index, minlength=len(keys))
    return label, masks[mask], *group_moments(filled, sizes, weight[order])


def group_moments(
    x: Numbers,
    sizes: Int[np.ndarray, " group"],
    weight: Weights | None,
    earlier: Moments | None = None,
) -> Moments:
    """Return counts, means and scatter matrices of groups of rows, which are centered in place.

    Rows are centered on the mean of earlier rows of the group, or of its first ones. Groups that
    lie further from it than they are spread, where digits would cancel, are centered again.

    Args:
        x: rows, sorted by group.
        sizes: the number of rows of each group.
        weight: of each row; None: all 1.
        earlier: moments of earlier rows of the groups.
    """
    earlier_count, pilot, _ = nothing(len(sizes), x.shape[1]) if earlier is None else earlier
    _, offset, squares = nothing(len(sizes), x.shape[1])
    weights = np.ones(len(x)) if weight is None else weight
    ends = np.cumsum(sizes)
    starts = ends - sizes
    begun = np.flatnonzero((earlier_count == 0) & (sizes > 0))
    if len(begun):
        pilot = pilot.copy()
        pilot[begun] = _pilots(x, starts[begun], sizes[begun])
    x -= np.repeat(pilot, sizes, axis=0)
    # a single row of a new group is its mean: nothing is left to sum
    single = (sizes == 1) & (earlier_count == 0)
    count = sizes.astype(float)
    count[single] = weights[starts[single]]
    groups = {g: slice(starts[g], ends[g]) for g in np.flatnonzero((sizes > 0) & ~single).tolist()}
    for g, rows in groups.items():
        group = x[rows]
        # a product: twice as fast as a sum along an axis
        if weight is not None:
            count[g] = weight[rows].sum()
        offset[g] = weights[rows] @ group / count[g]
        squares[g] = _squares(group, None if weight is None else weight[rows])
    # the scatter of single rows is never written: its zeros take no memory
    several = np.array(list(groups), dtype=int)
    between = count[several, None, None] * (offset[several, :, None] * offset[several, None])
    distance, spread = (
        matrices.diagonal(axis1=1, axis2=2) for matrices in (between, squares[several])
    )
    for place in np.flatnonzero((2 * distance > spread).any(axis=1)):
        g = several[place]
        group = x[groups[g]]
        group -= offset[g]
        squares[g] = _squares(group, None if weight is None else weight[groups[g]])
        between[place] = 0.0
    squares[several] -= between
    return count, pilot + offset, squares


def _pilots(
    x: Numbers, starts: Int[np.ndarray, " group"], sizes: Int[np.ndarray, " group"]
) -> Float[np.ndarray, "group feature"]:
    """Return a guess of the mean of each group of rows: exact, to the last bit, if all are equal.

    It is the mean of the first rows; a group of fewer repeats its last one.
    """
    places = starts[:, None] + np.minimum(np.arange(PILOT_ROWS), sizes[:, None] - 1)
    start = x[starts]
    return start + (x[places] - start[:, None]).mean(axis=1)


def nothing(n_groups: int, n_features: int) -> Moments:
    """Return the moments of no rows."""
    wide = (n_groups, n_features)
    return np.zeros(n_groups), np.zeros(wide), np.zeros((*wide, n_features))


def merged_moments(a: Moments, b: Moments) -> Moments:
    """Return the moments of two sets of rows taken together, group by group."""
    count = a[0] + b[0]
    share = np.divide(b[0], count, out=np.zeros_like(count), where=count > 0)
    delta = b[1] - a[1]
    # if one side is empty, the other is returned to the last bit
    mean = np.where(a[0][:, None] == 0, b[1], a[1] + share[:, None] * delta)
    outer = delta[:, :, None] * delta[:, None]
    return count, mean, a[2] + b[2] + (a[0] * share)[:, None, None] * outer


def unmerged_moments(a: Moments, b: Moments) -> Moments:
    """Return the moments of a set of rows without a part of it, group by group.

    Weights that cancel to less than 1e-9 of the part are rounding errors of zero.
    """
    count = a[0] - b[0]
    count = np.where(count > 1e-9 * b[0], count, 0.0)
    share = np.divide(b[0], count, out=np.zeros_like(count), where=count > 0)
    delta = a[1] - b[1]
    scatter = a[2] - b[2]
    # in place: matrices of many rows left out are read from memory once
    scatter -= ((a[0] * share)[..., None] * delta)[..., None] * delta[..., None, :]
    scatter[count == 0] = 0.0
    return count, np.where((count > 0)[..., None], a[1] + share[..., None] * delta, 0.0), scatter


def _cells_without(
    whole: MultivariateNormalStatistics, part: MultivariateNormalStatistics
) -> tuple[np.ndarray, ...]:
    """Return all cells without some rows; rows of other cells change nothing."""
    label, observed, *moments = all_cells(whole)
    removed_label, removed_observed, *minus = all_cells(part)
    masks, which = patterns(np.concatenate([observed, removed_observed]))
    keys = np.concatenate([label, removed_label]) * len(masks) + which
    known, place = np.unique(keys[: len(label)], return_index=True)
    at = np.minimum(np.searchsorted(known, keys[len(label) :]), len(known) - 1)
    matched = (known[at] == keys[len(label) :]) & (minus[0] > 0)
    place = place[at[matched]]
    present, removed = tuple(m[place] for m in moments), tuple(m[matched] for m in minus)
    for array, values in zip(moments, unmerged_moments(present, removed), strict=True):
        array[place] = values
    return label, observed, *moments


def _squares(x: Numbers, weight: Weights | None) -> np.ndarray:
    """Return the weighted sum of the products of every two columns."""
    if weight is not None:
        return (x * weight[:, None]).T @ x
    if x.shape[1] > FEW_COLUMNS:
        return x.T @ x
    return PRODUCT(1.0, x.T, x.T, trans_b=True)
