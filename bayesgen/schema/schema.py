"""The schema of a fit: names, types, levels and blocks of the columns of its table."""

import dataclasses
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.sparse import issparse

from bayesgen.errors import CountsAsMissing, Cure, InvalidData, UnsupportedOperation, warn
from bayesgen.errors.arguments import not_one_of
from bayesgen.errors.data import TABLE, unknown_columns
from bayesgen.errors.operations import columns_of_one
from bayesgen.schema.bins import quantile_edges, with_edges
from bayesgen.schema.blocks import (
    BlockSpec,
    Column,
    Columns,
    NumericColumns,
    columns_of,
    decoded_cells,
    encoded_block,
    learned_block,
    merged_block,
    offsets,
    power_transforms_of,
    united_block,
)
from bayesgen.schema.missing_pattern import MISSING, encoded_pattern, pattern_columns
from bayesgen.schema.power_transform import PowerTransforms
from bayesgen.schema.sparse import decoded_sparse, encoded_sparse, learned_sparse
from bayesgen.schema.suspects import suspicions
from bayesgen.table import SPARSE, Name, Names, Table, TableColumn, build_frame
from bayesgen.table.columns import Selected
from bayesgen.typing import Block, Encoded, Weights


@dataclass(frozen=True)
class Schema:
    """The columns of each block: table -> encoded blocks -> frame.

    blocks: block name to its columns, in the order of the encoded features.
    names: all features, in the order of the table.
    container: "pandas", "polars", "pyarrow", "numpy", "csr_array" or "csr_matrix": what the rows
        came in.
    """

    blocks: dict[str, Columns]
    names: Names
    container: str

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
        by_name = {column.name: column for column in table.columns}
        unknown = [name for spec in blocks.values() for name in spec.names if name not in by_name]
        if unknown:
            raise unknown_columns(unknown, table.names)
        position = {name: i for i, name in enumerate(by_name)}
        learned: dict[str, Columns] = {
            block: pattern_columns(spec.names, table.names)
            if spec.kind == MISSING
            else learned_block(
                [by_name[name] for name in spec.names],
                spec,
                columns_of(table.matrix, [position[name] for name in spec.names]),
            )
            for block, spec in blocks.items()
        }
        every = (column for columns in learned.values() for column in columns)
        n_levels = {column.name: len(column.levels) for column in every if column.source is None}
        for warning in suspicions(table, n_levels):
            warn(warning)
        return cls(learned, table.names, table.container)

    def merge(self, table: Table, *, estimator: str = "Classifier") -> "Schema":
        """Return the schema after one more batch: new levels at the end, first origins set.

        Raises:
            InvalidData: an array has another number of columns; a column of text meets numbers, or
                a level is a fraction.
        """
        if table.is_sparse:
            check_number(self.names, table, estimator)
            return self
        found = self._matched(table, estimator)
        blocks = {
            block: columns
            if isinstance(columns, NumericColumns)
            else merged_block(columns, found.cells(columns))
            for block, columns in self.blocks.items()
        }
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
            one, two = ([column.name for column in part] for part in (columns, other.blocks[name]))
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
            name: united_block(columns, other.blocks[name]) for name, columns in self.blocks.items()
        }
        names = (*self.names, *(name for name in other.names if name not in set(self.names)))
        return dataclasses.replace(self, blocks=blocks, names=names)

    def binned(self) -> dict[Name, Column]:
        """Return the numeric columns behind those that are read as bins, by name."""
        blocks = self.blocks.values()
        names = [c.name for columns in blocks for c in columns if c.edges is not None]
        return {name: Column(name, "numbers") for name in names}

    def with_bins(self, seen: Sequence[tuple[Table, Weights]], bins: int | str) -> "Schema":
        """Return the schema with the edges of bins learned from all rows.

        seen: the rows of each call, and their weights.
        """
        found = [self._matched(table, "Classifier") for table, _ in seen]
        weight = np.concatenate([weight for _, weight in seen])

        def cut(column: Column) -> Column:
            if column.edges is None:
                return column
            cells = []
            for one, (_, own) in zip(found, seen, strict=True):
                batch = one.cells([column])[0]
                absent = batch is None or batch.kind == "level"
                cells.append(np.full(len(own), np.nan) if absent else batch.values)
            return with_edges(column, quantile_edges(np.concatenate(cells), weight, bins))

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
            unseen: a level absent from the fit is "missing" (with a warning) or an "error".
            estimator: named in the error about a wrong number of columns.

        Raises:
            InvalidData: an array has another number of columns than at fit; a column no longer
                suits its block; see `unseen`.
        """
        if unseen not in ("missing", "error"):
            raise not_one_of("unseen", unseen, ("missing", "error"))
        if table.is_sparse:
            check_number(self.names, table, estimator)
            return encoded_sparse(table, self.names, self.blocks)
        found = self._matched(table, estimator)
        return {
            block: encoded_pattern(found.cells(columns), table.n_rows)
            if columns[0].kind == MISSING
            else encoded_block(
                columns,
                found.cells(columns),
                found.matrix(columns),
                n_rows=table.n_rows,
                unseen=unseen,
            )
            for block, columns in self.blocks.items()
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
                if column.kind == MISSING:
                    marked[column.reads] = cells[:n_rows, j] == 1
                    continue
                values[column.name] = decoded_cells(column, cells[:n_rows, j])
                if column.declared:
                    declared[column.name] = column.levels
        for name in marked.keys() & values.keys():
            values[name] = values[name].copy()
            values[name][marked[name]] = None if values[name].dtype == object else np.nan
        if self.container == "numpy":
            values = dict.fromkeys(self.names, np.full(n_rows, np.nan)) | values
        ordered = {name: values[name] for name in self.names if name in values}
        return build_frame(ordered, self.container, declared=declared)

    def unused(self) -> set[Name]:
        """Return the columns that no block reads; of sparse tables, which hold numbers, none."""
        return set() if self.container in SPARSE else set(self.names) - self.used()

    def used(self) -> set[Name]:
        """Return the columns that blocks read."""
        return {column.reads for columns in self.blocks.values() for column in columns}

    def missing_cells(self, table: Table) -> dict[Name, tuple[Name, Bool[np.ndarray, " row"]]]:
        """Return, for each column that a block reads, its name in a table and its missing cells.

        All cells of an absent column are missing. A level absent from the fit counts as observed.
        """
        out, used = {}, self.used()
        columns = matched(self.names, self.container, table, "Classifier")
        for name, found in zip(self.names, columns, strict=True):
            if name not in used:
                continue
            if found is None:
                out[name] = name, np.ones(table.n_rows, dtype=bool)
            else:
                out[name] = found.name, found.missing
        return out

    def origin(self, block: str) -> Float[np.ndarray, " feature"]:
        """Return the offsets subtracted from the columns of a block, each in its own unit."""
        columns = self.blocks[block]
        if isinstance(columns, NumericColumns):
            return np.zeros(len(columns))
        return offsets(columns)

    def origins(self) -> dict[str, Float[np.ndarray, " feature"]]:
        """Return the same of every block."""
        return {block: self.origin(block) for block in self.blocks}

    def power_transforms(self) -> dict[str, PowerTransforms]:
        """Return the power transforms of the blocks that have any."""
        return {
            name: transforms
            for name, columns in self.blocks.items()
            if not isinstance(columns, NumericColumns)
            and any(column.transform is not None for column in columns)
            and (transforms := power_transforms_of(columns)) is not None
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
        return np.nan_to_num([one.origin - other.origin for one, other in pairs])

    def level_index(self, later: "Schema", block: str) -> Int[np.ndarray, " level"]:
        """Return the positions of a block's flat levels in a schema that has all of them."""
        start, index = 0, [np.empty(0, np.int64)]
        for column, merged in zip(self.blocks[block], later.blocks[block], strict=True):
            place = {level: start + i for i, level in enumerate(merged.levels)}
            index.append(np.array([place[level] for level in column.levels], dtype=np.int64))
            start += len(merged.levels)
        return np.concatenate(index)

    def _matched(self, table: Table, estimator: str) -> "MatchedTable":
        columns = matched(self.names, self.container, table, estimator)
        in_order = by_position(self.container, table) or tuple(table.names) == tuple(self.names)
        position = {name: i for i, name in enumerate(self.names)}
        return MatchedTable(columns, table.matrix if in_order else None, position)


# -- matching the columns of a table with those of the fit -----------------------------------------


@dataclass(frozen=True)
class MatchedTable:
    """The columns of a table in the order of the fitted ones; None for an absent one.

    every: all of them. whole: the same cells as one array, if they lie in one. position: of each
    fitted name.
    """

    every: Sequence[TableColumn | None]
    whole: Block | None
    position: dict[Name, int]

    def cells(self, columns: Columns) -> Sequence[TableColumn | None]:
        """Return the columns of the table that some columns of the fit read."""
        return Selected(self.every, [self.position[column.reads] for column in columns])

    def matrix(self, columns: Columns) -> Block | None:
        """Return the same cells as one array, if they lie in one."""
        return columns_of(self.whole, [self.position[column.reads] for column in columns])


def check_columns(
    names: Names, read: Collection[Name], container: str, table: Table, estimator: str
) -> None:
    """Compare the columns of a table with the fitted ones: warn of absent ones, refuse others.

    Columns of a DataFrame may come in any order. Absent ones are missing in every row; one warning
    names them all.

    Args:
        names: the fitted columns.
        read: those of them that are used; others may be absent without a warning.
        container: type of the fitted table.
        table: the rows at hand. If either came in an array, columns are known by position.
        estimator: named in the error about a wrong number of columns.

    Raises:
        InvalidData: a name absent from the fit; for arrays, a different number of columns.
    """
    if by_position(container, table):
        check_number(names, table, estimator)
        return
    absent, known = absent_columns(names, read, container, table), set(names)
    unseen = tuple(name for name in table.names if name not in known)
    if unseen:
        no_columns = len(unseen) == len(table.names)
        raise _not_fitted(unseen, absent, no_columns=no_columns, dicts=table.dicts)
    if absent:
        warn(_absent_warning(absent, len(read)))


def _not_fitted(unseen: tuple, absent: tuple, *, no_columns: bool, dicts: str) -> InvalidData:
    """Return the error about columns absent from the fit; the first words are scikit-learn's.

    Args:
        unseen: those columns.
        absent: fitted ones that the frame lacks.
        no_columns: whether it has no fitted column at all.
        dicts: whether rows came as a "dict", "dicts" in a list, or as "none".
    """
    problem = (
        "The feature names should match those that were passed during fit.\n"
        "Feature names unseen at fit time:\n{unseen_lines}"
    )
    cures = []
    if not no_columns:
        few = "X.drop(columns=[{unseen:listed}])"
        few = few if len(unseen) <= 5 else "X.filter(items=clf.feature_names_in_)"
        if dicts != "none":
            row = "X" if dicts == "dict" else "row"
            few = f"{{{{name: {row}[name] for name in {row} if name in clf.feature_names_in_}}}}"
            few = few if dicts == "dict" else f"[{few} for row in X]"
        cures.append(f"leave out columns that the fit did not have, {few}")
    if absent:
        problem += "Feature names seen at fit time, yet now missing:\n{absent_lines}"
        rename = "X.rename(columns={{{unseen[0]!r}: {absent[0]!r}}})"
        if dicts == "dict":
            rename = "X[{absent[0]!r}] = X.pop({unseen[0]!r}, None)"
        elif dicts == "dicts":
            rename = "for row in X: row[{absent[0]!r}] = row.pop({unseen[0]!r}, None)"
        cures.append(f"use the column names of the fit, {rename}")
    cure = ", or ".join(cures)
    return InvalidData(
        f"{problem}{cure[0].upper()}{cure[1:]}.",
        unseen=unseen,
        absent=absent,
        unseen_lines=_bullets(unseen),
        absent_lines=_bullets(absent),
    )


def _bullets(names: tuple) -> str:
    first = sorted(names, key=str)[:5]
    return "".join(f"- {name}\n" for name in first) + ("- ...\n" if len(names) > 5 else "")


def _absent_warning(absent: tuple, n_columns: int) -> CountsAsMissing:
    """Return the warning of some of the fitted columns, which a table lacks."""
    add = "Add what is known to X"
    if all(isinstance(name, str) for name in absent):
        add += (
            "; X.reindex(columns=clf.feature_names_in_) adds empty columns without this warning, "
            "as None for each of them does in a dict"
        )
    return CountsAsMissing(
        "{table} lacks {columns:len} of the {n_columns:,} fitted columns, the {columns:named "
        "column}; {count} as missing in every row.",
        Cure(f"{add}.", "Add what is known to the file."),
        table=TABLE,
        columns=absent,
        n_columns=n_columns,
        count="it counts" if len(absent) == 1 else "they count",
    )


def absent_columns(
    names: Names, read: Collection[Name], container: str, table: Table
) -> tuple[Name, ...]:
    """Return which of the fitted columns that are used a table lacks, in their order."""
    if by_position(container, table):
        return ()
    there = set(table.names)
    return tuple(name for name in names if name in read and name not in there)


def matched(
    names: Names, container: str, table: Table, estimator: str
) -> Sequence[TableColumn | None]:
    """Return the table's columns in the order of the fitted names; None for an absent one.

    Raises:
        InvalidData: for arrays another number of columns.
    """
    if by_position(container, table):
        check_number(names, table, estimator)
        return table.columns
    by_name = {column.name: column for column in table.columns}
    return tuple(by_name.get(name) for name in names)


def by_position(container: str, table: Table) -> bool:
    """Return whether the columns of a table, or those of the fitted one, have no names."""
    return not {"numpy", *SPARSE}.isdisjoint((container, table.container))


def check_number(names: Names, table: Table, estimator: str) -> None:
    """Reject a number of columns other than that of the fit."""
    if len(table.columns) != len(names):
        raise InvalidData(
            "X has {found} features, but {estimator} is expecting {expected} features as input.",
            "Columns of an array are matched by position; for missing columns pass a DataFrame.",
            found=len(table.columns),
            expected=len(names),
            estimator=estimator,
        )
