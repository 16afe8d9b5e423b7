"""Normal likelihood for independent columns, with variances per class or shared by classes."""

import dataclasses
from collections.abc import Callable
from typing import Any, ClassVar, Literal

import numpy as np

from bayesgen.errors.arguments import reference_needs_rows
from bayesgen.likelihoods import normal_densities as densities
from bayesgen.likelihoods.base import Guess, Repair
from bayesgen.likelihoods.columnwise import CELLS, Cell, Columnwise
from bayesgen.likelihoods.exponential_family import linear_scores
from bayesgen.likelihoods.normal_statistics import NormalStatistics, class_moments
from bayesgen.likelihoods.special_functions import log_rising_factorial, namespace
from bayesgen.typing import Block, Joint, Labels, LevelCounts, Params, Traceable, Weights


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Normal(Columnwise):
    r"""x | class ~ N(mu, sigma2), with a normal-inverse-chi-squared prior on mu and sigma2.

    That is mu given sigma2 ~ N(mean, sigma2 / mean_rows) and
    sigma2 ~ scaled-inverse-chi2(variance_rows, variance).

    Update with n rows of mean xbar and centered squares SS, per class and column:
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
        mean_rows: prior strength of that guess in rows, > 0; "learn": averaged over a grid,
            weighted by evidence.
        variance: guess of the variance within a class, in squared units, > 0. None: the variance
            within classes of the column.
        variance_rows: prior strength of that guess in rows, > 0, or "learn". The default, 8, lowers
            log loss on tables of 24 rows and of all rows (benchmarks/calibration.py).
        spread: "per_class", or "shared" for one variance per column that all classes share.
        prior: "conjugate" as above, or "reference": p(mu, sigma2) proportional to 1 / sigma2 (no
            guess is used, there is no evidence, and every class needs two rows).

    Raises:
        InvalidArgument: a prior strength or a variance is not positive and finite; an unknown
            spread or prior.

    Example:
        >>> import bayesgen as bg
        >>> import numpy as np
        >>> prior = bg.Normal(mean=0.0, mean_rows=1.0, variance=1.0, variance_rows=4.0)
        >>> x, y = np.array([[1.0], [3.0]]), np.array([0, 0])
        >>> statistics = prior.statistics(x, y, np.ones(2), n_classes=1)
        >>> after = prior.complete(statistics).posterior(statistics)
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
    distribution_words: ClassVar[str] = "normal"
    centred: ClassVar[bool] = True
    hyperparameter_grid: ClassVar = {
        "mean_rows": (0.03, 0.1, 0.3, 1.0, 3.0, 10.0),
        "variance_rows": (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0),
    }
    location_params: ClassVar = ("mean",)
    axes: ClassVar = dict.fromkeys(("mean", "mean_rows", "variance", "variance_rows"), CELLS)
    supports: ClassVar = {"mean": "real", "variance": "positive"}
    program_priors: ClassVar = {
        "variance": "dist.InverseGamma(variance_rows / 2, variance_rows * variance / 2)",
        "mean": "dist.Normal(mean, (variance / mean_rows) ** 0.5)",
    }
    program_cells: ClassVar[str] = "dist.Normal(mean[y], jnp.sqrt(variance[y]))"
    options: ClassVar = {"spread": ("per_class", "shared"), "prior": ("conjugate", "reference")}

    @property
    def improper(self) -> bool:
        """Whether the prior is improper: a reference prior before any rows."""
        return self.prior == "reference" and bool((np.asarray(self.mean_rows) <= 0).any())

    @property
    def program_shared(self) -> tuple[str, ...]:
        """The variance, if all classes have it in common."""
        return ("variance",) if self.spread == "shared" else ()

    def cell(self, x: Cell) -> tuple[Cell, ...]:
        """Return x^2, x and 1."""
        return x**2, x, np.ones_like(x)

    def statistics(
        self, x: Block, y: Labels, weight: Weights, *, n_classes: int, n_levels: LevelCounts = ()
    ) -> NormalStatistics:
        """Return count, mean and scatter of each class and column."""
        return NormalStatistics(*class_moments(x, y, weight, n_classes))

    def statistics_per_row(
        self, x: Block, weight: Weights, n_levels: LevelCounts = ()
    ) -> NormalStatistics:
        """Return the statistics of each row by itself, with rows in place of classes."""
        seen = ~np.isnan(x)
        count = np.where(seen, weight[:, None], 0.0)
        return NormalStatistics(count, np.where(seen, x, 0.0), np.zeros(x.shape))

    def complete(self, statistics: NormalStatistics) -> "Normal":
        """Fill in guesses of None from the pooled columns and broadcast every array."""
        if self.prior == "conjugate":
            return super().complete(statistics)
        # sigma^-(rows+2) times sigma^-1 for each mean that shares the sigma must be sigma^-2
        means = statistics.shape[-2] if self.spread == "shared" else 1
        flat = self.with_arrays(
            {
                "mean": 0.0,
                "mean_rows": 0.0,
                "variance": 0.0 * statistics.pooled()[1][..., None, :],
                "variance_rows": -float(means),
            }
        )
        return super(Normal, flat).complete(statistics)

    def guess(self, pooled: tuple[np.ndarray, np.ndarray]) -> dict[str, Cell]:
        """Return overall means, and variances within classes: NaN where a column has no unit."""
        mean, variance = pooled
        return {"mean": mean[..., None, :], "variance": variance[..., None, :]}

    def _shapes(self, shape: tuple[int, ...]) -> dict[str, tuple[int, ...]]:
        wide = (*shape[:-2], 1, shape[-1]) if self.spread == "shared" else shape
        return dict(zip(self.axes, (shape, shape, wide, wide), strict=True))

    def _pool(self, values: Traceable) -> Traceable:
        """Return sums over the classes that share a variance."""
        return values.sum(axis=-2, keepdims=True) if self.variance.shape[-2] == 1 else values

    def _squares(self, statistics: NormalStatistics) -> Traceable:
        """Return SS + mean_rows n / (mean_rows + n) d^2 of each variance."""
        rows = self.mean_rows + statistics.count
        share = statistics.count / (rows + (rows == 0))  # no rows: 0 / 1
        off = statistics.mean - self.mean
        return self._pool(statistics.scatter + self.mean_rows * share * off**2)

    def posterior(self, statistics: NormalStatistics) -> "Normal":
        """Return the updated prior (formula above)."""
        n = statistics.count
        mean_rows, variance_rows = self.mean_rows + n, self.variance_rows + self._pool(n)
        if self.prior == "reference" and ((variance_rows <= 0).any() or (mean_rows == 0).any()):
            raise reference_needs_rows(type(self).__name__, 2)
        total = self.variance_rows * self.variance + self._squares(statistics)
        share = n / (mean_rows + (mean_rows == 0))
        return self.with_arrays(
            {
                "mean": self.mean + share * (statistics.mean - self.mean),
                "mean_rows": mean_rows,
                "variance": total / variance_rows,
                "variance_rows": variance_rows,
            }
        )

    def log_evidence_cells(self, statistics: NormalStatistics) -> Traceable:
        """Return the sum over variances and means, shape (..., 1, 1)."""
        terms = self._log_evidence_terms(statistics)
        return sum(term.sum(axis=(-2, -1), keepdims=True) for term in terms)

    def log_evidence_columns(self, statistics: NormalStatistics) -> Traceable:
        """Return log p(each column given classes), parameters integrated out, (..., feature)."""
        return sum(term.sum(axis=-2) for term in self._log_evidence_terms(statistics))

    def _log_evidence_terms(self, statistics: NormalStatistics) -> tuple[Traceable, Traceable]:
        """Return what variances (Gamma ratios) and means contribute to the log evidence."""
        xp = namespace(self.mean_rows, self.variance_rows, self.variance)
        half, n = self.variance_rows / 2, self._pool(statistics.count)
        before, added = self.variance_rows * self.variance, self._squares(statistics)
        variances = (
            log_rising_factorial(half, n / 2)
            - half * xp.log1p(added / before)
            - n / 2 * xp.log(np.pi * (before + added))
        )
        return variances, -0.5 * xp.log1p(statistics.count / self.mean_rows)

    def log_predictive_cell(self, x: Cell) -> Cell:
        """Return the log Student-t."""
        scale2 = self.variance * (1 + 1 / self.mean_rows)
        return densities.spherical_t((x - self.mean) ** 2, 1, self.variance_rows, scale2)

    def predictive(self) -> Callable[[Block], Joint]:
        """Return x -> sum over observed columns of log Student-t, shape (row, class).

        Vectorized over rows, with one logarithm per row if degrees are even: three times as fast as
        cell by cell.
        """
        scale2 = self.variance * (1 + 1 / self.mean_rows)
        return densities.student_t(self.mean, scale2, self.variance_rows)

    def coefficients(
        self, xp: Any, mean: Traceable, variance: Traceable
    ) -> tuple[Traceable | float, ...]:
        """Return the weights of x^2, x and 1."""
        return densities.coefficients(xp, mean, variance)

    def log_density_fn(self, params: Params) -> Callable[[Block], np.ndarray]:
        """Return x -> log p(x given y = k, params), shape (row, *draw, class).

        Uses residuals, which avoid cancellation, if there are few sets of parameters. The constants
        of complete rows are added up beforehand: a third of the product less.
        """
        if params["mean"][..., 0].size <= densities.FEW:
            return densities.residual_density(**params)
        incomplete = super().log_density_fn(params)
        squares, linear, constant = self._weights(params)
        total = constant.sum(axis=-1, keepdims=True)
        complete = linear_scores(np.concatenate([squares, linear, total], axis=-1))

        def log_density(x: Block) -> np.ndarray:
            if np.isnan(x).any():
                return incomplete(x)
            return complete(np.concatenate([x**2, x, np.ones((len(x), 1))], axis=1))

        return log_density

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
        """Return densities under theta updated by each row's own class (see the base class)."""
        return densities.updated_density_draws(self, rng, n)

    def mode(self) -> Params:
        """Return the mode in (mu, log sigma2): rows variance / (rows + means that share it)."""
        means = self.mean.size / self.variance.size
        rows = self.variance_rows
        return {"mean": self.mean, "variance": rows / (rows + means) * self.variance}

    def estimate(self, statistics: NormalStatistics) -> dict[str, Cell]:
        """Return class means and SS / n."""
        n = statistics.count
        variance = self._pool(statistics.scatter) / self._pool(n)
        return {"mean": np.where(n > 0, statistics.mean, np.nan), "variance": variance}

    def maximum_likelihood(
        self,
        statistics: NormalStatistics,
        *,
        bias_corrected: bool = False,
        variance_floor: float = 0.0,
    ) -> tuple[Params, list[Repair]]:
        """Return class means and variances SS / n, or SS / (n - means) when bias_corrected.

        A variance below variance_floor times that of the column is raised to it and reported; a
        class without an observed cell takes the pooled estimates and is reported.
        """
        start = self.initial_params(statistics)
        means = self._pool((statistics.count > 0).astype(float)) if bias_corrected else 0.0
        n = self._pool(statistics.count)
        with np.errstate(divide="ignore", invalid="ignore"):
            own = self.estimate(statistics)
            variance = own["variance"] * np.where(n > means, n / (n - means), 0.0)
        empty = np.isnan(own["mean"])
        variance = np.where(n > 0, variance, start["variance"])
        low = variance < variance_floor * start["variance"]
        findings = [Repair("pooled", *map(int, at)) for at in np.argwhere(empty)]
        # a variance that classes share is repaired for all of them
        by_class = low.shape == empty.shape
        findings += [
            Repair("floored", int(k) if by_class else None, int(j)) for k, j in np.argwhere(low)
        ]
        mean = np.where(empty, start["mean"], own["mean"])
        variance = np.where(low, variance_floor * start["variance"], variance)
        return {"mean": mean, "variance": variance}, findings

    def initial_params(self, statistics: NormalStatistics) -> Params:
        """Return the pooled mean and variance for every class."""
        mean, variance = statistics.pooled()
        # a column without a unit of its own has that of the stated guess
        variance = np.where(np.isnan(variance), self.variance.mean(axis=0), variance)
        shapes = self._shapes(statistics.shape)
        return {
            "mean": np.broadcast_to(mean, shapes["mean"]),
            "variance": np.broadcast_to(variance, shapes["variance"]),
        }

    def simulate_cell(self, rng: np.random.Generator, mean: Cell, variance: Cell) -> Cell:
        """Return mean + sd times noise."""
        return mean + np.sqrt(variance) * rng.standard_normal(mean.shape)

    def fill(self, x: Block, own: Labels, rng: np.random.Generator) -> Block:
        """Return rows whose missing cells are drawn from the Student-t of their own class."""
        location, scale, degrees = self.conditional(x, own)
        return np.where(np.isnan(x), location + scale * rng.standard_t(degrees), x)

    def conditional(self, x: Block, own: Labels) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the Student-t of each column in the row's own class."""
        scale = np.sqrt(self.variance * (1 + 1 / self.mean_rows))
        degrees = np.broadcast_to(self.variance_rows, scale.shape)
        return self.mean[own], scale[own], degrees[own]

    def conditional_given(
        self, params: Params, x: Block, own: Labels
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the normal of each column in the row's own class."""
        mean = params["mean"]
        scale = np.sqrt(np.broadcast_to(params["variance"], mean.shape))
        return mean[own], scale[own], np.full((len(own), mean.shape[1]), np.inf)

    def whitening(self, statistics: NormalStatistics) -> dict[str, tuple[np.ndarray, ...]]:
        """Return center and width of the posterior of the mean and of the log variance."""
        after = self.posterior(statistics)
        width = np.broadcast_to(np.sqrt(after.variance / after.mean_rows), after.mean.shape)
        widths = np.sqrt(2 / after.variance_rows)
        return {"mean": (after.mean, width), "variance": (np.log(after.variance), widths)}
