"""Powers of a likelihood, learned by leave-one-out, for redundant features.

A row of p dependent features carries less information than one of p independent features, and a
model that treats them as independent counts the same evidence several times. Raising p(x given y)
to a power eta between 0 and 1 counts it less; the class prior stays as it is (the coarsened
likelihood of Miller and Dunson 2019, Journal of the American Statistical Association 114,
1113-1125, by class).
"""

from collections.abc import Iterator

import numpy as np
from jaxtyping import Float

from bayesgen.arguments import is_number
from bayesgen.errors.arguments import out_of_range
from bayesgen.inference.class_draws import CACHED_FLOATS
from bayesgen.inference.scores import LogClasses, normalized
from bayesgen.likelihoods.base import row_chunks
from bayesgen.membership import expected
from bayesgen.typing import Joint, Membership, Weights

POWERS = np.concatenate([np.geomspace(0.1, 1.0, 24), np.geomspace(1.0, 2.0, 8)[1:]])
"""The powers that are averaged over by default: evenly spaced logarithms."""
BEYOND = 10 ** (np.arange(1, 8) / 23)
"""Factors that extend the grid of powers at an end, as evenly: to about twice or half of it."""
PREFERRED = 0.01
"""Weight of the first or last power above which the grid is extended beyond it. With few rows,
which hardly distinguish a power of 0.1 from one of 0.2, the grid stays as it is."""

NEGLIGIBLE = 1e-6
"""Weight of a power below which it is left out."""

Powers = Float[np.ndarray, " power"]


def trust(powers: Powers) -> Powers:
    """Return the prior weights of powers: even up to 1, then falling as the fourth power.

    Models seldom undercount evidence, so powers above 1 require support from many rows.
    """
    return np.where(powers <= 1, powers, powers**-4)


def learned_powers(
    log_classes: LogClasses, log_joint: Joint, y: Membership, weight: Weights
) -> tuple[Powers, Powers]:
    """Return powers and their weights, proportional to prior weight times exp(sum of log P(y_i)).

    The grid is extended at either end while that end is preferred: thirty copies of a column
    require 1/30. This terminates, because scores are bounded (below by that of the class prior,
    above by 0) and prior weights decrease to 0.

    log_joint: of each row given the others; log_classes: log P(y = k) within it.
    """

    def scores_of(powers: Powers) -> Powers:
        logs = np.empty((len(powers), len(y)))
        for rows, log_proba in power_log_proba(log_classes, log_joint, powers):
            logs[:, rows] = expected(log_proba, y[rows])
        # a row whose class is impossible without it is so under every power
        return np.where(np.isneginf(logs), 0.0, logs) @ weight

    powers, scores = POWERS, scores_of(POWERS)
    while True:
        share = trust(powers) * np.exp(scores - scores.max())
        share /= share.sum()
        lower, higher = share[[0, -1]] > PREFERRED
        if not (lower or higher):
            likely = share > NEGLIGIBLE
            return powers[likely], share[likely] / share[likely].sum()
        below = powers[0] / BEYOND[::-1] if lower else BEYOND[:0]
        above = powers[-1] * BEYOND if higher else BEYOND[:0]
        powers = np.concatenate([below, powers, above])
        scores = np.concatenate([scores_of(below), scores, scores_of(above)])


def stated_powers(power: object) -> tuple[Powers, Powers]:
    """Return one power, the argument temper= of a user, and its weight, 1.

    Raises:
        InvalidArgument: it is not a number above 0.
    """
    if not (is_number(power) and power > 0):
        raise out_of_range(
            "temper", power, "None, 'learn' or a power above 0", "Pass temper='learn'."
        )
    return np.array([float(power)]), np.ones(1)


def power_log_proba(
    log_classes: LogClasses, log_joint: Joint, powers: Powers
) -> Iterator[tuple[slice, Float[np.ndarray, "power row class"]]]:
    """Yield log P(y = k given x), proportional to P(k) p(x given k)^power, by chunks of rows.

    A row impossible under every class has the class prior.
    """
    log_classes, powers = np.broadcast_to(log_classes, log_joint.shape), powers[:, None, None]
    size = CACHED_FLOATS // max(1, powers.size * log_joint.shape[1])
    for rows in row_chunks(len(log_joint), max(1, size)):
        joint, prior = log_joint[rows], log_classes[rows]
        possible = np.isfinite(joint)
        ratio = np.where(possible, joint, 0.0) - np.where(possible, prior, 0.0)
        out = np.where(possible, prior + powers * ratio, -np.inf)
        out = np.where(possible.any(axis=1, keepdims=True), out, prior)
        yield rows, normalized(out)
