"""Multivariate normal with a correlation matrix shared by classes and variances per class."""

import dataclasses
from typing import ClassVar

import numpy as np
from jaxtyping import Float

from bayesgen.likelihoods.base import Guess, broadcast_guess
from bayesgen.likelihoods.multivariate_normal import density
from bayesgen.likelihoods.multivariate_normal.lkj_and_wishart import lkj_cholesky
from bayesgen.likelihoods.multivariate_normal.statistics import (
    MultivariateNormalStatistics,
    all_cells,
)
from bayesgen.typing import Params

FAMILY = "SharedCorrelationNormal"
SWEEPS = 20
"""Steps of `flip_flop`; crabs, whose lengths correlate by .98 to .999, need 10 for 1e-12."""
GUESS_ROWS = 1e-3
"""How many rows a guess of a deviation counts as in the whitening, beside two or more rows of the
class."""
SMALLEST_EIGENVALUE = 1e-6
"""Of the correlations around which a sampler is whitened: those of pairs of columns that are seen
together in different rows need not form a positive definite matrix."""

Matrix = Float[np.ndarray, "feature feature"]


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class SharedCorrelationNormal(density.NormalDensity):
    r"""x | class ~ N(mu, D R D): D = diag(s) per class, correlations R shared by all.

    mu given s and R ~ N(mean, D R D / mean_rows), s_j ~ half-normal with mean sqrt(variance_j),
    R ~ LKJ(concentration). The family lies between `MultivariateNormal("shared")`, whose classes
    also share s, and "per_class", whose classes share nothing: p (p - 1) / 2 correlations are
    learned from all rows, so that even small classes can have their own standard deviations.

    There is no closed form: use NUTS, or MAP and MLE by optimization. The maximum of the likelihood
    solves, with S_k the covariance of class k divided by n_k, diag(R^-1 D_k^-1 S_k D_k^-1) = 1 for
    every class and R = sum_k n_k D_k^-1 S_k D_k^-1 / n; s differs from the standard deviations of
    the class, because correlated columns carry information about each other's variance. The maximum
    exists if every class has more than one row and no column is a linear combination of others.
    Missing cells are integrated out.

    Source: Manly and Rayner, Biometrika 74 (1987) 841-847 (equal correlations); Lewandowski,
    Kurowicka and Joe, Journal of Multivariate Analysis 100 (2009) 1989-2001.

    Args:
        mean: guess of the mean; a number, one per column, or (class, feature). None: overall means.
        mean_rows: prior strength of that guess in rows, > 0; a number or one per class.
        variance: guess of the variance within a class, > 0; a number, one per column, or
            (class, feature). None: the columns' variances within classes.
        concentration: of the LKJ prior; 1 is uniform over correlation matrices, larger values
            shrink correlations toward 0.

    Raises:
        InvalidArgument: a prior strength, a variance or the concentration is not positive and
            finite.

    Example:
        >>> from bayesgen.likelihoods import MultivariateNormal
        >>> MultivariateNormal("shared_correlation", concentration=2).equivalent_family()
        SharedCorrelationNormal(concentration=2)
    """

    mean: Guess = None
    mean_rows: Guess = 1.0
    variance: Guess = None
    concentration: float | int = 1.0

    has_closed_form_mle: ClassVar[bool] = False
    distribution_words: ClassVar[str] = "multivariate normal with shared correlations"
    axes: ClassVar = {
        "mean": ("class", "feature"),
        "mean_rows": ("class",),
        "variance": ("class", "feature"),
    }
    param_axes: ClassVar = {
        "mean": ("class", "feature"),
        "deviation": ("class", "feature"),
        "correlation_cholesky": ("feature", "feature"),
    }
    supports: ClassVar = {
        "mean": "vector",
        "deviation": "positive vector",
        "correlation_cholesky": "correlation factor",
    }
    hyperparameters: ClassVar = {
        "mean": "real",
        **dict.fromkeys(("mean_rows", "variance", "concentration"), "positive"),
    }
    scalars: ClassVar = ("concentration",)

    @property
    def conjugate(self) -> bool:
        """Whether a closed form exists: no."""
        return False

    def complete(self, statistics: MultivariateNormalStatistics) -> "SharedCorrelationNormal":
        """Fill in guesses of None from the columns and broadcast every array."""
        shape = statistics.mean.shape
        mean, variance = statistics.marginal().pooled()
        given = {
            "mean": (mean if self.mean is None else self.mean, shape),
            "mean_rows": (self.mean_rows, shape[:1]),
            "variance": (variance if self.variance is None else self.variance, shape),
        }
        return self.with_arrays(
            {name: broadcast_guess(FAMILY, name, *guess) for name, guess in given.items()}
        )

    def uninformative(self) -> np.ndarray:
        """Return which columns have no unit: constant or never observed, and no stated guess."""
        return np.isnan(self.variance).any(axis=0)

    def initial_params(self, statistics: MultivariateNormalStatistics) -> Params:
        """Return pooled means and deviations within classes, without correlation."""
        mean, variance = statistics.marginal().pooled()
        variance = np.where(np.isfinite(variance), variance, np.mean(self.variance, axis=0))
        shape = statistics.mean.shape
        return {
            "mean": np.broadcast_to(mean, shape),
            "deviation": np.broadcast_to(np.sqrt(variance), shape),
            "correlation_cholesky": np.eye(shape[1]),
        }

    def covariances(self, params: Params) -> Params:
        """Return means and Cholesky factors D C of every class's covariance."""
        if "cholesky" in params:
            return params
        factor = params["deviation"][..., None] * params["correlation_cholesky"][..., None, :, :]
        return {"mean": params["mean"], "cholesky": factor}

    def story(self, name: str) -> Params:
        """Sample the common correlations and each class's deviations, then means given them."""
        import numpyro
        import numpyro.distributions as dist

        n_classes, p = self.mean.shape
        lkj = lkj_cholesky(p, self.concentration)
        factor = numpyro.sample(f"{name}.correlation_cholesky", lkj)
        with numpyro.plate(f"{name}.class", n_classes, dim=-1):
            sizes = dist.HalfNormal((self.variance * np.pi / 2) ** 0.5).to_event(1)
            deviation = numpyro.sample(f"{name}.deviation", sizes)
            spread = deviation[..., None] * factor / self.mean_rows[:, None, None] ** 0.5
            prior = dist.MultivariateNormal(self.mean, scale_tril=spread)
            mean = numpyro.sample(f"{name}.mean", prior)
        return {"mean": mean, "deviation": deviation, "correlation_cholesky": factor}

    def whitening(
        self, statistics: MultivariateNormalStatistics
    ) -> dict[str, tuple[np.ndarray, ...]]:
        """Return centres and widths of means, log deviations and partial correlations (as atanh).

        Given the correlations R, the information of n rows on a class's log deviations is
        n (I + R o R^-1), o the product of entries: steep where columns are collinear. Fisher's
        atanh of a partial correlation has a standard error of about 1 / sqrt(n), whatever it is.
        """
        marginal = statistics.marginal()
        n = marginal.count
        rows = n.mean(axis=1)
        mean_rows = self.mean_rows[:, None] + n
        mean = self.mean + n / mean_rows * (marginal.mean - self.mean)
        # the guess, where a class has too few rows; it does not enter the correlations
        guess = np.where(n > 1, GUESS_ROWS, 1.0)
        if statistics.has_missing:
            deviation = np.sqrt((guess * self.variance + marginal.scatter) / (guess + n))
            correlation = _within_classes(statistics, marginal.mean, deviation)
        else:
            matrices = statistics.scatter + (guess * self.variance)[:, :, None] * np.eye(n.shape[1])
            deviation, correlation = flip_flop(matrices / (guess + n)[:, :, None], rows)
        factor = np.linalg.cholesky(correlation)
        information = np.eye(len(factor)) + correlation * np.linalg.inv(correlation)
        precision = (1 + rows)[:, None, None] * information
        spread = deviation[:, :, None] * factor / np.sqrt(self.mean_rows + rows)[:, None, None]
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


def _within_classes(
    statistics: MultivariateNormalStatistics, mean: np.ndarray, deviation: np.ndarray
) -> Matrix:
    """Return correlations within classes, each from the rows in which both columns are observed.

    Those of n rows are shrunk by n / (n + 1), and eigenvalues below 1e-6 are raised to 1e-6.
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
    # the remainder after the first j columns of a row of length 1, summed from the end to avoid
    # cancellation
    left = np.sqrt(np.cumsum(factor[:, ::-1] ** 2, axis=1)[:, ::-1])
    i, j = np.tril_indices(len(factor), -1)
    return np.arctanh(np.clip(factor[i, j] / left[i, j], -1 + 1e-12, 1 - 1e-12))
