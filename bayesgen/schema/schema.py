"""The schema of a fit: names, types, levels and blocks of the columns of its table."""

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.sparse import issparse

from bayesgen.errors import Cure, UnsupportedOperation, warn
from bayesgen.errors.arguments import not_one_of
from bayesgen.errors.data import unknown_columns
from bayesgen.errors.operations import columns_of_one
from bayesgen.schema.matching import MatchedTable, check_number, matched
from bayesgen.schema.readings import (
    READINGS,
    Bins,
    BlockSpec,
    PowerTransformed,
    Reading,
    indicators,
)
from bayesgen.schema.readings.bins import quantile_edges
from bayesgen.schema.readings.levels import NEW
from bayesgen.schema.readings.numbers import (
    Numbers,
    as_numbers,
    change_of_origin,
    offsets,
    reading_of,
    with_origins,
)
from bayesgen.schema.readings.power_transform import PowerTransforms, transforms_of
from bayesgen.schema.readings.reading import MISSING, Readings, by_source, encode_together
from bayesgen.schema.sparse import (
    Columns,
    NumericColumns,
    decoded_sparse,
    encoded_sparse,
    learned_sparse,
)
from bayesgen.schema.suspects import suspicions
from bayesgen.table import SPARSE, Name, Names, Table, TableColumn, build_frame
from bayesgen.typing import Block, Encoded, Weights

GROUPS = "group of a row"
"""The block of the column of groups, which no likelihood reads: a level of it that is absent from
the fit is a new group, -1 as where it is missing."""
UNSEEN = ("missing", "error")
"""What levels that are absent from the fit may count as."""


@dataclass(frozen=True)
class Schema:
    """The columns of each block: table -> encoded blocks -> frame.

    blocks: block name to its columns, in the order of the encoded features.
    names: all features, in the order of the table.
    container: "pandas", "polars", "pyarrow", "numpy", "csr_array" or "csr_matrix": what the rows
        came in.
    aside: names of the identifiers among them, which no block reads.
    """

    blocks: dict[str, Columns]
    names: Names
    container: str
    aside: Names = dataclasses.field(default=(), kw_only=True)

    @classmethod
    def learn(cls, table: Table, blocks: Mapping[str, BlockSpec]) -> "Schema":
        """Return the schema of a table whose columns these blocks read.

        Raises:
            InvalidData: a block names a column that the table has not; a column does not suit its
                block; numbers that vary by less than 1e-150; a sparse table for blocks of numbers
                or levels.
        """
        if table.is_sparse:
            return cls(learned_sparse(table, blocks), table.names, table.container)
        rows = MatchedTable(table, {name: i for i, name in enumerate(table.names)})
        named = (name for spec in blocks.values() for name in spec.names)
        if unknown := [name for name in named if name not in rows.position]:
            raise unknown_columns(unknown, table.names)
        learned: dict[str, Columns] = {
            block: _learned(rows, spec) for block, spec in blocks.items()
        }
        every = (column for columns in learned.values() for column in columns)
        n_levels = {
            _read(column): len(column.source_levels or column.levels)
            for column in every
            if column.kind != MISSING
        }
        for warning in suspicions(table, n_levels):
            warn(warning)
        aside = () if table.matrix is not None else [c.name for c in table.columns if c.unread]
        return cls(learned, table.names, table.container, aside=tuple(aside))

    def merge(self, table: Table, *, estimator: str = "Classifier") -> "Schema":
        """Return the schema after one more batch: new levels at the end, first origins set.

        Raises:
            InvalidData: an array has another number of columns; a column of text meets numbers, or
                a level is a fraction.
        """
        if table.is_sparse:
            check_number(self.names, table, estimator)
            return self
        rows = matched(self.names, self.container, table, estimator)
        blocks = {block: _merged(columns, rows) for block, columns in self.blocks.items()}
        return dataclasses.replace(self, blocks=blocks)

    def union(self, other: "Schema") -> "Schema":
        """Return the schema of the rows of both: levels of the other at the end, first origins.

        Raises:
            UnsupportedOperation: other columns, or columns in another order; columns
                power-transformed or cut into bins differently.
            InvalidData: a column of text in one, of numbers in the other.
        """
        only = self.used() ^ other.used()
        if only:
            raise columns_of_one([n for n in (*self.names, *other.names) if n in only])
        for name, columns in self.blocks.items():
            one, two = (
                list(dict.fromkeys(map(_read, part))) for part in (columns, other.blocks[name])
            )
            if one != two:
                raise UnsupportedOperation(
                    "the classifiers read their columns in different orders, {one:listed} and "
                    "{other:listed}.",
                    Cure(
                        "Fit both to X[{one}].", "Fit both with their columns in the order {one}."
                    ),
                    one=one,
                    other=two,
                )
        blocks = {
            name: _united(columns, other.blocks[name]) for name, columns in self.blocks.items()
        }
        every = (*self.names, *(name for name in other.names if name not in set(self.names)))
        aside = tuple(dict.fromkeys([*self.aside, *other.aside]))
        return dataclasses.replace(self, blocks=blocks, names=every, aside=aside)

    def derived(self) -> dict[Name, Reading]:
        """Return the columns of the table that derived columns, and bins, are read from, by name.

        Of bins the numbers, of an indicator the levels.
        """
        return self._derived

    @functools.cached_property
    def _derived(self) -> dict[Name, Reading]:
        blocks = [part for part in self.blocks.values() if not isinstance(part, NumericColumns)]
        pairs = [(column, column.original) for columns in blocks for column in columns]
        return {column.name: original for column, original in pairs if original is not column}

    def with_bins(self, seen: Sequence[tuple[Table, Weights]], bins: int | str) -> "Schema":
        """Return the schema with the edges of bins learned from all rows.

        seen: the rows of each call, and their weights.
        """
        tables = [matched(self.names, self.container, table, "Classifier") for table, _ in seen]
        weight = np.concatenate([weight for _, weight in seen])

        def cut(column: Reading) -> Reading:
            if not isinstance(column, Bins):
                return column
            cells = [column.numbers(rows.column(column.name)) for rows in tables]
            return column.with_edges(quantile_edges(np.concatenate(cells), weight, bins))

        blocks = {
            name: tuple(map(cut, columns)) if columns[0].kind == "levels" else columns
            for name, columns in self.blocks.items()
        }
        return dataclasses.replace(self, blocks=blocks)

    def encode(
        self, table: Table, unseen: str = "missing", *, estimator: str = "Classifier"
    ) -> dict[str, Block]:
        """Return the cells of each block as one array of shape (row, feature).

        "numbers" (origin subtracted), "counts" and "binary" are float64 with NaN for missing cells;
        "levels" are int64 codes with -1 for them. "missing" is 1 for missing cells, 0 for observed
        ones and NaN for columns absent from the table. Those of a sparse table are csr_array of its
        own dtype, in which NaN is missing. Arrays may be views of the user's data and must not be
        modified.

        Args:
            table: rows of the same columns; those of a frame may stand in any order, and absent
                ones are missing (`check_columns` warns of them, and refuses others).
            unseen: a level absent from the fit is "missing" (with a warning, but a group only if
                it is of another type than those of the fit) or an "error".
            estimator: named in the error about a wrong number of columns.

        Raises:
            InvalidData: an array has another number of columns than at fit; a column no longer
                suits its block; see `unseen`.
        """
        if unseen not in UNSEEN:
            raise not_one_of("unseen", unseen, UNSEEN)
        if table.is_sparse:
            check_number(self.names, table, estimator)
            return encoded_sparse(table, self.names, self.blocks)
        rows = matched(self.names, self.container, table, estimator)
        groups = NEW if unseen != "error" else unseen
        return {
            name: encode_together(columns, rows, groups if name == GROUPS else unseen)
            for name, columns in self.blocks.items()
        }

    def decode(self, encoded: Encoded, n_rows: int) -> object:
        """Return encoded rows as a frame of the fitted kind: origins added back, codes to levels.

        Columns outside all blocks are omitted from a DataFrame, and missing in an array. Cells that
        the missing pattern marks are missing.

        Args:
            encoded: block name to array of shape (row, feature), as `encode` returns.
            n_rows: number of rows.
        """
        if self.container in SPARSE:
            return decoded_sparse(encoded, self.names, self.blocks, self.container, n_rows)
        values: dict[Name, np.ndarray] = {}
        declared: dict[Name, tuple] = {}
        marked: dict[Name, np.ndarray] = {}
        for block, columns in self.blocks.items():
            cells = encoded[block].toarray() if issparse(encoded[block]) else encoded[block]
            for j, column in enumerate(columns):
                own = column.decode(cells[:n_rows, j])
                if column.kind == MISSING:
                    marked[column.reads] = own
                    continue
                values[column.name] = own
                if column.declared:
                    declared[column.name] = column.levels
        for name in marked.keys() & values.keys():
            values[name] = values[name].copy()
            values[name][marked[name]] = None if values[name].dtype == object else np.nan
        if self.container == "numpy":
            values = dict.fromkeys(self.names, np.full(n_rows, np.nan)) | values
        parts: dict[Name, list[Name]] = {}
        for column in (c for columns in self.blocks.values() for c in columns):
            if column.name in values:
                parts.setdefault(column.reads, []).append(column.name)
        names = [label for name in self.names for label in parts.get(name, [name])]
        ordered = {name: values[name] for name in names if name in values}
        return build_frame(ordered, self.container, declared=declared)

    def unused(self) -> set[Name]:
        """Return the columns that no block reads; of sparse tables, which hold numbers, none."""
        return set() if self.container in SPARSE else self._unused

    def used(self) -> set[Name]:
        """Return the columns that blocks read."""
        return self._used

    @functools.cached_property
    def _used(self) -> set[Name]:
        return {name for columns in self.blocks.values() for name in _sources(columns)}

    @functools.cached_property
    def _unused(self) -> set[Name]:
        return set(self.names) - self._used

    def missing_cells(self, table: Table) -> dict[Name, tuple[Name, Bool[np.ndarray, " row"]]]:
        """Return, for each column that a block reads, its name in a table and its missing cells.

        All cells of an absent column are missing. A level absent from the fit counts as observed.
        """
        rows, used = matched(self.names, self.container, table, "Classifier"), self.used()
        out = {}
        for name in self.names:
            if name in used:
                at = rows.position.get(name)
                out[name] = name if at is None else table.names[at], rows.column(name).missing
        return out

    def origin(self, block: str) -> Float[np.ndarray, " feature"]:
        """Return the offsets subtracted from the columns of a block, each in its own unit."""
        return self._origins[block]

    def origins(self) -> dict[str, Float[np.ndarray, " feature"]]:
        """Return the same of every block."""
        return dict(self._origins)

    @functools.cached_property
    def _origins(self) -> dict[str, Float[np.ndarray, " feature"]]:
        return {
            block: np.zeros(len(columns))
            if isinstance(columns, NumericColumns)
            else offsets(columns)
            for block, columns in self.blocks.items()
        }

    def power_transforms(self) -> dict[str, PowerTransforms]:
        """Return the power transforms of the blocks that have any."""
        return dict(self._power_transforms)

    @functools.cached_property
    def _power_transforms(self) -> dict[str, PowerTransforms]:
        return {
            name: transforms_of(columns)
            for name, columns in self.blocks.items()
            if not isinstance(columns, NumericColumns)
            and any(isinstance(column, PowerTransformed) for column in columns)
        }

    def n_levels(self, block: str) -> tuple[int, ...]:
        """Return the number of levels of each column of a block of levels, () for other blocks."""
        columns = self.blocks[block]
        if isinstance(columns, NumericColumns):
            return ()
        return tuple(len(c.levels) for c in columns if c.kind == "levels")

    def origin_change(self, later: "Schema", block: str) -> Float[np.ndarray, " feature"]:
        """Return what encoding by another schema adds to the observed cells of a block."""
        columns = self.blocks[block]
        if isinstance(columns, NumericColumns):
            return np.zeros(len(columns))
        pairs = zip(columns, later.blocks[block], strict=True)
        return np.array([change_of_origin(one, other) for one, other in pairs])

    def rewriting(self, later: "Schema", block: str) -> indicators.Rewriting | None:
        """Return how another schema computes a block that reads levels as indicators.

        None: it reads none.
        """
        before, after = self.blocks[block], later.blocks[block]
        if isinstance(after, NumericColumns) or not any(
            isinstance(column, indicators.Indicator) for column in (*before, *after)
        ):
            return None
        return indicators.rewriting(before, after)

    def variables(self, block: str) -> tuple[int, ...]:
        """Return the number of the variable that each column of a block is an indicator of.

        -1: of none; () if the block reads no indicators.
        """
        columns = self.blocks[block]
        if isinstance(columns, NumericColumns) or not any(
            isinstance(column, indicators.Indicator) for column in columns
        ):
            return ()
        return indicators.variables(columns)

    def level_index(self, later: "Schema", block: str) -> Int[np.ndarray, " level"]:
        """Return the positions of a block's flat levels in a schema that has all of them."""
        start, index = 0, [np.empty(0, np.int64)]
        for column, merged in zip(self.blocks[block], later.blocks[block], strict=True):
            place = {level: start + i for i, level in enumerate(merged.levels)}
            index.append(np.array([place[level] for level in column.levels], dtype=np.int64))
            start += len(merged.levels)
        return np.concatenate(index)


# -- columns of a block ----------------------------------------------------------------------------


def _read(column: Reading) -> Name:
    """Return the column of the table that a column is encoded from, as `Reading.reads`."""
    return column.name if column.source is None else column.source


def _sources(columns: Columns) -> Names:
    """Return the columns of the table that those of a block are encoded from."""
    if isinstance(columns, NumericColumns):
        return columns.names
    return [_read(column) for column in columns]


def reads_as_numbers(found: TableColumn) -> bool:
    """Return whether a column holds numbers, in whatever form they are written."""
    return found.kind == "number" or reading_of(found) is not None


def in_numbers(table: Table) -> Table:
    """Return a table whose columns of text that are read as numbers are these."""
    if table.matrix is not None:
        return table
    return dataclasses.replace(table, columns=tuple(map(as_numbers, table.columns)))


def _asked_by(spec: BlockSpec) -> list[type[Reading]]:
    """Return the readings that a block may take for its columns, in order."""
    own = [cls for cls in READINGS if cls.kind == spec.kind]
    return [cls for cls in own if all(getattr(spec, k) is v for k, v in cls.asked.items())]


def _learned(rows: MatchedTable, spec: BlockSpec) -> Readings:
    """Return the columns of a block, learned from a table; those of one class at once.

    Raises:
        InvalidData: a column does not suit; numbers that vary by less than 1e-150.
    """
    found, classes = [rows.column(name) for name in spec.names], _asked_by(spec)
    if len(classes) == 1:
        each = classes[0].learn_columns(found, rows, spec)
        return tuple(column for some in each for column in some)
    taken = [_first_that_takes(x, classes) for x in found]
    parts: dict[int, Readings] = {}
    for cls in dict.fromkeys(taken):
        at = [i for i, other in enumerate(taken) if other is cls]
        own = dataclasses.replace(spec, names=tuple(spec.names[i] for i in at))
        parts |= zip(at, cls.learn_columns([found[i] for i in at], rows, own), strict=True)
    return tuple(column for i in range(len(found)) for column in parts[i])


def _first_that_takes(found: TableColumn, classes: Sequence[type[Reading]]) -> type[Reading]:
    """Return the first of several readings that takes a column, or the last; of numbers at once."""
    if found.kind == "number" and Numbers in classes:
        return Numbers
    return next((cls for cls in classes[:-1] if cls.takes(found)), classes[-1])


def _merged(columns: Columns, rows: MatchedTable) -> Columns:
    """Return the columns of a block after one more batch."""
    if isinstance(columns, NumericColumns) or not any(
        column.grows or column.origin is None for column in columns
    ):
        return columns
    if not _meet_numbers(columns, rows) and any(column.grows for column in columns):
        sources = [(some[0], rows.column(name)) for name, some in by_source(columns)]
        merged = tuple(column for first, cells in sources for column in first.merge(cells))
    else:
        merged = tuple(columns)
    if any(column.origin is None for column in merged):
        return with_origins(merged, rows)
    return merged


def _meet_numbers(columns: Columns, rows: MatchedTable) -> bool:
    """Return whether columns of numbers meet numbers as such, from which there is no more to learn.

    Those of one array are not asked one by one.
    """
    if not all(isinstance(column, Numbers) for column in columns):
        return False
    array = rows.table.matrix is not None
    return array or all(rows.column(column.name).kind == "number" for column in columns)


def _united(columns: Columns, others: Columns) -> Columns:
    """Return the columns of a block after rows that another schema describes."""
    if isinstance(columns, NumericColumns):
        return columns
    pairs = zip(by_source(columns), by_source(others), strict=True)
    return tuple(c for (_, one), (_, other) in pairs for c in one[0].union(other[0]))
