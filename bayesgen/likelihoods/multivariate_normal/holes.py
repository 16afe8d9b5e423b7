"""Densities of rows with holes: the observed part of a normal or of Student's t, by pattern.

The marginal over missing columns keeps the observed rows and columns of the matrix. All patterns
are factorised in one batch, with the identity in place of what is missing: it adds 0 to the log
determinant and, with residuals set to 0, to every distance.
"""

from collections.abc import Callable, Iterator

import numpy as np
from jaxtyping import Bool, Float, Int

from bayesgen.likelihoods.moments import blocks
from bayesgen.likelihoods.multivariate_normal.statistics import patterns
from bayesgen.typing import Numbers

Matrices = Float[np.ndarray, "*batch feature feature"]
BATCH_FLOATS = 2_000_000
"""Matrix entries factorised at once, a class: 16 MB, small beside any table that needs it."""
SMALL_PRODUCT = 262_144
"""Multiplications up to which OpenBLAS keeps to one thread; two that wait for each other on busy
cores cost 8 ms a product (measured: .3 to 2 s instead of .04 s for 100,000 rows of 20 columns)."""


def inverse_factors(matrices: Matrices) -> tuple[Matrices, Float[np.ndarray, "*batch"]]:
    """Return W with W'W = inverse, lower triangular, and the log determinant."""
    factors = np.linalg.cholesky(matrices)
    diagonal = np.diagonal(factors, axis1=-2, axis2=-1)
    return inverted(factors), 2 * np.log(diagonal).sum(axis=-1)


def inverted(factors: Matrices) -> Matrices:
    """Return inverses of Cholesky factors, each column in units of its own.

    Otherwise rows of a large unit would be pivots for columns of a small one, whose digits they
    swallow (at 1e70 to 1, probabilities were off by .1).
    """
    size = np.linalg.norm(factors, axis=-1)
    return np.linalg.inv(factors / size[..., None]) / size[..., None, :]


def observed_part(matrices: Matrices, observed: Bool[np.ndarray, "pattern feature"]) -> np.ndarray:
    """Return matrices with the identity for missing columns, patterns first."""
    shape = (len(observed), *[1] * (matrices.ndim - 2))
    mask = observed.reshape(*shape, -1)
    both = mask[..., :, None] & mask[..., None, :]
    return np.where(both, matrices, np.eye(matrices.shape[-1]))


def by_pattern(
    x: Numbers,
) -> Iterator[tuple[Bool[np.ndarray, "pattern feature"], list[Int[np.ndarray, " row"]]]]:
    """Yield batches of patterns with the rows of each, but for rows with nothing observed."""
    masks, which = patterns(~np.isnan(x))
    order = np.argsort(which, kind="stable")
    groups = np.split(order, np.cumsum(np.bincount(which, minlength=len(masks)))[:-1])
    useful = np.flatnonzero(masks.any(axis=1))
    size = max(1, BATCH_FLOATS // x.shape[1] ** 2)
    for start in range(0, len(useful), size):
        batch = useful[start : start + size]
        yield masks[batch], [groups[g] for g in batch]


def distances(
    x: Numbers, mean: Float[np.ndarray, "class feature"], *, factors: Matrices
) -> tuple[
    Float[np.ndarray, "row class"], Float[np.ndarray, "#row class"], Int[np.ndarray, " #row"]
]:
    """Return (x-m)' M^-1 (x-m), log|M| over each row's observed columns, and how many those are.

    The latter two stand once, for all rows, where no cell is missing.

    factors: Cholesky factors of M, of shape (class, feature, feature), or (1, feature, feature)
    where all classes share one.
    """
    squares = np.zeros((len(x), len(mean)))
    if not np.isnan(x).any():
        inverse = inverted(factors)
        log_det = 2 * np.log(np.diagonal(factors, axis1=1, axis2=2)).sum(axis=1)
        log_dets = np.broadcast_to(log_det, (1, len(mean)))
        for rows in blocks(len(x), max(256, SMALL_PRODUCT // x.shape[1] ** 2)):
            _squares(x[rows], mean, inverse, squares[rows])
        return squares, log_dets, np.full(1, x.shape[1])
    log_dets = np.zeros((len(x), len(mean)))
    n_observed = (~np.isnan(x)).sum(axis=1)
    matrices = factors @ np.swapaxes(factors, 1, 2)
    for masks, groups in by_pattern(x):
        inverses, log_det = inverse_factors(observed_part(matrices, masks))
        for g, rows in enumerate(groups):
            part = np.zeros((len(rows), len(mean)))
            _squares(np.where(masks[g], x[rows], 0.0), mean * masks[g], inverses[g], part)
            squares[rows], log_dets[rows] = part, log_det[g]
    return squares, log_dets, n_observed


def _squares(x: Numbers, mean: np.ndarray, inverse: Matrices, out: np.ndarray) -> None:
    # rows side by side in memory: what is subtracted from them and summed goes along long lines
    columns, ones = np.ascontiguousarray(x.T), np.ones(x.shape[1])
    for k, centre in enumerate(mean):
        z = inverse[min(k, len(inverse) - 1)] @ (columns - centre[:, None])
        z *= z
        # a sum by a product: with the squares 5 microseconds where `einsum` takes 8
        out[:, k] = ones @ z


def each_pattern(
    x: Numbers,
    score: Callable[[Numbers, Bool[np.ndarray, " feature"]], np.ndarray],
    empty: np.ndarray,
) -> np.ndarray:
    """Return score(rows, observed) by pattern, put back in order; `empty` where none."""
    out = np.empty((len(x), *empty.shape))
    out[:] = empty
    for masks, groups in by_pattern(x):
        for mask, rows in zip(masks, groups, strict=True):
            out[rows] = score(x[np.ix_(rows, mask)], mask)
    return out
