"""Densities of rows under draws updated by the row itself, without drawing a single matrix.

A row's density depends on Sigma through log|Sigma| and the distance of the row from mu. Under a
normal-inverse-Wishart both follow from a handful of chi-squares: with W ~ Wishart(nu, I) the
distance without the mean's noise is v'Wv for the standardised residual v, and by rotation only the
leading block of W's Bartlett factor in the span of the residuals matters.
"""

from collections.abc import Callable

import numpy as np

from bayesgen.likelihoods.base import Likelihood
from bayesgen.likelihoods.multivariate_normal.marginal_density import each_pattern, inverse_factors
from bayesgen.typing import Block

LOG_2PI = np.log(2 * np.pi)


def updated_density_draws(
    posterior: Likelihood,
    rng: np.random.Generator,
    n: int,
) -> Callable[[Block, np.ndarray], np.ndarray]:
    """Return (x, own) -> log p(observed x given y = k, theta), shape (draw, row, class).

    theta follows the posterior updated, in class own[draw, row] alone, by the row itself.
    """
    seed = int(rng.integers(2**63))
    score = _shared if posterior.shared else _per_class

    def log_density(x: Block, own: np.ndarray) -> np.ndarray:
        # the row numbers travel with the rows so that each finds its own column of `own`
        numbered = np.concatenate([x, np.arange(len(x))[:, None]], axis=1)

        def partial(rows: Block, observed: np.ndarray) -> np.ndarray:
            seen = observed[:-1]
            if not seen.any():
                return np.zeros((len(rows), n, len(posterior.mean)))
            part = posterior.take("feature", np.flatnonzero(seen))
            noise = np.random.default_rng((seed, int(seen.sum())))
            mine = own[:, rows[:, -1].astype(int)]
            return np.swapaxes(score(part, noise, rows[:, :-1], mine), 0, 1)

        out = each_pattern(numbered, partial, np.zeros((n, len(posterior.mean))))
        return np.swapaxes(out, 0, 1)

    return log_density


def _per_class(posterior, rng, x, own):
    """Own covariances: a row's update moves its own class alone, and by scalars only."""
    n_draws, (n_classes, p) = len(own), posterior.mean.shape
    matrices = posterior.covariance_rows[:, None, None] * posterior.scale
    inverse, log_det = inverse_factors(matrices)
    chi2 = rng.chisquare(posterior.degrees[:, None] - np.arange(p), (n_draws, n_classes, p))
    extra = rng.standard_normal((n_draws, n_classes, p)) ** 2
    normal = rng.standard_normal((n_draws, n_classes))
    rest = rng.chisquare(p - 1, (n_draws, n_classes)) if p > 1 else np.zeros((n_draws, n_classes))
    out = np.empty((*own.shape, n_classes))
    for k in range(n_classes):
        mine, rows = own == k, posterior.mean_rows[k]
        share = rows / (rows + 1)
        z = (x - posterior.mean[k]) @ inverse[k].T
        q = (z**2).sum(axis=1)
        # Sherman-Morrison on Psi + share d d', the residual shrunk by share
        squared = np.where(mine, share**2 * q / (1 + share * q), q)
        spread = log_det[k] + np.where(mine, np.log1p(share * q), 0.0)
        first = chi2[:, k, :1] + mine * extra[:, k, :1]
        plain, more = np.log(chi2[:, k, 1:]).sum(-1), np.log((chi2 + extra)[:, k, 1:]).sum(-1)
        log_wishart = np.log(first) + np.where(mine, more[:, None], plain[:, None])
        worth = rows + mine
        distance = (normal[:, k, None] + np.sqrt(worth * squared * first)) ** 2 + rest[:, k, None]
        out[..., k] = 0.5 * (log_wishart - spread - distance / worth - p * LOG_2PI)
    return out


def _shared(posterior, rng, x, own):
    """One covariance: a row's update moves it for all classes; their residuals span few axes."""
    n_draws, (n_classes, p) = len(own), posterior.mean.shape
    r = min(n_classes, p)
    bartlett = np.zeros((n_draws, r, r))
    i, j = np.tril_indices(r, -1)
    bartlett[:, i, j] = rng.standard_normal((n_draws, len(i)))
    degrees = posterior.degrees[0] - np.arange(p) + 1
    diagonal = rng.chisquare(degrees, (n_draws, p))
    bartlett[:, np.arange(r), np.arange(r)] = np.sqrt(diagonal[:, :r])
    normal = rng.standard_normal((n_draws, n_classes, r))
    rest = rng.chisquare(p - r, (n_draws, n_classes)) if p > r else np.zeros((n_draws, n_classes))
    matrices = posterior.covariance_rows[:, None, None] * posterior.scale
    inverse, log_det = inverse_factors(matrices)
    residual = (x[:, None] - posterior.mean) @ inverse[0].T
    gram = residual @ np.swapaxes(residual, 1, 2)
    out = np.empty((*own.shape, n_classes))
    for c in range(n_classes):
        share = posterior.mean_rows[c] / (posterior.mean_rows[c] + 1)
        worth = posterior.mean_rows + (np.arange(n_classes) == c)
        # class c's mean moves to the row by 1 / (rows + 1); Psi gains share d d'
        shrink = np.where(np.arange(n_classes) == c, share, 1.0)
        cross, q = gram[:, c], gram[:, c, c]
        updated = (
            gram - (share / (1 + share * q))[:, None, None] * cross[:, :, None] * cross[:, None]
        )
        updated *= shrink[:, None] * shrink
        values, vectors = np.linalg.eigh(updated)
        roots = vectors[..., -r:] * np.sqrt(np.maximum(values[..., None, -r:], 0.0))
        spread = log_det[0] + np.log1p(share * q)
        mine = own == c
        draw, row = np.nonzero(mine)
        projected = np.einsum("ska,sab->skb", roots[row], bartlett[draw])
        noise = projected + normal[draw] / np.sqrt(worth)[:, None]
        distance = (noise**2).sum(-1) + rest[draw] / worth
        log_wishart = np.log(diagonal).sum(-1)[draw, None]
        out[draw, row] = 0.5 * (log_wishart - spread[row, None] - distance - p * LOG_2PI)
    return out
