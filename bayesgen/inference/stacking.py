"""Stacking weights: several posteriors of one table, weighed by rows that they have not seen.

Source: Wolpert (1992), Neural Networks 5, 241-259; Yao, Vehtari, Simpson and Gelman (2018),
Bayesian Analysis 13, 917-1007.
"""

import numpy as np
from jaxtyping import Bool, Float

from bayesgen.typing import Joint, Weights

PRIOR_ROWS = 2.0
"""Strength of the prior of even weights, in rows. With 1 to 4 the mean log loss of 14 tables is
flat at any size; 2 is best with 24 rows, where single weights come from little."""
EM_STEPS = 1000
TOLERANCE = 1e-9


def weights_of(
    log_proba: Float[np.ndarray, "member row"],
    weight: Weights,
    able: Bool[np.ndarray, "row member"] | None = None,
) -> Float[np.ndarray, " member"]:
    """Return the mode of sum_i weight_i log sum_m s_im P_m(y_i) + (2/M) sum_m log w_m.

    s_i are the weights of the members that can answer row i, normalized (`shares`). The prior is
    Dirichlet(1 + 2/M), two rows in all: no member is ever quite left out. Where all members answer
    all rows the steps are those of EM; otherwise minus the log of a sum of weights is bounded by
    its tangent (Hunter 2004, Annals of Statistics 32, 384-406).

    Args:
        log_proba: log P_m(y_i given x_i, the rows without i); -inf where a member rules it out.
        weight: of the rows.
        able: which members can answer a row; None: all.
    """
    size = len(log_proba)
    heard = np.ones(log_proba.shape, dtype=bool) if able is None else _heard(able).T
    scores = np.where(heard, log_proba, -np.inf)
    with np.errstate(invalid="ignore"):
        odds = np.exp(scores - scores.max(axis=0))
    odds = np.where(np.isnan(odds), heard, odds)  # a row that every member rules out has no effect
    out = np.full(size, 1 / size)
    for _ in range(EM_STEPS):
        share = out * (odds @ (weight / (out @ odds))) + PRIOR_ROWS / size
        share /= heard @ (weight / (out @ heard)) + PRIOR_ROWS
        share /= share.sum()
        moved, out = np.abs(share - out).max(), share
        if moved < TOLERANCE:
            break
    return out


def shares(
    weights: Float[np.ndarray, " member"], able: Bool[np.ndarray, "row member"]
) -> Float[np.ndarray, "row member"]:
    """Return the weights of the members that can answer a row, of all where none can."""
    out = _heard(able) * weights
    return out / out.sum(axis=1, keepdims=True)


def _heard(able: Bool[np.ndarray, "row member"]) -> Bool[np.ndarray, "row member"]:
    return able | ~able.any(axis=1, keepdims=True)


def stacked(
    log_proba: Float[np.ndarray, "member row class"], share: Float[np.ndarray, "row member"]
) -> Joint:
    """Return log of the weighted mean of class probabilities, shape (row, class)."""
    with np.errstate(divide="ignore"):
        return np.logaddexp.reduce(np.log(share).T[..., None] + log_proba, axis=0)
