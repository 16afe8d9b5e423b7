"""Columns of counts."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Float

from bayesgen.schema.matching import MatchedTable
from bayesgen.schema.readings.numbers import Numbers
from bayesgen.schema.readings.reading import BlockSpec, Readings
from bayesgen.table import Name, TableColumn, check_counts
from bayesgen.typing import Self


@dataclass(frozen=True)
class Counts(Numbers):
    """A column of counts: 0, 1, 2, ..."""

    kind: ClassVar[str] = "counts"

    name: Name
    origin: float | None = 0.0

    @classmethod
    def learn_columns(
        cls, found: Sequence[TableColumn], rows: MatchedTable, spec: BlockSpec
    ) -> list[Readings]:
        """Return the columns."""
        return [cls.learn(column) for column in found]

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
