"""Multivariate normal likelihood: prior, update, predictive, estimates, covariance structures."""

import dataclasses
import functools
import typing
from collections.abc import Callable
from typing import ClassVar, Literal

import numpy as np
from jaxtyping import Float

from bayesgen.errors import InvalidArgument
from bayesgen.errors.arguments import not_diagonal, reference_needs_rows
from bayesgen.errors.operations import incomplete_rows, no_closed_form, unsupported
from bayesgen.likelihoods.base import (
    LEARN,
    Guess,
    Likelihood,
    Repair,
    broadcast_guess,
    is_learned,
)
from bayesgen.likelihoods.description import literal
from bayesgen.likelihoods.exponential_family import ExponentialFamily
from bayesgen.likelihoods.multivariate_normal import density, lkj_and_wishart
from bayesgen.likelihoods.multivariate_normal.elimination import DrawnPrecisions
from bayesgen.likelihoods.multivariate_normal.expected_moments import (
    pooled_covariance,
    pooled_scatter,
)
from bayesgen.likelihoods.multivariate_normal.indicators import (
    Levels,
    Variables,
    siblings,
    with_levels,
)
from bayesgen.likelihoods.multivariate_normal.statistics import (
    MultivariateNormalStatistics,
    complete_rows,
    gather,
)
from bayesgen.likelihoods.normal import Normal
from bayesgen.likelihoods.normal_densities import FEW, spherical_t
from bayesgen.likelihoods.normal_statistics import NormalStatistics
from bayesgen.likelihoods.protocols import require_evidence
from bayesgen.likelihoods.special_functions import log_rising_factorial, namespace
from bayesgen.typing import Block, Evidence, Joint, Labels, LevelCounts, Params, Traceable, Weights

FAMILY = "MultivariateNormal"
EIGENVALUE_FLOOR = 1e-9
"""Smallest eigenvalue of a correlation matrix that maximum likelihood may have."""
SHARED_ROWS, OWN_ROWS = 1.0, 8.0
"""Default prior strengths of the covariance's guess: mean log loss over seven tables of numbers,
with 24 rows and in 5-fold cross-validation, was .461 and .302 at 1 row for a shared covariance
(.490 and .315 at 4), and .680 and .572 at 8 rows for own ones (.740 and .581 at 4)."""
MANY_ROWS = 2
"""Rows per column from which the scatter determines the covariance in every direction."""
FAINT = 1e-8
"""Prior strength, as a share of the rows, of a guess that only keeps a matrix from being singular:
standard deviations down to 1e-4 of a column's remain distinguishable from it."""

Covariance = Literal[
    "per_class",
    "shared",
    "diagonal",
    "shared_diagonal",
]


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class MultivariateNormal(ExponentialFamily[MultivariateNormalStatistics]):
    r"""x | class ~ N(mu, Sigma), with a normal-inverse-Wishart prior on mu and Sigma.

    For p columns mu given Sigma ~ N(mean, Sigma / mean_rows) and
    Sigma ~ inverse-Wishart(p - 1 + covariance_rows, covariance_rows * scale).

    Update with n rows of mean xbar and scatter S: mean_rows' = mean_rows + n,
    mean' = (mean_rows mean + n xbar) / mean_rows', covariance_rows' = covariance_rows + n,
    covariance_rows' scale' = covariance_rows scale + S + mean_rows n / mean_rows' d d', where
    d = xbar - mean.
    The predictive is the multivariate t with covariance_rows' degrees of freedom around mean' with
    matrix scale' (1 + 1 / mean_rows'). The marginal prior of each column is that of `Normal`. An
    incomplete row is scored by the marginal density of its observed cells: the other rows and
    columns of the matrix are dropped, and prior strengths are unchanged.

    Prior strengths may be "learn", and so may the scale, which is then between diagonal and pooled:
    naive Bayes, LDA and QDA are limiting cases of one model.

    Exact. Source: Gelman et al., Bayesian Data Analysis (3rd ed.), section 3.6.

    Args:
        covariance: "per_class" (quadratic boundaries) or "shared" (linear ones), both full; or a
            structure, which is another family: "diagonal" and "shared_diagonal" (`Normal`).
        mean: guess of the mean; a number, one per column, or (class, feature). None: overall means.
        mean_rows: prior strength of that guess in rows, > 0; a number or one per class.
        scale: guess of the covariance; a number (times the identity), one variance per column, or a
            positive definite matrix (diagonal where the structure is). None: the diagonal of the
            columns' variances within classes.
        covariance_rows: prior strength of that guess in rows, > 0. None: 1 for a shared covariance,
            8 for class-specific ones (lowest log loss on small tables), else that of the
            structure's family.
        prior: "conjugate" as above; "reference", p(mu, Sigma) proportional to |Sigma|^-(p+1)/2 (no
            guess is used, no evidence; needs more rows than columns); or "lkj": correlations ~
            LKJ(concentration) and standard deviations ~ half-normal with mean sqrt(scale_jj), for
            MAP and NUTS.
        concentration: of the LKJ prior; 1 is uniform over correlation matrices.
        correlation: the share of the columns' correlations within classes in the guess scale=None,
            from 0 (diagonal) up to, but not including, 1 (the pooled covariance). Incomplete rows
            count by their expected correlations.

    Raises:
        InvalidArgument: a prior strength not above 0, a scale that is not symmetric positive
            definite.

    Example:
        >>> import bayesgen as bg
        >>> import numpy as np
        >>> x = np.array([[0.0, 0.0], [2.0, 2.0], [1.0, np.nan]])
        >>> prior = bg.MultivariateNormal(mean=0.0, scale=1.0, covariance_rows=3)
        >>> s = prior.statistics(x[:2], np.array([0, 0]), np.ones(2), n_classes=1)
        >>> prior.complete(s).posterior(s).log_predictive(x).round(4)
        array([[-2.3949],
               [-3.0973],
               [-1.2188]])
    """

    covariance: Covariance = "per_class"
    mean: Guess = None
    mean_rows: Guess = 1.0
    scale: Guess = None
    covariance_rows: Guess = None
    prior: Literal["conjugate", "reference", "lkj"] = "conjugate"
    concentration: float | int = 1.0
    correlation: float | Literal["learn"] = 0.0
    variables: Variables = dataclasses.field(default=(), init=False)
    lost: tuple = dataclasses.field(default=(), init=False)

    kind: ClassVar[str] = "numbers"
    joint: ClassVar[bool] = True
    centred: ClassVar[bool] = True
    location_params: ClassVar = ("mean",)
    distribution_words: ClassVar[str] = "multivariate normal"
    hyperparameter_grid: ClassVar = {
        "mean_rows": (0.03, 0.1, 0.3, 1.0, 3.0),
        "covariance_rows": (0.5, 2.0, 8.0, 32.0, 128.0, 512.0, 2048.0),
        "correlation": (0.0, 0.5, 0.9, 0.99),
    }
    axes: ClassVar = {
        "mean": ("class", "feature"),
        "mean_rows": ("class",),
        "scale": ("class", "feature", "feature"),
        "covariance_rows": ("class",),
    }
    param_axes: ClassVar = {
        "mean": ("class", "feature"),
        "cholesky": ("class", "feature", "feature"),
    }
    supports: ClassVar = {"mean": "vector", "cholesky": "covariance factor"}
    program_function: ClassVar[str] = lkj_and_wishart.NORMAL
    options: ClassVar = {
        "covariance": typing.get_args(Covariance),
        "prior": ("conjugate", "reference", "lkj"),
    }
    hyperparameters: ClassVar = {
        "mean": "real",
        "scale": "covariance",
        **dict.fromkeys(("mean_rows", "covariance_rows", "concentration"), "positive"),
        "correlation": "share",
    }
    scalars: ClassVar = ("concentration", "correlation")
    words: ClassVar = {"scale": (LEARN,)}

    def __post_init__(self) -> None:
        """Validate the structure and the prior, and the ranges of guesses and strengths."""
        super().__post_init__()
        if self.prior == "lkj" and self.covariance_rows is not None:
            raise InvalidArgument(
                "{owner}(prior='lkj') has no covariance_rows, so stating it would have no effect.",
                "State concentration, or leave out covariance_rows.",
                owner=FAMILY,
            )

    def equivalent_family(self) -> Likelihood:
        """Return the family of a structured covariance; itself for a full one.

        Raises:
            InvalidArgument: a guess of the covariance that does not have the structure.
            UnsupportedOperation: a prior that the family does not have.
        """
        prior = self
        if is_learned(self.scale):
            prior = dataclasses.replace(self, scale=None, correlation="learn")
        return prior if self.covariance in ("per_class", "shared") else _structured(prior)

    @property
    def conjugate(self) -> bool:
        """Whether a closed form exists: not under the LKJ prior."""
        return self.prior != "lkj"

    @property
    def improper(self) -> bool:
        """Whether the prior is improper: a reference prior before any rows."""
        return self.prior == "reference" and bool((np.asarray(self.mean_rows) <= 0).any())

    @property
    def shared(self) -> bool:
        """Whether all classes have one covariance."""
        return self.covariance == "shared"

    @property
    def degrees(self) -> Traceable:
        """Return the inverse-Wishart degrees of freedom p - 1 + covariance_rows."""
        return self.mean.shape[-1] - 1 + self.covariance_rows

    def of_indicators(self, variables: Variables) -> "MultivariateNormal":
        """Return the prior of a block of which some columns are indicators of levels.

        A single number for the means is a guess of equal frequencies of all levels. Guesses for
        each column, and matrices, are those of the columns as they are.

        variables: see `indicators`; () if there are none.
        """
        if not variables:
            return self
        mean, p = self.mean, len(variables)
        if mean is not None and (np.ndim(mean) == 0 or np.shape(mean)[-1] == 1):
            mean = np.array(np.broadcast_to(mean, (*np.shape(mean)[:-1], p)), dtype=float)
            for at in siblings(variables):
                mean[..., at] = 1 / (len(at) + 1)
        return self.with_arrays({"mean": mean, "variables": variables})

    def lost_levels(self) -> tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]:
        """Return the levels of indicators that no row has (see `Selection.lost`), if completed."""
        return self.lost

    def take(self, axis: str, index: np.ndarray) -> "MultivariateNormal":
        """Keep positions of an axis."""
        taken = super().take(axis, index)
        if axis != "feature" or not self.variables:
            return taken
        kept = tuple(self.variables[i] for i in index.tolist())
        return taken.with_arrays({"variables": kept, "lost": ()})

    def statistics(
        self, x: Block, y: Labels, weight: Weights, *, n_classes: int, n_levels: LevelCounts = ()
    ) -> MultivariateNormalStatistics:
        """Return moments by class, and by cell for incomplete rows."""
        return gather(x, y, weight, n_classes)

    def statistics_per_row(
        self, x: Block, weight: Weights, n_levels: LevelCounts = ()
    ) -> MultivariateNormalStatistics:
        """Return the statistics of each row by itself, with rows in place of classes."""
        if np.isnan(x).any():
            return super().statistics_per_row(x, weight, n_levels)
        return complete_rows(weight, x, np.zeros((*x.shape, x.shape[1])))

    def complete(self, statistics: MultivariateNormalStatistics) -> "MultivariateNormal":
        """Fill in guesses of None from the columns and broadcast every array."""
        if self.covariance not in ("per_class", "shared"):
            raise unsupported(
                f"{FAMILY}(covariance={self.covariance!r})",
                "another family stands for this structure",
                "Hand it to an estimator, or call .equivalent_family() first.",
            )
        shape = statistics.mean.shape
        mean, variance, levels = self._columns(statistics)
        if self.prior == "reference":
            return self._reference(shape, variance)
        wide = (*shape[:-2], 1 if self.shared else shape[-2])
        guess = mean[..., None, :] if self.mean is None else self.mean
        rows = self.covariance_rows
        if rows is None:
            rows = SHARED_ROWS if self.shared else OWN_ROWS
        matrices = (*wide, shape[-1], shape[-1])
        scale = self._guessed_scale(statistics, variance, levels, matrices)
        return self.with_arrays(
            {
                "mean": broadcast_guess(FAMILY, "mean", guess, shape),
                "mean_rows": broadcast_guess(FAMILY, "mean_rows", self.mean_rows, shape[:-1]),
                "scale": scale,
                "covariance_rows": broadcast_guess(FAMILY, "covariance_rows", rows, wide),
                "lost": () if levels is None else levels.lost,
            }
        )

    def _columns(
        self, statistics: MultivariateNormalStatistics
    ) -> tuple[np.ndarray, np.ndarray, Levels | None]:
        """Return overall means, variances within classes, and the levels that columns indicate.

        The variance is NaN of indicators of levels without rows and, of every variable that would
        be said twice, of one with them.
        """
        if not self.variables:
            return *statistics.marginal().pooled(), None
        # all members of a mixture ask for it
        known, key = statistics.derived, ("columns", self.variables)
        if key not in known:
            columns = statistics.marginal()
            mean, variance = columns.pooled()
            levels = Levels.of(self.variables, columns)
            variance[..., levels.at] = np.where(levels.read, variance[..., levels.at], np.nan)
            known[key] = mean, variance, levels
        return known[key]

    def _guessed_scale(
        self,
        statistics: MultivariateNormalStatistics,
        variance: np.ndarray,
        levels: Levels | None,
        shape: tuple[int, ...],
    ) -> np.ndarray:
        """Return the guess of the covariance as matrices; a number or a vector is a diagonal.

        Levels without rows and, of every variable, one with them have no guess: they are left out.
        """
        if self.scale is None:
            matrix = diagonals(variance)
            if levels is not None:
                matrix = with_levels(matrix, levels)
            scale = np.broadcast_to(matrix[..., None, :, :], shape)
            if not self.correlation:
                return scale
            if levels is not None:
                pooled = pooled_covariance(statistics, variance, self.variables, levels)
                return (1 - self.correlation) * scale + self.correlation * pooled
            sd = np.sqrt(np.diagonal(scale, axis1=-2, axis2=-1))
            return sd[..., None] * sd[..., None, :] * correlations(self.correlation, statistics)
        guess = np.asarray(self.scale, dtype=float)
        if guess.ndim < 2:
            diagonal = broadcast_guess(FAMILY, "scale", guess, shape[-1:])
            matrix = np.diag(diagonal)
            if guess.ndim == 0 and levels is not None:
                matrix = with_levels(matrix, levels, float(guess))[..., None, :, :]
            return np.broadcast_to(matrix, shape)
        return broadcast_guess(FAMILY, "scale", guess, shape)

    def _reference(self, shape: tuple[int, ...], variance: np.ndarray) -> "MultivariateNormal":
        """Return the improper prior: after n rows, n - 1 degrees (n - classes where shared)."""
        n_classes, p = shape[-2:]
        wide = (*shape[:-2], 1 if self.shared else n_classes)
        rows = 1 - p - n_classes if self.shared else -p
        scale = diagonals(np.where(np.isfinite(variance), 0.0, np.nan))
        return self.with_arrays(
            {
                "mean": np.zeros(shape),
                "mean_rows": np.zeros(shape[:-1]),
                "scale": np.broadcast_to(scale[..., None, :, :], (*wide, p, p)),
                "covariance_rows": np.full(wide, float(rows)),
            }
        )

    def uninformative(self) -> np.ndarray:
        """Return which columns have no unit: constant or never observed, and no stated guess."""
        return np.isnan(np.diagonal(self.scale, axis1=-2, axis2=-1)).any(axis=-2)

    def posterior(self, statistics: MultivariateNormalStatistics) -> "MultivariateNormal":
        """Return the updated prior (formula above); rows must be complete."""
        self._require_closed_form()
        shared = self.shared
        if statistics.has_missing:
            raise incomplete_rows(FAMILY)
        squares = statistics.pooled_scatter if shared else statistics.scatter
        n, delta = statistics.count, statistics.mean - self.mean
        mean_rows = self.mean_rows + n
        share = n / (mean_rows + (mean_rows == 0))  # no rows: 0 / 1
        pull = (self.mean_rows * share)[..., None] * delta
        # augmented from here on: NumPy's matrices of many rows left out are written in place
        if shared:
            total = (pull.swapaxes(-1, -2) @ delta)[..., None, :, :]
        else:
            total = pull[..., None] * delta[..., None, :]
        total += squares
        covariance_rows = self.covariance_rows + (n.sum(axis=-1, keepdims=True) if shared else n)
        if self.prior == "reference" and (covariance_rows <= 0).any():
            raise reference_needs_rows(FAMILY, self.mean.shape[-1] + 1)
        if self.prior == "reference" and (mean_rows == 0).any():  # covariances are shared
            raise reference_needs_rows(FAMILY, 1)
        total += self.covariance_rows[..., None, None] * self.scale
        total /= covariance_rows[..., None, None]
        return self.with_arrays(
            {
                "mean": self.mean + share[..., None] * delta,
                "mean_rows": mean_rows,
                "scale": total,
                "covariance_rows": covariance_rows,
            }
        )

    def _require_closed_form(self) -> None:
        if not self.conjugate:
            raise no_closed_form(self.title)

    def log_evidence(self, statistics: MultivariateNormalStatistics) -> Evidence:
        """Return log p(rows given classes) in closed form."""
        require_evidence(self)
        after, n = self.posterior(statistics), statistics.count
        p = self.mean.shape[-1]
        log = namespace(after.mean_rows).log
        means = p / 2 * (log(self.mean_rows / after.mean_rows) - n * np.log(np.pi))
        covariances = lkj_and_wishart.log_normaliser(after) - self._log_normaliser
        return means.sum(axis=-1) + covariances.sum(axis=-1)

    @functools.cached_property
    def _log_normaliser(self) -> Traceable:
        """That of the prior, which every row that is left out asks for."""
        return lkj_and_wishart.log_normaliser(self)

    def predictive(self) -> Callable[[Block], np.ndarray]:
        """Return x -> log multivariate t of the observed columns, shape (row, class)."""
        factors = np.linalg.cholesky(self.scale * self.covariance_rows[:, None, None])
        stretch = 1 + 1 / self.mean_rows

        @functools.cache
        def by_number_observed() -> tuple[np.ndarray, np.ndarray]:
            # computed at the first prediction: fits of small batches would pay for it each time
            df = np.broadcast_to(self.covariance_rows, len(self.mean))
            p = np.arange(self.mean.shape[1] + 1)[:, None]
            constant = log_rising_factorial(df / 2, p / 2) - p / 2 * np.log(np.pi * stretch)
            return (df + p) / 2, constant

        def log_predictive(x: Block) -> np.ndarray:
            power, constant = by_number_observed()
            squares, log_dets, n_observed = density.distances(x, self.mean, factors=factors)
            # in place: a million numbers are read from memory once
            squares /= stretch
            np.log1p(squares, out=squares)
            squares *= -power[n_observed]
            squares += constant[n_observed] - log_dets / 2
            return squares

        return log_predictive

    def log_predictive_paired(self, x: Block) -> Joint:
        """Return the log predictive of row i under the i-th of stacked priors, (row, class)."""
        observed, stretch = ~np.isnan(x), 1 + 1 / self.mean_rows
        off = np.where(observed[:, None], x[:, None] - self.mean, 0.0)
        # classes that share a covariance are whitened together
        right = off[:, None] if self.scale.shape[1] == 1 else off[..., None, :]
        matrices = density.observed_part(self.scale, observed[:, None])
        white, log_det = density.whitened(matrices, right)
        squares = (white**2).sum(axis=-1).reshape(off.shape[:2]) / stretch
        p = observed.sum(axis=1)[:, None]
        out = spherical_t(squares, p, self.covariance_rows, 1.0)
        return out - log_det / 2 - p / 2 * np.log(stretch)

    def log_predictive_updated(self, statistics: MultivariateNormalStatistics, x: Block) -> Joint:
        """Return the same after updating by statistics with the same leading axis, one per row."""
        return self.posterior(statistics).log_predictive_paired(x)

    def draw(self, rng: np.random.Generator, n: int) -> Params:
        """Return n draws of mean and Cholesky factor, (draw, class, feature[, feature]).

        Sigma = C T^-1 T^-T C' with C the factor of covariance_rows * scale and T lower triangular,
        T_ii^2 ~ chi2(degrees - p + 1 + i), T_ij ~ N(0, 1). Source: Bartlett (1933).
        """
        p, wide = self.mean.shape[1], len(self.scale)
        root = np.linalg.cholesky(self.covariance_rows[:, None, None] * self.scale)
        below = rng.standard_normal((n, wide, p * (p - 1) // 2))
        degrees = (self.covariance_rows[:, None] + np.arange(p)) * np.ones((wide, p))
        diagonal = np.sqrt(rng.chisquare(degrees, (n, wide, p)))
        factor = lkj_and_wishart.divided(root, below, diagonal)
        noise = rng.standard_normal((n, *self.mean.shape)) / np.sqrt(self.mean_rows)[:, None]
        spread = np.broadcast_to(factor, (n, len(self.mean), p, p)) @ noise[..., None]
        return {"mean": self.mean + spread[..., 0], "cholesky": factor}

    def log_density_draws_given_row(
        self, rng: np.random.Generator, n: int
    ) -> Callable[[Block, np.ndarray], np.ndarray]:
        """Return densities under theta updated by each row's own class (see the base class)."""
        return density.updated_density_draws(self, rng, n)

    def mode(self) -> Params:
        """Return the mode against |Sigma|^-(p+1)/2: Psi / (degrees + means that share Sigma)."""
        self._require_closed_form()
        means = len(self.mean) if self.shared else 1
        share = self.covariance_rows / (self.degrees + means)
        return {
            "mean": self.mean,
            "cholesky": np.linalg.cholesky(self.scale * share[:, None, None]),
        }

    def maximum_likelihood(
        self,
        statistics: MultivariateNormalStatistics,
        *,
        bias_corrected: bool = False,
        variance_floor: float = 0.0,
        observed: NormalStatistics | None = None,
    ) -> tuple[Params, list[Repair]]:
        """Return class means and covariances S / n, or S / (n - means) when bias_corrected.

        Covariances are repaired where they are singular.

        observed: of the columns before missing values were filled: floors are a share of their
        variances.
        """
        if statistics.has_missing:
            raise incomplete_rows(FAMILY)
        columns = statistics.marginal()
        floor = variance_floor * self._unit((columns if observed is None else observed).pooled()[1])
        count, scatter = statistics.count, statistics.scatter
        empty = count == 0
        mean = np.where(empty[:, None], columns.pooled()[0], statistics.mean)
        findings = [Repair("pooled", int(k)) for k in np.flatnonzero(empty)]
        if self.shared:
            count, scatter = count.sum(axis=0, keepdims=True), scatter.sum(axis=0, keepdims=True)
        divisor = count - bias_corrected * (len(empty) if self.shared else 1)
        pooled = scatter.sum(axis=0) / (count.sum() or 1.0)
        factors = []
        for k, (rows, squares) in enumerate(zip(divisor, scatter, strict=True)):
            matrix = squares / rows if rows > 0 else (pooled if count[k] == 0 else 0.0 * squares)
            factor, changed = repaired_factor(matrix, floor)
            factors.append(factor)
            findings += [Repair("singular", None if self.shared else k)] * changed
        return {"mean": mean, "cholesky": np.array(factors)}, findings

    def _unit(self, variance: np.ndarray) -> np.ndarray:
        """Return columns' variances, and in place of NaN the guess, if the prior is completed."""
        if np.ndim(self.scale) != 3:
            return variance
        guess = np.diagonal(self.scale, axis1=1, axis2=2).mean(axis=0)
        return np.where(np.isnan(variance), guess, variance)

    def initial_params(self, statistics: MultivariateNormalStatistics) -> Params:
        """Return pooled means and the variances within classes, as if columns were independent."""
        n_classes, p = statistics.mean.shape
        wide = (1 if self.shared else n_classes, p, p)
        columns = statistics.marginal()
        mean, variance = columns.pooled()
        matrix = np.diag(self._unit(variance))
        if any(variable >= 0 for variable in self.variables):
            levels = Levels.of(self.variables, columns)
            matrix[levels.at[:, None], levels.at] = levels.smoothed
        factor = np.broadcast_to(np.linalg.cholesky(matrix), wide)
        return {"mean": np.broadcast_to(mean, (n_classes, p)), "cholesky": factor}

    # -- rows given parameters --------------------------------------------------------------------

    def features(self, x: Block) -> np.ndarray:
        """Return x_i x_j (i <= j), x and 1 of complete rows, shape (row, natural)."""
        i, j = np.triu_indices(x.shape[1])
        return np.concatenate([x[:, i] * x[:, j], x, np.ones((len(x), 1))], axis=1)

    def natural(self, params: Params) -> Traceable:
        """Return the weights of x_i x_j, x and 1 in the log density, (..., class, natural)."""
        mean, factor = params["mean"], params["cholesky"]
        xp = mean.__array_namespace__()
        inverse = xp.linalg.inv(factor)
        precision = xp.broadcast_to(inverse.mT @ inverse, (*mean.shape, mean.shape[-1]))
        linear = (precision @ mean[..., None])[..., 0]
        log_det = xp.log(xp.diagonal(factor, axis1=-2, axis2=-1)).sum(-1)
        constant = -0.5 * ((linear * mean).sum(-1) + mean.shape[-1] * density.LOG_2PI) - log_det
        i, j = np.triu_indices(mean.shape[-1])
        quadratic = -np.where(i == j, 0.5, 1.0) * precision[..., i, j]
        return xp.concat([quadratic, linear, constant[..., None]], axis=-1)

    def log_density_fn(self, params: Params) -> Callable[[Block], np.ndarray]:
        """Return x -> log p(observed part of x given y = k, params), shape (row, *draw, class).

        Few draws are scored by whitened residuals, which keep every digit; many by one GEMM.
        """
        mean, factor = params["mean"], params["cholesky"]

        def by_residuals(x: Block) -> np.ndarray:
            squares, log_dets, observed = density.distances(x, mean, factors=factor)
            constant = density.LOG_2PI * observed.reshape(-1, *[1] * (mean.ndim - 1))
            return -0.5 * (constant + log_dets + squares)

        if mean[..., 0].size <= FEW:
            return by_residuals
        whole = super().log_density_fn(params)

        drawn = functools.cache(lambda: DrawnPrecisions.of(params))

        def partial(x: Block, observed: np.ndarray) -> np.ndarray:
            if observed.all():
                return whole(x)
            rows = factor[..., observed, :]
            root = np.linalg.cholesky(rows @ rows.mT)
            marginal = {"mean": mean[..., observed], "cholesky": root}
            return ExponentialFamily.log_density_fn(self, marginal)(x)

        def log_density(x: Block) -> np.ndarray:
            seen = ~np.isnan(x)
            if seen.all():
                return whole(x)
            if not drawn().eliminable:
                return density.each_pattern(x, partial, np.zeros(mean.shape[:-1]))
            columns = np.where(seen, x, 0.0)
            out = whole(columns)
            out += drawn().log_integrals(columns, seen).reshape(out.shape)
            out[~seen.any(axis=1)] = 0.0  # not to rounding
            return out

        return log_density

    def log_likelihood(self, params: Params, statistics: MultivariateNormalStatistics) -> Traceable:
        """Return log p(rows given params): complete rows by one dot product, others by cell."""
        return super().log_likelihood(params, statistics) + density.cells_log_likelihood(
            params, statistics
        )

    def fill_given(self, params: Params, x: Block, own: Labels, rng: np.random.Generator) -> Block:
        """Return rows whose missing cells are drawn given one draw of the parameters."""
        factor = params["cholesky"]
        return density.filled(x, own, rng, mean=params["mean"], matrices=factor @ factor.mT)

    def conditional_given(
        self, params: Params, x: Block, own: Labels
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the normal of each missing cell given the observed ones and the class."""
        factor = params["cholesky"]
        return density.conditional(x, own, mean=params["mean"], matrices=factor @ factor.mT)

    def simulate(self, params: Params, y: Labels, rng: np.random.Generator) -> Block:
        """Return mean + L noise of each row's class."""
        return params["mean"][y] + density.noise(params["cholesky"], y, rng)

    def fill(self, x: Block, own: Labels, rng: np.random.Generator) -> Block:
        """Return rows whose missing cells are drawn from the t given the observed ones."""
        matrices = self.scale * (1 + 1 / self.mean_rows)[:, None, None]
        return density.filled(
            x, own, rng, mean=self.mean, matrices=matrices, degrees=self.covariance_rows
        )

    def conditional(self, x: Block, own: Labels) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the t of each missing cell given the observed ones."""
        matrices = self.scale * (1 + 1 / self.mean_rows)[:, None, None]
        mean, degrees = self.mean, self.covariance_rows
        return density.conditional(x, own, mean=mean, matrices=matrices, degrees=degrees)

    def story(self, name: str) -> Params:
        """Sample the Cholesky factor of each covariance, then the means given it."""
        import numpyro
        import numpyro.distributions as dist

        prior = lkj_and_wishart.inverse_wishart if self.conjugate else lkj_and_wishart.lkj
        with numpyro.plate(f"{name}.covariance", self.scale.shape[0], dim=-1):
            factor = numpyro.sample(f"{name}.cholesky", prior(self))
        with numpyro.plate(f"{name}.class", self.mean.shape[0], dim=-1):
            spread = factor / self.mean_rows[:, None, None] ** 0.5
            normal = dist.MultivariateNormal(self.mean, scale_tril=spread)
            mean = numpyro.sample(f"{name}.mean", normal)
        return {"mean": mean, "cholesky": factor}

    @property
    def program_shared(self) -> tuple[str, ...]:
        """The covariance, if all classes have it in common."""
        return ("cholesky", "deviation", "correlation") if self.shared else ()

    @property
    def program_priors(self) -> dict[str, str]:
        """The prior of the covariance's factor, or of deviations and correlations, and means."""
        factor, wishart = "cholesky", "degrees, scale_matrix=covariance_rows * scale"
        priors = {"cholesky": f"dist.InverseWishartCholesky({wishart})"}
        if not self.conjugate:
            factor, p = "deviation[..., None] * correlation", self.mean.shape[1]
            guess = "jnp.sqrt(jnp.diagonal(scale, 0, -2, -1) * jnp.pi / 2)"
            lkj = f"LKJCholesky({p}, concentration)" if p > 1 else "Delta(jnp.ones((1, 1)), 0, 2)"
            priors = {
                "deviation": f"dist.HalfNormal({guess}).to_event(1)",
                "correlation": f"dist.{lkj}",
            }
        spread = f"{factor} * mean_rows**-0.5"
        return {**priors, "mean": f"dist.MultivariateNormal(mean, scale_tril={spread})"}

    @property
    def program_cells(self) -> str:
        """The normal of the columns that are observed."""
        factor = "cholesky[y]" if self.conjugate else "deviation[y][..., None] * correlation[y]"
        return f"observed_normal(mean[y], {factor}, seen)"

    def program_numbers(self) -> dict[str, str | list[str]]:
        """Return guesses, and strengths that multiply matrices (class, feature, feature)."""
        matrix, diagonal = self.scale[0], self.scale[0].diagonal()
        is_diagonal = (self.scale == matrix).all() and np.count_nonzero(matrix) == len(matrix)
        numbers: dict[str, str | list[str]] = {
            "mean": literal(self.mean),
            "mean_rows": literal(self.mean_rows[:, None, None], 3),
            "scale": f"jnp.diag({literal(diagonal, 0)})" if is_diagonal else literal(self.scale),
        }
        if not self.conjugate:
            return {**numbers, "concentration": repr(float(self.concentration))}
        rows = literal(self.covariance_rows[:, None, None], 3)
        return {**numbers, "covariance_rows": rows, "degrees": literal(self.degrees)}

    def whitening(
        self, statistics: MultivariateNormalStatistics
    ) -> dict[str, tuple[np.ndarray, ...]]:
        """Return centers and widths of the posterior, or of about that of a conjugate prior.

        After n rows the standard errors of a factor whitened by itself are 1 / sqrt(2 n) for the
        logarithms of its diagonal and 1 / sqrt(n) below it.
        """
        prior = self if self.conjugate else self._conjugate_twin(statistics.count)
        after = prior.posterior(statistics)
        factor, rows = np.linalg.cholesky(after.scale), np.maximum(after.covariance_rows, 1.0)
        width = np.stack([1 / np.sqrt(2 * rows), 1 / np.sqrt(rows)], axis=-1)
        spread = factor / np.sqrt(after.mean_rows)[:, None, None]
        return {"cholesky": (factor, width), "mean": (after.mean, spread)}

    def _conjugate_twin(self, count: np.ndarray) -> "MultivariateNormal":
        """Return a conjugate prior whose posterior is about that of the LKJ prior.

        Under LKJ a correlation of .9999 is as probable as any other. An inverse-Wishart guess with
        the strength of p rows makes collinear columns hundreds of times less collinear than they
        are; where rows are many, its strength is therefore negligible.

        count: rows of each class.
        """
        n = count.sum(axis=-1, keepdims=True) if self.shared else count
        many = n >= MANY_ROWS * self.mean.shape[-1]
        faint = np.where(many, FAINT * n, self.covariance_rows)
        return self.with_arrays({"prior": "conjugate", "covariance_rows": faint})


def diagonals(variance: Float[np.ndarray, "*lead feature"]) -> np.ndarray:
    """Return diagonal matrices, shape (*lead, feature, feature)."""
    return np.where(np.eye(variance.shape[-1]) > 0, variance[..., None], 0.0)


def correlations(share: float | np.ndarray, statistics: MultivariateNormalStatistics) -> np.ndarray:
    """Return matrices with 1 on the diagonal and a share of the columns' correlations beside it.

    Correlations are those within classes, shape (..., 1, feature, feature).
    """
    scatter = pooled_scatter(statistics)
    # subtracting rows leaves rounding error where nothing varies: variances below 0, correlations
    # beyond 1
    spread = np.sqrt(np.maximum(np.diagonal(scatter, axis1=-2, axis2=-1), 0.0))
    per_unit = np.divide(1.0, spread, out=np.zeros_like(spread), where=spread > 0)
    estimate = scatter * per_unit[..., None]
    # in place: matrices of many rows left out are read from memory once
    estimate *= per_unit[..., None, :]
    np.clip(estimate, -1.0, 1.0, out=estimate)
    estimate *= share
    diagonal = np.arange(scatter.shape[-1])
    estimate[..., diagonal, diagonal] = 1.0
    return estimate


def repaired_factor(covariance: np.ndarray, floor: np.ndarray) -> tuple[np.ndarray, bool]:
    """Return the Cholesky factor of a covariance, and whether the covariance had to be changed.

    Variances under `floor` are raised to it, then eigenvalues of the correlation matrix to 1e-9.
    The factor is computed from the eigenvectors by QR and keeps the digits that the matrix itself,
    with eigenvalues 1e9 apart, would lose.
    """
    variance = np.diagonal(covariance)
    sd = np.sqrt(np.maximum(variance, floor))
    scales = sd[:, None] * sd
    correlation = np.divide(covariance, scales, out=np.eye(len(sd)), where=scales > 0)
    np.fill_diagonal(correlation, 1.0)
    values, vectors = np.linalg.eigh(correlation)
    if values[0] >= EIGENVALUE_FLOOR and not (variance < floor).any():
        return np.linalg.cholesky(covariance), False
    root = sd[:, None] * vectors * np.sqrt(np.maximum(values, EIGENVALUE_FLOOR))
    upper = np.linalg.qr(root.T, mode="r")
    return upper.T * np.sign(np.diagonal(upper)), True


# -- covariance structures that are other families ---------------------------------------------


def _structured(prior: MultivariateNormal) -> Likelihood:
    """Return the family of a covariance that is neither "per_class" nor "shared"."""
    structure = prior.covariance
    if prior.prior == "lkj":
        raise unsupported(
            f"{FAMILY}({structure!r}, prior='lkj')",
            "a covariance of this structure has no correlations",
            "Leave out prior='lkj'.",
        )
    spread = "shared" if structure.startswith("shared") else "per_class"
    guesses = {"mean": prior.mean, "mean_rows": _by_class(prior.mean_rows)}
    if prior.covariance_rows is not None:
        guesses["variance_rows"] = _by_class(prior.covariance_rows)
    return Normal(**guesses, variance=_diagonal(prior.scale), spread=spread, prior=prior.prior)


def _by_class(prior_strength: Guess) -> Guess:
    """Return a prior strength of each class in the shape (class, feature)."""
    return prior_strength if np.ndim(prior_strength) == 0 else np.asarray(prior_strength)[:, None]


def _diagonal(scale: Guess) -> Guess:
    """Return the variances of a guess of a diagonal covariance."""
    if np.ndim(scale) < 2:
        return scale
    variance = np.diagonal(scale, axis1=-2, axis2=-1)
    if np.count_nonzero(scale) > np.count_nonzero(variance):
        raise not_diagonal(FAMILY, "scale")
    return variance
