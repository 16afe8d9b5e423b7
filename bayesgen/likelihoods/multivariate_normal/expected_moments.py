"""Expected moments of the filled rows of a multivariate normal, given parameters.

Given the parameters the filled rows of a cell (one class and one pattern of observed columns) are
an affine map of the observed ones plus noise in the missing columns: their moments follow from the
cell's, and no step needs the rows.

Source: Dempster, Laird and Rubin (1977); Little and Rubin, Statistical Analysis with Missing Data
(2nd ed.), section 11.2.
"""

import numpy as np
from jaxtyping import Float

from bayesgen.likelihoods.multivariate_normal.elimination import Precisions, inverses
from bayesgen.likelihoods.multivariate_normal.indicators import (
    Levels,
    Variables,
    independent_levels,
)
from bayesgen.likelihoods.multivariate_normal.statistics import MultivariateNormalStatistics
from bayesgen.typing import Params, Traceable

POOLED_STEPS = 10
"""Steps of EM toward the covariance that classes share. Without them the correlations of crabs with
20 % of the cells missing are so much too small that a stack loses .02 nats."""
RIDGE = 1e-6
"""Share of its variance that is added to that of a column, since columns may repeat each other."""


def expected(
    statistics: MultivariateNormalStatistics, params: Params
) -> MultivariateNormalStatistics:
    """Return the expected statistics of the filled rows given the observed cells and params.

    Exact. With the precision P, the missing columns m of a cell of n rows and the deviations d of
    its mean from that of its class, 0 in m, the filled mean is mu_m - C (P d)_m with C = P_mm^-1,
    and each row adds C to the scatter. The scatter S of the observed cells stays; with the slope
    B = -C P_m that of the missing ones is B S B', and B S with the observed. Cells that miss about
    equally many columns are computed at once.

    params: mean (class, feature) and cholesky (class or 1, feature, feature).
    """
    label, n_classes = statistics.cell_class, len(statistics.count)
    spare, n_columns = statistics.spare_columns, statistics.cell_observed.shape[1]
    precisions = Precisions.of(params["cholesky"])
    precision, p = precisions.with_spare(spare), n_columns + spare
    factor = label % len(precision)
    centre, width = params["mean"][label], precisions.unit[factor]
    filled, pull = np.zeros((2, len(label), p))
    deviation = np.where(statistics.cell_observed, statistics.cell_mean - centre, 0.0) / width
    filled[:, :n_columns] = deviation
    for k, matrix in enumerate(precisions.matrices):
        rows = slice(*np.searchsorted(factor, [k, k + 1]))
        pull[rows, :n_columns] = deviation[rows] @ matrix
    noise, across = np.zeros((2, n_classes, p, p))
    for gaps in statistics.gaps:
        cells, missing = gaps.cells, gaps.missing
        # (missing, missing, cell): cells come last, so that NumPy runs along them
        entry = (missing * p)[:, None] + missing
        covariance = inverses(precision.ravel().take(factor[cells] * p * p + entry))
        filled[cells, missing] = -(covariance * pull[cells, missing]).sum(axis=1)
        added = statistics.cell_count[cells] * covariance
        if len(gaps.varying):
            varies, lines = gaps.varying, missing[:, gaps.varying]
            cells = cells[varies]
            unit = 1 / width[cells]
            scatter = statistics.cell_scatter[cells] * (unit[:, :, None] * unit[:, None])
            given = precision[factor[cells][:, None], lines.T, :n_columns]
            slope = -(np.moveaxis(covariance[:, :, varies], -1, 0) @ given)
            turned = slope @ scatter
            added[:, :, varies] += np.moveaxis(turned @ slope.mT, 0, -1)
            np.add.at(across, (label[cells][:, None], lines.T, slice(n_columns)), turned)
        place = label[gaps.cells] * p * p + entry
        noise += np.bincount(place.ravel(), added.ravel(), noise.size).reshape(noise.shape)
    own = slice(n_columns)
    around = (noise + across + across.mT)[:, own, own]
    unit = precisions.unit
    scatter = around * (unit[:, :, None] * unit[:, None]) + statistics.scatter_of_cells
    return statistics.with_cells_filled(centre + width * filled[:, own], scatter)


def pooled_scatter(
    statistics: MultivariateNormalStatistics,
    variables: Variables = (),
    levels: Levels | None = None,
) -> Traceable:
    """Return the scatter of all classes around their means, that of incomplete rows expected.

    Cells are expected under means by class and one covariance, after a few steps of EM. The shape
    is (*lead, 1, feature, feature), *lead that of statistics of complete rows.

    Args:
        statistics: of the rows.
        variables: of which columns are indicators.
        levels: of these variables.
    """
    if not statistics.has_missing:
        return statistics.pooled_scatter
    # every prior that they complete asks for it
    known, key = statistics.derived, ("pooled scatter", variables)
    if key not in known:
        known[key] = _pooled(statistics, variables, levels)
    return known[key]


def pooled_covariance(
    statistics: MultivariateNormalStatistics,
    variance: np.ndarray,
    variables: Variables,
    levels: Levels,
) -> np.ndarray:
    """Return the covariance within classes where some columns are indicators of levels.

    Columns have their variances, from every observed cell, and these correlations; indicators have
    the covariances that are expected, which depend on no choice of a level without one. The shape
    is (*lead, 1, feature, feature).

    Args:
        statistics: of the rows.
        variance: of columns within classes, (*lead, feature).
        variables: of which columns are indicators.
        levels: of these variables.
    """
    scatter = pooled_scatter(statistics, variables, levels)
    spread = np.maximum(np.diagonal(scatter, axis1=-2, axis2=-1), 0.0)
    square = np.divide(variance[..., None, :], spread, out=np.zeros_like(spread), where=spread > 0)
    n = statistics.count.sum(axis=-1) + statistics.cell_count.sum()
    square[..., levels.at] = 1 / n[..., None, None]
    unit = np.sqrt(square)
    return scatter * unit[..., None] * unit[..., None, :]


def _pooled(
    statistics: MultivariateNormalStatistics, variables: Variables, levels: Levels | None
) -> Float[np.ndarray, "1 feature feature"]:
    scatter = statistics.pooled_observed_scatter.copy()
    alive = scatter[0].diagonal() > 0
    if levels is not None:
        # a level that does not vary is told apart by the others, unless none varies
        varies = (alive[levels.at] @ levels.member) @ levels.member.T
        alive[levels.at] = levels.read & varies
    live = np.flatnonzero(alive)
    part, found = statistics, scatter[:, live[:, None], live]
    if len(live) < scatter.shape[-1]:
        part = statistics.take("feature", live)
    variables = tuple(variables[j] for j in live.tolist()) if variables else ()
    columns = part.marginal()
    # missing cells at the means of their classes: correlations are too small at first
    spread = np.sqrt(found[0].diagonal())
    unit = np.sqrt(columns.scatter.sum(axis=0) / columns.count.sum(axis=0)) / spread
    mean, covariance = columns.mean, found * unit[:, None] * unit
    for _ in range(POOLED_STEPS):
        ridge = RIDGE * _apart(covariance[0], variables)
        factor = np.linalg.cholesky(covariance + ridge)
        filled = expected(part, {"mean": mean, "cholesky": factor})
        mean, found = filled.mean, filled.pooled_scatter
        covariance = found / filled.count.sum()
    scatter[:, live[:, None], live] = found
    return scatter


def _apart(covariance: np.ndarray, variables: Variables) -> np.ndarray:
    """Return a covariance as if columns, and the indicators of every level, were independent."""
    out = np.diag(covariance.diagonal())
    at = np.flatnonzero(np.array(variables) >= 0)
    if len(at):
        out[at[:, None], at] = independent_levels(covariance[at[:, None], at], variables)
    return out


def regression(
    statistics: MultivariateNormalStatistics, params: Params
) -> tuple[np.ndarray, np.ndarray]:
    """Return (slope, root) of each cell, both of shape (*draw, cell, feature, feature).

    A row of the cell is mean + slope (observed part - mean) + root z with z standard normal: slope
    is the identity in observed rows, the regression in missing ones and 0 in missing columns; root
    is 0 outside the missing block. Both come from the precision P: the conditional covariance is
    the inverse of its missing block, the regression -P_mm^-1 P_mo. Columns are scaled to unit
    variance meanwhile, because their units would make P ill-conditioned.
    """
    mean, factor = params["mean"], params["cholesky"]
    p, observed = mean.shape[-1], statistics.cell_observed
    unit = np.sqrt((factor**2).sum(axis=-1))
    inverse = np.linalg.inv(factor / unit[..., None])
    precision = np.broadcast_to(inverse.mT @ inverse, (*mean.shape, p))
    unit = np.broadcast_to(unit, mean.shape)[..., statistics.cell_class, :]
    # as many columns of each cell as any cell misses, its missing ones first: few, so that the
    # matrices to invert are small
    n_some = int((~observed).sum(axis=1).max(initial=0))
    some = np.argsort(observed, axis=1, kind="stable")[:, :n_some]
    missing = ~np.take_along_axis(observed, some, axis=1)
    rows = precision[..., statistics.cell_class[:, None], some, :]
    columns = np.broadcast_to(some[:, None], (*rows.shape[:-1], n_some))
    pairs = missing[:, :, None] & missing[:, None]
    block = np.where(pairs, np.take_along_axis(rows, columns, axis=-1), np.eye(n_some))
    inner = np.where(pairs, np.linalg.inv(np.linalg.cholesky(block)).mT, 0.0)
    cross = np.where(observed[:, None], rows, 0.0)
    slope, root = np.zeros((2, *rows.shape[:-2], p, p))
    cell = np.arange(len(observed))[:, None]
    slope[..., cell, some, :] = -inner @ (inner.mT @ cross)
    slope += np.eye(p) * observed[:, None]
    root[..., cell[:, :, None], some[:, :, None], some[:, None]] = inner
    return unit[..., None] * slope / unit[..., None, :], unit[..., None] * root


def cell_means(
    statistics: MultivariateNormalStatistics, params: Params, slope: np.ndarray
) -> np.ndarray:
    """Return each cell's mean with missing columns at their regression, (*draw, cell, feature)."""
    observed, centre = statistics.cell_observed, params["mean"][..., statistics.cell_class, :]
    delta = np.where(observed, statistics.cell_mean - centre, 0.0)
    return np.where(observed, statistics.cell_mean, centre + (slope @ delta[..., None])[..., 0])


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
    offset = statistics.mean - merged
    flat = (scatter + between).reshape(*mean.shape[:-1], p * p)
    squares = (member @ flat).reshape(*merged.shape, p)
    squares += statistics.count[:, None, None] * offset[..., :, None] * offset[..., None, :]
    return count, merged, squares + statistics.scatter
