"""Kernels, each scaled so that the bandwidth is its standard deviation, and sums of them.

So one bandwidth blurs as much whatever the kernel, as in R's `density`. (Elsewhere the bandwidth of
a kernel that ends somewhere is its half-width, which is `reach` times ours.)
"""

import dataclasses
from collections.abc import Callable

import numpy as np
from jaxtyping import Float

from bayesgen.likelihoods.distinct_values import Values as FittedValues
from bayesgen.typing import Block, Labels

PAIRS = 1 << 19
"""Pairs of a value and a centre looked at at once: 4 MB, which stays in a third-level cache."""

Values = Float[np.ndarray, " value"]
Centres = Float[np.ndarray, " centre"]


@dataclasses.dataclass(frozen=True)
class Kernel:
    """A symmetric density that ends `reach` bandwidths from its centre.

    height: z -> density at z, for |z| <= 1 where 1 is the end. noise: (rng, n) -> draws of z.
    """

    reach: float
    height: Callable[[np.ndarray], np.ndarray]
    noise: Callable[[np.random.Generator, int], np.ndarray]


KERNELS = {
    "gaussian": None,
    "epanechnikov": Kernel(
        5**0.5, lambda z: 0.75 * (1 - z**2), lambda rng, n: 2 * rng.beta(2, 2, n) - 1
    ),
    "triangular": Kernel(
        6**0.5, lambda z: 1 - np.abs(z), lambda rng, n: rng.random(n) - rng.random(n)
    ),
    "uniform": Kernel(3**0.5, lambda z: np.full_like(z, 0.5), lambda rng, n: rng.uniform(-1, 1, n)),
    "biweight": Kernel(
        7**0.5, lambda z: 15 / 16 * (1 - z**2) ** 2, lambda rng, n: 2 * rng.beta(3, 3, n) - 1
    ),
}
"""By name; the Gaussian, which ends nowhere, is summed in logarithms."""


def log_density(
    name: str, value: Values, centre: Centres, weight: Centres, bandwidth: float
) -> Values:
    """Return the log of the weighted mean of kernels around the centres, at each value.

    -inf where no kernel reaches. Gaussians are exact at any distance.
    """
    distinct, where = np.unique(value, return_inverse=True)
    out = np.empty(len(distinct))
    size = max(1, PAIRS // max(len(centre), 1))
    with np.errstate(divide="ignore", over="ignore"):
        for begin in range(0, len(distinct), size):
            away = (distinct[begin : begin + size, None] - centre) / bandwidth
            out[begin : begin + size] = _log_sum(name, away, weight)
    return (out - np.log(weight.sum() * bandwidth))[where]


def _log_sum(name: str, away: np.ndarray, weight: np.ndarray) -> np.ndarray:
    kernel = KERNELS[name]
    if kernel is None:
        square = away**2 / 2
        nearest = square.min(axis=1, keepdims=True)
        # beyond the range of numbers all centres are as far
        off = np.where(np.isinf(nearest), np.inf, square - np.where(np.isinf(nearest), 0, nearest))
        return np.log(np.exp(-off) @ weight) - nearest[:, 0] - np.log(2 * np.pi) / 2
    z = away / kernel.reach
    return np.log(np.where(np.abs(z) <= 1, kernel.height(z), 0.0) @ weight) - np.log(kernel.reach)


def blur(name: str, rng: np.random.Generator, n: int) -> np.ndarray:
    """Return n draws from a kernel of bandwidth 1 around 0."""
    kernel = KERNELS[name]
    return rng.standard_normal(n) if kernel is None else kernel.reach * kernel.noise(rng, n)


def scattered(
    name: str,
    rows: FittedValues,
    bandwidth: Float[np.ndarray, "class feature"],
    y: Labels,
    rng: np.random.Generator,
) -> Block:
    """Return a fitted value of each row's class, column by column, blurred."""
    out = np.empty((len(y), rows.n_features))
    for k in np.unique(y):
        at = np.flatnonzero(y == k)
        for j in range(rows.n_features):
            centre, weight = rows.borrowed(int(k), j)
            steps = np.cumsum(weight)
            picked = np.searchsorted(steps, rng.random(len(at)) * steps[-1], side="right")
            noise = blur(name, rng, len(at))
            out[at, j] = centre[np.minimum(picked, len(centre) - 1)] + bandwidth[k, j] * noise
    return out
