"""Whether chains agree, and how many independent draws they are worth."""

import numpy as np
from jaxtyping import Float
from scipy.special import ndtri
from scipy.stats import rankdata

R_HAT_LIMIT = 1.02
ESS_PER_CHAIN = 50
"""Limits of the verdict. Vehtari et al. (2021) ask for r_hat below 1.01 and 100 effective draws a
chain to report quantiles; class probabilities need means, for which half of that is enough."""


ByValue = Float[np.ndarray, "value chain draw"]


def chain_diagnostics(draws: Float[np.ndarray, "chain draw value"]) -> dict[str, float]:
    """Return the largest rank-normalised split r_hat and the smallest bulk effective sample size.

    Halves of chains are held against each other, so that one chain has an r_hat too. A value that
    never varies has none (NaN): its chains stand still. Leave out what cannot vary.

    Source: Vehtari, Gelman, Simpson, Carpenter and Buerkner (2021), the sample size by arviz.
    """
    from arviz_stats.base import array_stats

    if not draws.shape[-1]:
        return {"r_hat": 1.0, "ess": float(np.prod(draws.shape[:2]))}
    ess = array_stats.ess(draws, chain_axis=0, draw_axis=1, method="bulk")
    return {"r_hat": float(np.max(_split_r_hat(draws))), "ess": float(np.min(ess))}


def has_converged(details: dict[str, float], chains: int) -> bool:
    """Return whether r_hat and effective sample size are within the limits."""
    return details["r_hat"] <= R_HAT_LIMIT and details["ess"] >= ESS_PER_CHAIN * chains


def disagreement(chains: int) -> str:
    """Return how a verdict says that draws do not agree."""
    who = "The halves of the chain" if chains == 1 else "The chains"
    return f"{who} do not agree yet"


def _split_r_hat(draws: Float[np.ndarray, "chain draw value"]) -> Float[np.ndarray, " value"]:
    """Return the larger r_hat of ranks, of the draws and of their distances from the median.

    arviz computes the same for two chains and more, and NaN for one. So is that of too few draws.
    """
    half = draws.shape[1] // 2
    if half < 2:
        return np.full(draws.shape[2], np.nan)
    # ranks along the last axis take half the time
    every = np.moveaxis(draws, 2, 0)
    halves = np.concatenate([every[:, :, :half], every[:, :, -half:]], axis=1)
    folded = np.abs(halves - np.median(halves, axis=(1, 2), keepdims=True))
    # distances may not vary where draws do
    return np.fmax(_r_hat(_normal_scores(halves)), _r_hat(_normal_scores(folded)))


def _normal_scores(draws: ByValue) -> ByValue:
    ranks = rankdata(draws.reshape(len(draws), -1), axis=1)
    return ndtri((ranks - 0.375) / (ranks.shape[1] + 0.25)).reshape(draws.shape)


def _r_hat(draws: ByValue) -> Float[np.ndarray, " value"]:
    within = draws.var(axis=2, ddof=1).mean(axis=1)
    between = draws.mean(axis=2).var(axis=1, ddof=1)
    # chains that stand still, each at a value of its own, have an infinite r_hat; at one value NaN
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.sqrt(between / within + 1 - 1 / draws.shape[2])
