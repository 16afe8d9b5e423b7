"""Schema of sparse tables: no Python object per column, no dense copy of the rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
from jaxtyping import Int
from scipy.sparse import coo_array, csr_array, csr_matrix

from bayesgen.errors.data import not_binary, sparse_refused, unknown_columns
from bayesgen.schema.readings import Binary, BlockSpec, Counts, Numbers, PowerTransformed, Reading
from bayesgen.table import Names, PositionNames, Table, check_counts
from bayesgen.table.columns import OnDemand
from bayesgen.typing import Encoded

READ: Mapping[str, type[Counts | Binary | Numbers]] = {
    "counts": Counts,
    "binary": Binary,
    "numbers": Numbers,
}
"""Kinds of blocks that read sparse rows, whose columns are not centred and have no levels."""

Columns = Sequence[Reading]
"""Columns of a block: a tuple, or a sequence that makes them on demand."""


@dataclass(frozen=True)
class NumericColumns(OnDemand[Reading]):
    """Columns without anything to learn: counts, binary values or numbers of a sparse table."""

    names: Names
    kind: str

    def __len__(self) -> int:
        return len(self.names)

    def entry(self, position: int) -> Reading:
        """Return one column."""
        return READ[self.kind](self.names[position])


def learned_sparse(table: Table, blocks: Mapping[str, BlockSpec]) -> dict[str, Columns]:
    """Return the columns of each block of a sparse table.

    Raises:
        InvalidData: a block names a column that the table has not; a block reads something other
            than counts, binary values or numbers.
    """
    for spec in blocks.values():
        if spec.kind not in READ or spec.centred:
            raise sparse_refused()
        names = () if isinstance(spec.names, PositionNames) else spec.names
        unknown = [name for name in names if name not in table.names]
        if unknown:
            raise unknown_columns(unknown, table.names)
    return {block: NumericColumns(spec.names, spec.kind) for block, spec in blocks.items()}


def encoded_sparse(
    table: Table, names: Names, blocks: Mapping[str, Columns]
) -> dict[str, csr_array]:
    """Return the cells of each block in compressed row format, numbers unchanged.

    Raises:
        InvalidData: a column does not suit its block; a block was fitted to something other than
            numbers.
    """
    out, cells = {}, cast(csr_array, table.matrix)
    for block, columns in blocks.items():
        kind = columns[0].kind
        if kind not in READ or _has_levels(columns) or _is_moved(columns):
            raise sparse_refused()
        index = positions(names, columns)
        matrix = cells if index is None else cells[:, index]
        own = names if index is None else [column.name for column in columns]
        if kind == "counts":
            check_counts(own, matrix)
        elif kind == "binary":
            _check_answers(own, matrix)
        out[block] = matrix
    return out


def decoded_sparse(
    encoded: Encoded, names: Names, blocks: Mapping[str, Columns], container: str, n_rows: int
) -> object:
    """Return encoded rows as one sparse matrix; columns of no block are 0."""
    parts = []
    for block, columns in blocks.items():
        cells = coo_array(encoded[block][:n_rows])
        index = positions(names, columns)
        column = cells.col if index is None else index[cells.col]
        parts.append((cells.data, cells.row, column))
    data, row, column = (np.concatenate(part) for part in zip(*parts, strict=True))
    whole = csr_array(coo_array((data, (row, column)), shape=(n_rows, len(names))))
    return csr_matrix(whole) if container == "csr_matrix" else whole


def positions(names: Names, columns: Columns) -> Int[np.ndarray, " feature"] | None:
    """Return the positions of a block's columns in the table; None if it has all of them."""
    if isinstance(columns, NumericColumns) and (columns.names is names or columns.names == names):
        return None
    place = {name: i for i, name in enumerate(names)}
    index = np.array([place[column.name] for column in columns])
    whole = len(index) == len(names) and bool((index == np.arange(len(names))).all())
    return None if whole else index


def _has_levels(columns: Columns) -> bool:
    if isinstance(columns, NumericColumns):
        return False
    return any(column.levels and set(column.levels) != {0, 1} for column in columns)


def _is_moved(columns: Columns) -> bool:
    """Return whether encoding changes a 0."""
    if isinstance(columns, NumericColumns):
        return False
    return any(isinstance(column, PowerTransformed) or column.origin for column in columns)


def _check_answers(names: Names, matrix: csr_array) -> None:
    cells = matrix.data
    strange = ~((cells == 0) | (cells == 1) | (cells != cells))
    if strange.any():
        at = int(strange.argmax())
        raise not_binary(names[int(matrix.indices[at])], float(cells[at]))
