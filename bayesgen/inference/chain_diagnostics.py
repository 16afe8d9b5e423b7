"""Diagnostics of draws: agreement of chains, and Monte Carlo error of posterior means."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.special import expit, logit, ndtri

from bayesgen.typing import Joint

R_HAT_LIMIT = 1.02
ESS_PER_CHAIN = 50
"""Limits of convergence. Vehtari et al. (2021) recommend r_hat below 1.01 and 100 effective draws a
chain to report quantiles; class probabilities need means, for which half of that is enough."""

BATCHES = 50
"""Batches of successive draws, whose means show how far an average over draws may be off."""

Sums = Float[np.ndarray, "row class batch"]
ByValue = Float[np.ndarray, "value chain draw"]


def chain_diagnostics(draws: Float[np.ndarray, "chain draw value"]) -> dict[str, float]:
    """Return the largest r_hat and the smallest effective sample size (see `agreement`).

    Quantities that do not vary have no r_hat: leave them out.
    """
    if not draws.shape[-1]:
        return {"r_hat": 1.0, "ess": float(np.prod(draws.shape[:2]))}
    r_hat, ess = agreement(draws)
    return {"r_hat": float(np.max(r_hat)), "ess": float(np.min(ess))}


def agreement(
    draws: Float[np.ndarray, "chain draw value"],
) -> tuple[Float[np.ndarray, " value"], Float[np.ndarray, " value"]]:
    """Return the rank-normalized split r_hat and the bulk effective sample size of each quantity.

    Chains are split in halves, so that a single chain has an r_hat too. It is NaN for a constant
    quantity. With fewer than four draws both are NaN.

    Source: Vehtari, Gelman, Simpson, Carpenter and Buerkner (2021); sizes are computed by arviz.
    """
    half = draws.shape[1] // 2
    if half < 2:
        return np.full(draws.shape[2], np.nan), np.full(draws.shape[2], np.nan)
    from arviz_stats.base import array_stats

    # ranks along the last axis take half the time; arviz has no r_hat of a single chain
    every = np.moveaxis(draws, 2, 0)
    halves = np.concatenate([every[:, :, :half], every[:, :, -half:]], axis=1)
    scores = _normal_scores(halves)
    folded = np.abs(halves - np.median(halves, axis=(1, 2), keepdims=True))
    # distances may not vary where draws do
    r_hat = np.fmax(_r_hat(scores), _r_hat(_normal_scores(folded)))
    return r_hat, array_stats.ess(every, chain_axis=1, draw_axis=2, method="bulk")


def has_converged(details: dict[str, float], chains: int) -> bool:
    """Return whether r_hat and effective sample size are within the limits."""
    return details["r_hat"] <= R_HAT_LIMIT and details["ess"] >= ESS_PER_CHAIN * chains


def smoothed_weights(
    log_weight: Float[np.ndarray, "draw independent"],
) -> tuple[Float[np.ndarray, "draw independent"], Float[np.ndarray, " independent"]]:
    """Return Pareto smoothed importance weights, which sum to 1, and the tail shapes k.

    Equal weights stay as they are; their k is 0.

    Source: Vehtari, Simpson, Gelman, Yao and Gabry (2024), computed by arviz.
    """
    from arviz_stats.base import array_stats

    n, n_sets = log_weight.shape
    weight, pareto_k = np.full((n, n_sets), 1 / n), np.zeros(n_sets)
    varies = np.ptp(log_weight, axis=0) > 0
    if varies.any():
        # arviz takes logarithms of reciprocals
        smoothed, pareto_k[varies] = array_stats.psislw(-log_weight[:, varies].T, axis=-1)
        weight[:, varies] = np.exp(smoothed).T
    return weight, pareto_k


def reliable_k(n_draws: int) -> float:
    """Return the tail shape up to which averages over so many weighted draws are reliable."""
    return min(1 - 1 / np.log10(n_draws), 0.7)


def disagreement(chains: int) -> str:
    """Return the message for chains that disagree."""
    who = "The halves of the chain" if chains == 1 else "The chains"
    return f"{who} do not agree yet"


def _normal_scores(draws: ByValue) -> ByValue:
    from scipy.stats import rankdata

    ranks = rankdata(draws.reshape(len(draws), -1), axis=1)
    return ndtri((ranks - 0.375) / (ranks.shape[1] + 0.25)).reshape(draws.shape)


def _r_hat(draws: ByValue) -> Float[np.ndarray, " value"]:
    within = draws.var(axis=2, ddof=1).mean(axis=1)
    between = draws.mean(axis=2).var(axis=1, ddof=1)
    # chains that stand still, each at a value of its own, have an infinite r_hat; at one value NaN
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.sqrt(between / within + 1 - 1 / draws.shape[2])


# -- averages over draws, row by row -------------------------------------------------------------
#
# Far from the data the few draws of highest density dominate the average: it is too low until they
# have been drawn, by an amount that the spread of the others does not show. Averages over batches,
# a fiftieth of the draws each, are too low by more: the gain of the logarithm from a batch to all
# draws estimates the gain still to come (on 36,264 rows whose answer was computed exactly, the
# median of the ratio was between 0.3 and 1.6 wherever the gain was above 1).


class MonteCarloError(NamedTuple):
    """Monte Carlo error of each row's average over draws.

    probability: of a class probability, the largest of the classes'.
    sample_size: effective number of draws of the density, classes summed out.
    """

    probability: Float[np.ndarray, " row"]
    sample_size: Float[np.ndarray, " row"]


def batch_starts(n_draws: int) -> np.ndarray:
    """Return the first draw of each batch of successive draws, of nearly equal sizes."""
    n = min(BATCHES, n_draws)
    return np.arange(n) * n_draws // n


def monte_carlo_error(sums: Sums, top: Joint, proba: Joint, n_draws: int) -> MonteCarloError:
    """Return the Monte Carlo error of averages over draws.

    That of a probability is the larger of two standard errors of a ratio of averages, by batch
    means (which account for autocorrelation), and of its change if the joint of its class gained
    as much again as from a batch to all draws.

    Source: Geweke (1989), Econometrica 57, 1317-1339 (ratios); Flegal and Jones (2010), Annals of
    Statistics 38, 1034-1070 (batch means).

    Args:
        sums: over the draws of each batch of p(x, y = k given theta) / exp(top).
        top: log scale of each class, (row, class).
        proba: class probabilities from the averages.
        n_draws: number of draws.
    """
    n, sizes = sums.shape[2], np.diff(np.append(batch_starts(n_draws), n_draws))
    total = sums.sum(axis=2)
    # NaN below: a class, or a row, that is impossible under every draw has no error
    with np.errstate(divide="ignore", invalid="ignore"):
        gain = np.log(total / n_draws) - np.log(sums / sizes).mean(axis=2)
        gained = expit(logit(proba) + gain)
        best = np.where(total > 0, top, -np.inf).max(axis=1)[:, None]
        share = np.where(total > 0, np.exp(top - best), 0.0)
        evidence = np.einsum("rk,rkb->rb", share, sums)
        whole = evidence.sum(axis=1)[:, None]
        # the sum over batches of (joint - proba evidence)^2, multiplied out
        own = np.einsum("rkb,rkb->rk", sums, sums)
        with_all = np.einsum("rkb,rb->rk", sums, evidence)
        every = np.einsum("rb,rb->r", evidence, evidence)[:, None]
        off = share**2 * own - 2 * share * proba * with_all + proba**2 * every
        error = np.sqrt(np.maximum(off, 0.0) * (n / (n - 1))) / whole
        away = evidence / whole - sizes / n_draws
        size = (n - 1) / n / (away**2).sum(axis=1)
        worst = np.fmax(2 * error, gained - proba).max(axis=1)
    return MonteCarloError(np.nan_to_num(worst), np.minimum(size, n_draws))
