"""Gaussian kernel densities at many bandwidths: computed at a few, and carried over exactly enough.

For one value, sum_i w_i exp(-(d_i^2 - d_min^2) / 2h^2) is an entire function of log h, which stays
between the weight of the nearest centres and that of all. Chebyshev's interpolation at 64 points
gives it at thousands of draws of h by one product of matrices.
"""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float

from bayesgen.likelihoods.kernel_density.kernels import PAIRS

NODES = 64
"""Points of the interpolation. Over bandwidths up to a factor of e^4 apart log densities are 1e-9
off at most (tested); of draws spread wider, and of fewer draws, each is computed itself."""
FARTHEST = 4.0

Cells = Float[np.ndarray, " value"]
Centres = Float[np.ndarray, " centre"]


def log_densities(
    centre: Centres, weight: Centres, bandwidth: Float[np.ndarray, " draw"]
) -> Callable[[Cells], Float[np.ndarray, "value draw"]]:
    """Return x -> log of the weighted mean of Gaussians around the centres, for each bandwidth."""
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
        size = max(1, PAIRS // max(len(centre), 1))
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
