"""The multivariate t that a normal-inverse-Wishart prior predicts, over what a row shows."""

import functools
from collections.abc import Callable

import numpy as np

from bayesgen.likelihoods.base import Likelihood
from bayesgen.likelihoods.multivariate_normal.marginal_density import distances
from bayesgen.likelihoods.normal_densities import spherical_t
from bayesgen.likelihoods.special_functions import log_rising_factorial
from bayesgen.typing import Block, Joint


def predictive(prior: Likelihood) -> Callable[[Block], np.ndarray]:
    """Return x -> log multivariate t of the observed columns, shape (row, class)."""
    factors = np.linalg.cholesky(prior.scale * prior.covariance_rows[:, None, None])
    stretch = 1 + 1 / prior.mean_rows

    @functools.cache
    def by_number_observed() -> tuple[np.ndarray, np.ndarray]:
        # at the first row: small batches to fit would pay for it each time
        df = np.broadcast_to(prior.covariance_rows, len(prior.mean))
        p = np.arange(prior.mean.shape[1] + 1)[:, None]
        constant = log_rising_factorial(df / 2, p / 2) - p / 2 * np.log(np.pi * stretch)
        return (df + p) / 2, constant

    def log_predictive(x: Block) -> np.ndarray:
        power, constant = by_number_observed()
        squares, log_dets, seen = distances(x, prior.mean, factors=factors)
        # in place: a million numbers are read from memory once
        squares /= stretch
        np.log1p(squares, out=squares)
        squares *= -power[seen]
        squares += constant[seen] - log_dets / 2
        return squares

    return log_predictive


def predictive_each(prior: Likelihood, x: Block) -> Joint:
    """Return what the i-th of priors along a leading axis says of row i, shape (row, class)."""
    seen, stretch = ~np.isnan(x), 1 + 1 / prior.mean_rows
    off = np.where(seen[:, None], x[:, None] - prior.mean, 0.0)
    both = seen[:, None, :, None] & seen[:, None, None, :]
    # the identity in place of what is missing adds nothing to distances and determinants
    factors = np.linalg.cholesky(np.where(both, prior.scale, np.eye(seen.shape[1])))
    # one factor may serve all classes, whose rows are then solved for together
    right = off[:, None] if factors.shape[1] == 1 else off[..., None, :]
    # each column in a unit of its own, as in `missing values.inverted`
    size = np.linalg.norm(factors, axis=-1)[..., None]
    solved = np.linalg.solve(factors / size, np.swapaxes(right, -1, -2) / size)
    squares = (solved**2).sum(axis=-2).reshape(off.shape[:2]) / stretch
    p, log_det = seen.sum(axis=1)[:, None], np.log(np.diagonal(factors, axis1=-2, axis2=-1))
    out = spherical_t(squares, p, prior.covariance_rows, 1.0)
    return out - log_det.sum(axis=-1) - p / 2 * np.log(stretch)
