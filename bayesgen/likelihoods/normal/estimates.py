"""Means and variances of greatest likelihood, mended where rows do not say them."""

import numpy as np

from bayesgen.likelihoods.base import Repair
from bayesgen.likelihoods.normal_statistics import NormalStatistics
from bayesgen.typing import Params


def maximum_likelihood(
    statistics: NormalStatistics,
    pooled: tuple[np.ndarray, np.ndarray],
    *,
    shared: bool,
    bias_corrected: bool,
    variance_floor: float,
) -> tuple[Params, list[Repair]]:
    """Return class means and variances, of shape (class, feature), and what was mended.

    Args:
        statistics: count, mean and scatter of each class and column.
        pooled: mean and variance of the columns, which stand in where a class has no cell.
        shared: whether all classes have one variance of each column.
        bias_corrected: divide squares by n - means, not by n.
        variance_floor: share of the pooled variance that replaces a smaller one.
    """

    def pool(values: np.ndarray) -> np.ndarray:
        return values.sum(axis=0, keepdims=True) if shared else values

    count, empty = statistics.count, statistics.count == 0
    means = len(count) if shared else 1
    divisor, squares = pool(count) - means * bias_corrected, pool(statistics.scatter)
    variance = np.divide(squares, divisor, out=np.zeros_like(squares), where=divisor > 0)
    variance = np.where(pool(count) == 0, pooled[1], variance)
    low = variance < variance_floor * pooled[1]
    findings = [Repair("pooled", *map(int, at)) for at in np.argwhere(empty)]
    findings += [Repair("floored", None if shared else int(k), int(j)) for k, j in np.argwhere(low)]
    floored = np.where(low, variance_floor * pooled[1], variance)
    return {"mean": np.where(empty, pooled[0], statistics.mean), "variance": floored}, findings
