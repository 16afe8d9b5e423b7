"""Importance weights of a multivariate normal with incomplete rows.

Proposals are draws from the posterior given expected statistics: those of the rows filled by the
regression at some parameters, its residual covariance C added once per row. The weight of a draw is
the density of the observed cells over that of the expected statistics (see `importance_sampling`).
Complete rows, prior and normalization cancel, and so does most of the rest: with P the precision of
a draw, m the missing columns of a cell of n rows, x those rows filled and A the sum over them of
g g' with g = (P (x - mu))_m, the logarithm of the weight is

    sum over cells of (trace(P_mm^-1 A) - n log|P_mm| + n trace(C P_mm)) / 2 + a constant,

because the integral of a normal density over x_m is that density times
exp(g' P_mm^-1 g / 2) |P_mm|^-1/2 (2 pi)^(|m| / 2). Only matrices of the missing columns remain, all
draws are computed together, and P_mm is eliminated column by column.
"""

import numpy as np
from jaxtyping import Float, Int

from bayesgen.inference.incomplete_normal_moments import cell_means, regression
from bayesgen.likelihoods.multivariate_normal.lkj_and_wishart import divided
from bayesgen.likelihoods.multivariate_normal.statistics import MultivariateNormalStatistics
from bayesgen.typing import Params

NEGLIGIBLE = 1e-14
"""Share of a scatter's largest eigenvalue below which a direction is rounding error."""

Lines = Float[np.ndarray, "feature coordinate draw"]
"""Rows of (P, -P mu): their products with (x, 1) are P (x - mu)."""


def log_importance(
    statistics: MultivariateNormalStatistics, draws: Params, centre: Params
) -> Float[np.ndarray, "draw class"]:
    """Return the logarithm of the weight of each draw by class, up to a constant.

    Args:
        statistics: of rows with missing values.
        draws: mean (draw, class, feature) and cholesky (draw, class or 1, feature, feature).
        centre: the parameters at which the rows were filled.
    """
    # columns in units of their deviations, around the means: no digits cancel
    unit = np.sqrt((centre["cholesky"] ** 2).sum(axis=-1).max(axis=0))
    mean = (draws["mean"] - centre["mean"]) / unit
    factor = draws["cholesky"] / unit[:, None]
    precision, wide = None, factor.shape[1]
    slope, root = regression(statistics, centre)
    root = root / unit[:, None]
    spread = root @ root.mT
    rows = _rows(statistics, centre, slope, unit)
    out = np.zeros(mean.shape[:2])
    for k in np.unique(statistics.cell_class).tolist():
        if precision is None or wide > 1:
            precision = _precision(factor[:, k % wide])
        constant = precision @ mean[:, k, :, None]
        both = np.concatenate([precision, -constant], axis=-1)
        lines = np.ascontiguousarray(np.moveaxis(both, 0, -1))
        for cell in np.flatnonzero(statistics.cell_class == k).tolist():
            missing = np.flatnonzero(~statistics.cell_observed[cell])
            n = float(statistics.cell_count[cell])
            own_spread = n * spread[cell][np.ix_(missing, missing)]
            out[:, k] += _of_cell(lines, missing, rows[cell], n, own_spread)
    return out


def _precision(
    factor: Float[np.ndarray, "draw feature feature"],
) -> Float[np.ndarray, "draw feature feature"]:
    p = factor.shape[-1]
    i, j = np.tril_indices(p, -1)
    diagonal = factor[:, None, np.arange(p), np.arange(p)]
    inverse = divided(np.eye(p)[None], factor[:, None, i, j], diagonal)[:, 0]
    return inverse.mT @ inverse


def _rows(
    statistics: MultivariateNormalStatistics,
    centre: Params,
    slope: Float[np.ndarray, "cell feature feature"],
    unit: Float[np.ndarray, " feature"],
) -> list[Float[np.ndarray, "direction coordinate"]]:
    """Return R of each cell with R'R = sum of (x, 1)(x, 1)' over its filled rows."""
    filled = cell_means(statistics, centre, slope) - centre["mean"][statistics.cell_class]
    ones = np.ones((len(filled), 1))
    size = np.sqrt(statistics.cell_count)[:, None]
    found = list((size * np.concatenate([filled / unit, ones], axis=1))[:, None])
    # a single row has no scatter
    several = np.flatnonzero(statistics.cell_scatter.any(axis=(1, 2)))
    steps = slope[several] / unit[:, None]
    scatter = steps @ statistics.cell_scatter[several] @ steps.mT
    values, vectors = np.linalg.eigh(scatter)
    for cell, value, vector in zip(several.tolist(), values, vectors, strict=True):
        some = value > NEGLIGIBLE * value[-1]
        around = (vector[:, some] * np.sqrt(value[some])).T
        nothing = np.zeros((len(around), 1))
        found[cell] = np.concatenate([found[cell], np.concatenate([around, nothing], axis=1)])
    return found


def _of_cell(
    lines: Lines,
    missing: Int[np.ndarray, " missing"],
    rows: Float[np.ndarray, "direction coordinate"],
    n: float,
    spread: Float[np.ndarray, "missing missing"],
) -> Float[np.ndarray, " draw"]:
    """Return the term of one cell; spread: n C."""
    left = lines[np.ix_(missing, missing)]
    # column by column: their lines are not copied
    pulls = [rows @ lines[j] for j in missing.tolist()]
    out = np.einsum("ij,ijd->d", spread, left)
    for i in range(len(missing)):
        pivot = left[i, i]
        out += np.einsum("rd,rd->d", pulls[i], pulls[i]) / pivot - n * np.log(pivot)
        for j in range(i + 1, len(missing)):
            share = left[j, i] / pivot
            left[j, i + 1 :] -= share * left[i, i + 1 :]
            pulls[j] -= share * pulls[i]
    return out / 2
