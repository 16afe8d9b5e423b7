"""Logs of sums of normal kernels as functions of the bandwidth, with and without a row's own.

Bandwidths form a series in which each is the one before divided by the square root of 2: its
kernels are the squares of those before. Log sums at thousands of draws of a bandwidth are splines
through those of such series.
"""

import functools
from collections.abc import Callable

import numpy as np
from jaxtyping import Float, Int
from scipy.interpolate import BSpline, make_interp_spline

from bayesgen.likelihoods.base import row_chunks
from bayesgen.likelihoods.distinct_rows import ROUNDING

CACHED = 1 << 17
"""Pairs of a row and a center whose kernels are summed at once: 1 MB, which stay in a second-level
cache."""
LOG_ROOT = np.log(2) / 2
"""Logarithm of the ratio of bandwidths of a series."""
DRAWN_SERIES, BEYOND = 12, 4
"""Series of bandwidths at draws, side by side, and knots beyond the draws on both sides, where
splines are less exact: log densities are 1e-9 off at most (tested)."""
DOUBLINGS = 8
"""Squares of kernels in a row, each of which doubles their relative error: 3e-14 in the end."""
DEGREE = 5
"""Of the splines."""

ZERO = np.zeros(1)
"""The log bandwidth relative to itself."""

Squares = Float[np.ndarray, "row center"]
Centers = Float[np.ndarray, " center"]
Weight = Float[np.ndarray, " center"]
Bandwidths = Float[np.ndarray, " bandwidth"]
Cells = Float[np.ndarray, " value"]
Logs = Float[np.ndarray, " knot"]


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


# -- a column at many bandwidths -------------------------------------------------------------------


def knots(high: float, n: int, series: int) -> Logs:
    """Return n falling log bandwidths, `series` series side by side."""
    return high - LOG_ROOT / series * np.arange(n)


def spline(t: Logs, values: Float[np.ndarray, "knot ..."]) -> BSpline:
    """Return the spline through values at falling knots."""
    return make_interp_spline(t[::-1], values[::-1], k=DEGREE)


def _at_knots(
    sums: Callable[..., Float[np.ndarray, "value knot"]],
    squares: Float[np.ndarray, "value center"],
    t: Logs,
    series: int,
) -> Float[np.ndarray, "value knot"]:
    """Return sums at `knots` t; sums: (squares, bandwidth) -> those of one series."""
    out, bandwidth, length = np.empty((len(squares), len(t))), np.exp(t), DOUBLINGS * series
    for begin in range(0, len(t), length):
        for first in range(begin, min(begin + series, len(t))):
            doubled = slice(first, begin + length, series)
            out[:, doubled] = sums(squares.copy(), bandwidth=bandwidth[doubled])
    return out


def log_densities(
    center: Centers, weight: Weight, bandwidth: Float[np.ndarray, " draw"]
) -> Callable[[Cells], Float[np.ndarray, "value draw"]]:
    """Return x -> log of the weighted mean of kernels around the centers, for each bandwidth.

    -inf where all centers are farther than numbers reach; exact at any other distance.
    """
    unit = float(bandwidth.max())
    t = np.log(bandwidth / unit)
    at, carry = np.zeros(1), None
    if len(t) > 1:
        step = LOG_ROOT / DRAWN_SERIES
        at = knots(BEYOND * step, int(-t.min() / step) + 2 + 2 * BEYOND, DRAWN_SERIES)
        carry = spline(at, np.eye(len(at)))(t).T
    sums_at = functools.partial(log_sums, weight=weight)
    constant = np.log(bandwidth) + np.log(2 * np.pi) / 2 + np.log(weight.sum())

    def log_density(x: Cells) -> np.ndarray:
        out = np.empty((len(x), len(t)))
        for rows in row_chunks(len(x), max(1, CACHED // max(len(center), len(at)))):
            squares = x[rows, None] - center
            squares /= unit
            with np.errstate(over="ignore"):
                squares *= squares
            if carry is None:
                out[rows] = log_sums(squares, weight, np.ones(1))
                continue
            # splines go through sums relative to the nearest center, which hardly vary
            near = squares.min(axis=1)
            squares[np.isinf(near)] = 0.0
            squares -= np.where(np.isinf(near), 0.0, near)[:, None]
            sums = _at_knots(sums_at, squares, at, DRAWN_SERIES) @ carry
            out[rows] = sums - np.outer(near, np.exp(-2 * t) / 2)
        return out - constant

    return log_density


def log_densities_without(
    own: Int[np.ndarray, " value"],
    lost: Cells,
    center: Centers,
    weight: Weight,
    bandwidth: Cells,
    t: Logs = ZERO,
    series: int = 1,
) -> Float[np.ndarray, "value knot"]:
    """Return the log of the mean over the other centers of Normal(value given center, h^2).

    h is the bandwidth of the value times e^t. NaN for a value without other centers, or without a
    bandwidth above 0.

    Args:
        own: the position of each value among the centers.
        lost: the weight by which its center is lighter.
        center: in any order.
        weight: of the centers.
        bandwidth: of each value, at t = 0.
        t: `knots`.
        series: of the knots.
    """
    out, count = np.full((len(own), len(t)), np.nan), weight.sum() - lost
    usable = np.flatnonzero((count > 0) & (bandwidth > 0))
    for part in row_chunks(len(usable), max(1, CACHED // max(len(center), 1))):
        rows = usable[part]
        with np.errstate(over="ignore"):
            squares = ((center[own[rows], None] - center) / bandwidth[rows, None]) ** 2
        sums = functools.partial(log_sums_without, weight=weight, own=own[rows], lost=lost[rows])
        level = np.log(count[rows]) + np.log(bandwidth[rows]) + np.log(2 * np.pi) / 2
        out[rows] = _at_knots(sums, squares, t, series) - level[:, None] - t
    return out
