"""Densities of rows under draws of mean and variance updated by the row itself."""

from collections.abc import Callable

import numpy as np

from bayesgen.likelihoods.base import Likelihood
from bayesgen.typing import Block


def updated_density_draws(
    prior: Likelihood, rng: np.random.Generator, n: int
) -> Callable[[Block, np.ndarray], np.ndarray]:
    """Return (x, own) -> log p(x given y = k, theta), shape (draw, row, class).

    theta follows the `Normal` prior updated by the row itself, in class own[draw, row] alone where
    variances are the classes' own. A chi-square of one more degree of freedom is the old one plus a
    squared normal, so the update is arithmetic on random numbers that all rows share.
    """
    chi2 = rng.chisquare(prior.variance_rows, (n, *prior.variance.shape))
    extra = rng.standard_normal((n, *prior.variance.shape)) ** 2
    noise = rng.standard_normal((n, *prior.mean.shape))
    prior_squares = prior.variance_rows * prior.variance

    def log_density(x: Block, own: np.ndarray) -> np.ndarray:
        out = np.empty((*own.shape, len(prior.mean)))
        for k in range(len(prior.mean)):
            # (draw, row, feature); with a shared variance every class sees the row's update
            mine = (own == k)[..., None]
            spread = 0 if prior.spread == "shared" else k
            d2 = (x - prior.mean[k]) ** 2
            if prior.spread == "shared":
                rows = prior.mean_rows[own]
                added = rows / (rows + 1) * (x - prior.mean[own]) ** 2
            else:
                added = mine * (prior.mean_rows[k] / (prior.mean_rows[k] + 1) * d2)
            updated = mine | (prior.spread == "shared")
            variance = (prior_squares[spread] + added) / (
                chi2[:, spread, None] + updated * extra[:, spread, None]
            )
            rows = prior.mean_rows[k] + mine
            mean = prior.mean[k] + mine * (x - prior.mean[k]) / rows
            mean = mean + np.sqrt(variance / rows) * noise[:, k, None]
            terms = -0.5 * (np.log(2 * np.pi * variance) + (x - mean) ** 2 / variance)
            out[..., k] = np.where(np.isnan(x), 0.0, terms).sum(axis=-1)
        return out

    return log_density
