"""The columns of one block together: learned, merged, encoded, decoded."""

import dataclasses

import numpy as np
from jaxtyping import Num

from bayesgen.errors import InvalidValues
from bayesgen.schema.centering import check_spread, less, origins
from bayesgen.schema.columns import BlockSpec, Column, Columns, learned, merged
from bayesgen.schema.integer_levels import integer_codes, integer_levels
from bayesgen.schema.level_codes import binary_values, level_codes
from bayesgen.schema.power_transform import PowerTransform, PowerTransforms
from bayesgen.schema.suspects import not_numeric
from bayesgen.table import TableColumn, check_counts
from bayesgen.table.columns import LARGEST
from bayesgen.typing import Block


def learned_block(
    found: list[TableColumn], spec: BlockSpec, matrix: np.ndarray | None
) -> tuple[Column, ...]:
    """Return what columns of a table, also as one array if they lie in one, teach a block.

    Raises:
        NotNumeric, NotLevels, NotBinary: a column does not suit.
        InvalidValues: numbers that vary by less than 1e-150.
    """
    levels: list = [None] * len(found)
    if spec.kind == "levels" and matrix is not None and matrix.dtype.kind == "i":
        levels = integer_levels(matrix) or levels
    columns = tuple(
        learned(column, spec.kind, seen) for column, seen in zip(found, levels, strict=True)
    )
    if spec.kind != "numbers":
        return columns
    origin = origins(found)
    check_spread(found, origin)
    return _with_origin(columns, origin if spec.centred else np.zeros(len(columns)))


def merged_block(columns: Columns, found: list[TableColumn | None]) -> tuple[Column, ...]:
    """Return a block's columns after one more batch (None = absent from it)."""
    same = tuple(columns)
    if columns[0].kind == "levels":
        return tuple(
            column if cells is None else merged(column, cells)
            for column, cells in zip(columns, found, strict=True)
        )
    if columns[0].kind != "numbers" or all(column.origin == column.origin for column in columns):
        return same
    numbers = [c for c in found if c is not None and c.kind == "number"]
    if not numbers:
        return same
    seen = dict(zip((c.name for c in numbers), origins(numbers), strict=True))
    names = [None if cells is None else cells.name for cells in found]
    return _with_origin(same, np.array([seen.get(name, np.nan) for name in names]))


def encoded_block(
    columns: Columns,
    cells: list[TableColumn | None],
    matrix: np.ndarray | None,
    *,
    n_rows: int,
    unseen: str,
) -> Block:
    """Return the cells of one block, shape (row, feature); see `Schema.encode`.

    Args:
        columns: what fitting saw.
        cells: the same columns of the table at hand; None = absent = missing.
        matrix: the same cells as one float64 array, if the table is one.
        n_rows: of the table.
        unseen: "missing" or "error".
    """
    kind = columns[0].kind
    if kind == "levels" and matrix is not None and matrix.dtype.kind == "i":
        codes = integer_codes(columns, matrix)
        return _encoded_levels(columns, cells, n_rows, unseen) if codes is None else codes
    if kind == "levels":
        return _encoded_levels(columns, cells, n_rows, unseen)
    if matrix is None or kind == "binary":
        numbers = _encoded_numbers(columns, cells, n_rows, unseen)
    else:
        origin = origins_of(columns)
        shifted = kind == "numbers" and origin.any()
        numbers = less(matrix, origin) if shifted else matrix.astype(float, copy=False)
    if kind == "counts":
        check_counts([column.name for column in columns], numbers)
    power_transforms = power_transforms_of(columns)
    return numbers if power_transforms is None else _transformed(columns, numbers, power_transforms)


def origins_of(columns: Columns) -> np.ndarray:
    """Return what encoding subtracts from each column: 0 where none was observed yet."""
    return np.array([c.origin if c.origin == c.origin else 0.0 for c in columns], dtype=float)


def power_transforms_of(columns: Columns) -> PowerTransforms | None:
    """Return how the columns of a block are power-transformed; None where none is."""
    if columns[0].kind != "numbers" or all(column.transform is None for column in columns):
        return None
    power_transforms = [
        PowerTransform(1.0, 1.0) if column.transform is None else column.transform
        for column in columns
    ]
    return PowerTransforms(
        np.array([b.scale for b in power_transforms]), np.array([b.power for b in power_transforms])
    )


def _transformed(
    columns: Columns, numbers: np.ndarray, power_transforms: PowerTransforms
) -> np.ndarray:
    transformed = power_transforms.forward(numbers)
    far = np.argwhere(np.abs(transformed) > LARGEST)
    if len(far):
        row, j = far[0]
        value = numbers[row, j] + np.nan_to_num(columns[j].origin)
        raise InvalidValues.too_large_to_transform(
            columns[j].name, value, power_transforms.power[j]
        )
    return transformed


def decoded_cells(column: Column, cells: Num[np.ndarray, " row"]) -> np.ndarray:
    """Return the cells of one column as a person wrote them; None or NaN = missing."""
    if column.kind == "binary" and column.levels:
        cells = np.where(np.isnan(cells), -1, cells)
    elif column.kind != "levels":
        power_transforms = power_transforms_of((column,))
        cells = (
            cells if power_transforms is None else power_transforms.inverse(cells[:, None])[:, 0]
        )
        return cells + np.nan_to_num(column.origin)
    values = np.empty(len(column.levels) + 1, dtype=object)  # the last one serves code -1
    for i, level in enumerate(column.levels):
        values[i] = level
    return values[cells.astype(np.int64)]


def _encoded_levels(
    columns: Columns, cells: list[TableColumn | None], n_rows: int, unseen: str
) -> np.ndarray:
    codes = np.full((len(columns), n_rows), -1, dtype=np.int64).T
    for j, (column, found) in enumerate(zip(columns, cells, strict=True)):
        if found is not None:
            codes[:, j] = level_codes(column, found, unseen)
    return codes


def _encoded_numbers(
    columns: Columns, cells: list[TableColumn | None], n_rows: int, unseen: str
) -> np.ndarray:
    # Columns lie one after the other in memory, as they do in frames.
    numbers = np.empty((len(columns), n_rows)).T
    for j, (column, found) in enumerate(zip(columns, cells, strict=True)):
        if found is None:
            numbers[:, j] = np.nan
        elif column.kind == "binary":
            numbers[:, j] = binary_values(column, found, unseen)
        elif found.kind == "number":
            np.subtract(found.values, np.nan_to_num(column.origin), out=numbers[:, j])
        elif found.is_missing:
            numbers[:, j] = np.nan
        else:
            raise not_numeric(dataclasses.replace(found, name=column.name))
    return numbers


def _with_origin(columns: tuple[Column, ...], origin: np.ndarray) -> tuple[Column, ...]:
    return tuple(
        dataclasses.replace(column, origin=float(value))
        if column.origin != column.origin
        else column
        for column, value in zip(columns, origin, strict=True)
    )
