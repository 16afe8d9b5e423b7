"""Writing of dataframes: from columns of values, with cells filled in, or joined by rows."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

import narwhals.stable.v2 as nw
import numpy as np
from narwhals.typing import IntoDataFrame

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
    builders = {
        "pandas": _build_pandas,
        "polars": _build_polars,
        "pyarrow": _build_pyarrow,
        "numpy": _build_numpy,
    }
    return builders[container](columns, declared or {})


def _build_pandas(columns: Mapping[Name, np.ndarray], declared: Mapping[Name, tuple]) -> object:
    import pandas as pd

    def series(name: Name) -> object:
        values, levels = columns[name], declared.get(name)
        if values.dtype != object:
            return values
        if levels == BOOLEANS:
            return values.astype(bool) if _is_full(values) else pd.array(values, dtype="boolean")
        if levels is not None:
            return pd.Categorical(values, categories=list(levels))
        return pd.array(values.tolist())

    return pd.DataFrame({name: series(name) for name in columns})


def _build_polars(columns: Mapping[Name, np.ndarray], declared: Mapping[Name, tuple]) -> object:
    import polars as pl

    def series(name: Name) -> object:
        values, levels = columns[name], declared.get(name)
        if values.dtype != object:
            return pl.Series(str(name), values)
        if levels == BOOLEANS:
            return pl.Series(str(name), values.tolist(), dtype=pl.Boolean)
        text = levels is not None and all(isinstance(level, str) for level in levels)
        return pl.Series(str(name), values.tolist(), dtype=pl.Enum(levels) if text else None)

    return pl.DataFrame([series(name) for name in columns])


def _build_pyarrow(columns: Mapping[Name, np.ndarray], declared: Mapping[Name, tuple]) -> object:
    import pyarrow as pa

    def array(name: Name) -> object:
        values, levels = columns[name], declared.get(name)
        if values.dtype != object:
            return pa.array(values)
        if levels is None or levels == BOOLEANS:
            return pa.array(values.tolist(), type=pa.bool_() if levels else None)
        code = {level: i for i, level in enumerate(levels)}
        codes = pa.array([code.get(value) for value in values], type=pa.int32())
        return pa.DictionaryArray.from_arrays(codes, pa.array(list(levels)))

    return pa.table({name: array(name) for name in columns})


def _build_numpy(columns: Mapping[Name, np.ndarray], declared: Mapping[Name, tuple]) -> np.ndarray:
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
    fillers = {"pandas": _fill_pandas, "polars": _fill_polars, "pyarrow": _fill_pyarrow}
    if container == "numpy":
        return _fill_numpy(np.asarray(X), names, cells)
    return fillers[container](from_dicts(X), names, cells, declared)


def _fill_numpy(X: np.ndarray, names: Names, cells: Cells) -> np.ndarray:
    out = X.copy()
    for j, name in enumerate(names):
        if name in cells:
            missing_cells, values = cells[name]
            out[missing_cells, j] = values[missing_cells]
    return out


def _new(name: Name, values: np.ndarray, container: str, declared: Mapping) -> Any:
    levels = {name: declared[name]} if name in declared else {}
    return build_frame({name: values}, container, declared=levels)


def _fill_pandas(X: Any, names: Names, cells: Cells, declared: Mapping) -> object:
    import pandas as pd

    columns = {}
    for name in names:
        if name not in X.columns:
            new = _new(name, cells[name][1], "pandas", declared)
            columns[name] = new[name].set_axis(X.index)
            continue
        series = X[name]
        if name in cells and cells[name][0].any():
            missing_cells, values = cells[name]
            wanted = values[missing_cells]
            if pd.api.types.is_float_dtype(series.dtype):
                # levels that are whole numbers, and numbers in single precision
                wanted = pd.Series(wanted.astype(float)).astype(series.dtype).array
            elif wanted.dtype != object and pd.api.types.is_integer_dtype(series.dtype):
                whole = (wanted == np.floor(wanted)).all()
                wanted = wanted.astype(np.int64) if whole else wanted
                series = series if whole else series.astype("Float64")
            series = series.copy()
            series[missing_cells] = wanted
        columns[name] = series
    return pd.DataFrame(columns, index=X.index)


def _fill_polars(X: Any, names: Names, cells: Cells, declared: Mapping) -> object:
    import polars as pl

    columns = []
    for name in names:
        if name not in X.columns:
            columns.append(_new(name, cells[name][1], "polars", declared)[str(name)])
            continue
        series = X[name]
        if name in cells and cells[name][0].any():
            missing_cells, values = cells[name]
            wanted = values[missing_cells].tolist()
            if series.dtype.is_integer() and any(value != int(value) for value in wanted):
                series = series.cast(pl.Float64)
            if series.dtype == pl.Null:
                dtype = pl.Series(wanted).dtype
                series = pl.Series(str(name), [None] * len(series), dtype=dtype)
            series = series.scatter(np.flatnonzero(missing_cells), _like(wanted, series.dtype))
        columns.append(series)
    return pl.DataFrame(columns)


def _like(values: list, dtype: Any) -> Any:
    import polars as pl

    if dtype.is_integer():
        values = [int(value) for value in values]
    return pl.Series(values).cast(dtype)


def _fill_pyarrow(X: Any, names: Names, cells: Cells, declared: Mapping) -> object:
    import pyarrow as pa

    columns = {}
    for name in names:
        if name not in X.column_names:
            columns[name] = _new(name, cells[name][1], "pyarrow", declared)[name]
            continue
        columns[name] = column = X[name]
        if name in cells and cells[name][0].any():
            missing_cells, values = cells[name]
            kept = column.to_pylist()
            for i in np.flatnonzero(missing_cells):
                kept[i] = values[i].item() if isinstance(values[i], np.generic) else values[i]
            columns[name] = _arrow_array(kept, column.type)
    return pa.table(columns)


def _arrow_array(values: list, dtype: Any) -> object:
    import pyarrow as pa

    if pa.types.is_dictionary(dtype):
        return pa.array(values).dictionary_encode().cast(dtype)
    if pa.types.is_integer(dtype) and all(value == int(value) for value in values):
        values = [int(value) for value in values]
    elif pa.types.is_integer(dtype) or pa.types.is_null(dtype):
        return pa.array(values)
    return pa.array(values, type=dtype)


# -- rows below each other -------------------------------------------------------------------------


def concatenated(frames: Sequence[object]) -> object:
    """Return the rows of frames of one kind, or of arrays, in their order."""
    arrays = [frame for frame in frames if isinstance(frame, np.ndarray)]
    if arrays:
        return np.concatenate(arrays)
    if len(frames) == 1:
        return frames[0]
    whole = nw.concat(
        [nw.from_native(cast(IntoDataFrame, frame), eager_only=True) for frame in frames]
    )
    native = whole.to_native()
    return native.reset_index(drop=True) if hasattr(native, "reset_index") else native
