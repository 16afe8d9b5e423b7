"""Log densities of independent normal cells, with parameters given, integrated out or updated.

Given mean and variance a cell is normal; with both integrated out it follows Student's t; intervals
need the density of a row under draws that have been updated by that row.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Float, Num

from bayesgen.likelihoods.base import CHUNK_ROWS, Likelihood
from bayesgen.likelihoods.special_functions import log_rising_factorial
from bayesgen.typing import Block, Traceable

FEW = 64
"""Sets of parameters, draws times classes, up to which residuals are scored set by set: a point
estimate of any number of classes, not a posterior's draws. Where a variance is 1e-13 of the squared
distance to the origin, x^2 / v and m x / v cancel but for their last three digits."""
LARGEST_DEGREES = 1e6
"""A product of terms 1 + r is rounded to 1e-16 of itself, which times half the degrees of freedom
is the error of the log density: 1e-10 a column up to here. Beyond, logarithms are summed."""

Squares = Float[np.ndarray, "feature row"]
Observed = np.ndarray | None


def _by_set(
    mean: Float[np.ndarray, "set feature"],
    scale2: Float[np.ndarray, "set feature"],
    log_density: Callable[[int, Squares, Observed], np.ndarray],
) -> Callable[[Block], Float[np.ndarray, "row set"]]:
    """Return x -> log density of rows by each set of parameters, from standardized squares.

    log_density: (set, (x - mean)^2 / scale2 with 0 for missing cells, which it may overwrite, which
    cells are observed, or None if all are) -> (row,).
    """

    def scores(x: Block) -> np.ndarray:
        out = np.empty((len(mean), len(x))).T
        for start in range(0, len(x), CHUNK_ROWS):
            rows = slice(start, start + CHUNK_ROWS)
            # rows side by side: NumPy then works along 2,048 numbers at a time and not along 20,
            # which halves the time (measured)
            block = x[rows].T
            if block.strides[1] > block.itemsize:
                block = np.ascontiguousarray(block)
            missing = np.isnan(block)
            some_missing = missing.any()
            observed = ~missing if some_missing else None
            for k in range(len(mean)):
                squares = block - mean[k][:, None]
                squares *= squares
                squares /= scale2[k][:, None]
                if some_missing:
                    squares[missing] = 0.0
                out[rows, k] = log_density(k, squares, observed)
        return out

    return scores


def _over_observed(values: Float[np.ndarray, " feature"], observed: Observed) -> float | np.ndarray:
    """Return the sum of one value a column over the columns that each row observes."""
    return values.sum() if observed is None else values @ observed


# -- parameters given ------------------------------------------------------------------------------


def coefficients(xp: Any, mean: Traceable, variance: Traceable) -> tuple[Traceable | float, ...]:
    """Return the weights of x^2, x and 1: -1/(2 v), m/v and -(log 2 pi v + m^2/v)/2."""
    constant = -0.5 * (xp.log(2 * np.pi * variance) + mean**2 / variance)
    return -0.5 / variance, mean / variance, constant


def residual_density(
    mean: Float[np.ndarray, "*draw class feature"], variance: Float[np.ndarray, "..."]
) -> Callable[[Block], np.ndarray]:
    """Return x -> sum over observed columns of -((x - m)^2 / v + log 2 pi v) / 2.

    The result has the shape (row, *draw, class); variance broadcasts to the shape of mean.
    """
    p = mean.shape[-1]
    scale2 = np.broadcast_to(variance, mean.shape).reshape(-1, p)
    constant = np.log(2 * np.pi * scale2)

    def log_density(k: int, squares: Squares, observed: Observed) -> np.ndarray:
        return -0.5 * (squares.sum(axis=0) + _over_observed(constant[k], observed))

    scores = _by_set(mean.reshape(-1, p), scale2, log_density)
    return lambda x: scores(x).reshape(len(x), *mean.shape[:-1])


# -- parameters integrated out ---------------------------------------------------------------------


def spherical_t(
    squares: Num[np.ndarray, "..."],
    columns: float | int | Num[np.ndarray, "..."],
    degrees: float | Num[np.ndarray, "..."],
    scale2: float | Num[np.ndarray, "..."],
) -> Num[np.ndarray, "..."]:
    """Return the log density of the t of some columns with matrix scale2 I, by squared distance."""
    spread2 = degrees * scale2
    constant = log_rising_factorial(degrees / 2, columns / 2) - columns / 2 * np.log(
        np.pi * spread2
    )
    return constant - (degrees + columns) / 2 * np.log1p(squares / spread2)


def student_t(
    mean: Float[np.ndarray, "class feature"],
    scale2: Num[np.ndarray, "#class feature"],
    degrees: Num[np.ndarray, "#class feature"],
) -> Callable[[Block], np.ndarray]:
    """Return x -> sum over observed columns of log Student-t densities, shape (row, class).

    Where a class has one number of degrees for all columns, sum log(1 + r_j) is the logarithm of
    one product: a logarithm a row instead of one a cell.
    """
    df = np.broadcast_to(degrees, mean.shape)
    spread2 = df * scale2
    constant = log_rising_factorial(df / 2, 0.5) - 0.5 * np.log(np.pi * spread2)
    power = (df + 1) / 2
    even = (df == df[:, :1]).all(axis=1) & (df[:, 0] <= LARGEST_DEGREES)

    def log_density(k: int, squares: Squares, observed: Observed) -> np.ndarray:
        logs = power[k, 0] * _log_product(squares) if even[k] else power[k] @ np.log1p(squares)
        return _over_observed(constant[k], observed) - logs

    return _by_set(mean, spread2, log_density)


def _log_product(ratio: Squares) -> np.ndarray:
    """Return the sum of log(1 + ratio) over columns, as the logarithm of a product; adds the 1."""
    ratio += 1.0
    with np.errstate(over="ignore"):
        logs = np.log(np.multiply.reduce(ratio, axis=0))
    far = np.isinf(logs)
    if far.any():
        logs[far] = np.log(ratio[:, far]).sum(axis=0)
    return logs


# -- parameters updated by the row -----------------------------------------------------------------


def updated_density_draws(
    prior: Likelihood, rng: np.random.Generator, n: int
) -> Callable[[Block, np.ndarray], np.ndarray]:
    """Return (x, own) -> log p(x given y = k, theta), shape (draw, row, class).

    theta follows the prior (means mean, each of strength mean_rows, variances of the scaled inverse
    chi-squared with variance_rows degrees) updated by the row itself, in class own[draw, row] alone
    unless classes share variances. A chi-square of one more degree of freedom is the old one plus a
    squared normal, so the update is arithmetic on random numbers that all rows share.

    variance and variance_rows are of shape (class, feature), or (1, feature) where classes share
    variances.
    """
    mean, mean_rows = prior.mean, prior.mean_rows
    shared = len(prior.variance) == 1
    squares = prior.variance_rows * prior.variance
    chi2 = rng.chisquare(prior.variance_rows, (n, *squares.shape))
    extra = rng.standard_normal((n, *squares.shape)) ** 2
    noise = rng.standard_normal((n, *mean.shape))

    def log_density(x: Block, own: np.ndarray) -> np.ndarray:
        observed, out = ~np.isnan(x), np.empty((*own.shape, len(mean)))
        x = np.where(observed, x, 0.0)
        for k in range(len(mean)):
            mine = (own == k)[..., None]
            at, whose, grows = (0, own, np.ones_like(mine)) if shared else (k, k, mine)
            pull = mean_rows[whose] / (mean_rows[whose] + 1) * (x - mean[whose]) ** 2
            variance = squares[at] + grows * pull
            variance /= chi2[:, at, None] + grows * extra[:, at, None]
            rows = mean_rows[k] + mine
            place = mean[k] + mine * (x - mean[k]) / rows
            place = place + np.sqrt(variance / rows) * noise[:, k, None]
            cells = np.log(2 * np.pi * variance) + (x - place) ** 2 / variance
            out[..., k] = -0.5 * np.where(observed, cells, 0.0).sum(axis=-1)
        return out

    return log_density
