"""Bins of numeric columns: levels between quantiles, for likelihoods of levels.

A column is cut halfway between the two neighboring values that come nearest to having 1/n, 2/n, ...
of the rows below: x and -x have the same bins. A cut that repeats is one cut.
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

    bins: how many at most, and one more where two cuts are equally near to the median;
        "auto": the square root of the number of rows, between 4 and 24.

    Examples:
        >>> x = np.array([0.0, 0.0, 0.0, 1.0, 2.0, 3.0, 4.0, np.nan])
        >>> quantile_edges(x, np.ones(8), 4)
        (0.5, 1.5, 2.5)
    """
    seen = ~np.isnan(x)
    values, place = np.unique(x[seen], return_inverse=True)
    if len(values) < 2:
        return ()
    below = np.bincount(place, weight[seen]).cumsum()
    n = int(np.clip(np.sqrt(below[-1]), FEWEST, MOST)) if isinstance(bins, str) else bins
    wanted = np.arange(1, n) / n * below[-1]
    # of the gaps between values before and after each quantile the nearest, of a tie the outer one
    after = np.clip(np.searchsorted(below, wanted * (1 - ROUNDING)), 0, len(values) - 2)
    before = np.maximum(after - 1, 0)
    farther = np.abs(below[after] - wanted) - np.abs(below[before] - wanted)
    tie = np.abs(farther) <= ROUNDING * below[-1]
    side = np.where(tie, below[-1] / 2 - wanted, farther)
    at = np.where(side > 0, before, after)
    # a tie in the middle has no outer gap: both are cuts
    both = tie & (np.abs(side) <= ROUNDING * below[-1])
    at = np.unique(np.concatenate([at[~both], before[both], after[both]]))
    middle = values[at] / 2 + values[at + 1] / 2
    # between adjacent numbers there is none
    return tuple(np.where(middle < values[at + 1], middle, values[at]).tolist())


def with_edges(column: Column, edges: tuple[float, ...]) -> Column:
    """Return a binned column with these edges; its levels are named by the ends of the bins."""
    ends = [f"to {edge!r}" for edge in edges]
    last = (f"above {edges[-1]!r}",) if edges else ("any",)
    return dataclasses.replace(column, levels=(*ends, *last), declared=True, edges=edges)
