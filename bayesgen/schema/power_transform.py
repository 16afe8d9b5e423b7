"""Yeo-Johnson power transform of numeric columns, toward normality given the class.

With a the origin of a column, s its scale and z = (x - a) / s, a cell becomes s b(z), where b is
the power transform of Yeo and Johnson (2000), A new family of power transformations to improve
normality or symmetry, Biometrika 87, 954-959:

    b(z) = ((1 + z)^power - 1) / power where z >= 0, b(z) = -((1 - z)^(2 - power) - 1) / (2 - power)
    where z < 0, and logarithms in place of powers of 0.

A power of 1 is the identity; 0 is logarithmic for large values. For powers between 0 and 2 the map
is a bijection of the real line, so the density of a cell is that of its transform times the slope.
"""

import dataclasses

import numpy as np
from jaxtyping import Float, Int

from bayesgen.typing import Weights

POWERS = np.linspace(0.0, 2.0, 17)
SPREAD = 0.5
"""Standard deviation of the normal prior of a power, around 1."""
FEWEST_VALUES = 3
"""Two values stay two values however they are power-transformed."""

Cells = Float[np.ndarray, "*batch feature"]


@dataclasses.dataclass(frozen=True)
class PowerTransform:
    """Power transform of one column: its scale, in its own unit, and the power."""

    scale: float
    power: float


@dataclasses.dataclass(frozen=True, eq=False)
class PowerTransforms:
    """Power transforms of the columns of one block; scale and power of shape (feature,)."""

    scale: Float[np.ndarray, " feature"]
    power: Float[np.ndarray, " feature"]

    def forward(self, x: Cells) -> Cells:
        """Return cells, less the origins of their columns, power-transformed; NaN stays."""
        z = x / self.scale
        return np.sign(z) * self.scale * _grown(np.abs(z), self._powers(z))

    def inverse(self, forward: Cells) -> Cells:
        """Return the original cells of power-transformed ones."""
        b = forward / self.scale
        power = self._powers(b)
        some = np.where(power == 0, 1.0, power)
        with np.errstate(over="ignore"):
            log = np.where(power == 0, np.abs(b), np.log1p(some * np.abs(b)) / some)
            return np.sign(b) * self.scale * np.expm1(log)

    def log_abs_det_jacobian(self, forward: Cells) -> Float[np.ndarray, "*batch"]:
        """Return log |d power-transformed / d cell|, summed over the observed cells of each row."""
        z = self.inverse(forward) / self.scale
        slope = (self._powers(z) - 1) * np.log1p(np.abs(z))
        return np.where(np.isnan(slope), 0.0, slope).sum(axis=-1)

    def _powers(self, side: Cells) -> Cells:
        """Return the power that acts on each cell: power above the origin, 2 - power below."""
        return np.where(side < 0, 2 - self.power, self.power)


def _grown(size: np.ndarray, power: np.ndarray) -> np.ndarray:
    """Return ((1 + size)^power - 1) / power."""
    log = np.log1p(size)
    some = np.where(power == 0, 1.0, power)
    with np.errstate(over="ignore"):
        return np.where(power == 0, log, np.expm1(some * log) / some)


def learned(
    x: Float[np.ndarray, " row"], y: Int[np.ndarray, " row"], weight: Weights
) -> tuple[float, PowerTransform] | None:
    """Return the addition to a column's origin, and the power learned from its rows.

    The power is the mode, over a grid from 0 to 2, of the evidence of normal classes with a common
    variance, with flat priors of their means that do not depend on the power (Box and Cox 1964, An
    analysis of transformations, section 3), one row at the column's variance, and the power around
    1 with standard deviation .5. None where that is 1, or fewer than three values are observed.

    Args:
        x: cells less an origin; NaN is missing.
        y: class codes.
        weight: of the rows.
    """
    seen = ~np.isnan(x)
    x, y, weight = x[seen], y[seen], weight[seen]
    if len(np.unique(x)) < FEWEST_VALUES:
        return None
    top = np.abs(x).max()
    center = float(np.average(x / top, weights=weight) * top)
    scale = float(np.sqrt(np.average(((x - center) / top) ** 2, weights=weight)) * top)
    if not scale > 0:
        return None
    z, n = (x - center) / scale, weight.sum()
    scores = [_score(z, y, weight, power) for power in POWERS]
    free = (n - len(np.unique(y))) / n
    prior = -0.5 * ((POWERS - 1) / SPREAD) ** 2
    fit = np.array([-0.5 * n * np.log(left) + slope for left, slope in scores])
    power = float(POWERS[np.argmax(max(free, 0.0) * fit + prior)])
    return None if power == 1 else (center, PowerTransform(scale, power))


def _score(z: np.ndarray, y: np.ndarray, weight: Weights, power: float) -> tuple[float, float]:
    """Return the variance within classes, with one row at 1, and the sum of log slopes."""
    one = PowerTransforms(np.ones(1), np.full(1, power))
    t = one.forward(z[:, None])[:, 0]
    count = np.bincount(y, weight)
    mean = np.bincount(y, weight * t) / np.where(count > 0, count, 1.0)
    left = (weight @ (t - mean[y]) ** 2 + 1) / (weight.sum() + 1)
    side = np.where(z < 0, 2 - power, power)
    return float(left), float(weight @ ((side - 1) * np.log1p(np.abs(z))))
