"""Numbers that go together alike in all classes: own variances, one correlation matrix."""

import dataclasses
from collections.abc import Callable
from typing import ClassVar

import numpy as np

from bayesgen.likelihoods.base import Guess, broadcast_guess, require_positive
from bayesgen.likelihoods.exponential_family import ExponentialFamily
from bayesgen.likelihoods.multivariate_normal import conditional, correlations, parameters
from bayesgen.likelihoods.multivariate_normal.statistics import MultivariateNormalStatistics, gather
from bayesgen.typing import Block, Labels, Params, Traceable, Transform, Weights

FAMILY = "SharedCorrelationNormal"


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class SharedCorrelationNormal(ExponentialFamily[MultivariateNormalStatistics]):
    r"""x | class ~ N(mu, D R D): D = diag(s) is the class's own, R the correlations of all classes.

    mu given s and R ~ N(mean, D R D / mean_rows), s_j ~ half-normal with mean sqrt(variance_j),
    R ~ LKJ(concentration). Between `MultivariateNormal("shared")`, whose classes also share s, and
    "per_class", whose classes share nothing: p (p - 1) / 2 correlations are learned from all rows,
    which lets small classes have spreads of their own.

    There is no closed form: NUTS, or MAP and MLE by optimisation. Greatest likelihood solves, with
    S_k the covariance of class k divided by n_k, diag(R^-1 D_k^-1 S_k D_k^-1) = 1 for every class
    and R = sum_k n_k D_k^-1 S_k D_k^-1 / n; s is not the class's standard deviation, because a
    column is also measured by those that go with it. It exists where every class has more rows than
    one and no column is a combination of others. Cells that are missing are integrated out.

    Source: Manly and Rayner, Biometrika 74 (1987) 841-847 (equal correlations); Lewandowski,
    Kurowicka and Joe, Journal of Multivariate Analysis 100 (2009) 1989-2001.

    Args:
        mean: guess of the mean; a number, one per column, or (class, feature). None: overall means.
        mean_rows: how many rows that guess is worth, > 0; a number or one per class.
        variance: guess of the variance within a class, > 0; a number, one per column, or
            (class, feature). None: the columns' variances within classes.
        concentration: of the LKJ prior; 1 is uniform over correlation matrices, more pulls
            correlations towards 0.

    Raises:
        InvalidPrior: a prior strength, a variance or the concentration is not positive and finite.

    Example:
        >>> from bayesgen.likelihoods import MultivariateNormal
        >>> MultivariateNormal("shared_correlation", concentration=2).equivalent_family()
        SharedCorrelationNormal(concentration=2)
    """

    mean: Guess = None
    mean_rows: Guess = 1.0
    variance: Guess = None
    concentration: float | int = 1.0

    kind: ClassVar[str] = "numbers"
    joint: ClassVar[bool] = True
    centred: ClassVar[bool] = True
    has_closed_form_mle: ClassVar[bool] = False
    location_params: ClassVar = ("mean",)
    axes: ClassVar = {
        "mean": ("class", "feature"),
        "mean_rows": ("class",),
        "variance": ("class", "feature"),
    }
    param_axes: ClassVar = {
        "mean": ("class", "feature"),
        "deviation": ("class", "feature"),
        "correlation_cholesky": ("feature", "feature"),
    }

    def __post_init__(self) -> None:
        """Refuse prior strengths, variances and a concentration that are not positive."""
        require_positive(self, "mean_rows", "variance", "concentration")

    @property
    def conjugate(self) -> bool:
        """Whether a closed form exists: no."""
        return False

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

    def complete(self, statistics: MultivariateNormalStatistics) -> "SharedCorrelationNormal":
        """Fill guesses of None from the columns and give every array its shape."""
        shape = statistics.mean.shape
        mean, variance = statistics.marginal().pooled()
        given = {
            "mean": (mean if self.mean is None else self.mean, shape),
            "mean_rows": (self.mean_rows, shape[:1]),
            "variance": (variance if self.variance is None else self.variance, shape),
        }
        return self.with_arrays(
            {name: broadcast_guess(FAMILY, name, *guess) for name, guess in given.items()}
        )

    def uninformative(self) -> np.ndarray:
        """Return which columns have no unit: constant or never observed, and no stated guess."""
        return np.isnan(self.variance).any(axis=0)

    def log_scale_free_jacobian(self, params: Params) -> Traceable:
        """Return sum of log s and (i + 2) log C_ii, C the factor of R, i from 0.

        Scale-free is |Sigma|^-(p+1)/2 dSigma of one class, that is |R|^-(p+1)/2 dR prod ds / s;
        dR = prod C_ii^(p - 1 - i) dC below the diagonal.
        """
        deviation, factor = params["deviation"], params["correlation_cholesky"]
        xp = deviation.__array_namespace__()
        diagonal = xp.diagonal(factor, axis1=-2, axis2=-1)
        powers = np.arange(2, factor.shape[-1] + 2)
        return xp.log(deviation).sum() + (powers * xp.log(diagonal)).sum()

    def initial_params(self, statistics: MultivariateNormalStatistics) -> Params:
        """Return pooled means and deviations within classes, without correlation."""
        mean, variance = statistics.marginal().pooled()
        known = np.isfinite(variance)
        variance = np.where(known, variance, np.mean(self.variance, axis=0))
        shape = statistics.mean.shape
        return {
            "mean": np.broadcast_to(mean, shape),
            "deviation": np.broadcast_to(np.sqrt(variance), shape),
            "correlation_cholesky": np.eye(shape[1]),
        }

    def features(self, x: Block) -> np.ndarray:
        """Return x_i x_j (i <= j), x and 1 of complete rows, shape (row, natural)."""
        return parameters.features(x)

    def natural(self, params: Params) -> Traceable:
        """Return the weights of x_i x_j, x and 1, shape (..., class, natural)."""
        return parameters.natural(_covariances(params))

    def log_density_fn(self, params: Params) -> Callable[[Block], np.ndarray]:
        """Return x -> log p(observed part of x given y = k, params), shape (row, draw, class)."""
        return parameters.log_density_fn(self, _covariances(params))

    def log_likelihood(self, params: Params, statistics: MultivariateNormalStatistics) -> Traceable:
        """Return log p(rows given params): complete rows by one dot product, others by cell."""
        params = _covariances(params)
        complete = ExponentialFamily.log_likelihood(self, params, statistics)
        return complete + parameters.cells_log_likelihood(params, statistics)

    def fill_given(self, params: Params, x: Block, own: Labels, rng: np.random.Generator) -> Block:
        """Return rows whose missing cells are drawn given one draw of the parameters."""
        factor = params["deviation"][..., None] * params["correlation_cholesky"]
        return conditional.filled_given(x, own, rng, mean=params["mean"], factor=factor)

    def simulate(self, params: Params, y: Labels, rng: np.random.Generator) -> Block:
        """Return mean + D C noise of each row's class."""
        return params["mean"][y] + parameters.noise(_covariances(params)["cholesky"], y, rng)

    def story(self, name: str) -> Params:
        """Sample the common correlations and each class's deviations, then means given them."""
        import numpyro
        import numpyro.distributions as dist

        n_classes, p = self.mean.shape
        lkj = correlations.lkj_cholesky()(p, self.concentration)
        factor = numpyro.sample(f"{name}.correlation_cholesky", lkj)
        with numpyro.plate(f"{name}.class", n_classes, dim=-1):
            sizes = dist.HalfNormal((self.variance * np.pi / 2) ** 0.5).to_event(1)
            deviation = numpyro.sample(f"{name}.deviation", sizes)
            spread = deviation[..., None] * factor / self.mean_rows[:, None, None] ** 0.5
            prior = dist.MultivariateNormal(self.mean, scale_tril=spread)
            mean = numpyro.sample(f"{name}.mean", prior)
        return {"mean": mean, "deviation": deviation, "correlation_cholesky": factor}

    def whitening(
        self, statistics: MultivariateNormalStatistics
    ) -> dict[str, tuple[np.ndarray, ...]]:
        """Return where moments within classes say the posterior sits, and how wide it is."""
        return correlations.whitening(self, statistics)

    def bijector(self, parameter: str, *arrays: Traceable) -> Transform:
        """Return centre + width u: of means, of logs of deviations, of partial correlations."""
        return correlations.bijector(parameter, *arrays)


def _covariances(params: Params) -> Params:
    """Return means and Cholesky factors D C of every class's covariance; factors stay."""
    if "cholesky" in params:
        return params
    factor = params["deviation"][..., None] * params["correlation_cholesky"][..., None, :, :]
    return {"mean": params["mean"], "cholesky": factor}
