"""Kernel density likelihood: a normal kernel at each training value, of fixed or learned bandwidth.

The bandwidth is the standard deviation of the kernel.
"""

import dataclasses
from collections.abc import Callable
from typing import ClassVar

import numpy as np

from bayesgen.errors.arguments import not_one_of
from bayesgen.likelihoods.base import Guess, Likelihood, Repair, broadcast_guess, fill_cell_by_cell
from bayesgen.likelihoods.distinct_rows import Values, distinct_values
from bayesgen.likelihoods.kernels import column_bandwidth
from bayesgen.likelihoods.kernels.column_bandwidth import nrd0, nrd0_without, rule_of_thumb
from bayesgen.likelihoods.kernels.sums import log_densities, log_densities_without
from bayesgen.likelihoods.protocols import Conjugate
from bayesgen.typing import Block, Joint, Labels, LevelCounts, Params, Traceable, Weights

FAMILY = "KernelDensity"
PRIOR = ("bandwidth_guess", "bandwidth_rows")
CURVE = ("log_mode", "width", "first", "step")

Bandwidth = str | Guess


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class _KernelsAtValues(Likelihood[Values]):
    """Base class of kernel families, whose statistics and arrays are the training values.

    width: bandwidths (class, feature), or widths of their posteriors; NaN in columns that were
    never observed, or are constant without a stated guess.
    """

    keeps_rows: ClassVar[bool] = True
    distribution_words: ClassVar[str] = "kernel density estimate"

    width: np.ndarray | None = dataclasses.field(default=None, init=False)
    value: np.ndarray | None = dataclasses.field(default=None, init=False)
    weight: np.ndarray | None = dataclasses.field(default=None, init=False)
    y: np.ndarray | None = dataclasses.field(default=None, init=False)
    column: np.ndarray | None = dataclasses.field(default=None, init=False)

    def statistics(
        self, x: Block, y: Labels, weight: Weights, *, n_classes: int, n_levels: LevelCounts = ()
    ) -> Values:
        """Return the distinct values of each class and column, and their weights."""
        return distinct_values(x, y, weight, n_classes)

    @property
    def rows(self) -> Values:
        """The fitted values."""
        return Values(self.value, self.weight, self.y, self.column, *self.width.shape)

    def take(self, axis: str, index: np.ndarray) -> "_KernelsAtValues":
        """Return the likelihood of some of the columns, in the order of `index`."""
        cells = {n: getattr(self, n)[:, index] for n, a in self.axes.items() if "feature" in a}
        return self.with_arrays(cells | self.rows.take(axis, index).arrays())

    def uninformative(self) -> np.ndarray:
        """Return the columns that were never observed, or are constant without a stated guess."""
        return np.isnan(self.width).any(axis=0)

    def log_density_fn(self, params: Params) -> Callable[[Block], np.ndarray]:
        """Return x -> sum over observed columns of log mean kernels, (row, *draws, class)."""
        rows, bandwidth = self.rows, params.get("bandwidth", self.width)
        *lead, n_classes, n_features = bandwidth.shape
        flat, scores = bandwidth.reshape(-1, n_classes, n_features), {}
        for k, j in np.ndindex(n_classes, n_features):
            center, weight = rows.borrowed(k, j)
            if len(center):  # a column that was never observed is uninformative
                scores[k, j] = log_densities(center, weight, flat[:, k, j])

        def log_density(x: Block) -> np.ndarray:
            out = np.zeros((len(x), len(flat), n_classes))
            for j in range(n_features):
                seen = np.flatnonzero(~np.isnan(x[:, j]))
                # equal values are scored once
                distinct, which = np.unique(x[seen, j], return_inverse=True)
                for k in range(n_classes):
                    if (k, j) in scores:
                        out[seen, :, k] += scores[k, j](distinct)[which]
            return out.reshape(len(x), *lead, n_classes)

        return log_density

    def simulate(self, params: Params, y: Labels, rng: np.random.Generator) -> Block:
        """Return fitted values of each row's class, column by column, plus noise of the kernels."""
        bandwidth = params.get("bandwidth", self.width)
        out = np.empty((len(y), bandwidth.shape[1]))
        for k, j in np.ndindex(bandwidth.shape):
            at = np.flatnonzero(y == k)
            if len(at):
                center, weight = self.rows.borrowed(k, j)
                picked = rng.choice(center, len(at), p=weight / weight.sum())
                out[at, j] = picked + bandwidth[k, j] * rng.standard_normal(len(at))
        return out

    fill_given = fill_cell_by_cell


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class KernelDensity(_KernelsAtValues, Conjugate[Values]):
    """x | class ~ the mean of normals centered at the training values of that class and column.

    The bandwidth is their standard deviation, as in R. A value of weight w counts as w values,
    missing cells are ignored, and a class without values in a column uses those of all classes.

    With a rule or a number as bandwidth the density is a plug-in estimate: inference is "exact"
    because there are no parameters, intervals of class probabilities reflect only the class prior,
    and there is no evidence. Leave-one-out densities, including `loo()`, equal those of refits.
    With bandwidth="posterior" each class and column has an unknown bandwidth h, with

        h^2 ~ InverseGamma(bandwidth_rows / 2, bandwidth_rows * guess^2 / 2),

    and each row is scored by the kernels of the other rows of its class (the leave-one-out
    likelihood; including a row's own kernel would drive h to 0). NUTS samples h, MAP maximizes its
    density. The prior guess keeps h away from 0 if many values are tied (rounded); an isolated
    value pulls h toward its distance from the others.

    Source: John and Langley, UAI 1995; Silverman (1986), section 3.4; Zhang, King and Hyndman,
    Computational Statistics and Data Analysis 50 (2006) 3009-3031.

    Args:
        bandwidth: "nrd0" (R's rule of thumb, class by class and column by column), "posterior", or
            a number > 0 in the unit of the column, one per column or (class, feature).
        bandwidth_rows: prior strength of the bandwidth guess in rows; "posterior" only.
        bandwidth_guess: guess of the bandwidth; "posterior" only. None: "nrd0".

    Raises:
        InvalidArgument: an unknown rule; a bandwidth or a prior strength not above 0.

    Examples:
        >>> import bayesgen as bg
        >>> X, y = bg.datasets.load_iris()
        >>> clf = bg.NaiveBayes(bg.KernelDensity(bandwidth=0.2)).fit(X, y)
        >>> round(clf.score(X, y), 3)
        0.967
    """

    bandwidth: Bandwidth = "nrd0"
    bandwidth_rows: Guess = 10.0
    bandwidth_guess: Guess = None

    axes: ClassVar = {"width": ("class", "feature"), **Values.axes}
    hyperparameters: ClassVar = {
        **dict.fromkeys(("bandwidth", "bandwidth_guess"), "width"),
        "bandwidth_rows": "positive",
    }
    words: ClassVar = {"bandwidth": ("nrd0", "posterior")}

    def __post_init__(self) -> None:
        """Validate the rule, and the ranges of bandwidths and prior strength."""
        rules = self.words["bandwidth"]
        if isinstance(self.bandwidth, str) and self.bandwidth not in rules:
            raise not_one_of("bandwidth", self.bandwidth, [*rules, 0.5])
        super().__post_init__()

    def equivalent_family(self) -> Likelihood:
        """Return the family of unknown bandwidths if bandwidth="posterior"."""
        if isinstance(self.bandwidth, str) and self.bandwidth == "posterior":
            return LearnedKernelDensity(self.bandwidth_guess, self.bandwidth_rows)
        return self

    def settings(self) -> tuple:
        """Return no settings: there is no parameter, so nothing is traced."""
        return ()

    def complete(self, statistics: Values) -> "KernelDensity":
        """Store the values as centers and compute bandwidths by the rule."""
        shape = statistics.n_classes, statistics.n_features
        if isinstance(self.bandwidth, str):
            width = rule_of_thumb(statistics)
        else:
            width = broadcast_guess(FAMILY, "bandwidth", self.bandwidth, shape)
        width = np.where((statistics.count() > 0).any(axis=0), width, np.nan)
        return self.with_arrays({"width": width, **statistics.arrays()})

    def posterior(self, statistics: Values) -> "KernelDensity":
        """Return itself: `complete` has stored the rows, and there are no parameters."""
        return self

    def leave_one_out(
        self, statistics: Values, x: Block, y: Labels, weight: Weights, away: Weights
    ) -> Joint:
        """Return log p(x_i given y = k, the rows without i), (row, class) (see `LeaveOneOut`).

        NaN where a class takes values or spread of all.
        """
        out, seen = np.zeros((len(y), len(self.width))), ~np.isnan(x)
        rule = isinstance(self.bandwidth, str)
        for k, j in np.argwhere(~np.isnan(self.width)).tolist():
            (center, weight), width = self.rows.group(k, j), self.width[k, j]
            if not len(center) or (rule and not nrd0(center, weight)):
                out[seen[:, j]] = np.nan
                continue
            own, others = seen[:, j] & (y == k), seen[:, j] & (y != k)
            values, which = np.unique(x[others, j], return_inverse=True)
            log_density = log_densities(center, weight, np.array([width]))
            out[others, k] += log_density(values)[which, 0]
            pairs, which = np.unique([x[own, j], away[own]], axis=1, return_inverse=True)
            at, lost = np.searchsorted(center, pairs[0]), pairs[1]
            widths = nrd0_without(center, weight, at, lost) if rule else np.full(len(at), width)
            out[own, k] += log_densities_without(at, lost, center, weight, widths)[which, 0]
        return out

    def predictive(self) -> Callable[[Block], np.ndarray]:
        """Return x -> sum over observed columns of log mean kernels, shape (row, class)."""
        return self.log_density_fn({})

    def log_density_draws_given_row(
        self, rng: np.random.Generator, n: int
    ) -> Callable[[Block, np.ndarray], np.ndarray]:
        """Return densities, equal for all draws: there is no parameter to update."""
        score = self.predictive()
        return lambda x, own: np.broadcast_to(score(x), (*own.shape, len(self.width)))

    def log_likelihood(self, params: Params, statistics: Values) -> Traceable:
        """Return 0: there is no parameter."""
        return np.zeros(())

    def fill(self, x: Block, own: Labels, rng: np.random.Generator) -> Block:
        """Return rows whose missing cells are drawn from the density."""
        return self.fill_given({}, x, own, rng)

    # -- there is no parameter -------------------------------------------------------------------

    def draw(self, rng: np.random.Generator, n: int) -> Params:
        """Draw nothing."""
        return {}

    def mode(self) -> Params:
        """Return no parameter."""
        return {}

    def maximum_likelihood(
        self, statistics: Values, *, bias_corrected: bool = False, variance_floor: float = 0.0
    ) -> tuple[Params, list[Repair]]:
        """Return no parameter, and no repair."""
        return {}, []

    def story(self, name: str) -> Params:
        """Sample nothing."""
        return {}

    def initial_params(self, statistics: Values) -> Params:
        """Return no parameter."""
        return {}

    def whitening(self, statistics: Values) -> dict[str, tuple[np.ndarray, ...]]:
        """Return no coordinate."""
        return {}


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class LearnedKernelDensity(_KernelsAtValues):
    """The family of `KernelDensity(bandwidth="posterior")`; see there.

    Fitting tabulates the leave-one-out likelihood of each class and column at 241 bandwidths, in
    time quadratic in the number of distinct values of a class; samplers interpolate the table. The
    single row of a class has no other center and uses those of all classes.

    Args:
        bandwidth_guess: guess of the bandwidth, > 0, in the column's unit; None: "nrd0".
        bandwidth_rows: prior strength of that guess in rows, > 0.

    Raises:
        InvalidArgument: a guess or a prior strength not above 0.
    """

    bandwidth_guess: Guess = None
    bandwidth_rows: Guess = 10.0
    log_mode: np.ndarray | None = dataclasses.field(default=None, init=False)
    first: np.ndarray | None = dataclasses.field(default=None, init=False)
    step: np.ndarray | None = dataclasses.field(default=None, init=False)
    table: np.ndarray | None = dataclasses.field(default=None, init=False)

    axes: ClassVar = {
        **dict.fromkeys((*PRIOR, *CURVE), ("class", "feature")),
        "table": ("class", "feature", "step", "power"),
        **Values.axes,
    }
    supports: ClassVar = {"bandwidth": "positive"}
    param_axes: ClassVar = {"bandwidth": ("class", "feature")}
    hyperparameters: ClassVar = {"bandwidth_guess": "width", "bandwidth_rows": "positive"}

    @property
    def title(self) -> str:
        """The constructor call of the family."""
        return "KernelDensity(bandwidth='posterior')"

    def complete(self, statistics: Values) -> "LearnedKernelDensity":
        """Store the values as centers, fill in the guess, and tabulate the likelihood."""
        shape = statistics.n_classes, statistics.n_features
        rule, stated = rule_of_thumb(statistics), self.bandwidth_guess
        guess = broadcast_guess(FAMILY, PRIOR[0], rule if stated is None else stated, shape)
        guess = np.where((statistics.count() > 0).any(axis=0), guess, np.nan)
        strength = broadcast_guess(FAMILY, PRIOR[1], self.bandwidth_rows, shape)
        arrays = {"bandwidth_guess": guess, "bandwidth_rows": strength, **statistics.arrays()}
        arrays |= {name: np.full(shape, np.nan) for name in CURVE}
        arrays["table"] = np.full((*shape, *column_bandwidth.TABLE), np.nan)
        for k, j in np.argwhere(~np.isnan(guess)).tolist():
            values = centers = statistics.group(k, j)
            if values[1].sum() <= 1:  # a single row has no other of its class
                centers = statistics.pooled(j)
            prior = {"guess": guess[k, j], "rows": strength[k, j], "rule": rule[k, j]}
            for name, array in column_bandwidth.tabled(*values, *centers, **prior).items():
                arrays[name][k, j] = array
        return self.with_arrays(arrays)

    def initial_params(self, statistics: Values) -> Params:
        """Return the mode of each class and column."""
        return {"bandwidth": np.exp(self.log_mode)}

    def log_likelihood(self, params: Params, statistics: Values) -> Traceable:
        """Return the leave-one-out log likelihood, summed over classes and columns, (*draws,).

        Read from the table: statistics must be those that `complete` saw.
        """
        bandwidth = params["bandwidth"]
        xp = bandwidth.__array_namespace__()
        place = (xp.log(bandwidth) - self.first) / self.step
        return column_bandwidth.read(self.table, place).sum(axis=(-2, -1))

    def story(self, name: str) -> Params:
        """Sample the bandwidth for every class and column."""
        import numpyro
        import numpyro.distributions as dist
        from numpyro.distributions.transforms import AffineTransform, PowerTransform

        n_classes, n_features = self.width.shape
        prior_strength = self.bandwidth_rows / 2
        # in units of the guess: squares of bandwidths stay within the range of numbers
        to_bandwidth = [PowerTransform(0.5), AffineTransform(0.0, self.bandwidth_guess)]
        prior = dist.TransformedDistribution(
            dist.InverseGamma(prior_strength, prior_strength), to_bandwidth
        )
        feature = numpyro.plate(f"{name}.feature", n_features, dim=-1)
        with feature, numpyro.plate(f"{name}.class", n_classes, dim=-2):
            return {"bandwidth": numpyro.sample(f"{name}.bandwidth", prior)}

    def whitening(self, statistics: Values) -> dict[str, tuple[np.ndarray, ...]]:
        """Return mode and width of the posterior of the log bandwidth."""
        return {"bandwidth": (self.log_mode, self.width)}
