"""Silverman's rule of thumb for bandwidths, as R's bw.nrd0 has it."""

import numpy as np
from jaxtyping import Float

from bayesgen.likelihoods.values import Values

Cells = Float[np.ndarray, " value"]


def rule_of_thumb(rows: Values) -> Float[np.ndarray, "class feature"]:
    """Return .9 min(sd, IQR / 1.34) n^(-1/5) of each class and column; NaN where a column is flat.

    The standard deviation stands in where the interquartile range is 0, as in R. A class whose
    values do not vary takes the spread of all classes together. (R takes |x[1]|, and 1 where that
    is 0 too, which depend on the unit and the origin of the column.)

    Source: Silverman, Density Estimation (1986), equation 3.31.
    """
    out = np.full((rows.n_classes, rows.n_features), np.nan)
    for j in range(rows.n_features):
        value, weight = rows.pooled(j)
        whole = spread(value, weight)
        for k in range(rows.n_classes):
            own, worth = rows.group(k, j)
            width, n = spread(own, worth), worth.sum() or weight.sum()
            # a weight below 1 is not worth a row, and n^(-1/5) would explode
            width = width if width > 0 else whole
            out[k, j] = 0.9 * width * max(n, 1.0) ** -0.2 if width > 0 else np.nan
    return out


def spread(value: Cells, weight: Cells) -> float:
    """Return min(sd, IQR / 1.34), or sd where the IQR is 0; 0 where nothing varies.

    value: distinct, in rising order. weight: how often each came; fractions count as fractions.
    """
    n = weight.sum()
    if n <= 1 or len(value) < 2:
        return 0.0
    mean = weight @ value / n
    sd = float(np.sqrt(weight @ (value - mean) ** 2 / (n - 1)))
    low, high = (_quantile(value, weight, q) for q in (0.25, 0.75))
    return min(sd, (high - low) / 1.34) or sd


def _quantile(value: Cells, weight: Cells, q: float) -> float:
    """Return the quantile of the values, each repeated `weight` times: R's type 7."""
    reached = np.cumsum(weight)
    place = (reached[-1] - 1) * q
    below = np.floor(place)
    # the value in place m comes first whose cumulative weight exceeds m
    at = np.searchsorted(reached, (below, below + 1), side="right")
    a, b = value[np.minimum(at, len(value) - 1)]
    return float(a + (place - below) * (b - a))
