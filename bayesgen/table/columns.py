"""`Table`, the typed form of any input: columns of numbers and columns of levels."""

import abc
import functools
import re
from collections.abc import Collection, Container, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeVar, overload

import numpy as np
from jaxtyping import Bool, Int, Num
from scipy.sparse import csr_array, issparse

from bayesgen.errors import Cure, InvalidData, Words
from bayesgen.errors.data import infinite_column, levels_changed, too_large_value
from bayesgen.typing import Block

T = TypeVar("T")
Name = str | int
Codes = Int[np.ndarray, " row"]
Names = Sequence[Name]
"""Names of the columns of a table: a tuple, or a sequence that makes them on demand."""

LARGEST = 1e150
"""Squares of larger numbers, and sums of such squares, overflow float64 (1.8e308)."""


class OnDemand(Sequence[T], abc.ABC):
    """A lazy sequence, whose entries are created on access; a slice is a tuple."""

    @abc.abstractmethod
    def entry(self, position: int) -> T:
        """Return one entry."""

    @overload
    def __getitem__(self, index: int) -> T: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[T, ...]: ...

    def __getitem__(self, index: int | slice) -> T | tuple[T, ...]:
        found = range(len(self))[index]
        return self.entry(found) if isinstance(found, int) else tuple(map(self.entry, found))


FEW = 18
"""Levels that a column of at least twenty rows has if it has one for nearly each."""


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
    counts: whether it was read as integers that rise from every row to the next.
    blank: whether some cells, read as missing, are text of blanks alone.
    unread: whether no likelihood is to read it, an identifier; its cells then count as missing.
    padded: whether some texts had blanks before or after them, which are no part of levels.
    """

    name: Name
    kind: str
    values: Num[np.ndarray, " row"]
    levels: tuple = ()
    declared: bool = False
    counts: bool = False
    blank: bool = False
    unread: bool = False
    padded: bool = False

    @property
    def is_missing(self) -> bool:
        """Whether no cell is observed."""
        return bool(self.missing.all())

    @property
    def varies(self) -> bool:
        """Whether rows differ in it: some, but not all, cells are missing, or two have two values.

        A column that is constant and complete, or never observed, says nothing of a row.
        """
        missing = self.missing
        if missing.any():
            return not missing.all()
        return bool((self.values != self.values[:1]).any())

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


def missing_column(name: Name, n_rows: int, *, unread: bool = False) -> TableColumn:
    """Return a column that is not read, or absent: all its cells are missing."""
    return TableColumn(name, "number", np.broadcast_to(np.nan, n_rows), unread=unread)


@dataclass(frozen=True, eq=False)
class MatrixColumns(OnDemand[TableColumn]):
    """The columns of a matrix of numbers, made on demand: views of a dense one."""

    matrix: Block
    names: Names

    def __len__(self) -> int:
        return self.matrix.shape[1]

    def entry(self, position: int) -> TableColumn:
        """Return one column."""
        if isinstance(self.matrix, csr_array):
            cells = self.matrix[:, [position]].toarray().ravel().astype(np.float64)
        else:
            cells = self.matrix[:, position]
        return TableColumn(self.names[position], "number", cells)


@dataclass(frozen=True, eq=False)
class Table:
    """Columns of equal length.

    container: "pandas", "polars", "pyarrow", "numpy", "csr_array" or "csr_matrix": type of the
        input.
    matrix: all columns as float64 (int64 if all are whole), shape (row, feature), if they lie in
        one array; of a sparse table a csr_array without duplicate cells; else None.
    dicts: whether rows came as a "dict", "dicts" in a list, or as "none".
    """

    columns: Sequence[TableColumn]
    n_rows: int
    container: str
    matrix: Block | None = None
    dicts: Literal["none", "dict", "dicts"] = "none"

    @functools.cached_property
    def names(self) -> Names:
        """The names of the columns, in their order."""
        columns = self.columns
        lazy = isinstance(columns, MatrixColumns)
        return columns.names if lazy else tuple(column.name for column in columns)

    @functools.cached_property
    def is_sparse(self) -> bool:
        """Whether the table is a sparse matrix, whose columns are numbers."""
        return issparse(self.matrix)

    @property
    def has_many_levels(self) -> bool:
        """Whether some column has more levels than twenty rows can show, and may name the rows."""
        return self.matrix is None and any(len(column.levels) > FEW for column in self.columns)

    @property
    def blank(self) -> list[Name]:
        """The columns some of whose cells, read as missing, are text of blanks alone."""
        return [] if self.matrix is not None else [c.name for c in self.columns if c.blank]

    def take(self, rows: np.ndarray | slice) -> "Table":
        """Return the table of some rows.

        Args:
            rows: positions, shape (row,), or a mask of booleans, or a slice.
        """
        if self.matrix is not None:
            return matrix_table(self.matrix[rows], self.names, self.container)
        columns = tuple(column.take(rows) for column in self.columns)
        return Table(columns, len(columns[0].values), self.container)

    def without(self, name: Name) -> "Table":
        """Return the table of the other columns."""
        kept = [i for i, other in enumerate(self.names) if other != name]
        names = [self.names[i] for i in kept]
        if self.matrix is not None:
            return matrix_table(self.matrix[:, kept], names, self.container)
        return Table(tuple(self.columns[i] for i in kept), self.n_rows, self.container)

    def presence(self) -> "Table":
        """Return 1 where a table of counts has one above 0, else 0; missing cells stay so.

        Columns of levels are left as they are.

        Raises:
            InvalidData: a number is negative or not whole.
        """
        if self.matrix is not None:
            check_counts(self.names, self.matrix)
            return matrix_table(presence(self.matrix), self.names, self.container)
        columns = list(self.columns)
        for j, column in enumerate(columns):
            if column.kind == "number":
                check_counts((column.name,), column.values[:, None])
                columns[j] = TableColumn(column.name, "number", presence(column.values))
        return Table(tuple(columns), self.n_rows, self.container)

    def only(self, rows: np.ndarray | slice) -> "Table":
        """Return the table as if only these rows had been read, without levels of the others."""
        table = self.take(rows)
        if self.matrix is not None:
            return table
        columns = tuple(column.with_found_levels() for column in table.columns)
        return replace(table, columns=columns)


def matrix_table(matrix: Block, names: Names, container: str) -> Table:
    """Return the table of an array of finite numbers and NaN, dense or sparse."""
    return Table(MatrixColumns(matrix, names), matrix.shape[0], container, matrix)


def tables_together(tables: Sequence[Table]) -> Table:
    """Return the rows of all tables in one, in their order, with the columns of the first.

    A column has the kind that it has where cells are observed first, the levels of all tables, and
    missing cells where a table lacks it.

    Raises:
        InvalidData: a column holds text in one table and numbers in another.
    """
    if len(tables) == 1:
        return tables[0]
    aligned = all(table.names == tables[0].names for table in tables)
    matrices = [table.matrix for table in tables if table.matrix is not None]
    if aligned and len(matrices) == len(tables):
        return matrix_table(np.concatenate(matrices), tables[0].names, tables[0].container)
    columns = [{column.name: column for column in table.columns} for table in tables]
    sizes = [table.n_rows for table in tables]
    pairs = list(zip(columns, sizes, strict=True))
    together = tuple(
        _below([by_name.get(name, missing_column(name, n)) for by_name, n in pairs])
        for name in tables[0].names
    )
    return Table(together, sum(sizes), tables[0].container)


def _below(parts: Sequence[TableColumn]) -> TableColumn:
    """Return one column of the cells of several tables."""
    name, observed = parts[0].name, [part for part in parts if not part.is_missing]
    if any(part.unread for part in parts):
        return missing_column(name, sum(len(part.values) for part in parts), unread=True)
    if (observed or parts)[0].kind == "number":
        if words := [part.levels for part in observed if part.kind == "level"]:
            numbers = np.unique(observed[0].values[~observed[0].missing]).tolist()
            raise levels_changed(name, numbers, words[0])
        cells = [np.where(part.missing, np.nan, part.values) for part in parts]
        values = np.concatenate(cells)
        counts = all(part.counts for part in parts) and bool((np.diff(values) > 0).all())
        return TableColumn(name, "number", values, counts=counts)
    levels: dict = {}
    parts = [_as_levels(part) for part in parts]
    for part in parts:
        if levels and part.levels and _types(levels).isdisjoint(_types(part.levels)):
            raise levels_changed(name, levels, part.levels)
        levels |= dict.fromkeys(part.levels)
    declared = any(part.declared for part in parts)
    if not declared:  # in the order in which one table has them
        levels = dict.fromkeys(sorted(levels, key=lambda level: (isinstance(level, str), level)))
    place = {level: i for i, level in enumerate(levels)}
    codes = [np.array([*map(place.get, part.levels), -1])[part.values] for part in parts]
    blank, padded = (any(getattr(part, name) for part in parts) for name in ("blank", "padded"))
    cells = np.concatenate(codes)
    return TableColumn(name, "level", cells, tuple(place), declared, blank=blank, padded=padded)


def _as_levels(column: TableColumn) -> TableColumn:
    """Return a column of numbers, which another table has as levels, as these."""
    if column.kind == "level":
        return column
    levels, codes = np.unique(column.values[~column.missing], return_inverse=True)
    values = np.full(len(column.values), -1, dtype=np.int64)
    values[~column.missing] = codes
    return TableColumn(column.name, "level", values, tuple(levels.tolist()))


def _types(levels: Iterable) -> set[bool]:
    """Return whether levels are text: both, if some are."""
    return {isinstance(level, str) for level in levels}


NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?\s*", re.ASCII | re.IGNORECASE)
"""What pandas.to_numeric reads as a finite number."""


def is_number(text: str) -> bool:
    """Return whether a text is a finite number as written in files.

    Examples:
        >>> [is_number(text) for text in ("12.5", "-1e3", "12,5", "nan", "1_000", "")]
        [True, True, False, False, False, False]
    """
    return NUMBER.fullmatch(text) is not None


ZERO_WIDTH = "\u200b\u2060\ufeff"
"""Blanks without a width, which Unicode does not count among white space."""
EDGES = re.compile(rf"^[\s{ZERO_WIDTH}]+|[\s{ZERO_WIDTH}]+$")


def stripped(text: str) -> str:
    """Return a text without blanks of any kind before and after it, those of no width too."""
    text = text.strip()
    return EDGES.sub("", text) if text and {text[0], text[-1]} & {*ZERO_WIDTH} else text


def is_blank(cell: object) -> bool:
    """Return whether a cell is text of blanks alone, or empty."""
    return isinstance(cell, str) and not stripped(cell)


def alike(names: Iterable) -> list[list]:
    """Return the groups of texts that differ only by blanks or case, each in order.

    Examples:
        >>> alike(["no", "yes", "No ", "north", 1])
        [['No ', 'no']]
    """
    groups: dict[str, list] = {}
    for name in names:
        if isinstance(name, str):
            groups.setdefault(" ".join(name.split()).lower(), []).append(name)
    return [sorted(group) for group in groups.values() if len(group) > 1]


def checked_columns(
    columns: Iterable[TableColumn], *, strip: bool = True
) -> tuple[TableColumn, ...]:
    """Return validated columns, with numbers as float64 and levels in order.

    Numbers may have any real dtype. Levels may be in any order; None, NaN and text of blanks alone
    among them count as missing; undeclared ones are sorted, without blanks before and after text,
    and those without a row are left out.

    strip: whether those blanks are left out; labels keep them.

    Raises:
        InvalidData: a number is infinite or beyond 1e150.
    """
    return tuple(_checked(column, strip=strip) for column in columns)


def _checked(column: TableColumn, *, strip: bool) -> TableColumn:
    if column.kind == "number":
        values = np.asarray(column.values, dtype=np.float64)
        check_magnitude((column.name,), values[:, None])
        return replace(column, values=values)
    codes, levels = column.values.astype(np.int64, copy=False), column.levels
    padded = column.padded
    if strip and not column.declared:
        levels = tuple(stripped(v) if isinstance(v, str) else v for v in levels)
        padded |= any(
            a is not b and a and a != b for a, b in zip(levels, column.levels, strict=True)
        )
        codes, levels = distinct_levels(codes, levels) if padded else (codes, levels)
    used = np.bincount(codes[codes >= 0], minlength=len(levels)) > 0
    blank = [i for i, level in enumerate(levels) if is_blank(level)]
    kept = [i for i, v in enumerate(levels) if v is not None and v == v and i not in blank]
    if not column.declared:
        kept = sorted((i for i in kept if used[i]), key=levels.__getitem__)
    if kept != list(range(len(levels))):
        position = np.full(len(levels) + 1, -1)
        position[kept] = np.arange(len(kept))
        codes = position[codes]
    found = tuple(levels[i] for i in kept)
    blanks = column.blank or bool(used[blank].any())
    return replace(column, values=codes, levels=found, blank=blanks, padded=padded)


def distinct_levels(codes: Codes, levels: tuple) -> tuple[Codes, tuple]:
    """Return the codes of levels each of which stands once."""
    place = {level: i for i, level in enumerate(dict.fromkeys(levels))}
    return np.array([*(place[level] for level in levels), -1])[codes], tuple(place)


def check_magnitude(names: tuple[Name, ...], values: Num[np.ndarray, "row feature"]) -> None:
    """Reject infinities and magnitudes whose squares overflow, naming the column.

    One pass over complete rows, two where cells are missing, without a copy; NaN is skipped.

    Raises:
        InvalidData: a cell is infinite or beyond 1e150.
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
            raise infinite_column(name, infinite)
        largest = np.nanmax(np.abs(column), initial=0.0)
        if largest > LARGEST:
            raise too_large_value(name, largest)


def with_column(
    table: Table, name: Name, values: Num[np.ndarray, " row"], levels: tuple = ()
) -> Table:
    """Return a table with other cells in one column, which is added if absent.

    values: numbers, or codes of `levels`.
    """
    column = (
        TableColumn(name, "level", values.astype(np.int64), levels)
        if levels
        else TableColumn(name, "number", values.astype(np.float64))
    )
    columns = {c.name: c for c in table.columns} | {name: column}
    return Table(tuple(columns.values()), table.n_rows, table.container)


# -- counts ----------------------------------------------------------------------------------------


def check_counts(names: Sequence[Name], cells: Block) -> None:
    """Reject rows with a cell that is negative or not whole, naming its column; NaN is skipped.

    Raises:
        InvalidData: with the first such column and its value.
    """
    sparse = isinstance(cells, csr_array)
    values = cells.data if sparse else cells
    if not values.size or _are_counts(values):
        return
    wrong = values < 0
    if not wrong.any():
        wrong = (values != np.floor(values)) & ~np.isnan(values)
    where = np.argwhere(wrong)
    if not len(where):
        return
    column = cells.indices[where[:, 0]] if sparse else where[:, 1]
    first = where[column.argmin()]
    raise InvalidData(
        "{first} {column!r} holds {value!r}; its likelihood needs counts: 0, 1, 2, ...{texts}.",
        Cure(
            "For measurements use Normal: {column:by Normal}.",
            "For measurements use --model naive-bayes.",
        ),
        column=names[int(column.min())],
        value=float(values[tuple(first)]),
        first="Negative values in data: column" if float(values[tuple(first)]) < 0 else "column",
        texts=Words(" (for texts, those of CountVectorizer, not TF-IDF weights)", ""),
    )


def _are_counts(values: np.ndarray) -> bool:
    """Return whether these are counts, as far as their dtype and smallest value show."""
    if values.dtype.kind in "ub":
        return True
    return values.dtype.kind == "i" and bool(values.min() >= 0)


def presence(cells: Block) -> Block:
    """Return 1 where a count is above 0, else 0; missing cells stay so."""
    if isinstance(cells, csr_array):
        return csr_array((presence(cells.data), cells.indices, cells.indptr), cells.shape)
    if cells.dtype.kind != "f":
        return (cells > 0).astype(np.int64)
    return np.where(np.isnan(cells), cells, cells > 0)


# -- names -----------------------------------------------------------------------------------------


def free(name: str, *taken: Container[object]) -> str:
    """Return the name, made unique by trailing underscores."""
    while not name or any(name in names for names in taken):
        name += "_"
    return name


def free_names(wanted: Mapping[Hashable, Collection[str]]) -> dict[Hashable, str]:
    """Return a unique text for each name, without slashes or reserved names.

    wanted: each name with the texts that it may not be. A name that is free stays as it is; of
    others the slashes become underscores, and underscores follow.
    """
    out: dict[Hashable, str] = {}
    used: set[str] = set()
    for as_it_is in (True, False):
        for name, taken in wanted.items():
            text = free(str(name).replace("/", "_"), taken, used)
            if name not in out and (text == name or not as_it_is):
                out[name] = text
                used.add(text)
    return out
