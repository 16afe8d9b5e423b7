"""Incomplete rows, filled in by cell: what a normal expects of the moments of their missing part.

A cell is one class and one pattern of observed columns. Given the parameters its filled rows are an
affine map of the observed ones plus noise in the missing columns, so their moments follow from the
cell's. Arrays may have leading draw axes.
"""

import numpy as np

from bayesgen.likelihoods.multivariate_normal import MultivariateNormalStatistics
from bayesgen.typing import Params


def expected(
    statistics: MultivariateNormalStatistics, params: Params
) -> MultivariateNormalStatistics:
    """Return the expected statistics of the filled rows given the observed cells and params.

    Exact. params: mean (class, feature) and cholesky (class or 1, feature, feature).
    """
    slope, root = regression(statistics, params)
    filled = cell_means(statistics, params, slope)
    scatter = slope @ statistics.cell_scatter @ transpose(slope)
    scatter += statistics.cell_count[:, None, None] * (root @ transpose(root))
    return without_missing(*merge_cells(statistics, filled, scatter))


def regression(
    statistics: MultivariateNormalStatistics, params: Params
) -> tuple[np.ndarray, np.ndarray]:
    """Return (slope, root) of each cell, both of shape (*draw, cell, feature, feature).

    A row of the cell is mean + slope (observed part - mean) + root z with z standard normal: slope
    is the identity in observed rows, the regression in missing ones and 0 in missing columns; root
    is 0 outside the missing block. Both come from the precision P: the conditional covariance is
    the inverse of its missing block, the regression -P_mm^-1 P_mo. Columns are told in standard
    deviations meanwhile: the units of the columns would make P worse conditioned than it is.
    """
    mean, factor = params["mean"], params["cholesky"]
    unit = np.sqrt((factor**2).sum(axis=-1))
    inverse = np.linalg.inv(factor / unit[..., None])
    precision = np.broadcast_to(transpose(inverse) @ inverse, (*mean.shape, mean.shape[-1]))
    unit = np.broadcast_to(unit, mean.shape)[..., statistics.cell_class, :]
    cells = precision[..., statistics.cell_class, :, :]
    seen, eye = statistics.cell_observed, np.eye(mean.shape[-1])
    missing = ~seen[:, :, None] & ~seen[:, None, :]
    root = np.linalg.inv(np.linalg.cholesky(np.where(missing, cells, eye)))
    root = np.where(missing, transpose(root), 0.0)
    cross = np.where(~seen[:, :, None] & seen[:, None, :], cells, 0.0)
    slope = eye * seen[:, None] - root @ (transpose(root) @ cross)
    return unit[..., None] * slope / unit[..., None, :], unit[..., None] * root


def cell_means(
    statistics: MultivariateNormalStatistics, params: Params, slope: np.ndarray
) -> np.ndarray:
    """Return each cell's mean with missing columns at their regression, (*draw, cell, feature)."""
    seen, centre = statistics.cell_observed, params["mean"][..., statistics.cell_class, :]
    delta = np.where(seen, statistics.cell_mean - centre, 0.0)
    return np.where(seen, statistics.cell_mean, centre + (slope @ delta[..., None])[..., 0])


def merge_cells(
    statistics: MultivariateNormalStatistics, mean: np.ndarray, scatter: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return count (class,), mean and scatter of each class, (*draw, class, feature[, feature]).

    mean and scatter are those of the cells once filled, (*draw, cell, feature[, feature]).
    """
    p = mean.shape[-1]
    member = np.equal(statistics.cell_class, np.arange(len(statistics.count))[:, None])
    weight = member * statistics.cell_count
    count = statistics.count + weight.sum(axis=1)
    total = statistics.count[:, None] * statistics.mean + weight @ mean
    merged = np.divide(total, count[:, None], out=np.zeros_like(total), where=count[:, None] > 0)
    delta = mean - merged[..., statistics.cell_class, :]
    between = statistics.cell_count[:, None, None] * delta[..., :, None] * delta[..., None, :]
    own = statistics.mean - merged
    flat = (scatter + between).reshape(*mean.shape[:-1], p * p)
    squares = (member @ flat).reshape(*merged.shape, p)
    squares += statistics.count[:, None, None] * own[..., :, None] * own[..., None, :]
    return count, merged, squares + statistics.scatter


def without_missing(
    count: np.ndarray, mean: np.ndarray, scatter: np.ndarray
) -> MultivariateNormalStatistics:
    """Return the statistics of complete rows."""
    p = mean.shape[1]
    cells = (np.empty(0, dtype=int), np.empty((0, p), dtype=bool), np.empty(0), np.empty((0, p)))
    return MultivariateNormalStatistics(count, mean, scatter, *cells, np.empty((0, p, p)))


def transpose(matrices: np.ndarray) -> np.ndarray:
    """Return each matrix of a stack transposed."""
    return np.swapaxes(matrices, -1, -2)
