"""Kernel densities of unknown bandwidth: the leave-one-out likelihood with a prior."""

import dataclasses
from collections.abc import Callable
from typing import ClassVar

import numpy as np

from bayesgen.likelihoods.base import Guess, Likelihood, broadcast_guess, require_positive
from bayesgen.likelihoods.distinct_values import Values, distinct_values
from bayesgen.likelihoods.kernel_density.bandwidth_grid import log_densities
from bayesgen.likelihoods.kernel_density.bandwidths import rule_of_thumb
from bayesgen.likelihoods.kernel_density.kernels import scattered
from bayesgen.likelihoods.kernel_density.loo_bandwidth import STEPS, read, tabled
from bayesgen.typing import Block, Labels, Params, Traceable, Weights

PRIOR = ("bandwidth_guess", "bandwidth_rows")
FOUND = ("log_mode", "width", "first", "step")


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class LearnedKernelDensity(Likelihood[Values]):
    """What `KernelDensity(bandwidth="posterior")` names; see there.

    Fitting tables the leave-one-out likelihood of each class and column at 101 bandwidths, which
    takes time like the square of the distinct values of a class; samplers read the table. A class
    with a single row has no other centre, and that row looks at those of all classes.

    Args:
        bandwidth_guess: guess of the bandwidth, > 0, in the column's unit; None: "nrd0".
        bandwidth_rows: how many rows that guess is worth, > 0.

    Raises:
        InvalidPrior: a guess or a prior strength not above 0.
    """

    bandwidth_guess: Guess = None
    bandwidth_rows: Guess = 10.0
    log_mode: np.ndarray | None = dataclasses.field(default=None, init=False)
    width: np.ndarray | None = dataclasses.field(default=None, init=False)
    first: np.ndarray | None = dataclasses.field(default=None, init=False)
    step: np.ndarray | None = dataclasses.field(default=None, init=False)
    table: np.ndarray | None = dataclasses.field(default=None, init=False)
    value: np.ndarray | None = dataclasses.field(default=None, init=False)
    weight: np.ndarray | None = dataclasses.field(default=None, init=False)
    y: np.ndarray | None = dataclasses.field(default=None, init=False)
    column: np.ndarray | None = dataclasses.field(default=None, init=False)

    has_closed_form_mle: ClassVar[bool] = False
    axes: ClassVar = {
        **dict.fromkeys((*PRIOR, *FOUND), ("class", "feature")),
        "table": ("class", "feature", "knot", "derivative"),
        **Values.axes,
    }
    supports: ClassVar = {"bandwidth": "positive"}
    param_axes: ClassVar = {"bandwidth": ("class", "feature")}

    def __post_init__(self) -> None:
        """Refuse a guess or a prior strength that is not positive."""
        require_positive(self, *PRIOR)

    @property
    def conjugate(self) -> bool:
        """Never: there is no closed form."""
        return False

    @property
    def title(self) -> str:
        """The family as it is typed."""
        return "KernelDensity(bandwidth='posterior')"

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

    def complete(self, statistics: Values) -> "LearnedKernelDensity":
        """Take the values as centres, fill the guess, and table the likelihood."""
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
            one = tabled(*_looks_at(statistics, *map(int, at)), *pair)
            table[at] = one.values
            for name, value in zip(FOUND, (one.mode, one.width, one.first, one.step), strict=True):
                found[name][at] = value
        prior = {"bandwidth_guess": guess, "bandwidth_rows": prior_strength}
        return self.with_arrays({**prior, **found, "table": table, **statistics.arrays()})

    @property
    def rows(self) -> Values:
        """The fitted values."""
        return Values(self.value, self.weight, self.y, self.column, *self.width.shape)

    def take(self, axis: str, index: np.ndarray) -> "LearnedKernelDensity":
        """Return the likelihood of some of the columns, in the order of `index`."""
        own = (*PRIOR, *FOUND, "table")
        rows = self.rows.take(axis, index)
        return self.with_arrays({n: getattr(self, n)[:, index] for n in own} | rows.arrays())

    def uninformative(self) -> np.ndarray:
        """Return which columns were never observed, or are constant without a stated guess."""
        return np.isnan(self.bandwidth_guess).any(axis=0)

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


def _looks_at(rows: Values, cls: int, feature: int) -> tuple[np.ndarray, ...]:
    """Return the values of a class in a column, and those that they look at, with weights."""
    own = rows.group(cls, feature)
    # a single row has no other of its class
    return (*own, *(rows.pooled(feature) if own[1].sum() <= 1 else own))
