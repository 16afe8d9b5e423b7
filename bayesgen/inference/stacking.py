"""Stacking: weights of class probabilities of several posteriors, and weighted means of these.

The weights are those of the best prediction. Where members differ, one of them is nearer to the
truth than their mean; `probabilities_of` says which.

Source: Wolpert (1992), Neural Networks 5, 241-259; Yao, Vehtari, Simpson and Gelman (2018),
Bayesian Analysis 13, 917-1007.
"""

import numpy as np
from jaxtyping import Float, Int

from bayesgen.likelihoods.special_functions import log_sum_exp
from bayesgen.optimize import mixture_weights
from bayesgen.typing import Joint, Weights

PRIOR_ROWS = 2.0
"""Strength of the prior of even weights, in rows. With 1 to 4 the mean log loss of 14 tables is
flat at any size; 2 is best with 24 rows, where single weights come from little."""
EM_STEPS = 1000
REPLICATES = 500
"""Bayesian bootstraps of the rows."""


def weights_of(
    log_proba: Float[np.ndarray, "member row"],
    weight: Weights,
    prior_rows: Float[np.ndarray, " member"] | None = None,
) -> Float[np.ndarray, " member"]:
    """Return the mode of sum_i weight_i log sum_m w_m P_m(y_i) + (2/M) sum_m log w_m.

    The prior is Dirichlet(1 + 2/M), two rows in all, so every weight stays positive.

    Args:
        log_proba: log P_m(y_i given x_i, the rows without i); -inf where a member rules it out.
        weight: of the rows.
        prior_rows: strength of the prior of each member, in rows; None: 2/M of each.
    """
    size = len(log_proba)
    prior = np.full(size, PRIOR_ROWS / size) if prior_rows is None else prior_rows
    with np.errstate(invalid="ignore"):
        odds = np.exp(log_proba - log_proba.max(axis=0))
    odds = np.where(np.isnan(odds), 1.0, odds)  # a row that every member rules out has no effect
    return mixture_weights(odds, weight, prior, steps=EM_STEPS)


def probabilities_of(
    log_proba: Float[np.ndarray, "member row"],
    weight: Weights,
    prior: Float[np.ndarray, " member"],
) -> Float[np.ndarray, " member"]:
    """Return the probability of each member that, of all, it describes the rows best (pseudo-BMA+).

    P(m) is proportional to prior_m exp(sum_i weight_i log P_m(y_i)), averaged over Bayesian
    bootstraps of the rows, whose sums are drawn from the normal distribution of their mean and
    covariance: copies of a row and its weight are then the same.

    Args:
        log_proba: log P_m(y_i given x_i, the rows without i); -inf where a member rules it out.
        weight: of the rows.
        prior: probability of each member.

    Examples:
        >>> log_proba = np.log([[0.9] * 50, [0.8] * 50, [0.5] * 50])
        >>> probabilities_of(log_proba, np.ones(50), np.array([0.2, 0.4, 0.4])).round(3).tolist()
        [0.994, 0.006, 0.0]
    """
    # a row that every member rules out has no effect
    possible = (weight > 0) & ~np.isneginf(log_proba).all(axis=0)
    logs, weight = log_proba[:, possible], weight[possible]
    able = ~np.isneginf(logs).any(axis=1)
    if not able.any() or not weight.sum():
        return prior
    logs = logs[able] - logs[able].mean(axis=0)
    total = weight.sum()
    mean = logs @ weight / total
    away = logs - mean[:, None]
    covariance = (away * weight) @ away.T / total
    values, vectors = np.linalg.eigh(total * covariance)
    # the symmetric root changes little if eigenvalues are nearly equal
    root = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
    noise = np.random.default_rng(0).standard_normal((REPLICATES, len(root)))
    score = total * mean + noise @ root + np.log(prior[able])
    share = np.exp(score - score.max(axis=1, keepdims=True))
    out = np.zeros(len(prior))
    out[able] = (share / share.sum(axis=1, keepdims=True)).mean(axis=0)
    return out


def stacked(
    log_proba: Float[np.ndarray, "member row class"], weights: Float[np.ndarray, " member"]
) -> Joint:
    """Return log of the weighted mean of class probabilities, shape (row, class)."""
    with np.errstate(divide="ignore"):
        return log_sum_exp(np.log(weights)[:, None, None] + log_proba, axis=0)


def dealt(weights: Float[np.ndarray, " member"], n: int) -> Int[np.ndarray, " member"]:
    """Return n split in proportion to weights; the largest remainders are rounded up.

    Examples:
        >>> dealt(np.array([0.5, 0.3, 0.2]), 9).tolist()
        [4, 3, 2]
    """
    wanted = weights / weights.sum() * n
    counts = np.floor(wanted).astype(int)
    counts[np.argsort(counts - wanted, kind="stable")[: n - counts.sum()]] += 1
    return counts
