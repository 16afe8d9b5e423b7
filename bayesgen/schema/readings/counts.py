"""Columns of counts."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Float, Num

from bayesgen.schema.matching import MatchedTable
from bayesgen.schema.readings.numbers import Numbers, form_of, in_either, merged_form
from bayesgen.schema.readings.reading import BlockSpec, Reading, Readings
from bayesgen.table import Name, TableColumn, check_counts
from bayesgen.typing import Self


@dataclass(frozen=True)
class Counts(Numbers):
    """A column of counts: 0, 1, 2, ...

    of: how they are written, if as text.
    """

    kind: ClassVar[str] = "counts"

    name: Name
    origin: float | None = 0.0
    of: Numbers | None = None

    @property
    def form(self) -> str:
        """How its numbers are written."""
        return "" if self.of is None else self.of.form

    @property
    def in_files(self) -> str:
        """The kind of its cells in files."""
        return "number" if self.of is None else self.of.in_files

    @classmethod
    def learn(cls, found: TableColumn) -> tuple[Self, ...]:
        """Return the column."""
        return (cls(found.name, of=form_of(found)),)

    @classmethod
    def learn_columns(
        cls, found: Sequence[TableColumn], rows: MatchedTable, spec: BlockSpec
    ) -> list[Readings]:
        """Return the columns."""
        return [cls.learn(column) for column in found]

    def united(self, other: Reading) -> Readings:
        """Return the column in the form that text has in either."""
        of = other.of if isinstance(other, Counts) else None
        return (dataclasses.replace(self, of=in_either(self.of, of)),)

    def merge(self, found: TableColumn) -> Readings:
        """Return the column after one more batch, which may show that its numbers are text."""
        return (dataclasses.replace(self, of=merged_form(self.of, found)),)

    def numbers(self, found: TableColumn) -> Num[np.ndarray, " row"]:
        """Return the counts that cells stand for, NaN = missing."""
        return super().numbers(found) if self.of is None else self.of.numbers(found)

    def decode(self, cells: Float[np.ndarray, " row"]) -> np.ndarray:
        """Return counts as they are written."""
        return cells if self.of is None else self.of.decode(cells)

    def encode(self, found: TableColumn, unseen: str = "missing") -> Float[np.ndarray, " row"]:
        """Return the counts.

        Raises:
            InvalidData: a number is negative or not whole.
        """
        cells = self.numbers(found)
        check_counts((self.name,), cells[:, None])
        return cells

    @classmethod
    def encode_columns(
        cls, columns: Sequence[Self], rows: MatchedTable, unseen: str
    ) -> Float[np.ndarray, "row feature"]:
        """Return the counts of columns."""
        cells = super().encode_columns(columns, rows, unseen)
        check_counts([column.name for column in columns], cells)
        return cells
