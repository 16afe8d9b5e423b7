"""Writing of dataframes: from columns of values, with cells filled in, or joined by rows."""

from collections.abc import Mapping, Sequence
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from bayesgen.table.columns import Name, Names, Table
from bayesgen.table.reading import from_dicts

BOOLEANS = (False, True)
Cells = Mapping[Name, tuple[np.ndarray, np.ndarray]]
"""Column -> which cells are missing, (row,), and the values of all cells, (row,): float64, or
objects."""


def build_frame(
    columns: Mapping[Name, np.ndarray],
    container: str,
    *,
    declared: Mapping[Name, tuple] | None = None,
) -> object:
    """Return a frame, or an array, of columns of Python values.

    Args:
        columns: name to values, shape (row,): float64 with NaN for missing cells, or objects with
            None for them.
        container: "pandas", "polars", "pyarrow" or "numpy".
        declared: the levels of those columns whose dtype shall declare them; (False, True) gives
            booleans, others a pandas Categorical, a polars Enum or an Arrow dictionary.

    Returns:
        A DataFrame, a pyarrow Table, or an array of shape (row, feature): float64 if all values are
        numbers, bool if all are booleans without missing values, else object.
    """
    declared = declared or {}
    if container == "numpy":
        return _array(columns, declared)
    column = COLUMNS[container]
    return _frame({n: column(v, declared.get(n)) for n, v in columns.items()}, container)


def _frame(columns: Mapping[Name, Any], container: str, index: Any = None) -> object:
    """Return the frame of columns of one kind of container; index: of a pandas DataFrame."""
    import pandas as pd
    import pyarrow as pa

    if container == "pandas":
        return pd.DataFrame(columns, index=index)
    if container == "pyarrow":
        return pa.table(columns)
    import polars as pl

    return pl.DataFrame({str(name): column for name, column in columns.items()})


def _pandas_column(values: np.ndarray, levels: tuple | None) -> object:
    import pandas as pd

    if values.dtype != object:
        return values
    if levels == BOOLEANS:
        return values.astype(bool) if _is_full(values) else pd.array(values, dtype="boolean")
    if levels is not None:
        return pd.Categorical(values, categories=list(levels))
    return pd.array(values.tolist())


def _polars_column(values: np.ndarray, levels: tuple | None) -> object:
    import polars as pl

    if values.dtype != object:
        return pl.Series(values)
    if levels == BOOLEANS:
        return pl.Series(values.tolist(), dtype=pl.Boolean)
    text = levels is not None and all(isinstance(level, str) for level in levels)
    return pl.Series(values.tolist(), dtype=pl.Enum(levels) if text else None)


def _arrow_column(values: np.ndarray, levels: tuple | None) -> object:
    import pyarrow as pa

    if values.dtype != object:
        return pa.array(values)
    if levels is None or levels == BOOLEANS:
        return pa.array(values.tolist(), type=pa.bool_() if levels else None)
    code = {level: i for i, level in enumerate(levels)}
    codes = pa.array([code.get(value) for value in values], type=pa.int32())
    return pa.DictionaryArray.from_arrays(codes, pa.array(list(levels)))


COLUMNS = {"pandas": _pandas_column, "polars": _polars_column, "pyarrow": _arrow_column}
"""Container -> what makes a column of it, from its values and the levels that its dtype shall
declare, or None."""


def _array(columns: Mapping[Name, np.ndarray], declared: Mapping[Name, tuple]) -> np.ndarray:
    stacked = np.column_stack(list(columns.values()))
    if stacked.dtype != object:
        return stacked
    if len(declared) == len(columns) and set(declared.values()) == {BOOLEANS} and _is_full(stacked):
        return stacked.astype(bool)
    numbers = all(isinstance(v, int | float) and not isinstance(v, bool) for v in stacked.flat)
    return stacked.astype(np.float64) if numbers else stacked


def _is_full(values: np.ndarray) -> bool:
    return all(value is not None for value in values.flat)


def as_frame(table: Table) -> object:
    """Return the rows of a table as a frame, or an array, that is read as this table."""
    if table.matrix is not None and table.container == "numpy":
        return table.matrix
    columns: dict[Name, np.ndarray] = {}
    for column in table.columns:
        values = np.array([*column.levels, None], dtype=object)
        columns[column.name] = column.values if column.kind == "number" else values[column.values]
    declared = {column.name: column.levels for column in table.columns if column.declared}
    return build_frame(columns, table.container, declared=declared)


# -- missing cells filled in -----------------------------------------------------------------------


def fill_table(X: object, container: str, names: Names, cells: Cells, declared: Mapping) -> object:
    """Return a copy of a table whose missing cells are filled.

    Columns without a missing value stay as they are. Others keep their type where it can hold what
    is filled in; whole numbers become floats where a number is not whole.

    Args:
        X: DataFrame (pandas, polars, pyarrow), array, or rows as dicts, of which a pandas DataFrame
            is returned.
        container: type of X: "pandas", "polars", "pyarrow" or "numpy".
        names: of the columns that the result has, in order; one that X has not is added.
        cells: of columns of X, by name; of an array by position "x0", "x1", ...
        declared: column -> levels, of columns to be added that declare them.
    """
    if container == "numpy":
        out = np.array(X)
        for j, name in enumerate(names):
            missing, values = cells.get(name, (slice(0), np.empty(0)))
            out[missing, j] = values[missing]
        return out
    frame: Any = from_dicts(X)
    present = set(nw.from_native(frame, eager_only=True).columns)
    columns = {}
    for name in names:
        if name not in present:
            columns[name] = COLUMNS[container](cells[name][1], declared.get(name))
            continue
        columns[name] = frame[name]
        if name in cells and cells[name][0].any():
            missing, values = cells[name]
            columns[name] = FILLED[container](frame[name], missing, values[missing])
    return _frame(columns, container, frame.index if container == "pandas" else None)


def _pandas_filled(column: Any, missing: np.ndarray, wanted: Any) -> object:
    import pandas as pd

    if pd.api.types.is_float_dtype(column.dtype):
        # levels that are whole numbers, and numbers in single precision
        wanted = pd.Series(wanted.astype(float)).astype(column.dtype).array
    elif wanted.dtype != object and pd.api.types.is_integer_dtype(column.dtype):
        whole = (wanted == np.floor(wanted)).all()
        wanted = wanted.astype(np.int64) if whole else wanted
        column = column if whole else column.astype("Float64")
    column = column.copy()
    column[missing] = wanted
    return column


def _polars_filled(column: Any, missing: np.ndarray, wanted: np.ndarray) -> object:
    import polars as pl

    values = pl.Series(wanted.tolist())
    if column.dtype == pl.Null:
        column = column.cast(values.dtype)
    elif column.dtype.is_integer() and (values != values.cast(pl.Int64)).any():
        column = column.cast(pl.Float64)
    return column.scatter(np.flatnonzero(missing), values.cast(column.dtype))


def _arrow_filled(column: Any, missing: np.ndarray, wanted: np.ndarray) -> object:
    import pyarrow as pa

    values, dtype = np.array(column.to_pylist(), dtype=object), column.type
    values[missing] = wanted
    if pa.types.is_dictionary(dtype):
        return pa.array(values.tolist()).dictionary_encode().cast(dtype)
    whole = all(value == int(value) for value in wanted) if pa.types.is_integer(dtype) else True
    if pa.types.is_null(dtype) or not whole:
        return pa.array(values.tolist())
    return pa.array(values.tolist(), type=dtype)


FILLED = {"pandas": _pandas_filled, "polars": _polars_filled, "pyarrow": _arrow_filled}
"""Container -> what fills a column of it: from the column, which cells are missing, and their
values."""


# -- rows below each other -------------------------------------------------------------------------


def concatenated(frames: Sequence[Any]) -> object:
    """Return the rows of frames of one kind, or of arrays, in their order.

    Columns that some frames lack are missing there, and types widen where they differ.
    """
    if len(frames) == 1:
        return frames[0]
    if isinstance(frames[0], np.ndarray):
        return np.concatenate(frames)
    tables = [nw.from_native(frame, eager_only=True) for frame in frames]
    if tables[0].implementation is nw.Implementation.PYARROW:
        import pyarrow as pa

        return pa.concat_tables(frames, promote_options="permissive")
    if tables[0].implementation is nw.Implementation.POLARS:
        import polars as pl

        return pl.concat(frames, how="diagonal_relaxed")
    whole = nw.concat(tables, how="diagonal").to_native()
    return whole.reset_index(drop=True) if hasattr(whole, "reset_index") else whole
