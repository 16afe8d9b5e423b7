"""What a table is once it has been read: columns of numbers and columns of levels."""

import re
from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Int, Num

from bayesgen.errors import InvalidTable, InvalidValues, UnsupportedColumn
from bayesgen.typing import Block

Name = str | int
Names = Sequence[Name]
"""Of the columns of a table: a tuple, or what makes names when asked for."""
Unread = Callable[[tuple[Name, ...]], Collection[Name]]
"""Names the columns, among those of a table, that nobody will look at."""

LARGEST = 1e150
"""Squares of larger numbers, and sums of such squares, overflow float64 (1.8e308)."""


@dataclass(frozen=True, eq=False)
class TableColumn:
    """One column.

    name: as the user wrote it; x0, x1, ... for an array.
    kind: "number" or "level".
    values: shape (row,). Numbers: float64, NaN = missing, otherwise finite. Levels: int64 codes
        into `levels`, -1 = missing.
    levels: of a level column, as Python values: all declared ones in their order (False, True
        for booleans), otherwise those found, sorted.
    declared: whether the dtype itself names the levels (boolean, pandas Categorical, polars Enum,
        Arrow dictionary).
    whole: whether the dtype of a column of a frame is one of integers.
    """

    name: Name
    kind: str
    values: Num[np.ndarray, " row"]
    levels: tuple = ()
    declared: bool = False
    whole: bool = False

    @property
    def is_missing(self) -> bool:
        """Whether no cell is observed."""
        return bool(self.missing.all())

    @property
    def missing(self) -> Bool[np.ndarray, " row"]:
        """Which cells are missing."""
        return np.isnan(self.values) if self.kind == "number" else self.values < 0

    def take(self, rows: np.ndarray | slice) -> "TableColumn":
        """Return some cells; levels stay."""
        return replace(self, values=self.values[rows])

    def with_found_levels(self) -> "TableColumn":
        """Return the column without levels that no cell has, unless they are declared."""
        if self.kind == "number" or self.declared:
            return self
        found, codes = np.unique(self.values, return_inverse=True)
        missing = int((found < 0).sum())
        levels = tuple(self.levels[int(code)] for code in found[missing:])
        return replace(self, values=codes - missing, levels=levels)


@dataclass(frozen=True, eq=False)
class Table:
    """Columns of equal length.

    container: "pandas", "polars", "pyarrow" or "numpy": what the rows came in.
    matrix: all columns as float64 (int64 if all are whole), shape (row, feature), if they lie in
        one array; else None.
    """

    columns: Sequence[TableColumn]
    n_rows: int
    container: str
    matrix: Block | None = None

    @property
    def names(self) -> Names:
        """The names of the columns, in their order."""
        return tuple(column.name for column in self.columns)

    def take(self, rows: np.ndarray | slice) -> "Table":
        """Return the table of some rows.

        Args:
            rows: positions, shape (row,), or a mask of booleans, or a slice.
        """
        if self.matrix is not None:
            return matrix_table(self.matrix[rows], self.names, self.container)
        columns = tuple(column.take(rows) for column in self.columns)
        return Table(columns, len(columns[0].values), self.container)

    def only(self, rows: np.ndarray | slice) -> "Table":
        """Return the table as if the other rows had never been read: their levels go too."""
        table = self.take(rows)
        if self.matrix is not None:
            return table
        columns = tuple(column.with_found_levels() for column in table.columns)
        return replace(table, columns=columns)


def matrix_table(matrix: Num[np.ndarray, "row feature"], names: Names, container: str) -> Table:
    """Return the table of an array of finite numbers and NaN; columns are views of it."""
    columns = tuple(
        TableColumn(name, "number", values) for name, values in zip(names, matrix.T, strict=True)
    )
    return Table(columns, len(matrix), container, matrix)


def none(names: tuple[Name, ...]) -> Collection[Name]:
    """Return no column: all are looked at."""
    return ()


def unread_column(name: Name, n_rows: int) -> TableColumn:
    """Return a column of which nobody will look at a cell."""
    return TableColumn(name, "number", np.broadcast_to(np.nan, n_rows))


def number_column(name: Name, values: np.ndarray, *, whole: bool = False) -> TableColumn:
    """Return a column of numbers from an array of any real dtype, shape (row,)."""
    values = np.asarray(values, dtype=np.float64)
    check_magnitude((name,), values[:, None])
    return TableColumn(name, "number", values, whole=whole)


NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?\s*", re.ASCII | re.IGNORECASE)
"""What pandas.to_numeric reads as a finite number."""


def is_number(text: str) -> bool:
    """Say whether a text is a finite number as it is written in files.

    Examples:
        >>> [is_number(text) for text in ("12.5", "-1e3", "12,5", "nan", "1_000", "")]
        [True, True, False, False, False, False]
    """
    return NUMBER.fullmatch(text) is not None


def boolean_column(name: Name, codes: Int[np.ndarray, " row"]) -> TableColumn:
    """Return a column of booleans from codes: 0 = False, 1 = True, -1 = missing."""
    return TableColumn(name, "level", codes, (False, True), declared=True)


def level_column(
    name: Name, codes: np.ndarray, levels: Iterable[Hashable], *, declared: bool
) -> TableColumn:
    """Return a column of levels; undeclared ones are sorted, and those without a row are left out.

    Args:
        name: of the column.
        codes: shape (row,), positions in `levels`, -1 = missing.
        levels: Python values; None and NaN among them count as missing.
        declared: whether the dtype names the levels.
    """
    found: list = list(levels)
    codes = codes.astype(np.int64, copy=False)
    kept = [i for i, level in enumerate(found) if level is not None and level == level]
    if not declared:
        used = np.bincount(codes[codes >= 0], minlength=len(found)) > 0
        kept = sorted((i for i in kept if used[i]), key=found.__getitem__)
    if kept != list(range(len(found))):
        position = np.full(len(found) + 1, -1)
        position[kept] = np.arange(len(kept))
        codes = position[codes]
    return TableColumn(name, "level", codes, tuple(found[i] for i in kept), declared)


def check_magnitude(names: tuple[Name, ...], values: Num[np.ndarray, "row feature"]) -> None:
    """Refuse infinities and magnitudes whose squares overflow, naming the column.

    One pass over complete rows, two where cells are missing, without a copy; NaN is skipped.

    Raises:
        InvalidValues: a cell is infinite or beyond 1e150.
    """
    if not values.size or values.dtype.kind == "i":
        return
    if values.flags.c_contiguous and np.vdot(values, values) < LARGEST**2:
        # one pass: no square, so no magnitude, is beyond the sum of squares
        return
    top, bottom = np.fmax.reduce(values, axis=None), np.fmin.reduce(values, axis=None)
    if not (top > LARGEST or bottom < -LARGEST):
        return
    for name, column in zip(names, values.T, strict=True):
        infinite = int(np.isinf(column).sum())
        if infinite:
            raise InvalidValues.infinite(name, infinite)
        largest = np.nanmax(np.abs(column), initial=0.0)
        if largest > LARGEST:
            raise InvalidValues.too_large(name, largest)


def text_names(names: Iterable[Hashable]) -> tuple[Name, ...]:
    """Return column names as text and Python integers.

    Raises:
        UnsupportedColumn: a name is something else.
        InvalidTable: a name occurs twice.
    """
    checked: list[Name] = []
    for name in names:
        name = name.item() if isinstance(name, np.generic) else name
        if not isinstance(name, str | int):
            raise UnsupportedColumn.name(name)
        checked.append(name)
    if len(set(checked)) < len(checked):
        twice = {name for name in checked if checked.count(name) > 1}
        raise InvalidTable.duplicate_names(sorted(twice, key=str))
    return tuple(checked)


def with_column(
    table: Table, name: Name, values: Num[np.ndarray, " row"], levels: tuple = ()
) -> Table:
    """Return a table with other cells in one column, which is added if there is none.

    values: numbers, or codes of `levels`.
    """
    column = (
        TableColumn(name, "level", values.astype(np.int64), levels)
        if levels
        else TableColumn(name, "number", values.astype(np.float64))
    )
    columns = {c.name: c for c in table.columns} | {name: column}
    return Table(tuple(columns.values()), table.n_rows, table.container)
