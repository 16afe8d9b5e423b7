"""Quantiles of weighted draws: draws in the order of their values.

NumPy sorts numbers several times as fast as their positions, so a number carries the position of
its draw in its last bits; and it sorts up to RUN numbers by a network of exchanges, twice (Intel)
to five times (AMD) as fast as more of them (measured). Draws are therefore sorted in runs, whose
ends alone are put in order: a quantile near an end of the distribution is among them.
"""

import numpy as np
from jaxtyping import Float, Int

from bayesgen.inference.class_draws import SORTED_FLOATS, cached_rows

ROUNDING = 1e-12
"""Sums of weights this close to a level have reached it."""
RUN = 256
"""Numbers sorted at once."""
MARGIN = 4.5
"""Standard deviations of the number of even draws of a run beyond a level, by which more of them
are looked at first: weights and chance rarely ask for more."""

Keys = Float[np.ndarray, "*rest draw"]


def quantiles(
    values: Float[np.ndarray, "draw row class"],
    weight: Float[np.ndarray, "draw row"],
    levels: tuple[float, ...],
) -> Float[np.ndarray, "row class level"]:
    """Return the smallest of some numbers in [0, 1] whose weight reaches each level."""
    each, size = np.moveaxis(values, 0, -1), len(values)
    out = np.empty((*each.shape[:2], len(levels)))
    count = -(-size // RUN)
    length = -(-size // count)
    # what fills up the runs has no weight
    padded = np.zeros((len(each), count * length))
    padded[:, :size] = weight.T
    # ends of runs go by position where values are equal: neighbors are in different runs
    codes = np.arange(count * length).reshape(length, count).T.ravel()
    for part in cached_rows(each, SORTED_FLOATS):
        keys = _keys(each[part], codes)
        keys = keys.reshape(*keys.shape[:2], count, length)
        keys.sort(axis=-1)
        places = [_reached(keys, padded[part], codes, level) for level in levels]
        out[part] = taken(each[part], np.stack(places, axis=-1))
    return out


def _reached(
    runs: Float[np.ndarray, "row class run draw"],
    weight: Float[np.ndarray, "row slot"],
    codes: Int[np.ndarray, " slot"],
    level: float,
    most: int = 0,
) -> Int[np.ndarray, "row class"]:
    """Return the first draw, in ascending order, at which the sum of weights reaches a level.

    Sums start from the nearer end, over the `most` last draws of each run (0: as many as even
    weights need), and again over more where these do not contain all draws up to the level.
    """
    length, below = runs.shape[-1], level < 0.5
    tail = (level if below else 1 - level) + (-ROUNDING if below else ROUNDING)
    even = length * max(tail, 0.0)
    most = min(length, most or int(even + MARGIN * np.sqrt(even)) + 2)
    some = runs[..., :most] if below else runs[..., length - most :]
    keys = np.sort(some.reshape(*runs.shape[:2], -1), axis=-1)
    # beyond these, some run is likely to have draws that are not among them
    likely = keys.shape[-1] if most == length else 3 * keys.shape[-1] // 4
    keys = (keys if below else keys[..., ::-1])[..., :likely]
    at = _positions(keys, codes)
    steps = taken(weight[:, None], at).cumsum(axis=-1)
    # from above, a draw is counted as long as those beyond it weigh no more than the tail
    count = (steps < tail if below else steps <= tail).sum(axis=-1)
    last = at.shape[-1] - 1
    place = np.minimum(count, last)[..., None]
    out = taken(at, place)[..., 0]
    if most < length:
        end = taken(keys, place)[..., 0]
        # up to here no run has a draw that was not looked at
        known = end <= some[..., -1].min(axis=-1) if below else end >= some[..., 0].max(axis=-1)
        more = ~(known & (count <= last)).all(axis=1)
        if more.any():
            out[more] = _reached(runs[more], weight[more], codes, level, 3 * most)
    return out


def evenly(
    score: Float[np.ndarray, "draw row"], weight: Float[np.ndarray, "draw row"], size: int
) -> Int[np.ndarray, "row place"]:
    """Return draws of each row in the order of a score, each as often as its weight says.

    They are the quantiles of levels (i + 1/2) / size.
    """
    codes = np.arange(len(score))
    keys = _keys(score.T, codes)
    keys.sort(axis=-1)
    order = _positions(keys, codes)
    ends = np.floor(taken(weight.T, order).cumsum(axis=1) * size + 0.5).astype(int)
    ends[:, -1] = size
    times = np.diff(ends, axis=1, prepend=0)
    return np.repeat(order.ravel(), times.ravel()).reshape(-1, size)


def _keys(values: Float[np.ndarray, "*rest draw"], codes: Int[np.ndarray, " slot"]) -> Keys:
    """Return numbers of at least 0, each ending in the bits of its code; then larger ones.

    The bits are a relative difference of 2e-13 among 1,000.
    """
    more = len(codes) - values.shape[-1]
    if more:
        largest = np.full((*values.shape[:-1], more), np.finfo(float).max)
        values = np.concatenate([values, largest], axis=-1)
    # the first bit goes with the last ones, since -0 has it
    kept = ~_low_bits(codes) & np.uint64((1 << 63) - 1)
    bits = np.bitwise_and(np.ascontiguousarray(values).view(np.uint64), kept)
    np.bitwise_or(bits, codes.astype(np.uint64), out=bits)
    return bits.view(float)


def _positions(
    keys: Float[np.ndarray, "*rest some"], codes: Int[np.ndarray, " slot"]
) -> Int[np.ndarray, "*rest some"]:
    """Return the positions whose codes the last bits of sorted keys are."""
    found = np.ascontiguousarray(keys).view(np.uint64) & _low_bits(codes)
    return np.argsort(codes).take(found.astype(np.intp))


def _low_bits(codes: Int[np.ndarray, " slot"]) -> np.uint64:
    """Return the bits that tell so many codes apart."""
    return np.uint64((1 << len(codes).bit_length()) - 1)


def taken(values: np.ndarray, at: Int[np.ndarray, "*lead some"]) -> np.ndarray:
    """Return values at positions along the last axis; axes of length 1 before it are repeated.

    From one flat array, which is twice as fast as `take_along_axis` (measured).
    """
    lead = values.shape[:-1]
    starts = np.arange(0, values.size, values.shape[-1]).reshape(*lead, 1)
    return np.ascontiguousarray(values).reshape(-1).take(at + starts)
