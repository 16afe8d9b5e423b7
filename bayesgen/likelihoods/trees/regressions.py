"""Trees of linear regressions, drawn or estimated, as the mean and covariance they imply."""

import dataclasses

import numpy as np
from jaxtyping import Bool, Float, Int

from bayesgen.likelihoods.base import Repair
from bayesgen.likelihoods.normal_statistics import NormalStatistics
from bayesgen.likelihoods.trees import forest_sums
from bayesgen.likelihoods.trees.forest_sums import Parents
from bayesgen.typing import Params

SMALLEST = 1e-15
"""Least share of a column's variance that remains given another: the rounding of 1 - 1."""

Columns = Float[np.ndarray, "*batch feature"]
Table = Float[np.ndarray, "*batch class feature feature"]


@dataclasses.dataclass(frozen=True, eq=False)
class Pairs:
    """Updated hyperparameters of all pairs, (..., class, feature, feature), laid out alike.

    mean_rows, rows: prior strengths. mean[i, j], psi[i, j]: of column j in the pair with i. phi[i,
    j]: off the diagonal of that pair's matrix. The diagonal has those of single columns.
    """

    mean_rows: Table
    rows: Table
    mean: Table
    psi: Table
    phi: Table

    def left(self) -> Table:
        """Return the share of a column's variance that remains given the other, symmetric."""
        # divided first: squares of phi overflow or underflow where psi itself does not
        together = (self.phi / self.psi) * (self.phi / np.swapaxes(self.psi, -1, -2))
        return np.maximum(1 - together, SMALLEST)

    def single(self) -> tuple[Columns, Columns, Columns, Columns]:
        """Return mean_rows, rows, mean and psi of single columns."""
        tables = (self.mean_rows, self.rows, self.mean, self.psi)
        mean_rows, rows, mean, psi = (np.diagonal(t, axis1=-2, axis2=-1) for t in tables)
        return mean_rows, rows, mean, psi


@dataclasses.dataclass(frozen=True, eq=False)
class _Edges:
    """Hyperparameters of each column and its parent in given forests, (..., class, feature).

    root: columns without a parent. above, above_psi: mean and psi of the parent. mean: of the
    column. residual: its psi given the parent. slope: expected, 0 at a root.
    """

    root: Bool[np.ndarray, "*batch feature"]
    mean_rows: Columns
    rows: Columns
    above: Columns
    above_psi: Columns
    mean: Columns
    residual: Columns
    slope: Columns


def _edges(pairs: Pairs, parent: Parents) -> _Edges:
    k, v = np.arange(len(pairs.rows))[:, None], np.arange(parent.shape[-1])
    up, down = (k, v, parent), (k, parent, v)
    root, psi = parent == v, pairs.psi[down]
    residual = np.where(root, psi, psi * pairs.left()[up])
    slope = np.where(root, 0.0, pairs.phi[up] / pairs.psi[up])
    strengths = pairs.mean_rows[up], pairs.rows[up]
    above = pairs.mean[up], pairs.psi[up]
    return _Edges(root, *strengths, *above, pairs.mean[down], residual, slope)


def _normal(parent: Parents, intercept: Columns, slope: Columns, spread: Columns) -> Params:
    """Return mean and Cholesky factor of x_v = intercept + slope x_parent + spread noise.

    A root has slope 0. The covariance is (I - B)^-1 diag(spread^2) (I - B)^-T.
    """
    q = parent.shape[-1]
    system = np.broadcast_to(np.eye(q), (*parent.shape, q)).copy()
    index = tuple(np.ix_(*map(np.arange, parent.shape)))
    system[(*index, parent)] -= slope
    inverse = np.linalg.inv(system)
    root = inverse * spread[..., None, :]
    upper = np.linalg.qr(np.swapaxes(root, -1, -2), mode="r")
    signs = np.sign(np.diagonal(upper, axis1=-2, axis2=-1))
    factor = np.tril(np.swapaxes(upper * signs[..., None], -1, -2))
    return {"mean": (inverse @ intercept[..., None])[..., 0], "cholesky": factor}


def draw(after: Pairs, rng: np.random.Generator, parent: Parents) -> Params:
    """Return a draw of mean and Cholesky factor for each forest, (draw, class, feature).

    Root: psi / chi2(rows) and N(mean, variance / mean_rows). Child: with rows + 1 degrees of
    freedom the residual variance, then slope and intercept given it.
    """
    e = _edges(after, parent)
    spread = np.sqrt(e.residual / rng.chisquare(e.rows + ~e.root))
    noise = rng.standard_normal((2, *parent.shape)) * spread
    slope = np.where(e.root, 0.0, e.slope + noise[0] / np.sqrt(e.above_psi))
    intercept = e.mean - slope * e.above + noise[1] / np.sqrt(e.mean_rows)
    return _normal(parent, intercept, slope, spread)


def mode(after: Pairs, parent: Parents) -> Params:
    """Return the mode in intercepts, slopes and logs of residual variances, given the forest."""
    e = _edges(after, parent)
    variance = e.residual / np.where(e.root, e.rows + 1, e.rows + 3)
    return _normal(parent, e.mean - e.slope * e.above, e.slope, np.sqrt(variance))


def log_drawn(
    before: Pairs,
    after: Pairs,
    rng: np.random.Generator,
    row: Float[np.ndarray, " feature"],
    parent: Int[np.ndarray, "draw class feature"],
    mine: Bool[np.ndarray, "draw class"],
) -> Float[np.ndarray, "draw class feature"]:
    """Return log p(x_v given its parent, theta), theta drawn from `after` where mine.

    The density depends on theta through the residual alone, which in units of its spread is
    (x_v - prediction) / spread - sqrt(off^2 / psi + 1 / mean_rows) z, with z standard normal.
    """
    old, new = vars(_edges(before, parent)), vars(_edges(after, parent))
    e = _Edges(**{name: np.where(mine[..., None], new[name], old[name]) for name in old})
    off = np.where(e.root, 0.0, row[parent] - e.above)
    variance = e.residual / rng.chisquare(e.rows + ~e.root)
    expected = e.mean + e.slope * off
    z = rng.standard_normal(parent.shape)
    units = (row - expected) / np.sqrt(variance)
    units = units - np.sqrt(off**2 / e.above_psi + 1 / e.mean_rows) * z
    return -0.5 * (np.log(2 * np.pi * variance) + units**2)


def maximum_likelihood(
    columns: NormalStatistics,
    cross: Table,
    guess: Columns,
    *,
    bias_corrected: bool,
    variance_floor: float,
) -> tuple[Params, list[Repair]]:
    """Return means, variances and the tree of greatest mutual information, and the repairs.

    columns: moments of single columns. cross: sums of products of two columns. guess: variances of
    columns that have none of their own.
    """
    pooled_mean, pooled_variance = columns.pooled()
    pooled_variance = np.where(np.isnan(pooled_variance), guess, pooled_variance)
    empty, divisor = columns.count == 0, columns.count - bias_corrected
    variance = np.divide(
        columns.scatter, divisor, out=np.zeros_like(columns.scatter), where=divisor > 0
    )
    variance = np.where(empty, pooled_variance, variance)
    low = variance < variance_floor * pooled_variance
    findings = [Repair("pooled", int(k)) for k in np.flatnonzero(empty.all(axis=1))]
    findings += [Repair("floored", *map(int, at)) for at in np.argwhere(low)]
    variance = np.where(low, variance_floor * pooled_variance, variance)
    sizes = np.sqrt(columns.scatter[:, :, None] * columns.scatter[:, None])
    correlation = np.divide(
        cross, sizes, out=np.zeros_like(sizes), where=(sizes > 0) & ~low[:, None]
    )
    left = np.maximum(1 - correlation**2, max(variance_floor, SMALLEST))
    parent = forest_sums.heaviest(-0.5 * np.log(left), whole=True)
    k, v = np.arange(len(variance))[:, None], np.arange(parent.shape[-1])
    root, given, lean = parent == v, left[k, v, parent], correlation[k, v, parent]
    floored = (1 - lean**2 < given) & ~root
    findings += [Repair("singular", int(k)) for k in np.flatnonzero(floored.any(axis=1))]
    mean, sd = np.where(empty, pooled_mean, columns.mean), np.sqrt(variance)
    slope = np.where(root, 0.0, lean * sd / sd[k, parent])
    spread = sd * np.sqrt(np.where(root, 1.0, given))
    return _normal(parent, mean - slope * mean[k, parent], slope, spread), findings
