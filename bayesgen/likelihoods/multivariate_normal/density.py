"""Multivariate normal and t densities of complete and incomplete rows; draws of missing cells.

The marginal distribution of the observed columns keeps their rows and columns of the covariance.
All patterns are factorized in one batch, with the identity in place of missing columns: it adds 0
to the log determinant and, with residuals set to 0, to every distance.
"""

import dataclasses
import functools
import operator
from collections.abc import Callable, Iterator

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.linalg import solve_triangular

from bayesgen.likelihoods.base import Likelihood, row_chunks
from bayesgen.likelihoods.multivariate_normal.elimination import Precisions
from bayesgen.likelihoods.multivariate_normal.statistics import (
    MultivariateNormalStatistics,
    patterns,
)
from bayesgen.likelihoods.special_functions import namespace
from bayesgen.typing import Block, Labels, Numbers, Params, Traceable

Matrices = Float[np.ndarray, "*batch feature feature"]
LOG_2PI = np.log(2 * np.pi)
BATCH_FLOATS = 2_000_000
"""Matrix entries per class that are factorized at once: 16 MB, small beside any table of so many
patterns."""
CELL_FLOATS = 262_144
"""The same where five matrices of every cell are held: 2 MB each."""
SMALL_PRODUCT = 262_144
"""Multiplications up to which OpenBLAS uses one thread; two that wait for each other on busy cores
cost 8 ms a product (measured: .3 to 2 s instead of .04 s for 100,000 rows of 20 columns)."""
PIECE_FLOATS = 32_768
"""Residuals of all classes held at once: 256 kB stay in a second-level cache."""


REPEATED = 4
"""Rows of a pattern from which its inverse pays for itself."""

# -- distances, by pattern of missing values ----------------------------------------------------


def inverse_factors(matrices: Matrices) -> tuple[Matrices, Float[np.ndarray, "*batch"]]:
    """Return W with W'W = inverse, lower triangular, and the log determinant."""
    factors = np.linalg.cholesky(matrices)
    diagonal = np.diagonal(factors, axis1=-2, axis2=-1)
    return inverted(factors), 2 * np.log(diagonal).sum(axis=-1)


def whitened(
    matrices: Matrices, vectors: Float[np.ndarray, "*batch vector feature"]
) -> tuple[Float[np.ndarray, "*batch vector feature"], Float[np.ndarray, "*batch"]]:
    """Return L^-1 v for Cholesky factors L of matrices, and the log determinants.

    One factorization does it: in that of a matrix bordered by the vectors, with a corner so large
    that it stays positive definite, they are the last rows. (A third of the time of a factorization
    and NumPy's general solution, of 1,000 matrices 60 x 60.)
    """
    p, more = vectors.shape[-1], vectors.shape[-2]
    bordered = np.zeros((*matrices.shape[:-2], p + more, p + more))
    bordered[..., :p, :p] = matrices
    bordered[..., p:, :p] = vectors
    corner = np.arange(p, p + more)
    bordered[..., corner, corner] = np.finfo(float).max
    factors = np.linalg.cholesky(bordered)
    diagonal = np.diagonal(factors, axis1=-2, axis2=-1)[..., :p]
    return factors[..., p:, :p], 2 * np.log(diagonal).sum(axis=-1)


def inverted(factors: Matrices) -> Matrices:
    """Return inverses of Cholesky factors, computed with each column in its own unit.

    Otherwise rows of a large unit would be pivots for columns of a small one, whose digits would be
    lost (at 1e70 to 1, probabilities were off by .1).
    """
    size = np.linalg.norm(factors, axis=-1)
    return np.linalg.inv(factors / size[..., None]) / size[..., None, :]


def observed_part(matrices: Traceable, observed: Traceable) -> Traceable:
    """Return matrices with the identity for missing columns; NumPy or traced.

    observed: (..., feature), broadcast over matrices.
    """
    pairs, xp = observed[..., :, None] & observed[..., None, :], namespace(matrices, observed)
    if xp is np and observed.all():
        return np.broadcast_to(matrices, np.broadcast_shapes(matrices.shape, pairs.shape))
    return xp.where(pairs, matrices, np.eye(matrices.shape[-1]))


def cell_factors(factor: Traceable, label: Traceable, observed: Traceable) -> Traceable:
    """Return Cholesky factors of the observed part of Sigma, (*draw, cell, feature, feature).

    Missing rows and columns of Sigma become those of the identity, so that one batch of
    factorizations serves every pattern. NumPy or traced.

    Args:
        factor: of Sigma, (*draw, class or 1, feature, feature).
        label: the class of each cell.
        observed: (cell, feature).
    """
    covariance = factor @ factor.mT
    matrices = covariance[..., label % covariance.shape[-3], :, :]
    return namespace(factor).linalg.cholesky(observed_part(matrices, observed))


def by_pattern(
    x: Numbers,
) -> Iterator[tuple[Bool[np.ndarray, "pattern feature"], list[Int[np.ndarray, " row"]]]]:
    """Yield batches of patterns and the rows of each, except rows without an observed cell."""
    masks, which = patterns(~np.isnan(x))
    order = np.argsort(which, kind="stable")
    groups = np.split(order, np.cumsum(np.bincount(which, minlength=len(masks)))[:-1])
    useful = np.flatnonzero(masks.any(axis=1))
    size = max(1, BATCH_FLOATS // x.shape[1] ** 2)
    for start in range(0, len(useful), size):
        batch = useful[start : start + size]
        yield masks[batch], [groups[g] for g in batch]


def distances(
    x: Numbers, mean: Float[np.ndarray, "*draw class feature"], *, factors: Matrices
) -> tuple[
    Float[np.ndarray, "row *draw class"],
    Float[np.ndarray, "#row *draw class"],
    Int[np.ndarray, " #row"],
]:
    """Return (x-m)' M^-1 (x-m), log|M| over each row's observed columns, and their number.

    If no cell is missing, the latter two have one entry for all rows.

    factors: Cholesky factors of M, of shape (*draw, class, feature, feature), or
    (*draw, 1, feature, feature) where all classes share one.
    """
    if mean.ndim > 2:
        shape, p = mean.shape[:-1], mean.shape[-1]
        flat = np.broadcast_to(factors, (*shape, p, p)).reshape(-1, p, p)
        squares, log_dets, number = distances(x, mean.reshape(-1, p), factors=flat)
        return squares.reshape(-1, *shape), log_dets.reshape(-1, *shape), number
    observed = ~np.isnan(x)
    if observed.all():
        log_det = 2 * np.log(np.diagonal(factors, axis1=1, axis2=2)).sum(axis=1)
        squares = _squares(x.T, [len(x)], mean[None], inverted(factors)[None])
        return squares.T, np.broadcast_to(log_det, (1, len(mean))), np.full(1, x.shape[1])
    squares, log_dets = np.zeros((2, len(x), len(mean)))
    matrices, columns = factors @ factors.mT, np.where(observed, x, 0.0)
    which = patterns(observed)[1]
    often = np.bincount(which)[which] >= REPEATED
    rare = np.flatnonzero(observed.any(axis=1) & ~often)
    precisions = Precisions.of(factors)
    for chunk in row_chunks(len(rare), max(1, BATCH_FLOATS // matrices.size)):
        rows = rare[chunk]
        if precisions.eliminable:
            squares_and_logs = precisions.distances(columns[rows], observed[rows], mean)
        else:
            squares_and_logs = _row_distances(columns[rows], observed[rows], mean, matrices)
        squares[rows], log_dets[rows] = squares_and_logs
    common = np.flatnonzero(often)
    for masks, groups in by_pattern(x[common]):
        rows, sizes = common[np.concatenate(groups)], [len(group) for group in groups]
        inverses, log_det = inverse_factors(observed_part(matrices, masks[:, None]))
        squares[rows] = _squares(columns[rows].T, sizes, mean * masks[:, None], inverses).T
        log_dets[rows] = np.repeat(log_det, sizes, axis=0)
    return squares, log_dets, observed.sum(axis=1)


def _row_distances(
    x: Numbers,
    seen: Bool[np.ndarray, "row feature"],
    mean: Float[np.ndarray, "class feature"],
    matrices: Matrices,
) -> tuple[Float[np.ndarray, "row class"], Float[np.ndarray, "row _"]]:
    """Return squared distances and log determinants, each row with a factorization of its own.

    x: rows, 0 in place of missing cells. matrices: (class or 1, feature, feature).
    """
    off = np.where(seen[:, None], x[:, None] - mean, 0.0)
    # classes that share a covariance are whitened together
    vectors = off[:, None] if len(matrices) == 1 else off[:, :, None]
    white, log_det = whitened(observed_part(matrices, seen[:, None]), vectors)
    return (white**2).sum(axis=-1).reshape(off.shape[:2]), log_det


def _squares(
    columns: Float[np.ndarray, "feature row"],
    sizes: list[int],
    means: Float[np.ndarray, "pattern class feature"],
    inverses: Float[np.ndarray, "pattern _ feature feature"],
) -> Float[np.ndarray, "class row"]:
    """Return squared distances of rows that are sorted by pattern.

    Rows are the last axis, so that NumPy subtracts and sums along long lines of memory.

    sizes: the number of rows of each pattern.
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
    """Return score(rows, observed) by pattern, in the order of the rows.

    empty: the score of a row without an observed cell.
    """
    out = np.empty((len(x), *empty.shape))
    out[:] = empty
    for masks, groups in by_pattern(x):
        for mask, rows in zip(masks, groups, strict=True):
            out[rows] = score(x[np.ix_(rows, mask)], mask)
    return out


# -- given parameters ---------------------------------------------------------------------------


def cells_log_likelihood(params: Params, statistics: MultivariateNormalStatistics) -> Traceable:
    """Return the log likelihood of incomplete rows, from their cells' moments.

    NumPy, some cells at a time, or traced.
    """
    mean, n_cells = params["mean"], len(statistics.cell_class)
    if not n_cells:
        return np.zeros(mean.shape[:-2])
    size = n_cells
    if namespace(mean) is np:
        size = max(1, CELL_FLOATS // (mean[..., 0, 0].size * mean.shape[-1] ** 2))
    parts = [_log_likelihood_of(params, statistics, cells) for cells in row_chunks(n_cells, size)]
    return functools.reduce(operator.add, parts)


def _log_likelihood_of(
    params: Params, statistics: MultivariateNormalStatistics, cells: slice
) -> Traceable:
    """Return the log likelihood of some of the cells."""
    mean, factor = params["mean"], params["cholesky"]
    xp = mean.__array_namespace__()
    observed, label = statistics.cell_observed[cells], statistics.cell_class[cells]
    root = cell_factors(factor, label, observed)
    delta = xp.where(observed, statistics.cell_mean[cells] - mean[..., label, :], 0.0)
    count = statistics.cell_count[cells]
    squares = statistics.cell_scatter[cells]
    squares = squares + count[:, None, None] * delta[..., :, None] * delta[..., None, :]
    inverse = xp.linalg.inv(root)
    quadratic = ((inverse @ squares) * inverse).sum((-1, -2))
    log_det = 2 * xp.log(xp.diagonal(root, axis1=-2, axis2=-1)).sum(-1)
    constant = observed.sum(-1) * LOG_2PI
    return (-0.5 * (count * (log_det + constant) + quadratic)).sum(-1)


# -- under draws updated by the row itself -----------------------------------------------------


def updated_density_draws(
    posterior: Likelihood, rng: np.random.Generator, n: int
) -> Callable[[Block, np.ndarray], np.ndarray]:
    """Return (x, own) -> log p(observed x given y = k, theta), shape (draw, row, class).

    theta follows the posterior updated, in class own[draw, row] alone, by the row itself. No matrix
    is drawn: a row's density depends on Sigma through log|Sigma| and the distance of the row from
    mu, and under a normal-inverse-Wishart both follow from a handful of chi-squares. With
    W ~ Wishart(nu, I) the distance without the mean's noise is v'Wv for the standardized residual
    v, and by rotation only the leading block of W's Bartlett factor in the span of the residuals
    matters.
    """
    seed = int(rng.integers(2**63))
    score = _updated_shared if posterior.shared else _updated_per_class

    def log_density(x: Block, own: np.ndarray) -> np.ndarray:
        # row numbers join the rows, so that each finds its column of `own`
        numbered = np.concatenate([x, np.arange(len(x))[:, None]], axis=1)

        def partial(rows: Block, observed: np.ndarray) -> np.ndarray:
            seen = observed[:-1]
            if not seen.any():
                return np.zeros((len(rows), n, len(posterior.mean)))
            part = posterior.take("feature", np.flatnonzero(seen))
            generator = np.random.default_rng((seed, int(seen.sum())))
            mine = own[:, rows[:, -1].astype(int)]
            return np.swapaxes(score(part, generator, rows[:, :-1], mine), 0, 1)

        out = each_pattern(numbered, partial, np.zeros((n, len(posterior.mean))))
        return np.swapaxes(out, 0, 1)

    return log_density


def _updated_per_class(posterior, rng, x, own):
    """Score rows under own covariances: an update changes scalars of the row's class alone."""
    n_draws, (n_classes, p) = len(own), posterior.mean.shape
    matrices = posterior.covariance_rows[:, None, None] * posterior.scale
    inverse, log_det = inverse_factors(matrices)
    chi2 = rng.chisquare(posterior.degrees[:, None] - np.arange(p), (n_draws, n_classes, p))
    extra = rng.standard_normal((n_draws, n_classes, p)) ** 2
    normal = rng.standard_normal((n_draws, n_classes))
    rest = rng.chisquare(p - 1, (n_draws, n_classes)) if p > 1 else np.zeros((n_draws, n_classes))
    out = np.empty((*own.shape, n_classes))
    for k in range(n_classes):
        mine, rows = own == k, posterior.mean_rows[k]
        share = rows / (rows + 1)
        z = (x - posterior.mean[k]) @ inverse[k].T
        q = (z**2).sum(axis=1)
        # Sherman-Morrison on Psi + share d d', the residual shrunk by share
        squared = np.where(mine, share**2 * q / (1 + share * q), q)
        spread = log_det[k] + np.where(mine, np.log1p(share * q), 0.0)
        first = chi2[:, k, :1] + mine * extra[:, k, :1]
        without, more = np.log(chi2[:, k, 1:]).sum(-1), np.log((chi2 + extra)[:, k, 1:]).sum(-1)
        log_wishart = np.log(first) + np.where(mine, more[:, None], without[:, None])
        after = rows + mine
        distance = (normal[:, k, None] + np.sqrt(after * squared * first)) ** 2 + rest[:, k, None]
        out[..., k] = 0.5 * (log_wishart - spread - distance / after - p * LOG_2PI)
    return out


def _updated_shared(posterior, rng, x, own):
    """Score rows under one covariance, which an update changes for all classes.

    The residuals of a row span as many axes as there are classes.
    """
    n_draws, (n_classes, p) = len(own), posterior.mean.shape
    r = min(n_classes, p)
    bartlett = np.zeros((n_draws, r, r))
    i, j = np.tril_indices(r, -1)
    bartlett[:, i, j] = rng.standard_normal((n_draws, len(i)))
    degrees = posterior.degrees[0] - np.arange(p) + 1
    diagonal = rng.chisquare(degrees, (n_draws, p))
    bartlett[:, np.arange(r), np.arange(r)] = np.sqrt(diagonal[:, :r])
    normal = rng.standard_normal((n_draws, n_classes, r))
    rest = rng.chisquare(p - r, (n_draws, n_classes)) if p > r else np.zeros((n_draws, n_classes))
    matrices = posterior.covariance_rows[:, None, None] * posterior.scale
    inverse, log_det = inverse_factors(matrices)
    residual = (x[:, None] - posterior.mean) @ inverse[0].T
    gram = residual @ residual.mT
    out = np.empty((*own.shape, n_classes))
    for c in range(n_classes):
        share = posterior.mean_rows[c] / (posterior.mean_rows[c] + 1)
        after = posterior.mean_rows + (np.arange(n_classes) == c)
        # class c's mean moves to the row by 1 / (rows + 1); Psi gains share d d'
        shrink = np.where(np.arange(n_classes) == c, share, 1.0)
        cross, q = gram[:, c], gram[:, c, c]
        updated = (
            gram - (share / (1 + share * q))[:, None, None] * cross[:, :, None] * cross[:, None]
        )
        updated *= shrink[:, None] * shrink
        values, vectors = np.linalg.eigh(updated)
        roots = vectors[..., -r:] * np.sqrt(np.maximum(values[..., None, -r:], 0.0))
        spread = log_det[0] + np.log1p(share * q)
        mine = own == c
        draw, row = np.nonzero(mine)
        projected = np.einsum("ska,sab->skb", roots[row], bartlett[draw])
        noise = projected + normal[draw] / np.sqrt(after)[:, None]
        distance = (noise**2).sum(-1) + rest[draw] / after
        log_wishart = np.log(diagonal).sum(-1)[draw, None]
        out[draw, row] = 0.5 * (log_wishart - spread[row, None] - distance - p * LOG_2PI)
    return out


# -- rows drawn --------------------------------------------------------------------------------


def filled(
    x: Numbers,
    own: Labels,
    rng: np.random.Generator,
    *,
    mean: Float[np.ndarray, "class feature"],
    matrices: Matrices,
    degrees: float | Float[np.ndarray, "#class"] = np.inf,
) -> Numbers:
    """Return rows whose missing cells are drawn from t(mean, matrix, degrees) of each row's class.

    With o observed cells at squared distance d the others are t of degrees + o degrees of freedom
    around mean_m + M_mo M_oo^-1 (x_o - mean_o), with (degrees + d) / (degrees + o) times the
    matrix M_mm - M_mo M_oo^-1 M_om. All parts come from one Cholesky factor with the observed
    columns first.

    Source: Kotz and Nadarajah, Multivariate t Distributions and Their Applications (2004), 1.11.

    Args:
        x: rows, NaN where a cell is missing.
        own: class of each row.
        rng: random numbers.
        mean: of each class.
        matrices: of each class, or one for all.
        degrees: of freedom, of each class or of all; infinite ones are the normal.
    """
    out, degrees = x.copy(), np.broadcast_to(degrees, len(mean)).astype(float)
    for k, at, given in _given_observed(x, own, mean, matrices):
        noise = rng.standard_normal(given.location.shape) @ given.factor.T
        if np.isfinite(degrees[k]):
            chi2 = rng.chisquare(degrees[k] + given.n_seen, (len(noise), 1))
            noise *= np.sqrt((degrees[k] + given.distance) / chi2)
        out[at] = given.location + noise
    return out


def conditional(
    x: Numbers,
    own: Labels,
    *,
    mean: Float[np.ndarray, "class feature"],
    matrices: Matrices,
    degrees: float | Float[np.ndarray, "#class"] = np.inf,
) -> tuple[Numbers, Numbers, Numbers]:
    """Return location, scale and degrees of freedom of each cell that `filled` draws.

    NaN for observed cells. Arguments and formula are those of `filled`.
    """
    seen, after = ~np.isnan(x), np.broadcast_to(degrees, len(mean)).astype(float)[own][:, None]
    precisions = Precisions.of(np.linalg.cholesky(matrices))
    if precisions.eliminable:
        location, variance, distance = precisions.missing_cells(x, seen, own, mean)
    else:
        location, variance = np.full((2, *x.shape), np.nan)
        distance = np.zeros(len(x))
        for _, at, given in _given_observed(x, own, mean, matrices):
            location[at], variance[at] = given.location, (given.factor**2).sum(axis=1)
            distance[at[0][:, 0]] = given.distance[:, 0]
    freedom = np.where(seen, np.nan, after + seen.sum(axis=1, keepdims=True))
    if np.isfinite(after).all():
        variance = variance * (after + distance[:, None]) / freedom
    return location, np.sqrt(variance), freedom


@dataclasses.dataclass(frozen=True, eq=False)
class _GivenObserved:
    """Missing cells of rows of one class and one pattern, given the observed cells.

    location: (row, missing). factor: Cholesky factor of the conditional matrix. distance: squared,
    of the observed cells, (row, 1). n_seen: their number.
    """

    location: np.ndarray
    factor: np.ndarray
    distance: np.ndarray
    n_seen: int


def _given_observed(
    x: Numbers, own: Labels, mean: np.ndarray, matrices: Matrices
) -> Iterator[tuple[int, tuple, _GivenObserved]]:
    """Yield class, places of missing cells, and their distribution given the observed ones."""
    masks, which = patterns(~np.isnan(x))
    for g, seen in enumerate(masks):
        if seen.all():
            continue
        n_seen, order = (
            int(seen.sum()),
            np.concatenate([np.flatnonzero(seen), np.flatnonzero(~seen)]),
        )
        for k in np.unique(own[which == g]):
            rows = np.flatnonzero((which == g) & (own == k))
            matrix = matrices[min(k, len(matrices) - 1)][np.ix_(order, order)]
            factor = np.linalg.cholesky(matrix)
            z = x[np.ix_(rows, order[:n_seen])] - mean[k, order[:n_seen]]
            if n_seen:
                z = solve_triangular(factor[:n_seen, :n_seen], z.T, lower=True).T
            location = mean[k, order[n_seen:]] + z @ factor[n_seen:, :n_seen].T
            distance = (z**2).sum(axis=1, keepdims=True)
            given = _GivenObserved(location, factor[n_seen:, n_seen:], distance, n_seen)
            yield int(k), np.ix_(rows, order[n_seen:]), given


def noise(
    factors: Float[np.ndarray, "#class feature feature"], y: Labels, rng: np.random.Generator
) -> Numbers:
    """Return a draw from N(0, L L') for each label; classes may share one factor L."""
    z = rng.standard_normal((len(y), factors.shape[-1]))
    which = y if len(factors) > 1 else np.zeros_like(y)
    return np.einsum("rij,rj->ri", factors[which], z)
