"""Filling in the guesses of a multivariate normal prior and checking what a user stated."""

import numpy as np
from jaxtyping import Float

from bayesgen.errors import InvalidPrior, UnsupportedInference
from bayesgen.likelihoods.base import Likelihood, broadcast_guess
from bayesgen.likelihoods.multivariate_normal.statistics import MultivariateNormalStatistics
from bayesgen.likelihoods.special_functions import log_gamma, namespace
from bayesgen.typing import Traceable

FAMILY = "MultivariateNormal"
SHARED_ROWS, OWN_ROWS = 1.0, 8.0
"""Default prior strengths of the covariance's guess: mean log loss over seven tables of numbers,
with 24 rows and in 5-fold cross-validation, was .461 and .302 at 1 row for a shared covariance
(.490 and .315 at 4), and .680 and .572 at 8 rows for own ones (.740 and .581 at 4)."""


def require_used(prior: Likelihood) -> None:
    """Refuse a prior strength that the prior of correlations has no place for."""
    if prior.prior == "lkj" and prior.covariance_rows is not None:
        cure = "State concentration, or leave out covariance_rows"
        raise InvalidPrior.not_used(f"{FAMILY}(prior='lkj')", "covariance_rows", cure)


def complete(prior: Likelihood, statistics: MultivariateNormalStatistics) -> Likelihood:
    """Return the prior with guesses of None taken from the columns, every array of its shape."""
    if prior.covariance not in ("per_class", "shared"):
        raise UnsupportedInference.because(
            f"{FAMILY}(covariance={prior.covariance!r})",
            "another family stands for this structure",
            "Hand it to an estimator, or call .equivalent_family() first.",
        )
    shape = statistics.mean.shape
    n_classes, p = shape[-2:]
    mean, variance = statistics.marginal().pooled()
    if prior.prior == "reference":
        wide = 1 if prior.shared else n_classes
        # chosen so that the degrees of freedom after n rows are n - 1 (own) or n - K (shared)
        rows = 1 - p - n_classes if prior.shared else -p
        known = np.where(np.isfinite(variance), 0.0, np.nan)
        arrays = {
            "mean": np.zeros(shape),
            "mean_rows": np.zeros(shape[:-1]),
            "scale": np.broadcast_to(diagonals(known)[..., None, :, :], (*shape[:-2], wide, p, p)),
            "covariance_rows": np.full((*shape[:-2], wide), float(rows)),
        }
        return prior.with_arrays(arrays)
    whole = filled(prior, FAMILY, shape, mean, variance)
    if prior.scale is not None or not prior.correlation:
        return whole
    sd = np.sqrt(np.diagonal(whole.scale, axis1=-2, axis2=-1))
    both = sd[..., None] * sd[..., None, :]
    return whole.with_arrays({"scale": both * _correlations(prior.correlation, statistics)})


def _correlations(share: float, statistics: MultivariateNormalStatistics) -> np.ndarray:
    """Return what turns variances into a covariance: 1, and shares of correlations beside them.

    They are those of complete rows within classes, shape (..., 1, feature, feature).
    """
    scatter = statistics.scatter.sum(axis=-3, keepdims=True)
    # a row that was taken away leaves rounding where nothing varies: below 0, or beyond 1 later on
    spread = np.sqrt(np.maximum(np.diagonal(scatter, axis1=-2, axis2=-1), 0.0))
    both = spread[..., None] * spread[..., None, :]
    found = np.divide(scatter, both, out=np.zeros_like(scatter), where=both > 0)
    return np.where(np.eye(scatter.shape[-1]) > 0, 1.0, share * np.clip(found, -1.0, 1.0))


def filled(
    prior: Likelihood,
    family: str,
    shape: tuple[int, ...],
    mean: Float[np.ndarray, "*lead feature"],
    variance: Float[np.ndarray, "*lead feature"],
) -> Likelihood:
    """Return a normal-inverse-Wishart prior with these columns' guesses where it states none.

    shape: of the means, (..., class, feature).
    """
    wide = (*shape[:-2], 1 if prior.shared else shape[-2])
    guess = mean[..., None, :] if prior.mean is None else prior.mean
    rows = prior.covariance_rows
    if rows is None:
        rows = SHARED_ROWS if prior.shared else OWN_ROWS
    matrices = (*wide, shape[-1], shape[-1])
    if prior.scale is None:
        scale = np.broadcast_to(diagonals(variance)[..., None, :, :], matrices)
    else:
        scale = _matrices(family, prior.scale, matrices)
    return prior.with_arrays(
        {
            "mean": broadcast_guess(family, "mean", guess, shape),
            "mean_rows": broadcast_guess(family, "mean_rows", prior.mean_rows, shape[:-1]),
            "scale": scale,
            "covariance_rows": broadcast_guess(family, "covariance_rows", rows, wide),
        }
    )


def guessed_variance(prior: Likelihood) -> np.ndarray:
    """Return the unit of columns that have none of their own; NaN where nobody stated one."""
    if np.ndim(prior.scale) != 3:  # estimates need no completed prior
        return np.array(np.nan)
    return np.diagonal(prior.scale, axis1=1, axis2=2).mean(axis=0)


def diagonals(variance: Float[np.ndarray, "*lead feature"]) -> np.ndarray:
    """Return diagonal matrices, shape (*lead, feature, feature)."""
    return np.where(np.eye(variance.shape[-1]) > 0, variance[..., None], 0.0)


def _matrices(family: str, scale: object, shape: tuple[int, ...]) -> np.ndarray:
    """Return a guess of the covariance as matrices: a number or a vector is a diagonal."""
    guess = np.asarray(scale, dtype=float)
    if guess.ndim < 2:
        return np.broadcast_to(np.diag(broadcast_guess(family, "scale", guess, shape[-1:])), shape)
    matrices = broadcast_guess(family, "scale", guess, shape)
    symmetric = np.allclose(matrices, np.swapaxes(matrices, -1, -2), rtol=1e-10, atol=0)
    if not symmetric or not (np.linalg.eigvalsh(matrices)[..., 0] > 0).all():
        raise InvalidPrior.not_positive_definite(family, "scale")
    return matrices


def log_normaliser(prior: Likelihood) -> Traceable:
    """Return the log of the integral over Sigma that the inverse-Wishart divides by, by class."""
    p, half = prior.mean.shape[-1], prior.degrees / 2
    # the multivariate Gamma function, without its constant power of pi
    gammas = log_gamma(half[..., None] - np.arange(p) / 2).sum(axis=-1)
    log_rows = namespace(prior.covariance_rows).log(prior.covariance_rows)
    return gammas - half * (p * log_rows + _log_det(prior.scale))


def _log_det(matrix: Traceable) -> Traceable:
    """Return log determinants, at once where nothing stands beside the diagonals.

    Of correlations, for the columns' units are apart: LU takes its pivots from rows of large units,
    which swallow the digits of small ones (at 1e70 to 1, evidences were off by 6).
    """
    xp = namespace(matrix)
    diagonal = matrix.diagonal(axis1=-2, axis2=-1)
    units = xp.log(diagonal).sum(axis=-1)
    if xp is np and np.count_nonzero(matrix) == diagonal.size:
        return units
    size = xp.sqrt(diagonal)
    correlations = matrix / size[..., None] / size[..., None, :]
    if xp is not np:  # traced: no sign can be looked at
        factor = xp.linalg.cholesky(correlations)
        return units + 2 * xp.log(factor.diagonal(axis1=-2, axis2=-1)).sum(axis=-1)
    sign, log_det = np.linalg.slogdet(correlations)
    if (sign <= 0).any():
        raise np.linalg.LinAlgError("Matrix is not positive definite")
    return units + log_det
