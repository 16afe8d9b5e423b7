"""Reading of NumPy arrays: numbers, booleans, text and objects."""

from collections.abc import Collection
from dataclasses import replace

import numpy as np

from bayesgen.errors import InvalidData
from bayesgen.errors.data import (
    complex_array,
    complex_column,
    date_column,
    infinite_column,
    nested_column,
    not_a_table,
    not_two_dimensional,
)
from bayesgen.table.columns import (
    Name,
    Table,
    TableColumn,
    check_magnitude,
    checked_columns,
    is_blank,
    is_number,
    matrix_table,
    missing_column,
)

NUMBERS = ("integer", "floating", "mixed-integer-float", "decimal")
DATES = {
    **dict.fromkeys(("datetime64", "datetime", "date"), "dates"),
    **dict.fromkeys(("timedelta64", "timedelta"), "durations"),
    "time": "times",
    "period": "periods",
}
"""What pandas infers of objects -> the word for it."""


def require_matrix(values: np.ndarray) -> None:
    """Reject an array that has not two axes, or holds complex numbers.

    Raises:
        InvalidData: the array is neither.
    """
    if values.ndim != 2:
        raise not_two_dimensional(values.ndim, values.size)
    if values.dtype.kind == "c":
        raise complex_array()


def read_array(values: np.ndarray, unread: Collection[Name]) -> Table:
    """Return the table of an array of shape (row, feature); float64 and int64 are not copied.

    Args:
        values: columns are named x0, x1, ...
        unread: the names of columns that come back as missing.

    Raises:
        InvalidData: as `read_table` says.
    """
    require_matrix(values)
    names = tuple(f"x{i}" for i in range(values.shape[1]))
    if values.dtype.kind in "fiu":
        whole = values.dtype.kind == "i" and not isinstance(values, np.ma.MaskedArray)
        matrix = values.astype(np.int64, copy=False) if whole else _float64(values)
        read = [i for i, name in enumerate(names) if name not in unread]
        check_magnitude(tuple(names[i] for i in read), matrix[:, read] if unread else matrix)
        return matrix_table(matrix, names, "numpy")
    values = np.asarray(values)
    columns = checked_columns(
        missing_column(name, len(values)) if name in unread else array_column(name, values[:, i])
        for i, name in enumerate(names)
    )
    return Table(columns, len(values), "numpy")


def array_column(name: Name, values: np.ndarray) -> TableColumn:
    """Return the column of an array of shape (row,) and of any dtype, not yet checked.

    Raises:
        InvalidData: infinite, too large or complex numbers; dates, nested values, mixed types, text
            that was numbers.
    """
    match values.dtype.kind:
        case "f" | "i" | "u":
            return TableColumn(name, "number", values)
        case "b":
            return boolean_column(name, values)
        case "O":
            return _object_column(name, values)
        case "U" | "T":
            return _text_column(name, values)
        case "c":
            raise complex_column(name)
        case "M" | "m":
            raise date_column(name, "dates" if values.dtype.kind == "M" else "durations")
        case _:
            raise nested_column(name, str(values.dtype))


def boolean_column(name: Name, codes: np.ndarray) -> TableColumn:
    """Return a column of booleans from codes: 0 = False, 1 = True, -1 = missing."""
    return TableColumn(name, "level", codes.astype(np.int64), (False, True), declared=True)


def _float64(values: np.ndarray) -> np.ndarray:
    if isinstance(values, np.ma.MaskedArray):
        return np.ma.filled(values.astype(np.float64), np.nan)
    with np.errstate(over="ignore"):  # a longdouble beyond float64 is refused as infinite
        return np.asarray(values, dtype=np.float64)


def _object_column(name: Name, values: np.ndarray) -> TableColumn:
    import pandas as pd

    found = pd.api.types.infer_dtype(values, skipna=True)
    if found == "string":
        codes, levels = pd.factorize(values)
        return TableColumn(name, "level", codes, tuple(map(str, levels)))
    missing = pd.isna(values)
    blank = np.zeros(len(values), bool)
    if found.startswith("mixed"):  # blank text among numbers or booleans is missing
        blank = np.array([*map(is_blank, values)], bool)
        missing = missing | blank
        found = pd.api.types.infer_dtype(values[~missing], skipna=True) if blank.any() else found
    if found == "boolean":
        codes = boolean_column(name, np.where(missing, -1, values))
        return replace(codes, blank=bool(blank.any()))
    if found in NUMBERS or found == "empty":
        numbers = _numbers(name, np.where(missing, np.nan, values))
        return TableColumn(name, "number", numbers, blank=bool(blank.any()))
    if found in DATES:
        raise date_column(name, DATES[found])
    if found == "complex":
        raise complex_column(name)
    types = sorted({type(value).__name__ for value in values[~missing]})
    simple = all(
        isinstance(v, str | bool | int | float | np.number | np.bool_) for v in values[~missing]
    )
    if simple:
        texts = [(v, i) for i, v in enumerate(values) if isinstance(v, str) and not is_number(v)]
        where = " ({cells:cells})" if texts else ""
        raise InvalidData(
            "column {column!r} mixes values of the types {types:joined}" + where + "; one type is "
            "allowed.",
            "For categories pass {column:as str}; for numbers {column:coerced}, which makes other "
            "cells missing.",
            column=name,
            types=types,
            cells=texts,
        )
    raise nested_column(name, ", ".join(types))


def _numbers(name: Name, values: np.ndarray) -> np.ndarray:
    try:
        return values.astype(np.float64)
    except OverflowError:  # a Python integer beyond float64
        raise infinite_column(name, 1) from None


def _text_column(name: Name, values: np.ndarray) -> TableColumn:
    import pandas as pd

    codes, levels = pd.factorize(values.astype(object))
    suspects = [level for level in levels if _was_no_text(level)]
    if len(suspects) == len(levels) or {"nan", "None", "<NA>"} & set(suspects):
        raise InvalidData(
            "column {column!r} of an array of text holds {levels:listed}: numpy.array converts "
            "numbers and missing values to text when any cell is text.",
            "Pass a DataFrame, or an array made with dtype=object (dtype=float if there are "
            "numbers only).",
            column=name,
            levels=suspects,
        )
    return TableColumn(name, "level", codes, tuple(map(str, levels)))


def _was_no_text(level: str) -> bool:
    if level in ("None", "<NA>"):
        return True
    try:
        float(level)
    except ValueError:
        return False
    return True


def as_array(found: object) -> np.ndarray:
    """Return an array from nested lists, or from anything that converts itself to one.

    Lists that mix text and numbers keep their values; numpy.array would make all of them text.

    Raises:
        InvalidData: it converts to no array.
    """
    try:
        values = np.asarray(found)
        if values.dtype.kind in "US" and not hasattr(found, "__array__"):
            values = np.asarray(found, dtype=object)
    except ValueError:  # rows of different lengths
        raise InvalidData(
            "X is a list of rows of different lengths; every row needs the same number of cells.",
            "Write None where a cell is missing.",
        ) from None
    if values.ndim == 0:
        raise not_a_table(found)
    return values
