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
from collections.abc import Iterable, Sequence
from typing import ClassVar

import numpy as np
from jaxtyping import Float, Int

from bayesgen.errors import InvalidData
from bayesgen.schema.matching import MatchedTable
from bayesgen.schema.readings.numbers import Numbers, offsets
from bayesgen.schema.readings.reading import Reading, Readings, encode_together
from bayesgen.table import Name, TableColumn
from bayesgen.table.columns import LARGEST
from bayesgen.typing import Self, Weights

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


IDENTITY = PowerTransform(1.0, 1.0)


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


@dataclasses.dataclass(frozen=True)
class PowerTransformed(Reading):
    """A column of numbers, power-transformed once its origin is subtracted.

    of: the numbers, in whichever form they are written. transform: of these, in encoded form.
    """

    kind: ClassVar[str] = "numbers"
    learned: ClassVar = ("power-transformed", "power_transform=True")

    of: Numbers
    transform: PowerTransform

    @property
    def name(self) -> Name:
        """Name of the column."""
        return self.of.name

    @property
    def origin(self) -> float | None:
        """What encoding subtracts before it transforms."""
        return self.of.origin

    @property
    def in_files(self) -> str:
        """The kind of its cells in files."""
        return self.of.in_files

    @classmethod
    def learn(cls, found: TableColumn) -> Readings:
        """Return the numbers, before their power is learned (`with_power`)."""
        return Numbers.learn(found)

    def encode(self, found: TableColumn, unseen: str = "missing") -> Float[np.ndarray, " row"]:
        """Return numbers, power-transformed."""
        return _forward([self], self.of.encode(found, unseen)[:, None])[:, 0]

    @classmethod
    def encode_columns(
        cls, columns: Sequence[Self], rows: MatchedTable, unseen: str
    ) -> Float[np.ndarray, "row feature"]:
        """Return the numbers of columns, power-transformed."""
        return _forward(columns, encode_together([column.of for column in columns], rows, unseen))

    def decode(self, cells: Float[np.ndarray, " row"]) -> np.ndarray:
        """Return the numbers of the table."""
        return self.of.decode(self._inverse(cells))

    def in_units(self, cells: Float[np.ndarray, " row"]) -> np.ndarray:
        """Return the numbers of the table as such."""
        return self.of.in_units(self._inverse(cells))

    def _inverse(self, cells: Float[np.ndarray, " row"]) -> np.ndarray:
        return transforms_of([self]).inverse(cells[:, None])[:, 0]

    def describe(self, codes: Iterable[int] | None = None) -> str:
        """Return the transform as a program has it."""
        power = self.transform
        z = f"(x - {self.origin!r}) / {power.scale!r}"
        return f"{self.origin!r} + {power.scale!r} * scipy.stats.yeojohnson({z}, {power.power!r})"


def with_power(column: Reading, found: tuple[float, PowerTransform] | None) -> Reading:
    """Return a column with a power transform; found: as `learned` returns."""
    if found is None or not isinstance(column, Numbers):
        return column
    center, power = found
    moved = dataclasses.replace(column, origin=(column.origin or 0.0) + center)
    return PowerTransformed(moved, power)


def untransformed(column: Reading) -> Reading:
    """Return the numbers of a column that is power-transformed, and any other as it is."""
    return column.of if isinstance(column, PowerTransformed) else column


def transforms_of(columns: Sequence[Reading]) -> PowerTransforms:
    """Return the power transforms of the columns of a block; others have the identity."""
    each = [c.transform if isinstance(c, PowerTransformed) else IDENTITY for c in columns]
    return PowerTransforms(np.array([t.scale for t in each]), np.array([t.power for t in each]))


def _forward(columns: Sequence[PowerTransformed], numbers: Cells) -> Cells:
    """Return the cells of columns, less their origins, power-transformed."""
    transforms = transforms_of(columns)
    transformed = transforms.forward(numbers)
    far = np.argwhere(np.abs(transformed) > LARGEST)
    if len(far):
        row, j = far[0]
        raise InvalidData(
            "column {column!r} holds {value:.3g}, and power_transform=True raises its distance "
            "from the column's mean to the power {power:g}, which exceeds 1e150.",
            "Correct the cell, or leave out power_transform=True.",
            column=columns[j].name,
            value=numbers[row, j] + offsets(columns)[j],
            power=max(transforms.power[j], 2 - transforms.power[j]),
        )
    return transformed


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
