"""The multivariate normal: prior, update, predictive, parameters and story."""

import dataclasses
import typing
from collections.abc import Callable
from typing import ClassVar, Literal

import numpy as np

from bayesgen.errors import InvalidPrior, UnsupportedInference
from bayesgen.likelihoods.base import (
    Guess,
    Likelihood,
    Repair,
    is_learned,
    require_one_of,
    require_positive,
)
from bayesgen.likelihoods.exponential_family import ExponentialFamily
from bayesgen.likelihoods.multivariate_normal import (
    conditional,
    lkj_and_wishart,
    parameters,
    predictive,
    priors,
    structures,
)
from bayesgen.likelihoods.multivariate_normal.row_updates import updated_density_draws
from bayesgen.likelihoods.multivariate_normal.statistics import MultivariateNormalStatistics, gather
from bayesgen.likelihoods.special_functions import namespace, quotient
from bayesgen.typing import Block, Evidence, Joint, Labels, Params, Traceable, Transform, Weights


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
    matrix scale' (1 + 1 / mean_rows'). Every column by itself has the `Normal` prior, and rows with
    missing values are scored by the marginal of what they show: the prior strengths stay, rows and
        columns go.

    Exact. Source: Gelman et al., Bayesian Data Analysis (3rd ed.), section 3.6.

    Args:
        covariance: "per_class" (quadratic boundaries) or "shared" (linear ones), both full; or a
            structure, which another family stands for: "diagonal" and "shared_diagonal" (`Normal`),
            "spherical" and "shared_spherical" (`SphericalNormal`, one variance for all columns),
            "shared_correlation" (`SharedCorrelationNormal`, own variances).
        mean: guess of the mean; a number, one per column, or (class, feature). None: overall means.
        mean_rows: how many rows that guess is worth, > 0; a number or one per class.
        scale: guess of the covariance; a number (times the identity), one variance per column, or a
            positive definite matrix (diagonal, or a multiple of the identity, where the structure
            is). None: the diagonal of the columns' variances within classes.
        covariance_rows: how many rows that guess is worth, > 0. None: 1 for a shared covariance,
            8 for own ones (lowest log loss on small tables), else that of the structure's family.
        prior: "conjugate" as above; "reference", p(mu, Sigma) proportional to |Sigma|^-(p+1)/2 (no
            guess is used, no evidence; needs more rows than columns); or "lkj": correlations ~
            LKJ(concentration) and standard deviations ~ half-normal with mean sqrt(scale_jj), for
            MAP and NUTS.
        concentration: of the LKJ prior; 1 is uniform over correlation matrices.
        correlation: how much of the columns' correlations within classes the guess scale=None
            has, from 0 (diagonal) up to but not 1 (the pooled covariance).
        Prior strengths may say "learn", and so may the scale: it then slides between diagonal and
        pooled, so that naive Bayes, LDA and QDA are corners of one model.

    Raises:
        InvalidPrior: a prior strength not above 0, a scale that is not symmetric positive definite.

    Example:
        >>> import numpy as np
        >>> x = np.array([[0.0, 0.0], [2.0, 2.0], [1.0, np.nan]])
        >>> prior = MultivariateNormal(mean=0.0, scale=1.0, covariance_rows=3)
        >>> s = prior.statistics(x[:2], np.array([0, 0]), np.ones(2), n_classes=1)
        >>> prior.complete(s).posterior(s).log_predictive(x).round(4)
        array([[-2.3949],
               [-3.0973],
               [-1.2188]])
    """

    covariance: structures.Covariance = "per_class"
    mean: Guess = None
    mean_rows: Guess = 1.0
    scale: Guess = None
    covariance_rows: Guess = None
    prior: Literal["conjugate", "reference", "lkj"] = "conjugate"
    concentration: float | int = 1.0
    correlation: float | Literal["learn"] = 0.0

    kind: ClassVar[str] = "numbers"
    joint: ClassVar[bool] = True
    centred: ClassVar[bool] = True
    vectorised: ClassVar[bool] = True
    hyperparameter_grid: ClassVar = {
        "mean_rows": (0.03, 0.1, 0.3, 1.0, 3.0),
        "covariance_rows": (0.5, 2.0, 8.0, 32.0, 128.0, 512.0, 2048.0),
        "correlation": (0.0, 0.5, 0.9, 0.99),
    }
    location_params: ClassVar = ("mean",)
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

    def __post_init__(self) -> None:
        """Refuse an unknown structure or prior, and prior strengths that are not positive."""
        require_one_of(self, "covariance", typing.get_args(structures.Covariance))
        require_one_of(self, "prior", ("conjugate", "reference", "lkj"))
        require_positive(self, "mean_rows", "covariance_rows", "concentration")
        priors.require_used(self)

    def equivalent_family(self) -> Likelihood:
        """Return the family that stands for a structured covariance; itself for a full one."""
        if is_learned(self.scale):
            return dataclasses.replace(self, scale=None, correlation="learn").equivalent_family()
        return structures.equivalent_family(self)

    @property
    def conjugate(self) -> bool:
        """Whether a closed form exists: not under the LKJ prior."""
        return self.prior != "lkj"

    @property
    def shared(self) -> bool:
        """Whether all classes have one covariance."""
        return self.covariance == "shared"

    @property
    def degrees(self) -> Traceable:
        """Return the inverse-Wishart degrees of freedom p - 1 + covariance_rows."""
        return self.mean.shape[-1] - 1 + self.covariance_rows

    def statistics(
        self,
        x: Block,
        y: Labels,
        weight: Weights,
        *,
        n_classes: int,
        n_levels: tuple[int, ...] = (),
    ) -> MultivariateNormalStatistics:
        """Return moments by class, and by cell for incomplete rows."""
        return gather(x, y, weight, n_classes)

    def complete(self, statistics: MultivariateNormalStatistics) -> "MultivariateNormal":
        """Fill guesses of None from the columns and give every array its shape."""
        return priors.complete(self, statistics)

    def uninformative(self) -> np.ndarray:
        """Return which columns have no unit: constant or never observed, and no stated guess."""
        return np.isnan(np.diagonal(self.scale, axis1=-2, axis2=-1)).any(axis=-2)

    def posterior(self, statistics: MultivariateNormalStatistics) -> "MultivariateNormal":
        """Return the updated prior (formula above); rows must be complete."""
        self.require_closed_form()
        if statistics.has_missing:
            raise UnsupportedInference.missing_cells("MultivariateNormal")
        n, delta = statistics.count, statistics.mean - self.mean
        mean_rows = self.mean_rows + n
        share = quotient(n, mean_rows)
        pull = (self.mean_rows * share)[..., None] * delta
        if self.shared:
            between = pull.swapaxes(-1, -2) @ delta
            scatter = statistics.pooled_scatter + between[..., None, :, :]
        else:
            scatter = statistics.scatter + pull[..., None] * delta[..., None, :]
        covariance_rows = self.covariance_rows + self._pool(n, -1)
        if self.prior == "reference" and (covariance_rows <= 0).any():
            raise InvalidPrior.reference_needs_rows("MultivariateNormal", self.mean.shape[-1] + 1)
        total = self.covariance_rows[..., None, None] * self.scale
        total = total + scatter
        return self.with_arrays(
            {
                "mean": self.mean + share[..., None] * delta,
                "mean_rows": mean_rows,
                "scale": total / covariance_rows[..., None, None],
                "covariance_rows": covariance_rows,
            }
        )

    def _pool(self, values: Traceable, axis: int) -> Traceable:
        return values.sum(axis=axis, keepdims=True) if self.shared else values

    def log_evidence(self, statistics: MultivariateNormalStatistics) -> Evidence:
        """Return log p(rows given classes) in closed form."""
        self.require_evidence()
        after, n = self.posterior(statistics), statistics.count
        p = self.mean.shape[-1]
        log = namespace(after.mean_rows).log
        means = p / 2 * (log(self.mean_rows / after.mean_rows) - n * np.log(np.pi))
        covariances = priors.log_normaliser(after) - priors.log_normaliser(self)
        return means.sum(axis=-1) + covariances.sum(axis=-1)

    def predictive(self) -> Callable[[Block], np.ndarray]:
        """Return x -> log multivariate t of the observed columns, shape (row, class)."""
        return predictive.predictive(self)

    def log_predictive_paired(self, x: Block) -> Joint:
        """Return what the i-th of priors along a leading axis says of row i, (row, class)."""
        return predictive.predictive_each(self, x)

    def draw(self, rng: np.random.Generator, n: int) -> Params:
        """Return n draws of mean and Cholesky factor, (draw, class, feature[, feature])."""
        return parameters.draw(self, rng, n)

    def log_density_draws_given_row(
        self, rng: np.random.Generator, n: int
    ) -> Callable[[Block, np.ndarray], np.ndarray]:
        """Return densities under theta updated by each row's own class (see the base class)."""
        return updated_density_draws(self, rng, n)

    def mode(self) -> Params:
        """Return the mode against |Sigma|^-(p+1)/2: Psi / (degrees + means that share Sigma)."""
        self.require_closed_form()
        means = len(self.mean) if self.shared else 1
        share = self.covariance_rows / (self.degrees + means)
        return {
            "mean": self.mean,
            "cholesky": np.linalg.cholesky(self.scale * share[:, None, None]),
        }

    def log_scale_free_jacobian(self, params: Params) -> Traceable:
        """Return sum of (i + 1) log L_ii, i from 0 (see `lkj_and_wishart`)."""
        return lkj_and_wishart.log_scale_free_jacobian(params["cholesky"])

    def maximum_likelihood(
        self,
        statistics: MultivariateNormalStatistics,
        *,
        bias_corrected: bool = False,
        variance_floor: float = 0.0,
    ) -> tuple[Params, list[Repair]]:
        """Return class means and covariances S / n, or S / (n - means) when bias_corrected."""
        if statistics.has_missing:
            raise UnsupportedInference.missing_cells("MultivariateNormal")
        return parameters.maximum_likelihood(
            statistics,
            guess=priors.guessed_variance(self),
            shared=self.shared,
            bias_corrected=bias_corrected,
            variance_floor=variance_floor,
        )

    def initial_params(self, statistics: MultivariateNormalStatistics) -> Params:
        """Return pooled means and the diagonal of variances within classes."""
        mean, variance = statistics.marginal().pooled()
        variance = np.where(np.isnan(variance), priors.guessed_variance(self), variance)
        n_classes, p = statistics.mean.shape
        wide = (1 if self.shared else n_classes, p, p)
        factor = np.broadcast_to(np.diag(np.sqrt(variance)), wide)
        return {"mean": np.broadcast_to(mean, (n_classes, p)), "cholesky": factor}

    def features(self, x: Block) -> np.ndarray:
        """Return x_i x_j (i <= j), x and 1 of complete rows, shape (row, natural)."""
        return parameters.features(x)

    def natural(self, params: Params) -> Traceable:
        """Return the weights of x_i x_j, x and 1, shape (..., class, natural)."""
        return parameters.natural(params)

    def log_density_fn(self, params: Params) -> Callable[[Block], np.ndarray]:
        """Return x -> log p(observed part of x given y = k, params), shape (row, draw, class)."""
        return parameters.log_density_fn(self, params)

    def log_likelihood(self, params: Params, statistics: MultivariateNormalStatistics) -> Traceable:
        """Return log p(rows given params): complete rows by one dot product, others by cell."""
        complete = ExponentialFamily.log_likelihood(self, params, statistics)
        return complete + parameters.cells_log_likelihood(params, statistics)

    def fill(self, x: Block, own: Labels, rng: np.random.Generator) -> Block:
        """Return rows whose missing cells are drawn from the t given the observed ones."""
        matrices = self.scale * (1 + 1 / self.mean_rows)[:, None, None]
        degrees = np.broadcast_to(self.covariance_rows, len(self.mean)).astype(float)
        return conditional.filled(x, own, rng, mean=self.mean, matrices=matrices, degrees=degrees)

    def fill_given(self, params: Params, x: Block, own: Labels, rng: np.random.Generator) -> Block:
        """Return rows whose missing cells are drawn given one draw of the parameters."""
        return conditional.filled_given(x, own, rng, mean=params["mean"], factor=params["cholesky"])

    def simulate(self, params: Params, y: Labels, rng: np.random.Generator) -> Block:
        """Return mean + L noise of each row's class."""
        return params["mean"][y] + parameters.noise(params["cholesky"], y, rng)

    def story(self, name: str) -> Params:
        """Sample the Cholesky factor of each covariance, then the means given it."""
        return lkj_and_wishart.sample_normal(name, self, lkj_and_wishart.covariance_prior(self))

    def whitening(
        self, statistics: MultivariateNormalStatistics
    ) -> dict[str, tuple[np.ndarray, ...]]:
        """Return centre and width of a conjugate posterior: what the rows look like from afar."""
        after = lkj_and_wishart.conjugate_twin(self, statistics.count).posterior(statistics)
        factor = np.linalg.cholesky(after.scale)
        width = lkj_and_wishart.widths(after.covariance_rows)
        spread = factor / np.sqrt(after.mean_rows)[:, None, None]
        return {"cholesky": (factor, width), "mean": (after.mean, spread)}

    def bijector(self, parameter: str, *arrays: Traceable) -> Transform:
        """Return the whitening transform of the factor, or of the mean: centre + L u."""
        from numpyro.distributions.transforms import LowerCholeskyAffine

        return (
            lkj_and_wishart.whitened_cholesky()(*arrays)
            if parameter == "cholesky"
            else LowerCholeskyAffine(*arrays)
        )
