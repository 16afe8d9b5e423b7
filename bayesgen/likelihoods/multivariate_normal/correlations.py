"""Correlation matrices: their prior as numpyro sees it, and coordinates to sample in."""

import functools

import numpy as np
from jaxtyping import Float

from bayesgen.likelihoods.base import Likelihood
from bayesgen.likelihoods.multivariate_normal.statistics import (
    MultivariateNormalStatistics,
    all_cells,
)
from bayesgen.typing import Traceable, Transform

SWEEPS = 20
"""Steps of `flip_flop`; crabs, whose lengths correlate by .98 to .999, need 10 for 1e-12."""
GUESS_ROWS = 1e-3
"""What a guess of a deviation counts beside two or more rows of a class in the coordinates."""
SMALLEST_EIGENVALUE = 1e-6
"""Of the correlations around which a sampler is whitened: those of pairs of columns that are seen
together in different rows may make no correlation matrix."""

Matrix = Float[np.ndarray, "feature feature"]


@functools.cache
def lkj_cholesky() -> type:
    """Return numpyro's LKJ distribution of Cholesky factors, made good for one column too."""
    import jax.numpy as jnp
    import numpyro.distributions as dist

    class LKJCholeskyOfAnySize(dist.Distribution):
        """Cholesky factor of a correlation matrix, shape (feature, feature)."""

        support = dist.constraints.corr_cholesky

        def __init__(self, n_features: int, concentration: float) -> None:
            self.lkj = dist.LKJCholesky(n_features, concentration) if n_features > 1 else None
            super().__init__((), (n_features, n_features), validate_args=False)

        def sample(self, key: Traceable, sample_shape: tuple[int, ...] = ()) -> Traceable:
            if self.lkj is None:
                return jnp.ones((*sample_shape, 1, 1))
            return self.lkj.sample(key, sample_shape)

        def log_prob(self, value: Traceable) -> Traceable:
            return jnp.zeros(value.shape[:-2]) if self.lkj is None else self.lkj.log_prob(value)

    return LKJCholeskyOfAnySize


def whitening(
    prior: Likelihood, statistics: MultivariateNormalStatistics
) -> dict[str, tuple[np.ndarray, ...]]:
    """Return centres and widths of means, log deviations and partial correlations (as atanh).

    Given the correlations R, the information of n rows on a class's log deviations is
    n (I + R o R^-1), o the product of entries: steep where columns are collinear. Fisher's
    atanh of a partial correlation has a standard error of about 1 / sqrt(n), whatever it is.
    """
    marginal = statistics.marginal()
    n = marginal.count
    rows = n.mean(axis=1)
    mean_rows = prior.mean_rows[:, None] + n
    mean = prior.mean + n / mean_rows * (marginal.mean - prior.mean)
    # where a class has too little of its own, the guess; it has no part in the correlations
    guess = np.where(n > 1, GUESS_ROWS, 1.0)
    if statistics.has_missing:
        deviation = np.sqrt((guess * prior.variance + marginal.scatter) / (guess + n))
        correlation = _within_classes(statistics, marginal.mean, deviation)
    else:
        matrices = statistics.scatter + (guess * prior.variance)[:, :, None] * np.eye(n.shape[1])
        deviation, correlation = flip_flop(matrices / (guess + n)[:, :, None], rows)
    factor = np.linalg.cholesky(correlation)
    information = np.eye(len(factor)) + correlation * np.linalg.inv(correlation)
    precision = (1 + rows)[:, None, None] * information
    spread = deviation[:, :, None] * factor / np.sqrt(prior.mean_rows + rows)[:, None, None]
    partial = _partial(factor)
    return {
        "mean": (mean, spread),
        "deviation": (np.log(deviation), np.linalg.cholesky(np.linalg.inv(precision))),
        "correlation_cholesky": (partial, np.full(len(partial), (1 + rows.sum()) ** -0.5)),
    }


def flip_flop(
    matrices: Float[np.ndarray, "class feature feature"], rows: Float[np.ndarray, " class"]
) -> tuple[Float[np.ndarray, "class feature"], Matrix]:
    """Return deviations s_k and correlations R of greatest likelihood, given S_k of n_k rows.

    Two steps alternate: R becomes the mean of D_k^-1 S_k D_k^-1, its diagonal moved into D_k; and
    w = 1 / s_k takes a damped Newton step on w'(R^-1 o S_k) w / 2 - sum log w, which is convex and
    self-concordant. Source: Manly and Rayner (1987), with Newton's steps.
    """
    deviation, correlation = np.ones(matrices.shape[:2]), np.eye(matrices.shape[1])
    for _ in range(SWEEPS):
        scaled = matrices / deviation[:, :, None] / deviation[:, None]
        correlation = np.einsum("k,kij->ij", rows / rows.sum(), scaled)
        size = np.sqrt(np.diagonal(correlation))
        correlation, scaled = (m / size[:, None] / size for m in (correlation, scaled))
        correlation = correlation + SMALLEST_EIGENVALUE * (np.eye(len(size)) - correlation)
        deviation = deviation * size
        curve = np.linalg.inv(correlation) * scaled
        slope = curve.sum(axis=-1) - 1
        step = np.linalg.solve(curve + np.eye(len(size)), slope[..., None])[..., 0]
        decrement = np.sqrt((slope * step).sum(axis=-1, keepdims=True))
        deviation = deviation / (1 - step / (1 + decrement))
    return deviation, correlation


def bijector(parameter: str, *arrays: Traceable) -> Transform:
    """Return the map from unit-scale coordinates to means, deviations or the factor of R."""
    from numpyro.distributions.transforms import (
        AffineTransform,
        ComposeTransform,
        CorrCholeskyTransform,
        ExpTransform,
        LowerCholeskyAffine,
    )

    if parameter == "mean":
        return LowerCholeskyAffine(*arrays)
    if parameter == "deviation":
        return ComposeTransform([LowerCholeskyAffine(*arrays), ExpTransform()])
    return ComposeTransform([AffineTransform(*arrays), CorrCholeskyTransform()])


def _within_classes(
    statistics: MultivariateNormalStatistics, mean: np.ndarray, deviation: np.ndarray
) -> Matrix:
    """Return correlations within classes, each from the rows that show both columns.

    They count as one row less than they are, and eigenvalues below 1e-6 are raised to that.
    """
    label, observed, count, cell_mean, scatter = all_cells(statistics)
    scale = deviation[label]
    away = np.where(observed, cell_mean - mean[label], 0.0) / scale
    cross = scatter / scale[:, :, None] / scale[:, None]
    cross = cross + count[:, None, None] * away[:, :, None] * away[:, None]
    both = observed[:, :, None] & observed[:, None]
    squares = (both * np.diagonal(cross, axis1=1, axis2=2)[:, :, None]).sum(axis=0)
    size = np.sqrt(squares * squares.T)
    total = cross.sum(axis=0)
    correlation = np.divide(total, size, out=np.zeros_like(total), where=size > 0)
    rows = np.einsum("c,cij->ij", count, both)
    correlation = correlation * rows / (1 + rows)
    np.fill_diagonal(correlation, 1.0)
    values, vectors = np.linalg.eigh(correlation)
    if values[0] < SMALLEST_EIGENVALUE:
        correlation = (vectors * np.maximum(values, SMALLEST_EIGENVALUE)) @ vectors.T
        sd = np.sqrt(np.diagonal(correlation))
        correlation = correlation / sd[:, None] / sd
    return correlation


def _partial(factor: Matrix) -> np.ndarray:
    """Return atanh of the partial correlations of i and j given all before j, j < i, by rows."""
    # what the first j columns leave of a row of length 1: summed from the end, nothing cancels
    left = np.sqrt(np.cumsum(factor[:, ::-1] ** 2, axis=1)[:, ::-1])
    i, j = np.tril_indices(len(factor), -1)
    return np.arctanh(np.clip(factor[i, j] / left[i, j], -1 + 1e-12, 1 - 1e-12))
