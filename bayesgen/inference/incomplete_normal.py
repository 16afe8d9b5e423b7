"""Multivariate normal with incomplete rows: mode, maximum likelihood and Gibbs steps.

Statistics are kept by cell, one class and one pattern of observed columns: count, mean and scatter.
No step needs the rows.

Modes: Newton's method (`newton_cg`) maximizes the density of the observed cells, starting from one
step of EM (`expected_moments`) after the columns' own moments; where the mode only centers what
follows, accelerated EM finds it (`settled`). Gibbs steps: moments of the filled rows are drawn
given the parameters, then parameters given those.

Source: Dempster, Laird and Rubin (1977); Little and Rubin, Statistical Analysis with Missing Data
(2nd ed.), section 11.2; Tanner and Wong (1987); Schafer, Analysis of Incomplete Multivariate Data
(1997), 5.4. The Gibbs step on statistics is derived here.
"""

import dataclasses
import functools
from collections.abc import Iterator

import numpy as np
from jaxtyping import Bool, Float, Int

from bayesgen.inference.incomplete_normal_weights import log_importance
from bayesgen.inference.missing import IncompleteData, LogWeights, OptimumReport, missing_cells
from bayesgen.likelihoods import MultivariateNormal, Repair
from bayesgen.likelihoods.multivariate_normal import MultivariateNormalStatistics
from bayesgen.likelihoods.multivariate_normal.density import cells_log_likelihood
from bayesgen.likelihoods.multivariate_normal.expected_moments import (
    cell_means,
    expected,
    merge_cells,
    regression,
)
from bayesgen.likelihoods.multivariate_normal.indicators import with_first_levels
from bayesgen.likelihoods.multivariate_normal.likelihood import EIGENVALUE_FLOOR, repaired_factor
from bayesgen.likelihoods.multivariate_normal.statistics import all_cells, complete_rows
from bayesgen.likelihoods.protocols import Conjugate
from bayesgen.optimize import Chart, Flat, Point, newton_cg
from bayesgen.typing import Params

PER_PRIOR, PER_GAP, PER_PAIR = 1.5e-4, 1.5e-6, 7.5e-8
"""Seconds of a draw for each prior that is averaged over, for each missing pattern of a class, and
for each of its pairs of columns. Processor seconds of the 4,800 draws of LDA and QDA, and by these:
300 x 5, 20 % missing: 1.8 and 1.4, average over 7 priors 6.1 and 5.7; 5,000 x 6, 30 %: 3.5 and 3.2;
1,000 x 10, 15 %: 16, 11 and 14; 1,000 x 20, 1 %: 8.1, 8.9 and 12; 200 x 20, 15 %: 34, 21 and 27;
1,000 x 20, 15 %: 128 and 132; 100 x 40, 10 %: 50, 41 and 59; 40 x 100, 10 %: 151, 155 and 145."""
WIDE = 60
"""Columns above which Newton's method, whose steps take many products with the Hessian, finds no
mode: that of 800 rows of 85 columns, 20 % of the cells missing, took more than five minutes."""
ROUNDED = 1e-6
"""Distance to the narrowest deviation, in logarithms, that counts as rounding."""
RANK_TOLERANCE = 1e-10
"""Smallest eigenvalue, of columns scaled to 1, that counts if weights leave the rank open."""
LARGEST_EXCESS = 2.0
"""Excess per weight up to which a cell is filled (measured: of .5, 1, 2, 4 the best is 2)."""

Matrices = Float[np.ndarray, "cell feature feature"]


@dataclasses.dataclass(frozen=True, eq=False)
class IncompleteNormal(IncompleteData[MultivariateNormal]):
    """Means and covariances given incomplete rows.

    Columns without a unit (`likelihood.uninformative()`) must have been left out.
    `maximum_likelihood` ignores the prior; the other methods need a completed conjugate one.
    """

    statistics: MultivariateNormalStatistics

    def maximum_likelihood(
        self, *, bias_corrected: bool = False, variance_floor: float = 1e-9
    ) -> tuple[Params, list[Repair], OptimumReport]:
        """Return means and Cholesky factors of maximum likelihood, with repairs and a report.

        A class, or a column within a class, without an observed cell is reported as "pooled": its
        estimate follows from the pooled moments.

        Args:
            bias_corrected: multiply the variance of a column with n observed cells by
                n / (n - means), means being 1, or the number of classes that share it; correlations
                stay. Without missing cells this is S / (n - means).
            variance_floor: share of a column's variance that replaces a smaller one ("singular").
        """
        likelihood, statistics = self.family, self.statistics
        observed = statistics.marginal()
        narrowest = np.sqrt(EIGENVALUE_FLOOR)
        cells = observed_normal(likelihood, statistics, prior=False, narrowest=narrowest)
        complete_maximum = functools.partial(
            likelihood.maximum_likelihood, variance_floor=variance_floor, observed=observed
        )
        start = likelihood.initial_params(statistics)
        start, _ = complete_maximum(expected(statistics, start))
        optimum = newton_cg(NormalPoint(cells, start))
        params, findings = complete_maximum(expected(statistics, optimum[0].params))
        n_observed = observed.count
        blank = np.argwhere((n_observed == 0) & (n_observed > 0).any(axis=1, keepdims=True))
        findings += [Repair("pooled", int(k), int(j)) for k, j in blank]
        if bias_corrected:
            params, repairs = _bias_corrected(likelihood, statistics, params, variance_floor)
            findings += [finding for finding in repairs if finding not in findings]
        return params, findings, self._report(optimum, params)

    def mode(self, start: Params | None = None) -> tuple[Params, OptimumReport]:
        """Return the mode of the posterior against |Sigma|^-(p+1)/2 given the observed cells.

        A class without rows ends at the mode of its prior.
        """
        if start is None:
            filled = expected(self.statistics, self.likelihood.initial_params(self.statistics))
            start = self.likelihood.posterior(filled).mode()
        optimum = newton_cg(self.point(start))
        return optimum[0].params, self._report(optimum, optimum[0].params)

    def point(self, params: Params) -> Point:
        """Return the log density of the posterior, as `mode` measures it, around parameters."""
        cells = observed_normal(self.likelihood, self.statistics, prior=True)
        return NormalPoint(cells, params)

    def _report(self, optimum: tuple[Point, bool, int], params: Params) -> OptimumReport:
        """Return the report of `newton_cg`, at parameters that may have been repaired."""
        top, converged, steps = optimum
        rows = self.statistics.count.sum() + self.statistics.cell_count.sum()
        norm = top.gradient_norm / max(float(rows), 1.0)
        return OptimumReport(converged, steps, norm, self.log_likelihood(params))

    def gibbs(self, rng: np.random.Generator, chains: int) -> Iterator[Params]:
        """Yield steps of chains whose limit is the posterior given the observed cells.

        Exact for any weights. If every weight is an integer, or every cell weighs at least as much
        as the table has columns, each step is a Gibbs step; otherwise steps are accepted or
        rejected (Metropolis and Hastings), by class if covariances are, and very uneven weights
        reduce the effective sample size. The likelihood must be a completed prior with closed form.

        Yields:
            mean (chain, class, feature) and cholesky (chain, class or 1, feature, feature).
        """
        # each chain starts from its own draw given the expected moments
        posterior = self.conjugate.posterior(self.filled(self.start()))
        params = posterior.draw(rng, chains)
        while True:
            proposed = _parameters(self.conjugate, *_filled(self._cells, params, rng), rng)
            params = _choose(self._cells, params, proposed, rng, together=self._dependent)
            yield params

    @property
    def seconds_per_draw(self) -> float:
        """About how long a step of `gibbs` takes for each chain."""
        gaps, width = self.statistics.cell_observed.shape
        of_gaps = gaps * (PER_GAP + PER_PAIR * width**2)
        return PER_PRIOR * len(self.prior.components) + of_gaps

    @property
    def _dependent(self) -> bool:
        """Whether classes depend on each other: they share a covariance, or an unknown prior."""
        return self.family.shared or len(self.prior.components) > 1

    @functools.cached_property
    def _cells(self) -> "_Cells":
        return _cells(self.statistics)

    def compared(self, params: Params) -> Float[np.ndarray, "chain draw value"]:
        """Return means and the lower triangles of Cholesky factors."""
        mean, factor = params["mean"], params["cholesky"]
        i, j = np.tril_indices(factor.shape[-1])
        entries = [mean, factor[..., i, j]]
        return np.concatenate([x.reshape(*mean.shape[:2], -1) for x in entries], axis=-1)

    @functools.cached_property
    def optimum(self) -> tuple[Params, OptimumReport]:
        """The mode under the conjugate prior, for any prior, and the report of its search."""
        # a fit and its leave-one-out ask for the same mode
        known, priors = self.statistics.derived, self.prior.components
        arrays = [array.tobytes() for prior in priors for array in prior.arrays().values()]
        key = ("mode", *arrays)
        if key not in known:
            data = self if len(priors) > 1 else dataclasses.replace(self, prior=self._conjugate)
            known[key] = data.settled(self._conjugate.initial_params(self.statistics))
        return known[key]

    @property
    def _conjugate(self) -> MultivariateNormal:
        """The family under the first of the priors, or the conjugate one in its place."""
        return self.family.with_arrays({"prior": "conjugate"})

    @property
    def is_wide(self) -> bool:
        """Whether a step of Newton's method takes as long as hundreds of steps of EM."""
        return self.statistics.cell_observed.shape[1] > WIDE

    def chart(self, origin: Params) -> Chart:
        """Return means and covariances whitened by the factors at the origin."""
        return _NormalChart.around(origin)

    def filled(self, params: Params) -> MultivariateNormalStatistics:
        """Return expected moments at given parameters."""
        return expected(self.statistics, params)

    def log_importance(self, centre: Params) -> LogWeights:
        """Return draws -> log importance weights: by class, or of all where they are dependent."""
        dependent, by_class = self._dependent, log_importance(self.statistics, centre)
        if not dependent:
            return by_class
        return lambda draws: by_class(draws).sum(axis=1, keepdims=True)

    def change(self, before: Params, after: Params) -> float:
        """Return the largest change of a mean or a covariance, in deviations of the columns.

        Factors would depend on the order of columns, and with them the step at which EM ends.
        Levels without an indicator count as those with one.
        """
        means, factors = ([params[n] for params in (before, after)] for n in ("mean", "cholesky"))
        if self.family.variables:
            every = with_first_levels(self.family.variables)
            means, factors = [mean @ every.T for mean in means], [every @ f for f in factors]
        covariances = [factor @ factor.mT for factor in factors]
        size = np.linalg.norm(factors[1], axis=-1)
        moved = np.abs(means[1] - means[0]) / size
        turned = np.abs(covariances[1] - covariances[0]) / (size[..., None] * size[..., None, :])
        return float(max(moved.max(), turned.max()))


@missing_cells.register(MultivariateNormal)
def incomplete_normal_of(
    likelihood: MultivariateNormal, statistics: MultivariateNormalStatistics
) -> IncompleteData | None:
    """Return the inference of a multivariate normal, if cells are missing."""
    return IncompleteNormal(likelihood, statistics) if statistics.has_missing else None


def _bias_corrected(
    likelihood: MultivariateNormal,
    statistics: MultivariateNormalStatistics,
    params: Params,
    variance_floor: float,
) -> tuple[Params, list[Repair]]:
    """Return the same correlations with variances times n / (n - means); 0 is floored."""
    marginal = statistics.marginal()
    n = marginal.count.sum(axis=0, keepdims=True) if likelihood.shared else marginal.count
    means = len(marginal.count) if likelihood.shared else 1
    ratio = np.divide(n, n - means, out=np.zeros_like(n), where=n > means)
    # never observed: the pooled estimate stays as it is
    factor = np.sqrt(np.where(n == 0, 1.0, ratio))[..., None] * params["cholesky"]
    floor = variance_floor * marginal.pooled()[1]
    repaired = [repaired_factor(matrix, floor) for matrix in factor @ factor.mT]
    findings = [
        Repair("singular", None if likelihood.shared else k)
        for k, (_, changed) in enumerate(repaired)
        if changed
    ]
    factors = np.array([factor for factor, _ in repaired])
    return {"mean": params["mean"], "cholesky": factors}, findings


# -- coordinates ------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True, eq=False)
class _NormalChart(Chart):
    """Means mu and covariances S as L^-1 (mu - m) and L^-1 (S - L L') L^-T / sqrt(2).

    A normal of mean m and covariance L L' has this length as Fisher information, whose lengths
    depend neither on units nor on the order of columns nor on which level has no indicator.
    """

    mean: Float[np.ndarray, "class feature"]
    factor: Float[np.ndarray, "covariance feature feature"]
    whitener: Float[np.ndarray, "covariance feature feature"]

    @classmethod
    def around(cls, origin: Params) -> "_NormalChart":
        """Return the coordinates whose origin these parameters are."""
        return cls(origin["mean"], origin["cholesky"], np.linalg.inv(origin["cholesky"]))

    def coordinates(self, params: Params) -> Flat:
        """Return the coordinates of parameters."""
        root = self.whitener @ params["cholesky"]
        shift = (self.whitener @ (params["mean"] - self.mean)[..., None])[..., 0]
        spread = (root @ root.mT - np.eye(root.shape[-1])) / np.sqrt(2)
        return np.concatenate([shift.ravel(), spread.ravel()])

    def params(self, coordinates: Flat) -> Params:
        """Return the parameters there, which are some if the covariances are positive definite."""
        shift, spread = np.split(coordinates, [self.mean.size])
        shift = self.factor @ shift.reshape(*self.mean.shape, 1)
        spread = np.eye(self.mean.shape[1]) + np.sqrt(2) * spread.reshape(self.factor.shape)
        root = self.factor @ np.linalg.cholesky((spread + spread.mT) / 2)
        return {"mean": self.mean + shift[..., 0], "cholesky": root}


# -- the density of the observed cells, to second order --------------------------------------


@dataclasses.dataclass(frozen=True, eq=False)
class ObservedNormal:
    """Moments by cell, with complete rows and a conjugate prior as cells of their own.

    owner: the class of each cell. rows: weight of a cell's mean. divisor: weight of its log
    determinant. shared: whether classes have one covariance. unit: a deviation of each column.
    narrowest: smallest deviation, in these units, of any direction: below it the likelihood may be
    unbounded.
    """

    owner: Int[np.ndarray, " cell"]
    observed: Bool[np.ndarray, "cell feature"]
    rows: Float[np.ndarray, " cell"]
    divisor: Float[np.ndarray, " cell"]
    mean: Float[np.ndarray, "cell feature"]
    scatter: Matrices
    n_classes: int
    shared: bool
    unit: Float[np.ndarray, " feature"]
    narrowest: float = 0.0

    @functools.cached_property
    def order(self) -> Int[np.ndarray, "cell feature"]:
        """Each cell's columns, the observed ones first."""
        return np.argsort(~self.observed, axis=1, kind="stable")

    @functools.cached_property
    def first(self) -> Bool[np.ndarray, "cell feature"]:
        """Which columns are observed, in that order."""
        return np.take_along_axis(self.observed, self.order, axis=1)

    @functools.cached_property
    def squares(self) -> Matrices:
        """The scatter matrices, in that order."""
        rows = np.take_along_axis(self.scatter, self.order[:, :, None], axis=1)
        return np.take_along_axis(rows, self.order[:, None, :], axis=2)

    @functools.cached_property
    def member(self) -> Float[np.ndarray, "class cell"]:
        """1 where a cell is of a class."""
        return np.equal(self.owner, np.arange(self.n_classes)[:, None]).astype(float)

    @functools.cached_property
    def by_factor(self) -> Float[np.ndarray, "covariance cell"]:
        """1 where a cell is of a covariance."""
        return self.member.sum(axis=0, keepdims=True) if self.shared else self.member

    @property
    def factor(self) -> Int[np.ndarray, " cell"]:
        """The covariance of each cell."""
        return np.zeros_like(self.owner) if self.shared else self.owner


def observed_normal(
    likelihood: MultivariateNormal,
    statistics: MultivariateNormalStatistics,
    *,
    prior: bool,
    narrowest: float = 0.0,
) -> ObservedNormal:
    """Return the cells of rows, and with `prior` those of a completed conjugate prior."""
    owner, observed, count, mean, scatter = all_cells(statistics)
    full = count > 0
    rows = count[full]
    parts = [(owner[full], observed[full], rows, rows, mean[full], scatter[full])]
    if prior:
        parts.append(_prior_cells(likelihood))
    return ObservedNormal(
        *(np.concatenate(part) for part in zip(*parts, strict=True)),
        n_classes=len(statistics.count),
        shared=likelihood.shared,
        unit=np.linalg.norm(likelihood.initial_params(statistics)["cholesky"], axis=-1).max(axis=0),
        narrowest=narrowest,
    )


def _prior_cells(prior: MultivariateNormal) -> tuple[np.ndarray, ...]:
    """Return owner, observed, rows, divisor, mean and scatter of a cell for each class.

    Classes share the density of one covariance, the first one's; each has that of its mean.
    """
    guess = prior.arrays()
    (n_classes, p), wide = guess["mean"].shape, len(guess["scale"])
    scatter, divisor = np.zeros((n_classes, p, p)), np.zeros(n_classes)
    scatter[:wide] = guess["covariance_rows"][:, None, None] * guess["scale"]
    divisor[:wide] = prior.degrees + (n_classes if prior.shared else 1)
    everything = np.ones((n_classes, p), dtype=bool)
    rows = np.broadcast_to(guess["mean_rows"], n_classes)
    return np.arange(n_classes), everything, rows, divisor, guess["mean"], scatter


class NormalPoint(Point):
    """Means and covariances, and the log density of the observed cells around them.

    Around mu and Sigma = B B' parameters are mu + B T u and B T T' B', T lower triangular with
    exponentials of the coordinates on its diagonal. B sorts its columns by size, so that a
    coordinate under the diagonal tilts a narrow direction against a wider one and keeps its width:
    the ridges of the density, due to incomplete rows of large weight, are straight in these
    coordinates. With the projection Q Q' = B_o' Sigma_oo^-1 B_o (Q orthonormal, by QR of the
    observed rows of B) and d = (mean - mu)_o, a cell of n rows has, in symmetric steps
    B (I + V) B',

        d / du = n e,  d / dV = (C - n Q Q') / 2,
        e = B_o' Sigma_oo^-1 d,  C = B_o' Sigma_oo^-1 (scatter + n dd') Sigma_oo^-1 B_o,

    and second derivatives are products of these matrices.
    """

    def __init__(self, cells: ObservedNormal, params: Params) -> None:
        self.cells, self.params = cells, params
        unit = cells.unit[:, None]
        left, size, _ = np.linalg.svd(params["cholesky"] / unit)
        self._base = unit * left * size[:, None, :]
        with np.errstate(divide="ignore"):
            self._room = np.log(size / cells.narrowest)
        e, c, log_scale = self._whiten()
        n, n_det = cells.rows[:, None, None], cells.divisor[:, None, None]
        squares = np.trace(c, axis1=1, axis2=2)
        self.value = -0.5 * float((cells.divisor * log_scale.sum(axis=1) + squares).sum())
        sizes = cells.divisor * np.abs(log_scale).sum(axis=1) + squares
        self.scale = 0.5 * float(sizes.sum())
        self._residual, self._lean = e, 0.5 * n_det * self._projection - c
        self._slope = 0.5 * self._by_factor(c - n_det * self._projection)
        self._pull = cells.member @ (n[:, 0] * e)
        i = np.arange(len(cells.unit))
        narrow = (self._room < ROUNDED) & (self._slope[:, i, i] < 0)
        self._narrow = narrow[..., None] & np.eye(len(i), dtype=bool)
        self._fixed = self._flat(np.zeros_like(self._pull), self._narrow) > 0
        self.gradient = np.where(self._fixed, 0.0, self._flat(self._pull, 2 * self._slope))
        self.curvature = self._complete_curvature()

    @property
    def gradient_norm(self) -> float:
        """Norm of the gradient in symmetric steps, which no choice of B changes."""
        slope = np.where(self._narrow, 0.0, self._slope)
        return float(np.sqrt((slope**2).sum() + (self._pull**2).sum()))

    def product(self, direction: Flat) -> Flat:
        """Return minus the Hessian times a direction."""
        cells = self.cells
        u, m = self._apart(direction)
        turned = self._projection @ (m + m.mT)[cells.factor]
        shift = (self._projection @ u[cells.owner][..., None])[..., 0]
        outer = shift[:, :, None] * self._residual[:, None, :]
        half = self._by_factor(turned @ self._lean - cells.rows[:, None, None] * outer)
        moved = shift + (turned @ self._residual[..., None])[..., 0]
        pull = -(cells.member @ (cells.rows[:, None] * moved))
        # second derivatives of the map from coordinates to parameters
        slope = half + half.mT + 2 * self._slope @ m
        i = np.arange(m.shape[-1])
        slope[:, i, i] += 2 * self._slope[:, i, i] * m[:, i, i]
        mixed = self._pull[:, :, None] * u[:, None, :]
        slope += mixed.sum(axis=0, keepdims=True) if cells.shared else mixed
        pull += (m.mT @ self._pull[..., None])[..., 0]
        return np.where(self._fixed, 0.0, -self._flat(pull, slope))

    def moved(self, direction: Flat) -> "NormalPoint":
        """Return the point in that direction, with no deviation below the narrowest."""
        u, t = self._apart(direction)
        i = np.arange(t.shape[-1])
        t[:, i, i] = np.exp(np.maximum(t[:, i, i], -np.maximum(self._room, 0.0)))
        root = self._base @ t
        upper = np.linalg.qr(root.mT, mode="r")
        factor = (upper * np.sign(np.diagonal(upper, axis1=1, axis2=2))[..., None]).mT
        mean = self.params["mean"] + (root @ u[..., None])[..., 0]
        return NormalPoint(self.cells, {"mean": mean, "cholesky": np.tril(factor)})

    def _whiten(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return e, C and the logs of the squared diagonals of the cells' factors."""
        cells = self.cells
        pairs = cells.first[:, :, None] & cells.first[:, None, :]
        rows = np.take_along_axis(self._base[cells.factor], cells.order[:, :, None], axis=1)
        q, upper = np.linalg.qr(np.where(cells.first[:, :, None], rows, 0.0).mT)
        q = np.where(cells.first[:, None, :], q, 0.0)
        upper = np.where(pairs, upper, np.eye(upper.shape[-1]))
        whitener = q @ np.linalg.inv(upper).mT
        delta = np.where(cells.observed, cells.mean - self.params["mean"][cells.owner], 0.0)
        delta = np.take_along_axis(delta, cells.order, axis=1)
        e = (whitener @ delta[..., None])[..., 0]
        outer = cells.rows[:, None, None] * e[:, :, None] * e[:, None, :]
        self._projection = q @ q.mT
        log_scale = 2 * np.log(np.abs(np.diagonal(upper, axis1=1, axis2=2)))
        return e, whitener @ cells.squares @ whitener.mT + outer, log_scale

    def _complete_curvature(self) -> Flat:
        """Return the rows for means and tilts, twice that for log deviations; 1 in place of 0."""
        cells = self.cells
        p = cells.mean.shape[1]
        rows = np.repeat(cells.member @ cells.rows, p)
        divisor = (cells.by_factor @ cells.divisor)[:, None, None] * (1 + np.eye(p))
        weights = np.concatenate([rows, divisor.ravel()])
        return np.where(weights > 0, weights, 1.0)

    def _by_factor(self, matrices: Matrices) -> np.ndarray:
        flat = self.cells.by_factor @ matrices.reshape(len(matrices), -1)
        return flat.reshape(-1, *matrices.shape[1:])

    def _flat(self, u: np.ndarray, m: np.ndarray) -> Flat:
        return np.concatenate([u.ravel(), np.tril(m).ravel()])

    def _apart(self, direction: Flat) -> tuple[np.ndarray, np.ndarray]:
        mean, factor = self.params["mean"], self.params["cholesky"]
        u, m = np.split(direction, [mean.size])
        return u.reshape(mean.shape), m.reshape(factor.shape).copy()


# -- Gibbs steps -----------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True, eq=False)
class _Cells:
    """Cells as a Gibbs step reads them.

    Two exact draws alternate: the moments of the filled rows given the parameters, and the
    parameters given those moments. A cell of n rows with observed mean xbar and scatter S = R R'
    (R of r = min(n - 1, observed) columns) has, with slope T and root K of `regression`,

        filled mean    = mu + T (xbar - mu) + K z / sqrt(n)
        filled scatter = (T R + K Z)(T R + K Z)' + K W K',   W ~ Wishart(d, I),   d = n - 1 - r,

    z and Z standard normal: of the n - 1 directions of centered noise, r are correlated with the
    observed columns, and the others contribute W. If S has a lower rank, any directions may
    complete R, so that its numerical rank need not be determined.

    Fractional weights. Integrated over z, Z and W, the density of the filled moments is
    |V|^((1 + r + d - n) / 2) times the observed density to the power of its weights, V being the
    conditional covariance of the missing columns. If n is at least the number of columns,
    d = n - 1 - r is a valid number of degrees and the first factor is 1. A cell of smaller weight
    takes the nearest valid d; the excess 1 + r + d - n, or the whole cell if the excess is over
    twice its weight, enters the probability of accepting a step.

    rows: statistics with the cells that are filled. root: their R, in the columns where `along` is
    true. degrees: d of the Wishart. excess: 1 + r + d - n. left: statistics of the cells that are
    not filled.
    """

    rows: MultivariateNormalStatistics
    root: Float[np.ndarray, "cell feature feature"]
    along: Bool[np.ndarray, "cell feature"]
    degrees: Float[np.ndarray, " cell"]
    excess: Float[np.ndarray, " cell"]
    left: MultivariateNormalStatistics


def _cells(statistics: MultivariateNormalStatistics) -> _Cells:
    seen, n = statistics.cell_observed, statistics.cell_count
    p, n_seen = seen.shape[1], seen.sum(axis=1)
    sd = np.sqrt(np.diagonal(statistics.cell_scatter, axis1=1, axis2=2))
    sd = np.where(sd > 0, sd, 1.0)
    # the largest eigenvalues first: missing columns come last, with eigenvalue 0
    values, vectors = np.linalg.eigh(statistics.cell_scatter / (sd[:, :, None] * sd[:, None]))
    values, vectors = values[:, ::-1], vectors[..., ::-1]
    rank = (values > RANK_TOLERANCE).sum(axis=1)
    # integer weights: the rank is at most n - 1 and rounding must not raise it
    whole = np.abs(n - np.rint(n)) < RANK_TOLERANCE * n
    free = np.where(n >= p, n, np.rint(n)) - 1
    r = np.minimum(np.maximum(np.where(free >= 0, free, 0), rank), n_seen)
    degrees = np.maximum(free - r, 0.0)
    excess = 1 + r + degrees - n
    excess = np.where(whole & (np.abs(excess) < RANK_TOLERANCE * n), 0.0, excess)
    along = np.arange(p) < r[:, None]
    scale = np.sqrt(np.where(along, np.maximum(values, 0.0), 0.0))
    root = np.where(seen[:, :, None], vectors * scale[:, None] * sd[:, :, None], 0.0)
    fill = np.abs(excess) <= LARGEST_EXCESS * n
    rows, left = _only(statistics, fill), _only(statistics, ~fill)
    return _Cells(rows, root[fill], along[fill], degrees[fill], excess[fill], left)


def _only(
    statistics: MultivariateNormalStatistics, cells: Bool[np.ndarray, " cell"]
) -> MultivariateNormalStatistics:
    names = [name for name, axes in statistics.axes.items() if axes[0] == "cell"]
    return statistics.with_arrays({name: getattr(statistics, name)[cells] for name in names})


def _filled(
    cells: _Cells, params: Params, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw count, mean and scatter of each class, its cells filled, given the parameters."""
    rows = cells.rows
    slope, root = regression(rows, params)
    noise = rng.standard_normal(slope.shape[:-1]) / np.sqrt(rows.cell_count)[:, None]
    mean = cell_means(rows, params, slope) + (root @ noise[..., None])[..., 0]
    along = np.where(cells.along[:, None], rng.standard_normal(slope.shape), 0.0)
    factor = slope @ cells.root + root @ along
    residual = root @ _bartlett(cells, slope.shape, rng)
    return merge_cells(rows, mean, factor @ factor.mT + residual @ residual.mT)


def _bartlett(
    cells: _Cells, shape: tuple[int, ...], rng: np.random.Generator
) -> Float[np.ndarray, "chain cell feature feature"]:
    """Draw A with A A' ~ Wishart(degrees, I) in the missing block of each cell.

    With fewer degrees than columns the Wishart is singular: A then has as many columns as there are
    degrees, the lower trapezoid of the same decomposition. Source: Bartlett (1933).
    """
    missing = ~cells.rows.cell_observed
    degrees = cells.degrees[:, None] - (np.cumsum(missing, axis=1) - 1)
    random = missing & (degrees > 0)
    below = missing[:, :, None] & random[:, None, :] & np.tri(shape[-1], k=-1, dtype=bool)
    chi2 = rng.chisquare(np.where(random, degrees, 1.0), shape[:-1])
    diagonal = np.where(random, np.sqrt(chi2), 0.0)[..., None] * np.eye(shape[-1])
    return diagonal + np.where(below, rng.standard_normal(shape), 0.0)


def _parameters(
    prior: Conjugate,
    count: np.ndarray,
    mean: np.ndarray,
    scatter: np.ndarray,
    rng: np.random.Generator,
) -> Params:
    """Draw the parameters of each chain given its filled rows."""
    drawn = [
        prior.posterior(complete_rows(count, *moments)).draw(rng, 1)
        for moments in zip(mean, scatter, strict=True)
    ]
    return {name: np.concatenate([draw[name] for draw in drawn]) for name in drawn[0]}


def _choose(
    cells: _Cells, params: Params, proposed: Params, rng: np.random.Generator, *, together: bool
) -> Params:
    """Return the next parameters of each chain: the proposed ones, or the present ones.

    Proposals are reversible under the posterior divided by the density of `_lacking`.

    together: whether those of all classes are taken, or none.
    """
    if not (cells.excess.any() or cells.left.has_missing):
        return proposed
    gain = _lacking(cells, proposed) - _lacking(cells, params)
    if together:
        gain = gain.sum(axis=1, keepdims=True)
    moved = -rng.standard_exponential(gain.shape) < gain
    mean = np.where(moved[..., None], proposed["mean"], params["mean"])
    factor = np.where(moved[..., None, None], proposed["cholesky"], params["cholesky"])
    return {"mean": mean, "cholesky": factor}


def _lacking(cells: _Cells, params: Params) -> Float[np.ndarray, "chain class"]:
    """Return the log of the posterior over the stationary density of the proposals, by class."""
    classes = range(len(cells.rows.count))
    missing, root = ~cells.rows.cell_observed, regression(cells.rows, params)[1]
    diagonal = np.where(missing, np.diagonal(root, axis1=-2, axis2=-1), 1.0)
    spread = cells.excess * np.log(diagonal).sum(axis=-1)
    of_class = [_only(cells.left, cells.left.cell_class == k) for k in classes]
    left = [np.zeros(len(root)) + cells_log_likelihood(params, part) for part in of_class]
    member = np.equal(cells.rows.cell_class, np.arange(len(classes))[:, None])
    return np.stack(left, axis=1) - spread @ member.T
