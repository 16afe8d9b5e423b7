"""Reading of rows: any dataframe or array as a `Table`, and texts."""

import dataclasses
import os
from collections.abc import Collection, Hashable, Iterable, Mapping
from typing import Any, cast

import narwhals.stable.v2 as nw
import numpy as np
from narwhals import Series
from narwhals.exceptions import DuplicateError

from bayesgen.errors import InvalidData
from bayesgen.errors.data import (
    TABLE,
    complex_array,
    date_column,
    duplicate_names,
    nested_column,
    no_columns_in_table,
    no_rows_in_table,
    not_a_table,
    sparse_refused,
)
from bayesgen.table.arrays import (
    array_column,
    as_array,
    boolean_column,
    read_array,
)
from bayesgen.table.columns import Name, Table, TableColumn, checked_columns, missing_column

RUNS = ("toPandas", "collect", "compute", "df")
"""What runs a query: of Spark, of polars, of Dask, of DuckDB."""


def read_table(
    X: object, *, only: Collection[object] | None = None, skip: Collection[Name] = ()
) -> Table:
    """Return the columns of a dataframe or an array as numbers and levels.

    Numbers and Decimals become numbers; booleans, text, pandas Categorical, polars Enum and Arrow
    dictionaries become levels. Columns of objects are numbers, booleans or text, whichever all of
    their values are. Blanks before and after text are no part of it, unless its dtype declares the
    levels. None, NaN, pandas NA, polars null and text of blanks alone are missing; a column without
    an observed cell is a number column, unless its dtype says otherwise.

    Args:
        X: shape (row, feature). A pandas or polars DataFrame, a pyarrow Table or RecordBatch, any
            other eager frame that narwhals knows, whatever exports an Arrow stream, a NumPy array
            (columns are named x0, x1, ...), lists of rows, or a dict of single values, which is
            one row, or a list of such dicts.
        only: names, or positions, of the columns to read; None: all. Others may hold anything, and
            come back as numbers that are all missing.
        skip: names of columns not to read.

    Returns:
        The table. A float64 array is not copied: treat the values as read-only.

    Raises:
        InvalidData: X is sparse, lazy, or no table at all; X has no rows, no columns, not two axes,
            or two columns of one name; infinite or complex numbers, or magnitudes beyond 1e150;
            dates, nested values, mixed types, text that NumPy made of numbers.

    Examples:
        >>> import numpy as np
        >>> table = read_table(np.array([[1.0, 2.0], [3.0, np.nan]]))
        >>> table.names, table.columns[1].kind, table.columns[1].values
        (('x0', 'x1'), 'number', array([ 2., nan]))
    """
    require_container(X)
    rows = from_dicts(X)
    table = _read(rows, only, skip)
    if not table.columns:
        raise no_columns_in_table(table.n_rows)
    if not table.n_rows:
        raise no_rows_in_table(len(table.columns))
    if rows is not X:
        return dataclasses.replace(table, dicts="dict" if isinstance(X, Mapping) else "dicts")
    return table


def require_container(X: object) -> str:
    """Return "frame", "sparse" or "array", whichever X is or may become; refuse other things.

    Raises:
        InvalidData: a query that has not run, the path of a file or a dict of columns, each with
            what makes a table of it; one column alone.
    """
    if isinstance(X, np.ndarray) or hasattr(X, "tocsr"):  # some sparse ones are dicts
        if not isinstance(X, np.ndarray) and getattr(X, "dtype", np.dtype(float)).kind == "c":
            raise complex_array("scipy.sparse")
        return "array" if isinstance(X, np.ndarray) else "sparse"
    if isinstance(X, str | os.PathLike):
        parquet = str(X).endswith((".parquet", ".pq"))
        raise InvalidData(
            "X is the path {path:path}; the rows themselves are needed.",
            "Read them first: pass pandas.{reader}({path:path}) without the column of the labels, "
            "or, if they exceed memory, call fit(path, y='column') and predict_proba(path).",
            path=X,
            reader="read_parquet" if parquet else "read_csv",
        )
    if isinstance(X, Mapping) and not all(map(_is_single, X.values())):
        raise InvalidData("X is a dict of columns; a table is needed.", "Pass pandas.DataFrame(X).")
    if _are_dicts(X):
        return "frame"
    try:
        frame = nw.from_native(X, allow_series=True, pass_through=True)
    except DuplicateError:
        return "frame"
    if isinstance(frame, nw.Series):
        raise _one_column(X)
    runs = [method for method in RUNS if hasattr(X, method)]
    if isinstance(frame, nw.LazyFrame) and runs:
        raise InvalidData(
            "X is a {found}, a query that has not been run; its rows are needed.",
            "Pass X.{method}(), or, if they exceed memory, call fit(X, y='column') and "
            "predict_proba(X).",
            found=type(X).__name__,
            method=runs[0],
        )
    return "frame" if isinstance(frame, nw.DataFrame) or hasattr(X, "to_struct_array") else "array"


def _one_column(X: object) -> InvalidData:
    """Return the error about one column, or a row of a pandas DataFrame, which is a Series too."""
    what, cure = "a single column", "pyarrow.table({'x': X})"
    if hasattr(X, "to_frame"):
        cure = "X.to_frame()"
    if hasattr(X, "iloc"):
        what = "one column or one row"
        cure = "X.to_frame() if it is a column, X.to_frame().T if it is a row"
    return InvalidData(
        "Expected 2D array, got 1D array instead: X is a {kind}, {what}; a table is needed.",
        "Reshape your data: pass {cure}.",
        kind=type(X).__name__,
        what=what,
        cure=cure,
    )


def from_dicts(X: object) -> object:
    """Return the frame of rows that are dicts by column, and anything else as it is.

    Args:
        X: a dict of single values, which is one row, or a list of such; a column that a row omits
            is missing there.

    Examples:
        >>> from_dicts([{"age": 31, "sex": "male"}, {"sex": "female"}])
            age     sex
        0  31.0    male
        1   NaN  female
    """
    if not _are_dicts(X):
        return X
    import pandas as pd

    return pd.DataFrame([X] if isinstance(X, Mapping) else list(cast(Iterable, X)))


def _are_dicts(X: object) -> bool:
    """Return whether these are rows by column: a dict, or a list of nothing but dicts."""
    if isinstance(X, list | tuple):
        return len(X) > 0 and all(isinstance(row, Mapping) for row in X)
    return isinstance(X, Mapping) and not hasattr(X, "tocsr")


def _is_single(value: object) -> bool:
    """Return whether a value of a dict is that of one row, and not those of a column."""
    if isinstance(value, str | bytes) or not hasattr(value, "__len__"):
        return True
    return isinstance(value, np.ndarray) and value.ndim == 0


def is_frame(X: object) -> bool:
    """Return whether X is an eager dataframe: a table whose columns have names."""
    if isinstance(X, np.ndarray):
        return False
    try:
        frame = nw.from_native(X, eager_only=True, pass_through=True)
    except DuplicateError:
        return True
    return isinstance(frame, nw.DataFrame) or hasattr(X, "to_struct_array")


def _read(X: object, only: Collection[object] | None, skip: Collection[Name]) -> Table:
    if isinstance(X, np.ndarray):
        names = tuple(f"x{i}" for i in range(X.shape[1] if X.ndim == 2 else 0))
        return read_array(X, _unread(names, only, skip))
    try:
        frame = nw.from_native(X, eager_only=True, pass_through=True)
    except DuplicateError:
        _names(getattr(X, "column_names", getattr(X, "columns", ())))
        raise
    if isinstance(frame, nw.DataFrame):
        return _read_frame(frame, only, skip)
    if hasattr(X, "tocsr"):
        raise sparse_refused()
    if hasattr(X, "__arrow_c_stream__") or hasattr(X, "to_struct_array"):
        return _read(_arrow_table(X), only, skip)
    return _read(as_array(X), only, skip)


def _unread(
    names: tuple[Name, ...], only: Collection[object] | None, skip: Collection[Name]
) -> Collection[Name]:
    """Return the names of the columns that are not read."""
    if only is None:
        return skip
    read = {name for i, name in enumerate(names) if name in only or (i in only and i not in names)}
    return {*names} - read | {*skip}


def _arrow_table(X: object) -> object:
    import pyarrow as pa

    try:
        return pa.table(X)
    except (TypeError, ValueError, pa.ArrowException):  # an Arrow array, not a table
        raise not_a_table(X) from None


# -- frames, through narwhals: level codes come from the engine, not from loops --------------------


def _read_frame(
    frame: nw.DataFrame, only: Collection[object] | None, skip: Collection[Name]
) -> Table:
    """Return the table of a frame; float64 columns without nulls are not copied."""
    names = _names(frame.columns)
    unread = _unread(names, only, skip)
    found = [
        missing_column(name, len(frame)) if name in unread else _frame_column(name, series)
        for name, series in zip(names, frame.iter_columns(), strict=True)
    ]
    others = {nw.Implementation.POLARS: "polars", nw.Implementation.PYARROW: "pyarrow"}
    container = others.get(frame.implementation, "pandas")
    matrix = _matrix(frame, found)
    return Table(checked_columns(found), len(frame), container, matrix)


def _names(names: Iterable[Hashable]) -> tuple[Name, ...]:
    """Return column names as text and Python integers.

    Raises:
        InvalidData: a name is something else; a name occurs twice.
    """
    checked: list[Name] = []
    for name in names:
        name = name.item() if isinstance(name, np.generic) else name
        if not isinstance(name, str | int):
            raise InvalidData(
                "column {column!r} is named by a {kind}; text and integers are allowed.",
                "Pass X.set_axis([str(c) for c in X.columns], axis=1).",
                column=name,
                kind=type(name).__name__,
            )
        checked.append(name)
    if len(set(checked)) < len(checked):
        raise duplicate_names(checked)
    return tuple(checked)


def _matrix(frame: nw.DataFrame, columns: list[TableColumn]) -> np.ndarray | None:
    # A pandas frame made of an array in row order: far faster to read as that array.
    strided = all(c.kind == "number" and not c.values.flags.c_contiguous for c in columns)
    if not (strided and columns and frame.implementation is nw.Implementation.PANDAS):
        return None
    matrix = frame.to_native().to_numpy()
    return matrix if np.shares_memory(matrix, columns[0].values) else None


def _rises(series: Series) -> bool:
    """Return whether integers rise from every row to the next, none of them missing."""
    values = np.asarray(series.cast(nw.Float64).to_numpy(), dtype=np.float64)
    return bool((np.diff(values) > 0).all())


MOST_FALL = 20
"""Rows among which most columns fall."""


def _frame_column(name: Name, series: Series) -> TableColumn:
    dtype = nw.Object() if holds_objects(series) else series.dtype
    if dtype == nw.Boolean:
        values = np.asarray(series.cast(nw.Float64).to_numpy(), dtype=np.float64)
        return boolean_column(name, np.where(np.isnan(values), -1, values))
    if dtype.is_integer() or dtype.is_float():
        counts = dtype.is_integer() and _rises(series.head(MOST_FALL)) and _rises(series)
        return TableColumn(name, "number", series.to_numpy(), counts=counts)
    if dtype.is_numeric():
        return TableColumn(name, "number", series.cast(nw.Float64).to_numpy())
    if dtype == nw.String:
        return arrow_column(name, series, declared=False)
    if dtype in (nw.Categorical, nw.Enum):
        return _category_column(name, series)
    if dtype in (nw.Object, nw.Unknown):
        return array_column(name, np.asarray(series.to_numpy()))
    if dtype.is_temporal():
        kinds = {nw.Duration: "durations", nw.Time: "times"}
        raise date_column(name, kinds.get(dtype.base_type(), "dates"))
    raise nested_column(name, str(dtype))


def holds_objects(series: Series) -> bool:
    """Return whether a column holds Python objects."""
    # narwhals calls a pandas column of objects text even where it holds nothing but None.
    return getattr(series.to_native(), "dtype", None) == np.dtype(object)


def _category_column(name: Name, series: Series) -> TableColumn:
    native = series.to_native()
    if type(native.dtype if hasattr(native, "dtype") else None).__name__ == "CategoricalDtype":
        codes, levels = native.cat.codes.to_numpy(), native.cat.categories.tolist()
        return TableColumn(name, "level", codes, tuple(levels), declared=True)
    # The categories of a polars Categorical are those of the whole process: they declare nothing.
    polars = series.implementation is nw.Implementation.POLARS
    return arrow_column(name, series, declared=not polars or series.dtype == nw.Enum)


def arrow_column(name: Name, series: Series, *, declared: bool) -> TableColumn:
    """Return a column of levels as codes of the distinct ones, which Arrow finds."""
    import pyarrow as pa

    values = series.to_arrow()
    if isinstance(values, pa.ChunkedArray):
        values = values.unify_dictionaries().combine_chunks()
    if not pa.types.is_dictionary(values.type):
        values = values.dictionary_encode()
    held = values.type.value_type
    # intervals of pandas are an extension of a struct
    if pa.types.is_nested(getattr(held, "storage_type", held)):
        raise nested_column(name, str(held))
    codes = values.indices.cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False)
    return TableColumn(name, "level", codes, tuple(values.dictionary.to_pylist()), declared)


# -- texts -----------------------------------------------------------------------------------------


def read_texts(X: object) -> list[str] | None:
    """Return the texts of a list, an array or a Series of them, or None for anything else.

    Raises:
        InvalidData: one text alone, texts among other things, or missing ones.

    Examples:
        >>> read_texts(["king food", "proof"])
        ['king food', 'proof']
        >>> read_texts([[1, 0], [0, 2]])
    """
    if isinstance(X, str | bytes):
        raise InvalidData(
            "X is one text, {start!r}; a list of texts is needed.", "Pass [X].", start=X[:30]
        )
    found = _entries(X)
    if found is None or not any(isinstance(text, str) for text in found):
        return None
    import pandas as pd

    # NA is neither equal to itself nor not
    missing = [text is None or text is pd.NA or text != text for text in found]
    if any(missing):
        raise InvalidData(
            "X holds no text (None, NaN or NA) in {count:,} of {n_rows:rows}; every row needs one, "
            "even if it is empty.",
            'Pass pandas.Series(X).fillna(""), or leave these rows out.',
            count=sum(missing),
            n_rows=len(found),
        )
    strange = [type(text).__name__ for text in found if not isinstance(text, str)]
    if strange:
        raise InvalidData(
            "X mixes texts with values of type {found}, in {count:,} of {n_rows:rows}; only "
            "texts or only counts are allowed.",
            "Pass [str(text) for text in X].",
            found=strange[0],
            count=len(strange),
            n_rows=len(found),
        )
    return [str(text) for text in found]


def text_column(X: object) -> str | None:
    """Return the name of the only column of a dataframe, if it holds texts."""
    try:
        frame = nw.from_native(X, eager_only=True, pass_through=True)
    except DuplicateError:
        return None
    if not isinstance(frame, nw.DataFrame) or len(frame.columns) != 1:
        return None
    name, (series,) = frame.columns[0], frame.iter_columns()
    if not isinstance(name, str) or series.dtype not in (nw.String, nw.Object):
        return None
    cells = series.to_list()
    return name if any(isinstance(cell, str) for cell in cells) else None


def cells_of(X: object, name: str) -> list:
    """Return the cells of a column of a dataframe.

    Raises:
        InvalidData: it has no such column.
    """
    frame = nw.from_native(cast(Any, X), eager_only=True)
    if name not in frame.columns:
        raise InvalidData(
            "{table} has no column {name!r}, which held the texts of the fit; it has "
            "{existing:listed 20}.",
            "Name it so.",
            table=TABLE,
            name=name,
            existing=list(frame.columns),
        )
    return frame[name].to_list()


def _entries(X: object) -> list | None:
    """Return the entries of something with one axis."""
    if isinstance(X, list | tuple):
        return list(X)
    if isinstance(X, np.ndarray):
        return X.tolist() if X.ndim == 1 and X.dtype.kind in "OUT" else None
    if hasattr(type(X), "columns"):  # a table, whose names have not been checked yet
        return None
    series = nw.from_native(X, eager_only=True, allow_series=True, pass_through=True)
    return series.to_list() if isinstance(series, nw.Series) else None
