"""Bins of numeric columns: levels between quantiles, for likelihoods of levels.

A column is cut at the smallest values with at least 1/n, 2/n, ... of the rows at or below them. A
quantile that repeats is one cut, so a value that many rows share, such as 0, is the end of a bin.
By default n is the square root of the number of rows with a value, as Yang and Webb advise.

Source: Dougherty, Kohavi and Sahami (1995), Proceedings of ICML 12, 194-202; Yang and Webb (2009),
Machine Learning 74, 39-74.
"""

import dataclasses

import numpy as np
from jaxtyping import Float

from bayesgen.schema.blocks import Column
from bayesgen.typing import Weights

FEWEST, MOST = 4, 24
"""Bins by default, at least and at most."""
ROUNDING = 1e-9
"""Share of a quantile's weight that sums of weights may lack."""


def quantile_edges(
    x: Float[np.ndarray, " row"], weight: Weights, bins: int | str
) -> tuple[float, ...]:
    """Return the upper ends of all bins but the last; NaN cells are left out.

    bins: how many at most; "auto": the square root of the number of rows, between 4 and 24.

    Examples:
        >>> x = np.array([0.0, 0.0, 0.0, 1.0, 2.0, 3.0, 4.0, np.nan])
        >>> quantile_edges(x, np.ones(8), 4)
        (0.0, 1.0, 3.0)
    """
    seen = ~np.isnan(x)
    values, place = np.unique(x[seen], return_inverse=True)
    if len(values) < 2:
        return ()
    below = np.bincount(place, weight[seen]).cumsum()
    n = int(np.clip(np.sqrt(below[-1]), FEWEST, MOST)) if isinstance(bins, str) else bins
    wanted = np.arange(1, n) / n * (1 - ROUNDING) * below[-1]
    at = np.unique(np.searchsorted(below, wanted))
    return tuple(values[at[at < len(values) - 1]].tolist())


def with_edges(column: Column, edges: tuple[float, ...]) -> Column:
    """Return a binned column with these edges; its levels are named by the ends of the bins."""
    ends = [f"to {edge!r}" for edge in edges]
    last = (f"above {edges[-1]!r}",) if edges else ("any",)
    return dataclasses.replace(column, levels=(*ends, *last), declared=True, edges=edges)
