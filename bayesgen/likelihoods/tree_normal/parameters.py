"""A tree of regressions as the mean and covariance it implies: drawn, and estimated."""

import numpy as np
from jaxtyping import Bool, Float, Int

from bayesgen.likelihoods import forest_sums
from bayesgen.likelihoods.base import Repair
from bayesgen.likelihoods.forest_sums import Parents
from bayesgen.likelihoods.normal_statistics import NormalStatistics
from bayesgen.likelihoods.tree_normal.pairs import Pairs
from bayesgen.likelihoods.tree_normal.statistics import PairMoments
from bayesgen.typing import Params

Columns = Float[np.ndarray, "*batch feature"]


def of_parents(
    table: Float[np.ndarray, "class feature feature"], parent: Parents
) -> tuple[Columns, Columns]:
    """Return what stands at [child, parent] and at [parent, child], (..., class, feature)."""
    k, v = np.arange(len(table))[:, None], np.arange(table.shape[-1])
    return table[k, v, parent], table[k, parent, v]


def normal(parent: Parents, intercept: Columns, slope: Columns, spread: Columns) -> Params:
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
    freedom the variance left, then slope and intercept given it.
    """
    root = parent == np.arange(parent.shape[-1])
    rows, mean_rows = (of_parents(t, parent)[0] for t in (after.rows, after.mean_rows))
    mean, own_mean = of_parents(after.mean, parent)
    psi, own_psi = of_parents(after.psi, parent)
    phi, left = (of_parents(t, parent)[0] for t in (after.phi, after.left()))
    residual = np.where(root, own_psi, own_psi * left)
    spread = np.sqrt(residual / rng.chisquare(rows + ~root))
    noise = rng.standard_normal((2, *parent.shape)) * spread
    slope = np.where(root, 0.0, phi / psi + noise[0] / np.sqrt(psi))
    intercept = own_mean - slope * mean + noise[1] / np.sqrt(mean_rows)
    return normal(parent, intercept, slope, spread)


def mode(after: Pairs, parent: Parents) -> Params:
    """Return the mode in intercepts, slopes and logs of variances left, given the forest."""
    root = parent == np.arange(parent.shape[-1])
    rows = of_parents(after.rows, parent)[0]
    mean, own_mean = of_parents(after.mean, parent)
    psi, own_psi = of_parents(after.psi, parent)
    phi, left = (of_parents(t, parent)[0] for t in (after.phi, after.left()))
    slope = np.where(root, 0.0, phi / psi)
    variance = np.where(root, own_psi / (rows + 1), own_psi * left / (rows + 3))
    return normal(parent, own_mean - slope * mean, slope, np.sqrt(variance))


def log_drawn(
    before: Pairs,
    after: Pairs,
    rng: np.random.Generator,
    row: Float[np.ndarray, " feature"],
    parent: Int[np.ndarray, "draw class feature"],
    mine: Bool[np.ndarray, "draw class"],
) -> Float[np.ndarray, "draw class feature"]:
    """Return log p(x_v given its parent, theta), theta drawn from `after` where mine.

    Of theta only the residual matters: in units of the spread left it is
    (x_v - prediction) / spread - sqrt(off^2 / psi + 1 / mean_rows) z, with z standard normal.
    """
    root = parent == np.arange(parent.shape[-1])

    def picked(name: str) -> list[np.ndarray]:
        tables = (before.left(), after.left()) if name == "left" else (None, None)
        old, new = (
            of_parents(getattr(p, name) if t is None else t, parent)
            for p, t in zip((before, after), tables, strict=True)
        )
        return [np.where(mine[..., None], n, o) for o, n in zip(old, new, strict=True)]

    (rows, _), (mean_rows, _) = picked("rows"), picked("mean_rows")
    (mean, own_mean), (psi, own_psi) = picked("mean"), picked("psi")
    (phi, _), (left, _) = picked("phi"), picked("left")
    off = np.where(root, 0.0, row[parent] - mean)
    residual = np.where(root, own_psi, own_psi * left)
    variance = residual / rng.chisquare(rows + ~root)
    straight = row - own_mean - phi / psi * off
    z = rng.standard_normal(parent.shape)
    units = straight / np.sqrt(variance) - np.sqrt(off**2 / psi + 1 / mean_rows) * z
    return -0.5 * (np.log(2 * np.pi * variance) + units**2)


def maximum_likelihood(
    statistics: PairMoments, guess: Columns, *, bias_corrected: bool, variance_floor: float
) -> tuple[Params, list[Repair]]:
    """Return means, variances and the tree of greatest mutual information, and what was mended."""
    columns = statistics.columns()
    pooled_mean, pooled_variance = columns.pooled()
    pooled_variance = np.where(np.isnan(pooled_variance), guess, pooled_variance)
    count, empty = columns.count, columns.count == 0
    divisor = count - bias_corrected
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
        statistics.cross, sizes, out=np.zeros_like(sizes), where=(sizes > 0) & ~low[:, None]
    )
    left = np.maximum(1 - correlation**2, max(variance_floor, 1e-15))
    parent = forest_sums.heaviest(-0.5 * np.log(left), whole=True)
    root = parent == np.arange(parent.shape[-1])
    given, lean = of_parents(left, parent)[0], of_parents(correlation, parent)[0]
    mended = (1 - lean**2 < given) & ~root
    findings += [Repair("singular", int(k)) for k in np.flatnonzero(mended.any(axis=1))]
    mean, sd = np.where(empty, pooled_mean, columns.mean), np.sqrt(variance)
    above = np.arange(len(sd))[:, None], parent
    slope = np.where(root, 0.0, lean * sd / sd[above])
    spread = sd * np.sqrt(np.where(root, 1.0, given))
    return normal(parent, mean - slope * mean[above], slope, spread), findings


def initial_params(columns: NormalStatistics, guess: Columns) -> Params:
    """Return the pooled mean and the variances within classes of every column by itself."""
    mean, variance = columns.pooled()
    variance = np.where(np.isnan(variance), guess, variance)
    factor = np.broadcast_to(np.diag(np.sqrt(variance)), (len(columns.mean), *[len(mean)] * 2))
    return {"mean": np.broadcast_to(mean, columns.mean.shape), "cholesky": factor}
