"""Sparse matrices as tables: absent cells are 0, and columns are identified by position.

A matrix of word counts may have a million columns; none becomes a Python object until it is read.
"""

from dataclasses import dataclass
from typing import cast

import numpy as np
from scipy.sparse import csr_array, csr_matrix, sparray, spmatrix

from bayesgen.errors import InvalidData
from bayesgen.errors.data import (
    infinite_column,
    no_columns_in_table,
    no_rows_in_table,
    not_two_dimensional,
    too_large_value,
)
from bayesgen.table.columns import LARGEST, Names, OnDemand, Table, matrix_table


@dataclass(frozen=True)
class PositionNames(OnDemand[str]):
    """The names x0, x1, ... of n columns, made on demand."""

    n: int

    def __len__(self) -> int:
        return self.n

    def entry(self, position: int) -> str:
        """Return one name."""
        return f"x{position}"

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self._position(name) is not None

    def index(self, value: str, start: int = 0, stop: int | None = None) -> int:
        """Return the position of a name."""
        found = self._position(value)
        if found is None or found not in range(self.n)[start:stop]:
            raise ValueError(f"{value!r} is not among x0 to x{self.n - 1}")
        return found

    def _position(self, name: str) -> int | None:
        digits = name[1:]
        found = int(digits) if digits.isascii() and digits.isdigit() else self.n
        return found if found < self.n and name == f"x{found}" else None


def read_sparse(X: sparray | spmatrix) -> Table:
    """Return the table of a sparse matrix or array of any format; compressed rows are not copied.

    Raises:
        InvalidData: no rows, no columns, or not two axes; infinite numbers, or magnitudes beyond
            1e150; cells that are not numbers.
    """
    matrix = csr_array(X)
    if matrix.ndim != 2:
        raise not_two_dimensional(matrix.ndim)
    if not matrix.shape[1]:
        raise no_columns_in_table(matrix.shape[0])
    if not matrix.shape[0]:
        raise no_rows_in_table(matrix.shape[1])
    # the input matrix caches the result
    if not (X if isinstance(X, csr_array | csr_matrix) else matrix).has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    _check_cells(matrix)
    if matrix.dtype.kind == "b":
        matrix = csr_array((matrix.data.view(np.int8), matrix.indices, matrix.indptr), matrix.shape)
    container = "csr_matrix" if isinstance(X, spmatrix) else "csr_array"
    return matrix_table(matrix, PositionNames(matrix.shape[1]), container)


def named(table: Table, names: Names) -> Table:
    """Return a sparse table under other names; a table of another kind keeps its own."""
    if not table.is_sparse:
        return table
    return matrix_table(cast(csr_array, table.matrix), names, table.container)


SPARSE = ("csr_array", "csr_matrix")
"""Containers of sparse tables."""


def _check_cells(matrix: csr_array) -> None:
    cells = matrix.data
    if cells.dtype.kind not in "biuf":
        raise InvalidData(
            "X is a sparse matrix of dtype {found}; numbers and booleans are allowed.",
            "Pass X.astype(float), or X.toarray() if it holds levels.",
            found=str(cells.dtype),
        )
    if cells.dtype.kind != "f" or not cells.size:
        return
    top = max(float(np.fmax.reduce(cells)), -float(np.fmin.reduce(cells)))
    if top > LARGEST:
        at = int(np.nanargmax(np.abs(cells)))
        name = f"x{matrix.indices[at]}"
        if np.isinf(cells[at]):
            same = matrix.indices == matrix.indices[at]
            raise infinite_column(name, int(np.isinf(cells[same]).sum()))
        raise too_large_value(name, float(cells[at]))
