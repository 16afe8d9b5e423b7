"""Gibbs steps for a joint normal whose rows lack cells, on statistics.

Two exact draws alternate: the moments of the filled rows given the parameters, and the parameters
given those moments. Neither needs a row. A cell of n rows with observed mean xbar and scatter
S = R R' (R of r = min(n - 1, observed) columns) has, with slope T and root K of
`expected_moments.regression`,

    filled mean    = mu + T (xbar - mu) + K z / sqrt(n)
    filled scatter = (T R + K Z)(T R + K Z)' + K W K',   W ~ Wishart(d, I),   d = n - 1 - r,

z and Z standard normal: of the n - 1 directions that centred noise has, r lie along the observed
columns, and the rest meet nothing but themselves. Which directions complete R where S has a lower
rank is all the same, so no rank is decided.

Weights that are no integers. Integrated over z, Z and W the density of the filled moments leaves
|V|^((1 + r + d - n) / 2) times the observed density to the power of its weights, V the conditional
covariance of the missing columns. From n = columns on d = n - 1 - r is a possible number of degrees
and nothing is left. A lighter cell of weighted rows takes the nearest possible d; the excess
1 + r + d - n, or the whole cell where the excess is over twice its weight, enters the probability
of accepting a step.

Source: Tanner and Wong (1987); Schafer, Analysis of Incomplete Multivariate Data (1997), 5.4.
The form on statistics is derived here.
"""

import dataclasses
from collections.abc import Iterator

import numpy as np
from jaxtyping import Bool, Float

from bayesgen.inference.expected_moments import (
    cell_means,
    expected,
    merge_cells,
    regression,
    transpose,
    without_missing,
)
from bayesgen.likelihoods import MultivariateNormal
from bayesgen.likelihoods.multivariate_normal import MultivariateNormalStatistics
from bayesgen.likelihoods.multivariate_normal.parameters import cells_log_likelihood
from bayesgen.typing import Params

RANK_TOLERANCE = 1e-10
"""Smallest eigenvalue, of unit columns, that counts where weights leave the rank open."""
LARGEST_EXCESS = 2.0
"""Excess per weight up to which a cell is filled (measured: of .5, 1, 2, 4 the best is 2)."""


def gibbs(
    likelihood: MultivariateNormal,
    statistics: MultivariateNormalStatistics,
    rng: np.random.Generator,
    chains: int,
) -> Iterator[Params]:
    """Yield steps of a chain whose limit is the posterior given the observed cells.

    Exact for weights of any size. Where every weight is an integer, or every cell weighs as much as
    the table has columns, each step is a Gibbs step; else steps are accepted or not (Metropolis and
    Hastings), class by class where covariances are, and very uneven weights cost effective draws.

    Args:
        likelihood: a completed prior with closed form; columns without a unit left out.
        statistics: of incomplete rows.
        rng: source of random numbers; equal generators give equal draws.
        chains: independent runs, each started from its own draw given the expected moments.

    Yields:
        mean (chain, class, feature) and cholesky (chain, class or 1, feature, feature).
    """
    cells = _cells(statistics)
    filled = expected(statistics, likelihood.initial_params(statistics))
    params = likelihood.posterior(filled).draw(rng, chains)
    while True:
        proposed = _parameters(likelihood, *_filled(cells, params, rng), rng)
        params = _choose(likelihood, cells, params, proposed, rng)
        yield params


@dataclasses.dataclass(frozen=True, eq=False)
class _Cells:
    """What a step needs to know about the cells.

    rows: statistics with the cells that are filled. root: R of each of them, in its first columns,
    where along is true. degrees: d of the Wishart. excess: 1 + r + d - n. left: statistics of the
    cells that are not filled.
    """

    rows: MultivariateNormalStatistics
    root: Float[np.ndarray, "cell feature feature"]
    along: Bool[np.ndarray, "cell feature"]
    degrees: Float[np.ndarray, " cell"]
    excess: Float[np.ndarray, " cell"]
    left: MultivariateNormalStatistics


def _cells(statistics: MultivariateNormalStatistics) -> _Cells:
    seen, n = statistics.cell_observed, statistics.cell_count
    p, n_seen = seen.shape[1], seen.sum(axis=1)
    sd = np.sqrt(np.diagonal(statistics.cell_scatter, axis1=1, axis2=2))
    sd = np.where(sd > 0, sd, 1.0)
    # the largest eigenvalues first: unseen columns come last, with eigenvalue 0
    values, vectors = np.linalg.eigh(statistics.cell_scatter / (sd[:, :, None] * sd[:, None]))
    values, vectors = values[:, ::-1], vectors[..., ::-1]
    rank = (values > RANK_TOLERANCE).sum(axis=1)
    # integer weights: the rank is at most n - 1 and rounding must not raise it
    whole = np.abs(n - np.rint(n)) < RANK_TOLERANCE * n
    free = np.where(n >= p, n, np.rint(n)) - 1
    r = np.minimum(np.maximum(np.where(free >= 0, free, 0), rank), n_seen)
    degrees = np.maximum(free - r, 0.0)
    excess = 1 + r + degrees - n
    excess = np.where(whole & (np.abs(excess) < RANK_TOLERANCE * n), 0.0, excess)
    along = np.arange(p) < r[:, None]
    scale = np.sqrt(np.where(along, np.maximum(values, 0.0), 0.0))
    root = np.where(seen[:, :, None], vectors * scale[:, None] * sd[:, :, None], 0.0)
    fill = np.abs(excess) <= LARGEST_EXCESS * n
    rows, left = _only(statistics, fill), _only(statistics, ~fill)
    return _Cells(rows, root[fill], along[fill], degrees[fill], excess[fill], left)


def _only(
    statistics: MultivariateNormalStatistics, cells: Bool[np.ndarray, " cell"]
) -> MultivariateNormalStatistics:
    names = [name for name, axes in statistics.axes.items() if axes[0] == "cell"]
    return statistics.with_arrays({name: getattr(statistics, name)[cells] for name in names})


def _filled(
    cells: _Cells, params: Params, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw count, mean and scatter of each class, its cells filled, given the parameters."""
    rows = cells.rows
    slope, root = regression(rows, params)
    noise = rng.standard_normal(slope.shape[:-1]) / np.sqrt(rows.cell_count)[:, None]
    mean = cell_means(rows, params, slope) + (root @ noise[..., None])[..., 0]
    along = np.where(cells.along[:, None], rng.standard_normal(slope.shape), 0.0)
    factor = slope @ cells.root + root @ along
    rest = root @ _bartlett(cells, slope.shape, rng)
    return merge_cells(rows, mean, factor @ transpose(factor) + rest @ transpose(rest))


def _bartlett(
    cells: _Cells, shape: tuple[int, ...], rng: np.random.Generator
) -> Float[np.ndarray, "chain cell feature feature"]:
    """Draw A with A A' ~ Wishart(degrees, I) in the missing block of each cell.

    Below as many degrees as columns the Wishart is singular: A then has as many columns as there
    are degrees, the lower trapezoid of the same decomposition. Source: Bartlett (1933).
    """
    missing = ~cells.rows.cell_observed
    degrees = cells.degrees[:, None] - (np.cumsum(missing, axis=1) - 1)
    there = missing & (degrees > 0)
    below = missing[:, :, None] & there[:, None, :] & np.tri(shape[-1], k=-1, dtype=bool)
    chi2 = rng.chisquare(np.where(there, degrees, 1.0), shape[:-1])
    diagonal = np.where(there, np.sqrt(chi2), 0.0)[..., None] * np.eye(shape[-1])
    return diagonal + np.where(below, rng.standard_normal(shape), 0.0)


def _parameters(
    likelihood: MultivariateNormal,
    count: np.ndarray,
    mean: np.ndarray,
    scatter: np.ndarray,
    rng: np.random.Generator,
) -> Params:
    """Draw the parameters of each chain given its filled rows."""
    drawn = [
        likelihood.posterior(without_missing(count, *moments)).draw(rng, 1)
        for moments in zip(mean, scatter, strict=True)
    ]
    return {name: np.concatenate([one[name] for one in drawn]) for name in drawn[0]}


def _choose(
    likelihood: MultivariateNormal,
    cells: _Cells,
    params: Params,
    proposed: Params,
    rng: np.random.Generator,
) -> Params:
    """Return the next parameters of each chain.

    The steps by themselves are reversible under a density that lacks `_lacking`.
    """
    if not (cells.excess.any() or cells.left.has_missing):
        return proposed
    gain = _lacking(cells, proposed) - _lacking(cells, params)
    if likelihood.shared:
        gain = gain.sum(axis=1, keepdims=True)
    moved = -rng.standard_exponential(gain.shape) < gain
    mean = np.where(moved[..., None], proposed["mean"], params["mean"])
    factor = np.where(moved[..., None, None], proposed["cholesky"], params["cholesky"])
    return {"mean": mean, "cholesky": factor}


def _lacking(cells: _Cells, params: Params) -> Float[np.ndarray, "chain class"]:
    """Return the log of what the filled cells have too little of in the posterior, by class."""
    classes = range(len(cells.rows.count))
    missing, root = ~cells.rows.cell_observed, regression(cells.rows, params)[1]
    diagonal = np.where(missing, np.diagonal(root, axis1=-2, axis2=-1), 1.0)
    spread = cells.excess * np.log(diagonal).sum(axis=-1)
    of_class = [_only(cells.left, cells.left.cell_class == k) for k in classes]
    left = [np.zeros(len(root)) + cells_log_likelihood(params, part) for part in of_class]
    member = np.equal(cells.rows.cell_class, np.arange(len(classes))[:, None])
    return np.stack(left, axis=1) - spread @ member.T
