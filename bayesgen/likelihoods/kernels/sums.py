"""Logs of sums of normal kernels as functions of the bandwidth, with and without a row's own.

Bandwidths form a series in which each is the one before divided by the square root of 2: its
kernels are the squares of those before.
"""

import numpy as np
from jaxtyping import Float, Int

from bayesgen.likelihoods.base import row_chunks
from bayesgen.likelihoods.distinct_rows import ROUNDING

CACHED = 1 << 17
"""Pairs of a row and a center whose kernels are summed at once: 1 MB, which stay in a second-level
cache."""
NEGLIGIBLE = 1e-9
"""Weight of a bandwidth, relative to the largest, below which predictions leave it out."""
ONE = np.ones(1)
"""The bandwidth in units of itself."""

Squares = Float[np.ndarray, "row center"]
Centers = Float[np.ndarray, " center"]
Weight = Float[np.ndarray, " center"]
Bandwidths = Float[np.ndarray, " bandwidth"]
Cells = Float[np.ndarray, " value"]


def log_sums(
    squares: Squares, weight: Weight, bandwidth: Bandwidths
) -> Float[np.ndarray, "row bandwidth"]:
    """Return log sum_c w_c exp(-squares_c / 2 h^2) by row and bandwidth; -inf without centers.

    Relative to the nearest center, so that nothing underflows far away. squares is overwritten;
    infinite ones stand for centers that are left out.

    bandwidth: a series.
    """
    out = np.full((len(bandwidth), len(squares)), -np.inf)
    if not weight.all():
        squares, weight = squares[:, weight > 0], weight[weight > 0]
    if not squares.size:
        return out.T
    nearest = squares.min(axis=1)
    finite = np.isfinite(nearest)
    near, total = np.where(finite, nearest, 0.0), np.zeros_like(out)
    for centers in row_chunks(len(weight), max(1, CACHED // len(squares))):
        kernels = squares[:, centers].T
        kernels -= near
        kernels *= -0.5 / bandwidth[0] ** 2
        np.exp(kernels, out=kernels)
        for j in range(len(bandwidth)):
            if j:
                kernels *= kernels
            total[j] += weight[centers] @ kernels
    scale = 2 * bandwidth[:, None] ** 2
    out[:, finite] = np.log(total[:, finite]) - near[finite] / scale
    return out.T


def log_sums_without(
    squares: Squares,
    weight: Weight,
    own: Int[np.ndarray, " row"],
    lost: Float[np.ndarray, " row"],
    bandwidth: Bandwidths,
) -> Float[np.ndarray, "row bandwidth"]:
    """Return `log_sums` where each row's own center lacks the weight lost.

    own: the position of each row among the centers, -1 of a row that is none.
    """
    rows = np.flatnonzero(own >= 0)
    place, away = own[rows], lost[rows]
    gone = weight[place] - away <= ROUNDING * weight[place]
    squares[rows, place] = np.where(gone, np.inf, 0.0)
    out = log_sums(squares, weight, bandwidth)
    # of a center of weight above 1 the rest stays, at distance 0
    rows = rows[~gone]
    out[rows] += np.log1p(-away[~gone, None] * np.exp(-out[rows]))
    return out


def active(log_weight: Bandwidths) -> tuple[slice, Float[np.ndarray, " active"]]:
    """Return which bandwidths lie between the first and the last that matter, and their weights.

    Weights are logs, and normalized.
    """
    kept = np.flatnonzero(log_weight - log_weight.max() > np.log(NEGLIGIBLE))
    part = slice(kept[0], kept[-1] + 1)
    return part, log_weight[part] - np.logaddexp.reduce(log_weight[part])


# -- one column ------------------------------------------------------------------------------------


def log_densities(
    x: Cells,
    center: Centers,
    weight: Weight,
    bandwidth: float | Cells,
    *,
    own: int | Int[np.ndarray, " value"] = -1,
    lost: float | Cells = 0.0,
) -> Cells:
    """Return the log of the weighted mean over the centers of Normal(x given center, h^2).

    -inf where all centers are farther than numbers reach, exact at any other distance; NaN for a
    value without centers, or without a bandwidth above 0.

    Args:
        x: values.
        center: in any order.
        weight: of the centers.
        bandwidth: of all values, or of each.
        own: the position of each value among the centers, -1 of a value that is none.
        lost: the weight by which its center is lighter.
    """
    bandwidth, own, lost = (np.broadcast_to(array, len(x)) for array in (bandwidth, own, lost))
    out, count = np.full(len(x), np.nan), weight.sum() - lost
    usable = np.flatnonzero((count > 0) & (bandwidth > 0))
    for part in row_chunks(len(usable), max(1, CACHED // max(len(center), 1))):
        rows = usable[part]
        squares = x[rows, None] - center
        squares /= bandwidth[rows, None]
        with np.errstate(over="ignore"):
            squares *= squares
        sums = log_sums_without(squares, weight, own[rows], lost[rows], ONE)[:, 0]
        level = np.log(count[rows]) + np.log(bandwidth[rows]) + np.log(2 * np.pi) / 2
        out[rows] = sums - level
    return out
