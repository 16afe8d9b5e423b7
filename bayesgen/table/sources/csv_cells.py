"""Cells of CSV files that were read as text: without the blanks around them, and their types."""

import contextlib
from typing import Any

import pyarrow as pa
import pyarrow.compute

pc: Any = pyarrow.compute  # its functions are made at import, where no type checker sees them

NARROWEST = (pa.int64(), pa.float64(), pa.bool_())
"""Types that cells of text may have, the first that suits all; otherwise they are text."""


def trimmed(cells: pa.Array, nulls: pa.Array) -> pa.Array:
    """Return text without the blanks around it, missing where it is empty or one of `nulls`.

    Cells of another type stay as they are.
    """
    if not pa.types.is_string(cells.type):
        return cells
    text = pc.utf8_trim_whitespace(cells)
    return pc.if_else(pc.is_in(text, value_set=nulls), pa.scalar(None, pa.string()), text)


def converted(cells: pa.Array, kind: pa.DataType, decimal: str = ".") -> pa.Array:
    """Return trimmed text as cells of a type; cells that have it already stay as they are.

    decimal: the character before the decimals of numbers.

    Raises:
        ArrowInvalid: a cell is not of the type.
    """
    if cells.type.equals(kind):
        return cells
    if pa.types.is_null(kind):
        return pa.nulls(len(cells))
    if pa.types.is_floating(kind) and decimal != ".":
        cells = pc.replace_substring(cells, decimal, ".")
    return cells.cast(kind)


def misfit(cells: pa.Array, kind: pa.DataType, decimal: str = ".") -> str | None:
    """Return the first cell of trimmed text that is not of a type."""
    for cell in cells.drop_null().unique().to_pylist():
        try:
            converted(pa.array([cell]), kind, decimal)
        except pa.ArrowInvalid:
            return cell
    return None


def narrowest(cells: pa.Array, decimal: str = ".") -> pa.DataType:
    """Return the narrowest type of trimmed text.

    Examples:
        >>> [narrowest(pa.array([cell])) for cell in ("7", "7.5", "true", "7 days", None)]
        [DataType(int64), DataType(double), DataType(bool), DataType(string), DataType(null)]
    """
    if cells.null_count == len(cells):
        return pa.null()
    for kind in NARROWEST:
        with contextlib.suppress(pa.ArrowInvalid):
            converted(cells, kind, decimal)
            return kind
    return pa.string()


def either(one: pa.DataType, other: pa.DataType) -> pa.DataType:
    """Return the narrowest type of cells that have the one type and cells that have the other.

    Examples:
        >>> either(pa.int64(), pa.float64()), either(pa.bool_(), pa.int64())
        (DataType(double), DataType(string))
    """
    if one.equals(other) or pa.types.is_null(other):
        return one
    if pa.types.is_null(one):
        return other
    return pa.float64() if {one, other} == {pa.int64(), pa.float64()} else pa.string()
