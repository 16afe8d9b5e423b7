"""Missing columns of normal densities, eliminated for many rows or draws at once.

With the precision P of a normal, the missing columns m of a row x and g = P (x - mu), whatever
stands in x_m,

    integral of N(x) over x_m = N(x) exp(g_m' P_mm^-1 g_m / 2) |P_mm|^-1/2 (2 pi)^(|m| / 2),

so that only matrices of the missing columns are factorized, which are small where few are missing.

Columns are in units of their deviations: the diagonal of P then holds the variance inflation
factors, by which digits are lost where the two squares are subtracted.
"""

import dataclasses
from collections.abc import Iterator

import numpy as np
from jaxtyping import Bool, Float, Int

from bayesgen.typing import Labels, Numbers, Params

GAP_FLOATS, FEWEST_ROWS = 32_768, 64
"""Numbers in the missing blocks of rows that are worked on at once: 256 kB stay in a second-level
cache. With fewer rows NumPy's calls would take longer than their work."""
DRAW_FLOATS = 1 << 20
"""The same for the blocks of all draws, 8 MB."""
ELIMINATED = 20
"""Missing columns up to which elimination for all rows at once is faster than LAPACK's inverses
(microseconds a row: .12 and .6 for 4, .8 and 2.1 for 8, 4.5 and 6.6 for 15, 31 and 27 for 30)."""
INFLATION = 1e5
"""Largest variance inflation factor at which missing columns are eliminated from the precision: 11
of 16 digits are left. Above it the observed part of the covariance is factorized."""

SIMILAR = 1.5
"""Ratio of numbers of missing columns up to which few rows are worked on together: of 292 rows that
miss 1 to 23 of 49 columns two thirds of the time went into NumPy's calls otherwise (1.2 to 2 are
alike)."""

Blocks = Float[np.ndarray, "missing missing row"]


def by_gaps(
    observed: Bool[np.ndarray, "row feature"], floats: int = GAP_FLOATS, fewest: int = FEWEST_ROWS
) -> Iterator[tuple[Int[np.ndarray, " some"], Int[np.ndarray, "missing some"]]]:
    """Yield chunks of rows that miss equally many columns, one or more, and these columns.

    floats: numbers in the missing blocks of a chunk, which has at least `fewest` rows.
    """
    number = (~observed).sum(axis=1)
    for m in np.unique(number[number > 0]).tolist():
        alike = np.flatnonzero(number == m)
        size = max(fewest, floats // m**2)
        for start in range(0, len(alike), size):
            rows = alike[start : start + size]
            missing = np.nonzero(~observed[rows])[1].reshape(len(rows), m)
            yield rows, np.ascontiguousarray(missing.T)


def by_similar_gaps(
    observed: Bool[np.ndarray, "row feature"],
) -> Iterator[tuple[Int[np.ndarray, " some"], Int[np.ndarray, "missing some"]]]:
    """Yield chunks of rows that miss about equally many columns, and these columns.

    Rows that miss fewer than others of their chunk have columns beyond the last in place of these.
    """
    number = (~observed).sum(axis=1)
    sizes, times = np.unique(number[number > 0], return_counts=True)
    largest, alike, least = np.zeros(1, dtype=int), 0, 0
    for m, n in zip(sizes.tolist(), times.tolist(), strict=True):
        if alike < FEWEST_ROWS and m <= SIMILAR * least:
            largest[-1], alike = m, alike + n
        else:
            largest, alike, least = np.append(largest, m), n, m
    lacking = largest[np.searchsorted(largest, number)] - number
    more = np.arange(lacking.max(initial=0)) < lacking[:, None]
    yield from by_gaps(np.concatenate([observed, ~more], axis=1))


def inverses(blocks: Blocks) -> Blocks:
    """Return the inverses of positive definite matrices, in their place.

    Matrices lie along the last axis. Small ones are inverted by Gauss-Jordan elimination, which
    needs no pivots here: column by column for all of them at once. LAPACK inverts large ones.
    """
    if len(blocks) > ELIMINATED:
        return np.moveaxis(np.linalg.inv(np.moveaxis(blocks, -1, 0)), 0, -1)
    return _eliminated(blocks)[0]


def inverses_and_log_dets(blocks: Blocks) -> tuple[Blocks, Float[np.ndarray, " row"]]:
    """Return the inverses of positive definite matrices, in their place, and log determinants."""
    if len(blocks) > ELIMINATED:
        log_dets = np.linalg.slogdet(np.moveaxis(blocks, -1, 0))[1]
        return inverses(blocks), log_dets
    inverse, pivots = _eliminated(blocks)
    return inverse, np.log(pivots).sum(axis=0)


def _eliminated(blocks: Blocks) -> tuple[Blocks, Float[np.ndarray, "missing row"]]:
    """Return the inverses, in the place of the matrices, and the pivots of their elimination."""
    pivots = np.empty(blocks.shape[1:])
    for i in range(len(blocks)):
        pivots[i] = blocks[i, i]
        column = blocks[i].copy()
        share = column / pivots[i]
        blocks -= column[:, None] * share
        blocks[i] = blocks[:, i] = share
        blocks[i, i] = -1 / pivots[i]
    return np.negative(blocks, out=blocks), pivots


@dataclasses.dataclass(frozen=True, eq=False)
class Precisions:
    """Inverses of covariances, of classes or shared, in units of their columns' deviations.

    matrices: (covariance, feature, feature). unit: the deviations, (covariance, feature). log_det:
    log determinants of the correlation matrices, (covariance,).
    """

    matrices: Float[np.ndarray, "covariance feature feature"]
    unit: Float[np.ndarray, "covariance feature"]
    log_det: Float[np.ndarray, " covariance"]

    @classmethod
    def of(cls, factors: Float[np.ndarray, "covariance feature feature"]) -> "Precisions":
        """Return the precisions of covariances with these Cholesky factors."""
        unit = np.sqrt((factors**2).sum(axis=-1))
        scaled = factors / unit[..., None]
        inverse = np.linalg.inv(scaled)
        log_det = 2 * np.log(np.diagonal(scaled, axis1=-2, axis2=-1)).sum(axis=-1)
        return cls(inverse.mT @ inverse, unit, log_det)

    def with_spare(self, spare: int) -> Float[np.ndarray, "covariance more more"]:
        """Return the matrices with columns more, of variance 1 and independent of all others.

        They fill up rows that miss fewer columns than others (see `by_similar_gaps`).
        """
        p = self.matrices.shape[-1]
        out = np.repeat(np.eye(p + spare)[None], len(self.matrices), axis=0)
        out[:, :p, :p] = self.matrices
        return out

    @property
    def eliminable(self) -> bool:
        """Whether enough digits are left where missing columns are eliminated."""
        return bool(np.diagonal(self.matrices, axis1=-2, axis2=-1).max(initial=0) <= INFLATION)

    def distances(
        self,
        x: Numbers,
        observed: Bool[np.ndarray, "row feature"],
        mean: Float[np.ndarray, "class feature"],
    ) -> tuple[Float[np.ndarray, "row class"], Float[np.ndarray, "row covariance"]]:
        """Return squared distances of rows from means, and log determinants, over observed columns.

        x: rows, with any number in place of missing cells.
        """
        (n, p), (n_classes, wide) = x.shape, (len(mean), len(self.matrices))
        squares = np.empty((n_classes, n))
        pulls = np.empty((n_classes, n, p))
        for k in range(n_classes):
            off = np.where(observed, x - mean[k], 0.0) / self.unit[k % wide]
            pulls[k] = off @ self.matrices[k % wide]
            squares[k] = (off * pulls[k]).sum(axis=1)
        log_dets = self.log_det + observed @ (2 * np.log(self.unit.T))
        for rows, missing in by_gaps(observed):
            entry = (missing * p)[:, None] + missing
            for f, matrix in enumerate(self.matrices):
                inverse, log_det = inverses_and_log_dets(matrix.ravel().take(entry))
                log_dets[rows, f] += log_det
                for k in range(f, n_classes, wide):
                    pull = pulls[k][rows, missing]
                    squares[k, rows] -= ((inverse * pull).sum(axis=1) * pull).sum(axis=0)
        return squares.T, log_dets

    def missing_cells(
        self,
        x: Numbers,
        observed: Bool[np.ndarray, "row feature"],
        own: Labels,
        mean: Float[np.ndarray, "class feature"],
    ) -> tuple[Numbers, Numbers, Float[np.ndarray, " row"]]:
        """Return means and variances of missing cells given the observed ones of their rows.

        Also returns the squared distances of the observed cells. Of these the means and variances
        are NaN.

        x: rows, with any number in place of missing cells. own: class of each row.
        """
        p, factor = x.shape[1], own % len(self.matrices)
        centre, unit = mean[own], self.unit[factor]
        off = np.where(observed, x - centre, 0.0) / unit
        pulls = np.empty_like(off)
        for f, matrix in enumerate(self.matrices):
            pulls[factor == f] = off[factor == f] @ matrix
        squares = (off * pulls).sum(axis=1)
        location, variance = np.full((2, *x.shape), np.nan)
        for rows, missing in by_gaps(observed):
            entry = factor[rows] * p * p + (missing * p)[:, None] + missing
            inverse = inverses(self.matrices.ravel().take(entry))
            pull, diagonal = pulls[rows, missing], np.arange(len(missing))
            step = (inverse * pull).sum(axis=1)
            squares[rows] -= (step * pull).sum(axis=0)
            location[rows, missing] = centre[rows, missing] - step * unit[rows, missing]
            variance[rows, missing] = inverse[diagonal, diagonal] * unit[rows, missing] ** 2
        return location, variance, squares

    def of_observed(
        self, observed: Bool[np.ndarray, "row feature"]
    ) -> tuple[Float[np.ndarray, "row feature feature"], Float[np.ndarray, " row"]]:
        """Return inverses of the observed parts of one covariance, and their log determinants.

        They are 0 in missing columns.
        """
        (matrix,), (unit,), p = self.matrices, self.unit, self.matrices.shape[-1]
        out = np.repeat(matrix[None], len(observed), axis=0)
        log_dets = self.log_det + observed @ (2 * np.log(unit))
        for rows, missing in by_gaps(observed):
            inverse, log_det = inverses_and_log_dets(
                matrix.ravel().take((missing * p)[:, None] + missing)
            )
            log_dets[rows] += log_det
            cross = matrix[missing.T]
            out[rows] -= cross.mT @ (np.moveaxis(inverse, -1, 0) @ cross)
        both = observed[:, :, None] & observed[:, None]
        return np.where(both, out / (unit[:, None] * unit), 0.0), log_dets


# -- many draws of the parameters ------------------------------------------------------------------


@dataclasses.dataclass(frozen=True, eq=False)
class DrawnPrecisions:
    """Inverses of drawn covariances, each with the mean of a class, in units of the columns.

    lines: rows of (P, -P mu), whose products with (x, 1) are P (x - mu), of every draw and class,
    (feature, feature + 1, draw and class). unit: of the columns, (feature,).
    """

    lines: Float[np.ndarray, "feature coordinate normal"]
    unit: Float[np.ndarray, " feature"]

    @classmethod
    def of(cls, params: Params) -> "DrawnPrecisions":
        """Return those of draws: mean (..., class, feature) and their Cholesky factors."""
        mean, factors = params["mean"], params["cholesky"]
        p = mean.shape[-1]
        unit = np.sqrt((factors**2).sum(axis=-1).reshape(-1, p).mean(axis=0))
        inverse = np.linalg.inv(factors / unit[:, None])
        precision = np.broadcast_to(inverse.mT @ inverse, (*mean.shape, p))
        constant = precision @ (mean / unit)[..., None]
        both = np.concatenate([precision, -constant], axis=-1).reshape(-1, p, p + 1)
        return cls(np.ascontiguousarray(np.moveaxis(both, 0, -1)), unit)

    @property
    def eliminable(self) -> bool:
        """Whether enough digits are left where missing columns are eliminated."""
        i = np.arange(len(self.unit))
        return bool(self.lines[i, i].max(initial=0) <= INFLATION)

    def log_integrals(
        self, x: Numbers, observed: Bool[np.ndarray, "row feature"]
    ) -> Float[np.ndarray, "row normal"]:
        """Return log p(observed part of x) - log p(x), for every draw and class.

        x: rows, with the numbers in place of missing cells at which p(x) was taken.
        """
        n_normals = self.lines.shape[-1]
        out = np.zeros((len(x), n_normals))
        extended = np.column_stack([x / self.unit, np.ones(len(x))])
        log_unit = np.log(self.unit)
        for rows, missing in by_gaps(observed, DRAW_FLOATS // n_normals, fewest=1):
            pulls = self._pulls(extended[rows], missing)
            constant = len(missing) * np.log(2 * np.pi) / 2 + log_unit[missing].sum(axis=0)
            for i, row in enumerate(rows.tolist()):
                columns = missing[:, i]
                inverse, log_det = inverses_and_log_dets(self.lines[columns[:, None], columns])
                pull = pulls[:, i]
                square = ((inverse * pull).sum(axis=1) * pull).sum(axis=0)
                out[row] = constant[i] + (square - log_det) / 2
        return out

    def _pulls(
        self, rows: Float[np.ndarray, "row coordinate"], missing: Int[np.ndarray, "missing row"]
    ) -> Float[np.ndarray, "missing row normal"]:
        """Return P (x - mu) in the missing columns, a product for each column that a row misses."""
        out = np.empty((*missing.shape, self.lines.shape[-1]))
        for j in np.unique(missing).tolist():
            place, row = np.nonzero(missing == j)
            out[place, row] = rows[row] @ self.lines[j]
        return out
