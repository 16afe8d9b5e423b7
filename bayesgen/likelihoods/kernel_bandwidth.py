"""Sums of normal kernels in one column as functions of the bandwidth: leave-one-out, many draws.

The bandwidth of each class and column has a likelihood of its own, a function of one variable. It
is computed once, exactly, at the knots of a table, and interpolated by a spline of degree five, so
the cost of a leapfrog step does not depend on the number of rows. Densities at thousands of draws
of the bandwidth are the same splines, one for each value: their weights are one matrix product.
"""

import functools
import math
from collections.abc import Callable

import numpy as np
from jaxtyping import Float, Int
from scipy.interpolate import BSpline, make_interp_spline

from bayesgen.likelihoods.base import row_chunks
from bayesgen.likelihoods.kernel_discriminant.kernels import log_sums, log_sums_without
from bayesgen.optimize import Points, Quadratic, newton
from bayesgen.typing import Traceable

PAIRS = 1 << 17
"""Pairs of a value and a center held at once: 1 MB, which stays in a second-level cache."""
LOG_ROOT = np.log(2) / 2
"""Logarithm of the ratio of bandwidths that `log_sums` takes, the square root of 2."""
SERIES = 8
"""Knots of the table from a bandwidth to that one times the square root of 2: steps of .043 in the
logarithm."""
DRAWN_SERIES, BEYOND = 12, 4
"""The same of densities at draws, and knots beyond the draws on both sides, where splines are less
exact: log densities are 1e-9 off at most (tested)."""
DOUBLINGS = 8
"""Squares of kernels in a row, each of which doubles their relative error: 3e-14 in the end."""
DEGREE = 5
"""Of the splines."""
STEPS, MARGIN = 240, 4.0
"""Steps of the table, and how far it goes beyond the rule of thumb and the guess in log bandwidths:
a factor of 55 either way, and up to 7.4 times the range of the values. Steps are longer where one
value is far from the others. Splines through log likelihoods are 1e-8 of them off at most (tested);
near the mode of 80 values 1e-8 nats, 2e-4 where one is 1e20 standard deviations away. Beyond the
ends straight lines go on."""
WIDEST = 1.0
"""Greatest width that coordinates of a log bandwidth are given."""

Cells = Float[np.ndarray, " value"]
Centers = Float[np.ndarray, " center"]
Logs = Float[np.ndarray, " knot"]


# -- sums at many bandwidths -----------------------------------------------------------------------


def knots(high: float, n: int, series: int) -> Logs:
    """Return n falling log bandwidths, of which every `series`-th is 1 / sqrt 2 of the one before.

    As `log_sums` takes them: each from the square of another's kernels.
    """
    return high - LOG_ROOT / series * np.arange(n)


def _at_knots(
    sums: Callable[..., Float[np.ndarray, "value knot"]],
    squares: Float[np.ndarray, "value center"],
    t: Logs,
    series: int,
) -> Float[np.ndarray, "value knot"]:
    """Return sums at `knots` t; sums: (squares, bandwidth) -> those at some, as `log_sums`."""
    out, bandwidth, length = np.empty((len(squares), len(t))), np.exp(t), DOUBLINGS * series
    for begin in range(0, len(t), length):
        for first in range(begin, min(begin + series, len(t))):
            some = slice(first, begin + length, series)
            out[:, some] = sums(squares.copy(), bandwidth=bandwidth[some])
    return out


def _spline(t: Logs, values: Float[np.ndarray, "knot ..."]) -> BSpline:
    """Return the spline through values at falling knots."""
    return make_interp_spline(t[::-1], values[::-1], k=DEGREE)


def log_densities(
    center: Centers, weight: Centers, bandwidth: Float[np.ndarray, " draw"]
) -> Callable[[Cells], Float[np.ndarray, "value draw"]]:
    """Return x -> log of the weighted mean of Gaussians around the centers, for each bandwidth.

    -inf where all centers are farther than numbers reach; exact at any other distance.
    """
    unit = float(bandwidth.max())
    t = np.log(bandwidth / unit)
    at, carry = np.zeros(1), None
    if len(t) > 1:
        step = LOG_ROOT / DRAWN_SERIES
        at = knots(BEYOND * step, int(-t.min() / step) + 2 + 2 * BEYOND, DRAWN_SERIES)
        carry = _spline(at, np.eye(len(at)))(t).T
    sums_at = functools.partial(log_sums, weight=weight)
    constant = np.log(bandwidth) + np.log(2 * np.pi) / 2 + np.log(weight.sum())

    def score(x: Cells) -> np.ndarray:
        out = np.empty((len(x), len(t)))
        for rows in row_chunks(len(x), max(1, PAIRS // max(len(center), len(at)))):
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

    return score


# -- the leave-one-out likelihood ------------------------------------------------------------------


def left_out(
    own: Int[np.ndarray, " value"],
    lost: Cells,
    center: Centers,
    weight: Centers,
    bandwidth: Cells,
    t: Logs | None = None,
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
        t: `knots`; None: 0.
        series: of the knots.
    """
    t = np.zeros(1) if t is None else t
    out, count = np.full((len(own), len(t)), np.nan), weight.sum() - lost
    kept = np.flatnonzero((count > 0) & (bandwidth > 0))
    for part in row_chunks(len(kept), max(1, PAIRS // max(len(center), 1))):
        rows = kept[part]
        with np.errstate(over="ignore"):
            squares = ((center[own[rows], None] - center) / bandwidth[rows, None]) ** 2
        others = {"weight": weight, "own": own[rows], "lost": lost[rows]}
        sums = _at_knots(functools.partial(log_sums_without, **others), squares, t, series)
        level = np.log(count[rows]) + np.log(bandwidth[rows]) + np.log(2 * np.pi) / 2
        out[rows] = sums - level[:, None] - t
    return out


def leave_one_out(
    value: Cells, weight: Cells, center: Centers, center_weight: Centers, t: Logs, series: int
) -> Logs:
    """Return the log likelihood of the log bandwidths t, which are `knots`.

    A value of weight w is w values, of which each leaves out itself; a value without other centers
    is left out. The centers hold all values, in rising order.
    """
    own, lost = np.searchsorted(center, value), np.minimum(weight, 1.0)
    bandwidth = np.full(len(value), np.exp(t[0]))
    logs = left_out(own, lost, center, center_weight, bandwidth, t - t[0], series)
    return weight @ np.where(np.isnan(logs), 0.0, logs)


def tabled(
    value: Cells,
    weight: Cells,
    center: Centers,
    center_weight: Centers,
    guess: float,
    rows: float,
    rule: float,
) -> dict[str, float | Float[np.ndarray, "step power"]]:
    """Return the leave-one-out likelihood of a log bandwidth t, and how its posterior lies.

    first, step: t at the first knot, and from knot to knot. table: in each step the coefficients of
    powers of t, counted in steps from its start. log_mode, width: of the posterior of t.

    guess, rows: of the prior. rule: the rule of thumb, NaN where there is none.
    """
    ends = np.log([guess, guess if np.isnan(rule) else rule])
    # a value far from all others requires a bandwidth of about that distance, the range at most
    far = np.log(max(np.ptp(center), guess))
    high = max(float(ends.max()), float(far) - MARGIN / 2) + MARGIN
    steps = STEPS * LOG_ROOT / (high - ends.min() + MARGIN)
    series = int(np.clip(steps, 1, SERIES))
    t = knots(high, STEPS + 1, series)
    curve = _spline(t, leave_one_out(value, weight, center, center_weight, t, series))
    t, step = t[::-1], float(t[0] - t[1])

    def posterior(points: Points) -> Quadratic:
        """Return the log density under h^2 ~ InverseGamma(rows / 2, rows g^2 / 2)."""
        at = points[:, 0]
        pull = rows * np.exp(2 * (np.log(guess) - at))
        value, slope, curvature = (curve(at, order) for order in range(3))
        slope, curvature = slope + pull - rows, curvature - 2 * pull
        return Quadratic(value - rows * at - pull / 2, slope[:, None], curvature[:, None, None])

    knot = t[[np.argmax(posterior(t[:, None]).value)], None]
    # the top of the table is a step away at most
    mode, top = newton(posterior, knot, low=knot - step, high=knot + step)
    log_mode, curvature = mode.item(), top.hessian.item()
    width = min(WIDEST, max(-curvature, 1e-12) ** -0.5)
    powers = [curve(t[:-1], n) * step**n / math.factorial(n) for n in range(DEGREE + 1)]
    table = np.stack(powers, axis=-1)
    return {"table": table, "log_mode": log_mode, "width": width, "first": t[0], "step": step}


def read(table: Traceable, place: Traceable) -> Traceable:
    """Return the tabled functions, (..., class, feature), at places counted in steps.

    table: (class, feature, step, power). Runs on NumPy and on traced arrays.
    """
    xp, powers = place.__array_namespace__(), np.arange(DEGREE + 1)
    inside = xp.clip(place, 0.0, float(STEPS))
    at = xp.clip(xp.floor(inside), 0, STEPS - 1).astype(int)
    k, j = np.arange(table.shape[0])[:, None], np.arange(table.shape[1])
    value = (table[k, j, at] * (inside - at)[..., None] ** powers).sum(axis=-1)
    edge = xp.where(place < 0, table[:, :, 0, 1], table[:, :, -1] @ powers)
    return value + edge * (place - inside)
