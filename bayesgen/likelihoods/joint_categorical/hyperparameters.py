"""The guess of a joint table: as a user spells it, or from the columns."""

import functools
import math

import numpy as np
from jaxtyping import Float

from bayesgen.errors import InvalidPrior
from bayesgen.likelihoods.base import broadcast_guess
from bayesgen.likelihoods.joint_categorical.statistics import JointStatistics

FAMILY = "JointCategorical"


def cell_probs(stated: object, statistics: JointStatistics) -> Float[np.ndarray, "class cell"]:
    """Return the guess of every cell; None is the product of the columns' overall fractions."""
    shape = statistics.count.shape
    if stated is None:
        guess = functools.reduce(np.multiply.outer, _fractions(statistics)).ravel()
    elif not isinstance(stated, str):
        guess = _flat(np.asarray(stated, dtype=float), shape[0], statistics.n_levels)
    elif stated == "uniform":
        guess = 1.0 / shape[1]
    else:
        raise InvalidPrior.not_probabilities(FAMILY, "probs", stated)
    probs = broadcast_guess(FAMILY, "probs", guess, shape)
    sums = probs.sum(axis=1)
    if not np.allclose(sums, 1.0, rtol=0, atol=1e-8):
        raise InvalidPrior.does_not_sum_to_one(f"{FAMILY}.probs", sums)
    return probs


def never_observed(statistics: JointStatistics) -> tuple[int, ...]:
    """Return the columns that have levels, none of which any row shows."""
    seen = zip(statistics.n_levels, statistics.per_column(), strict=True)
    return tuple(j for j, (n, count) in enumerate(seen) if n and not count.any())


def _fractions(statistics: JointStatistics) -> list[np.ndarray]:
    """Return the fractions of each column; a column never observed has equal ones."""
    counts = statistics.per_column()
    return [c / c.sum() if c.any() else np.full(len(c), 1 / len(c)) for c in counts]


def _flat(
    stated: Float[np.ndarray, "..."], n_classes: int, n_levels: tuple[int, ...]
) -> Float[np.ndarray, "..."]:
    """Return a stated guess with one axis of cells instead of one for each column."""
    if stated.shape in (n_levels, (n_classes, *n_levels)):
        return stated.reshape(-1, math.prod(n_levels))
    return stated
