"""From columns of values back to a frame of the kind that the rows came in."""

from collections.abc import Mapping

import numpy as np

from bayesgen.table.columns import Name

BOOLEANS = (False, True)


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
    builders = {"pandas": _pandas, "polars": _polars, "pyarrow": _pyarrow, "numpy": _numpy}
    return builders[container](columns, declared or {})


def _pandas(columns: Mapping[Name, np.ndarray], declared: Mapping[Name, tuple]) -> object:
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


def _polars(columns: Mapping[Name, np.ndarray], declared: Mapping[Name, tuple]) -> object:
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


def _pyarrow(columns: Mapping[Name, np.ndarray], declared: Mapping[Name, tuple]) -> object:
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


def _numpy(columns: Mapping[Name, np.ndarray], declared: Mapping[Name, tuple]) -> np.ndarray:
    stacked = np.column_stack(list(columns.values()))
    if stacked.dtype != object:
        return stacked
    if len(declared) == len(columns) and set(declared.values()) == {BOOLEANS} and _is_full(stacked):
        return stacked.astype(bool)
    numbers = all(isinstance(v, int | float) and not isinstance(v, bool) for v in stacked.flat)
    return stacked.astype(np.float64) if numbers else stacked


def _is_full(values: np.ndarray) -> bool:
    return all(value is not None for value in values.flat)
