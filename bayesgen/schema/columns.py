"""What a fit remembers of one column: how its cells become numbers or codes."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import overload

import numpy as np

from bayesgen.errors import NotBinary, NotLevels
from bayesgen.schema.power_transform import PowerTransform
from bayesgen.schema.suspects import not_numeric
from bayesgen.table import Name, Names, TableColumn


@dataclass(frozen=True)
class BlockSpec:
    """What a block asks of the table.

    kind: "numbers", "levels", "binary" or "counts".
    names: its columns, in the order of the encoded features.
    centred: whether encoding may subtract an origin from each column.
    """

    kind: str
    names: Names
    centred: bool = False


@dataclass(frozen=True)
class Column:
    """One column as fitting saw it.

    kind: what its block asked for: "numbers", "levels", "binary" or "counts".
    levels: for "levels", Python values in the order of the codes; for "binary" from a column of two
        levels, the one that counts as 0 first.
    declared: whether the dtype named the levels.
    origin: what encoding subtracts: 0 unless the block holds numbers of a centred likelihood; NaN,
        which acts as 0, until such a column has an observed cell.
    bend: how encoding power transforms what is left, or None.
    """

    name: Name
    kind: str
    levels: tuple = ()
    declared: bool = False
    origin: float = float("nan")
    transform: PowerTransform | None = None


Columns = Sequence[Column]
"""Of a block: a tuple, or what makes columns when asked for."""


@dataclass(frozen=True)
class NumericColumns(Sequence[Column]):
    """Columns of which there was nothing to learn: counts or answers of a sparse table."""

    names: Names
    kind: str

    def __len__(self) -> int:
        return len(self.names)

    @overload
    def __getitem__(self, index: int) -> Column: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[Column, ...]: ...

    def __getitem__(self, index: int | slice) -> Column | tuple[Column, ...]:
        if isinstance(index, slice):
            return tuple(Column(name, self.kind, origin=0.0) for name in self.names[index])
        return Column(self.names[index], self.kind, origin=0.0)


def learned(found: TableColumn, kind: str, levels: tuple | None = None) -> Column:
    """Return what a column of a table, whose levels may be known, teaches a block of this kind.

    Raises:
        NotNumeric, NotLevels, NotBinary: the column does not suit.
    """
    if kind == "levels":
        if levels is None:
            levels = found.levels if found.kind == "level" else whole_levels(found)
        return Column(found.name, kind, levels, found.declared, origin=0.0)
    if found.kind == "number":
        return Column(found.name, kind, origin=float("nan") if kind == "numbers" else 0.0)
    if kind != "binary":
        raise not_numeric(found)
    if len(found.levels) != 2 or not found.declared:
        raise NotBinary.levels(found.name, found.levels)
    numeric = all(isinstance(level, bool | int | float) for level in found.levels)
    levels = tuple(sorted(found.levels)) if numeric else found.levels
    return Column(found.name, kind, levels, declared=True, origin=0.0)


def merged(column: Column, found: TableColumn) -> Column:
    """Return the column with the levels of one more batch at the end.

    A column whose levels were declared at first grows only by levels that a batch declares too.

    Raises:
        NotLevels: text meets numbers.
    """
    if column.kind != "levels" or (found.is_missing and not found.declared):
        return column
    if column.declared and not found.declared:
        return column
    levels = found.levels if found.kind == "level" else whole_levels(found)
    known = set(column.levels)
    new = tuple(level for level in levels if level not in known)
    if known and new and _types(column.levels).isdisjoint(_types(new)):
        raise NotLevels.changed(column.name, column.levels, new)
    declared = found.declared if not column.levels else column.declared
    return dataclasses.replace(column, levels=column.levels + new, declared=declared)


def whole_levels(found: TableColumn) -> tuple[int, ...]:
    """Return the whole numbers of a column, sorted.

    Raises:
        NotLevels: a number is not whole.
    """
    values = np.unique(found.values[~np.isnan(found.values)])
    fractions = values[values != np.floor(values)]
    if len(fractions):
        raise NotLevels.fractions(found.name, float(fractions[0]))
    return tuple(int(value) for value in values)


def _types(levels: tuple) -> set[str]:
    return {
        "number" if isinstance(level, bool | int | float) else type(level).__name__
        for level in levels
    }
