"""Kernels at the rows of a fit and a Student t: update, learned bandwidths, predictive, cells."""

import dataclasses
import functools
from collections.abc import Callable
from typing import ClassVar

import numpy as np

from bayesgen.likelihoods.base import Arrays, is_learned, sample_positions
from bayesgen.likelihoods.distinct_rows import Rows
from bayesgen.likelihoods.kernels import guesses
from bayesgen.likelihoods.kernels.interpolation import interpolated
from bayesgen.likelihoods.kernels.joint import Kernels
from bayesgen.likelihoods.kernels.left_out import LeftOut, left_out
from bayesgen.likelihoods.kernels.sums import active
from bayesgen.likelihoods.multivariate_normal import (
    MultivariateNormal,
    MultivariateNormalStatistics,
)
from bayesgen.likelihoods.multivariate_normal.density import filled
from bayesgen.likelihoods.special_functions import log_sum_exp
from bayesgen.typing import Block, Joint, Labels, Params, Weights

GRID = 2.0 ** (-np.arange(8) / 2)
"""Bandwidths of "learn", from 1 to .088 standard deviations within classes."""
BASE_ROWS, CENTERS = 1.0, 2000
"""Rows that the Student t counts for, and the largest number of kernels, by default."""
TABLE_ROWS, MARGIN = 200, 3.0
"""Rows of a single column from which the density is interpolated, and standard deviations beyond
the outermost centers where this ends: for 1,000 rows and 128 centers .1 ms instead of 1.1 ms."""


@dataclasses.dataclass(frozen=True, eq=False)
class FittedKernels(Arrays):
    """The mixture of `KernelDiscriminant` for one block of columns, numbers in place of guesses.

    mean, mean_rows, scale, covariance_rows: of the multivariate normal whose predictive is the
    Student t. covariance: of the kernels at bandwidth 1. class_mean: by which missing cells are
    expected. x, y, weight: distinct rows, (entry, feature) and (entry,), missing cells filled.
    center: which of them have kernels. seen: which cells were observed. grid, log_weight:
    bandwidths and the logs of their probabilities. base_rows: that t counts for. most_centers: the
    largest number of kernels.
    """

    mean: np.ndarray
    mean_rows: np.ndarray
    scale: np.ndarray
    covariance_rows: np.ndarray
    covariance: np.ndarray
    class_mean: np.ndarray
    x: np.ndarray
    y: np.ndarray
    weight: np.ndarray
    center: np.ndarray
    seen: np.ndarray
    grid: np.ndarray
    log_weight: np.ndarray
    base_rows: float
    most_centers: int

    location: ClassVar = ("mean", "class_mean", "x")
    axes: ClassVar = {
        **MultivariateNormal.axes,
        "covariance": ("feature", "feature"),
        "class_mean": ("class", "feature"),
        **dict.fromkeys(("x", "seen"), ("entry", "feature")),
        **dict.fromkeys(("y", "weight", "center"), ("entry",)),
        **dict.fromkeys(("grid", "log_weight"), ("bandwidth",)),
    }

    @classmethod
    def guessed(
        cls, rows: Rows, bandwidth: float | str, base_rows: float, most_centers: int
    ) -> "FittedKernels":
        """Return kernels at no row yet, whose covariance is guessed from rows.

        bandwidth: in standard deviations within classes, or "learn".
        """
        prior, class_mean = guesses.completed(rows)
        grid = GRID if is_learned(bandwidth) else np.full(1, float(bandwidth))
        return cls(
            **prior.arrays(),
            covariance=prior.scale[0],
            class_mean=class_mean,
            **{name: array[:0] for name, array in rows.arrays().items()},
            center=np.empty(0, dtype=bool),
            seen=np.empty((0, rows.x.shape[1]), dtype=bool),
            grid=grid,
            log_weight=np.full(len(grid), -np.log(len(grid))),
            base_rows=float(base_rows),
            most_centers=int(most_centers),
        )

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return len(self.mean)

    @property
    def n_columns(self) -> int:
        """The number of columns."""
        return self.mean.shape[1]

    def shifted(self, origin: np.ndarray) -> "FittedKernels":
        """Return the kernels of x + origin when these are of x."""
        return self.with_arrays({name: getattr(self, name) + origin for name in self.location})

    def uninformative(self) -> np.ndarray:
        """Return which columns have no unit: constant or never observed."""
        return np.isnan(np.diagonal(self.covariance))

    @property
    def base(self) -> MultivariateNormal:
        """The multivariate normal of each class, whose predictive is the Student t."""
        arrays = {name: getattr(self, name) for name in MultivariateNormal.axes}
        return MultivariateNormal().with_arrays(arrays)

    @property
    def rows(self) -> Rows:
        """The distinct rows behind the kernels, their missing cells NaN again."""
        return Rows(np.where(self.seen, self.x, np.nan), self.y, self.weight, self.n_classes)

    def spaced_centers(self) -> np.ndarray:
        """Return which rows are centers, evenly spaced within classes, as booleans (entry,).

        They are stored, so that the density of some columns has the centers of all of them. Rows
        are in order of value, whatever the units and the order of the columns: these are compared
        in the order of their skewness, each in the direction of its own.
        """
        n, center = len(self.y), np.ones(len(self.y), dtype=bool)
        if n > self.most_centers:
            unit = np.sqrt(np.diagonal(self.covariance))
            skewness = (((self.x - self.x.mean(axis=0)) / unit) ** 3).mean(axis=0)
            signed = self.x * np.where(skewness < 0, -1.0, 1.0)
            columns = np.argsort(-np.abs(skewness), kind="stable")
            order = np.lexsort((*signed.T[columns[::-1]], self.y))
            sizes = np.bincount(self.y, minlength=self.n_classes)
            most = np.clip(self.most_centers * sizes // n, 1, sizes)
            starts = np.cumsum(sizes) - sizes
            groups = zip(starts, sizes, most, strict=True)
            places = [a + (2 * np.arange(m) + 1) * size // (2 * m) for a, size, m in groups if m]
            center[:] = False
            center[order[np.concatenate(places)]] = True
        return center

    @functools.cached_property
    def kernels(self) -> Kernels:
        """The kernels; those of a class have the weight of all its rows."""
        total, taken = (
            np.bincount(self.y, weight, minlength=self.n_classes)
            for weight in (self.weight, self.weight * self.center)
        )
        share = np.divide(total, taken, out=np.ones(len(taken)), where=taken > 0)
        y, weight = self.y[self.center], self.weight[self.center]
        return Kernels(self.x[self.center], y, weight * share[y], share, self.covariance)

    @property
    def caveat(self) -> str:
        """Which rows are not centers, and which cells were filled."""
        sentences = []
        if not self.center.all():
            sentences.append(
                f"{self.center.sum()} of {len(self.x)} distinct rows, evenly spaced within "
                f"classes, are centers of the kernels (centers={self.most_centers})."
            )
        if not self.seen.all():
            sentences.append(
                "Kernels of incomplete training rows are centered at the expectation of their "
                "missing cells."
            )
        return " ".join(sentences)

    # -- update -------------------------------------------------------------------------------

    def posterior(self, statistics: Rows) -> "FittedKernels":
        """Return the likelihood with these rows as centers too, and bandwidths weighed by all."""
        update = self.given(statistics)
        if len(self.grid) == 1 or not len(update.after.x):
            return update.after
        return update.after.weighed_by(*update.scores_of_centers)

    def given(self, statistics: Rows) -> "Update":
        """Return the update by rows. The last is kept: rows of a fit are left out of it next."""
        last = vars(self).get("_last")
        if last is None or not last.rows.equals(statistics):
            last = vars(self)["_last"] = Update(statistics, *self._with_rows(statistics))
        return last

    def _with_rows(self, statistics: Rows) -> tuple["FittedKernels", MultivariateNormalStatistics]:
        """Return the likelihood before bandwidths are weighed, and the moments of all its rows."""
        rows, more = self.rows + statistics, self._moments(statistics)
        arrays = {
            "x": guesses.filled_rows(rows.x, rows.y, self.class_mean, self.covariance),
            "seen": ~np.isnan(rows.x),
            "y": rows.y,
            "weight": rows.weight,
        }
        after = self.with_arrays(arrays | self.base.posterior(more).arrays())
        moments = self._moments(rows) if len(self.x) else more
        return after.with_arrays({"center": after.spaced_centers()}), moments

    def _moments(self, rows: Rows) -> MultivariateNormalStatistics:
        """Return the moments of rows, missing cells expected."""
        return guesses.moments(rows, self.class_mean, self.covariance)

    def scores_of_centers(
        self, moments: MultivariateNormalStatistics
    ) -> tuple[np.ndarray, Weights]:
        """Return log p_h of each center given its class and the other rows, and its weight.

        The centers stand for all rows. A row loses its whole weight, and counts at most once: a
        copy of it would call for a bandwidth of 0.
        """
        rows = self.rows
        centers = rows.with_arrays({n: array[self.center] for n, array in rows.arrays().items()})
        own = np.arange(len(centers.y))
        return self.without_rows(moments, centers, own, every=False)[1], self.counted_once()

    def counted_once(self) -> Weights:
        """Return the weights by which centers stand for all rows, each of which counts once."""
        weight, y = self.weight[self.center], self.y[self.center]
        return np.minimum(weight, 1.0) * self.kernels.share[y]

    def weighed_by(self, logs: np.ndarray, weight: Weights) -> "FittedKernels":
        """Return the likelihood with bandwidths weighed by log densities (row, bandwidth)."""
        log_weight = weight @ logs
        return self.with_arrays({"log_weight": log_weight - np.logaddexp.reduce(log_weight)})

    def without_rows(
        self,
        moments: MultivariateNormalStatistics,
        rows: Rows,
        own: np.ndarray,
        *,
        every: bool = True,
    ) -> tuple[LeftOut, np.ndarray]:
        """Return what `left_out` does, and log p_h(x_i given y_i, the rows without i).

        The latter has shape (row, bandwidth).
        """
        rest = left_out(self.kernels, moments, self.class_mean, rows, own, self.grid, every=every)
        cell = np.arange(len(rows.y)), rows.y
        normal, count = rest.normal[cell][:, None], rest.count[cell][:, None]
        return rest, self._mixed(rest.sums[cell], normal, count)

    def _mixed(self, sums: np.ndarray, normal: np.ndarray, count: np.ndarray) -> np.ndarray:
        """Return log densities from the logs of sums of kernels and of the Student t.

        Those of one bandwidth, or sums that are averaged over bandwidths, on which t does not
        depend.
        """
        total = np.logaddexp(sums, np.log(self.base_rows) + normal)
        return total - np.log(count + self.base_rows)

    def leave_one_out(self, statistics: Rows, x: Block, y: Labels, away: Weights) -> Joint:
        """Return log p(x_i given y = k, the rows without i), (row, class) (see `LeaveOneOut`).

        The kernels are those before the rows.
        """
        update = self.given(statistics)
        after, moments = update.after, update.moments
        seen = np.flatnonzero(~np.isnan(x).all(axis=1))
        rows = Rows(x[seen], y[seen], away[seen], statistics.n_classes)
        place = _positions(statistics, rows)
        # a row without weight is none of them, and takes the last number
        own = np.append(np.where(after.center, after.center.cumsum() - 1, -1), -1)[place]
        total = np.append(after.weight, 0.0)[place]
        rest, score = after.without_rows(moments, rows, own)
        if len(self.grid) > 1:
            whole = np.flatnonzero((own >= 0) & (rows.weight >= (1 - 1e-9) * total))
            lost = np.full(after.center.sum(), -1)
            lost[own[whole]] = whole
            if (lost >= 0).all():  # every center is among the rows
                logs, once = score[lost], after.counted_once()
            else:
                logs, once = update.scores_of_centers
            after = after.weighed_by(logs, once)
            # of equal rows all are scored alike
            score = np.where(own[:, None] >= 0, logs[own], score)
        less = np.minimum(total, 1.0) - np.clip(total - rows.weight, 0.0, 1.0)
        log_weight = after.log_weight - less[:, None] * score
        log_weight -= log_sum_exp(log_weight)[:, None]
        out = np.zeros((len(y), self.n_classes))
        sums = log_sum_exp(rest.sums + log_weight[:, None])
        out[seen] = self._mixed(sums, rest.normal, rest.count)
        out[seen[rest.needed]] = np.nan
        return out

    def pruned(self) -> "FittedKernels":
        """Return the kernels without bandwidths of negligible weight at either end of the grid."""
        part, log_weight = active(self.log_weight)
        return self.with_arrays({"grid": self.grid[part], "log_weight": log_weight})

    # -- rows, parameters integrated out --------------------------------------------------------

    def log_densities(self) -> Callable[[Block], np.ndarray]:
        """Return x -> log of weight times p_h(x given y = k), shape (row, class, bandwidth)."""
        kernels, base, grid = self.kernels, self.base.predictive(), self.grid

        def log_densities(x: Block) -> np.ndarray:
            sums, normal = kernels.log_sums(x, grid), base(x)[..., None]
            return self._mixed(sums, normal, kernels.count[:, None]) + self.log_weight

        return log_densities

    def predictive(self) -> Callable[[Block], np.ndarray]:
        """Return x -> log p(x given y = k), shape (row, class), over all bandwidths."""
        part = self.pruned()
        kernels, base, grid = self.kernels, self.base.predictive(), part.grid

        def mixed(sums: np.ndarray, x: Block) -> np.ndarray:
            return self._mixed(log_sum_exp(sums + part.log_weight), base(x), kernels.count)

        def log_predictive(x: Block) -> np.ndarray:
            return mixed(kernels.log_sums(x, grid), x)

        def on_grid(middle: np.ndarray, offset: np.ndarray) -> np.ndarray:
            sums = kernels.log_sums_on_grid(middle, offset, grid)
            return mixed(sums, (middle[:, None] + offset).reshape(-1, 1))

        if len(kernels.unit) > 1 or not len(kernels.x):
            return log_predictive

        @functools.cache
        def by_table() -> Callable[[Block], np.ndarray]:
            # built at the first prediction of many rows, for which alone it pays
            (low, high), margin = np.sort(kernels.x[:, 0])[[0, -1]], MARGIN * kernels.unit[0]
            low, high = float(low - margin), float(high + margin)
            return interpolated(log_predictive, low, high, on_grid)

        return lambda x: (log_predictive if len(x) < TABLE_ROWS else by_table())(x)

    # -- missing cells ---------------------------------------------------------------------------

    def fill(self, x: Block, own: Labels, rng: np.random.Generator) -> Block:
        """Return rows whose missing cells are drawn: exactly, a bandwidth and component each."""
        logs = self.log_densities()(x)[np.arange(len(x)), own]
        weights = {
            "row_weight": self.kernels.weight,
            "base_weight": np.full(self.n_classes, float(self.base_rows)),
        }
        bandwidth = self.grid[sample_positions(logs, rng)]
        return self.fill_given({**weights, "bandwidth": bandwidth}, x, own, rng)

    def fill_given(self, params: Params, x: Block, own: Labels, rng: np.random.Generator) -> Block:
        """Return rows whose missing cells are drawn given one draw of the parameters.

        A component is drawn for each row by weight and observed cells, then the missing ones. The
        bandwidth may be one of each row.
        """
        bandwidth = np.broadcast_to(params["bandwidth"], len(x))
        with np.errstate(divide="ignore"):
            log_rows, log_base = np.log(params["row_weight"]), np.log(params["base_weight"])
        kernels, normal = self.kernels, self.base.log_predictive(x)
        # of a row without an observed cell every component has density 1
        center, seen = np.empty(len(x), dtype=int), ~np.isnan(x)
        empty = np.flatnonzero(~seen.any(axis=1))
        zeros = [np.zeros((len(empty), size)) for size in kernels.sizes]
        located = [(empty, zeros, np.zeros(len(empty)))] if len(empty) else []
        for rows, squares, height in (*located, *kernels.located(x)):
            for k in np.unique(own[rows]):
                place = np.flatnonzero(own[rows] == k)
                at, part = rows[place], kernels.parts[k]
                h = bandwidth[at, None]
                level = height[place, None] - seen[at].sum(axis=1)[:, None] * np.log(h)
                logs = log_rows[part] - squares[k][place] / (2 * h**2) + level
                pick = sample_positions(np.column_stack([logs, log_base[k] + normal[at, k]]), rng)
                center[at] = np.where(pick < logs.shape[1], part.start + pick, -1)
        out, broad = x.copy(), np.flatnonzero(center < 0)
        out[broad] = self.base.fill(x[broad], own[broad], rng)
        at = np.flatnonzero(center >= 0)
        origin, h = kernels.x[center[at]], bandwidth[at, None]
        zero, labels = np.zeros((1, x.shape[1])), np.zeros(len(at), dtype=int)
        noise = filled((x[at] - origin) / h, labels, rng, mean=zero, matrices=self.covariance[None])
        out[at] = np.where(seen[at], x[at], origin + h * noise)
        return out


@dataclasses.dataclass(frozen=True, eq=False)
class Update:
    """Kernels given rows, before bandwidths are weighed.

    rows: that came. after: the kernels with them. moments: of all rows, missing cells expected.
    """

    rows: Rows
    after: FittedKernels
    moments: MultivariateNormalStatistics

    @functools.cached_property
    def scores_of_centers(self) -> tuple[np.ndarray, Weights]:
        """Log densities of the centers without their rows, and the weights of these."""
        return self.after.scores_of_centers(self.moments)


def _positions(rows: Rows, others: Rows) -> np.ndarray:
    """Return the place of each of other rows among distinct rows, -1 where there is none."""
    mine, theirs = _keys(rows), _keys(others)
    if not len(mine):
        return np.full(len(theirs), -1)
    order = np.argsort(mine)
    place = order[np.minimum(np.searchsorted(mine, theirs, sorter=order), len(order) - 1)]
    return np.where(mine[place] == theirs, place, -1)


def _keys(rows: Rows) -> np.ndarray:
    """Return the bytes of the cells and the class of each row."""
    # one zero, and one NaN
    cells = np.column_stack([np.where(np.isnan(rows.x), np.nan, rows.x + 0.0), rows.y])
    return cells.view(np.dtype((np.void, cells.strides[0])))[:, 0]
