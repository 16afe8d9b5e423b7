"""Kernel discriminant likelihood: prior, update, predictive, leave-one-out, draws."""

import dataclasses
import functools
import itertools
from collections.abc import Callable
from typing import ClassVar, Literal

import numpy as np

from bayesgen import arguments
from bayesgen.errors.arguments import not_one_of
from bayesgen.likelihoods.base import (
    LEARN,
    is_learned,
    sample_positions,
)
from bayesgen.likelihoods.distinct_rows import Rows, gather
from bayesgen.likelihoods.kernels import guesses
from bayesgen.likelihoods.kernels.interpolation import interpolated
from bayesgen.likelihoods.kernels.joint import Kernels
from bayesgen.likelihoods.kernels.left_out import LeftOut, left_out
from bayesgen.likelihoods.kernels.sums import Squares, active
from bayesgen.likelihoods.multivariate_normal import (
    MultivariateNormal,
    MultivariateNormalStatistics,
)
from bayesgen.likelihoods.multivariate_normal.density import filled
from bayesgen.likelihoods.protocols import Conjugate
from bayesgen.likelihoods.special_functions import log_sum_exp
from bayesgen.typing import Block, Joint, Labels, LevelCounts, Params, Traceable, Weights

FAMILY = "KernelDiscriminant"
GRID = 2.0 ** (-np.arange(8) / 2)
"""Bandwidths of "learn", from 1 to .088 standard deviations within classes."""
TABLE_ROWS, MARGIN = 200, 3.0
"""Rows of a single column from which the density is interpolated, and standard deviations beyond
the outermost centers where this ends: for 1,000 rows and 128 centers .1 ms instead of 1.1 ms."""


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class KernelDiscriminant(Conjugate[Rows]):
    r"""x | class ~ a mixture of normal kernels at the class's training rows and a broad Student t.

    With n rows x_i of the class, of weights w_i that sum to n, and p columns,

        p(x) = (sum_i w_i N(x; x_i, h^2 W) + base_rows t(x)) / (n + base_rows).

    W is the covariance within classes, pooled over the classes: the columns' variances, and their
    correlations times v / (v + p + 1), where v is the number of rows less that of the classes. t is
    the predictive of a `MultivariateNormal` of the class whose guess of the covariance is W, with
    covariance_rows=16: it dominates far from all training rows. Classes may have any shape, such as
    curves or several clusters.

    Under bandwidth="learn" the density is averaged over h = 1, 1 / sqrt 2, ..., .088, with weights
    proportional to prod_i p_h(x_i given y_i and the other rows)^min(w_i, 1) over distinct rows,
    each scored without its own kernel and without its part in W and in t, in closed form. (Equal
    rows are scored once, by the rows that differ from them; copies would drive h to 0.)
    Leave-one-out densities, including `loo()`, equal those of refits for every h; the weight of h
    without row i is its weight divided by the row's factor.

    Missing cells of rows to predict are integrated out exactly, in every kernel and in t. Those of
    training rows are replaced by their expectation given the observed cells, under class means and
    one covariance W (EM); when a row is left out, the expectations of the others are kept. If there
    are more distinct rows than `centers`, only that many have kernels: rows evenly spaced within
    each class in the order of their values, which carry the weight of all rows and determine the
    weights of the bandwidths.

    Predictions of 200 or more rows of a single column interpolate its log density, within 1e-11
    of its absolute value, or of 1 if that is larger.

    The parameters are h and the Dirichlet weights of the rows (w_i each) and of t (base_rows); the
    centers, W and t are fixed, so intervals refer to the probability under the smoothed densities.
    There is no evidence.

    Source: Silverman, Density Estimation (1986), section 4.2 and 6.1 (kernels whitened by the
    covariance, discrimination); Ferguson (1973), Annals of Statistics 1, 209-230 (base measure);
    Habbema, Hermans and van den Broek (1974), COMPSTAT (leave-one-out likelihood).

    Args:
        bandwidth: h, > 0, in standard deviations within classes, or "learn".
        base_rows: prior strength of t in rows, > 0.
        centers: the largest number of kernels.

    Raises:
        InvalidArgument: a bandwidth or base_rows not above 0; centers below 1, or a string other
            than "learn".

    Example:
        >>> import numpy as np
        >>> import bayesgen as bg
        >>> rng = np.random.default_rng(0)
        >>> y = rng.integers(0, 2, 300)
        >>> angle, radius = rng.uniform(0, 2 * np.pi, 300), 1.0 + 2.0 * y
        >>> X = (radius * [np.cos(angle), np.sin(angle)]).T + rng.normal(0, 0.2, (300, 2))
        >>> clf = bg.GenerativeClassifier(bg.KernelDiscriminant()).fit(X, y)  # rings
        >>> clf.predict_proba([[0.0, 1.0], [0.0, 3.0]]).round(2)
        array([[1., 0.],
               [0., 1.]])
    """

    bandwidth: float | int | Literal["learn"] = "learn"
    base_rows: float | int = 1.0
    centers: int = 2000
    mean: np.ndarray | None = dataclasses.field(default=None, init=False)
    mean_rows: np.ndarray | None = dataclasses.field(default=None, init=False)
    scale: np.ndarray | None = dataclasses.field(default=None, init=False)
    covariance_rows: np.ndarray | None = dataclasses.field(default=None, init=False)
    covariance: np.ndarray | None = dataclasses.field(default=None, init=False)
    class_mean: np.ndarray | None = dataclasses.field(default=None, init=False)
    x: np.ndarray | None = dataclasses.field(default=None, init=False)
    y: np.ndarray | None = dataclasses.field(default=None, init=False)
    weight: np.ndarray | None = dataclasses.field(default=None, init=False)
    center: np.ndarray | None = dataclasses.field(default=None, init=False)
    seen: np.ndarray | None = dataclasses.field(default=None, init=False)
    grid: np.ndarray | None = dataclasses.field(default=None, init=False)
    log_weight: np.ndarray | None = dataclasses.field(default=None, init=False)

    kind: ClassVar[str] = "numbers"
    no_program: ClassVar[str] = "its kernels are the rows of the fit"
    only_exact: ClassVar = (
        "its kernels are the training rows themselves, whose weights have only a posterior in "
        "closed form",
        "Use inference='exact'.",
    )
    distribution_words: ClassVar[str] = "kernel discriminant (classes of similar rows, weighted)"
    keeps_rows: ClassVar[bool] = True
    joint: ClassVar[bool] = True
    centred: ClassVar[bool] = True
    location_params: ClassVar = ("mean", "class_mean", "x")
    axes: ClassVar = {
        **MultivariateNormal.axes,
        "covariance": ("feature", "feature"),
        "class_mean": ("class", "feature"),
        **dict.fromkeys(("x", "seen"), ("entry", "feature")),
        **dict.fromkeys(("y", "weight", "center"), ("entry",)),
        **dict.fromkeys(("grid", "log_weight"), ("bandwidth",)),
    }
    param_axes: ClassVar = {"row_weight": ("center",), "base_weight": ("class",), "bandwidth": ()}

    hyperparameters: ClassVar = {"bandwidth": "width", "base_rows": "positive"}
    scalars: ClassVar = ("bandwidth", "base_rows")
    words: ClassVar = {"bandwidth": (LEARN,)}

    def __post_init__(self) -> None:
        """Validate the bandwidth, the rows of the base and the number of centers."""
        if isinstance(self.bandwidth, str) and not is_learned(self.bandwidth):
            raise not_one_of("bandwidth", self.bandwidth, ["learn", 0.5])
        super().__post_init__()
        arguments.count("centers", self.centers, default=2000)

    # -- rows ---------------------------------------------------------------------------------

    def statistics(
        self, x: Block, y: Labels, weight: Weights, *, n_classes: int, n_levels: LevelCounts = ()
    ) -> Rows:
        """Return the distinct rows."""
        return gather(x, y, weight, n_classes)

    def complete(self, statistics: Rows) -> "KernelDiscriminant":
        """Fill in the guess of the covariance; rows come in by `posterior`, part by part."""
        prior, class_mean = guesses.completed(statistics)
        grid = GRID if is_learned(self.bandwidth) else np.full(1, float(self.bandwidth))
        return self.with_arrays(
            {
                **prior.arrays(),
                "covariance": prior.scale[0],
                "class_mean": class_mean,
                **{name: array[:0] for name, array in statistics.arrays().items()},
                "center": np.empty(0, dtype=bool),
                "seen": np.empty((0, statistics.x.shape[1]), dtype=bool),
                "grid": grid,
                "log_weight": np.full(len(grid), -np.log(len(grid))),
            }
        )

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
        return Rows(np.where(self.seen, self.x, np.nan), self.y, self.weight, len(self.mean))

    def _spaced(self) -> np.ndarray:
        """Return which rows are centers, evenly spaced within classes, as booleans (entry,).

        They are stored, so that the density of some columns has the centers of all of them. Rows
        are in order of value, whatever the units and the order of the columns: these are compared
        in the order of their skewness, each in the direction of its own.
        """
        n, center = len(self.y), np.ones(len(self.y), dtype=bool)
        if n > self.centers:
            unit = np.sqrt(np.diagonal(self.covariance))
            skewness = (((self.x - self.x.mean(axis=0)) / unit) ** 3).mean(axis=0)
            signed = self.x * np.where(skewness < 0, -1.0, 1.0)
            columns = np.argsort(-np.abs(skewness), kind="stable")
            order = np.lexsort((*signed.T[columns[::-1]], self.y))
            sizes = np.bincount(self.y, minlength=len(self.mean))
            most = np.clip(self.centers * sizes // n, 1, sizes)
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
            np.bincount(self.y, weight, minlength=len(self.mean))
            for weight in (self.weight, self.weight * self.center)
        )
        share = np.divide(total, taken, out=np.ones(len(taken)), where=taken > 0)
        y, weight = self.y[self.center], self.weight[self.center]
        return Kernels(self.x[self.center], y, weight * share[y], share, self.covariance)

    @property
    def caveat(self) -> str:
        """Which rows are not centers, and which cells were filled."""
        sentences = []
        if self.center is not None and not self.center.all():
            sentences.append(
                f"{self.center.sum()} of {len(self.x)} distinct rows, evenly spaced within "
                f"classes, are centers of the kernels (centers={self.centers})."
            )
        if self.seen is not None and not self.seen.all():
            sentences.append(
                "Kernels of incomplete training rows are centered at the expectation of their "
                "missing cells."
            )
        return " ".join(sentences)

    # -- update -------------------------------------------------------------------------------

    def posterior(self, statistics: Rows) -> "KernelDiscriminant":
        """Return the likelihood with these rows as centers too, and bandwidths weighed by all."""
        after, moments = self._with_rows(statistics)
        if len(self.grid) == 1 or not len(after.x):
            return after
        return after._weighed(*after._scores(moments))

    def _with_rows(
        self, statistics: Rows
    ) -> tuple["KernelDiscriminant", MultivariateNormalStatistics]:
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
        return after.with_arrays({"center": after._spaced()}), moments

    def _moments(self, rows: Rows) -> MultivariateNormalStatistics:
        """Return the moments of rows, missing cells expected."""
        return guesses.moments(rows, self.class_mean, self.covariance)

    def _scores(self, moments: MultivariateNormalStatistics) -> tuple[np.ndarray, Weights]:
        """Return log p_h of each center given its class and the other rows, and its weight.

        The centers stand for all rows. A row loses its whole weight, and counts at most once: a
        copy of it would call for a bandwidth of 0.
        """
        rows = self.rows
        centers = rows.with_arrays({n: array[self.center] for n, array in rows.arrays().items()})
        own = np.arange(len(centers.y))
        once = np.minimum(centers.weight, 1.0) * self.kernels.share[centers.y]
        return self._left_out(moments, centers, own, every=False)[1], once

    def _weighed(self, logs: np.ndarray, weight: Weights) -> "KernelDiscriminant":
        """Return the likelihood with bandwidths weighed by log densities (row, bandwidth)."""
        log_weight = weight @ logs
        return self.with_arrays({"log_weight": log_weight - np.logaddexp.reduce(log_weight)})

    def _left_out(
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

    def leave_one_out(
        self, statistics: Rows, x: Block, y: Labels, weight: Weights, away: Weights
    ) -> Joint:
        """Return log p(x_i given y = k, the rows without i), (row, class) (see `LeaveOneOut`)."""
        after, moments = self._with_rows(statistics)
        seen = np.flatnonzero(~np.isnan(x).all(axis=1))
        rows = Rows(x[seen], y[seen], away[seen], statistics.n_classes)
        place = _positions(statistics, rows)
        # a row without weight is none of them, and takes the last number
        own = np.append(np.where(after.center, after.center.cumsum() - 1, -1), -1)[place]
        total = np.append(after.weight, 0.0)[place]
        rest, score = after._left_out(moments, rows, own)
        if len(self.grid) > 1:
            lost = bool((own >= 0).all() and (rows.weight >= (1 - 1e-9) * total).all())
            if lost and len(own) == after.center.sum():
                after = after._weighed(score, np.minimum(rows.weight, 1.0))
            else:
                logs, once = after._scores(moments)
                after = after._weighed(logs, once)
                # of equal rows all are scored alike
                score = np.where(own[:, None] >= 0, logs[own], score)
        less = np.minimum(total, 1.0) - np.clip(total - rows.weight, 0.0, 1.0)
        log_weight = after.log_weight - less[:, None] * score
        log_weight -= log_sum_exp(log_weight)[:, None]
        out = np.zeros((len(y), len(self.mean)))
        sums = log_sum_exp(rest.sums + log_weight[:, None])
        out[seen] = self._mixed(sums, rest.normal, rest.count)
        out[seen[rest.needed]] = np.nan
        return out

    # -- rows, parameters integrated out --------------------------------------------------------

    def _log_densities(self) -> Callable[[Block], np.ndarray]:
        """Return x -> log of weight times p_h(x given y = k), shape (row, class, bandwidth)."""
        kernels, base, grid = self.kernels, self.base.predictive(), self.grid

        def log_densities(x: Block) -> np.ndarray:
            sums, normal = kernels.log_sums(x, grid), base(x)[..., None]
            return self._mixed(sums, normal, kernels.count[:, None]) + self.log_weight

        return log_densities

    def predictive(self) -> Callable[[Block], np.ndarray]:
        """Return x -> log p(x given y = k), shape (row, class), over all bandwidths."""
        part = _pruned(self)
        kernels, base, grid = self.kernels, self.base.predictive(), part.grid

        def log_predictive(x: Block) -> np.ndarray:
            sums = log_sum_exp(kernels.log_sums(x, grid) + part.log_weight)
            return self._mixed(sums, base(x), kernels.count)

        if len(kernels.unit) > 1 or not len(kernels.x):
            return log_predictive

        @functools.cache
        def by_table() -> Callable[[Block], np.ndarray]:
            # built at the first prediction of many rows, for which alone it pays
            (low, high), margin = np.sort(kernels.x[:, 0])[[0, -1]], MARGIN * kernels.unit[0]
            return interpolated(log_predictive, float(low - margin), float(high + margin))

        return lambda x: (log_predictive if len(x) < TABLE_ROWS else by_table())(x)

    # -- parameters -------------------------------------------------------------------------------

    def _gammas(
        self, rng: np.random.Generator, n: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return n draws of Gamma variables of centers and of t, and their sums by class.

        Shapes: (draw, center), (draw, class), (draw, class). Divided by their sum they are
        Dirichlet weights.
        """
        weight, parts = self.kernels.weight, self.kernels.parts
        rows = rng.gamma(weight, size=(n, len(weight)))
        base = rng.gamma(float(self.base_rows), size=(n, len(parts)))
        return rows, base, base + np.stack([rows[:, part].sum(axis=1) for part in parts], axis=1)

    def draw(self, rng: np.random.Generator, n: int) -> Params:
        """Return n draws: the weight of every center and of t within its class, and h."""
        rows, base, total = self._gammas(rng, n)
        which = rng.choice(len(self.grid), n, p=np.exp(self.log_weight))
        return {
            "row_weight": rows / total[:, self.kernels.y],
            "base_weight": base / total,
            "bandwidth": self.grid[which],
        }

    def log_density_fn(self, params: Params) -> Callable[[Block], np.ndarray]:
        """Return x -> log p(observed part of x given y = k, params), (row, *draws, class).

        Draws of one bandwidth share its kernels, which are one matrix product with their weights.
        """
        kernels, base = self.kernels, self.base.predictive()
        lead, bandwidth = params["bandwidth"].shape, params["bandwidth"].reshape(-1)
        order = np.argsort(bandwidth, kind="stable")
        rows, bases = (
            params[f"{n}_weight"].reshape(len(order), -1)[order] for n in ("row", "base")
        )
        weights = [
            np.column_stack([rows[:, a], bases[:, k]]).T for k, a in enumerate(kernels.parts)
        ]
        distinct, starts = np.unique(bandwidth[order], return_index=True)
        groups = list(
            zip(distinct.tolist(), itertools.pairwise([*starts, len(order)]), strict=True)
        )

        def log_density(x: Block) -> np.ndarray:
            out = np.zeros((len(x), kernels.n_classes, len(order)))
            broad, size = base(x), (~np.isnan(x)).sum(axis=1)
            for rows, squares, height in kernels.located(x):
                for (h, (start, end)), k in itertools.product(groups, range(len(weights))):
                    top = height - size[rows] * np.log(h)
                    density, level = _components(squares[k], top, broad[rows, k], h)
                    total = density @ weights[k][:, start:end]
                    np.log(total, out=total)
                    total += level[:, None]
                    out[rows, k, start:end] = total
            if len(groups) > 1:
                out = out[:, :, np.argsort(order)]
            return np.swapaxes(out, 1, 2).reshape(len(x), *lead, kernels.n_classes)

        return log_density

    def log_density_draws_given_row(
        self, rng: np.random.Generator, n: int
    ) -> Callable[[Block, np.ndarray], np.ndarray]:
        """Return (x, own) -> log p(x given y = k, theta), (draw, row, class) (see `Conjugate`).

        Of class own[draw, row], the row's density weighs the bandwidths; a component is picked by
        its share of the density, and the Gamma variable of its weight gains one of shape 1.
        """
        part = _pruned(self)
        kernels, base, log_densities = part.kernels, part.base.predictive(), part._log_densities()
        gamma, base_gamma, total = part._gammas(rng, n)
        more = rng.exponential(size=n)
        which_bandwidth, which_component = rng.random((2, n))
        weights = [np.append(kernels.weight[centers], self.base_rows) for centers in kernels.parts]

        def log_density(x: Block, own: np.ndarray) -> np.ndarray:
            out = np.zeros((*own.shape, kernels.n_classes))
            broad, size, logs = base(x), (~np.isnan(x)).sum(axis=1), log_densities(x)
            steps = np.exp(logs - log_sum_exp(logs)[..., None]).cumsum(axis=2)[:, :, :-1]
            picked = (which_bandwidth[:, None, None] >= steps[np.arange(len(x)), own]).sum(axis=2)
            for rows, squares, height in kernels.located(x):
                for j in np.unique(picked[:, rows]):
                    drawn, h = picked[:, rows] == j, float(part.grid[j])
                    top = height - size[rows] * np.log(h)
                    for k, weight in enumerate(weights):
                        density, level = _components(squares[k], top, broad[rows, k], h)
                        value = gamma[:, kernels.parts[k]] @ density[:, :-1].T
                        value += base_gamma[:, [k]] * density[:, -1]
                        norm = np.tile(total[:, [k]], len(rows))
                        update = drawn & (own[:, rows] == k)
                        for r in np.flatnonzero(update.any(axis=0)):
                            draws = np.flatnonzero(update[:, r])
                            ends = (weight * density[r]).cumsum()
                            share = which_component[draws] * ends[-1]
                            pick = np.searchsorted(ends[:-1], share, "right")
                            value[draws, r] += more[draws] * density[r, pick]
                            norm[draws, r] += more[draws]
                        logs = level + np.log(value) - np.log(norm)
                        out[:, rows, k] = np.where(drawn, logs, out[:, rows, k])
            return out

        return log_density

    def log_likelihood(self, params: Params, statistics: Rows) -> Traceable:
        """Return the sum over rows of weight times log density of their observed columns."""
        if not len(statistics.x):
            return np.zeros(np.shape(params["bandwidth"]))
        logs = self.log_density_fn(params)(statistics.x)
        by_row = np.moveaxis(logs, -1, 1)[np.arange(len(logs)), statistics.y]
        return np.tensordot(statistics.weight, by_row, axes=1)

    # -- rows drawn -----------------------------------------------------------------------------

    def simulate(self, params: Params, y: Labels, rng: np.random.Generator) -> Block:
        """Return rows of components drawn by weight: centers plus noise, or draws of t."""
        return self.fill_given(params, np.full((len(y), self.mean.shape[1]), np.nan), y, rng)

    def fill(self, x: Block, own: Labels, rng: np.random.Generator) -> Block:
        """Return rows whose missing cells are drawn: exactly, a bandwidth and component each."""
        logs = self._log_densities()(x)[np.arange(len(x)), own]
        weights = {
            "row_weight": self.kernels.weight,
            "base_weight": np.full(len(self.mean), float(self.base_rows)),
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


def _components(
    squares: Squares, height: np.ndarray, base: np.ndarray, h: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return densities of the components of a class, relative to the largest, and its log.

    Shapes: (row, component), (row,). height, base: logs of the kernels' height and of t, (row,).
    """
    nearest = squares.min(axis=1, initial=np.inf)
    level = np.maximum(height - nearest / (2 * h**2), base)
    # as distances lie in memory, the rows of a center side by side
    out = np.empty((squares.shape[1] + 1, len(squares))).T
    np.multiply(squares, -0.5 / h**2, out=out[:, :-1])
    out[:, :-1] += (height - level)[:, None]
    out[:, -1] = base - level
    return np.exp(out, out=out), level


def _positions(rows: Rows, others: Rows) -> np.ndarray:
    """Return the place of each of other rows among distinct rows, -1 where there is none."""

    def keys(part: Rows) -> list[tuple[int, bytes]]:
        # one zero, and one NaN
        cells = np.where(np.isnan(part.x), np.nan, part.x + 0.0)
        return [(k, row.tobytes()) for k, row in zip(part.y.tolist(), cells, strict=True)]

    place = {key: i for i, key in enumerate(keys(rows))}
    return np.array([place.get(key, -1) for key in keys(others)], dtype=int)


def _pruned(prior: KernelDiscriminant) -> KernelDiscriminant:
    """Return the likelihood without bandwidths of negligible weight at either end of the grid."""
    part, log_weight = active(prior.log_weight)
    return prior.with_arrays({"grid": prior.grid[part], "log_weight": log_weight})
