"""Exact leave-one-out densities of the training rows, by class and bandwidth.

A row is taken from the kernels, from the Student t of its class, and from the guess of the
covariance, which is also that of all kernels.
"""

import numpy as np
from jaxtyping import Bool, Float, Int

from bayesgen.likelihoods.base import row_chunks
from bayesgen.likelihoods.distinct_rows import Rows
from bayesgen.likelihoods.kernel_discriminant.guesses import expected_cells, guessed, precisions
from bayesgen.likelihoods.kernel_discriminant.kernels import (
    PAIRS,
    Bandwidths,
    Kernels,
    log_sums_without,
)
from bayesgen.likelihoods.multivariate_normal import MultivariateNormalStatistics
from bayesgen.likelihoods.multivariate_normal.density import LOG_2PI
from bayesgen.likelihoods.multivariate_normal.statistics import complete_rows
from bayesgen.typing import Joint, Numbers

BATCH_FLOATS = 125_000
"""Numbers in the covariances of all rows of a batch: 1 MB, which a second-level cache holds (for
1,000 x 20 with three classes .163 s, with four times as many .187 s, with a fourth .23 s)."""

Sums = Float[np.ndarray, "row class bandwidth"]


def left_out(
    kernels: Kernels,
    statistics: MultivariateNormalStatistics,
    mean: Float[np.ndarray, "class feature"],
    rows: Rows,
    own: Int[np.ndarray, " row"],
    bandwidth: Bandwidths,
    *,
    every: bool = True,
) -> tuple[Joint, Sums, Bool[np.ndarray, " row"]]:
    """Return densities of rows by what is left without each of them, before they are mixed.

    Log densities of the Student t; logs of the sums of kernels; and the rows without which a column
    is constant, so that there is no covariance: theirs is that of all rows.

    Args:
        kernels: around the centers.
        statistics: moments of all rows, missing cells expected.
        mean: of each class, by which missing cells are expected.
        rows: those to leave out, in any order, each with the weight that goes away.
        own: the position of each row among the centers, -1 of a row that is none.
        bandwidth: of the kernels.
        every: whether sums of kernels are wanted of every class; -inf but for a row's own if not.
    """
    n, (n_classes, p) = len(rows.x), mean.shape
    normal, sums = np.empty((n, n_classes)), np.full((n, n_classes, len(bandwidth)), -np.inf)
    needed = np.zeros(n, dtype=bool)
    longest = max(1, *(part.stop - part.start for part in kernels.parts))
    for part in row_chunks(n, max(1, BATCH_FLOATS // (n_classes * p**2))):
        x, seen = rows.x[part], ~np.isnan(rows.x[part])
        filled, spread = x, np.zeros((len(x), p, p))
        if not seen.all():
            filled, spread = expected_cells(x, mean[rows.y[part]], kernels.covariance)
        away = rows.weight[part]
        alone = complete_rows(away, filled, away[:, None, None] * spread)
        rest = statistics - alone.placed(rows.y[part], n_classes)
        prior = guessed(rest)
        needed[part] = np.isnan(np.diagonal(prior.scale[:, 0], axis1=1, axis2=2)).any(axis=1)
        if needed[part].any():
            all_rows = np.broadcast_to(kernels.covariance, prior.scale.shape)
            scale = np.where(needed[part, None, None, None], all_rows, prior.scale)
            prior = prior.with_arrays({"scale": scale})
        normal[part] = prior.log_predictive_updated(rest, x)
        precision, log_det = precisions(prior.scale[:, 0], seen)
        size = seen.sum(axis=1)[:, None]
        height = -0.5 * (log_det + size[:, 0] * LOG_2PI)[:, None] - size * np.log(bandwidth)
        for some in row_chunks(len(x), max(1, PAIRS // longest)):
            there = np.arange(len(x))[some]
            for k in range(n_classes):
                here = there if every else there[rows.y[part][there] == k]
                at = part.start + here
                squares = kernels.squares(k, x[here], precision[here])
                logs = _without_own(kernels, k, squares, own[at], rows.weight[at], bandwidth)
                sums[at, k] = logs + height[here]
    return normal, sums, needed


def _without_own(
    kernels: Kernels,
    cls: int,
    squares: Numbers,
    own: Int[np.ndarray, " row"],
    away: Float[np.ndarray, " row"],
    bandwidth: Bandwidths,
) -> Float[np.ndarray, "row bandwidth"]:
    """Return the logs of a class's sums of kernels, each row's own center without its weight."""
    part = kernels.parts[cls]
    place = np.where((own >= part.start) & (own < part.stop), own - part.start, -1)
    lost = away * kernels.share[cls]
    return log_sums_without(squares, kernels.weight[part], place, lost, bandwidth)
