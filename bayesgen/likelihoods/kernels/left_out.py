"""Exact leave-one-out densities of the training rows, by class and bandwidth.

A row is taken from the kernels, from the Student t of its class, and from the guess of the
covariance, which is also that of all kernels.
"""

import dataclasses
from typing import TypeVar

import numpy as np
from jaxtyping import Bool, Float, Int

from bayesgen.likelihoods.base import Arrays, row_chunks
from bayesgen.likelihoods.distinct_rows import ROUNDING, Rows
from bayesgen.likelihoods.kernels.guesses import expected_cells, guessed, precisions
from bayesgen.likelihoods.kernels.joint import PAIRS, Kernels
from bayesgen.likelihoods.kernels.sums import Bandwidths, log_sums_without
from bayesgen.likelihoods.multivariate_normal import MultivariateNormalStatistics
from bayesgen.likelihoods.multivariate_normal.density import LOG_2PI
from bayesgen.likelihoods.multivariate_normal.statistics import complete_rows
from bayesgen.typing import Joint, Labels

BATCH_FLOATS = 500_000
"""Numbers in the covariances of all rows of a batch: 4 MB, which a third-level cache holds (for
1,000 x 60 with three classes .49 s, with a fourth as many .76 s: the vectors of all centers are
read again for every batch)."""
NO_SPREAD = 1e-12
"""Share of a column's squares that is left of them by rounding alone: without a row the column is
constant, or constant within classes."""

A = TypeVar("A", bound=Arrays)


@dataclasses.dataclass(frozen=True, eq=False)
class LeftOut:
    """Densities of rows by what is left without each of them, before they are mixed.

    sums: logs of the sums of kernels. normal: log densities of the Student t, (row, class). count:
    weight of the rows, (row, class). needed: the rows without which a column is constant, so that
    there is no covariance: theirs is that of all rows.
    """

    sums: Float[np.ndarray, "row class bandwidth"]
    normal: Joint
    count: Float[np.ndarray, "row class"]
    needed: Bool[np.ndarray, " row"]


def left_out(
    kernels: Kernels,
    statistics: MultivariateNormalStatistics,
    mean: Float[np.ndarray, "class feature"],
    rows: Rows,
    own: Int[np.ndarray, " row"],
    bandwidth: Bandwidths,
    *,
    every: bool = True,
) -> LeftOut:
    """Return densities of rows, each without its weight.

    Args:
        kernels: around the centers.
        statistics: moments of all rows, missing cells expected.
        mean: of each class, by which missing cells are expected.
        rows: those to leave out, in any order, each with the weight that goes away.
        own: the position of each row among the centers, -1 of a row that is none.
        bandwidth: of the kernels.
        every: whether all classes are wanted; if not, those of a row's own alone are computed.
    """
    n, (n_classes, p) = len(rows.x), mean.shape
    normal, needed = np.full((n, n_classes), -np.inf), np.zeros(n, dtype=bool)
    sums = np.full((len(bandwidth), n_classes, n), -np.inf).transpose(2, 1, 0)
    longest = max(1, *kernels.sizes)
    for part in row_chunks(n, max(1, min(BATCH_FLOATS // (n_classes * p**2), PAIRS // longest))):
        x, y, away, at = rows.x[part], rows.y[part], rows.weight[part], np.arange(n)[part]
        seen = ~np.isnan(x)
        filled, spread = x, np.zeros((len(x), p, p))
        if not seen.all():
            filled, spread = expected_cells(x, mean[y], kernels.covariance)
        rest = statistics.without_each(complete_rows(away, filled, away[:, None, None] * spread), y)
        rest = _without_rounding(rest, statistics)
        prior = guessed(rest)
        variance = np.diagonal(prior.scale[:, 0], axis1=1, axis2=2)
        needed[part] = ~(variance > NO_SPREAD * kernels.covariance.diagonal()).all(axis=1)
        if needed[part].any():
            scale = np.where(needed[part, None, None, None], kernels.covariance, prior.scale)
            prior = prior.with_arrays({"scale": scale})
        precision, log_det = precisions(prior.scale[:, 0], seen)
        size = seen.sum(axis=1)[:, None]
        height = -0.5 * (log_det + size[:, 0] * LOG_2PI)[:, None] - size * np.log(bandwidth)
        if every:
            normal[part] = prior.log_predictive_updated(rest, x)
            groups = [(np.arange(len(x)), range(n_classes))]
        else:
            prior, rest = _of_own(prior, y), _of_own(rest, y)
            normal[at, y] = prior.log_predictive_updated(rest, x)[:, 0]
            groups = [(np.flatnonzero(y == k), [k]) for k in np.unique(y).tolist()]
        for members, classes in groups:
            distances = kernels.squares(x[members], precision[members], classes)
            for k, squares in zip(classes, distances, strict=True):
                centers = kernels.parts[k]
                place = np.where(
                    y[members] == k, np.maximum(own[at[members]] - centers.start, -1), -1
                )
                lost = away[members] * kernels.share[k]
                logs = log_sums_without(squares, kernels.weight[centers], place, lost, bandwidth)
                sums[at[members], k] = logs + height[members]
    # the other centers of a row's class stand for all rows that are left
    cell, away = (np.arange(n), rows.y), rows.weight
    total = kernels.count[rows.y]
    left = np.where(total - away > ROUNDING * away, total - away, 0.0)
    others = total - np.where(own >= 0, away * kernels.share[rows.y], 0.0)
    change = np.divide(left, others, out=np.ones(n), where=(left > 0) & (others > 0))
    sums[cell] += np.log(change)[:, None]
    count = np.tile(kernels.count, (n, 1))
    count[cell] = left
    return LeftOut(sums, normal, count, needed)


def _without_rounding(
    rest: MultivariateNormalStatistics, whole: MultivariateNormalStatistics
) -> MultivariateNormalStatistics:
    """Return statistics whose columns have no scatter where rounding alone left some."""
    within, before = (s.scatter.sum(axis=-3).diagonal(axis1=-2, axis2=-1) for s in (rest, whole))
    spread = within > NO_SPREAD * before
    if spread.all():
        return rest
    both = spread[..., None, :, None] & spread[..., None, None, :]
    return rest.with_arrays({"scatter": np.where(both, rest.scatter, 0.0)})


def _of_own(stacked: A, y: Labels) -> A:
    """Return stacked statistics, or priors, of each row's own class alone."""
    names = [name for name, axes in stacked.axes.items() if axes[:1] == ("class",)]
    at = np.arange(len(y))
    return stacked.with_arrays({name: getattr(stacked, name)[at, y][:, None] for name in names})
