"""Bins of numeric columns: levels between quantiles, for likelihoods of levels.

A column is cut at the smallest values with at least 1/n, 2/n, ... of the rows at or below them. A
quantile that repeats is one cut, so a value that many rows share, such as 0, is the end of a bin.
A column with negative skewness is cut from above, at the largest values with as many rows at or
above them, so that the bins of -x are those of x. By default n is the square root of the number of
rows with a value, as Yang and Webb advise.

Source: Dougherty, Kohavi and Sahami (1995), Proceedings of ICML 12, 194-202; Yang and Webb (2009),
Machine Learning 74, 39-74.
"""

import dataclasses
import functools
import math
from typing import ClassVar

import numpy as np
from jaxtyping import Float, Int, Num

from bayesgen.schema.readings.levels import levels_of_codes
from bayesgen.schema.readings.numbers import Numbers, form_of, in_either, merged_form, reading_of
from bayesgen.schema.readings.reading import Reading, Readings
from bayesgen.table import Name, TableColumn
from bayesgen.typing import Weights

FEWEST, MOST = 4, 24
"""Bins by default, at least and at most."""
ROUNDING = 1e-9
"""Share of a quantile's weight that sums of weights may lack, and of the third moment."""

Values = Float[np.ndarray, " value"]


@dataclasses.dataclass(frozen=True)
class Bins(Reading):
    """A column of numbers as levels, each a range of numbers.

    edges: the upper ends of all bins but the last; None until they are learned, from all rows.
    of: how the numbers are written, if as text.
    """

    kind: ClassVar[str] = "levels"
    dtype: ClassVar[type] = np.int64
    asked: ClassVar = {"binned": True}
    grows: ClassVar[bool] = True
    learned: ClassVar = ("cut into bins", "bins=")

    name: Name
    edges: tuple[float, ...] | None = None
    of: Numbers | None = None

    @property
    def declared(self) -> bool:
        """Whether the levels are declared, as all are."""
        return True

    @functools.cached_property
    def levels(self) -> tuple[str, ...]:
        """The names of the bins, by their ends.

        Of the two statements that are the same for floating-point numbers, x <= edge and x < the
        next number, names have the one that is shorter to write.
        """
        if self.edges is None:
            return ()
        after = [float(np.nextafter(edge, np.inf)) for edge in self.edges]
        lowest = [len(repr(b)) < len(repr(a)) for a, b in zip(self.edges, after, strict=True)]
        ends = zip(self.edges, after, lowest, strict=True)
        names = [f"below {b!r}" if shorter else f"to {a!r}" for a, b, shorter in ends]
        last = "any"
        if self.edges:
            last = f"from {after[-1]!r}" if lowest[-1] else f"above {self.edges[-1]!r}"
        return (*names, last)

    @property
    def original(self) -> Reading:
        """The numbers."""
        return Numbers(self.name, None) if self.of is None else self.of

    @property
    def form(self) -> str:
        """What text the numbers are written as."""
        return self.original.form

    @property
    def in_files(self) -> str:
        """The kind of its cells in files."""
        return self.original.in_files

    @classmethod
    def takes(cls, found: TableColumn) -> bool:
        """Return whether a column holds numbers, in whatever form they are written."""
        return reading_of(found) is not None

    @classmethod
    def learn(cls, found: TableColumn) -> Readings:
        """Return the column, before its edges are learned (`with_edges`)."""
        return (cls(found.name, of=form_of(found)),)

    def merge(self, found: TableColumn) -> Readings:
        """Return the column after one more batch, which may show that its numbers are text."""
        return (dataclasses.replace(self, of=merged_form(self.of, found)),)

    def union(self, other: Reading) -> Readings:
        """Return the column after the rows of another, which must be cut alike."""
        if not isinstance(other, Bins) or self.edges != other.edges:
            return super().union(other)
        return (dataclasses.replace(self, of=in_either(self.of, other.of)),)

    def with_edges(self, edges: tuple[float, ...]) -> "Bins":
        """Return the column with edges of its bins."""
        return dataclasses.replace(self, edges=edges)

    def encode(self, found: TableColumn, unseen: str = "missing") -> Int[np.ndarray, " row"]:
        """Return the numbers of the bins that cells are in, -1 = missing."""
        values = self.numbers(found)
        bins = np.searchsorted(np.array(self.edges or ()), values)
        return np.where(np.isnan(values), -1, bins)

    def numbers(self, found: TableColumn) -> Num[np.ndarray, " row"]:
        """Return the numbers that cells stand for, NaN = missing."""
        return (self.of or Numbers(self.name)).numbers(found)

    def decode(self, cells: Int[np.ndarray, " row"]) -> np.ndarray:
        """Return the names of bins."""
        return levels_of_codes(self.levels, cells)


def quantile_edges(
    x: Float[np.ndarray, " row"], weight: Weights, bins: int | str
) -> tuple[float, ...]:
    """Return the upper ends of all bins but the last; NaN cells and rows of weight 0 are left out.

    bins: how many at most; "auto": the square root of the number of rows, between 4 and 24.

    Examples:
        >>> x = np.array([0.0, 0.0, 0.0, 1.0, 2.0, 3.0, 4.0, np.nan])
        >>> quantile_edges(x, np.ones(8), 4)
        (0.0, 1.0, 3.0)
    """
    seen = ~np.isnan(x) & (weight > 0)
    x, weight = x[seen], weight[seen]
    if weight.min(initial=np.inf) < weight.max(
        initial=0.0
    ):  # sums of weights shall not depend on the order of rows
        order = np.lexsort((weight, x))
        x, weight = x[order], weight[order]
    values, place = np.unique(x, return_inverse=True)
    if len(values) < 2:
        return ()
    total = np.bincount(place, weight)
    if not _skewed_downward(values, total):
        return tuple(_edges(values, total, bins).tolist())
    lowest = -_edges(-values[::-1], total[::-1], bins)[::-1]
    # the upper end of a bin below its neighbor's lowest value
    return tuple(np.nextafter(lowest, -np.inf).tolist())


def _edges(values: Values, weight: Values, bins: int | str) -> Float[np.ndarray, " edge"]:
    """Return the upper ends of all bins but the last, of distinct values in ascending order."""
    below = weight.cumsum()
    n = int(np.clip(np.sqrt(below[-1]), FEWEST, MOST)) if isinstance(bins, str) else bins
    wanted = np.arange(1, n) / n * (1 - ROUNDING) * below[-1]
    at = np.unique(np.searchsorted(below, wanted))
    return values[at[at < len(values) - 1]]


def _skewed_downward(values: Values, weight: Values) -> bool:
    """Return whether the third central moment is negative beyond rounding.

    Sums are exact, so that neither the order of values nor their sign matters.
    """
    middle = math.fsum(values * weight) / math.fsum(weight)
    away = values - middle
    scale = np.abs(away).max()
    cubes = (away / scale) ** 3 * weight if scale else away
    return math.fsum(cubes) < -ROUNDING * math.fsum(np.abs(cubes))
