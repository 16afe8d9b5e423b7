"""What Bernoulli and Poisson need to read rows that are mostly zeros: sums, densities, draws."""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float
from scipy.sparse import csr_array

from bayesgen.likelihoods.dirichlet import log_gammas
from bayesgen.likelihoods.normal_statistics import one_hot, row_chunks
from bayesgen.likelihoods.rising import rising_scores
from bayesgen.likelihoods.sparse_rows import (
    DENSE_CELLS,
    Cells,
    all_cells,
    class_missing,
    class_sums,
    log_factorials,
)
from bayesgen.likelihoods.sparse_scores import Scores, draws_by_column, sparse_scores
from bayesgen.typing import Labels, Weights

PerClass = Float[np.ndarray, "class feature"]
Draws = Callable[[csr_array, np.ndarray], np.ndarray]


def observed_weight(x: csr_array, y: Labels, weight: Weights, n_classes: int) -> PerClass:
    """Return the weight of the cells of each class and column that are not missing."""
    rows = np.tile(np.bincount(y, weight, minlength=n_classes)[:, None], x.shape[1])
    missing = np.isnan(x.data) if x.data.dtype.kind == "f" else np.zeros(len(x.data), bool)
    if not missing.any():
        return rows
    seen = rows - class_missing(x, y, weight, n_classes)
    return _digits_kept(seen, rows, missing, x, y, weight)


def answer_sums(
    x: csr_array, y: Labels, weight: Weights, n_classes: int
) -> tuple[PerClass, PerClass]:
    """Return the weight of ones and of zeros: what is neither 1 nor missing is 0."""
    yes = class_sums(x, y, weight, n_classes)
    seen = observed_weight(x, y, weight, n_classes)
    return yes, _digits_kept(seen - yes, seen, x.data != 0, x, y, weight)


def _digits_kept(
    left: PerClass, whole: PerClass, away: np.ndarray, x: csr_array, y: Labels, weight: Weights
) -> PerClass:
    """Return the weight of the cells that are not away, with the digits that a difference lost.

    Whole numbers lose none. Of fractions a difference of a thousandth or less is added up instead.
    left is the difference, whole what it was taken from; stored cells that are `away` do not count.
    """
    faint = np.flatnonzero((left < 1e-3 * whole).any(axis=0))
    if not faint.size or (weight == np.rint(weight)).all():
        return left
    rows = one_hot(y, len(left)) * weight
    pattern = csr_array((away.astype(float), x.indices, x.indptr), x.shape).tocsc()
    for part in row_chunks(len(faint), max(1, DENSE_CELLS // max(len(y), 1))):
        left[:, faint[part]] = rows @ (1.0 - pattern[:, faint[part]].toarray())
    return left


def answer_draws(yes: PerClass, no: PerClass, seed: int, n: int) -> Draws:
    """Return densities under prob ~ Beta(yes, no), updated by the row for its own class.

    Gamma(a + 1) is Gamma(a) plus an exponential: the update adds one to the row's own answer.
    """

    def draw(j: int) -> tuple[np.ndarray, ...]:
        rng = np.random.default_rng((seed, j))
        one, zero = log_gammas(rng, yes[:, j], n), log_gammas(rng, no[:, j], n)
        return one, zero, np.log(rng.exponential(size=one.shape))

    def score(
        j: int, value: float, one: np.ndarray, zero: np.ndarray, extra: np.ndarray
    ) -> Float[np.ndarray, "2 draw class"]:
        here, both = one if value else zero, np.logaddexp(one, zero)
        updated = np.logaddexp(here, extra) - np.logaddexp(both, extra)
        return np.stack([here - both, updated])

    return draws_by_column(draw, score, (n, *yes.shape))


def count_sums(
    x: csr_array, y: Labels, weight: Weights, n_classes: int
) -> tuple[PerClass, PerClass, PerClass]:
    """Return the weight of observed cells, their sum, and the sum of their log factorials."""
    cells = all_cells(x)
    logs = csr_array((log_factorials(cells.data), cells.indices, cells.indptr), cells.shape)
    return (
        observed_weight(x, y, weight, n_classes),
        class_sums(x, y, weight, n_classes),
        class_sums(logs, y, weight, n_classes),
    )


def negative_binomial_scores(shape: PerClass, rows: PerClass) -> Scores:
    """Return x -> sum over observed columns of log negative binomial, shape (row, class)."""
    rising, slope = rising_scores(shape), np.ascontiguousarray(np.log(rows + 1).T)

    def cell(cells: Cells) -> np.ndarray:
        return rising(cells) - cells.compressed() @ slope

    return sparse_scores(-shape * np.log1p(1 / rows), cell)


def rate_scores(rate: Float[np.ndarray, "*batch feature"]) -> Scores:
    """Return x -> sum over observed columns of log Poisson, shape (row, *batch)."""
    flat = rate.reshape(-1, rate.shape[-1]).T
    never = np.ascontiguousarray(flat == 0).astype(float)
    logs = np.log(np.where(flat > 0, flat, 1.0))

    def cell(cells: Cells) -> np.ndarray:
        rows = cells.compressed()
        out = rows @ logs - cells.sums(log_factorials(cells.data))[:, None]
        if never.any():
            out[rows @ never > 0] = -np.inf
        return out

    return sparse_scores(-rate, cell)


def rate_draws(shape: PerClass, rows: PerClass, seed: int, n: int) -> Draws:
    """Return densities under rate ~ Gamma(shape, rows), updated by the row for its own class.

    Gamma(a + x) is Gamma(a) plus Gamma(x).
    """

    def draw(j: int) -> tuple[np.ndarray, ...]:
        return (log_gammas(np.random.default_rng((seed, 0, j)), shape[:, j], n),)

    def score(j: int, value: float, log_gamma: np.ndarray) -> Float[np.ndarray, "2 draw class"]:
        later = log_gamma
        if value:
            more = np.random.default_rng((seed, 1, j)).standard_gamma(value, log_gamma.shape)
            later = np.logaddexp(log_gamma, np.log(more))
        before, after = log_gamma - np.log(rows[:, j]), later - np.log(rows[:, j] + 1)
        terms = [value * log_rate - np.exp(log_rate) for log_rate in (before, after)]
        return np.stack(terms) - log_factorials(np.array([value]))

    return draws_by_column(draw, score, (n, *shape.shape))
