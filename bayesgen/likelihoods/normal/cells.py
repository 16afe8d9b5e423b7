"""The log density of a normal cell, linear in x^2, x and 1: for families of independent cells."""

from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Float

from bayesgen.likelihoods.row_chunks import row_chunks
from bayesgen.typing import Block, Traceable

FEW = 64
"""Sets of parameters, draws times classes, up to which residuals are scored set by set: a point
estimate of any number of classes, not a posterior's draws. Where a variance is 1e-13 of the squared
distance to the origin, x^2 / v and m x / v cancel but for their last three digits."""


def residual_density(
    mean: Float[np.ndarray, "*draw class feature"], variance: Float[np.ndarray, "..."]
) -> Callable[[Block], np.ndarray]:
    """Return x -> sum over observed columns of -((x - m)^2 / v + log 2 pi v) / 2.

    The answer has the shape (row, *draw, class); variance broadcasts to the shape of mean.
    """
    shape, p = mean.shape[:-1], mean.shape[-1]
    wide = np.broadcast_to(variance, mean.shape).reshape(-1, p, 1)
    centre, constant = mean.reshape(-1, p, 1), np.log(2 * np.pi * wide[..., 0])

    def log_density(x: Block) -> np.ndarray:
        out = np.empty((len(x), len(centre)))
        for rows in row_chunks(len(x)):
            # rows side by side, as in `student_t`; a copy also where they lie so already
            block = np.array(x[rows].T, order="C")
            observed = ~np.isnan(block)
            block[~observed] = 0.0
            for k in range(len(centre)):
                off = block - centre[k]
                off *= off
                off /= wide[k]
                off[~observed] = 0.0
                out[rows, k] = -0.5 * (off.sum(axis=0) + constant[k] @ observed)
        return out.reshape(len(x), *shape)

    return log_density


def statistics(x: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return x^2, x and 1."""
    return x**2, x, np.ones_like(x)


def coefficients(xp: Any, mean: Traceable, variance: Traceable) -> tuple[Traceable | float, ...]:
    """Return the weights of x^2, x and 1: -1/(2 v), m/v and -(log 2 pi v + m^2/v)/2."""
    constant = -0.5 * (xp.log(2 * np.pi * variance) + mean**2 / variance)
    return -0.5 / variance, mean / variance, constant
