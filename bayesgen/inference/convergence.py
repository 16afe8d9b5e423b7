"""Whether chains agree, and how many independent draws they are worth."""

import numpy as np
from jaxtyping import Float

R_HAT_LIMIT = 1.02
ESS_PER_CHAIN = 50
"""Limits of the verdict. Vehtari et al. (2021) ask for r_hat below 1.01 and 100 effective draws a
chain to report quantiles; class probabilities need means, for which half of that is enough."""


def agreement(draws: Float[np.ndarray, "chain draw value"]) -> dict[str, float]:
    """Return the largest rank-normalised r_hat and the smallest bulk effective sample size.

    Values that never vary, such as the probability of the only level, are in agreement.

    Source: Vehtari, Gelman, Simpson, Carpenter and Buerkner (2021), by arviz.
    """
    from arviz_stats.base import array_stats

    draws = draws[..., np.ptp(draws, axis=(0, 1)) > 0]
    if not draws.shape[-1]:
        return {"r_hat": 1.0, "ess": float(np.prod(draws.shape[:2]))}
    # chains that stand still, each at a value of its own, have an infinite r_hat
    with np.errstate(divide="ignore", invalid="ignore"):
        r_hat = array_stats.rhat(draws, chain_axis=0, draw_axis=1)
        ess = array_stats.ess(draws, chain_axis=0, draw_axis=1, method="bulk")
    return {"r_hat": float(np.max(r_hat)), "ess": float(np.min(ess))}


def agree(details: dict[str, float], chains: int) -> bool:
    """Return whether r_hat and effective sample size are within the limits."""
    return details["r_hat"] <= R_HAT_LIMIT and details["ess"] >= ESS_PER_CHAIN * chains
