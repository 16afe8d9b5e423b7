"""Kernel density likelihood: a kernel at each training value, with fixed or learned bandwidth.

Kernels are scaled so that the bandwidth is their standard deviation, as in R's `density`: one
bandwidth smooths equally for every kernel. (Other libraries define the bandwidth of a kernel with
compact support as its half-width, which is `reach` times ours.)
"""

import dataclasses
from collections.abc import Callable
from typing import ClassVar

import numpy as np
from jaxtyping import Float

from bayesgen.errors import InvalidArgument, NoEvidence, UnsupportedInference
from bayesgen.likelihoods.base import (
    Guess,
    Likelihood,
    Repair,
    broadcast_guess,
    require_one_of,
    require_positive,
)
from bayesgen.likelihoods.distinct_rows import Values, distinct_values
from bayesgen.likelihoods.kernel_bandwidth import STEPS, log_densities, read, tabled
from bayesgen.typing import Block, Labels, LevelCounts, Params, Traceable, Weights

PAIRS = 1 << 19
"""Pairs of a value and a center held at once: 4 MB, which stays in a third-level cache."""

PRIOR = ("bandwidth_guess", "bandwidth_rows")
FOUND = ("log_mode", "width", "first", "step")

Bandwidth = str | Guess
Cells = Float[np.ndarray, " value"]
Centres = Float[np.ndarray, " centre"]


# -- kernels ---------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Kernel:
    """A symmetric density that ends `reach` bandwidths from its center.

    height: z -> density at z, for |z| <= 1 where 1 is the end. noise: (rng, n) -> draws of z.
    """

    reach: float
    height: Callable[[np.ndarray], np.ndarray]
    noise: Callable[[np.random.Generator, int], np.ndarray]


KERNELS = {
    "gaussian": None,
    "epanechnikov": Kernel(
        5**0.5, lambda z: 0.75 * (1 - z**2), lambda rng, n: 2 * rng.beta(2, 2, n) - 1
    ),
    "triangular": Kernel(
        6**0.5, lambda z: 1 - np.abs(z), lambda rng, n: rng.random(n) - rng.random(n)
    ),
    "uniform": Kernel(3**0.5, lambda z: np.full_like(z, 0.5), lambda rng, n: rng.uniform(-1, 1, n)),
    "biweight": Kernel(
        7**0.5, lambda z: 15 / 16 * (1 - z**2) ** 2, lambda rng, n: 2 * rng.beta(3, 3, n) - 1
    ),
}
"""By name; the Gaussian, whose support is the line, is summed in logarithms."""


def log_density(
    name: str, value: Cells, centre: Centres, weight: Centres, bandwidth: float
) -> Cells:
    """Return the log of the weighted mean of kernels around the centers, at each value.

    -inf where no kernel reaches. Gaussians are exact at any distance.
    """
    distinct, where = np.unique(value, return_inverse=True)
    out = np.empty(len(distinct))
    size = max(1, PAIRS // max(len(centre), 1))
    with np.errstate(divide="ignore", over="ignore"):
        for begin in range(0, len(distinct), size):
            away = (distinct[begin : begin + size, None] - centre) / bandwidth
            out[begin : begin + size] = _log_sum(name, away, weight)
    return (out - np.log(weight.sum() * bandwidth))[where]


def _log_sum(name: str, away: np.ndarray, weight: np.ndarray) -> np.ndarray:
    kernel = KERNELS[name]
    if kernel is None:
        square = away**2 / 2
        nearest = square.min(axis=1, keepdims=True)
        # beyond the range of floats all centers are equally far
        off = np.where(np.isinf(nearest), np.inf, square - np.where(np.isinf(nearest), 0, nearest))
        return np.log(np.exp(-off) @ weight) - nearest[:, 0] - np.log(2 * np.pi) / 2
    z = away / kernel.reach
    return np.log(np.where(np.abs(z) <= 1, kernel.height(z), 0.0) @ weight) - np.log(kernel.reach)


def blur(name: str, rng: np.random.Generator, n: int) -> np.ndarray:
    """Return n draws from a kernel of bandwidth 1 around 0."""
    kernel = KERNELS[name]
    return rng.standard_normal(n) if kernel is None else kernel.reach * kernel.noise(rng, n)


def scattered(
    name: str,
    rows: Values,
    bandwidth: Float[np.ndarray, "class feature"],
    y: Labels,
    rng: np.random.Generator,
) -> Block:
    """Draw each cell as a training value of the row's class plus kernel noise."""
    out = np.empty((len(y), rows.n_features))
    for k in np.unique(y):
        at = np.flatnonzero(y == k)
        for j in range(rows.n_features):
            centre, weight = rows.borrowed(int(k), j)
            steps = np.cumsum(weight)
            picked = np.searchsorted(steps, rng.random(len(at)) * steps[-1], side="right")
            noise = blur(name, rng, len(at))
            out[at, j] = centre[np.minimum(picked, len(centre) - 1)] + bandwidth[k, j] * noise
    return out


# -- bandwidths ------------------------------------------------------------------------------------


def rule_of_thumb(rows: Values) -> Float[np.ndarray, "class feature"]:
    """Return .9 min(sd, IQR / 1.34) n^(-1/5) of each class and column, NaN where it is constant.

    The standard deviation stands in where the interquartile range is 0, as in R. A class whose
    values do not vary takes the spread of all classes together. (R takes |x[1]|, and 1 where that
    is 0 too, which depend on the unit and the origin of the column.)

    Source: Silverman, Density Estimation (1986), equation 3.31.
    """
    out = np.full((rows.n_classes, rows.n_features), np.nan)
    for j in range(rows.n_features):
        value, weight = rows.pooled(j)
        whole = spread(value, weight)
        for k in range(rows.n_classes):
            own, own_weight = rows.group(k, j)
            width, n = spread(own, own_weight), own_weight.sum() or weight.sum()
            # a weight below 1 counts as one row, since n^(-1/5) would diverge
            width = width if width > 0 else whole
            out[k, j] = 0.9 * width * max(n, 1.0) ** -0.2 if width > 0 else np.nan
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


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class KernelDensity(_FittedValues):
    """x | class ~ a mean of kernels centered at the training values of that class and column.

    The bandwidth is the standard deviation of the kernel for every kernel, as in R. A value of
    weight w counts as w values, missing cells are ignored, and a class without values in a column
    uses those of all classes.

    With a rule or a number as bandwidth the density is a plug-in estimate: inference is "exact"
    because there is no parameter, intervals of class probabilities reflect the class prior alone,
    and there is no evidence. With bandwidth="posterior" each class and column has an unknown
    bandwidth h, with

        h^2 ~ InverseGamma(bandwidth_rows / 2, bandwidth_rows * guess^2 / 2),

    and each row is scored by the kernels of the other rows of its class (the leave-one-out
    likelihood: a row's own kernel would call for h = 0). NUTS samples h, MAP maximizes. The prior
    guess keeps h away from 0 where many values are tied (rounded); an isolated value requires an h
    of about its distance from the others.

    Source: John and Langley, UAI 1995; Silverman (1986), section 3.4; Zhang, King and Hyndman,
    Computational Statistics and Data Analysis 50 (2006) 3009-3031.

    Args:
        kernel: "gaussian", "epanechnikov", "triangular", "uniform" or "biweight". All but the first
            have compact support: a row beyond the reach of every kernel is impossible.
        bandwidth: "nrd0" (R's rule of thumb, class by class and column by column), "posterior", or
            a number > 0 in the unit of the column, one per column or (class, feature).
        bandwidth_rows: prior strength of the bandwidth guess in rows; "posterior" only.
        bandwidth_guess: guess of the bandwidth; "posterior" only. None: "nrd0".

    Raises:
        InvalidArgument: an unknown kernel or rule.
        InvalidPrior: a bandwidth or a prior strength not above 0.
        UnsupportedInference: "posterior" with a kernel of compact support.
    """

    kernel: str = "gaussian"
    bandwidth: Bandwidth = "nrd0"
    bandwidth_rows: Guess = 10.0
    bandwidth_guess: Guess = None

    axes: ClassVar = {"width": ("class", "feature"), **Values.axes}

    def __post_init__(self) -> None:
        """Validate kernel, rule, bandwidths and prior strength."""
        require_one_of(self, "kernel", tuple(KERNELS))
        if not isinstance(self.bandwidth, str):
            require_positive(self, "bandwidth")
        elif self.bandwidth not in ("nrd0", "posterior"):
            allowed = ["nrd0", "posterior", 0.5]
            raise InvalidArgument.not_one_of("bandwidth", self.bandwidth, allowed)
        if isinstance(self.bandwidth, str) and self.bandwidth == "posterior":
            require_positive(self, "bandwidth_rows", "bandwidth_guess")
            if self.kernel != "gaussian":
                raise UnsupportedInference.because(
                    f"KernelDensity(kernel={self.kernel!r}, bandwidth='posterior')",
                    "a value that no other value's kernel reaches has probability 0, and the "
                    "bandwidth's density ends there without a slope",
                    "Use kernel='gaussian', or bandwidth='nrd0'.",
                )

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

    def require_evidence(self) -> None:
        """Raise: the density depends on the rows themselves."""
        raise NoEvidence.plug_in("KernelDensity")

    def log_evidence(self, statistics: Values) -> float:
        """Raise, as `require_evidence` does."""
        raise NoEvidence.plug_in("KernelDensity")

    def predictive(self) -> Callable[[Block], np.ndarray]:
        """Return x -> sum over observed columns of log mean kernels, shape (row, class)."""
        rows, (n_classes, n_features) = self.rows, self.width.shape
        places = list(np.ndindex(n_classes, n_features))
        centres = {at: rows.borrowed(*at) for at in places}

        def score(x: Block) -> np.ndarray:
            out, seen = np.zeros((len(x), n_classes)), ~np.isnan(x)
            # a column that was never observed is uninformative
            for k, j in (at for at in places if len(centres[at][0])):
                cells, width = x[seen[:, j], j], self.width[k, j]
                out[seen[:, j], k] += log_density(self.kernel, cells, *centres[k, j], width)
            return out

        return score

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
        return scattered(self.kernel, self.rows, self.width, y, rng)

    def story(self, name: str) -> Params:
        """Sample nothing."""
        return {}

    def whitening(self, statistics: Values) -> dict[str, tuple[np.ndarray, ...]]:
        """Return nothing."""
        return {}


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class LearnedKernelDensity(_FittedValues):
    """The family of `KernelDensity(bandwidth="posterior")`; see there.

    Fitting tabulates the leave-one-out likelihood of each class and column at 101 bandwidths, in
    time quadratic in the number of distinct values of a class; samplers interpolate the table. A
    class with a single row has no other center; that row uses those of all classes.

    Args:
        bandwidth_guess: guess of the bandwidth, > 0, in the column's unit; None: "nrd0".
        bandwidth_rows: prior strength of that guess in rows, > 0.

    Raises:
        InvalidPrior: a guess or a prior strength not above 0.
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
        "table": ("class", "feature", "knot", "derivative"),
        **Values.axes,
    }
    supports: ClassVar = {"bandwidth": "positive"}
    param_axes: ClassVar = {"bandwidth": ("class", "feature")}

    def __post_init__(self) -> None:
        """Validate that the guess and the prior strength are positive."""
        require_positive(self, *PRIOR)

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
        found = {name: np.full(shape, np.nan) for name in FOUND}
        table = np.full((*shape, STEPS + 1, 3), np.nan)
        for at in zip(*np.nonzero(~np.isnan(guess)), strict=True):
            pair = (float(of[at]) for of in (guess, prior_strength, rule))
            one = tabled(*_values_and_centres(statistics, *map(int, at)), *pair)
            table[at] = one.values
            for name, value in zip(FOUND, (one.mode, one.width, one.first, one.step), strict=True):
                found[name][at] = value
        prior = {"bandwidth_guess": guess, "bandwidth_rows": prior_strength}
        return self.with_arrays({**prior, **found, "table": table, **statistics.arrays()})

    def initial_params(self, statistics: Values) -> Params:
        """Return the mode of each class and column."""
        return {"bandwidth": np.exp(self.log_mode)}

    def log_density_fn(self, params: Params) -> Callable[[Block], np.ndarray]:
        """Return x -> sum over observed columns of log mean kernels, (row, *draws, class)."""
        bandwidth, rows = params["bandwidth"], self.rows
        *lead, n_classes, n_features = bandwidth.shape
        flat = bandwidth.reshape(-1, n_classes, n_features)
        scores = [
            [log_densities(*rows.borrowed(k, j), flat[:, k, j]) for j in range(n_features)]
            for k in range(n_classes)
        ]

        def score(x: Block) -> np.ndarray:
            out, seen = np.zeros((len(x), len(flat), n_classes)), ~np.isnan(x)
            for k, j in np.ndindex(n_classes, n_features):
                at = seen[:, j]
                out[at, :, k] += scores[k][j](x[at, j])
            return out.reshape(len(x), *lead, n_classes)

        return score

    def log_likelihood(self, params: Params, statistics: Values) -> Traceable:
        """Return the leave-one-out log likelihood, summed over classes and columns, (*draws,).

        Read from the table: statistics must be those that `complete` saw.
        """
        bandwidth = params["bandwidth"]
        xp = bandwidth.__array_namespace__()
        place = (xp.log(bandwidth) - self.first) / self.step
        return read(self.table, place).sum(axis=(-2, -1))

    def simulate(self, params: Params, y: Labels, rng: np.random.Generator) -> Block:
        """Return fitted values of each row's class, column by column, blurred."""
        return scattered("gaussian", self.rows, params["bandwidth"], y, rng)

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


def _values_and_centres(rows: Values, cls: int, feature: int) -> tuple[np.ndarray, ...]:
    """Return the values of a class in a column, and the centers that score them, with weights."""
    own = rows.group(cls, feature)
    # a single row has no other of its class
    return (*own, *(rows.pooled(feature) if own[1].sum() <= 1 else own))
