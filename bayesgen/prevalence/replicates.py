r"""Replicates of new rows under label shift, and prevalence adjusted so that it cancels in them.

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

from bayesgen.typing import Joint, Labels, Weights

FEWEST, MOST, COUNTS = 1_000, 10_000, 2_000_000
"""Replicates: as many as there are counts of labeled rows for, 16 MB. A p-value times 30 columns is
below .05 if 15 of 10,000 replicates exceed the discrepancy."""
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
