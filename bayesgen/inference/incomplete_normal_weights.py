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
draws and all cells of one shape are computed together, and P_mm is eliminated column by column.
"""

from collections.abc import Callable, Iterator

import numpy as np
from jaxtyping import Float, Int

from bayesgen.likelihoods.multivariate_normal.expected_moments import cell_means, regression
from bayesgen.likelihoods.multivariate_normal.lkj_and_wishart import divided
from bayesgen.likelihoods.multivariate_normal.statistics import MultivariateNormalStatistics
from bayesgen.typing import Params

NEGLIGIBLE = 1e-14
"""Share of a scatter's largest eigenvalue below which a direction is rounding error."""

CELL_FLOATS = 1 << 20
"""Numbers of cells of one shape worked on at once: 8 MB (measured: 2 MB and 32 MB are slower)."""

Lines = Float[np.ndarray, "feature coordinate draw"]
"""Rows of (P, -P mu): their products with (x, 1) are P (x - mu)."""


def log_importance(
    statistics: MultivariateNormalStatistics, centre: Params
) -> Callable[[Params], Float[np.ndarray, "draw class"]]:
    """Return draws -> the logarithm of the weight of each by class, up to a constant.

    Draws are mean (draw, class, feature) and cholesky (draw, class or 1, feature, feature).

    Args:
        statistics: of rows with missing values.
        centre: the parameters at which the rows were filled.
    """
    # columns in units of their deviations, around the means: no digits cancel
    unit = np.sqrt((centre["cholesky"] ** 2).sum(axis=-1).max(axis=0))
    slope, root = regression(statistics, centre)
    root = root / unit[:, None]
    spread = root @ root.mT
    filled = cell_means(statistics, centre, slope) - centre["mean"][statistics.cell_class]
    rows = _rows(statistics, filled / unit, slope / unit[:, None])
    shapes = np.stack([(~statistics.cell_observed).sum(axis=1), [*map(len, rows)]], axis=1)

    def of_class(k: int, lines: Lines) -> Float[np.ndarray, " draw"]:
        out, cells = np.zeros(lines.shape[-1]), np.flatnonzero(statistics.cell_class == k)
        for chunk in _of_one_shape(cells, shapes, len(out)):
            missing = np.nonzero(~statistics.cell_observed[chunk])[1].reshape(len(chunk), -1)
            n = statistics.cell_count[chunk]
            blocks = spread[chunk[:, None, None], missing[:, :, None], missing[:, None]]
            lines_of_cells = np.stack([rows[cell] for cell in chunk])
            out += _of_cells(lines, missing, lines_of_cells, n, n[:, None, None] * blocks)
        return out

    def log_weights(draws: Params) -> Float[np.ndarray, "draw class"]:
        mean = (draws["mean"] - centre["mean"]) / unit
        factor = draws["cholesky"] / unit[:, None]
        precision, wide = None, factor.shape[1]
        out = np.zeros(mean.shape[:2])
        for k in np.unique(statistics.cell_class).tolist():
            if precision is None or wide > 1:
                precision = _precision(factor[:, k % wide])
            constant = precision @ mean[:, k, :, None]
            system = np.concatenate([precision, -constant], axis=-1)
            out[:, k] = of_class(k, np.ascontiguousarray(np.moveaxis(system, 0, -1)))
        return out

    return log_weights


def _of_one_shape(
    cells: Int[np.ndarray, " cell"], shapes: Int[np.ndarray, "every 2"], n_draws: int
) -> Iterator[Int[np.ndarray, " some"]]:
    """Yield cells that miss equally many columns and have equally many directions."""
    distinct, which = np.unique(shapes[cells], axis=0, return_inverse=True)
    for shape, (n_missing, n_directions) in enumerate(distinct.tolist()):
        alike = cells[which == shape]
        width = n_missing * (n_missing + n_directions) * n_draws
        size = max(1, CELL_FLOATS // width)
        for start in range(0, len(alike), size):
            yield alike[start : start + size]


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
    filled: Float[np.ndarray, "cell feature"],
    slope: Float[np.ndarray, "cell feature feature"],
) -> list[Float[np.ndarray, "direction coordinate"]]:
    """Return R of each cell with R'R = sum of (x, 1)(x, 1)' over its filled rows.

    Args:
        statistics: of rows with missing values.
        filled: mean of the filled rows of each cell, around that of its class.
        slope: of the regression by which they are filled.
    """
    ones = np.ones((len(filled), 1))
    size = np.sqrt(statistics.cell_count)[:, None]
    filled_rows = list((size * np.concatenate([filled, ones], axis=1))[:, None])
    # a single row has no scatter
    several = np.flatnonzero(statistics.cell_scatter.any(axis=(1, 2)))
    steps = slope[several]
    scatter = steps @ statistics.cell_scatter[several] @ steps.mT
    values, vectors = np.linalg.eigh(scatter)
    for cell, value, vector in zip(several.tolist(), values, vectors, strict=True):
        large = value > NEGLIGIBLE * value[-1]
        around = (vector[:, large] * np.sqrt(value[large])).T
        nothing = np.zeros((len(around), 1))
        filled_rows[cell] = np.concatenate(
            [filled_rows[cell], np.concatenate([around, nothing], axis=1)]
        )
    return filled_rows


def _of_cells(
    lines: Lines,
    missing: Int[np.ndarray, "cell missing"],
    rows: Float[np.ndarray, "cell direction coordinate"],
    n: Float[np.ndarray, " cell"],
    spread: Float[np.ndarray, "cell missing missing"],
) -> Float[np.ndarray, " draw"]:
    """Return the sum of the terms of cells of one shape; spread: n C."""
    left = lines[missing[:, :, None], missing[:, None]]
    pulls = _pulls(lines, missing, rows)
    out = np.einsum("cij,cijd->cd", spread, left)
    for i in range(missing.shape[1]):
        pivot = left[:, i, i]
        out += np.einsum("crd,crd->cd", pulls[:, i], pulls[:, i]) / pivot
        out -= n[:, None] * np.log(pivot)
        for j in range(i + 1, missing.shape[1]):
            share = (left[:, j, i] / pivot)[:, None]
            left[:, j, i + 1 :] -= share * left[:, i, i + 1 :]
            pulls[:, j] -= share * pulls[:, i]
    return out.sum(axis=0) / 2


def _pulls(
    lines: Lines,
    missing: Int[np.ndarray, "cell missing"],
    rows: Float[np.ndarray, "cell direction coordinate"],
) -> Float[np.ndarray, "cell missing direction draw"]:
    """Return P (x - mu) in the missing columns: a product for each column that some cell misses."""
    out = np.empty((*missing.shape, rows.shape[1], lines.shape[-1]))
    for j in np.unique(missing).tolist():
        cell, place = np.nonzero(missing == j)
        products = rows[cell].reshape(-1, rows.shape[-1]) @ lines[j]
        out[cell, place] = products.reshape(len(cell), *out.shape[2:])
    return out
