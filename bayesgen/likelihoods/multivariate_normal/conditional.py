"""Missing cells of normal and Student-t rows, drawn given the cells that are there."""

import numpy as np
from jaxtyping import Float
from scipy.linalg import solve_triangular

from bayesgen.likelihoods.multivariate_normal.statistics import patterns
from bayesgen.typing import Labels, Numbers

Matrices = Float[np.ndarray, "matrix feature feature"]


def filled(
    x: Numbers,
    own: Labels,
    rng: np.random.Generator,
    *,
    mean: Float[np.ndarray, "class feature"],
    matrices: Matrices,
    degrees: Float[np.ndarray, " class"],
) -> Numbers:
    """Return rows whose missing cells are drawn from t(mean, matrix, degrees) of each row's class.

    With o observed cells at squared distance d the others are t of degrees + o degrees of freedom
    around mean_m + M_mo M_oo^-1 (x_o - mean_o), with (degrees + d) / (degrees + o) times the
    matrix M_mm - M_mo M_oo^-1 M_om; infinite degrees are the normal. All parts come from one
    Cholesky factor with the observed columns first.

    Source: Kotz and Nadarajah, Multivariate t Distributions and Their Applications (2004), 1.11.

    Args:
        x: rows, NaN where a cell is missing.
        own: class of each row.
        rng: random numbers.
        mean: of each class.
        matrices: of each class, or one for all.
        degrees: of freedom, of each class.
    """
    out = x.copy()
    masks, which = patterns(~np.isnan(x))
    for g, seen in enumerate(masks):
        if seen.all():
            continue
        order = np.concatenate([np.flatnonzero(seen), np.flatnonzero(~seen)])
        for k in np.unique(own[which == g]):
            rows = np.flatnonzero((which == g) & (own == k))
            matrix = matrices[min(k, len(matrices) - 1)][np.ix_(order, order)]
            factor = np.linalg.cholesky(matrix)
            parts = x[np.ix_(rows, order[: seen.sum()])] - mean[k, order[: seen.sum()]]
            away = _drawn(parts, factor, float(degrees[k]), rng)
            out[np.ix_(rows, order[seen.sum() :])] = mean[k, order[seen.sum() :]] + away
    return out


def _drawn(
    away: Float[np.ndarray, "row seen"],
    factor: Float[np.ndarray, "feature feature"],
    degrees: float,
    rng: np.random.Generator,
) -> Float[np.ndarray, "row missing"]:
    """Return missing cells minus their means, given the seen ones minus theirs."""
    n_rows, n_seen = away.shape
    z = solve_triangular(factor[:n_seen, :n_seen], away.T, lower=True).T if n_seen else away
    noise = rng.standard_normal((n_rows, len(factor) - n_seen)) @ factor[n_seen:, n_seen:].T
    if np.isfinite(degrees):
        chi2 = rng.chisquare(degrees + n_seen, (n_rows, 1))
        noise *= np.sqrt((degrees + (z**2).sum(axis=1, keepdims=True)) / chi2)
    return z @ factor[n_seen:, :n_seen].T + noise


def filled_given(
    x: Numbers,
    own: Labels,
    rng: np.random.Generator,
    *,
    mean: Float[np.ndarray, "class feature"],
    factor: Matrices,
    degrees: float = np.inf,
) -> Numbers:
    """Return rows filled as by `filled`, of matrices that are given by their Cholesky factors."""
    matrices = factor @ np.swapaxes(factor, -1, -2)
    return filled(x, own, rng, mean=mean, matrices=matrices, degrees=np.full(len(mean), degrees))
