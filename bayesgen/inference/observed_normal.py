"""The log density of a joint normal's observed cells around a point, to second order, by cell.

Around mu and Sigma = B B' parameters are mu + B T u and B T T' B', T lower triangular with
exponentials of the coordinates on its diagonal. B sorts its columns by size, so that a coordinate
under the diagonal tilts a narrow direction against a wider one and leaves its width: ridges, which
heavy rows with missing cells carve into the density, are straight in these coordinates. With
Q Q' = B_o' Sigma_oo^-1 B_o a projection (Q orthonormal, by QR of the observed rows of B) and
d = (mean - mu)_o, a cell of n rows has, in symmetric steps B (I + V) B',

    d / du = n e,  d / dV = (C - n Q Q') / 2,
    e = B_o' Sigma_oo^-1 d,  C = B_o' Sigma_oo^-1 (scatter + n dd') Sigma_oo^-1 B_o,

and second derivatives are products of these matrices. A conjugate prior is one more cell.
"""

import dataclasses
import functools

import numpy as np
from jaxtyping import Bool, Float, Int

from bayesgen.inference.expected_moments import transpose
from bayesgen.inference.newton import Flat, Point
from bayesgen.likelihoods import MultivariateNormal
from bayesgen.likelihoods.multivariate_normal import MultivariateNormalStatistics
from bayesgen.typing import Params

ROUNDED = 1e-6
"""Logarithm of a deviation, above that of the narrowest, which rounding may leave of it."""

Matrices = Float[np.ndarray, "cell feature feature"]


@dataclasses.dataclass(frozen=True, eq=False)
class ObservedNormal:
    """Moments of rows by cell; complete rows of a class are a cell, and a conjugate prior is.

    owner: the class of each cell. rows: how often a cell's mean counts. divisor: how often its
    log determinant does. shared: whether classes have one covariance. unit: a deviation of each
    column. narrowest: deviation, in these units, under which no direction may shrink: below it the
    likelihood may have no bound.
    """

    owner: Int[np.ndarray, " cell"]
    observed: Bool[np.ndarray, "cell feature"]
    rows: Float[np.ndarray, " cell"]
    divisor: Float[np.ndarray, " cell"]
    mean: Float[np.ndarray, "cell feature"]
    scatter: Matrices
    n_classes: int
    shared: bool
    unit: Float[np.ndarray, " feature"]
    narrowest: float = 0.0

    @functools.cached_property
    def order(self) -> Int[np.ndarray, "cell feature"]:
        """Each cell's columns, the observed ones first."""
        return np.argsort(~self.observed, axis=1, kind="stable")

    @functools.cached_property
    def first(self) -> Bool[np.ndarray, "cell feature"]:
        """Which columns are observed, in that order."""
        return np.take_along_axis(self.observed, self.order, axis=1)

    @functools.cached_property
    def squares(self) -> Matrices:
        """The scatter matrices, in that order."""
        rows = np.take_along_axis(self.scatter, self.order[:, :, None], axis=1)
        return np.take_along_axis(rows, self.order[:, None, :], axis=2)

    @functools.cached_property
    def member(self) -> Float[np.ndarray, "class cell"]:
        """1 where a cell is of a class."""
        return np.equal(self.owner, np.arange(self.n_classes)[:, None]).astype(float)

    @functools.cached_property
    def by_factor(self) -> Float[np.ndarray, "covariance cell"]:
        """1 where a cell is of a covariance."""
        return self.member.sum(axis=0, keepdims=True) if self.shared else self.member

    @property
    def factor(self) -> Int[np.ndarray, " cell"]:
        """The covariance of each cell."""
        return np.zeros_like(self.owner) if self.shared else self.owner

    def at(self, params: Params) -> "NormalPoint":
        """Return the density around parameters."""
        return NormalPoint(self, params)


def observed_normal(
    likelihood: MultivariateNormal,
    statistics: MultivariateNormalStatistics,
    *,
    prior: bool,
    narrowest: float = 0.0,
) -> ObservedNormal:
    """Return the cells of rows, and with `prior` those of a completed conjugate prior."""
    full = np.flatnonzero(statistics.count > 0)
    every = np.ones((len(full), statistics.mean.shape[1]), dtype=bool)
    count, mean, scatter = (
        part[full] for part in (statistics.count, statistics.mean, statistics.scatter)
    )
    cells = (statistics.cell_count, statistics.cell_mean, statistics.cell_scatter)
    parts = [
        (full, every, count, count, mean, scatter),
        (statistics.cell_class, statistics.cell_observed, cells[0], *cells),
    ]
    if prior:
        parts.append(_prior_cells(likelihood))
    return ObservedNormal(
        *(np.concatenate(part) for part in zip(*parts, strict=True)),
        n_classes=len(statistics.count),
        shared=likelihood.shared,
        unit=likelihood.initial_params(statistics)["cholesky"].max(axis=(0, 1)),
        narrowest=narrowest,
    )


def _prior_cells(prior: MultivariateNormal) -> tuple[np.ndarray, ...]:
    """Return owner, observed, rows, divisor, mean and scatter of a cell for each class.

    Classes share the density of one covariance, the first one's; each has that of its mean.
    """
    guess = prior.arrays()
    (n_classes, p), wide = guess["mean"].shape, len(guess["scale"])
    scatter, divisor = np.zeros((n_classes, p, p)), np.zeros(n_classes)
    scatter[:wide] = guess["covariance_rows"][:, None, None] * guess["scale"]
    divisor[:wide] = prior.degrees + (n_classes if prior.shared else 1)
    everything = np.ones((n_classes, p), dtype=bool)
    rows = np.broadcast_to(guess["mean_rows"], n_classes)
    return np.arange(n_classes), everything, rows, divisor, guess["mean"], scatter


class NormalPoint(Point):
    """Means and covariances, and the density around them."""

    def __init__(self, cells: ObservedNormal, params: Params) -> None:
        self.cells, self.params = cells, params
        unit = cells.unit[:, None]
        left, size, _ = np.linalg.svd(params["cholesky"] / unit)
        self._base = unit * left * size[:, None, :]
        with np.errstate(divide="ignore"):
            self._room = np.log(size / cells.narrowest)
        e, c, log_scale = self._whiten()
        n, n_det = cells.rows[:, None, None], cells.divisor[:, None, None]
        squares = np.trace(c, axis1=1, axis2=2)
        self.value = -0.5 * float((cells.divisor * log_scale.sum(axis=1) + squares).sum())
        sizes = cells.divisor * np.abs(log_scale).sum(axis=1) + squares
        self.scale = 0.5 * float(sizes.sum())
        self._residual, self._lean = e, 0.5 * n_det * self._projection - c
        self._slope = 0.5 * self._by_factor(c - n_det * self._projection)
        self._pull = cells.member @ (n[:, 0] * e)
        i = np.arange(len(cells.unit))
        narrow = (self._room < ROUNDED) & (self._slope[:, i, i] < 0)
        self._narrow = narrow[..., None] & np.eye(len(i), dtype=bool)
        self._fixed = self._flat(np.zeros_like(self._pull), self._narrow) > 0
        self.gradient = np.where(self._fixed, 0.0, self._flat(self._pull, 2 * self._slope))
        self.curvature = self._complete_curvature()

    @property
    def gradient_norm(self) -> float:
        """Norm of the gradient in symmetric steps, which no choice of B changes."""
        slope = np.where(self._narrow, 0.0, self._slope)
        return float(np.sqrt((slope**2).sum() + (self._pull**2).sum()))

    def product(self, direction: Flat) -> Flat:
        """Return minus the Hessian times a direction."""
        cells = self.cells
        u, m = self._apart(direction)
        turned = self._projection @ (m + transpose(m))[cells.factor]
        shift = (self._projection @ u[cells.owner][..., None])[..., 0]
        outer = shift[:, :, None] * self._residual[:, None, :]
        half = self._by_factor(turned @ self._lean - cells.rows[:, None, None] * outer)
        moved = shift + (turned @ self._residual[..., None])[..., 0]
        pull = -(cells.member @ (cells.rows[:, None] * moved))
        # what power transforms in the coordinates themselves
        slope = half + transpose(half) + 2 * self._slope @ m
        i = np.arange(m.shape[-1])
        slope[:, i, i] += 2 * self._slope[:, i, i] * m[:, i, i]
        mixed = self._pull[:, :, None] * u[:, None, :]
        slope += mixed.sum(axis=0, keepdims=True) if cells.shared else mixed
        pull += (transpose(m) @ self._pull[..., None])[..., 0]
        return np.where(self._fixed, 0.0, -self._flat(pull, slope))

    def moved(self, direction: Flat) -> "NormalPoint":
        """Return the point there, no direction narrower than the narrowest."""
        u, t = self._apart(direction)
        i = np.arange(t.shape[-1])
        t[:, i, i] = np.exp(np.maximum(t[:, i, i], -np.maximum(self._room, 0.0)))
        root = self._base @ t
        upper = np.linalg.qr(transpose(root), mode="r")
        factor = transpose(upper * np.sign(np.diagonal(upper, axis1=1, axis2=2))[..., None])
        mean = self.params["mean"] + (root @ u[..., None])[..., 0]
        return NormalPoint(self.cells, {"mean": mean, "cholesky": np.tril(factor)})

    def _whiten(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return e, C and the logs of the squared diagonals of the cells' factors."""
        cells = self.cells
        both = cells.first[:, :, None] & cells.first[:, None, :]
        rows = np.take_along_axis(self._base[cells.factor], cells.order[:, :, None], axis=1)
        q, upper = np.linalg.qr(transpose(np.where(cells.first[:, :, None], rows, 0.0)))
        q = np.where(cells.first[:, None, :], q, 0.0)
        upper = np.where(both, upper, np.eye(upper.shape[-1]))
        whitener = q @ transpose(np.linalg.inv(upper))
        delta = np.where(cells.observed, cells.mean - self.params["mean"][cells.owner], 0.0)
        delta = np.take_along_axis(delta, cells.order, axis=1)
        e = (whitener @ delta[..., None])[..., 0]
        outer = cells.rows[:, None, None] * e[:, :, None] * e[:, None, :]
        self._projection = q @ transpose(q)
        log_scale = 2 * np.log(np.abs(np.diagonal(upper, axis1=1, axis2=2)))
        return e, whitener @ cells.squares @ transpose(whitener) + outer, log_scale

    def _complete_curvature(self) -> Flat:
        """Return rows for means and tilts, twice as much for log deviations, 1 where none is."""
        cells = self.cells
        p = cells.mean.shape[1]
        rows = np.repeat(cells.member @ cells.rows, p)
        divisor = (cells.by_factor @ cells.divisor)[:, None, None] * (1 + np.eye(p))
        both = np.concatenate([rows, divisor.ravel()])
        return np.where(both > 0, both, 1.0)

    def _by_factor(self, matrices: Matrices) -> np.ndarray:
        flat = self.cells.by_factor @ matrices.reshape(len(matrices), -1)
        return flat.reshape(-1, *matrices.shape[1:])

    def _flat(self, u: np.ndarray, m: np.ndarray) -> Flat:
        return np.concatenate([u.ravel(), np.tril(m).ravel()])

    def _apart(self, direction: Flat) -> tuple[np.ndarray, np.ndarray]:
        mean, factor = self.params["mean"], self.params["cholesky"]
        u, m = np.split(direction, [mean.size])
        return u.reshape(mean.shape), m.reshape(factor.shape).copy()
