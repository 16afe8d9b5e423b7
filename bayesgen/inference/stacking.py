"""Stacking: weights of class probabilities of several posteriors, and weighted means of these.

Source: Wolpert (1992), Neural Networks 5, 241-259; Yao, Vehtari, Simpson and Gelman (2018),
Bayesian Analysis 13, 917-1007.
"""

import numpy as np
from jaxtyping import Bool, Float, Int

from bayesgen.likelihoods.special_functions import log_sum_exp
from bayesgen.optimize import mixture_weights
from bayesgen.typing import Joint, Weights

PRIOR_ROWS = 2.0
"""Strength of the prior of even weights, in rows. With 1 to 4 the mean log loss of 14 tables is
flat at any size; 2 is best with 24 rows, where single weights come from little."""
EM_STEPS = 1000


def weights_of(
    log_proba: Float[np.ndarray, "member row"],
    weight: Weights,
    able: Bool[np.ndarray, "row member"] | None = None,
    prior_rows: Float[np.ndarray, " member"] | None = None,
) -> Float[np.ndarray, " member"]:
    """Return the mode of sum_i weight_i log sum_m s_im P_m(y_i) + (2/M) sum_m log w_m.

    s_i are the normalized weights of the members that can predict row i (`shares`). The prior is
    Dirichlet(1 + 2/M), two rows in all, so every weight stays positive.

    Args:
        log_proba: log P_m(y_i given x_i, the rows without i); -inf where a member rules it out.
        weight: of the rows.
        able: which members can predict a row; None: all.
        prior_rows: strength of the prior of each member, in rows; None: 2/M of each.
    """
    size = len(log_proba)
    prior = np.full(size, PRIOR_ROWS / size) if prior_rows is None else prior_rows
    heard = np.ones(log_proba.shape, dtype=bool) if able is None else heard_members(able).T
    scores = np.where(heard, log_proba, -np.inf)
    with np.errstate(invalid="ignore"):
        odds = np.exp(scores - scores.max(axis=0))
    odds = np.where(np.isnan(odds), heard, odds)  # a row that every member rules out has no effect
    masks = None if able is None else heard
    return mixture_weights(odds, weight, prior, masks, steps=EM_STEPS)


def shares(
    weights: Float[np.ndarray, " member"], able: Bool[np.ndarray, "row member"]
) -> Float[np.ndarray, "row member"]:
    """Return normalized weights of the members that can predict each row, of all if none can."""
    out = heard_members(able) * weights
    return out / out.sum(axis=1, keepdims=True)


def heard_members(able: Bool[np.ndarray, "*row member"]) -> Bool[np.ndarray, "*row member"]:
    """Return which members predict each row: those that can, or all if none can."""
    return able | ~able.any(axis=-1, keepdims=True)


def stacked(
    log_proba: Float[np.ndarray, "member row class"], share: Float[np.ndarray, "row member"]
) -> Joint:
    """Return log of the weighted mean of class probabilities, shape (row, class)."""
    with np.errstate(divide="ignore"):
        return log_sum_exp(np.log(share).T[..., None] + log_proba, axis=0)


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


def from_able(
    parts: Float[np.ndarray, "*row member class"], able: Bool[np.ndarray, "*#row member"]
) -> Float[np.ndarray, "*row member class"]:
    """Return parts with the mean of the able members in place of those of the others."""
    if able.all():
        return parts
    heard = heard_members(able)[..., None]
    mean = np.where(heard, parts, 0.0).sum(axis=-2, keepdims=True)
    return np.where(heard, parts, mean / heard.sum(axis=-2, keepdims=True))
