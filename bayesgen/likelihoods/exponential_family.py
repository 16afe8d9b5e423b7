"""Exponential families: log densities that are linear in statistics of a row.

The density of rows and the likelihood of statistics both follow from `features` and `natural`, so
the two are always consistent.
"""

import abc
from collections.abc import Callable
from typing import TypeVar

import numpy as np
from jaxtyping import Float

from bayesgen.likelihoods.base import Statistics
from bayesgen.likelihoods.protocols import Conjugate
from bayesgen.typing import Block, Params, Traceable


class SufficientStatistics(Statistics):
    """Sums over rows that are sufficient for the parameters."""

    @abc.abstractmethod
    def total_features(self) -> Traceable:
        """Return the sum over rows of weight times features, shape (class, natural)."""


S = TypeVar("S", bound=SufficientStatistics)


class ExponentialFamily(Conjugate[S]):
    """A likelihood with log p(x given y = k, params) = features(x) . natural(params)[k]."""

    @abc.abstractmethod
    def features(self, x: Block) -> np.ndarray:
        """Return the features of rows, shape (row, natural); missing cells contribute 0."""

    @abc.abstractmethod
    def natural(self, params: Params) -> Traceable:
        """Return the weight of each feature in log p(x given params), shape (..., class, natural).

        Runs on NumPy and on traced JAX arrays: the namespace is taken from the parameters.
        """

    def log_density_fn(self, params: Params) -> Callable[[Block], np.ndarray]:
        """Return x -> log p(x given y = k, params), shape (row, draw, class), one GEMM per call."""
        scores = linear_scores(self.natural(params))
        return lambda x: scores(self.features(x))

    def log_likelihood(self, params: Params, statistics: S) -> Traceable:
        """Return log p(rows given params), summed over classes: one dot product of statistics."""
        total, natural = statistics.total_features(), self.natural(params)
        xp = natural.__array_namespace__()
        return xp.sum(xp.where(total == 0, 0.0, natural) * total, axis=(-2, -1))


def linear_scores(
    natural: Float[np.ndarray, "*draw class natural"],
) -> Callable[[Float[np.ndarray, "row natural"]], Float[np.ndarray, "row *draw class"]]:
    """Return features -> features . natural, by one GEMM per call.

    Draws are contiguous in memory, since averages run over them.
    """
    natural = np.moveaxis(natural, -2, 0)
    impossible = np.isneginf(natural).reshape(-1, natural.shape[-1]).T
    weights = np.where(impossible, 0.0, natural.reshape(-1, natural.shape[-1]).T)
    never = bool(impossible.any())

    def scores(features: Float[np.ndarray, "row natural"]) -> np.ndarray:
        out = features @ weights
        if never:
            out[(features @ impossible) > 0] = -np.inf
        return np.moveaxis(out.reshape(len(features), *natural.shape[:-1]), 1, -1)

    return scores
