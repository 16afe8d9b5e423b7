"""One door for everything a person may pass as X."""

import os
from collections.abc import Mapping

import narwhals.stable.v2 as nw
import numpy as np
from narwhals.exceptions import DuplicateError

from bayesgen.errors import InvalidTable, InvalidValues, UnsupportedTable
from bayesgen.table.arrays import as_array, read_array
from bayesgen.table.columns import Table, Unread, none, text_names
from bayesgen.table.frames import read_frame

RUNS = ("toPandas", "collect", "compute", "df")
"""What runs a query: of Spark, of polars, of Dask, of DuckDB."""


def read_table(X: object, unread: Unread = none) -> Table:
    """Return the columns of a dataframe or an array as numbers and levels.

    Numbers and Decimals become numbers; booleans, text, pandas Categorical, polars Enum and Arrow
    dictionaries become levels. Columns of objects are numbers, booleans or text, whichever all of
    their values are. None, NaN, pandas NA and polars null are missing; a column without an observed
    cell is a number column, unless its dtype says otherwise.

    Args:
        X: shape (row, feature). A pandas or polars DataFrame, a pyarrow Table or RecordBatch, any
            other eager frame that narwhals knows, whatever exports an Arrow stream, a NumPy array
            (columns are named x0, x1, ...), or lists of rows.
        unread: which columns need not be read: they may hold anything, and come back as numbers
            that are all missing.

    Returns:
        The table. A float64 array is not copied: treat the values as read-only.

    Raises:
        UnsupportedTable: X is sparse, lazy, or no table at all.
        InvalidTable: X has no rows, no columns, not two axes, or two columns of one name.
        InvalidValues: infinite or complex numbers, or magnitudes beyond 1e150.
        UnsupportedColumn: dates, nested values, mixed types, text that NumPy made of numbers.

    Examples:
        >>> import numpy as np
        >>> table = read_table(np.array([[1.0, 2.0], [3.0, np.nan]]))
        >>> table.names, table.columns[1].kind, table.columns[1].values
        (('x0', 'x1'), 'number', array([ 2., nan]))
    """
    require_container(X)
    table = read_array(X, unread) if isinstance(X, np.ndarray) else _read_other(X, unread)
    if not table.columns:
        raise InvalidTable.no_columns(table.n_rows)
    if not table.n_rows:
        raise InvalidTable.no_rows(len(table.columns))
    return table


def require_container(X: object) -> None:
    """Refuse what holds no rows, or holds them in a form that nothing here reads.

    Raises:
        UnsupportedTable: a query that has not run, the path of a file, a dict of columns or a list
            of dicts, each with what makes a table of it.
        InvalidTable: one column alone.
    """
    if isinstance(X, np.ndarray) or hasattr(X, "tocsr"):  # some sparse ones are dicts
        if not isinstance(X, np.ndarray) and getattr(X, "dtype", np.dtype(float)).kind == "c":
            raise InvalidValues.complex_array("scipy.sparse")
        return
    if isinstance(X, str | os.PathLike):
        raise UnsupportedTable.path(X)
    if isinstance(X, Mapping):
        raise UnsupportedTable.records(X)
    if isinstance(X, list | tuple) and X and all(isinstance(row, Mapping) for row in X):
        raise UnsupportedTable.records(X)
    try:
        frame = nw.from_native(X, allow_series=True, pass_through=True)
    except DuplicateError:
        return
    if isinstance(frame, nw.Series):
        raise InvalidTable.series(X)
    runs = [method for method in RUNS if hasattr(X, method)]
    if isinstance(frame, nw.LazyFrame) and runs:
        raise UnsupportedTable.lazy(X, runs[0])


def require_array(X: object) -> None:
    """Refuse numbers that are complex or have not two axes, and what becomes no array.

    Raises:
        UnsupportedTable, InvalidTable, InvalidValues: which of these.
    """
    if hasattr(X, "tocsr"):
        raise UnsupportedTable.sparse()
    values = X if isinstance(X, np.ndarray) else as_array(X)
    if values.ndim != 2:
        raise InvalidTable.not_two_dimensional(values.ndim)
    if values.dtype.kind == "c":
        raise InvalidValues.complex_array()


def is_frame(X: object) -> bool:
    """Say whether X is an eager dataframe: a table whose columns have names."""
    if isinstance(X, np.ndarray):
        return False
    try:
        frame = nw.from_native(X, eager_only=True, pass_through=True)
    except DuplicateError:
        return True
    return isinstance(frame, nw.DataFrame) or hasattr(X, "to_struct_array")


def _read_other(X: object, unread: Unread) -> Table:
    try:
        frame = nw.from_native(X, eager_only=True, pass_through=True)
    except DuplicateError:
        text_names(getattr(X, "column_names", getattr(X, "columns", ())))
        raise
    if isinstance(frame, nw.DataFrame):
        return read_frame(frame, unread)
    if hasattr(X, "tocsr"):
        raise UnsupportedTable.sparse()
    if hasattr(X, "__arrow_c_stream__") or hasattr(X, "to_struct_array"):
        return _read_other(_arrow_table(X), unread)
    return read_array(as_array(X), unread)


def _arrow_table(X: object) -> object:
    import pyarrow as pa

    try:
        return pa.table(X)
    except (TypeError, ValueError, pa.ArrowException):  # an Arrow array, not a table
        raise UnsupportedTable.of_type(X) from None
