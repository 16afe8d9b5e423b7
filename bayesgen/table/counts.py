"""Tables of counts: checked, and read as yes or no."""

from collections.abc import Sequence

import numpy as np
from scipy.sparse import csr_array

from bayesgen.errors import NotCounts
from bayesgen.table.columns import Name, Table, TableColumn, matrix_table
from bayesgen.table.sparse import SparseTable, sparse_table
from bayesgen.typing import Block


def check_counts(names: Sequence[Name], cells: Block) -> None:
    """Refuse rows with a cell that is negative or not whole, naming its column; NaN is skipped.

    Raises:
        NotCounts: with the first such column and its value.
    """
    sparse = isinstance(cells, csr_array)
    values = cells.data if sparse else cells
    if not values.size or _are_counts(values):
        return
    wrong = values < 0
    if not wrong.any():
        wrong = (values != np.floor(values)) & ~np.isnan(values)
    where = np.argwhere(wrong)
    if not len(where):
        return
    column = cells.indices[where[:, 0]] if sparse else where[:, 1]
    first = where[column.argmin()]
    raise NotCounts.number(names[int(column.min())], float(values[tuple(first)]))


def _are_counts(values: np.ndarray) -> bool:
    """Say without looking cell by cell whether these are counts, where that is possible."""
    if values.dtype.kind in "ub":
        return True
    return values.dtype.kind == "i" and bool(values.min() >= 0)


def presence(table: Table) -> Table:
    """Return 1 where a table of counts has one above 0, else 0; missing cells stay so.

    Columns of levels are left as they are.

    Raises:
        NotCounts: a number is negative or not whole.
    """
    if table.matrix is not None:
        check_counts(table.names, table.matrix)
    if isinstance(table, SparseTable):
        m = table.cells
        there = csr_array((_there(m.data), m.indices, m.indptr), m.shape)
        return sparse_table(there, table.container, table.names)
    if table.matrix is not None:
        return matrix_table(_there(table.matrix), table.names, table.container)
    columns = tuple(_present(column) for column in table.columns)
    return Table(columns, table.n_rows, table.container)


def _present(column: TableColumn) -> TableColumn:
    if column.kind != "number":
        return column
    check_counts((column.name,), column.values[:, None])
    return TableColumn(column.name, "number", _there(column.values))


def _there(cells: np.ndarray) -> np.ndarray:
    if cells.dtype.kind != "f":
        return (cells > 0).astype(np.int64)
    return np.where(np.isnan(cells), cells, cells > 0)
