"""Kernel density likelihood: a normal kernel at each training value, of fixed or learned bandwidth.

The bandwidth is the standard deviation of the kernel.
"""

import dataclasses
from collections.abc import Callable
from typing import ClassVar

import numpy as np
from jaxtyping import Float

from bayesgen.errors.arguments import not_one_of
from bayesgen.errors.operations import density_of_rows
from bayesgen.likelihoods import kernel_bandwidth
from bayesgen.likelihoods.base import (
    Guess,
    Likelihood,
    Repair,
    broadcast_guess,
)
from bayesgen.likelihoods.distinct_rows import ROUNDING, Values, distinct_values
from bayesgen.typing import Block, Joint, Labels, LevelCounts, Params, Traceable, Weights

PRIOR = ("bandwidth_guess", "bandwidth_rows")
FOUND = ("log_mode", "width", "first", "step")

Bandwidth = str | Guess
Cells = Float[np.ndarray, " value"]
Centers = Float[np.ndarray, " center"]


def log_densities(
    center: Centers, weight: Centers, bandwidth: Float[np.ndarray, " draw"]
) -> Callable[[Cells], Float[np.ndarray, "value draw"]]:
    """Return x -> log of the weighted mean of kernels around the centers, for each bandwidth.

    -inf where all centers are farther than numbers reach. Equal values are scored once.
    """
    score = kernel_bandwidth.log_densities(center, weight, bandwidth)

    def scores(x: Cells) -> np.ndarray:
        distinct, where = np.unique(x, return_inverse=True)
        return score(distinct)[where]

    return scores


# -- bandwidths ------------------------------------------------------------------------------------


def rule_of_thumb(rows: Values) -> Float[np.ndarray, "class feature"]:
    """Return .9 min(sd, IQR / 1.34) n^(-1/5) of each class and column, NaN where it is constant.

    If the interquartile range is 0 the standard deviation is used, as in R. For a class of constant
    values the spread of all classes together is used. (R uses |x[1]|, or 1 if that is 0 too, which
    depends on the unit and the origin of the column.)

    Source: Silverman, Density Estimation (1986), equation 3.31.
    """
    out = np.empty((rows.n_classes, rows.n_features))
    for k, j in np.ndindex(out.shape):
        own = rows.borrowed(k, j)
        out[k, j] = nrd0(*own) or nrd0(*own, spread(*rows.pooled(j))) or np.nan
    return out


def nrd0(value: Cells, weight: Cells, otherwise: float = 0.0) -> float:
    """Return the rule of thumb for one class and column, of another spread if nothing varies."""
    # a weight below 1 counts as one row, since n^(-1/5) would diverge
    return 0.9 * (spread(value, weight) or otherwise) * max(weight.sum(), 1.0) ** -0.2


def nrd0_without(value: Cells, weight: Cells, own: Labels, lost: Weights) -> Weights:
    """Return the rule for the values without `lost` of the weight of one at a time, at `own`.

    0 where the others do not vary.
    """
    out = np.empty(len(own))
    for i, (at, away) in enumerate(zip(own, lost, strict=True)):
        left = weight.copy()
        left[at] -= away
        some = left > ROUNDING * weight
        out[i] = nrd0(value[some], left[some])
    return out


def spread(value: Cells, weight: Cells) -> float:
    """Return min(sd, IQR / 1.34), or sd where the IQR is 0; 0 where nothing varies.

    value: distinct, in rising order. weight: of each value, possibly fractional.
    """
    n = weight.sum()
    if n <= 1 or len(value) < 2:
        return 0.0
    mean = weight @ value / n
    sd = float(np.sqrt(weight @ (value - mean) ** 2 / (n - 1)))
    low, high = (_quantile(value, weight, q) for q in (0.25, 0.75))
    return min(sd, (high - low) / 1.34) or sd


def _quantile(value: Cells, weight: Cells, q: float) -> float:
    """Return R's type 7 of the values, each repeated `weight` times.

    With the values side by side, each as wide as its weight: their mean from (n - 1) q to one
    further. That is type 7 where weights are whole, and the same from above as from below.
    """
    last = np.cumsum(weight)
    place = (last[-1] - 1) * q
    inside = np.minimum(last, place + 1) - np.maximum(last - weight, place)
    at = np.flatnonzero(inside > 0)
    # from the first of them on, so that one value alone is returned as it is
    return float(value[at[0]] + inside[at] @ (value[at] - value[at[0]]) / inside[at].sum())


# -- families --------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class _FittedValues(Likelihood[Values]):
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

    def take(self, axis: str, index: np.ndarray) -> "_FittedValues":
        """Return the likelihood of some of the columns, in the order of `index`."""
        own = {n: getattr(self, n)[:, index] for n, axes in self.axes.items() if "feature" in axes}
        return self.with_arrays(own | self.rows.take(axis, index).arrays())

    def uninformative(self) -> np.ndarray:
        """Return the columns that were never observed, or are constant without a stated guess."""
        return np.isnan(self.width).any(axis=0)

    def log_density_given(self, bandwidth: np.ndarray) -> Callable[[Block], np.ndarray]:
        """Return x -> sum over observed columns of log mean kernels, (row, *draws, class).

        bandwidth: (*draws, class, feature).
        """
        rows, (*lead, n_classes, n_features) = self.rows, bandwidth.shape
        flat = bandwidth.reshape(-1, n_classes, n_features)
        places = [(k, j, rows.borrowed(k, j)) for k, j in np.ndindex(n_classes, n_features)]
        # a column that was never observed is uninformative
        scores = [
            (k, j, log_densities(*centers, flat[:, k, j]))
            for k, j, centers in places
            if len(centers[0])
        ]

        def score(x: Block) -> np.ndarray:
            out, seen = np.zeros((len(x), len(flat), n_classes)), ~np.isnan(x)
            for k, j, column in scores:
                out[seen[:, j], :, k] += column(x[seen[:, j], j])
            return out.reshape(len(x), *lead, n_classes)

        return score

    def simulate_given(
        self, bandwidth: Float[np.ndarray, "class feature"], y: Labels, rng: np.random.Generator
    ) -> Block:
        """Draw each cell as a fitted value of the row's class plus kernel noise."""
        out = np.empty((len(y), bandwidth.shape[1]))
        for k, j in np.ndindex(bandwidth.shape):
            at = np.flatnonzero(y == k)
            if len(at):
                center, weight = self.rows.borrowed(k, j)
                picked = rng.choice(center, len(at), p=weight / weight.sum())
                out[at, j] = picked + bandwidth[k, j] * rng.standard_normal(len(at))
        return out


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class KernelDensity(_FittedValues):
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
            width = broadcast_guess("KernelDensity", "bandwidth", self.bandwidth, shape)
        width = np.where((statistics.count() > 0).any(axis=0), width, np.nan)
        return self.with_arrays({"width": width, **statistics.arrays()})

    def posterior(self, statistics: Values) -> "KernelDensity":
        """Return itself: `complete` has stored the rows, and there are no parameters."""
        return self

    def leave_one_out(
        self, statistics: Values, x: Block, y: Labels, weight: Weights, away: Weights
    ) -> Joint | None:
        """Return log p(x_i given y = k, the rows without i), shape (row, class) (see base).

        NaN where a class takes values or spread of all.
        """
        out, seen = np.zeros((len(y), len(self.width))), ~np.isnan(x)
        rule = isinstance(self.bandwidth, str)
        for k, j in np.argwhere(~np.isnan(self.width)).tolist():
            (value, weight), width = self.rows.group(k, j), self.width[k, j]
            if not len(value) or (rule and not nrd0(value, weight)):
                out[seen[:, j]] = np.nan
                continue
            own, others = seen[:, j] & (y == k), seen[:, j] & (y != k)
            score = log_densities(value, weight, np.array([width]))
            out[others, k] += score(x[others, j])[:, 0]
            pairs = np.stack([x[own, j], away[own]], axis=1)
            pairs, where = np.unique(pairs, axis=0, return_inverse=True)
            at, lost = np.searchsorted(value, pairs[:, 0]), pairs[:, 1]
            widths = np.full(len(at), width)
            if rule:
                widths = nrd0_without(value, weight, at, lost)
            out[own, k] += kernel_bandwidth.left_out(at, lost, value, weight, widths)[where, 0]
        return out

    def require_evidence(self) -> None:
        """Raise: the density depends on the rows themselves."""
        raise density_of_rows("KernelDensity")

    def log_evidence(self, statistics: Values) -> float:
        """Raise, as `require_evidence` does."""
        raise density_of_rows("KernelDensity")

    def predictive(self) -> Callable[[Block], np.ndarray]:
        """Return x -> sum over observed columns of log mean kernels, shape (row, class)."""
        return self.log_density_given(self.width)

    def log_density_fn(self, params: Params) -> Callable[[Block], np.ndarray]:
        """Return the predictive, shape (row, class): there is no parameter."""
        return self.predictive()

    def log_density_draws_given_row(
        self, rng: np.random.Generator, n: int
    ) -> Callable[[Block, np.ndarray], np.ndarray]:
        """Return densities, equal for all draws: there is no parameter to update."""
        score = self.predictive()
        return lambda x, own: np.broadcast_to(score(x), (*own.shape, len(self.width)))

    def draw(self, rng: np.random.Generator, n: int) -> Params:
        """Return no parameter."""
        return {}

    def mode(self) -> Params:
        """Return no parameter."""
        return {}

    def maximum_likelihood(
        self, statistics: Values, *, bias_corrected: bool = False, variance_floor: float = 0.0
    ) -> tuple[Params, list[Repair]]:
        """Return no parameter."""
        return {}, []

    def initial_params(self, statistics: Values) -> Params:
        """Return no parameter."""
        return {}

    def log_likelihood(self, params: Params, statistics: Values) -> Traceable:
        """Return 0: there is no parameter."""
        return np.zeros(())

    def fill(self, x: Block, own: Labels, rng: np.random.Generator) -> Block:
        """Return rows whose missing cells are drawn from the density."""
        return self.fill_given({}, x, own, rng)

    def simulate(self, params: Params, y: Labels, rng: np.random.Generator) -> Block:
        """Return fitted values of each row's class, column by column, blurred."""
        return self.simulate_given(self.width, y, rng)

    def story(self, name: str) -> Params:
        """Sample nothing."""
        return {}

    def whitening(self, statistics: Values) -> dict[str, tuple[np.ndarray, ...]]:
        """Return nothing."""
        return {}


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class LearnedKernelDensity(_FittedValues):
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

    has_closed_form_mle: ClassVar[bool] = False
    axes: ClassVar = {
        **dict.fromkeys((*PRIOR, *FOUND), ("class", "feature")),
        "table": ("class", "feature", "step", "power"),
        **Values.axes,
    }
    supports: ClassVar = {"bandwidth": "positive"}
    param_axes: ClassVar = {"bandwidth": ("class", "feature")}
    hyperparameters: ClassVar = {"bandwidth_guess": "width", "bandwidth_rows": "positive"}

    @property
    def conjugate(self) -> bool:
        """Never: there is no closed form."""
        return False

    @property
    def title(self) -> str:
        """The constructor call of the family."""
        return "KernelDensity(bandwidth='posterior')"

    def complete(self, statistics: Values) -> "LearnedKernelDensity":
        """Store the values as centers, fill in the guess, and tabulate the likelihood."""
        shape = statistics.n_classes, statistics.n_features
        rule, stated = rule_of_thumb(statistics), self.bandwidth_guess
        guess = rule if stated is None else stated
        guess = broadcast_guess("KernelDensity", "bandwidth_guess", guess, shape)
        guess = np.where((statistics.count() > 0).any(axis=0), guess, np.nan)
        prior_strength = broadcast_guess(
            "KernelDensity", "bandwidth_rows", self.bandwidth_rows, shape
        )
        found: dict[str, np.ndarray] = {name: np.full(shape, np.nan) for name in FOUND}
        found["table"] = np.full(
            (*shape, kernel_bandwidth.STEPS, kernel_bandwidth.DEGREE + 1), np.nan
        )
        for at in zip(*np.nonzero(~np.isnan(guess)), strict=True):
            value, weight, center, center_weight = _values_and_centers(statistics, *map(int, at))
            table = kernel_bandwidth.tabled(
                value,
                weight,
                center,
                center_weight,
                guess=float(guess[at]),
                rows=float(prior_strength[at]),
                rule=float(rule[at]),
            )
            for name, array in table.items():
                found[name][at] = array
        prior = {"bandwidth_guess": guess, "bandwidth_rows": prior_strength}
        return self.with_arrays({**prior, **found, **statistics.arrays()})

    def initial_params(self, statistics: Values) -> Params:
        """Return the mode of each class and column."""
        return {"bandwidth": np.exp(self.log_mode)}

    def log_density_fn(self, params: Params) -> Callable[[Block], np.ndarray]:
        """Return x -> sum over observed columns of log mean kernels, (row, *draws, class)."""
        return self.log_density_given(params["bandwidth"])

    def log_likelihood(self, params: Params, statistics: Values) -> Traceable:
        """Return the leave-one-out log likelihood, summed over classes and columns, (*draws,).

        Read from the table: statistics must be those that `complete` saw.
        """
        bandwidth = params["bandwidth"]
        xp = bandwidth.__array_namespace__()
        place = (xp.log(bandwidth) - self.first) / self.step
        return kernel_bandwidth.read(self.table, place).sum(axis=(-2, -1))

    def simulate(self, params: Params, y: Labels, rng: np.random.Generator) -> Block:
        """Return fitted values of each row's class, column by column, blurred."""
        return self.simulate_given(params["bandwidth"], y, rng)

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


def _values_and_centers(rows: Values, cls: int, feature: int) -> tuple[np.ndarray, ...]:
    """Return the values of a class in a column, and the centers that score them, with weights."""
    own = rows.group(cls, feature)
    # a single row has no other of its class
    return (*own, *(rows.pooled(feature) if own[1].sum() <= 1 else own))
