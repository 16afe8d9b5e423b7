"""Numbers of any shape: a kernel around each fitted value, of known bandwidth."""

import dataclasses
from collections.abc import Callable
from typing import ClassVar

import numpy as np

from bayesgen.errors import InvalidArgument, NoEvidence, UnsupportedInference
from bayesgen.likelihoods.base import Guess, Likelihood, Repair, broadcast_guess, require_positive
from bayesgen.likelihoods.distinct_values import Values, distinct_values
from bayesgen.likelihoods.kernel_density.bandwidth_posterior import LearnedKernelDensity
from bayesgen.likelihoods.kernel_density.bandwidths import rule_of_thumb
from bayesgen.likelihoods.kernel_density.kernels import KERNELS, log_density, scattered
from bayesgen.typing import Block, Labels, Params, Traceable, Weights

Bandwidth = str | Guess


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class KernelDensity(Likelihood[Values]):
    """x | class ~ the mean of kernels around the fitted values of that class and column.

    The bandwidth is the standard deviation of one kernel, whatever its form, as in R. A value of
    weight w counts as w values, a missing cell is no value, and a class without a value in a column
    borrows those of all classes.

    With a rule or a number as bandwidth the density is a plug-in: inference is "exact" because
    nothing is left to infer, intervals of class probabilities come from the class prior alone, and
    there is no evidence. With bandwidth="posterior" each class and column has an unknown bandwidth
    h, with

        h^2 ~ InverseGamma(bandwidth_rows / 2, bandwidth_rows * guess^2 / 2),

    and each row is scored by the kernels of the other rows of its class (the leave-one-out
    likelihood: a row's own kernel would call for h = 0). NUTS samples h, MAP maximises. The guess
    keeps h away from 0 where many values are tied (rounded), and a single value far from all others
    calls for an h of about that distance.

    Source: John and Langley, UAI 1995; Silverman (1986), section 3.4; Zhang, King and Hyndman,
    Computational Statistics and Data Analysis 50 (2006) 3009-3031.

    Args:
        kernel: "gaussian", "epanechnikov", "triangular", "uniform" or "biweight". All but the
            first end somewhere: a row that none reaches is impossible.
        bandwidth: "nrd0" (R's rule of thumb, class by class and column by column), "posterior", or
            a number > 0 in the unit of the column, one per column or (class, feature).
        bandwidth_rows: how many rows the guess of a bandwidth is worth; "posterior" only.
        bandwidth_guess: guess of the bandwidth; "posterior" only. None: "nrd0".

    Raises:
        InvalidArgument: an unknown kernel or rule.
        InvalidPrior: a bandwidth or a prior strength not above 0.
        UnsupportedInference: "posterior" with a kernel that ends somewhere.
    """

    kernel: str = "gaussian"
    bandwidth: Bandwidth = "nrd0"
    bandwidth_rows: Guess = 10.0
    bandwidth_guess: Guess = None
    width: np.ndarray | None = dataclasses.field(default=None, init=False)
    value: np.ndarray | None = dataclasses.field(default=None, init=False)
    weight: np.ndarray | None = dataclasses.field(default=None, init=False)
    y: np.ndarray | None = dataclasses.field(default=None, init=False)
    column: np.ndarray | None = dataclasses.field(default=None, init=False)

    axes: ClassVar = {"width": ("class", "feature"), **Values.axes}

    def __post_init__(self) -> None:
        """Refuse unknown kernels and rules, and what is not positive."""
        if self.kernel not in KERNELS:
            raise InvalidArgument.not_one_of("kernel", self.kernel, list(KERNELS))
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
        """Return the family of unknown bandwidths where that is asked for."""
        learnt = isinstance(self.bandwidth, str) and self.bandwidth == "posterior"
        return LearnedKernelDensity(self.bandwidth_guess, self.bandwidth_rows) if learnt else self

    def settings(self) -> tuple:
        """Return nothing: no parameter, so nothing is traced."""
        return ()

    def statistics(
        self,
        x: Block,
        y: Labels,
        weight: Weights,
        *,
        n_classes: int,
        n_levels: tuple[int, ...] = (),
    ) -> Values:
        """Return the distinct values of each class and column, and their weights."""
        return distinct_values(x, y, weight, n_classes)

    def complete(self, statistics: Values) -> "KernelDensity":
        """Take the values as centres, and find bandwidths by the rule."""
        shape = statistics.n_classes, statistics.n_features
        if isinstance(self.bandwidth, str):
            width = rule_of_thumb(statistics)
        else:
            width = broadcast_guess("KernelDensity", "bandwidth", self.bandwidth, shape)
        width = np.where((statistics.count() > 0).any(axis=0), width, np.nan)
        return self.with_arrays({"width": width, **statistics.arrays()})

    @property
    def rows(self) -> Values:
        """The fitted values."""
        return Values(self.value, self.weight, self.y, self.column, *self.width.shape)

    def take(self, axis: str, index: np.ndarray) -> "KernelDensity":
        """Return the likelihood of some of the columns, in the order of `index`."""
        rows = self.rows.take(axis, index)
        return self.with_arrays({"width": self.width[:, index], **rows.arrays()})

    def uninformative(self) -> np.ndarray:
        """Return which columns were never observed, or are constant without a stated bandwidth."""
        return np.isnan(self.width).any(axis=0)

    def posterior(self, statistics: Values) -> "KernelDensity":
        """Return this: the rows came in by `complete`, and nothing is left to learn."""
        return self

    def require_evidence(self) -> None:
        """Refuse: the density is made of the rows themselves."""
        raise NoEvidence.plug_in("KernelDensity")

    def log_evidence(self, statistics: Values) -> float:
        """Refuse, as `require_evidence` does."""
        raise NoEvidence.plug_in("KernelDensity")

    def predictive(self) -> Callable[[Block], np.ndarray]:
        """Return x -> sum over observed columns of log mean kernels, shape (row, class)."""
        rows, (n_classes, n_features) = self.rows, self.width.shape
        places = list(np.ndindex(n_classes, n_features))
        centres = {at: rows.borrowed(*at) for at in places}

        def score(x: Block) -> np.ndarray:
            out, seen = np.zeros((len(x), n_classes)), ~np.isnan(x)
            # a column in which nothing was ever seen says nothing
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
        """Return densities, all draws alike: there is no parameter to update."""
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
        """Return 0: no parameter has a say in it."""
        return np.zeros(())

    def fill(self, x: Block, own: Labels, rng: np.random.Generator) -> Block:
        """Return rows whose missing cells are drawn: nothing is unknown."""
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
