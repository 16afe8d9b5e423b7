"""Numbers, one column at a time: a normal per class and column, or one variance for all classes."""

import dataclasses
from collections.abc import Callable
from typing import ClassVar, Literal

import numpy as np
from jaxtyping import Float

from bayesgen.errors import InvalidPrior
from bayesgen.likelihoods.base import Repair
from bayesgen.likelihoods.exponential_family import ExponentialFamily
from bayesgen.likelihoods.hyperparameters import Guess, broadcast_guess, require_positive
from bayesgen.likelihoods.normal import cells
from bayesgen.likelihoods.normal.estimates import maximum_likelihood
from bayesgen.likelihoods.normal.row_updates import updated_density_draws
from bayesgen.likelihoods.normal.student_t import log_student_t, student_t
from bayesgen.likelihoods.normal_statistics import NormalStatistics, class_moments
from bayesgen.likelihoods.rising import log_rising_factorial
from bayesgen.typing import Block, Evidence, Joint, Labels, Params, Traceable, Transform, Weights


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Normal(ExponentialFamily[NormalStatistics]):
    r"""x | class ~ N(mu, sigma2), with a normal-inverse-chi-squared prior on mu and sigma2.

    That is mu given sigma2 ~ N(mean, sigma2 / mean_rows) and
    sigma2 ~ scaled-inverse-chi2(variance_rows, variance).

    Update with n rows of mean xbar and centred squares SS, per class and column:
    mean_rows' = mean_rows + n, mean' = (mean_rows mean + n xbar) / mean_rows',
    variance_rows' = variance_rows + n,
    variance_rows' variance' = variance_rows variance + SS + mean_rows n / mean_rows' d^2, where
    d = xbar - mean.
    The predictive is Student's t with variance_rows' degrees of freedom around mean' with squared
    scale variance' (1 + 1 / mean_rows'). With spread="shared" all classes share sigma2 per column.

    Exact. Source: Gelman et al., Bayesian Data Analysis (3rd ed.), section 3.3.

    Args:
        mean: guess of the mean in the column's unit; a number, one per column, or (class, feature).
            None: the column's overall mean.
        mean_rows: how many rows that guess is worth, > 0; "learn": averaged over a grid by what
            the rows say of each worth (see `Averaged`).
        variance: guess of the variance within a class, in squared units, > 0. None: the variance
            within classes of the column.
        variance_rows: how many rows that guess is worth, > 0, or "learn". The default, 8, lowers
            log loss on tables of 24 rows and of all rows (benchmarks/calibration.py).
        spread: "per_class", or "shared" for one variance per column that all classes share.
        prior: "conjugate" as above, or "reference": p(mu, sigma2) proportional to 1 / sigma2 (no
            guess is used, there is no evidence, and every class needs two rows).

    Raises:
        InvalidPrior: a worth or a variance is not positive and finite.

    Example:
        >>> import numpy as np
        >>> prior = Normal(mean=0.0, mean_rows=1.0, variance=1.0, variance_rows=4.0)
        >>> x, y = np.array([[1.0], [3.0]]), np.array([0, 0])
        >>> after = prior.posterior_of(x, y, n_classes=1)
        >>> float(after.mean[0, 0]), float(after.variance[0, 0])
        (1.3333333333333333, 1.4444444444444444)
    """

    mean: Guess = None
    mean_rows: Guess = 1.0
    variance: Guess = None
    variance_rows: Guess = 8.0
    spread: Literal["per_class", "shared"] = "per_class"
    prior: Literal["conjugate", "reference"] = "conjugate"

    kind: ClassVar[str] = "numbers"
    centred: ClassVar[bool] = True
    vectorised: ClassVar[bool] = True
    hyperparameter_grid: ClassVar = {
        "mean_rows": (0.03, 0.1, 0.3, 1.0, 3.0, 10.0),
        "variance_rows": (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0),
    }
    location_params: ClassVar = ("mean",)
    axes: ClassVar = {
        n: ("class", "feature") for n in ("mean", "mean_rows", "variance", "variance_rows")
    }
    param_axes: ClassVar = {"mean": ("class", "feature"), "variance": ("class", "feature")}

    def __post_init__(self) -> None:
        """Refuse worths and variances that are not positive."""
        require_positive(self, "mean_rows", "variance", "variance_rows")

    def statistics(
        self,
        x: Block,
        y: Labels,
        weight: Weights,
        *,
        n_classes: int,
        n_levels: tuple[int, ...] = (),
    ) -> NormalStatistics:
        """Return count, mean and scatter of each class and column."""
        return NormalStatistics(*class_moments(x, y, weight, n_classes))

    def complete(self, statistics: NormalStatistics) -> "Normal":
        """Fill guesses of None from the pooled columns and give every array its shape."""
        shape = statistics.mean.shape
        mean, variance = statistics.pooled()
        if self.prior == "reference":
            return self._reference(np.isfinite(variance), shape)
        wide = self._wide(shape)
        given = {
            "mean": (mean[..., None, :] if self.mean is None else self.mean, shape),
            "mean_rows": (self.mean_rows, shape),
            "variance": (variance[..., None, :] if self.variance is None else self.variance, wide),
            "variance_rows": (self.variance_rows, wide),
        }
        return self.with_arrays(
            {n: broadcast_guess("Normal", n, v, s) for n, (v, s) in given.items()}
        )

    def _wide(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Return the shape of variances where this is that of means."""
        return (*shape[:-2], 1, shape[-1]) if self.spread == "shared" else shape

    def _reference(self, known: np.ndarray, shape: tuple[int, ...]) -> "Normal":
        # sigma^-(rows+2) times sigma^-1 for each mean that shares the sigma must be sigma^-2
        means = shape[-2] if self.spread == "shared" else 1
        wide = self._wide(shape)
        return self.with_arrays(
            {
                "mean": np.zeros(shape),
                "mean_rows": np.zeros(shape),
                "variance": np.broadcast_to(np.where(known, 0.0, np.nan)[..., None, :], wide),
                "variance_rows": np.full(wide, -float(means)),
            }
        )

    def uninformative(self) -> np.ndarray:
        """Return which columns have no unit: constant or never observed, and no stated guess."""
        return np.isnan(self.variance).any(axis=-2)

    def posterior_of(self, x: Block, y: Labels, *, n_classes: int) -> "Normal":
        """Return the posterior after unweighted rows: complete, then update."""
        statistics = self.statistics(x, y, np.ones(len(x)), n_classes=n_classes)
        return self.complete(statistics).posterior(statistics)

    def posterior(self, statistics: NormalStatistics) -> "Normal":
        """Return the updated prior (formula above)."""
        n, xbar, scatter = statistics.count, statistics.mean, statistics.scatter
        mean_rows = self.mean_rows + n
        share = np.divide(n, mean_rows, out=np.zeros_like(mean_rows), where=mean_rows > 0)
        squares = scatter + self.mean_rows * share * (xbar - self.mean) ** 2
        variance_rows = self.variance_rows + self._pool(n)
        if self.prior == "reference" and (variance_rows <= 0).any():
            raise InvalidPrior.reference_needs_rows("Normal", 2)
        total = self.variance_rows * self.variance + self._pool(squares)
        return self.with_arrays(
            {
                "mean": self.mean + share * (xbar - self.mean),
                "mean_rows": mean_rows,
                "variance": total / variance_rows,
                "variance_rows": variance_rows,
            }
        )

    def _pool(self, values: np.ndarray) -> np.ndarray:
        return values.sum(axis=-2, keepdims=True) if self.spread == "shared" else values

    def log_evidence(self, statistics: NormalStatistics) -> Evidence:
        """Return log p(columns given classes) in closed form (a product of Gamma ratios)."""
        self.require_evidence()
        after, n = self.posterior(statistics), statistics.count
        means = 0.5 * np.log(self.mean_rows / after.mean_rows) - 0.5 * n * np.log(np.pi)
        before_half, after_half = self.variance_rows / 2, after.variance_rows / 2
        n_half = after_half - before_half
        spreads = (
            log_rising_factorial(before_half, n_half)
            + before_half * np.log(self.variance_rows * self.variance)
            - after_half * np.log(after.variance_rows * after.variance)
        )
        return means.sum(axis=(-2, -1)) + spreads.sum(axis=(-2, -1))

    def predictive(self) -> Callable[[Block], np.ndarray]:
        """Return x -> sum over observed columns of log Student-t, shape (row, class)."""
        return student_t(self.mean, self.variance * (1 + 1 / self.mean_rows), self.variance_rows)

    def log_predictive_paired(self, x: Block) -> Joint:
        """Return what the i-th of priors along a leading axis says of row i, (row, class)."""
        cells = log_student_t(
            x[:, None], self.mean, self.variance * (1 + 1 / self.mean_rows), self.variance_rows
        )
        return np.where(np.isnan(x)[:, None], 0.0, cells).sum(axis=-1)

    def draw(self, rng: np.random.Generator, n: int) -> Params:
        """Return n independent draws of mean and variance, each (draw, class, feature)."""
        chi2 = rng.chisquare(self.variance_rows, (n, *self.variance.shape))
        variance = self.variance_rows * self.variance / chi2
        noise = rng.standard_normal((n, *self.mean.shape))
        return {
            "mean": self.mean + np.sqrt(variance / self.mean_rows) * noise,
            "variance": variance,
        }

    def log_density_draws_given_row(
        self, rng: np.random.Generator, n: int
    ) -> Callable[[Block, np.ndarray], np.ndarray]:
        """Return densities under theta updated by each row's own class (see the base class).

        A chi2 of one more degree of freedom is the old one plus a squared normal, so the update by
        one row is arithmetic on shared random numbers.
        """
        return updated_density_draws(
            self, rng, n, degrees=self.variance_rows, variance=self.variance
        )

    def mode(self) -> Params:
        """Return the mode in (mu, log sigma2): rows variance / (rows + means that share it)."""
        means = len(self.mean) if self.spread == "shared" else 1
        rows = self.variance_rows
        return {"mean": self.mean, "variance": rows * self.variance / (rows + means)}

    def log_scale_free_jacobian(self, params: Params) -> Traceable:
        """Return sum of log variance: d sigma2 / d log sigma2 = sigma2."""
        return params["variance"].__array_namespace__().log(params["variance"]).sum()

    def maximum_likelihood(
        self,
        statistics: NormalStatistics,
        *,
        bias_corrected: bool = False,
        variance_floor: float = 0.0,
    ) -> tuple[Params, list[Repair]]:
        """Return class means and variances SS / n, or SS / (n - means) when bias_corrected.

        A variance under variance_floor times the column's own is replaced by that and reported; a
        class without an observed cell takes the pooled estimates and is reported.
        """
        return maximum_likelihood(
            statistics,
            self._pooled(statistics),
            shared=self.spread == "shared",
            bias_corrected=bias_corrected,
            variance_floor=variance_floor,
        )

    def _pooled(self, statistics: NormalStatistics) -> tuple[np.ndarray, np.ndarray]:
        # a column without a unit of its own has that of the stated guess
        mean, variance = statistics.pooled()
        return mean, np.where(np.isnan(variance), self.variance.mean(axis=0), variance)

    def initial_params(self, statistics: NormalStatistics) -> Params:
        """Return the pooled mean and variance for every class."""
        mean, variance = self._pooled(statistics)
        shape = statistics.mean.shape
        wide = (1, shape[1]) if self.spread == "shared" else shape
        return {"mean": np.broadcast_to(mean, shape), "variance": np.broadcast_to(variance, wide)}

    def features(self, x: Block) -> Float[np.ndarray, "row natural"]:
        """Return x^2, x and 1 of observed cells, 0 of missing ones."""
        return cells.features(x)

    def natural(self, params: Params) -> Traceable:
        """Return the weights of x^2, x and 1, shape (..., class, 3 feature)."""
        return cells.natural(params["mean"], params["variance"])

    def log_density_fn(self, params: Params) -> Callable[[Block], np.ndarray]:
        """Return x -> log p(x given y = k, params), shape (row, *draw, class)."""
        few = params["mean"][..., 0].size <= cells.FEW
        return cells.residual_density(**params) if few else super().log_density_fn(params)

    def simulate(self, params: Params, y: Labels, rng: np.random.Generator) -> Block:
        """Return mean + sd times noise of each row's class."""
        sd = np.sqrt(np.broadcast_to(params["variance"], params["mean"].shape))
        return params["mean"][y] + sd[y] * rng.standard_normal((len(y), sd.shape[1]))

    def story(self, name: str) -> Params:
        """Sample variances, then means given them."""
        import numpyro
        import numpyro.distributions as dist

        feature = numpyro.plate(f"{name}.feature", self.mean.shape[1], dim=-1)
        rows = self.variance_rows
        with feature, numpyro.plate(f"{name}.spread", self.variance.shape[0], dim=-2):
            prior = dist.InverseGamma(rows / 2, rows * self.variance / 2)
            variance = numpyro.sample(f"{name}.variance", prior)
        with feature, numpyro.plate(f"{name}.class", self.mean.shape[0], dim=-2):
            prior = dist.Normal(self.mean, (variance / self.mean_rows) ** 0.5)
            mean = numpyro.sample(f"{name}.mean", prior)
        return {"mean": mean, "variance": variance}

    def whitening(self, statistics: NormalStatistics) -> dict[str, tuple[np.ndarray, ...]]:
        """Return centre and width of the posterior of the mean and of the log variance."""
        after = self.posterior(statistics)
        width = np.broadcast_to(np.sqrt(after.variance / after.mean_rows), after.mean.shape)
        variance = after.variance
        return {
            "mean": (after.mean, width),
            "variance": (np.log(variance), np.sqrt(2 / after.variance_rows)),
        }

    def bijector(self, parameter: str, *arrays: Traceable) -> Transform:
        """Return centre + width u for the mean, exp of it for the variance."""
        return cells.bijector(parameter, *arrays)
