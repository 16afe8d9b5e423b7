"""Joint tables for the laws."""

import dataclasses

import numpy as np
from case import N_CLASSES, Case, Table, some_classes

from bayesgen.likelihoods import JointCategorical, Likelihood

LEVELS = (2, 3, 2)
CELLS = 12


def some_cells(rng: np.random.Generator, n: int) -> Table:
    """Return columns of 2, 3 and 2 levels that depend on each other.

    Many rows are spread evenly: the likelihood then has its top inside the simplex.
    """
    y = some_classes(rng, n)
    probs = np.random.default_rng(3).dirichlet(np.full(CELLS, 3.0), N_CLASSES)
    cell = np.array([rng.choice(CELLS, p=probs[k]) for k in y], dtype=int)
    even = np.arange(n // (CELLS * N_CLASSES) * CELLS * N_CLASSES)
    y[even], cell[even] = even // CELLS % N_CLASSES, even % CELLS
    return np.stack(np.unravel_index(cell, LEVELS), axis=1), y


def level_line(x: np.ndarray, j: int) -> tuple[np.ndarray, np.ndarray]:
    """Return all levels of a column."""
    return np.arange(LEVELS[j]), np.ones(LEVELS[j])


def other_levels(x: np.ndarray, prior: Likelihood) -> tuple[np.ndarray, Likelihood]:
    """Return the levels of each column in reversed order: codes are names, no numbers."""
    flipped = np.where(x < 0, x, np.array(LEVELS) - 1 - x)
    if not isinstance(prior.probs, np.ndarray):
        return flipped, prior
    table = prior.probs.reshape(-1, *LEVELS)[:, ::-1, ::-1, ::-1]
    return flipped, dataclasses.replace(prior, probs=table.reshape(-1, CELLS))


WORTH = np.array([6.0, 10.0, 3.0])
PROBS = np.random.default_rng(4).dirichlet(np.full(CELLS, 5.0), N_CLASSES)

TABLES = {
    "JointCategorical": Case(
        JointCategorical(probs=PROBS, rows=WORTH),
        JointCategorical(),
        some_cells,
        -1,
        level_line,
        other_levels,
        LEVELS,
    ),
    "JointCategorical laplace": Case(
        JointCategorical.laplace(1),
        JointCategorical(rows=WORTH),
        some_cells,
        -1,
        level_line,
        other_levels,
        LEVELS,
    ),
}
