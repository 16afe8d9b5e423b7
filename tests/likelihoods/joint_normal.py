"""A multivariate normal with a stated prior, and rows for it."""

import itertools

import numpy as np

from bayesgen.likelihoods import MultivariateNormal

P, K = 3, 2
COVARIANCES = ["per_class", "shared"]
SCALE = np.array([[2.0, 0.6, -0.2], [0.6, 1.0, 0.3], [-0.2, 0.3, 0.7]])
PATTERNS = list(itertools.product([False, True], repeat=P))
FEW_PATTERNS = [(False, False, False), (False, True, False), (True, False, True), (True,) * P]
"""One of each number of observed columns."""


def stated(covariance):
    """A prior that no data touch; its mean differs by class."""
    return MultivariateNormal(
        covariance=covariance,
        mean=np.array([[0.0, 1.0, -1.0], [0.5, 0.0, 0.0]]),
        mean_rows=np.array([1.5, 0.7]),
        scale=SCALE,
        covariance_rows=3.0,
    )


def table(rng, n=30, gaps=0.0):
    y = rng.integers(K, size=n)
    y[:K] = range(K)
    x = rng.standard_normal((n, P)) @ rng.standard_normal((P, P)) + y[:, None]
    x[rng.random((n, P)) < gaps] = np.nan
    return x, y, rng.integers(0, 4, size=n).astype(float)


def fitted(covariance, rng):
    x, y, weight = table(rng)
    prior = stated(covariance)
    statistics = prior.statistics(x, y, weight, n_classes=K)
    return prior.complete(statistics).posterior(statistics)


def of(posterior, name, k):
    """One class's entry of an array that classes may share."""
    array = getattr(posterior, name)
    return array[min(k, len(array) - 1)]


def with_pattern(x, seen):
    return np.where(seen, x, np.nan)
