"""Small joint tables of incomplete rows; the likelihood of what rows show, one by one."""

import itertools

import numpy as np

from bayesgen.likelihoods import JointCategorical

LEVELS, CELLS, K = (2, 3), 6, 2
PROBS = np.array([[0.3, 0.1, 0.1, 0.2, 0.2, 0.1], [0.1, 0.2, 0.3, 0.1, 0.1, 0.2]])
PRIOR = JointCategorical(probs=PROBS, rows=np.array([4.0, 6.0]))
CODES = np.array(list(itertools.product(range(2), range(3))))
"""The levels of each cell."""


def fitting(x):
    """Return which cells each row may lie in, (row, cell)."""
    return ((x[:, None] == CODES) | (x[:, None] < 0)).all(axis=2)


def completed(x, y, weight, prior=PRIOR):
    statistics = prior.statistics(x, y, weight, n_classes=K, n_levels=LEVELS)
    return prior.complete(statistics), statistics


def table(rng, n=60, *, some=0.3):
    """Return incomplete rows, one of them with nothing, their classes and integer weights."""
    x = CODES[rng.integers(CELLS, size=n)]
    x = np.where(rng.random(x.shape) < some, -1, x)
    x[0] = -1
    return x, rng.integers(K, size=n), rng.integers(1, 4, size=n).astype(float)


def log_likelihood(probs, x, y, weight):
    """Return log p(what rows show), row by row."""
    return weight @ np.log((fitting(x) * probs[y]).sum(axis=1))
