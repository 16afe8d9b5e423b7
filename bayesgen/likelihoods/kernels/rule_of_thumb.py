"""R's rule of thumb for the bandwidth of a class in a column."""

import numpy as np
from jaxtyping import Float

from bayesgen.likelihoods.distinct_rows import ROUNDING, Values
from bayesgen.likelihoods.kernels.sums import Cells
from bayesgen.typing import Labels, Weights


def rule_of_thumb(rows: Values) -> Float[np.ndarray, "class feature"]:
    """Return .9 min(sd, IQR / 1.34) n^(-1/5) of each class and column, NaN where it is constant.

    If the interquartile range is 0 the standard deviation is used, as in R. For a class of constant
    values the spread of all classes together is used. (R uses |x[1]|, or 1 if that is 0 too, which
    depends on the unit and the origin of the column.) Rows that weigh 1 or less in all, such as
    weights that sum to 1, are shares: their spread is that of as many rows as there are values.

    Source: Silverman, Density Estimation (1986), equation 3.31.
    """
    out = np.empty((rows.n_classes, rows.n_features))
    for k, j in np.ndindex(out.shape):
        values = rows.borrowed(k, j)
        out[k, j] = nrd0(*values) or nrd0(*values, spread_of_all(*rows.pooled(j))) or np.nan
    return out


def spread_of_all(value: Cells, weight: Cells) -> float:
    """Return the spread of all classes together; arguments as of `spread`."""
    total = weight.sum()
    return spread(value, weight * len(value) / total if 0 < total <= 1 else weight)


def nrd0(value: Cells, weight: Cells, otherwise: float = 0.0) -> float:
    """Return the rule of thumb for one class and column, of another spread if nothing varies."""
    # a weight below 1 counts as one row, since n^(-1/5) would diverge
    return 0.9 * (spread(value, weight) or otherwise) * max(weight.sum(), 1.0) ** -0.2


def nrd0_without(value: Cells, weight: Cells, own: Labels, lost: Weights) -> Weights:
    """Return the rule for the values without `lost` of the weight of one at a time, at `own`.

    0 where the others do not vary.
    """
    out = np.empty(len(own))
    for i, (at, away) in enumerate(zip(own, lost, strict=True)):
        rest = weight.copy()
        rest[at] -= away
        positive = rest > ROUNDING * weight
        out[i] = nrd0(value[positive], rest[positive])
    return out


def spread(value: Cells, weight: Cells) -> float:
    """Return min(sd, IQR / 1.34), or sd where the IQR is 0; 0 where nothing varies.

    value: distinct, in rising order. weight: of each value, possibly fractional.
    """
    n = weight.sum()
    if n <= 1 or len(value) < 2:
        return 0.0
    mean = weight @ value / n
    sd = float(np.sqrt(weight @ (value - mean) ** 2 / (n - 1)))
    low, high = (_quantile(value, weight, q) for q in (0.25, 0.75))
    return min(sd, (high - low) / 1.34) or sd


def _quantile(value: Cells, weight: Cells, q: float) -> float:
    """Return R's type 7 of the values, each repeated `weight` times.

    With the values side by side, each as wide as its weight: their mean from (n - 1) q to one
    further. That is type 7 where weights are whole, and the same from above as from below.
    """
    last = np.cumsum(weight)
    place = (last[-1] - 1) * q
    inside = np.minimum(last, place + 1) - np.maximum(last - weight, place)
    at = np.flatnonzero(inside > 0)
    # from the first of them on, so that one value alone is returned as it is
    return float(value[at[0]] + inside[at] @ (value[at] - value[at[0]]) / inside[at].sum())
