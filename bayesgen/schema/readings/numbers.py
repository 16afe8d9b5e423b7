"""Columns of numbers, centred where their likelihood is equivariant under shifts."""

import dataclasses
from collections.abc import Sequence
from typing import ClassVar, cast

import numpy as np
from jaxtyping import Float, Num

from bayesgen.errors import InvalidData, UnsupportedOperation
from bayesgen.schema.matching import MatchedTable
from bayesgen.schema.readings.reading import READINGS, BlockSpec, Reading, Readings
from bayesgen.schema.text_cells import not_numeric
from bayesgen.table import Name, Table, TableColumn, is_number
from bayesgen.typing import Self

SMALLEST_SPREAD = 1e-150
"""Squares of smaller differences underflow float64 (4.9e-324) or lose their digits."""

TOGETHER = 16
"""Rows that are taken as one."""
FIRST_ROWS = 64
MOST_ROWS = 65_536


@dataclasses.dataclass(frozen=True)
class Numbers(Reading):
    """A column of numbers.

    Numbers that are written as text have classes that derive from this one, with what they stand
    for (`takes`, `learn`, `numbers`), and how they are written back (`decode`, `in_files`, `form`).
    Each of them takes numbers as such too: a column becomes one of text with the first rows that
    are.

    origin: what encoding subtracts, one of the numbers; see `Reading`.
    digits: whether each of its texts has a digit, so that a column of words need not ask it.
    """

    kind: ClassVar[str] = "numbers"
    grows: ClassVar[bool] = True
    digits: ClassVar[bool] = True

    name: Name
    origin: float | None = 0.0

    @classmethod
    def takes(cls, found: TableColumn) -> bool:
        """Return whether a column holds numbers, or nothing as yet."""
        return found.kind == "number" or found.is_missing

    @classmethod
    def learn(cls, found: TableColumn) -> tuple[Self, ...]:
        """Return the column, which is not centred."""
        if found.kind != "number" and not found.is_missing:
            raise not_numeric(found)
        return (cls(found.name),)

    @classmethod
    def learn_columns(
        cls, found: Sequence[TableColumn], rows: MatchedTable, spec: BlockSpec
    ) -> list[Readings]:
        """Return the columns, each with an origin if the block is centred.

        Raises:
            InvalidData: a column varies too little.
        """
        columns = [column for cells in found for column in cls.learn(cells)]
        cells = [column.numbers(x) for column, x in zip(columns, found, strict=True)]
        origin = origins(cells)
        check_spread([column.name for column in found], cells, origin)
        if not spec.centred:
            return [(column,) for column in columns]
        pairs = zip(columns, origin.tolist(), strict=True)
        return [(dataclasses.replace(column, origin=none_if_nan(at)),) for column, at in pairs]

    def merge(self, found: TableColumn) -> Readings:
        """Return the column after one more batch, which may show that its numbers are text."""
        column = form_of(found)
        return (self,) if column is None else self.united(column)

    def united(self, other: Reading) -> Readings:
        """Return the column with the first of two origins, in the form that text has in either.

        Raises:
            UnsupportedOperation: their numbers are written in two forms.
        """
        origin = other.origin if self.origin is None else self.origin
        return (dataclasses.replace(self.in_one_form(other), origin=origin),)

    def in_one_form(self, other: Reading) -> "Numbers":
        """Return the column, or the other if that is the one whose form is known.

        A reading whose form has parts that not all rows show unites them here.

        Raises:
            UnsupportedOperation: their numbers are written in two forms.
        """
        if not isinstance(other, Numbers) or not other.form:
            return self
        if self.form and type(self) is not type(other):
            raise two_forms(self, other)
        return self if self.form else other

    def numbers(self, found: TableColumn) -> Num[np.ndarray, " row"]:
        """Return the numbers that cells stand for, NaN = missing.

        Raises:
            InvalidData: it holds levels.
        """
        if found.kind == "number":
            return found.values
        if found.is_missing:
            return np.full(len(found.values), np.nan)
        if (found.padded or found.blank) and all(
            isinstance(v, str) and is_number(v) for v in found.levels
        ):
            return np.array([*map(float, found.levels), np.nan])[found.values]
        raise not_numeric(found)

    def encode(self, found: TableColumn, unseen: str = "missing") -> Float[np.ndarray, " row"]:
        """Return numbers, less the origin."""
        return self.numbers(found) - (self.origin or 0.0)

    @classmethod
    def encode_columns(
        cls, columns: Sequence[Self], rows: MatchedTable, unseen: str
    ) -> Float[np.ndarray, "row feature"]:
        """Return numbers, less the origins; those in one array in one operation."""
        origin = offsets(columns)
        if (matrix := rows.matrix([column.name for column in columns])) is not None:
            return less(matrix, origin) if origin.any() else matrix.astype(float, copy=False)
        # columns lie one after the other in memory, as they do in frames
        cells = np.empty((len(columns), rows.table.n_rows)).T
        found = [rows.column(column.name) for column in columns]
        for j, column in enumerate(columns):
            np.subtract(column.numbers(found[j]), origin[j], out=cells[:, j])
        return cells

    def decode(self, cells: Float[np.ndarray, " row"]) -> np.ndarray:
        """Return the numbers of the table."""
        return self.in_units(cells)

    def in_units(self, cells: Float[np.ndarray, " row"]) -> np.ndarray:
        """Return numbers with the origin added back."""
        return cells + (self.origin or 0.0)


def reading_of(found: TableColumn) -> type[Numbers] | None:
    """Return the reading of a column that holds numbers, in whatever form; else None.

    None too where no cell is observed and the dtype is that of text.
    """
    if found.kind == "number":
        return Numbers
    if found.is_missing:
        return None
    words = not any(map(str.isdigit, str(found.levels[0])))
    forms = (cls for cls in READINGS if cls.kind == "numbers" and issubclass(cls, Numbers))
    asked = (cls for cls in forms if cls is not Numbers and not (words and cls.digits))
    return next((cls for cls in asked if cls.takes(found)), None)


def form_of(found: TableColumn) -> Numbers | None:
    """Return the reading of a column of text as numbers; None of any other."""
    cls = None if found.kind == "number" else reading_of(found)
    return None if cls is None else cls.learn(found)[0]


def merged_form(of: Numbers | None, found: TableColumn) -> Numbers | None:
    """Return the form of a column after one more batch; None of numbers as such."""
    return form_of(found) if of is None else cast(Numbers, of.merge(found)[0])


def in_either(one: Numbers | None, other: Numbers | None) -> Numbers | None:
    """Return the form that text has in either of two readings of a column, or in both.

    Raises:
        UnsupportedOperation: they are two forms.
    """
    if one is None or other is None:
        return other if one is None else one
    return one.in_one_form(other)


def as_numbers(found: TableColumn) -> TableColumn:
    """Return a column of text that is read as numbers as these, and any other as it is."""
    column = form_of(found)
    if column is None:
        return found
    return TableColumn(found.name, "number", column.numbers(found))


def two_forms(one: Numbers, other: Numbers) -> UnsupportedOperation:
    """Return the error about a column whose numbers are written in two forms."""
    return UnsupportedOperation(
        "column {column!r} is written as {one} in one table and as {other} in the other.",
        "Write it alike in both, or as numbers.",
        column=one.name,
        one=one.form,
        other=other.form,
    )


def offsets(columns: Sequence[Reading]) -> Float[np.ndarray, " feature"]:
    """Return what encoding subtracts from columns; 0 of those without an origin."""
    return np.array([column.origin or 0.0 for column in columns])


def change_of_origin(one: Reading, later: Reading) -> float:
    """Return what encoding by a later reading adds to the observed cells of a column."""
    if one.origin is None or later.origin is None:
        return 0.0
    return one.origin - later.origin


def with_origins(columns: Sequence[Reading], rows: MatchedTable) -> Readings:
    """Return the columns of a block with origins, from rows, where they have none as yet."""
    batch = [(c, rows.column(c.name)) for c in columns if isinstance(c, Numbers)]
    seen = {c.name: c.numbers(x) for c, x in batch if not x.is_missing}
    if not seen:
        return tuple(columns)
    first = dict(zip(seen, origins(list(seen.values())).tolist(), strict=True))
    return tuple(
        dataclasses.replace(column, origin=first.get(column.name))
        if isinstance(column, Numbers) and column.origin is None
        else column
        for column in columns
    )


def none_if_nan(origin: float) -> float | None:
    """Return an origin, or None of a column without an observed cell."""
    return None if origin != origin else origin


def origins(cells: Sequence[np.ndarray]) -> Float[np.ndarray, " feature"]:
    """Return one value per column of numbers: that of the first row without a missing value.

    Where every row has a missing value: the first observed value; NaN for a column without one. A
    constant column becomes exactly 0.
    """
    start, size, n = 0, FIRST_ROWS, len(cells[0])
    while start < n:
        rows = np.stack([column[start : start + size] for column in cells], axis=1)
        complete = ~np.isnan(rows).any(axis=1)
        if complete.any():
            return rows[complete.argmax()].astype(np.float64)
        start, size = start + size, min(2 * size, MOST_ROWS)
    return np.array([first_observed(column) for column in cells])


def first_observed(values: Float[np.ndarray, " row"]) -> float:
    """Return the first value that is not NaN, or NaN."""
    observed = ~np.isnan(values)
    return float(values[observed.argmax()]) if observed.any() else float("nan")


def less(
    matrix: Num[np.ndarray, "row feature"], origin: Float[np.ndarray, " feature"]
) -> Float[np.ndarray, "row feature"]:
    """Return matrix - origin.

    Where rows lie side by side, several are taken as one: a loop over a short row costs about as
    much as its work (a quarter of the time less for 20 columns, measured).
    """
    n = len(matrix) - len(matrix) % TOGETHER
    if not matrix.flags.c_contiguous or n < FIRST_ROWS * TOGETHER:
        return matrix - origin
    out = np.empty(matrix.shape)
    wide = (n // TOGETHER, TOGETHER * matrix.shape[1])
    np.subtract(matrix[:n].reshape(wide), np.tile(origin, TOGETHER), out=out[:n].reshape(wide))
    np.subtract(matrix[n:], origin, out=out[n:])
    return out


def check_spreads(table: Table) -> None:
    """Reject a table whose numbers vary too little, whichever blocks are to read it.

    Raises:
        InvalidData: as `check_spread`.
    """
    columns = map(as_numbers, table.columns)
    if numbers := [column for column in columns if column.kind == "number"]:
        cells = [column.values for column in numbers]
        first = np.array([first_observed(values) for values in cells])
        check_spread([column.name for column in numbers], cells, first)


def check_spread(
    names: Sequence[Name], cells: Sequence[np.ndarray], origin: Float[np.ndarray, " feature"]
) -> None:
    """Reject columns that vary, but so little that squared differences underflow.

    Neighbors of a number x lie 1e-16 |x| apart, so that only columns at (almost) 0 can do so.

    Raises:
        InvalidData: a spread above 0 and below 1e-150.
    """
    for i in np.flatnonzero(np.abs(origin) < 1e16 * SMALLEST_SPREAD).tolist():
        spread = np.fmax.reduce(cells[i]) - np.fmin.reduce(cells[i])
        if 0 < spread < SMALLEST_SPREAD:
            raise InvalidData(
                "column {column!r} varies by only {spread:.3g} over its rows; a spread of 0 or "
                "at least 1e-150 is allowed, because squares of smaller ones round to 0.",
                "Choose a smaller unit: multiply the column by a constant.",
                column=names[i],
                spread=spread,
            )
