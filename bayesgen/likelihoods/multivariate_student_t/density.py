"""Log densities of the multivariate t: of rows under draws in NumPy, and of all rows, traced too.

With o observed columns, d their squared distance from the mean in the matrix Sigma_oo, and v
degrees of freedom: log Gamma((v + o)/2) - log Gamma(v/2) - o/2 log(pi v) - log|Sigma_oo|/2
- (v + o)/2 log(1 + d/v).
"""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float

from bayesgen.likelihoods.multivariate_normal.marginal_density import (
    SMALL_PRODUCT,
    distances,
    each_pattern,
)
from bayesgen.likelihoods.multivariate_student_t.statistics import PatternedRows
from bayesgen.likelihoods.normal_densities import FEW
from bayesgen.typing import Block, Params, Traceable

SHIFT = 16
"""From here on five terms of Stirling's series leave an error below 2e-3/z^11 = 1e-16."""
STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188)


def log_gamma_ratio(a: Traceable, half: Traceable) -> Traceable:
    """Return log Gamma(a + half) - log Gamma(a) for a > 0, half >= 0.

    The difference of two log Gammas loses a digit for every digit of a: 1e-7 at a = 1e8. Here both
    are shifted by 16, where Stirling's series meets them, and the large terms cancel on paper.
    Runs on NumPy and on traced JAX arrays.
    """
    xp = (a + half).__array_namespace__()
    low = a + SHIFT
    high = low + half
    out = (low - 0.5) * xp.log1p(half / low) + half * (xp.log(high) - 1)
    powers = -(2.0 * np.arange(len(STIRLING)) + 1)
    out = out + (high[..., None] ** powers - low[..., None] ** powers) @ np.array(STIRLING)
    return out - xp.log1p(half[..., None] / (a[..., None] + np.arange(SHIFT))).sum(-1)


def constants(degrees: Traceable, n_features: int) -> Traceable:
    """Return log Gamma((v + o)/2) - log Gamma(v/2) - o/2 log(pi v), o from 0 on, (..., o)."""
    half, degrees = np.arange(n_features + 1) / 2, degrees[..., None]
    xp = degrees.__array_namespace__()
    return log_gamma_ratio(degrees / 2, half) - half * xp.log(np.pi * degrees)


def log_density_fn(params: Params) -> Callable[[Block], np.ndarray]:
    """Return x -> log density of the observed columns, shape (row, *draw, class).

    params: mean (*draw, class, feature), cholesky (*draw, class or 1, feature, feature) and degrees
    (*draw,).
    """
    shape, p = params["mean"].shape[:-1], params["mean"].shape[-1]
    mean = params["mean"].reshape(-1, shape[-1], p)
    factors = params["cholesky"].reshape(len(mean), -1, p, p)
    degrees = np.asarray(params["degrees"], dtype=float).reshape(-1)
    constant, inverse = constants(degrees, p), np.linalg.inv(factors)

    def score(squares: np.ndarray, log_det: np.ndarray, seen: int | np.ndarray) -> np.ndarray:
        """Turn (row, draw, class) squared distances into log densities, in place."""
        squares /= degrees[:, None]
        np.log1p(squares, out=squares)
        squares *= -(degrees + np.reshape(seen, (-1, 1)))[..., None] / 2
        squares += np.reshape(constant.T[seen], (-1, len(degrees), 1)) - log_det / 2
        return squares

    def partial(x: Block, observed: np.ndarray) -> np.ndarray:
        centre, whitener, factor = mean, inverse, factors
        if not observed.all():
            factor = _marginal_factor(factors, observed)
            centre, whitener = mean[..., observed], np.linalg.inv(factor)
        log_det = 2 * np.log(np.diagonal(factor, axis1=-2, axis2=-1)).sum(axis=-1)
        return score(_squares(x, centre, whitener), log_det, int(observed.sum()))

    def few(x: Block) -> np.ndarray:
        flat = np.broadcast_to(factors, (*mean.shape, p)).reshape(-1, p, p)
        found = distances(x, mean.reshape(-1, p), factors=flat)
        squares, log_dets = (part.reshape(-1, *mean.shape[:2]) for part in found[:2])
        return score(squares, log_dets, found[2])

    def log_density(x: Block) -> np.ndarray:
        if mean[..., 0].size <= FEW:
            out = few(x)
        elif np.isnan(x).any():
            out = each_pattern(x, partial, np.zeros(mean.shape[:2]))
        else:
            out = partial(x, np.ones(p, dtype=bool))
        return out.reshape(len(x), *shape)

    return log_density


def _marginal_factor(factors: np.ndarray, observed: np.ndarray) -> np.ndarray:
    """Return the Cholesky factors of the matrices of some columns."""
    rows = factors[..., observed, :]
    return np.linalg.cholesky(rows @ np.swapaxes(rows, -1, -2))


def _squares(
    x: Block, mean: np.ndarray, inverse: np.ndarray
) -> Float[np.ndarray, "row draw class"]:
    """Return squared lengths of W x - W mean, as many draws at once as one small product takes."""
    n_draws, wide, p = inverse.shape[:3]
    out = np.empty((len(x), n_draws, mean.shape[1]))
    size = max(1, SMALL_PRODUCT // (max(len(x), 1) * wide * p * p))
    for start in range(0, n_draws, size):
        part = slice(start, start + size)
        whitener = inverse[part]
        centre = (whitener @ mean[part, ..., None])[..., 0]
        z = (x @ whitener.reshape(-1, p).T).reshape(len(x), -1, wide, p) - centre
        np.einsum("rdkp,rdkp->rdk", z, z, out=out[:, part])
    return out


def log_likelihood(params: Params, rows: PatternedRows) -> Traceable:
    """Return the sum over rows of weight times log density of their observed columns, (*draw,).

    Runs on NumPy and on traced JAX arrays. Complete rows take one product a class; the others are
    whitened by the factor of their cell.
    """
    mean, factor, degrees = params["mean"], params["cholesky"], params["degrees"]
    xp = mean.__array_namespace__()
    factor = xp.broadcast_to(factor, (*mean.shape, mean.shape[-1]))
    constant = constants(xp.asarray(degrees), mean.shape[-1])
    complete = (*_complete(mean, factor, rows), mean.shape[-1], rows.complete)
    holed = (*_holed(mean, factor, rows), rows.cell_observed.sum(-1)[rows.cell], rows.holed)
    v, total = xp.asarray(degrees)[..., None], 0.0
    for squares, log_det, seen, entries in (complete, holed):
        logs = constant[..., seen] if np.ndim(seen) else constant[..., seen, None]
        logs = logs - log_det / 2 - (v + seen) / 2 * xp.log1p(squares / v)
        total = total + (rows.weight[entries] * logs).sum(-1)
    return total


def _complete(
    mean: Traceable, factor: Traceable, rows: PatternedRows
) -> tuple[Traceable, Traceable]:
    """Return squared distances and log determinants of complete rows, each (*draw, complete)."""
    xp = mean.__array_namespace__()
    x, y = rows.x[rows.complete], rows.y[rows.complete]
    inverse = xp.swapaxes(xp.linalg.inv(factor), -1, -2)
    squares = xp.zeros((*mean.shape[:-2], len(x)))
    for k in range(mean.shape[-2]):
        z = (x - mean[..., k, None, :]) @ inverse[..., k, :, :]
        squares = xp.where(y == k, (z**2).sum(-1), squares)
    log_det = 2 * xp.log(xp.diagonal(factor, axis1=-2, axis2=-1)).sum(-1)
    return squares, log_det[..., y]


def _holed(mean: Traceable, factor: Traceable, rows: PatternedRows) -> tuple[Traceable, Traceable]:
    """Return squared distances and log determinants of incomplete rows, each (*draw, holed)."""
    xp = mean.__array_namespace__()
    seen = rows.cell_observed
    covariance = factor @ xp.swapaxes(factor, -1, -2)
    both = seen[:, :, None] & seen[:, None, :]
    parts = xp.where(both, covariance[..., rows.cell_class, :, :], np.eye(mean.shape[-1]))
    root = xp.linalg.cholesky(parts)
    x = xp.where(seen[rows.cell], rows.x[rows.holed], 0.0)
    away = xp.where(seen[rows.cell], x - mean[..., rows.y[rows.holed], :], 0.0)
    z = (xp.linalg.inv(root)[..., rows.cell, :, :] @ away[..., None])[..., 0]
    log_det = 2 * xp.log(xp.diagonal(root, axis1=-2, axis2=-1)).sum(-1)
    return (z**2).sum(-1), log_det[..., rows.cell]
