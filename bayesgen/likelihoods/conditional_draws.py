"""Missing cells drawn given the observed ones and the class, family by family.

`fill` has the parameters integrated out, `fill_given` knows them. A family of your own joins by
`fill.register(MyFamily)`; columns that are independent given class and parameters need no more than
`simulate` for the second.
"""

import functools
from collections.abc import Callable

import numpy as np

from bayesgen.errors import UnsupportedInference
from bayesgen.likelihoods.base import Likelihood
from bayesgen.likelihoods.bernoulli import Bernoulli
from bayesgen.likelihoods.categorical import Categorical
from bayesgen.likelihoods.hyperparameter_mixture import HyperparameterMixture
from bayesgen.likelihoods.joint_categorical import JointCategorical, tables
from bayesgen.likelihoods.kernel_density import KernelDensity
from bayesgen.likelihoods.multinomial import Multinomial
from bayesgen.likelihoods.multivariate_normal import MultivariateNormal, SharedCorrelationNormal
from bayesgen.likelihoods.multivariate_normal.conditional import filled
from bayesgen.likelihoods.multivariate_student_t import MultivariateStudentT
from bayesgen.likelihoods.normal import Normal
from bayesgen.likelihoods.normal_statistics import row_chunks
from bayesgen.likelihoods.poisson import Poisson
from bayesgen.likelihoods.spherical_normal import SphericalNormal
from bayesgen.likelihoods.tree_normal import TreeNormal
from bayesgen.typing import Block, Labels, Params, Traceable

DRAWS = 1000
DENSITIES = 1_000_000
"""Log densities held at once: 8 MB."""


def together(family: Likelihood) -> bool:
    """Say whether a cell tells of other cells of its block, parameters integrated out."""
    return family.joint or isinstance(family, SphericalNormal | Multinomial | HyperparameterMixture)


def require_fillable(family: Likelihood) -> None:
    """Refuse words of a text: how many words are missing is no part of the model."""
    first = family.first if isinstance(family, HyperparameterMixture) else family
    if isinstance(first, Multinomial):
        raise _refusal(first)


def is_missing_cell(x: Traceable) -> np.ndarray:
    """Return which cells of encoded rows are missing."""
    return np.isnan(x) if x.dtype.kind == "f" else x < 0


@functools.singledispatch
def fill(family: Likelihood, x: Block, own: Labels, rng: np.random.Generator) -> Block:
    """Return rows whose missing cells are drawn from p(missing given observed, y = own, data).

    Families that are registered here, and levels of any family, are drawn exactly. Others pick one
    of 1,000 draws of the parameters by p(observed cells given y = own, theta), and fill the row
    given that: exact as the draws become many.

    Args:
        family: a closed-form posterior.
        x: encoded rows; observed cells are handed back as they are.
        own: the class of each row.
        rng: random numbers.

    Raises:
        UnsupportedInference: the family does not know how.
    """
    require_fillable(family)
    n_levels = getattr(family, "n_levels", ())
    if family.kind == "levels" and len(n_levels) == x.shape[1]:
        return _level_by_level(family.predictive(), n_levels, x, own, rng)
    return _resampled(family, x, own, rng)


@functools.singledispatch
def fill_given(
    family: Likelihood, params: Params, x: Block, own: Labels, rng: np.random.Generator
) -> Block:
    """Return rows whose missing cells are drawn given one draw of the parameters (see `fill`)."""
    n_levels = getattr(family, "n_levels", ())
    if family.joint and family.kind == "levels" and len(n_levels) == x.shape[1]:
        score = family.log_density_fn({name: value[None] for name, value in params.items()})
        return _level_by_level(lambda rows: score(rows)[:, 0], n_levels, x, own, rng)
    if family.joint:
        raise _refusal(family)
    return np.where(is_missing_cell(x), family.simulate(params, own, rng), x)


def _resampled(family: Likelihood, x: Block, own: Labels, rng: np.random.Generator) -> Block:
    """Fill rows given draws of the parameters that are picked by what the rows show."""
    params = family.draw(rng, DRAWS)
    score, out = family.log_density_fn(params), x.copy()
    draw = np.empty(len(x), dtype=int)
    for rows in row_chunks(len(x), max(1, DENSITIES // (DRAWS * len(np.unique(own))))):
        logs = score(x[rows])
        draw[rows] = _picked(logs[np.arange(len(logs)), :, own[rows]], rng)
    for s in np.unique(draw):
        rows = np.flatnonzero(draw == s)
        one = {name: value[s] for name, value in params.items()}
        out[rows] = fill_given(family, one, x[rows], own[rows], rng)
    return out


def _level_by_level(
    score: Callable[[Block], np.ndarray],
    n_levels: tuple[int, ...],
    x: Block,
    own: Labels,
    rng: np.random.Generator,
) -> Block:
    """Draw cell after cell, each from p(level given those before), by scoring every level."""
    out = x.copy()
    for j, size in enumerate(n_levels):
        rows = np.flatnonzero(x[:, j] < 0)
        if not (size and len(rows)):
            continue
        logs = np.empty((len(rows), size))
        for level in range(size):
            out[rows, j] = level
            logs[:, level] = score(out[rows])[np.arange(len(rows)), own[rows]]
        out[rows, j] = _picked(logs, rng)
    return out


def _picked(logs: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return a position for each row, picked by log weights (row, position)."""
    top = logs.max(axis=1, keepdims=True)
    steps = np.exp(logs - np.where(np.isneginf(top), 0.0, top)).cumsum(axis=1)
    place = (rng.random((len(logs), 1)) * steps[:, -1:] >= steps).sum(axis=1)
    return np.minimum(place, logs.shape[1] - 1)


def _refusal(family: Likelihood) -> UnsupportedInference:
    return UnsupportedInference.because(
        type(family).__name__,
        "what a missing cell of it may hold cannot be drawn (words of unknown number, among "
        "others)",
        "Leave its columns out, or read them by bg.Normal(), bg.Poisson() or bg.Categorical().",
    )


@fill.register(Categorical)
@fill.register(JointCategorical)
def _probs(
    family: Categorical | JointCategorical, x: Block, own: Labels, rng: np.random.Generator
) -> Block:
    # the predictive of a level, or of a cell of the table, is its mean probability
    return fill_given(family, {"probs": family.probs}, x, own, rng)


@fill.register(Bernoulli)
def _prob(family: Bernoulli, x: Block, own: Labels, rng: np.random.Generator) -> Block:
    # the predictive of a one is its mean probability
    return fill_given(family, {"prob": family.prob}, x, own, rng)


@fill.register(KernelDensity)
def _kernels(family: KernelDensity, x: Block, own: Labels, rng: np.random.Generator) -> Block:
    return fill_given(family, {}, x, own, rng)


@fill.register(HyperparameterMixture)
def _averaged(
    family: HyperparameterMixture, x: Block, own: Labels, rng: np.random.Generator
) -> Block:
    # what a row shows weighs the members first, and then one of them fills it
    shown = [member.predictive()(x)[np.arange(len(x)), own] for member in family.members]
    member, out = _picked(np.stack(shown, axis=1) + family.log_weight, rng), x.copy()
    for g in np.unique(member):
        rows = np.flatnonzero(member == g)
        out[rows] = fill(family.members[g], x[rows], own[rows], rng)
    return out


@fill_given.register(HyperparameterMixture)
def _averaged_given(
    family: HyperparameterMixture, params: Params, x: Block, own: Labels, rng: np.random.Generator
) -> Block:
    return fill_given(family.first, params, x, own, rng)


@fill.register(Poisson)
def _rates(family: Poisson, x: Block, own: Labels, rng: np.random.Generator) -> Block:
    gamma = rng.standard_gamma((family.rows * family.rate)[own])
    return np.where(np.isnan(x), rng.poisson(gamma / family.rows[own]), x)


@fill.register(Normal)
def _normal(family: Normal, x: Block, own: Labels, rng: np.random.Generator) -> Block:
    scale = np.sqrt(family.variance * (1 + 1 / family.mean_rows))
    degrees = np.broadcast_to(family.variance_rows, scale.shape)
    return np.where(np.isnan(x), family.mean[own] + scale[own] * rng.standard_t(degrees[own]), x)


@fill.register(SphericalNormal)
def _spherical(family: SphericalNormal, x: Block, own: Labels, rng: np.random.Generator) -> Block:
    # the observed cells update the one variance, and nothing else about the missing ones
    mean, stretch = family.mean[own], (1 + 1 / family.mean_rows)[own]
    degrees, variance = (
        np.broadcast_to(value, len(family.mean))[own, None]
        for value in (family.degrees, family.variance)
    )
    seen = ~np.isnan(x)
    squares = np.where(seen, (x - mean) ** 2 / stretch, 0.0).sum(axis=1, keepdims=True)
    chi2 = rng.chisquare(degrees + seen.sum(axis=1, keepdims=True))
    drawn = (degrees * variance + squares) / chi2
    return np.where(seen, x, mean + np.sqrt(drawn * stretch) * rng.standard_normal(x.shape))


@fill.register(MultivariateNormal)
def _joint_normal(
    family: MultivariateNormal, x: Block, own: Labels, rng: np.random.Generator
) -> Block:
    matrices = family.scale * (1 + 1 / family.mean_rows)[:, None, None]
    degrees = np.broadcast_to(family.covariance_rows, len(family.mean)).astype(float)
    return filled(x, own, rng, mean=family.mean, matrices=matrices, degrees=degrees)


@fill_given.register(MultivariateNormal)
@fill_given.register(TreeNormal)
def _normal_given(
    family: Likelihood, params: Params, x: Block, own: Labels, rng: np.random.Generator
) -> Block:
    return _elliptic(params["mean"], params["cholesky"], np.inf, x, own, rng)


@fill_given.register(MultivariateStudentT)
def _student_given(
    family: MultivariateStudentT, params: Params, x: Block, own: Labels, rng: np.random.Generator
) -> Block:
    degrees = params.get("degrees", family.degrees)
    return _elliptic(params["mean"], params["cholesky"], float(degrees), x, own, rng)


@fill_given.register(SharedCorrelationNormal)
def _correlated_given(
    family: SharedCorrelationNormal,
    params: Params,
    x: Block,
    own: Labels,
    rng: np.random.Generator,
) -> Block:
    factor = params["deviation"][..., None] * params["correlation_cholesky"]
    return _elliptic(params["mean"], factor, np.inf, x, own, rng)


def _elliptic(
    mean: np.ndarray,
    factor: np.ndarray,
    degrees: float,
    x: Block,
    own: Labels,
    rng: np.random.Generator,
) -> Block:
    matrices = factor @ np.swapaxes(factor, -1, -2)
    return filled(x, own, rng, mean=mean, matrices=matrices, degrees=np.full(len(mean), degrees))


@fill_given.register(JointCategorical)
def _table_given(
    family: JointCategorical, params: Params, x: Block, own: Labels, rng: np.random.Generator
) -> Block:
    n_levels = family.n_levels
    out = np.where(is_missing_cell(x), family.simulate(params, own, rng), x)
    for pattern, rows in tables.by_pattern(x >= 0):
        fits = tables.fitting(n_levels, pattern)[tables.cells(x[rows], n_levels, pattern)]
        steps = params["probs"][own[rows, None], fits].cumsum(axis=1)
        place = (rng.random((len(rows), 1)) * steps[:, -1:] >= steps).sum(axis=1)
        cell = fits[np.arange(len(rows)), np.minimum(place, fits.shape[1] - 1)]
        codes = np.stack(np.unravel_index(cell, tables.shape(n_levels)), axis=1)
        codes = np.where(np.array(n_levels) > 0, codes, -1)
        out[rows] = np.where(x[rows] >= 0, x[rows], codes)
    return out


@fill_given.register(Multinomial)
def _words_given(
    family: Multinomial, params: Params, x: Block, own: Labels, rng: np.random.Generator
) -> Block:
    raise _refusal(family)
