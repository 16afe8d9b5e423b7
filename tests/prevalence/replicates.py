r"""Replicates of new rows under label shift: the reference of the p-values of `label_shift`.

Let h(x) be the class probabilities of a row and M_jk the mean of h_j over labeled rows of class k.
Of any first estimate pi the adjusted prevalence of new rows with mean h,

    pi~ = pi + G (mean h - M pi),  G the pseudo-inverse of M,

is linear in the rows, and its expectation under label shift is the true one, right model or wrong
(adjusted classify-and-count: Bella et al. 2010, IEEE ICDM, 737-742; Lipton, Wang and Smola 2018,
ICML, 3122-3130).

A replicate consists of m rows: classes ~ Multinomial(m, draws of pi), and in each class labeled
rows, with shares ~ Dirichlet (the Bayesian bootstrap: Rubin 1981, Annals of Statistics 9, 130-134),
of (n_k - 4) / n_k for each of n_k rows. The mean of many such rows has variance s^2 / (n_k - 3),
s^2 that of the n_k rows, as under Student's t distribution of n_k - 1 degrees of freedom by which
these predict it. With shares of 1 each row it would be a sixth less for 20 rows, and .07 to .10 of
pure shifts of prevalence were found at .05. One more row of 1 stands for what was not seen.
"""

import dataclasses

import numpy as np
from jaxtyping import Float, Int

from bayesgen.inference import log_class_probabilities
from bayesgen.prevalence.cells import Cells, cells_by_column, cells_by_density
from bayesgen.prevalence.label_shift import DENSITY, Populations
from bayesgen.typing import Joint, Labels, Weights

FEWEST, MOST, COUNTS = 1_000, 10_000, 300_000
"""Replicates: as many as there are counts of labeled rows for."""
INDISTINCT = 0.1
"""Singular value of M, relative to the largest, below which classes are too alike for h to tell
their prevalence; there the first estimate stands."""

Proba = Float[np.ndarray, " class"]


@dataclasses.dataclass(frozen=True, eq=False)
class Replicates:
    """Replicates of new rows, and the adjusted prevalence of each and of the new rows.

    rows: how often each labeled row occurs. unseen: how many rows of each class resemble no labeled
    one. prevalence: the first estimate. here: the adjusted one of the new rows. there: the same of
    the replicates.
    """

    rows: Int[np.ndarray, "replicate labeled"]
    unseen: Int[np.ndarray, "replicate class"]
    prevalence: Proba
    here: Proba
    there: Float[np.ndarray, "replicate class"]


def replicated(
    codes: Labels,
    weight: Weights,
    proba: Joint | None,
    new: Joint,
    draws: Float[np.ndarray, "draw class"],
    rng: np.random.Generator,
) -> Replicates:
    """Return replicates of new rows.

    Args:
        codes: classes of the labeled rows.
        weight: of the labeled rows.
        proba: their class probabilities, each from the others; None: unknown, and nothing adjusts.
        new: class probabilities of the new rows.
        draws: of their prevalence.
        rng: random numbers.
    """
    n_rows, n_classes = new.shape
    size = int(np.clip(COUNTS // max(len(codes), 1), FEWEST, MOST))
    pi = draws[rng.integers(len(draws), size=size)]
    of_class = rng.multinomial(n_rows, pi / pi.sum(axis=1, keepdims=True))
    rows = np.zeros((size, len(codes)), dtype=np.int64)
    unseen = np.zeros((size, n_classes), dtype=np.int64)
    for k in range(n_classes):
        own = np.flatnonzero(codes == k)
        n_own = weight[own].sum()
        alpha = np.append(weight[own] * max(n_own - 4, 1) / max(n_own, 1), 1.0)
        share = rng.standard_gamma(alpha, (size, len(alpha)))
        counts = rng.multinomial(of_class[:, k], share / share.sum(axis=1, keepdims=True))
        rows[:, own], unseen[:, k] = counts[:, :-1], counts[:, -1]
    first = draws.mean(axis=0)
    if proba is None:
        return Replicates(rows, unseen, first, first, np.tile(first, (size, 1)))
    means, gain = adjustment(proba, codes, weight, first)
    expected = means @ first
    here = first + gain @ (new.mean(axis=0) - expected)
    there = first + ((rows @ proba + unseen @ means.T) / n_rows - expected) @ gain.T
    return Replicates(rows, unseen, first, here, there)


def adjustment(
    proba: Joint, codes: Labels, weight: Weights, prevalence: Proba
) -> tuple[Float[np.ndarray, "class_predicted class"], Float[np.ndarray, "class class_predicted"]]:
    """Return M, the mean class probabilities of labeled rows by class, and G, its pseudo-inverse.

    Args:
        proba: of the labeled rows, each from the others.
        codes: their classes.
        weight: of the rows.
        prevalence: a first estimate; classes of 0 stay so.
    """
    means, able = class_means(proba, codes, weight), prevalence > 0
    gain = np.zeros_like(means)
    gain[able] = np.linalg.pinv(means[:, able], rcond=INDISTINCT)
    return means, gain


def class_means(
    proba: Joint, codes: Labels, weight: Weights
) -> Float[np.ndarray, "class_predicted class"]:
    """Return the mean class probabilities of each class; certainty for one without rows."""
    sums, counts = np.eye(proba.shape[1]), np.bincount(codes, weight, minlength=proba.shape[1])
    for k in np.flatnonzero(counts):
        sums[:, k] = weight[codes == k] @ proba[codes == k] / counts[k]
    return sums


def p_values_of_replicates(
    populations: Populations,
    left_out: Joint,
    fitted: Joint,
    new: Joint,
    draws: Float[np.ndarray, "draw class"],
) -> dict[object, float]:
    """Return p-values by column and of log p(x); arguments as of `table_of_shift`.

    Discrepancies are compared with those of replicates, adjusted likewise: a predictive check
    (Gelman, Meng and Stern 1996, Statistica Sinica 6, 733-807) that estimates again. Replicates
    that keep the estimate of the rows vary more than these do about what is expected: of pure
    shifts of prevalence .02 and less were found at .05.
    """
    prior, rng = np.log(draws.mean(axis=0)), np.random.default_rng(0)
    proba, here = (np.exp(log_class_probabilities(x, prior)) for x in (left_out, new))
    others = replicated(populations.codes, populations.weight, proba, here, draws, rng)
    cells = cells_by_column(populations.labeled, populations.new)
    cells[DENSITY] = cells_by_density(left_out, new, fitted)
    return {name: _p_value(*pair, populations, others, rng) for name, pair in cells.items()}


def _p_value(
    own: Cells, new: Cells, labeled: Populations, others: Replicates, rng: np.random.Generator
) -> float:
    n_cells, n_rows = int(max(own.max(), new.max())) + 1, len(new)
    phi = np.full((len(others.prevalence), n_cells), 1 / n_cells)
    np.add.at(phi, (labeled.codes, own), labeled.weight)
    phi /= phi.sum(axis=1, keepdims=True)

    counts = others.rows @ np.eye(n_cells)[own]
    counts += rng.multinomial(others.unseen.sum(axis=1), np.full(n_cells, 1 / n_cells))
    counts = np.concatenate([np.bincount(new, minlength=n_cells)[None], counts])
    expected = n_rows * np.concatenate([others.here[None], others.there]) @ phi
    scale = n_rows * others.prevalence @ phi
    here, *there = ((counts - expected) ** 2 / scale).sum(axis=1).tolist()
    return (1 + sum(other >= here for other in there)) / (1 + len(there))
