"""Densities of rows under draws of mean and variance updated by the row itself."""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float

from bayesgen.likelihoods.base import Likelihood
from bayesgen.typing import Block

Variances = Float[np.ndarray, "spread column"]


def updated_density_draws(
    prior: Likelihood,
    rng: np.random.Generator,
    n: int,
    *,
    degrees: Variances,
    variance: Variances,
) -> Callable[[Block, np.ndarray], np.ndarray]:
    """Return (x, own) -> log p(x given y = k, theta), shape (draw, row, class).

    theta follows the prior (means mean, each worth mean_rows, variances of the scaled inverse
    chi-squared with these degrees) updated by the row itself, in class own[draw, row] alone where
    variances are the classes' own. A chi-square of one more degree of freedom is the old one plus a
    squared normal, so the update is arithmetic on random numbers that all rows share.

    degrees, variance: of shape (class, feature); (1, feature) where classes share variances,
    (class, 1) or (1, 1) where all columns have one, which every observed cell of a row updates.
    """
    chi2 = rng.chisquare(degrees, (n, *variance.shape))
    extra = rng.standard_normal((n, len(variance), prior.mean.shape[1])) ** 2
    noise = rng.standard_normal((n, *prior.mean.shape))
    prior_squares = degrees * variance
    shared, spherical = prior.spread == "shared", variance.shape[1] != prior.mean.shape[1]

    def over_columns(cells: np.ndarray, observed: np.ndarray) -> np.ndarray:
        return np.where(observed, cells, 0.0).sum(axis=-1, keepdims=True) if spherical else cells

    def log_density(x: Block, own: np.ndarray) -> np.ndarray:
        out = np.empty((*own.shape, len(prior.mean)))
        observed = ~np.isnan(x)
        for k in range(len(prior.mean)):
            # (draw, row, feature); with a shared variance every class sees the row's update
            mine = (own == k)[..., None]
            spread = 0 if shared else k
            if shared:
                rows = prior.mean_rows[own]
                added = rows / (rows + 1) * (x - prior.mean[own]) ** 2
            else:
                d2 = (x - prior.mean[k]) ** 2
                added = mine * (prior.mean_rows[k] / (prior.mean_rows[k] + 1) * d2)
            grown = (mine | shared) * extra[:, spread, None]
            updated = (prior_squares[spread] + over_columns(added, observed)) / (
                chi2[:, spread, None] + over_columns(grown, observed)
            )
            rows = prior.mean_rows[k] + mine
            mean = prior.mean[k] + mine * (x - prior.mean[k]) / rows
            mean = mean + np.sqrt(updated / rows) * noise[:, k, None]
            terms = -0.5 * (np.log(2 * np.pi * updated) + (x - mean) ** 2 / updated)
            out[..., k] = np.where(observed, terms, 0.0).sum(axis=-1)
        return out

    return log_density
