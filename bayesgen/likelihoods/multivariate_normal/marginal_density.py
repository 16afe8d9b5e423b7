"""Densities of incomplete rows: the observed part of a normal or of Student's t, by pattern.

The marginal over missing columns keeps the observed rows and columns of the matrix. All patterns
are factorised in one batch, with the identity in place of what is missing: it adds 0 to the log
determinant and, with residuals set to 0, to every distance.
"""

from collections.abc import Callable, Iterator

import numpy as np
from jaxtyping import Bool, Float, Int

from bayesgen.likelihoods.base import row_chunks
from bayesgen.likelihoods.multivariate_normal.statistics import patterns
from bayesgen.typing import Numbers

Matrices = Float[np.ndarray, "*batch feature feature"]
BATCH_FLOATS = 2_000_000
"""Matrix entries factorised at once, a class: 16 MB, small beside any table that needs it."""
SMALL_PRODUCT = 262_144
"""Multiplications up to which OpenBLAS keeps to one thread; two that wait for each other on busy
cores cost 8 ms a product (measured: .3 to 2 s instead of .04 s for 100,000 rows of 20 columns)."""
PIECE_FLOATS = 32_768
"""Residuals of all classes held at once: 256 kB stay in a second-level cache."""


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
    seen = ~np.isnan(x)
    if seen.all():
        log_det = 2 * np.log(np.diagonal(factors, axis1=1, axis2=2)).sum(axis=1)
        squares = _squares(x.T, [len(x)], mean[None], inverted(factors)[None])
        return squares.T, np.broadcast_to(log_det, (1, len(mean))), np.full(1, x.shape[1])
    squares, log_dets = np.zeros((2, len(x), len(mean)))
    matrices, columns = factors @ np.swapaxes(factors, 1, 2), np.where(seen, x, 0.0).T
    for masks, groups in by_pattern(x):
        rows, sizes = np.concatenate(groups), [len(group) for group in groups]
        inverses, log_det = inverse_factors(observed_part(matrices, masks))
        squares[rows] = _squares(columns[:, rows], sizes, mean * masks[:, None], inverses).T
        log_dets[rows] = np.repeat(log_det, sizes, axis=0)
    return squares, log_dets, seen.sum(axis=1)


def _squares(
    columns: Float[np.ndarray, "feature row"],
    sizes: list[int],
    means: Float[np.ndarray, "pattern class feature"],
    inverses: Float[np.ndarray, "pattern _ feature feature"],
) -> Float[np.ndarray, "class row"]:
    """Return distances of rows that lie pattern by pattern, so many of each.

    Rows lie side by side in memory: what is subtracted from them and summed goes along long lines.
    """
    n_classes, p = means.shape[1:]
    out, ones, start = np.empty((n_classes, columns.shape[1])), np.ones(p), 0
    longest = max(256, min(PIECE_FLOATS // (n_classes * p), SMALL_PRODUCT // p**2))
    for size, mean, inverse in zip(sizes, means[..., None], inverses, strict=True):
        for piece in row_chunks(size, longest):
            rows = slice(start + piece.start, start + piece.stop)
            part = np.ascontiguousarray(columns[:, rows])
            z = inverse @ (part - mean)
            z *= z
            # a sum by a product: with the squares 5 microseconds where `einsum` takes 8
            out[:, rows] = ones @ z
        start += size
    return out


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
