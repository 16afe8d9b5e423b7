"""Bins of numeric columns: levels between quantiles, for likelihoods of levels.

A column is cut at the smallest values with at least 1/n, 2/n, ... of the rows at or below them. A
quantile that repeats is one cut, so a value that many rows share, such as 0, is the end of a bin.
A column with negative skewness is cut from above, at the largest values with as many rows at or
above them, so that the bins of -x are those of x. By default n is the square root of the number of
rows with a value, as Yang and Webb advise.

Source: Dougherty, Kohavi and Sahami (1995), Proceedings of ICML 12, 194-202; Yang and Webb (2009),
Machine Learning 74, 39-74.
"""

import dataclasses
import math

import numpy as np
from jaxtyping import Float

from bayesgen.schema.columns import Column
from bayesgen.typing import Weights

FEWEST, MOST = 4, 24
"""Bins by default, at least and at most."""
ROUNDING = 1e-9
"""Share of a quantile's weight that sums of weights may lack, and of the third moment."""

Values = Float[np.ndarray, " value"]


def quantile_edges(
    x: Float[np.ndarray, " row"], weight: Weights, bins: int | str
) -> tuple[float, ...]:
    """Return the upper ends of all bins but the last; NaN cells and rows of weight 0 are left out.

    bins: how many at most; "auto": the square root of the number of rows, between 4 and 24.

    Examples:
        >>> x = np.array([0.0, 0.0, 0.0, 1.0, 2.0, 3.0, 4.0, np.nan])
        >>> quantile_edges(x, np.ones(8), 4)
        (0.0, 1.0, 3.0)
    """
    seen = ~np.isnan(x) & (weight > 0)
    x, weight = x[seen], weight[seen]
    if weight.min(initial=np.inf) < weight.max(
        initial=0.0
    ):  # sums of weights shall not depend on the order of rows
        order = np.lexsort((weight, x))
        x, weight = x[order], weight[order]
    values, place = np.unique(x, return_inverse=True)
    if len(values) < 2:
        return ()
    total = np.bincount(place, weight)
    if not _skewed_downward(values, total):
        return tuple(_edges(values, total, bins).tolist())
    lowest = -_edges(-values[::-1], total[::-1], bins)[::-1]
    # the upper end of a bin below its neighbor's lowest value
    return tuple(np.nextafter(lowest, -np.inf).tolist())


def _edges(values: Values, weight: Values, bins: int | str) -> Float[np.ndarray, " edge"]:
    """Return the upper ends of all bins but the last, of distinct values in ascending order."""
    below = weight.cumsum()
    n = int(np.clip(np.sqrt(below[-1]), FEWEST, MOST)) if isinstance(bins, str) else bins
    wanted = np.arange(1, n) / n * (1 - ROUNDING) * below[-1]
    at = np.unique(np.searchsorted(below, wanted))
    return values[at[at < len(values) - 1]]


def _skewed_downward(values: Values, weight: Values) -> bool:
    """Return whether the third central moment is negative beyond rounding.

    Sums are exact, so that neither the order of values nor their sign matters.
    """
    middle = math.fsum(values * weight) / math.fsum(weight)
    away = values - middle
    scale = np.abs(away).max()
    cubes = (away / scale) ** 3 * weight if scale else away
    return math.fsum(cubes) < -ROUNDING * math.fsum(np.abs(cubes))


def with_edges(column: Column, edges: tuple[float, ...]) -> Column:
    """Return a binned column with these edges; its levels are named by the ends of the bins.

    Of the two statements that are the same for floating-point numbers, x <= edge and x < the next
    number, names have the one that is shorter to write.
    """
    after = [float(np.nextafter(edge, np.inf)) for edge in edges]
    lowest = [len(repr(b)) < len(repr(a)) for a, b in zip(edges, after, strict=True)]
    ends = zip(edges, after, lowest, strict=True)
    names = [f"below {b!r}" if shorter else f"to {a!r}" for a, b, shorter in ends]
    last = "any"
    if edges:
        last = f"from {after[-1]!r}" if lowest[-1] else f"above {edges[-1]!r}"
    return dataclasses.replace(column, levels=(*names, last), declared=True, edges=edges)
