"""What texts say about the urns of their classes: word counts, coefficients and lengths."""

import dataclasses
from typing import ClassVar

import numpy as np
from jaxtyping import Float
from scipy.special import gammaln

from bayesgen.likelihoods.exponential_family import SufficientStatistics
from bayesgen.likelihoods.sparse import Cells
from bayesgen.likelihoods.special_functions import log_factorial
from bayesgen.typing import Traceable, Weights


@dataclasses.dataclass(frozen=True, eq=False)
class MultinomialStatistics(SufficientStatistics):
    """What texts say about their classes' urns.

    count: weight of each word within each class, shape (class, feature).
    log_coefficient: sum of log N! / (x_1! x_2! ...) over the rows of each class, shape (class,).
    length, length_weight: the lengths N that occur, in increasing order, and the weight of the rows
    of each, shape (entry,). No parameter depends on these; rows are simulated with such lengths.
    """

    count: np.ndarray
    log_coefficient: np.ndarray
    length: np.ndarray
    length_weight: np.ndarray
    axes: ClassVar = {
        "count": ("class", "feature"),
        "log_coefficient": ("class",),
        "length": ("entry",),
        "length_weight": ("entry",),
    }

    def __add__(self, other: "MultinomialStatistics") -> "MultinomialStatistics":
        """Return the statistics of the rows of both."""
        length = np.concatenate([self.length, other.length])
        weight = np.concatenate([self.length_weight, other.length_weight])
        return MultinomialStatistics(
            self.count + other.count,
            self.log_coefficient + other.log_coefficient,
            *weighed(length, weight),
        )

    def __sub__(self, other: "MultinomialStatistics") -> "MultinomialStatistics":
        """Return the statistics without the rows of the other, which must be among them."""
        length, place = np.unique(np.concatenate([self.length, other.length]), return_inverse=True)
        change = np.concatenate([self.length_weight, -other.length_weight])
        weight = np.bincount(place, change, minlength=len(length))
        left = weight > 1e-9 * np.abs(change).max(initial=0.0)
        return MultinomialStatistics(
            self.count - other.count,
            self.log_coefficient - other.log_coefficient,
            length[left],
            weight[left],
        )

    def total_features(self) -> Traceable:
        """Return the counts and the log coefficients, shape (class, feature + 1)."""
        xp = self.count.__array_namespace__()
        return xp.concat([self.count, self.log_coefficient[:, None]], axis=-1)


def weighed(length: Float[np.ndarray, " row"], weight: Weights) -> tuple[np.ndarray, np.ndarray]:
    """Return the lengths of positive weight in increasing order, and the weight of each."""
    if length.max(initial=0.0) < 4 * len(length):
        # counting them is ten times as fast as sorting
        each = np.bincount(length.astype(np.int64), weight)
        found = np.flatnonzero(each)
        return found.astype(float), each[found]
    found, place = np.unique(length[weight > 0], return_inverse=True)
    return found, np.bincount(place, weight[weight > 0], minlength=len(found))


def log_coefficients(cells: Cells, length: Float[np.ndarray, " row"]) -> Float[np.ndarray, " row"]:
    """Return log N! / (x_1! x_2! ...): how many orders of words give the same counts."""
    return gammaln(length + 1.0) - cells.sums(log_factorial(cells.data))
