"""Leave-one-out likelihood of a Gaussian kernel's bandwidth, and densities at many bandwidths.

The bandwidth of each class and column has a likelihood of its own, a function of one variable. It
is computed once, exactly, at the knots of a table, with slope and curvature, so the cost of a
leapfrog step does not depend on the number of rows.

For one value, sum_i w_i exp(-(d_i^2 - d_min^2) / 2h^2) is an entire function of log h, bounded by
the weight of the nearest centers and that of all. Chebyshev interpolation at 64 points evaluates it
at thousands of draws of h by one matrix product.
"""

import dataclasses
from collections.abc import Callable

import numpy as np
from jaxtyping import Float

from bayesgen.typing import Traceable

PAIRS = 1 << 18
"""Pairs of values held at once: 512 kB, which stay in a second-level cache."""
STEPS, MARGIN = 100, 4.0
"""Steps of the table, and how far it goes beyond the rule of thumb and the guess in log bandwidths:
a factor of 55 either way, farther up where a value is lonely. Between knots polynomials of degree
five are 1e-8 of the log likelihood off at most (tested); beyond the ends straight lines go on."""
ASCENT_STEPS, SMALL = 30, 1e-10
"""Newton steps at most, and the step, in widths, that ends them."""
WIDEST = 1.0
"""Greatest width that coordinates of a log bandwidth are given."""
DRAWN_PAIRS = 1 << 19
"""The same for densities at draws: 4 MB, which stays in a third-level cache."""
NODES = 64
"""Points of the interpolation. Over bandwidths up to a factor of e^4 apart log densities are 1e-9
off at most (tested); of draws spread wider, and of fewer draws, each is computed itself."""
FARTHEST = 4.0

Cells = Float[np.ndarray, " value"]
Centres = Float[np.ndarray, " centre"]


def leave_one_out(
    value: Cells,
    weight: Cells,
    centre: Centres,
    centre_weight: Centres,
    log_bandwidth: Float[np.ndarray, " t"],
) -> Float[np.ndarray, "t 3"]:
    """Return log likelihood, slope and curvature by the log bandwidth t.

    sum_i weight_i log of the mean over the other centers of Normal(value_i given center, e^(2t)). A
    value of weight w is w values, of which each leaves out itself; a value without other centers is
    left out. weight, worth: weights of the values and of the centers.
    """
    out = np.zeros((len(log_bandwidth), 3))
    rows = max(1, PAIRS // max(len(centre), 1))
    for begin in range(0, len(value), rows):
        x, w = value[begin : begin + rows, None], weight[begin : begin + rows]
        others = np.maximum(centre_weight - (x == centre) * np.minimum(w, 1.0)[:, None], 0.0)
        count = others.sum(axis=1)
        w = np.where(count > 0, w, 0.0)
        square = (x - centre) ** 2
        nearest = np.where(others > 0, square, np.inf).min(axis=1)
        nearest = np.where(count > 0, nearest, 0.0)
        square = np.where(others > 0, square, nearest[:, None])
        constant = w @ (np.log(np.where(count > 0, count, 1.0)) + np.log(2 * np.pi) / 2)
        for i, t in enumerate(log_bandwidth):
            out[i] += _at(w, others, square, nearest, float(t))
            out[i, 0] -= constant
    return out


def _at(
    w: np.ndarray, others: np.ndarray, square: np.ndarray, nearest: np.ndarray, t: float
) -> tuple[float, float, float]:
    """Return value, slope and curvature at one log bandwidth, constants left out."""
    scale = np.exp(-2 * t)
    ratio = square * scale
    np.minimum(ratio, 1e150, out=ratio)
    # each from its nearest center, so that the sum does not underflow
    share = ratio * -0.5
    share += (nearest * (scale / 2))[:, None]
    np.exp(share, out=share)
    share *= others
    total = share.sum(axis=1)
    total = np.where(total > 0, total, 1.0)
    share *= ratio
    first = share.sum(axis=1) / total
    share *= ratio
    second = share.sum(axis=1) / total
    return (
        w @ (np.log(total) - nearest * (scale / 2) - t),
        w @ (first - 1),
        w @ (second - 2 * first - first**2),
    )


def with_prior(
    likelihood: Float[np.ndarray, "t 3"], t: Float[np.ndarray, " t"], guess: float, rows: float
) -> Float[np.ndarray, "t 3"]:
    """Return the likelihood times the density of t under h^2 ~ InverseGamma(rows/2, rows g^2/2)."""
    pull = rows * np.exp(2 * (np.log(guess) - t))
    return likelihood + np.stack([-rows * t - pull / 2, pull - rows, -2 * pull], axis=-1)


@dataclasses.dataclass(frozen=True, eq=False)
class Table:
    """The likelihood of one log bandwidth t, with location and scale of its posterior.

    first, step: t at the first knot, and from knot to knot. values: (knot, 3), log likelihood,
    slope and curvature by t in steps. mode, width: of the posterior of t.
    """

    first: float
    step: float
    values: Float[np.ndarray, "knot 3"]
    mode: float
    width: float


def tabled(
    value: Cells,
    weight: Cells,
    centre: Centres,
    centre_weight: Centres,
    guess: float,
    rows: float,
    rule: float,
) -> Table:
    """Return the leave-one-out likelihood at the knots and the posterior's mode and width.

    guess, rows: of the prior. rule: the rule of thumb, NaN where there is none.
    """
    ends = np.log([guess, guess if np.isnan(rule) else rule])
    # a value far from all others requires a bandwidth of about that distance
    far = np.log(max(_loneliest(value, weight, centre, centre_weight), guess))
    high = max(float(ends.max()), float(far) - MARGIN / 2) + MARGIN
    t = np.linspace(ends.min() - MARGIN, high, STEPS + 1)
    table, step = leave_one_out(value, weight, centre, centre_weight, t), float(t[1] - t[0])

    def posterior(at: float) -> np.ndarray:
        there = np.array([at])
        likelihood = leave_one_out(value, weight, centre, centre_weight, there)
        return with_prior(likelihood, there, guess, rows)[0]

    mode = float(t[np.argmax(with_prior(table, t, guess, rows)[:, 0])])
    for _ in range(ASCENT_STEPS):
        _, slope, bend = posterior(mode)
        # the top of the table is a step away at most
        move = float(np.clip(slope / max(-bend, rows), -step, step))
        mode += move
        if abs(move) * np.sqrt(max(-bend, rows)) < SMALL:
            break
    width = min(WIDEST, max(-posterior(mode)[2], 1e-12) ** -0.5)
    return Table(float(t[0]), step, table * step ** np.arange(3), mode, float(width))


def _loneliest(value: Cells, weight: Cells, centre: Centres, centre_weight: Centres) -> float:
    """Return the largest nearest-neighbor distance of the values; centers hold all values."""
    at = np.searchsorted(centre, value)
    gaps = np.concatenate([[np.inf], np.diff(centre), [np.inf]])
    nearest = np.minimum(gaps[at], gaps[at + 1])
    nearest = np.where(centre_weight[at] > np.minimum(weight, 1.0), 0.0, nearest)
    return float(nearest[np.isfinite(nearest)].max(initial=0.0))


def read(table: Traceable, place: Traceable) -> Traceable:
    """Return the tabled functions, (..., class, feature), at places counted in steps.

    table: (class, feature, knot, 3). Runs on NumPy and on traced arrays.
    """
    xp = place.__array_namespace__()
    last = table.shape[2] - 1
    inside = xp.clip(place, 0.0, float(last))
    at = xp.clip(xp.floor(inside), 0, last - 1).astype(int)
    k, j = np.arange(table.shape[0])[:, None], np.arange(table.shape[1])
    sides = xp.concat([table[k, j, at], table[k, j, at + 1]], axis=-1)
    powers = xp.stack([(inside - at) ** n for n in range(6)], axis=-1)
    edge = xp.where(place < 0, table[:, :, 0, 1], table[:, :, -1, 1])
    return ((powers @ HERMITE) * sides).sum(axis=-1) + edge * (place - inside)


HERMITE = np.array(
    [
        [1.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        [0.0, 1.0, 0.0, 0.0, 0.0, 0.0],
        [0.0, 0.0, 0.5, 0.0, 0.0, 0.0],
        [-10.0, -6.0, -1.5, 10.0, -4.0, 0.5],
        [15.0, 8.0, 1.5, -15.0, 7.0, -1.0],
        [-6.0, -3.0, -0.5, 6.0, -3.0, 0.5],
    ]
)
"""Powers of s -> weights of value, slope and curvature at 0 and 1 in the quintic through them."""


# -- densities at draws of the bandwidth -----------------------------------------------------------


def log_densities(
    centre: Centres, weight: Centres, bandwidth: Float[np.ndarray, " draw"]
) -> Callable[[Cells], Float[np.ndarray, "value draw"]]:
    """Return x -> log of the weighted mean of Gaussians around the centers, for each bandwidth."""
    log_h = np.log(bandwidth)
    low, high = log_h.min(), log_h.max()
    carried = len(log_h) > NODES and high - low <= FARTHEST
    middle, half = (low + high) / 2, max((high - low) / 2, 1e-9)
    angles = np.pi * (np.arange(NODES) + 0.5) / NODES
    at = middle + half * np.cos(angles) if carried else log_h
    carry = _chebyshev(np.clip((log_h - middle) / half, -1, 1), angles) if carried else None
    constant = log_h + np.log(2 * np.pi) / 2 + np.log(weight.sum())

    def score(x: Cells) -> np.ndarray:
        square, sums = np.empty(len(x)), np.empty((len(x), len(at)))
        size = max(1, DRAWN_PAIRS // max(len(centre), 1))
        for begin in range(0, len(x), size):
            rows = slice(begin, begin + size)
            off = (x[rows, None] - centre) ** 2
            square[rows] = off.min(axis=1)
            off -= square[rows, None]
            for i, t in enumerate(at):
                sums[rows, i] = np.exp(off * (-0.5 * np.exp(-2 * t))) @ weight
        if carry is not None:
            sums = sums @ carry
        far = np.outer(square, 0.5 / bandwidth**2)
        return np.log(sums) - far - constant

    return score


def _chebyshev(z: np.ndarray, angles: np.ndarray) -> Float[np.ndarray, "node draw"]:
    """Return the weight of each node's value in the interpolant at z, between -1 and 1."""
    orders = np.arange(NODES)
    coefficients = np.cos(np.outer(angles, orders)) * np.where(orders > 0, 2, 1) / NODES
    return coefficients @ np.cos(np.outer(orders, np.arccos(z)))
