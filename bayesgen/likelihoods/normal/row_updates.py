"""Densities of rows under draws of mean and variance updated by the row itself."""

import dataclasses
from collections.abc import Callable

import numpy as np
from jaxtyping import Float

from bayesgen.likelihoods.base import Likelihood
from bayesgen.typing import Block

Variances = Float[np.ndarray, "spread column"]


def updated_density_draws(
    prior: Likelihood,
    rng: np.random.Generator,
    n: int,
    *,
    degrees: Variances,
    variance: Variances,
) -> Callable[[Block, np.ndarray], np.ndarray]:
    """Return (x, own) -> log p(x given y = k, theta), shape (draw, row, class).

    theta follows the prior (means mean, each worth mean_rows, variances of the scaled inverse
    chi-squared with these degrees) updated by the row itself, in class own[draw, row] alone where
    variances are the classes' own. A chi-square of one more degree of freedom is the old one plus a
    squared normal, so the update is arithmetic on random numbers that all rows share.

    degrees, variance: of shape (class, feature); (1, feature) where classes share variances,
    (class, 1) or (1, 1) where all columns have one, which every observed cell of a row updates.
    """
    drawn = _Drawn(
        prior,
        degrees * variance,
        rng.chisquare(degrees, (n, *variance.shape)),
        rng.standard_normal((n, len(variance), prior.mean.shape[1])) ** 2,
        rng.standard_normal((n, *prior.mean.shape)),
    )

    def log_density(x: Block, own: np.ndarray) -> np.ndarray:
        observed = ~np.isnan(x)
        out = np.empty((*own.shape, len(prior.mean)))
        for k in range(len(prior.mean)):
            out[..., k] = np.where(observed, drawn.log_cells(x, own, k), 0.0).sum(axis=-1)
        return out

    return log_density


@dataclasses.dataclass(frozen=True, eq=False)
class _Drawn:
    """Random numbers that all rows share.

    squares: of the prior, degrees times variance. chi2: their chi-squares, (draw, *squares.shape).
    extra: squared normals of one more row, (draw, spread, feature). noise: of the means.
    """

    prior: Likelihood
    squares: np.ndarray
    chi2: np.ndarray
    extra: np.ndarray
    noise: np.ndarray

    def log_cells(self, x: Block, own: np.ndarray, k: int) -> np.ndarray:
        """Return log p(x_j given class k, theta), (draw, row, feature), NaN where missing."""
        mean, rows = self.prior.mean, self.prior.mean_rows
        mine = (own == k)[..., None]
        if self.prior.spread == "shared":  # every class sees the row's update
            spread, grows = 0, np.ones_like(mine)
            worth, centre = rows[own], mean[own]
        else:
            spread, grows = k, mine
            worth, centre = rows[k], mean[k]
        added = grows * (worth / (worth + 1) * (x - centre) ** 2)
        grown = grows * self.extra[:, spread, None]
        variance = (self.squares[spread] + self._over_columns(added, x)) / (
            self.chi2[:, spread, None] + self._over_columns(grown, x)
        )
        rows_now = rows[k] + mine
        place = mean[k] + mine * (x - mean[k]) / rows_now
        place = place + np.sqrt(variance / rows_now) * self.noise[:, k, None]
        return -0.5 * (np.log(2 * np.pi * variance) + (x - place) ** 2 / variance)

    def _over_columns(self, cells: np.ndarray, x: Block) -> np.ndarray:
        """Sum the observed cells of a row where all columns have one variance."""
        if self.squares.shape[1] == self.prior.mean.shape[1]:
            return cells
        return np.where(np.isnan(x), 0.0, cells).sum(axis=-1, keepdims=True)
