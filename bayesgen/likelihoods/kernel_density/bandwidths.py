"""Silverman's rule of thumb for bandwidths, as R's bw.nrd0 has it."""

import numpy as np
from jaxtyping import Float

from bayesgen.likelihoods.distinct_values import Values

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
            own, own_weight = rows.group(k, j)
            width, n = spread(own, own_weight), own_weight.sum() or weight.sum()
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
