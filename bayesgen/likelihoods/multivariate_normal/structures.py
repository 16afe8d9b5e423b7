"""Covariance structures for which another family stands."""

from typing import Literal

import numpy as np

from bayesgen.errors import InvalidPrior, UnsupportedInference
from bayesgen.likelihoods.base import Guess, Likelihood
from bayesgen.likelihoods.multivariate_normal.shared_correlation import SharedCorrelationNormal
from bayesgen.likelihoods.normal import Normal
from bayesgen.likelihoods.spherical_normal import SphericalNormal

Covariance = Literal[
    "per_class",
    "shared",
    "diagonal",
    "shared_diagonal",
    "spherical",
    "shared_spherical",
    "shared_correlation",
]


def equivalent_family(prior: Likelihood) -> Likelihood:
    """Return the family that stands for the structure of a multivariate normal's covariance.

    Raises:
        InvalidPrior: a guess of the covariance that does not have the structure.
        UnsupportedInference: a prior that the family does not have.
    """
    structure = prior.covariance
    if structure in ("per_class", "shared"):
        return prior
    refused = "reference" if structure == "shared_correlation" else "lkj"
    if prior.prior == refused:
        why = "has no closed form" if refused == "reference" else "has no correlations"
        raise UnsupportedInference.because(
            f"MultivariateNormal({structure!r}, prior={refused!r})",
            f"a covariance of this structure {why}",
            f"Leave out prior={refused!r}.",
        )
    if structure == "shared_correlation":
        variance = _diagonal(prior.scale)
        return SharedCorrelationNormal(prior.mean, prior.mean_rows, variance, prior.concentration)
    spread = "shared" if structure.startswith("shared") else "per_class"
    guesses = {"mean": prior.mean, "mean_rows": _by_class(prior.mean_rows)}
    if structure.endswith("diagonal"):
        if prior.covariance_rows is not None:
            guesses["variance_rows"] = _by_class(prior.covariance_rows)
        variance = _diagonal(prior.scale, "diagonal")
        return Normal(**guesses, variance=variance, spread=spread, prior=prior.prior)
    if prior.covariance_rows is not None:
        guesses["variance_rows"] = prior.covariance_rows
    variance = _common(_diagonal(prior.scale, "diagonal"))
    return SphericalNormal(**guesses, variance=variance, spread=spread, prior=prior.prior)


def _by_class(prior_strength: Guess) -> Guess:
    """Return a prior strength of each class in the shape (class, feature)."""
    return prior_strength if np.ndim(prior_strength) == 0 else np.asarray(prior_strength)[:, None]


def _diagonal(scale: Guess, wanted: str = "") -> Guess:
    """Return the variances of a guess of the covariance; a matrix may have to be `wanted`."""
    if np.ndim(scale) < 2:
        return scale
    variance = np.diagonal(scale, axis1=-2, axis2=-1)
    if wanted and np.count_nonzero(scale) > np.count_nonzero(variance):
        raise InvalidPrior.not_diagonal("MultivariateNormal", "scale", wanted)
    return variance


def _common(variance: Guess) -> Guess:
    """Return the one variance of all columns, of each class."""
    if variance is None or np.ndim(variance) == 0:
        return variance
    if (variance != variance[..., :1]).any():
        wanted = "a multiple of the identity"
        raise InvalidPrior.not_diagonal("MultivariateNormal", "scale", wanted)
    common = variance[..., 0]
    return float(common) if common.ndim == 0 else common
