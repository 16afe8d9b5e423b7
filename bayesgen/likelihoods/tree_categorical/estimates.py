"""Point estimates of trees of levels: tables given a forest, and the tree of Chow and Liu."""

import numpy as np
from jaxtyping import Float

from bayesgen.likelihoods import forest_sums
from bayesgen.likelihoods.base import Repair
from bayesgen.likelihoods.dirichlet import segments
from bayesgen.likelihoods.forest_sums import Parents
from bayesgen.likelihoods.tree_categorical import parameters
from bayesgen.typing import Params

Tables = Float[np.ndarray, "class level level"]
Probs = Float[np.ndarray, "class level"]
Levels = tuple[int, ...]


def given_forest(weight: Tables, parent: Parents, guess: Probs, n_levels: Levels) -> Params:
    """Return tables in proportion to the weights of pairs of levels, singles on the diagonal.

    Where a parent's level has no weight, its children have their own probabilities; where they have
    no weight at all, those of the guess.
    """
    wide = segments(n_levels)
    single = np.diagonal(weight, axis1=-2, axis2=-1)
    totals = (single @ wide) @ wide.T
    alone = np.divide(single, totals, out=guess.copy(), where=totals > 0)
    table = parameters.gathered(weight, parent, n_levels)
    return parameters.class_probabilities(table, parent, n_levels, alone)


def maximum_likelihood(
    count: Tables, concentration: Tables, guess: Probs, n_levels: Levels
) -> tuple[Params, list[Repair]]:
    """Return the tree of greatest mutual information and relative frequencies given it.

    A class without a row takes the pooled ones, and those of the guess where there is no row.
    """
    empty = ~count.any(axis=(-2, -1))
    pooled = count.sum(axis=0)
    pooled = pooled if pooled.any() else concentration.mean(axis=0)
    count = np.where(empty[:, None, None], pooled, count)
    findings = [Repair("pooled", int(k)) for k in np.flatnonzero(empty)]
    parent = forest_sums.heaviest(_information(count, n_levels), whole=True)
    return given_forest(count, parent, guess, n_levels), findings


def _information(count: Tables, n_levels: Levels) -> np.ndarray:
    """Return rows times the mutual information of each pair of columns."""
    wide, single = segments(n_levels), np.diagonal(count, axis1=-2, axis2=-1)
    n = (single @ wide).max(axis=-1, initial=0.0)[:, None, None]
    expected = single[..., :, None] * single[..., None, :]
    ratio = np.divide(count * n, expected, out=np.ones_like(count), where=count > 0)
    return wide.T @ (count * np.log(ratio)) @ wide
