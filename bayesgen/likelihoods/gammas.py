"""Quantiles of Gamma distributions, for rows that each add a count of their own."""

import numpy as np
from scipy.special import gammainccinv, gammaincinv


def gamma_quantiles(
    shape: np.ndarray, count: np.ndarray, u: np.ndarray, mine: np.ndarray
) -> np.ndarray:
    """Return quantiles of Gamma(shape + count, rate 1) where mine, else of Gamma(shape, rate 1).

    Each distinct count is worked out once.

    Args:
        shape: (feature,).
        count: (row, feature).
        u: which quantiles, (draw, feature).
        mine: (draw, row).

    Returns:
        Shape (draw, row, feature).

    Example:
        >>> count, u = np.array([[0.0], [3.0]]), np.array([[0.5]])
        >>> mine = np.array([[True, False]])
        >>> gamma_quantiles(np.array([1.0]), count, u, mine).round(3)
        array([[[0.693],
                [0.693]]])
    """
    out = np.empty((*mine.shape, len(shape)))
    for j in range(len(shape)):
        distinct, place = np.unique(count[:, j], return_inverse=True)
        own, low = shape[j] + np.append(distinct, 0.0), u[:, j] < 0.5
        table = np.empty((len(u), len(own)))
        table[low] = gammaincinv(own, u[low, j, None])
        # the upper tail by its complement, where 1 - u would lose its digits
        table[~low] = gammainccinv(own, 1 - u[~low, j, None])
        out[..., j] = np.take_along_axis(table, np.where(mine, place, len(distinct)), axis=1)
    return out
