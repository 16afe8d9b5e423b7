"""Rows of any container: text columns that know all their levels, and selection by position."""

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import pyarrow as pa

from bayesgen.schema import suspicion
from bayesgen.table import Table, TableColumn, require_array, require_container


def selectable(X: object) -> object:
    """Return X as something rows can be taken from: a dataframe or an array."""
    require_container(X)
    if isinstance(X, np.ndarray):
        return X
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        return X
    if hasattr(X, "__arrow_c_stream__"):
        return pa.table(X)
    require_array(X)
    return np.asarray(X, dtype=object)


def take(X: object, rows: np.ndarray) -> object:
    """Return some rows of a dataframe or an array, in the container they came in."""
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    return frame[rows].to_native() if isinstance(frame, nw.DataFrame) else np.asarray(X)[rows]


def declare_levels(X: object, table: Table) -> object:
    """Return X with its text columns as categories of the whole table.

    Otherwise every fold has the levels that its own rows happen to show, and a sampler recompiles
    for each. Other columns, and arrays, stay as they are.

    Args:
        X: a dataframe or an array.
        table: the same as `read_table` reads it.
    """
    text = {c.name: c for c in table.columns if c.kind == "level" and not c.declared}
    if isinstance(X, pd.DataFrame):
        return _pandas(X, text)
    if isinstance(X, pa.Table):
        return _pyarrow(X, text)
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        return X
    casts = [nw.col(str(name)).cast(nw.Enum(column.levels)) for name, column in text.items()]
    return frame.with_columns(casts).to_native() if casts else X


def suspicions(table: Table) -> tuple[str, ...]:
    """Return a sentence for each column that looks like something other than a feature.

    Declared levels keep the classifiers from saying so themselves.
    """
    named = table.container != "numpy"
    found = (
        suspicion(column, len(column.levels), named=named, first=position == 0)
        for position, column in enumerate(table.columns)
    )
    return tuple(str(one) for one in found if one is not None)


def _pandas(X: pd.DataFrame, text: dict[str | int, TableColumn]) -> pd.DataFrame:
    declared = X.copy(deep=False)
    for name, column in text.items():
        declared[name] = pd.Categorical.from_codes(column.values, categories=list(column.levels))
    return declared


def _pyarrow(X: pa.Table, text: dict[str | int, TableColumn]) -> pa.Table:
    for name, column in text.items():
        codes = pa.array(column.values, type=pa.int32(), mask=column.values < 0)
        levels = pa.DictionaryArray.from_arrays(codes, pa.array(column.levels, type=pa.string()))
        X = X.set_column(X.schema.get_field_index(name), name, levels)
    return X
