"""The multivariate t: prior, densities, parameters and story."""

import dataclasses
from collections.abc import Callable
from typing import ClassVar, Literal

import numpy as np

from bayesgen.likelihoods.base import Guess, Likelihood, require_one_of, require_positive
from bayesgen.likelihoods.distinct_rows import gather
from bayesgen.likelihoods.multivariate_normal import (
    conditional,
    lkj_and_wishart,
    parameters,
    priors,
)
from bayesgen.likelihoods.multivariate_student_t import density, robust
from bayesgen.likelihoods.multivariate_student_t.statistics import PatternedRows, arranged
from bayesgen.typing import Block, Labels, Params, Traceable, Transform, Weights

FAMILY = "MultivariateStudentT"


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class MultivariateStudentT(Likelihood[PatternedRows]):
    r"""x | class ~ t_v(mu, Sigma): a multivariate normal that bears wild rows.

    A row is normal with covariance Sigma / g, where g ~ Gamma(v / 2, v / 2) is the row's own: one
    that lies far out counts (v + p) / (v + d) times, d being its squared distance from mu in the
    matrix Sigma. Sigma is the covariance times (v - 2) / v. The prior on mu and Sigma is that of
    `MultivariateNormal`, and v ~ Gamma(2, rate 0.1), one for all classes: a class with tails of its
    own would claim every row that lies far out.

    There is no closed form: NUTS, or MAP and MLE by optimisation; a gradient costs a pass over the
    distinct rows. Missing cells leave the marginal t of the observed part, of the same v: exactly.

    Source: Lange, Little and Taylor, JASA 84 (1989) 881-896; the prior on v: Juarez and Steel,
    Journal of Business and Economic Statistics 28 (2010) 52-66.

    Args:
        covariance: "per_class", or "shared" for one Sigma that all classes share.
        mean: guess of mu; a number, one per column, or (class, feature). None: overall medians.
        mean_rows: how many rows that guess is worth, > 0; a number or one per class.
        scale: guess of Sigma; a number (times the identity), one square per column, or a positive
            definite matrix. None: the diagonal of squared median distances within classes, times
            1.4826^2 (variances, were the columns normal).
        covariance_rows: how many rows that guess is worth, > 0. None: as in `MultivariateNormal`.
        degrees: v, > 0, where it is known; 4 is a common choice. None: learned.

    Raises:
        InvalidPrior: a prior strength or v is not above 0, a scale is not symmetric positive
            definite.

    Example:
        >>> import numpy as np
        >>> prior = MultivariateStudentT(degrees=4)
        >>> params = {"mean": np.zeros((1, 2)), "cholesky": np.eye(2)[None]}
        >>> prior.log_density_fn(params)(np.array([[0.0, 0.0], [1e6, 0.0], [3.0, np.nan]])).round(3)
        array([[ -1.838],
               [-80.572],
               [ -3.927]])
    """

    covariance: Literal["per_class", "shared"] = "per_class"
    mean: Guess = None
    mean_rows: Guess = 1.0
    scale: Guess = None
    covariance_rows: Guess = None
    degrees: float | int | None = None

    kind: ClassVar[str] = "numbers"
    joint: ClassVar[bool] = True
    centred: ClassVar[bool] = True
    has_closed_form_mle: ClassVar[bool] = False
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
        "degrees": (),
    }

    def __post_init__(self) -> None:
        """Refuse an unknown structure, and prior strengths and degrees that are not positive."""
        require_one_of(self, "covariance", ("per_class", "shared"))
        require_positive(self, "mean_rows", "covariance_rows", "degrees")

    @property
    def conjugate(self) -> bool:
        """Whether a closed form exists: no."""
        return False

    @property
    def shared(self) -> bool:
        """Whether all classes have one Sigma."""
        return self.covariance == "shared"

    def statistics(
        self,
        x: Block,
        y: Labels,
        weight: Weights,
        *,
        n_classes: int,
        n_levels: tuple[int, ...] = (),
    ) -> PatternedRows:
        """Return the distinct rows, by pattern of missing values."""
        return arranged(gather(x, y, weight, n_classes))

    def complete(self, statistics: PatternedRows) -> "MultivariateStudentT":
        """Fill guesses of None from medians and give every array its shape."""
        return priors.filled(
            self, FAMILY, (statistics.n_classes, statistics.x.shape[1]), *robust.guesses(statistics)
        )

    def uninformative(self) -> np.ndarray:
        """Return which columns have no unit: constant or never observed, and no stated guess."""
        return np.isnan(np.diagonal(self.scale, axis1=1, axis2=2)).any(axis=0)

    def log_scale_free_jacobian(self, params: Params) -> Traceable:
        """Return sum of (i + 1) log L_ii, i from 0, and log v where that is learned."""
        measure = lkj_and_wishart.log_scale_free_jacobian(params["cholesky"])
        if "degrees" not in params:
            return measure
        return measure + params["cholesky"].__array_namespace__().log(params["degrees"])

    def initial_params(self, statistics: PatternedRows) -> Params:
        """Return overall medians and the diagonal of squared spreads within classes."""
        median, variance = robust.guesses(statistics)
        guess = np.diagonal(self.scale, axis1=1, axis2=2)
        factor = np.sqrt(np.where(np.isnan(variance), guess, variance))[..., None]
        mean = np.broadcast_to(median, (statistics.n_classes, len(median)))
        params = {"mean": mean, "cholesky": factor * np.eye(len(median))}
        return params if self.degrees is not None else {**params, "degrees": np.asarray(5.0)}

    def log_density_fn(self, params: Params) -> Callable[[Block], np.ndarray]:
        """Return x -> log p(observed part of x given y = k, params), shape (row, draw, class)."""
        return density.log_density_fn(self._with_degrees(params))

    def log_likelihood(self, params: Params, statistics: PatternedRows) -> Traceable:
        """Return log p(rows given params): one pass over the distinct rows."""
        return density.log_likelihood(self._with_degrees(params), statistics)

    def _with_degrees(self, params: Params) -> Params:
        if "degrees" in params:
            return params
        draws = params["mean"].shape[:-2]
        xp = params["mean"].__array_namespace__()
        return {**params, "degrees": xp.full(draws, float(self.degrees))}

    def fill_given(self, params: Params, x: Block, own: Labels, rng: np.random.Generator) -> Block:
        """Return rows whose missing cells are drawn given one draw of the parameters."""
        degrees = float(params.get("degrees", self.degrees))
        return conditional.filled_given(
            x, own, rng, mean=params["mean"], factor=params["cholesky"], degrees=degrees
        )

    def simulate(self, params: Params, y: Labels, rng: np.random.Generator) -> Block:
        """Return mean + L noise / sqrt(g) of each row's class."""
        noise = parameters.noise(params["cholesky"], y, rng)
        degrees = params.get("degrees", self.degrees)
        return params["mean"][y] + noise / np.sqrt(rng.chisquare(degrees, (len(y), 1)) / degrees)

    def story(self, name: str) -> Params:
        """Sample v, the Cholesky factor of each Sigma, and the means given it."""
        import numpyro
        import numpyro.distributions as dist

        learned = {}
        if self.degrees is None:
            prior = dist.Gamma(robust.SHAPE, robust.RATE)
            learned["degrees"] = numpyro.sample(f"{name}.degrees", prior)
        wishart = lkj_and_wishart.inverse_wishart(self)
        return {**lkj_and_wishart.sample_normal(name, self, wishart), **learned}

    def whitening(self, statistics: PatternedRows) -> dict[str, tuple[np.ndarray, ...]]:
        """Return where a few steps of EM say the posterior sits, and how wide it is."""
        centre = robust.centre(self, statistics)
        factor = np.linalg.cholesky(centre.scale)
        spread = factor / np.sqrt(centre.mean_rows)[:, None, None]
        found = {
            "cholesky": (factor, lkj_and_wishart.widths(centre.scale_rows)),
            "mean": (centre.mean, spread),
        }
        if self.degrees is None:
            found["degrees"] = (np.asarray(centre.log_degrees), np.asarray(centre.log_width))
        return found

    def bijector(self, parameter: str, *arrays: Traceable) -> Transform:
        """Return the whitening transform of the factor, centre + L u for the mean, exp for v."""
        from numpyro.distributions.transforms import (
            AffineTransform,
            ComposeTransform,
            ExpTransform,
            LowerCholeskyAffine,
        )

        if parameter == "cholesky":
            return lkj_and_wishart.whitened_cholesky()(*arrays)
        if parameter == "mean":
            return LowerCholeskyAffine(*arrays)
        return ComposeTransform([AffineTransform(*arrays), ExpTransform()])
