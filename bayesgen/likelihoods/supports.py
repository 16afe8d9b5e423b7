"""Supports of parameters, with bijectors and their Jacobians, and ranges of hyperparameters.

A family that declares `supports = {"rate": "positive"}` gets its bijector, scale-free Jacobian and
whitening from here; parameters of a user's program get theirs from their NumPyro constraint.
Source: NumPyro and Stan, constraint transforms.

The guesses and strengths of priors are numbers of a range, which a family declares too.
"""

import dataclasses
import functools
from collections.abc import Callable, Mapping

import numpy as np

from bayesgen.errors import InvalidArgument
from bayesgen.likelihoods.dirichlet import simplexes_transform
from bayesgen.table.columns import LARGEST
from bayesgen.typing import Params, Traceable, Transform

EDGE = 1e-300
"""Draws closer than this to the end of their support are moved there before a logarithm."""
LARGEST_SQUARE = 1e300
"""Square of the largest number that a table may hold."""
LOWER, UPPER = 0.15865525393145707, 0.8413447460685429
"""Probabilities of a normal variate below -1 and below 1: half the distance between these quantiles
is the standard deviation of a normal, and finite where a variance is not."""


def _log_odds(value: np.ndarray) -> np.ndarray:
    value = np.clip(value, EDGE, 1 - np.finfo(float).epsneg)
    return np.log(value) - np.log1p(-value)


def _log_probability_jacobian(value: Traceable) -> Traceable:
    xp = value.__array_namespace__()
    return (xp.log(value) + xp.log1p(-value)).sum()


def _log_sum(value: Traceable) -> Traceable:
    return value.__array_namespace__().log(value).sum()


def _affine(centre: Traceable, width: Traceable) -> Transform:
    from numpyro.distributions.transforms import AffineTransform

    return AffineTransform(centre, width)


def _exp(centre: Traceable, width: Traceable) -> Transform:
    from numpyro.distributions.transforms import ExpTransform

    return onto(ExpTransform()).bijector(centre, width)


def _sigmoid(centre: Traceable, width: Traceable) -> Transform:
    from numpyro.distributions.transforms import SigmoidTransform

    return onto(SigmoidTransform()).bijector(centre, width)


def _softmax(side: Traceable, *arrays: Traceable) -> Transform:
    return simplexes_transform()(side, *arrays, side.shape[-1:])


def _vector(centre: Traceable, factor: Traceable) -> Transform:
    from numpyro.distributions.transforms import LowerCholeskyAffine

    return LowerCholeskyAffine(centre, factor)


def _covariance(centre: Traceable, width: Traceable) -> Transform:
    return whitened_cholesky()(centre, width)


@functools.cache
def whitened_cholesky() -> type:
    """Return the numpyro transform u -> L = center @ A(u), A near the identity.

    A has exp(width_ii u) on its diagonal and width_ij u below it. At the posterior's own factor as
    center and its standard errors as widths, u is about standard normal and uncorrelated, however
    collinear the columns. |dL/dA| = prod centre_ii^(i+1).
    """
    import jax.numpy as jnp
    import numpyro.distributions as dist
    from numpyro.distributions.transforms import ParameterFreeTransform

    class WhitenedCholesky(ParameterFreeTransform):
        """Real vectors of length p (p + 1) / 2 to lower Cholesky factors.

        centre: (..., feature, feature). width: (..., 2), on the diagonal and below it.
        """

        domain = dist.constraints.real_vector
        codomain = dist.constraints.lower_cholesky

        def __init__(self, centre: Traceable, width: Traceable) -> None:
            self.centre, self.width = centre, width

        def __call__(self, u: Traceable) -> Traceable:
            n = self.centre.shape[-1]
            i, j = np.tril_indices(n, -1)
            below = jnp.zeros((*u.shape[:-1], n, n)).at[..., i, j]
            diagonal = jnp.exp(self.width[..., 0, None] * u[..., :n])[..., None] * jnp.eye(n)
            return self.centre @ (below.set(self.width[..., 1, None] * u[..., n:]) + diagonal)

        def log_abs_det_jacobian(
            self, u: Traceable, value: Traceable, intermediates: Traceable | None = None
        ) -> Traceable:
            n = self.centre.shape[-1]
            diagonal = jnp.diagonal(self.centre, axis1=-2, axis2=-1)
            constant = (jnp.arange(1, n + 1) * jnp.log(diagonal)).sum(-1)
            widths = n * jnp.log(self.width[..., 0]) + n * (n - 1) / 2 * jnp.log(self.width[..., 1])
            return constant + widths + (self.width[..., 0, None] * u[..., :n]).sum(-1)

        def inverse_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
            n = shape[-1]
            return (*shape[:-2], n * (n + 1) // 2)

    return WhitenedCholesky


@dataclasses.dataclass(frozen=True)
class Support:
    """The values a parameter may take.

    bijector: arrays of `whitening` -> the numpyro transform from unit-scale values.
    log_jacobian: value -> sum of log |d value / d scale-free value|, NumPy or traced.
    unconstrain: value -> real numbers (NumPy); of vectors and matrices, whose whitening is found
    from statistics, not needed.
    """

    bijector: Callable[..., Transform]
    log_jacobian: Callable[[Traceable], Traceable]
    unconstrain: Callable[[np.ndarray], np.ndarray] = np.asarray


SUPPORTS: Mapping[str, Support] = {
    "real": Support(_affine, lambda value: 0.0, lambda value: value),
    "positive": Support(_exp, _log_sum, lambda value: np.log(np.maximum(value, EDGE))),
    "probability": Support(_sigmoid, _log_probability_jacobian, _log_odds),
    "simplex": Support(_softmax, _log_sum, np.log),
    "vector": Support(_vector, lambda value: 0.0),
    "covariance factor": Support(_covariance, lambda value: log_diagonal(value, 1)),
}
"""Supports that a family may declare for a parameter. A simplex is the last axis, and its arrays
are those of `dirichlet.log_ratios`; the first three are one value a cell, u -> center + width u.

Vectors have correlated entries, u -> center + L u with a Cholesky factor L. Factors of covariances
are lower triangular. Scale-free is |Sigma|^-(p+1)/2 dSigma. Sigma = L L' has
dSigma = prod 2 L_ii^(p - i) dL, i from 0, and |Sigma| is prod L_ii^2: the Jacobian is
prod L_ii^(i + 1)."""


@dataclasses.dataclass(frozen=True)
class Range:
    """The values that every entry of a hyperparameter may take.

    words: what is allowed. cure: what to pass instead. contains: entries -> which are allowed.
    """

    words: str
    cure: str
    contains: Callable[[np.ndarray], np.ndarray]


POSITIVE = "Pass a positive one; for no prior at all use inference='mle'"
RANGES: Mapping[str, Range] = {
    "real": Range(
        "finite numbers (up to 1e150 in size)",
        "Pass {name}=None for the guess from the columns",
        lambda entries: np.abs(entries) <= LARGEST,
    ),
    "positive": Range(
        "finite numbers above 0 (up to 1e300)",
        POSITIVE,
        lambda entries: (entries > 0) & (entries <= LARGEST_SQUARE),
    ),
    "width": Range(
        "finite numbers above 0 (1e-150 to 1e150)",
        POSITIVE,
        lambda entries: (entries >= 1 / LARGEST) & (entries <= LARGEST),
    ),
    "covariance": Range(
        "finite numbers (up to 1e300 in size)",
        "Pass {name}=None for that of the columns",
        lambda entries: np.abs(entries) <= LARGEST_SQUARE,
    ),
    "probability": Range(
        "probabilities above 0 and below 1",
        "Pass {name}=None for the fractions of the columns",
        lambda entries: (entries > 0) & (entries < 1),
    ),
    "simplex": Range(
        "probabilities above 0",
        "Divide positive numbers by their sum",
        lambda entries: (entries > 0) & (entries <= 1),
    ),
    "share": Range(
        "numbers from 0 up to, but not including, 1",
        "Pass {name}=0.0",
        lambda entries: (entries >= 0) & (entries < 1),
    ),
    "fraction": Range(
        "probabilities from 0 to 1",
        "Divide positive numbers by their sum",
        lambda entries: (entries >= 0) & (entries <= 1),
    ),
    "weight": Range(
        "finite numbers of at least 0",
        "Pass {name}=None for those of the rows",
        lambda entries: (entries >= 0) & (entries <= LARGEST),
    ),
}
"""The ranges that a family may declare for a hyperparameter; "covariance" is that of the entries of
a matrix (see `require`). Numbers and widths end where the table's do, because squares of larger
ones overflow float64; variances are such squares."""


def require(family: str, name: str, value: object, wanted: str, *, scalar: bool = False) -> None:
    """Validate a hyperparameter.

    Args:
        family: named in the error.
        name: of the hyperparameter.
        value: a number, or an array or sequence of such.
        wanted: a key of `RANGES`; a "covariance" is one positive variance, one a column, or
            symmetric positive definite matrices.
        scalar: whether one number is needed.

    Raises:
        InvalidArgument: it is not of numbers, or has an entry outside the range, or is no
            covariance, or is an array where one number is needed.
    """
    try:
        boolean = np.asarray(value).dtype.kind == "b"
        entries = np.asarray(np.nan if boolean else value, dtype=float)
    except (TypeError, ValueError, OverflowError):
        entries = np.asarray(np.nan)
    matrices = wanted == "covariance" and entries.ndim > 1
    allowed = RANGES["positive" if wanted == "covariance" and not matrices else wanted]
    outside = entries[~allowed.contains(entries)]
    if outside.size:
        raise InvalidArgument(
            "{owner}: {name} {holds} {value!r}; {allowed} are allowed.",
            f"{allowed.cure}.",
            owner=family,
            name=name,
            holds="has the entry" if entries.ndim else "is",
            value=outside[0] if entries.ndim else value,
            allowed=allowed.words,
        )
    if scalar and entries.ndim:
        raise InvalidArgument(
            "{owner}: {name} has the shape {shape}; one number for all classes and columns is "
            "needed.",
            "Pass a single number.",
            owner=family,
            name=name,
            shape=entries.shape,
        )
    if matrices and entries.shape[-1] == entries.shape[-2]:
        symmetric = np.allclose(entries, entries.mT, rtol=1e-10, atol=0)
        if not symmetric or not (np.linalg.eigvalsh(entries)[..., 0] > 0).all():
            raise InvalidArgument(
                "{owner}: {name} is not symmetric and positive definite; a covariance matrix "
                "is needed.",
                "Pass {name} + 1e-6 * numpy.diag({name}.diagonal()), or {name}=None for that "
                "of the columns.",
                owner=family,
                name=name,
            )


def onto(bijection: Transform) -> Support:
    """Return the support that is the image of the real line under a numpyro transform."""
    from numpyro.distributions.transforms import ComposeTransform

    return Support(
        lambda centre, width: ComposeTransform([_affine(centre, width), bijection]),
        lambda value: bijection.log_abs_det_jacobian(bijection.inv(value), value).sum(),
        bijection.inv,
    )


def support(name: str | Support) -> Support:
    """Return the support of a name."""
    return name if isinstance(name, Support) else SUPPORTS[name]


def log_jacobian(supports: Mapping[str, str | Support], params: Params) -> Traceable:
    """Return log |d params / d scale-free params|, summed over the parameters; NumPy or traced.

    Parameters that are not among `params` are given, and contribute 0.
    """
    terms = (support(supports[n]).log_jacobian(params[n]) for n in supports if n in params)
    return sum(terms, np.zeros(()))


def whitening(
    supports: Mapping[str, str], draws: Params
) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return center and width, from quantiles, of unconstrained draws (draw, ...) by parameter."""
    out = {}
    for name, support in supports.items():
        free = SUPPORTS[support].unconstrain(draws[name])
        low, centre, high = np.quantile(free, [LOWER, 0.5, UPPER], axis=0)
        out[name] = (centre, (high - low) / 2)
    return out


def log_diagonal(factor: Traceable, first: int) -> Traceable:
    """Return the sum of (first + i) log L_ii, i from 0, of lower triangular factors L.

    With first=1 that is the log measure of Cholesky factors of covariances, with first=2 of those
    of correlation matrices, over the scale-free one (see `SUPPORTS`).
    """
    xp, size = factor.__array_namespace__(), factor.shape[-1]
    diagonal = xp.diagonal(factor, axis1=-2, axis2=-1)
    return (np.arange(first, size + first) * xp.log(diagonal)).sum()


def log_scale_free_jacobian(
    support: object, transform: Transform, coordinate: Traceable, value: Traceable
) -> Traceable:
    r"""Return log of the Lebesgue measure of a parameter over its scale-free measure, summed.

    The scale-free measure is flat in real numbers, in the logarithm of positive ones, in the
    log-odds of probabilities, that is in the unconstrained coordinates of NumPyro. Covariances
    Sigma with p columns have |Sigma|^-(p+1)/2, which does not depend on units. Their Cholesky
    factors, correlation matrices R and the factors of these have what that measure is for Sigma = L
    L' and Sigma = diag(s) R diag(s), with s flat in its logarithm:

        dSigma = prod 2 L_ii^(p+1-i) dL              log measure: sum i log L_ii
        dSigma = prod 2 s_i^p ds dR                  log measure: (p+1)/2 log |R|
        dR = prod_(i>1) L_ii^(p-i) dL                log measure: sum (i+1) log L_ii

    Source: Muirhead, Aspects of Multivariate Statistical Theory (1982), theorem 2.1.9, for the
    first Jacobian; the Stan Reference Manual, section 10.12, for the last.
    """
    import jax.numpy as jnp
    from numpyro.distributions import constraints

    while isinstance(support, constraints.independent):
        support = support.base_constraint
    kind = type(support)
    if kind in (type(constraints.positive_definite), type(constraints.corr_matrix)):
        diagonal = jnp.diagonal(jnp.linalg.cholesky(value), axis1=-2, axis2=-1)
        return (value.shape[-1] + 1) * jnp.log(diagonal).sum()
    if kind is type(constraints.lower_cholesky):
        return log_diagonal(value, 1)
    if kind is type(constraints.corr_cholesky):
        return log_diagonal(value, 2)
    return transform.log_abs_det_jacobian(coordinate, value).sum()
