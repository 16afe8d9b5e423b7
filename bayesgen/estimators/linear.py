"""Linear discriminants: what a shared covariance makes of a point estimate, and its coordinates."""

import abc

import numpy as np
from jaxtyping import Float
from sklearn.utils.validation import check_is_fitted

from bayesgen.errors import NoAttribute
from bayesgen.inference import Draws, Posterior
from bayesgen.likelihoods import Likelihood, MultivariateNormal, Normal

SMALLEST_EIGENVALUE = 1e-7
"""Directions in which correlated columns vary less than this are rounding, not data."""

Matrix = Float[np.ndarray, "feature feature"]
Means = Float[np.ndarray, "class feature"]


def linear_discriminant(posterior: Posterior) -> tuple[np.ndarray, np.ndarray] | None:
    """Return coefficients and intercepts of the log-odds, or None where they are not linear.

    With means mu_k and one covariance Sigma, log P(k given x) is x' Sigma^-1 mu_k
    - mu_k' Sigma^-1 mu_k / 2 + log pi_k, up to a constant. Two classes give one row,
    w = Sigma^-1 (mu_1 - mu_0). Source: Hastie, Tibshirani and Friedman (2009), equation 4.10.
    """
    if not isinstance(posterior, Draws) or not posterior.point or len(posterior.families) != 1:
        return None
    if posterior.reader.power_transforms:
        return None
    ((name, family),) = posterior.families.items()
    if not _shares_covariance(family):
        return None
    params = {key: value[0, 0] for key, value in posterior.params[name].items()}
    mean, covariance = params["mean"], shared_covariance(params)
    weights = np.linalg.solve(covariance, mean.T).T
    intercept = posterior.log_classes() - 0.5 * (weights * mean).sum(axis=1)
    if len(mean) == 2:
        return weights[1:] - weights[:1], intercept[1:] - intercept[:1]
    return weights, intercept


class Linear(abc.ABC):
    """Coefficients of a classifier whose log-odds are linear in the columns."""

    @property
    @abc.abstractmethod
    def posterior_(self) -> Posterior:
        """The posterior in the units of the columns."""

    @property
    def coef_(self) -> Float[np.ndarray, "discriminant feature"]:
        """Weights of the linear discriminants; only where a point estimate makes one."""
        return self._linear()[0]

    @property
    def intercept_(self) -> Float[np.ndarray, " discriminant"]:
        """Constants of the linear discriminants; only where a point estimate makes one."""
        return self._linear()[1]

    def _linear(self) -> tuple[np.ndarray, np.ndarray]:
        check_is_fitted(self, "_state_")
        found = linear_discriminant(self.posterior_)
        if found is None:
            raise NoAttribute.not_linear()
        return found


def shared_covariance(params: dict[str, np.ndarray]) -> Matrix:
    """Return the one covariance of a family whose classes share it."""
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


def centre_of(posterior: Posterior, block: str) -> dict[str, np.ndarray]:
    """Return class means and the shared covariance at the centre of the posterior."""
    part = posterior.families[block]
    if not isinstance(posterior, Draws):
        hyper = part.arrays()
        return {"mean": hyper["mean"], "covariance": hyper["scale"][0]}
    params = posterior.params[block]
    factors = params["cholesky"].reshape(-1, *params["cholesky"].shape[-3:])[:, 0]
    covariance = np.einsum("dij,dkj->ik", factors, factors) / len(factors)
    return {"mean": params["mean"].mean(axis=(0, 1)), "covariance": covariance}


def _shares_covariance(family: Likelihood) -> bool:
    if isinstance(family, MultivariateNormal):
        return family.shared
    return isinstance(family, Normal) and family.spread == "shared"
