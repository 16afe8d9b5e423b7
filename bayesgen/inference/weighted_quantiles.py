"""Quantiles of weighted draws: draws in the order of their values.

NumPy sorts numbers several times as fast as their positions, so a number carries the position of
its draw in its last bits. A quantile near an end of the distribution is among the few draws there:
they are separated from the others, a third of the work of sorting all, and alone put in order
(measured).
"""

import numpy as np
from jaxtyping import Float, Int

from bayesgen.inference.class_draws import SORTED_FLOATS, cached_rows

ROUNDING = 1e-12
"""Sums of weights this close to a level have reached it."""
MARGIN = 4.5
"""Standard deviations of the number of even draws beyond a level, by which more of them are looked
at first: weights and chance rarely ask for more."""

Keys = Float[np.ndarray, "*rest draw"]


def quantiles(
    values: Float[np.ndarray, "draw row class"],
    weight: Float[np.ndarray, "draw row"],
    levels: tuple[float, ...],
) -> Float[np.ndarray, "row class level"]:
    """Return the smallest of some numbers in [0, 1] whose weight reaches each level."""
    each, weights = np.moveaxis(values, 0, -1), np.ascontiguousarray(weight.T)
    out = np.empty((*each.shape[:2], len(levels)))
    for part in cached_rows(each, SORTED_FLOATS):
        keys = _keys(each[part])
        places = [_reached(keys, weights[part], level) for level in levels]
        out[part] = taken(each[part], np.stack(places, axis=-1))
    return out


def _reached(
    keys: Float[np.ndarray, "row class draw"],
    weight: Float[np.ndarray, "row draw"],
    level: float,
    most: int = 0,
) -> Int[np.ndarray, "row class"]:
    """Return the first draw, in ascending order, at which the sum of weights reaches a level.

    Sums start from the nearer end, over its `most` draws (0: as many as even weights need), and
    again over more where these do not reach the level. Keys change their order.
    """
    size, below = keys.shape[-1], level < 0.5
    tail = (level if below else 1 - level) + (-ROUNDING if below else ROUNDING)
    even = size * max(tail, 0.0)
    most = min(size, most or int(even + MARGIN * np.sqrt(even)) + 2)
    if most < size:
        keys.partition(most - 1 if below else size - most, axis=-1)
    some = np.sort(keys[..., :most] if below else keys[..., size - most :], axis=-1)
    at = _positions(some if below else some[..., ::-1], size)
    steps = taken(weight[:, None], at).cumsum(axis=-1)
    # from above, a draw is counted as long as those beyond it weigh no more than the tail
    count = (steps < tail if below else steps <= tail).sum(axis=-1)
    out = taken(at, np.minimum(count, most - 1)[..., None])[..., 0]
    more = (count == most).any(axis=1)
    if most < size and more.any():
        out[more] = _reached(keys[more], weight[more], level, 3 * most)
    return out


def evenly(
    score: Float[np.ndarray, "draw row"], weight: Float[np.ndarray, "draw row"], size: int
) -> Int[np.ndarray, "row place"]:
    """Return draws of each row in the order of a score, each as often as its weight says.

    They are the quantiles of levels (i + 1/2) / size.
    """
    keys = _keys(score.T)
    keys.sort(axis=-1)
    order = _positions(keys, len(score))
    ends = np.floor(taken(weight.T, order).cumsum(axis=1) * size + 0.5).astype(int)
    ends[:, -1] = size
    times = np.diff(ends, axis=1, prepend=0)
    return np.repeat(order.ravel(), times.ravel()).reshape(-1, size)


def _keys(values: Float[np.ndarray, "*rest draw"]) -> Keys:
    """Return numbers of at least 0, each ending in the bits of its position.

    The bits are a relative difference of 2e-13 among 1,000.
    """
    size = values.shape[-1]
    # the first bit goes with the last ones, since -0 has it
    kept = ~_low_bits(size) & np.uint64((1 << 63) - 1)
    bits = np.bitwise_and(np.ascontiguousarray(values).view(np.uint64), kept)
    np.bitwise_or(bits, np.arange(size, dtype=np.uint64), out=bits)
    return bits.view(float)


def _positions(keys: Float[np.ndarray, "*rest some"], size: int) -> Int[np.ndarray, "*rest some"]:
    """Return the positions among `size` numbers that the last bits of keys are."""
    return (np.ascontiguousarray(keys).view(np.uint64) & _low_bits(size)).astype(np.intp)


def _low_bits(size: int) -> np.uint64:
    """Return the bits that tell so many positions apart."""
    return np.uint64((1 << size.bit_length()) - 1)


def taken(values: np.ndarray, at: Int[np.ndarray, "*lead some"]) -> np.ndarray:
    """Return values at positions along the last axis; axes of length 1 before it are repeated.

    From one flat array, which is twice as fast as `take_along_axis` (measured).
    """
    lead = values.shape[:-1]
    starts = np.arange(0, values.size, values.shape[-1]).reshape(*lead, 1)
    return np.ascontiguousarray(values).reshape(-1).take(at + starts)
