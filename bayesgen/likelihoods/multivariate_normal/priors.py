"""Filling in the guesses of a multivariate normal prior and checking what a user stated."""

import numpy as np
from scipy.special import multigammaln

from bayesgen.errors import InvalidPrior
from bayesgen.likelihoods.base import Likelihood
from bayesgen.likelihoods.guesses import broadcast_guess
from bayesgen.likelihoods.multivariate_normal.statistics import MultivariateNormalStatistics

FAMILY = "MultivariateNormal"


def complete(
    prior: "MultivariateNormal", statistics: MultivariateNormalStatistics
) -> "MultivariateNormal":  # noqa: F821
    """Return the prior with guesses of None taken from the columns, every array of its shape."""
    n_classes, p = statistics.mean.shape
    mean, variance = statistics.marginal().pooled()
    wide = 1 if prior.shared else n_classes
    if prior.prior == "reference":
        # chosen so that the degrees of freedom after n rows are n - 1 (own) or n - K (shared)
        rows = 1 - p - n_classes if prior.shared else -p
        known = np.where(np.isfinite(variance), 0.0, np.nan)
        arrays = {
            "mean": np.zeros((n_classes, p)),
            "mean_rows": np.zeros(n_classes),
            "scale": np.broadcast_to(np.diag(known), (wide, p, p)),
            "covariance_rows": np.full(wide, float(rows)),
        }
        return prior.with_arrays(arrays)
    guess = mean if prior.mean is None else prior.mean
    scale = variance if prior.scale is None else prior.scale
    return prior.with_arrays(
        {
            "mean": broadcast_guess(FAMILY, "mean", guess, (n_classes, p)),
            "mean_rows": broadcast_guess(FAMILY, "mean_rows", prior.mean_rows, (n_classes,)),
            "scale": _matrices(scale, (wide, p, p)),
            "covariance_rows": broadcast_guess(
                FAMILY, "covariance_rows", prior.covariance_rows, (wide,)
            ),
        }
    )


def _matrices(scale: object, shape: tuple[int, int, int]) -> np.ndarray:
    """Return a guess of the covariance as matrices: a number or a vector is a diagonal."""
    guess = np.asarray(scale, dtype=float)
    if guess.ndim < 2:
        return np.broadcast_to(np.diag(broadcast_guess(FAMILY, "scale", guess, shape[1:2])), shape)
    matrices = broadcast_guess(FAMILY, "scale", guess, shape)
    symmetric = np.allclose(matrices, np.swapaxes(matrices, 1, 2), rtol=1e-10, atol=0)
    if not symmetric or not (np.linalg.eigvalsh(matrices)[:, 0] > 0).all():
        raise InvalidPrior.not_positive_definite(FAMILY, "scale")
    return matrices


def log_normaliser(prior: Likelihood) -> np.ndarray:
    """Return the log of the integral over Sigma that the inverse-Wishart divides by, by class."""
    p, half = prior.mean.shape[1], prior.degrees / 2
    matrix = prior.covariance_rows[:, None, None] * prior.scale
    gammas = np.array([multigammaln(h, p) for h in half])
    return gammas - half * np.linalg.slogdet(matrix)[1]
