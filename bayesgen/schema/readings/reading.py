"""`Reading`: how a column of a table is read as columns of a block, and written back."""

import abc
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, cast

import numpy as np
from jaxtyping import Num

from bayesgen.errors import UnsupportedOperation
from bayesgen.errors.data import levels_changed
from bayesgen.schema.matching import MatchedTable
from bayesgen.table import Name, Names, TableColumn
from bayesgen.typing import Block, Self

MISSING = "missing"
"""The kind of columns of the missing pattern: 1 where a cell of another column is missing."""


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


class Reading(abc.ABC):
    """One column of a block: how it is encoded from a column of a table, and written back.

    Most columns of a table are read as one column of a block. Some are read as several, so that
    `learn`, `merge` and `union` return all columns that one of a table is read as; `merge` and
    `union` are called of the first of these. A reading is a frozen dataclass, whose fields are
    data: they are compared, hashed and saved.

    kind: of the blocks that take it: "numbers", "levels", "binary", "counts" or "missing".
    asked: fields of a `BlockSpec`, and the values of them under which it is considered.
    learned: of what is learned from all rows at once and cannot be united with another: in words,
        and the argument that asks for it; else None.
    dtype: of encoded cells.
    grows: whether later rows can change it.
    name: of the column of the block.
    source: name of the column of the table, if that has another name.
    levels: Python values in the order of the codes; () of numbers.
    declared: whether the dtype of the column names the levels.
    source_levels: of an indicator, the levels of its source that some row of the fit had.
    origin: what encoding subtracts: 0 unless a block may be centred; None, which acts as 0, until
        such a column has an observed cell.
    """

    kind: ClassVar[str]
    asked: ClassVar[Mapping[str, bool]] = {}
    learned: ClassVar[tuple[str, str] | None] = None
    dtype: ClassVar[type] = np.float64
    grows: ClassVar[bool] = False

    name: Name
    source: Name | None = None
    levels: tuple = ()
    declared: bool = False
    source_levels: tuple = ()
    origin: float | None = 0.0

    @property
    def reads(self) -> Name:
        """The column of a table that it is encoded from."""
        return self.name if self.source is None else self.source

    @property
    def original(self) -> "Reading":
        """The column of the table as it is, where that is something else, or itself."""
        return self

    @property
    def unobserved(self) -> bool:
        """Whether no row has shown as yet whether the column holds levels or numbers."""
        return False

    @property
    def form(self) -> str:
        """What text its numbers are written as, such as "percentages"; "" of numbers as such."""
        return ""

    @property
    def in_files(self) -> str:
        """The kind of its cells in files: "number", "text" or "boolean".

        Numbers match levels by their value.
        """
        types = {type(level) for level in self.levels or self.source_levels}
        if types == {bool}:
            return "boolean"
        return "text" if str in types else "number"

    # -- learning ----------------------------------------------------------------------------------

    @classmethod
    def takes(cls, found: TableColumn) -> bool:
        """Return whether it can read a column; of several readings, the first that does is taken.

        The last of them need not be asked: its `learn` refuses what none can read.
        """
        return True

    @classmethod
    @abc.abstractmethod
    def learn(cls, found: TableColumn) -> "Readings":
        """Return the columns that a column of a table is read as.

        Raises:
            InvalidData: the column does not suit.
        """

    @classmethod
    def learn_columns(
        cls, found: Sequence[TableColumn], rows: MatchedTable, spec: BlockSpec
    ) -> list["Readings"]:
        """Return the same of several columns of a block, which may lie in one array of a table."""
        return [cls.learn(column) for column in found]

    def merge(self, found: TableColumn) -> "Readings":
        """Return the columns after the cells of one more batch.

        Raises:
            InvalidData: text meets numbers.
        """
        return (self,)

    def union(self, other: "Reading") -> "Readings":
        """Return the columns after the rows of another of the same name and kind.

        Raises:
            InvalidData: text meets numbers.
            UnsupportedOperation: power transforms, bins or the two levels of a binary one differ.
        """
        if self == other or other.unobserved:
            return (self,)
        if self.unobserved:
            return (other,)
        if (self.source is None) != (other.source is None):  # indicators and numbers
            levels = self.source_levels or other.source_levels
            raise levels_changed(self.reads, ["numbers"], levels)
        for column in (self, other):
            if column.learned is not None:
                what, argument = column.learned
                raise UnsupportedOperation(
                    "column {column!r} is {what} differently in the two classifiers, as each "
                    "learned it from its own rows.",
                    "Fit one classifier to all rows, or both without {argument}.",
                    column=column.name,
                    what=what,
                    argument=argument,
                )
        return self.united(other)

    def united(self, other: "Reading") -> "Readings":
        """Return `union` of two columns that differ, neither of them learned from all rows."""
        return (self,)

    def with_levels(self, levels: tuple) -> Self:
        """Return the column with some of its levels; itself where they belong to it."""
        return self

    # -- cells -------------------------------------------------------------------------------------

    @abc.abstractmethod
    def encode(self, found: TableColumn, unseen: str = "missing") -> Num[np.ndarray, " row"]:
        """Return the cells of a column as a block has them; they may be views of the user's data.

        Args:
            found: the cells, in any form in which the column may come.
            unseen: treatment of a level absent from the fit: "missing" warns, "error" raises.

        Raises:
            InvalidData: the cells do not suit; see `unseen`.
        """

    @classmethod
    def encode_columns(cls, columns: Sequence[Self], rows: MatchedTable, unseen: str) -> Block:
        """Return the cells of several columns, shape (row, feature)."""
        # columns lie one after the other in memory, as they do in frames
        cells = np.empty((len(columns), rows.table.n_rows), dtype=cls.dtype).T
        for j, column in enumerate(columns):
            cells[:, j] = column.encode(rows.column(column.reads), unseen)
        return cells

    @abc.abstractmethod
    def decode(self, cells: Num[np.ndarray, " row"]) -> np.ndarray:
        """Return encoded cells as the user writes them: float64, or objects with None.

        Of a missing pattern, which cells of its source are missing.
        """

    def in_units(self, cells: Num[np.ndarray, " row"]) -> np.ndarray:
        """Return encoded cells as `decode`, but numbers as such, however the user writes them."""
        return self.decode(cells)

    def describe(self, codes: Iterable[int] | None = None) -> str:
        """Return what an encoded cell means, in words; "" if it is the number of the table.

        codes: of the levels, in the order of the codes that others give them; None: all.
        """
        codes = range(len(self.levels)) if codes is None else codes
        return ", ".join(f"{code} {self.levels[k]!r}" for code, k in enumerate(codes))


READINGS: list[type[Reading]] = []
"""Those that a block may take for a column: the first of its kind that its specification asks for
and that takes the column, or else the last. The package lists them in `__init__.py`."""

Readings = tuple[Reading, ...]
"""The columns that one column of a table is read as."""


def by_source(columns: Sequence[Reading]) -> Iterator[tuple[Name, Readings]]:
    """Yield the columns of a block source by source, with the name of each source."""
    for name, some in itertools.groupby(columns, key=lambda column: column.reads):
        yield name, tuple(some)


def encode_together(columns: Sequence[Reading], rows: MatchedTable, unseen: str) -> Block:
    """Return the cells of columns of a block, shape (row, feature), those of one class at once."""
    classes = cast(dict[type[Reading], None], dict.fromkeys(map(type, columns)))
    if len(classes) == 1:
        return type(columns[0]).encode_columns(columns, rows, unseen)
    order = "F" if rows.table.matrix is None else "C"
    cells = np.empty((rows.table.n_rows, len(columns)), columns[0].dtype, order=order)
    for cls in classes:
        at = [j for j, column in enumerate(columns) if type(column) is cls]
        cells[:, at] = cls.encode_columns([columns[j] for j in at], rows, unseen)
    return cells
