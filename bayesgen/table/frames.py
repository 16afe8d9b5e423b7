"""Dataframes of any library, through narwhals; level codes come from the engine, not from loops."""

import narwhals.stable.v2 as nw
import numpy as np
from narwhals import Series

from bayesgen.errors import UnsupportedColumn
from bayesgen.table.arrays import array_column
from bayesgen.table.columns import (
    Name,
    Table,
    TableColumn,
    Unread,
    boolean_column,
    level_column,
    number_column,
    text_names,
    unread_column,
)


def read_frame(frame: nw.DataFrame, unread: Unread) -> Table:
    """Return the table of a frame; float64 columns without nulls are not copied.

    Raises:
        InvalidTable, InvalidValues, UnsupportedColumn: as `read_table` says.
    """
    names = text_names(frame.columns)
    skipped = unread(names)
    columns = tuple(
        unread_column(name, len(frame)) if name in skipped else _frame_column(name, series)
        for name, series in zip(names, frame.iter_columns(), strict=True)
    )
    matrix = _matrix(frame, columns)
    return Table(columns, len(frame), _container(frame.implementation), matrix)


def _matrix(frame: nw.DataFrame, columns: tuple[TableColumn, ...]) -> np.ndarray | None:
    # A pandas frame made of an array in row order: far faster to read as that array.
    strided = all(c.kind == "number" and not c.values.flags.c_contiguous for c in columns)
    if not (strided and columns and frame.implementation is nw.Implementation.PANDAS):
        return None
    matrix = frame.to_native().to_numpy()
    return matrix if np.shares_memory(matrix, columns[0].values) else None


def _container(implementation: nw.Implementation) -> str:
    known = {nw.Implementation.POLARS: "polars", nw.Implementation.PYARROW: "pyarrow"}
    return known.get(implementation, "pandas")


def _frame_column(name: Name, series: Series) -> TableColumn:
    dtype = nw.Object() if _holds_objects(series) else series.dtype
    if dtype == nw.Boolean:
        return boolean_column(name, _boolean_codes(series))
    if dtype.is_integer() or dtype.is_float():
        return number_column(name, series.to_numpy(), whole=dtype.is_integer())
    if dtype.is_numeric():
        return number_column(name, series.cast(nw.Float64).to_numpy())
    if dtype == nw.String:
        return _arrow_column(name, series, declared=False)
    if dtype in (nw.Categorical, nw.Enum):
        return _category_column(name, series)
    if dtype in (nw.Object, nw.Unknown):
        return array_column(name, np.asarray(series.to_numpy()))
    if dtype.is_temporal():
        raise UnsupportedColumn.date(name, str(dtype))
    raise UnsupportedColumn.nested(name, str(dtype))


def _holds_objects(series: Series) -> bool:
    # narwhals calls a pandas column of objects text even where it holds nothing but None.
    return getattr(series.to_native(), "dtype", None) == np.dtype(object)


def _boolean_codes(series: Series) -> np.ndarray:
    values = np.asarray(series.cast(nw.Float64).to_numpy(), dtype=np.float64)
    return np.where(np.isnan(values), -1, values).astype(np.int64)


def _category_column(name: Name, series: Series) -> TableColumn:
    native = series.to_native()
    if type(native.dtype if hasattr(native, "dtype") else None).__name__ == "CategoricalDtype":
        codes, levels = native.cat.codes.to_numpy(), native.cat.categories.tolist()
        return level_column(name, codes, levels, declared=True)
    # The categories of a polars Categorical are those of the whole process: they declare nothing.
    polars = series.implementation is nw.Implementation.POLARS
    return _arrow_column(name, series, declared=not polars or series.dtype == nw.Enum)


def _arrow_column(name: Name, series: Series, *, declared: bool) -> TableColumn:
    import pyarrow as pa

    values = series.to_arrow()
    if isinstance(values, pa.ChunkedArray):
        values = values.unify_dictionaries().combine_chunks()
    if not pa.types.is_dictionary(values.type):
        values = values.dictionary_encode()
    held = values.type.value_type
    # intervals of pandas are an extension of a struct
    if pa.types.is_nested(getattr(held, "storage_type", held)):
        raise UnsupportedColumn.nested(name, str(held))
    codes = values.indices.cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False)
    return level_column(name, codes, values.dictionary.to_pylist(), declared=declared)
