"""Columns of one block: learned, merged, encoded as one array and decoded."""

import dataclasses

import numpy as np
from jaxtyping import Float, Num

from bayesgen.errors import Cure, InvalidData, UnsupportedOperation
from bayesgen.errors.data import levels_changed
from bayesgen.schema import one_hot
from bayesgen.schema.columns import MISSING, BlockSpec, Column, Columns, NumericColumns
from bayesgen.schema.level_codes import (
    binary_values,
    integer_codes,
    integer_levels,
    level_codes,
    whole_levels,
)
from bayesgen.schema.matching import MatchedTable
from bayesgen.schema.power_transform import PowerTransform, PowerTransforms
from bayesgen.schema.suspects import not_numeric
from bayesgen.table import Name, Table, TableColumn, check_counts, free
from bayesgen.table.columns import LARGEST
from bayesgen.typing import Block

SMALLEST_SPREAD = 1e-150
"""Squares of smaller differences underflow float64 (4.9e-324) or lose their digits."""

TOGETHER = 16
"""Rows that are taken as one."""
FIRST_ROWS = 64
MOST_ROWS = 65_536


LEARNED = {
    "transform": ("power-transformed", "power_transform=True"),
    "edges": ("cut into bins", "bins="),
}
"""Parts of a column that are learned from rows: in words, and the argument that asks for them."""


# -- learning --------------------------------------------------------------------------------------


def learned_block(rows: MatchedTable, spec: BlockSpec) -> tuple[Column, ...]:
    """Return the schema of the columns of a block, learned from a table.

    Columns of the missing pattern have names that are not those of the table.

    Raises:
        InvalidData: a column does not suit; numbers that vary by less than 1e-150.
    """
    if spec.kind == MISSING:
        names = [free(f"{name} missing", rows.table.names) for name in spec.names]
        pairs = zip(names, spec.names, strict=True)
        return tuple(Column(name, MISSING, origin=0.0, source=source) for name, source in pairs)
    found = [rows.column(name) for name in spec.names]
    if spec.indicators and (levels := [c for c in found if _may_be_levels(c)]):
        numbers = dataclasses.replace(
            spec, names=tuple(c.name for c in found if c not in levels), indicators=False
        )
        others = {c.name: (c,) for c in learned_block(rows, numbers)} if numbers.names else {}
        parts = [others.get(c.name) or one_hot.indicators(c.name, _levels(c)) for c in found]
        return tuple(column for part in parts for column in part)
    if spec.binned:
        return tuple(_to_bin(column) for column in found)
    levels: list = [None] * len(found)
    if spec.kind == "levels" and (matrix := rows.matrix(spec.names)) is not None:
        levels = integer_levels(matrix) or levels
    columns = tuple(
        learned(column, spec.kind, seen) for column, seen in zip(found, levels, strict=True)
    )
    if spec.kind != "numbers":
        return columns
    origin = origins(found)
    check_spread(found, origin)
    return _with_origin(columns, origin if spec.centred else np.zeros(len(columns)))


def _may_be_levels(found: TableColumn) -> bool:
    """Return whether a column holds levels, or nothing as yet."""
    return found.kind == "level" or found.is_missing


def _levels(found: TableColumn) -> tuple:
    """Return the levels that rows of a column have."""
    return one_hot.of_rows(found).levels


def merged_block(columns: Columns, rows: MatchedTable) -> tuple[Column, ...]:
    """Return a block's columns after one more batch."""
    if columns[0].kind == "levels":
        return tuple(merged(column, rows.column(column.name)) for column in columns)
    if any(column.known is not None for column in columns):
        columns = one_hot.regrouped(columns, lambda source: _merged_source(source, rows))
    if columns[0].kind != "numbers" or all(column.origin == column.origin for column in columns):
        return tuple(columns)
    batch = [rows.column(column.name) for column in columns if column.known is None]
    observed = [cells for cells in batch if cells.kind == "number" and not cells.is_missing]
    if not observed:
        return tuple(columns)
    seen = dict(zip((cells.name for cells in observed), origins(observed), strict=True))
    return _with_origin(tuple(columns), np.array([seen.get(c.name, np.nan) for c in columns]))


def _merged_source(source: Column, rows: MatchedTable) -> tuple | None:
    """Return the levels of a column that is read as indicators after a batch; None: numbers."""
    found = one_hot.of_rows(rows.column(source.name))
    if found.is_missing:
        return source.levels
    if found.kind == "number" and not source.levels:
        return None
    return united(source, learned(found, "levels")).levels


def united_block(columns: Columns, others: Columns) -> Columns:
    """Return the columns of a block after rows that another schema describes.

    Levels of both, and the first origins; see `Schema.union`.
    """
    if isinstance(columns, NumericColumns):
        return columns
    if any(column.known is not None for column in (*columns, *others)):
        return _united_indicators(columns, others)
    pairs = zip(columns, others, strict=True)
    return tuple(one if one == other else united(one, other) for one, other in pairs)


def _united_indicators(columns: Columns, others: Columns) -> tuple[Column, ...]:
    """Return the columns of a block that reads levels as indicators, after other rows."""
    later, out = dict(one_hot.by_source(others)), []
    for name, some in one_hot.by_source(columns):
        one, other = some[0], later[name][0]
        if one.known is not None and other.known is not None:
            later_levels = Column(name, "levels", other.known)
            source = united(Column(name, "levels", one.known), later_levels)
            out += one_hot.indicators(name, source.levels)
        elif () in (one.known, other.known):  # never observed in one of them
            out += some if other.known == () else later[name]
        elif one.known is None and other.known is None:
            out.append(united(one, other))
        else:
            levels = one.known or other.known or ()
            raise levels_changed(name, ["numbers"], levels)
    return tuple(out)


def united(one: Column, other: Column) -> Column:
    """Return one column after the rows of another of the same name and kind.

    Raises:
        InvalidData: text meets numbers.
        UnsupportedOperation: power transforms, bins or the two levels of a binary column differ.
    """
    for field, words in LEARNED.items():
        if one != other and (getattr(one, field), getattr(other, field)) != (None, None):
            what, argument = words
            raise UnsupportedOperation(
                "column {column!r} is {what} differently in the two classifiers, as each learned "
                "it from its own rows.",
                "Fit one classifier to all rows, or both without {argument}.",
                column=one.name,
                what=what,
                argument=argument,
            )
    if one.kind == "binary" and one.levels != other.levels:
        raise UnsupportedOperation(
            "column {column!r} holds 0 and 1 as the levels {one:listed} in one classifier and "
            "{other:listed} in the other.",
            Cure(
                "Declare them in the same order in both: pandas.Categorical(X[{column!r}], "
                "[{one:listed}]).",
                "Fit both to files that hold all levels.",
            ),
            column=one.name,
            one=one.levels,
            other=other.levels,
        )
    missing = one.origin != one.origin
    origin = other.origin if missing else one.origin
    known = set(one.levels)
    new = tuple(level for level in other.levels if level not in known)
    if known and new and _types(one.levels).isdisjoint(_types(new)):
        raise levels_changed(one.name, one.levels, new)
    declared = all(column.declared for column in (one, other) if column.levels)
    return dataclasses.replace(
        one,
        levels=one.levels + new,
        declared=declared and bool(one.levels or other.levels),
        origin=origin,
    )


def learned(found: TableColumn, kind: str, levels: tuple | None = None) -> Column:
    """Return the schema of a column; levels: already found, or None.

    Raises:
        InvalidData: the column does not suit.
    """
    if kind == "levels":
        if levels is None:
            levels = found.levels if found.kind == "level" else whole_levels(found)
        return Column(found.name, kind, levels, found.declared, origin=0.0)
    if found.kind == "number":
        return Column(found.name, kind, origin=float("nan") if kind == "numbers" else 0.0)
    if kind != "binary":
        raise not_numeric(found)
    if len(found.levels) != 2 or not found.declared:
        raise InvalidData(
            "column {column!r} holds {levels:len} levels, {levels:listed}; Bernoulli takes "
            "booleans, the numbers 0 and 1, and declared categories of two levels.",
            "Use Categorical: likelihood={{{column!r}: bg.Categorical(), ...}}.",
            column=found.name,
            levels=found.levels,
        )
    numeric = all(isinstance(level, bool | int | float) for level in found.levels)
    levels = tuple(sorted(found.levels)) if numeric else found.levels
    return Column(found.name, kind, levels, declared=True, origin=0.0)


def _to_bin(found: TableColumn) -> Column:
    """Return the schema of a column, before the edges of the bins of numbers are learned."""
    if found.kind == "level":
        return learned(found, "levels")
    return Column(found.name, "levels", origin=0.0, edges=())


def merged(column: Column, found: TableColumn) -> Column:
    """Return the column with the levels of one more batch at the end.

    A column whose levels were declared at first grows only by levels that a batch declares too.

    Raises:
        InvalidData: text meets numbers.
    """
    binned = column.edges is not None
    if column.kind != "levels" or binned or (found.is_missing and not found.declared):
        return column
    if column.declared and not found.declared:
        return column
    return united(column, learned(found, "levels"))


def _types(levels: tuple) -> set[str]:
    return {
        "number" if isinstance(level, bool | int | float) else type(level).__name__
        for level in levels
    }


# -- encoding --------------------------------------------------------------------------------------


def encoded_block(columns: Columns, rows: MatchedTable, unseen: str) -> Block:
    """Return the cells of one block, shape (row, feature); see `Schema.encode`.

    Args:
        columns: of the block at fit.
        rows: the table at hand.
        unseen: "missing" or "error".
    """
    kind, names = columns[0].kind, [column.reads for column in columns]
    if kind == MISSING:
        return _encoded_pattern(rows, names)
    indicated = any(column.known is not None for column in columns)
    matrix = None if indicated else rows.matrix(names)
    if kind == "levels":
        codes = None
        if matrix is not None and all(column.edges is None for column in columns):
            codes = integer_codes([column.levels for column in columns], matrix)
        return _encoded_levels(columns, rows, unseen) if codes is None else codes
    if matrix is None or kind == "binary":
        numbers = _encoded_numbers(columns, rows, unseen)
    else:
        origin = offsets(columns)
        shifted = kind == "numbers" and origin.any()
        numbers = less(matrix, origin) if shifted else matrix.astype(float, copy=False)
    if kind == "counts":
        check_counts(names, numbers)
    transforms = power_transforms_of(columns)
    return numbers if transforms is None else _transformed(columns, numbers, transforms)


def power_transforms_of(columns: Columns) -> PowerTransforms | None:
    """Return the power transforms of a block, or None."""
    if columns[0].kind != "numbers" or all(column.transform is None for column in columns):
        return None
    each = [column.transform or PowerTransform(1.0, 1.0) for column in columns]
    return PowerTransforms(np.array([t.scale for t in each]), np.array([t.power for t in each]))


def _transformed(columns: Columns, numbers: np.ndarray, transforms: PowerTransforms) -> np.ndarray:
    transformed = transforms.forward(numbers)
    far = np.argwhere(np.abs(transformed) > LARGEST)
    if len(far):
        row, j = far[0]
        value = numbers[row, j] + np.nan_to_num(columns[j].origin)
        raise InvalidData(
            "column {column!r} holds {value:.3g}, and power_transform=True raises its distance "
            "from the column's mean to the power {power:g}, which exceeds 1e150.",
            "Correct the cell, or leave out power_transform=True.",
            column=columns[j].name,
            value=value,
            power=max(transforms.power[j], 2 - transforms.power[j]),
        )
    return transformed


def decoded_cells(column: Column, cells: Num[np.ndarray, " row"]) -> np.ndarray:
    """Return the cells of one column in the user's representation; None or NaN = missing."""
    if column.kind == "binary" and column.levels:
        cells = np.where(np.isnan(cells), -1, cells)
    elif column.kind != "levels":
        transforms = power_transforms_of((column,))
        if transforms is not None:
            cells = transforms.inverse(cells[:, None])[:, 0]
        return cells + np.nan_to_num(column.origin)
    values = np.empty(len(column.levels) + 1, dtype=object)  # the last entry is that of code -1
    for i, level in enumerate(column.levels):
        values[i] = level
    return values[cells.astype(np.int64)]


def _encoded_pattern(rows: MatchedTable, names: list[Name]) -> np.ndarray:
    """Return 1 for missing cells, 0 for others, and NaN for columns that the table lacks."""
    pattern = np.full((len(names), rows.table.n_rows), np.nan).T
    for j, name in enumerate(names):
        if name in rows.position:  # of an absent column no cell is known to be missing
            pattern[:, j] = rows.column(name).missing
    return pattern


def _encoded_levels(columns: Columns, rows: MatchedTable, unseen: str) -> np.ndarray:
    codes = np.empty((len(columns), rows.table.n_rows), dtype=np.int64).T
    for j, column in enumerate(columns):
        cells = rows.column(column.name)
        if column.edges is None:
            codes[:, j] = level_codes(column.levels, cells, unseen)
        else:
            values = _numbers(cells)
            bins = np.searchsorted(np.array(column.edges), values)
            codes[:, j] = np.where(np.isnan(values), -1, bins)
    return codes


def _numbers(found: TableColumn) -> np.ndarray:
    """Return the cells of a column of numbers, or of one without an observed cell.

    Raises:
        InvalidData: it holds levels.
    """
    if found.kind == "number":
        return found.values
    if found.is_missing:
        return np.full(len(found.values), np.nan)
    raise not_numeric(found)


def _encoded_numbers(columns: Columns, rows: MatchedTable, unseen: str) -> np.ndarray:
    # Columns lie one after the other in memory, as they do in frames.
    numbers = np.empty((len(columns), rows.table.n_rows)).T
    codes = np.empty(0)
    for j, column in enumerate(columns):
        cells = rows.column(column.reads)
        if column.known is not None:
            if column.code == 1:  # of all indicators of the column, whose first it is
                codes = level_codes(column.known, cells, unseen)
            numbers[:, j] = np.where(codes < 0, np.nan, codes == column.code)
        elif column.kind == "binary":
            numbers[:, j] = binary_values(column.levels, cells, unseen)
        else:
            np.subtract(_numbers(cells), np.nan_to_num(column.origin), out=numbers[:, j])
    return numbers


def _with_origin(columns: tuple[Column, ...], origin: np.ndarray) -> tuple[Column, ...]:
    return tuple(
        dataclasses.replace(column, origin=float(value))
        if column.origin != column.origin
        else column
        for column, value in zip(columns, origin, strict=True)
    )


# -- centering -------------------------------------------------------------------------------------


def origins(columns: list[TableColumn]) -> Float[np.ndarray, " feature"]:
    """Return one value per column of numbers: that of the first row without a missing value.

    Where every row has a missing value: the first observed value; NaN for a column without one. A
    constant column becomes exactly 0.
    """
    start, size, n = 0, FIRST_ROWS, len(columns[0].values)
    while start < n:
        rows = np.stack([column.values[start : start + size] for column in columns], axis=1)
        complete = ~np.isnan(rows).any(axis=1)
        if complete.any():
            return rows[complete.argmax()].astype(float).astype(np.float64)
        start, size = start + size, min(2 * size, MOST_ROWS)
    return np.array([first_observed(column.values) for column in columns])


def offsets(columns: Columns) -> Float[np.ndarray, " feature"]:
    """Return what encoding subtracts from the columns of a block; 0 of those without an origin."""
    origin = np.array([column.origin for column in columns])
    return np.where(np.isnan(origin), 0.0, origin)


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


def first_observed(values: Float[np.ndarray, " row"]) -> float:
    """Return the first value that is not NaN, or NaN."""
    observed = ~np.isnan(values)
    return float(values[observed.argmax()]) if observed.any() else float("nan")


def check_spreads(table: Table) -> None:
    """Reject a table whose numbers vary too little, whichever blocks are to read it.

    Raises:
        InvalidData: as `check_spread`.
    """
    if numbers := [column for column in table.columns if column.kind == "number"]:
        check_spread(numbers, np.array([first_observed(column.values) for column in numbers]))


def check_spread(columns: list[TableColumn], origin: Float[np.ndarray, " feature"]) -> None:
    """Reject columns that vary, but so little that squared differences underflow.

    Neighbors of a number x lie 1e-16 |x| apart, so that only columns at (almost) 0 can do so.

    Raises:
        InvalidData: a spread above 0 and below 1e-150.
    """
    for i in np.flatnonzero(np.abs(origin) < 1e16 * SMALLEST_SPREAD):
        values = columns[i].values
        spread = np.fmax.reduce(values) - np.fmin.reduce(values)
        if 0 < spread < SMALLEST_SPREAD:
            raise InvalidData(
                "column {column!r} varies by only {spread:.3g} over its rows; a spread of 0 or "
                "at least 1e-150 is allowed, because squares of smaller ones round to 0.",
                "Choose a smaller unit: multiply the column by a constant.",
                column=columns[i].name,
                spread=spread,
            )
