"""Everything a fit remembers about the columns of its table."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.sparse import issparse

from bayesgen.errors import InvalidArgument, UnknownColumns, warn
from bayesgen.schema.blocks import (
    decoded_cells,
    encoded_block,
    learned_block,
    merged_block,
    origins_of,
    power_transforms_of,
)
from bayesgen.schema.column_matching import check_number, matched
from bayesgen.schema.columns import BlockSpec, Columns, NumericColumns
from bayesgen.schema.power_transform import PowerTransforms
from bayesgen.schema.sparse import decoded_sparse, encoded_sparse, learned_sparse
from bayesgen.schema.suspects import suspicion
from bayesgen.table import SPARSE, Name, Names, SparseTable, Table, TableColumn, build_frame
from bayesgen.typing import Block, Encoded


@dataclass(frozen=True)
class Schema:
    """The columns of each block, and how their cells become arrays.

    blocks: block name to its columns, in the order of the encoded features.
    names: all features, in the order of the table.
    container: "pandas", "polars", "pyarrow", "numpy", "csr_array" or "csr_matrix": what the rows
        came in.
    """

    blocks: dict[str, Columns]
    names: Names
    container: str

    @classmethod
    def learn(cls, table: Table, blocks: Mapping[str, BlockSpec]) -> "Schema":
        """Return what a table teaches about the columns of blocks.

        Raises:
            UnknownColumns: a block names a column that the table has not.
            NotNumeric, NotLevels, NotBinary: a column does not suit its block.
            InvalidValues: numbers that vary by less than 1e-150.
            UnsupportedTable: a sparse table for blocks of numbers or levels.
        """
        if isinstance(table, SparseTable):
            return cls(learned_sparse(table, blocks), table.names, table.container)
        by_name = {column.name: column for column in table.columns}
        unknown = [name for spec in blocks.values() for name in spec.names if name not in by_name]
        if unknown:
            raise UnknownColumns.not_in_table(unknown, table.names)
        position = {name: i for i, name in enumerate(by_name)}
        learned: dict[str, Columns] = {
            block: learned_block(
                [by_name[name] for name in spec.names],
                spec,
                _slice(table.matrix, [position[name] for name in spec.names]),
            )
            for block, spec in blocks.items()
        }
        for columns in learned.values():
            for column in columns:
                found, first = by_name[column.name], position[column.name] == 0
                named = table.container != "numpy"
                told = suspicion(found, len(column.levels), named=named, first=first)
                if told is not None:
                    warn(told)
        return cls(learned, table.names, table.container)

    def merge(self, table: Table, *, estimator: str = "Classifier") -> "Schema":
        """Return the schema after one more batch: new levels at the end, first origins set.

        Raises:
            UnknownColumns: an array has another number of columns.
            NotLevels: a column of text meets numbers, or a level is a fraction.
        """
        if isinstance(table, SparseTable):
            check_number(self.names, table, estimator)
            return self
        found = self._matched(table, estimator)
        blocks = {
            block: columns
            if isinstance(columns, NumericColumns)
            else merged_block(columns, [found[column.name] for column in columns])
            for block, columns in self.blocks.items()
        }
        return dataclasses.replace(self, blocks=blocks)

    def encode(
        self, table: Table, unseen: str = "missing", *, estimator: str = "Classifier"
    ) -> dict[str, Block]:
        """Return the cells of each block as one array of shape (row, feature).

        "numbers" (origin subtracted), "counts" and "binary" are float64 with NaN for missing cells;
        "levels" are int64 codes with -1 for them. Those of a sparse table are csr_array of its own
        dtype, in which NaN is missing. Arrays may be views of the user's: never write.

        Args:
            table: rows of the same columns; those of a frame may stand in any order, and absent
                ones are missing (`check_columns` warns of them, and refuses others).
            unseen: a level that fitting did not see is "missing" (with a warning) or an "error".
            estimator: named in the error about a wrong number of columns.

        Raises:
            UnknownColumns: an array has another number of columns than at fit.
            NotNumeric, NotBinary, NotCounts: a column no longer suits its block.
            UnseenLevelError: as said by `unseen`.
        """
        if unseen not in ("missing", "error"):
            raise InvalidArgument.not_one_of("unseen", unseen, ("missing", "error"))
        if isinstance(table, SparseTable):
            check_number(self.names, table, estimator)
            return encoded_sparse(table, self.names, self.blocks)
        found = self._matched(table, estimator)
        matrix = table.matrix if tuple(found.values()) == tuple(table.columns) else None
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

    def decode(self, encoded: Encoded, n_rows: int) -> object:
        """Return encoded rows as a frame of the fitted kind: origins added back, codes to levels.

        Columns of no block are left out of a frame, and missing in an array.

        Args:
            encoded: block name to array of shape (row, feature), as `encode` returns.
            n_rows: how many rows these are.
        """
        if self.container in SPARSE:
            return decoded_sparse(encoded, self.names, self.blocks, self.container, n_rows)
        values: dict[Name, np.ndarray] = {}
        declared: dict[Name, tuple] = {}
        for block, columns in self.blocks.items():
            cells = encoded[block].toarray() if issparse(encoded[block]) else encoded[block]
            for j, column in enumerate(columns):
                values[column.name] = decoded_cells(column, cells[:n_rows, j])
                if column.declared:
                    declared[column.name] = column.levels
        if self.container == "numpy":
            values = dict.fromkeys(self.names, np.full(n_rows, np.nan)) | values
        ordered = {name: values[name] for name in self.names if name in values}
        return build_frame(ordered, self.container, declared=declared)

    def unread(self, names: Names) -> set[Name]:
        """Return which of some columns are known and belong to no block."""
        return set(names).intersection(self.names) - self.used()

    def used(self) -> set[Name]:
        """Return the columns that blocks read."""
        return {column.name for columns in self.blocks.values() for column in columns}

    def missing_cells(self, table: Table) -> dict[Name, tuple[Name, Bool[np.ndarray, " row"]]]:
        """Return, for each column that a block reads, its name in a table and its missing cells.

        All cells of an absent column are missing. A level that fitting did not see is no missing
        value.
        """
        out = {}
        for name, found in self._matched(table, "Classifier").items():
            if name not in self.used():
                continue
            if found is None:
                out[name] = name, np.ones(table.n_rows, dtype=bool)
            else:
                codes = found.kind == "level"
                out[name] = found.name, found.values < 0 if codes else np.isnan(found.values)
        return out

    def origin(self, block: str) -> Float[np.ndarray, " feature"]:
        """Return what encoding subtracts from the columns of a block, each in its own unit."""
        columns = self.blocks[block]
        if isinstance(columns, NumericColumns):
            return np.zeros(len(columns))
        return origins_of(columns)

    def power_transforms(self) -> dict[str, PowerTransforms]:
        """Return the power transforms of the blocks that have any."""
        found = {
            name: power_transforms_of(columns)
            for name, columns in self.blocks.items()
            if not isinstance(columns, NumericColumns)
        }
        return {
            name: power_transforms
            for name, power_transforms in found.items()
            if power_transforms is not None
        }

    def n_levels(self, block: str) -> tuple[int, ...]:
        """Return the number of levels of each column of a block of levels, () for other blocks."""
        columns = self.blocks[block]
        if isinstance(columns, NumericColumns):
            return ()
        return tuple(len(c.levels) for c in columns if c.kind == "levels")

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
