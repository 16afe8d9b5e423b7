"""Columns of a schema: their declarations, before any row is read."""

from collections.abc import Sequence
from dataclasses import dataclass

from bayesgen.schema.power_transform import PowerTransform
from bayesgen.table import Name, Names
from bayesgen.table.columns import OnDemand

MISSING = "missing"
"""The kind of columns of the missing pattern: 1 where a cell of another column is missing."""

GROUPS = "group of a row"
"""The block of the column of groups, which no likelihood reads: a level of it that is absent from
the fit is a new group, -1 as where it is missing."""


class PatternOf(tuple[Name, ...]):
    """Names of the columns of a block that reads their missing pattern in place of their cells."""

    __slots__ = ()


class IndicatorsOf(tuple[Name, ...]):
    """Names of the columns of a block that reads columns of levels as their indicators."""

    __slots__ = ()


@dataclass(frozen=True)
class BlockSpec:
    """Specification of a block: its columns and their kind.

    kind: "numbers", "levels", "binary", "counts" or "missing".
    names: its columns, in the order of the encoded features; of "missing", the columns whose
        missing values it reads.
    centred: whether encoding may subtract an origin from each column.
    binned: whether the levels of numeric columns are bins, for "levels".
    indicators: whether columns of levels are read as their indicators, for "numbers".
    """

    kind: str
    names: Names
    centred: bool = False
    binned: bool = False
    indicators: bool = False


@dataclass(frozen=True)
class Column:
    """Schema of one column.

    kind: of its block: "numbers", "levels", "binary", "counts" or "missing".
    levels: for "levels", Python values in the order of the codes; for "binary" from a column of two
        levels, the one that counts as 0 first.
    declared: whether the dtype named the levels.
    origin: the offset subtracted by encoding: 0 unless the block holds numbers of a centered
        likelihood; NaN, which acts as 0, until such a column has an observed cell.
    transform: how encoding power-transforms the rest, or None.
    source: for "missing" the column whose missing values it marks, for an indicator the column of
        levels; else None.
    edges: of numbers whose bins are the levels, the upper ends of all bins but the last; else None.
    known: of an indicator, the levels that its source had in the rows of the fit; else None.
    code: of an indicator, which of these levels it is 1 for, from 1 on (see `one_hot`).
    """

    name: Name
    kind: str
    levels: tuple = ()
    declared: bool = False
    origin: float = float("nan")
    transform: PowerTransform | None = None
    source: Name | None = None
    edges: tuple[float, ...] | None = None
    known: tuple | None = None
    code: int = 0

    @property
    def reads(self) -> Name:
        """The column of a table that it is encoded from."""
        return self.name if self.source is None else self.source


Columns = Sequence[Column]
"""Columns of a block: a tuple, or a sequence that makes them on demand."""


@dataclass(frozen=True)
class NumericColumns(OnDemand[Column]):
    """Columns without anything to learn: counts or binary values of a sparse table."""

    names: Names
    kind: str

    def __len__(self) -> int:
        return len(self.names)

    def entry(self, position: int) -> Column:
        """Return one column."""
        return Column(self.names[position], self.kind, origin=0.0)
