"""Bandwidth of a class in a column: R's rule of thumb, and the leave-one-out likelihood.

The likelihood is a function of one variable. It is computed once, exactly, at the knots of a table,
and interpolated by a spline, so the cost of a leapfrog step does not depend on the number of rows.
"""

import math

import numpy as np
from jaxtyping import Float

from bayesgen.likelihoods.distinct_rows import ROUNDING, Values
from bayesgen.likelihoods.kernels.sums import (
    DEGREE,
    LOG_ROOT,
    Cells,
    Centers,
    Logs,
    knots,
    log_densities_without,
    spline,
)
from bayesgen.optimize import Points, Quadratic, newton
from bayesgen.typing import Labels, Traceable, Weights

SERIES = 8
"""Knots of the table from a bandwidth to that one times the square root of 2: steps of .043 in the
logarithm."""
STEPS, MARGIN = 240, 4.0
"""Steps of the table, and how far it goes beyond the rule of thumb and the guess in log bandwidths:
a factor of 55 either way, and up to 7.4 times the range of the values. Steps are longer where one
value is far from the others. Splines through log likelihoods are 1e-8 of them off at most (tested);
near the mode of 80 values 1e-8 nats, 2e-4 where one is 1e20 standard deviations away. Beyond the
ends straight lines go on."""
TABLE = STEPS, DEGREE + 1
"""Shape of the table of a class and column."""
WIDEST = 1.0
"""Greatest width that coordinates of a log bandwidth are given."""


# -- the rule of thumb ---------------------------------------------------------------------------


def rule_of_thumb(rows: Values) -> Float[np.ndarray, "class feature"]:
    """Return .9 min(sd, IQR / 1.34) n^(-1/5) of each class and column, NaN where it is constant.

    If the interquartile range is 0 the standard deviation is used, as in R. For a class of constant
    values the spread of all classes together is used. (R uses |x[1]|, or 1 if that is 0 too, which
    depends on the unit and the origin of the column.)

    Source: Silverman, Density Estimation (1986), equation 3.31.
    """
    out = np.empty((rows.n_classes, rows.n_features))
    for k, j in np.ndindex(out.shape):
        values = rows.borrowed(k, j)
        out[k, j] = nrd0(*values) or nrd0(*values, spread(*rows.pooled(j))) or np.nan
    return out


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


# -- the leave-one-out likelihood ------------------------------------------------------------------


def leave_one_out(
    value: Cells, weight: Cells, center: Centers, center_weight: Centers, t: Logs, series: int
) -> Logs:
    """Return the log likelihood of the log bandwidths t, which are `knots`.

    A value of weight w is w values, of which each leaves out itself; a value without other centers
    is left out. The centers hold all values, in rising order.
    """
    own, lost = np.searchsorted(center, value), np.minimum(weight, 1.0)
    bandwidth = np.full(len(value), np.exp(t[0]))
    logs = log_densities_without(own, lost, center, center_weight, bandwidth, t - t[0], series)
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
    curve = spline(t, leave_one_out(value, weight, center, center_weight, t, series))
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
