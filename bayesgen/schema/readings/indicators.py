"""Columns of levels read as indicators: one column of 0 and 1 for each level but the first.

The first level is where all others are 0, so that nothing is lost and nothing is said twice. Which
one it is changes no prediction (see `likelihoods.multivariate_normal.indicators`). Levels are those
of rows: others, declared or not, have no indicator. A missing cell is missing in all indicators of
its column. A column of one level, or of none, has a single column that is 0 where it is observed:
the statistics then know which rows it is missing in when a second level arrives.
"""

import dataclasses
from collections.abc import Iterable, Sequence
from typing import ClassVar

import numpy as np
from jaxtyping import Float, Int

from bayesgen.schema.matching import MatchedTable
from bayesgen.schema.readings.levels import Levels, level_codes
from bayesgen.schema.readings.numbers import Numbers, change_of_origin, form_of
from bayesgen.schema.readings.reading import Reading, Readings, by_source
from bayesgen.table import Name, TableColumn
from bayesgen.typing import Self


@dataclasses.dataclass(frozen=True)
class Indicator(Reading):
    """Where a column of levels has one of them: 1 there, 0 where it has another.

    source_levels: those that its source had in the rows of the fit.
    code: which of these it is 1 for, from 1 on.
    """

    kind: ClassVar[str] = "numbers"
    asked: ClassVar = {"indicators": True}
    grows: ClassVar[bool] = True

    name: Name
    source: Name | None = None
    source_levels: tuple = ()
    code: int = 1

    @property
    def original(self) -> Reading:
        """The column of levels; itself where these are fewer than two."""
        if self.code < len(self.source_levels):
            return Levels(self.reads, self.source_levels)
        return self

    @property
    def unobserved(self) -> bool:
        """Whether the source has no levels as yet."""
        return not self.source_levels

    @classmethod
    def takes(cls, found: TableColumn) -> bool:
        """Return whether a column holds levels, or nothing as yet."""
        return found.kind == "level" or found.is_missing

    @classmethod
    def learn(cls, found: TableColumn) -> Readings:
        """Return the indicators of the levels that rows of a column have."""
        return indicators(found.name, of_rows(found).levels)

    def merge(self, found: TableColumn) -> Readings:
        """Return the indicators after one more batch; numbers, if it turned out to hold such."""
        rows = of_rows(dataclasses.replace(found, name=self.reads))
        if rows.is_missing:
            return indicators(self.reads, self.source_levels)
        if rows.kind == "number" and not self.source_levels:
            return (Numbers(self.reads, None),)
        if not self.source_levels and (numbers := form_of(rows)) is not None:
            return (dataclasses.replace(numbers, origin=None),)
        (levels,) = self._levels().united(*Levels.learn(rows))
        return indicators(self.reads, levels.levels)

    def united(self, other: Reading) -> Readings:
        """Return the indicators of the levels of both."""
        (levels,) = self._levels().united(Levels(self.reads, other.source_levels))
        return indicators(self.reads, levels.levels)

    def union(self, other: Reading) -> Readings:
        """Return the columns after the rows of another."""
        return self.united(other) if isinstance(other, Indicator) else super().union(other)

    def _levels(self) -> Levels:
        return Levels(self.reads, self.source_levels)

    def encode(self, found: TableColumn, unseen: str = "missing") -> Float[np.ndarray, " row"]:
        """Return 1 where cells have the level, 0 where they have another, NaN = missing."""
        codes = level_codes(self.source_levels, found, unseen)
        return np.where(codes < 0, np.nan, codes == self.code)

    @classmethod
    def encode_columns(
        cls, columns: Sequence[Self], rows: MatchedTable, unseen: str
    ) -> Float[np.ndarray, "row feature"]:
        """Return the indicators of columns; the codes of each source are looked up once."""
        # columns lie one after the other in memory, as they do in frames
        cells = np.empty((len(columns), rows.table.n_rows)).T
        j = 0
        for name, some in by_source(columns):
            codes = level_codes(some[0].source_levels, rows.column(name), unseen)
            for code in range(1, len(some) + 1):
                cells[:, j] = np.where(codes < 0, np.nan, codes == code)
                j += 1
        return cells

    def decode(self, cells: Float[np.ndarray, " row"]) -> np.ndarray:
        """Return 0 and 1."""
        return cells

    def describe(self, codes: Iterable[int] | None = None) -> str:
        """Return what 0 and 1 mean."""
        if self.code < len(self.source_levels):
            return f"1 where {self.source!r} is {self.source_levels[self.code]!r}, else 0"
        return ""


def indicators(name: Name, levels: tuple) -> Readings:
    """Return the columns that indicate the levels of a column, all but the first."""
    names = [f"{name}={level}" for level in levels[1:]] or [name]
    return tuple(Indicator(label, name, levels, code) for code, label in enumerate(names, start=1))


def of_rows(found: TableColumn) -> TableColumn:
    """Return a column of levels without those that no row has, declared or not."""
    if found.kind == "number":
        return found
    codes = np.unique(found.values[found.values >= 0])
    place = np.full(len(found.levels) + 1, -1)
    place[codes] = np.arange(len(codes))
    levels = tuple(found.levels[code] for code in codes.tolist())
    return dataclasses.replace(found, values=place[found.values], levels=levels, declared=False)


def with_rows(
    columns: Sequence[Reading],
    count: Float[np.ndarray, " column"],
    sums: Float[np.ndarray, " column"],
    *,
    least: float,
) -> Readings:
    """Return the columns of a block without the indicators of levels that have no rows.

    Args:
        columns: of the block.
        count: weight of the rows in which each is observed.
        sums: weight of the rows in which each is 1.
        least: share of the rows of a column below which the weight of a level is rounding.
    """
    places: dict[Name, list[int]] = {}
    for i, column in enumerate(columns):
        places.setdefault(column.reads, []).append(i)

    out: list[Reading] = []
    for name, some in by_source(columns):
        if not isinstance(some[0], Indicator):
            out += some
            continue
        at = places[name]
        weight = [count[at[0]] - sums[at].sum(), *sums[at]]
        pairs = zip(some[0].source_levels, weight, strict=False)  # of one level the other is 0
        out += indicators(name, tuple(level for level, n in pairs if n > least * count[at[0]]))
    return tuple(out)


def variables(columns: Sequence[Reading]) -> tuple[int, ...]:
    """Return the number of the variable that each column is an indicator of; -1: of none."""
    numbers: dict[Name, int] = {}
    return tuple(
        numbers.setdefault(c.reads, len(numbers)) if isinstance(c, Indicator) else -1
        for c in columns
    )


@dataclasses.dataclass(frozen=True, eq=False)
class Rewriting:
    """How the columns of a block are computed from those of an earlier one.

    New columns are matrix @ old ones + offset; each is observed where the column `like` was.
    """

    matrix: Float[np.ndarray, "new old"]
    offset: Float[np.ndarray, " new"]
    like: Int[np.ndarray, " new"]


def rewriting(before: Sequence[Reading], after: Sequence[Reading]) -> Rewriting:
    """Return how indicators of levels before become those of levels after.

    A level that is new is 0 in all rows so far. The first level before is 1 minus all others. A
    level that is no longer there must have had no rows. Origins may change too.
    """
    matrix, offset = np.zeros((len(after), len(before))), np.zeros(len(after))
    like = np.zeros(len(after), dtype=int)
    places: dict[Name, list[int]] = {}
    for i, column in enumerate(before):
        places.setdefault(column.reads, []).append(i)
    for j, column in enumerate(after):
        siblings = places[column.reads]
        like[j] = siblings[0]
        one = before[like[j]]
        if not isinstance(column, Indicator):
            matrix[j, like[j]] = 1.0
            if not isinstance(one, Indicator):
                offset[j] = change_of_origin(one, column)
            continue
        had, level = one.source_levels, column.source_levels[column.code : column.code + 1]
        if level and level[0] in had:
            code = had.index(level[0])
            matrix[j, siblings if code == 0 else siblings[code - 1]] = 1.0 if code else -1.0
            offset[j] = 0.0 if code else 1.0
    return Rewriting(matrix, offset, like)
