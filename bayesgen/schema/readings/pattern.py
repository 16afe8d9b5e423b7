"""The missing pattern of columns."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Bool, Float

from bayesgen.schema.matching import MatchedTable
from bayesgen.schema.readings.reading import MISSING, BlockSpec, Reading, Readings
from bayesgen.table import Name, TableColumn, free
from bayesgen.typing import Self


@dataclass(frozen=True)
class Pattern(Reading):
    """Where another column is missing: 1 there, 0 elsewhere."""

    kind: ClassVar[str] = MISSING

    name: Name
    source: Name | None = None

    @classmethod
    def learn(cls, found: TableColumn) -> Readings:
        """Return the pattern of a column."""
        return (cls(f"{found.name} missing", found.name),)

    @classmethod
    def learn_columns(
        cls, found: Sequence[TableColumn], rows: MatchedTable, spec: BlockSpec
    ) -> list[Readings]:
        """Return the patterns of columns, under names that are not those of the table."""
        names = [(free(f"{name} missing", rows.table.names), name) for name in spec.names]
        return [(cls(name, source),) for name, source in names]

    def encode(self, found: TableColumn, unseen: str = "missing") -> Float[np.ndarray, " row"]:
        """Return 1 for missing cells, 0 for others."""
        return found.missing.astype(float)

    @classmethod
    def encode_columns(
        cls, columns: Sequence[Self], rows: MatchedTable, unseen: str
    ) -> Float[np.ndarray, "row feature"]:
        """Return the patterns of columns; of one that the table lacks no cell is known."""
        pattern = np.full((len(columns), rows.table.n_rows), np.nan).T
        for j, column in enumerate(columns):
            if column.reads in rows.position:
                pattern[:, j] = column.encode(rows.column(column.reads))
        return pattern

    def decode(self, cells: Float[np.ndarray, " row"]) -> Bool[np.ndarray, " row"]:
        """Return which cells of the source are missing."""
        return cells == 1

    def describe(self, codes: Iterable[int] | None = None) -> str:
        """Return what 0 and 1 mean."""
        return f"1 where {self.source!r} is missing, else 0"
