"""Linear discriminants: coefficients of a point estimate, and discriminant scores of rows."""

import numpy as np
from jaxtyping import Float

from bayesgen.errors.operations import not_linear
from bayesgen.inference import Posterior
from bayesgen.likelihoods import Likelihood, MultivariateNormal, Normal

SMALLEST_EIGENVALUE = 1e-7
"""Directions in which correlated columns vary less than this are rounding, not data."""

Matrix = Float[np.ndarray, "feature feature"]
Means = Float[np.ndarray, "class feature"]


def linear_discriminant(posterior: Posterior) -> tuple[np.ndarray, np.ndarray]:
    """Return coefficients and intercepts of log-odds that are linear in the columns.

    With means mu_k and one covariance Sigma, log P(k given x) is x' Sigma^-1 mu_k
    - mu_k' Sigma^-1 mu_k / 2 + log pi_k, up to a constant. Two classes give one row,
    w = Sigma^-1 (mu_1 - mu_0). Source: Hastie, Tibshirani and Friedman (2009), equation 4.10.

    Raises:
        NoAttribute: log-odds are not linear.
    """
    params = posterior.components.point_params()
    if params is None or len(posterior.families) != 1 or posterior.reader.power_transforms:
        raise not_linear()
    ((name, family),) = posterior.families.items()
    if not _shares_covariance(family):
        raise not_linear()
    mean, covariance = params[name]["mean"], shared_covariance(params[name])
    weights = np.linalg.solve(covariance, mean.T).T
    intercept = posterior.log_classes() - 0.5 * (weights * mean).sum(axis=1)
    if len(mean) == 2:
        return weights[1:] - weights[:1], intercept[1:] - intercept[:1]
    return weights, intercept


def shared_covariance(params: dict[str, np.ndarray]) -> Matrix:
    """Return the covariance of a family with a shared one."""
    if "cholesky" in params:
        return params["cholesky"][0] @ params["cholesky"][0].T
    return np.diag(params["variance"][0])


def discriminant_axes(mean: Means, covariance: Matrix, weight: np.ndarray) -> np.ndarray:
    """Return the axes (feature, axis) that separate class means best, within-class variance 1.

    They solve B v = lambda Sigma v with B the covariance of the class means; at most class - 1.
    Source: Fisher (1936); Hastie, Tibshirani and Friedman (2009), section 4.3.3.
    """
    sd = np.sqrt(np.diagonal(covariance))
    values, vectors = np.linalg.eigh(covariance / (sd[:, None] * sd))
    whole = values > SMALLEST_EIGENVALUE
    whiten = vectors[:, whole] / np.sqrt(values[whole]) / sd[:, None]
    spread = (mean - weight @ mean) * np.sqrt(weight)[:, None]
    _, _, axes = np.linalg.svd(spread @ whiten, full_matrices=False)
    axes = whiten @ axes[: min(len(mean) - 1, mean.shape[1])].T
    # the sign of an axis is free: the largest weight is made positive
    return axes * np.sign(axes[np.argmax(np.abs(axes), axis=0), np.arange(axes.shape[1])])


def _shares_covariance(family: Likelihood) -> bool:
    if isinstance(family, MultivariateNormal):
        return family.shared
    return isinstance(family, Normal) and family.spread == "shared"
