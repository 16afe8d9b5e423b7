"""Everything a fit remembers about the columns of its table."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from bayesgen.errors import InvalidArgument, UnknownColumns
from bayesgen.schema.blocks import decoded_cells, encoded_block, learned_block, merged_block
from bayesgen.schema.columns import BlockSpec, Column
from bayesgen.schema.matching import matched
from bayesgen.table import Name, Table, TableColumn, build_frame


@dataclass(frozen=True)
class Schema:
    """The columns of each block, and how their cells become arrays.

    blocks: block name to its columns, in the order of the encoded features.
    names: all features, in the order of the table.
    container: "pandas", "polars", "pyarrow" or "numpy": what the rows came in.
    """

    blocks: dict[str, tuple[Column, ...]]
    names: tuple[Name, ...]
    container: str

    @classmethod
    def learn(cls, table: Table, blocks: Mapping[str, BlockSpec]) -> "Schema":
        """Return what a table teaches about the columns of blocks.

        Raises:
            UnknownColumns: a block names a column that the table has not.
            NotNumeric, NotLevels, NotBinary: a column does not suit its block.
            InvalidValues: numbers that vary by less than 1e-150.
        """
        by_name = {column.name: column for column in table.columns}
        unknown = [name for spec in blocks.values() for name in spec.names if name not in by_name]
        if unknown:
            raise UnknownColumns.not_in_table(unknown, table.names)
        position = {name: i for i, name in enumerate(by_name)}
        learned = {
            block: learned_block(
                [by_name[name] for name in spec.names],
                spec,
                _slice(table.matrix, [position[name] for name in spec.names]),
            )
            for block, spec in blocks.items()
        }
        return cls(learned, table.names, table.container)

    def merge(self, table: Table, *, estimator: str = "Classifier") -> "Schema":
        """Return the schema after one more batch: new levels at the end, first origins set.

        Raises:
            UnknownColumns: the batch has other columns.
            NotLevels: a column of text meets numbers, or a level is a fraction.
        """
        found = self._matched(table, estimator)
        blocks = {
            block: merged_block(columns, [found[column.name] for column in columns])
            for block, columns in self.blocks.items()
        }
        return dataclasses.replace(self, blocks=blocks)

    def encode(
        self, table: Table, unseen: str = "missing", *, estimator: str = "Classifier"
    ) -> dict[str, np.ndarray]:
        """Return the cells of each block as one array of shape (row, feature).

        "numbers" (origin subtracted), "counts" and "binary" are float64 with NaN for missing cells;
        "levels" are int64 codes with -1 for them. Arrays may be views of the user's: never write.

        Args:
            table: rows of the same columns; in a frame some may be absent, which means missing.
            unseen: a level that fitting did not see is "missing" (with a warning) or an "error".
            estimator: named in the error about a wrong number of columns.

        Raises:
            UnknownColumns: other columns than at fit.
            NotNumeric, NotBinary, NotCounts: a column no longer suits its block.
            UnseenLevelError: as said by `unseen`.
        """
        if unseen not in ("missing", "error"):
            raise InvalidArgument.not_one_of("unseen", unseen, ("missing", "error"))
        found = self._matched(table, estimator)
        whole = len(table.columns) == len(self.names)
        matrix = table.matrix if whole else None
        position = {name: i for i, name in enumerate(self.names)}
        return {
            block: encoded_block(
                columns,
                [found[column.name] for column in columns],
                _slice(matrix, [position[column.name] for column in columns]),
                n_rows=table.n_rows,
                unseen=unseen,
            )
            for block, columns in self.blocks.items()
        }

    def decode(self, encoded: Mapping[str, np.ndarray], n_rows: int) -> object:
        """Return encoded rows as a frame of the fitted kind: origins added back, codes to levels.

        Args:
            encoded: block name to array of shape (row, feature), as `encode` returns.
            n_rows: how many rows these are.
        """
        values: dict[Name, np.ndarray] = {}
        declared: dict[Name, tuple] = {}
        for block, columns in self.blocks.items():
            for j, column in enumerate(columns):
                values[column.name] = decoded_cells(column, encoded[block][:n_rows, j])
                if column.declared:
                    declared[column.name] = column.levels
        ordered = {name: values[name] for name in self.names if name in values}
        return build_frame(ordered, self.container, declared=declared)

    def origin(self, block: str) -> Float[np.ndarray, " feature"]:
        """Return what encoding subtracts from the columns of a block, each in its own unit."""
        return np.nan_to_num(
            np.array([column.origin for column in self.blocks[block]], dtype=float)
        )

    def n_levels(self, block: str) -> tuple[int, ...]:
        """Return the number of levels of each column of a block of levels, () for other blocks."""
        return tuple(len(c.levels) for c in self.blocks[block] if c.kind == "levels")

    def level_index(self, later: "Schema", block: str) -> Int[np.ndarray, " level"]:
        """Return where the levels of a block, columns side by side, stand in a merged schema."""
        old, new = self.n_levels(block), later.n_levels(block)
        starts = np.cumsum((0, *new))[: len(old)]
        return np.concatenate(
            [np.empty(0, np.int64), *(s + np.arange(n) for s, n in zip(starts, old, strict=True))]
        )

    def _matched(self, table: Table, estimator: str) -> dict[Name, TableColumn | None]:
        columns = matched(self.names, self.container, table, estimator)
        return dict(zip(self.names, columns, strict=True))


def _slice(matrix: np.ndarray | None, positions: list[int]) -> np.ndarray | None:
    """Return columns of a matrix, neighbours as a view; None without a matrix."""
    if matrix is None:
        return None
    if positions == list(range(positions[0], positions[0] + len(positions))):
        return matrix[:, positions[0] : positions[0] + len(positions)]
    return matrix[:, positions]
