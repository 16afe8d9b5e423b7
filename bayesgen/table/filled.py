"""A person's own table with its missing cells filled in, and nothing else changed."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from bayesgen.table.building import build_frame
from bayesgen.table.columns import Name, Names

Cells = Mapping[Name, tuple[np.ndarray, np.ndarray]]
"""Column -> which cells are missing, (row,), and what every cell shall hold, (row,): float64, or
objects."""


def fill_table(X: object, container: str, names: Names, cells: Cells, declared: Mapping) -> object:
    """Return a copy of a table whose missing cells are filled.

    Columns without a missing value stay as they are. Others keep their type where it can hold what
    is filled in; whole numbers become floats where a number is not whole.

    Args:
        X: DataFrame (pandas, polars, pyarrow) or array.
        container: what X is: "pandas", "polars", "pyarrow" or "numpy".
        names: of the columns that the result has, in order; one that X has not is added.
        cells: of columns of X, by name; of an array by position "x0", "x1", ...
        declared: column -> levels, of columns to be added that declare them.
    """
    fillers = {"pandas": _pandas, "polars": _polars, "pyarrow": _pyarrow}
    if container == "numpy":
        return _numpy(np.asarray(X), names, cells)
    return fillers[container](X, names, cells, declared)


def _numpy(X: np.ndarray, names: Names, cells: Cells) -> np.ndarray:
    out = X.copy()
    for j, name in enumerate(names):
        if name in cells:
            missing_cells, values = cells[name]
            out[missing_cells, j] = values[missing_cells]
    return out


def _new(name: Name, values: np.ndarray, container: str, declared: Mapping) -> Any:
    levels = {name: declared[name]} if name in declared else {}
    return build_frame({name: values}, container, declared=levels)


def _pandas(X: Any, names: Names, cells: Cells, declared: Mapping) -> object:
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
            if wanted.dtype == object and pd.api.types.is_float_dtype(series.dtype):
                wanted = wanted.astype(float)  # levels that are whole numbers
            numbers = wanted.dtype != object
            if numbers and pd.api.types.is_integer_dtype(series.dtype):
                whole = (wanted == np.floor(wanted)).all()
                wanted = wanted.astype(np.int64) if whole else wanted
                series = series if whole else series.astype("Float64")
            series = series.copy()
            series[missing_cells] = wanted
        columns[name] = series
    return pd.DataFrame(columns, index=X.index)


def _polars(X: Any, names: Names, cells: Cells, declared: Mapping) -> object:
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


def _pyarrow(X: Any, names: Names, cells: Cells, declared: Mapping) -> object:
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
            columns[name] = _array(kept, column.type)
    return pa.table(columns)


def _array(values: list, dtype: Any) -> object:
    import pyarrow as pa

    if pa.types.is_dictionary(dtype):
        return pa.array(values).dictionary_encode().cast(dtype)
    if pa.types.is_integer(dtype) and all(value == int(value) for value in values):
        values = [int(value) for value in values]
    elif pa.types.is_integer(dtype) or pa.types.is_null(dtype):
        return pa.array(values)
    return pa.array(values, type=dtype)
