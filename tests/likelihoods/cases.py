"""The likelihoods under test, one row each: what the laws need to know of a family.

Hyperparameters differ by class and column wherever a family lets them: an index that is mixed up
then shows.
"""

import dataclasses

import numpy as np
from case import N_CLASSES, Case, Table, some_classes
from cases_rows import ROWS
from cases_table import TABLES
from cases_words import WORDS

from bayesgen.likelihoods import (
    Bernoulli,
    Categorical,
    Likelihood,
    MultivariateNormal,
    Normal,
    Poisson,
)

LEVELS = (2, 3, 5)
UNITS, ORIGIN = np.array([1.0, 2.0, 10.0]), np.array([0.0, 5.0, -400.0])
MIX = np.array([[1.0, 0.0, 0.0], [0.6, 0.8, 0.0], [-0.3, 0.5, 0.9]])


def some_numbers(rng: np.random.Generator, n: int) -> Table:
    """Return three correlated columns of different units, the last one far from zero."""
    y = some_classes(rng, n)
    means = np.array([[0.0, 1.0, 0.5], [1.5, 0.0, 0.0], [-1.0, 0.5, -1.0]])
    spread = np.array([0.7, 1.0, 1.6])[y, None]
    return (means[y] + spread * rng.standard_normal((n, 3)) @ MIX.T) * UNITS + ORIGIN, y


def some_levels(rng: np.random.Generator, n: int) -> Table:
    """Return columns of 2, 3 and 5 levels."""
    y = some_classes(rng, n)
    probs = [
        np.random.default_rng(size).dirichlet(np.full(size, 4.0), N_CLASSES) for size in LEVELS
    ]
    return np.stack([[rng.choice(len(p[k]), p=p[k]) for k in y] for p in probs], axis=1), y


def some_answers(rng: np.random.Generator, n: int) -> Table:
    """Return three columns of 0 and 1."""
    y = some_classes(rng, n)
    prob = np.array([[0.2, 0.7, 0.5], [0.6, 0.4, 0.5], [0.5, 0.3, 0.8]])
    return (rng.random((n, 3)) < prob[y]).astype(float), y


def some_counts(rng: np.random.Generator, n: int) -> Table:
    """Return three columns of counts."""
    y = some_classes(rng, n)
    rate = np.array([[0.5, 2.0, 4.0], [1.5, 2.5, 1.0], [3.0, 0.7, 2.0]])
    return rng.poisson(rate[y]).astype(float), y


def number_line(x: np.ndarray, j: int) -> tuple[np.ndarray, np.ndarray]:
    """Return nodes and weights of a quadrature over all numbers: Gauss-Legendre in t/(1 - t^2)."""
    t, weight = np.polynomial.legendre.leggauss(200)
    centre, spread = np.nanmean(x[:, j]), 2 * np.nanstd(x[:, j])
    return centre + spread * t / (1 - t**2), weight * spread * (1 + t**2) / (1 - t**2) ** 2


def level_line(x: np.ndarray, j: int) -> tuple[np.ndarray, np.ndarray]:
    """Return all levels of a column."""
    return np.arange(LEVELS[j]), np.ones(LEVELS[j])


def answer_line(x: np.ndarray, j: int) -> tuple[np.ndarray, np.ndarray]:
    """Return 0 and 1."""
    return np.array([0.0, 1.0]), np.ones(2)


def count_line(x: np.ndarray, j: int) -> tuple[np.ndarray, np.ndarray]:
    """Return counts so far out that what is left has no weight."""
    return np.arange(200.0), np.ones(200)


def other_counts(x: np.ndarray, prior: Likelihood) -> tuple[np.ndarray, Likelihood]:
    """Return the same: a count has one unit."""
    return x, prior


def other_numbers(x: np.ndarray, prior: Likelihood) -> tuple[np.ndarray, Likelihood]:
    """Return columns in other units, one of them upside down, and the guesses in these units."""
    a, b = np.array([2.5, -0.1, 60.0]), np.array([-3.0, 7.0, 100.0])
    change = {"mean": lambda m: m * a + b, "variance": lambda v: v * a**2}
    change["scale"] = lambda s: s * a[:, None] * a
    stated = {name: getattr(prior, name, None) for name in change}
    moved = {n: change[n](value) for n, value in stated.items() if value is not None}
    return x * a + b, dataclasses.replace(prior, **moved)


def other_levels(x: np.ndarray, prior: Likelihood) -> tuple[np.ndarray, Likelihood]:
    """Return the levels of each column in reversed order: codes are names, no numbers."""
    flipped = np.where(x < 0, x, np.array(LEVELS) - 1 - x)
    if not isinstance(prior.probs, np.ndarray):
        return flipped, prior
    parts = np.split(prior.probs, np.cumsum(LEVELS)[:-1], axis=1)
    probs = np.concatenate([part[:, ::-1] for part in parts], axis=1)
    return flipped, dataclasses.replace(prior, probs=probs)


def other_answers(x: np.ndarray, prior: Likelihood) -> tuple[np.ndarray, Likelihood]:
    """Return the answers to the opposite questions."""
    prob = None if prior.prob is None else 1 - prior.prob
    return 1 - x, dataclasses.replace(prior, prob=prob)


MEAN = np.array([[0.1, 4.0, -405.0], [1.0, 5.0, -400.0], [-0.5, 6.0, -395.0]])
WORTH = np.array([[0.5, 1.0, 2.0], [1.5, 0.7, 1.0], [1.0, 2.0, 0.4]])
SCALE = np.array([[1.0, 0.5, 1.0], [0.5, 4.0, -3.0], [1.0, -3.0, 100.0]])
JOINT = {"mean": MEAN, "mean_rows": np.array([0.5, 1.0, 2.0])}
VARIANCE = np.array([[1.0, 5.0, 90.0], [0.8, 4.0, 120.0], [2.0, 6.0, 150.0]])
RATE = np.array([[0.7, 2.0, 3.0], [1.5, 2.5, 1.0], [3.0, 1.0, 2.0]])
SCALES = SCALE * np.array([1.0, 0.7, 1.8])[:, None, None]
PROBS = np.array(
    [
        [0.3, 0.7, 0.2, 0.3, 0.5, 0.1, 0.2, 0.2, 0.3, 0.2],
        [0.5, 0.5, 0.4, 0.3, 0.3, 0.2, 0.2, 0.2, 0.2, 0.2],
        [0.8, 0.2, 0.1, 0.6, 0.3, 0.3, 0.1, 0.4, 0.1, 0.1],
    ]
)
PROB = np.array([[0.3, 0.5, 0.6], [0.5, 0.4, 0.2], [0.7, 0.5, 0.5]])

NUMBERS = (some_numbers, np.nan, number_line, other_numbers)
LEVEL = (some_levels, -1, level_line, other_levels, LEVELS)
ANSWER = (some_answers, np.nan, answer_line, other_answers)

CASES = {
    "Normal": Case(
        Normal(mean=MEAN, mean_rows=WORTH, variance=VARIANCE, variance_rows=4 * WORTH),
        Normal(),
        *NUMBERS,
    ),
    "Normal shared": Case(
        Normal(
            mean=MEAN,
            mean_rows=WORTH,
            variance=VARIANCE[0],
            variance_rows=4 * WORTH[0],
            spread="shared",
        ),
        Normal(spread="shared"),
        *NUMBERS,
    ),
    "MultivariateNormal": Case(
        MultivariateNormal(**JOINT, scale=SCALES, covariance_rows=np.array([3.0, 4.0, 6.0])),
        MultivariateNormal(),
        *NUMBERS,
    ),
    "MultivariateNormal shared": Case(
        MultivariateNormal("shared", **JOINT, scale=SCALE, covariance_rows=3.0),
        MultivariateNormal("shared"),
        *NUMBERS,
    ),
    "MultivariateNormal lkj": Case(
        MultivariateNormal(**JOINT, scale=SCALES, prior="lkj", concentration=2.0),
        MultivariateNormal(prior="lkj"),
        *NUMBERS,
    ),
    "Categorical": Case(
        Categorical(probs=PROBS, rows=4 * WORTH), Categorical.m_estimate(3), *LEVEL
    ),
    "Categorical laplace": Case(Categorical.laplace(1), Categorical(), *LEVEL),
    "Poisson": Case(
        Poisson(rate=RATE, rows=WORTH),
        Poisson(),
        some_counts,
        np.nan,
        count_line,
        other_counts,
    ),
    "Bernoulli": Case(Bernoulli(prob=PROB, rows=4 * WORTH), Bernoulli(), *ANSWER),
}
CASES |= ROWS | TABLES | WORDS
CLOSED = {name: case for name, case in CASES.items() if case.prior.conjugate}
UNTOLD = {name for name in ROWS if name.startswith("KernelDiscriminant")}
TOLD = {n: c for n, c in CASES.items() if "story" not in c.exempt and n not in UNTOLD}
"""Those with a NumPyro program; kernels at rows are averaged over without one."""
