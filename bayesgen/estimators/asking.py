"""What a fitted classifier says of missing cells: what they are worth, and what they may hold."""

import abc
import functools
from collections.abc import Mapping
from typing import Literal, TypeVar, cast, overload

import numpy as np

from bayesgen import arguments, explain
from bayesgen.errors import NoRows, UnsupportedInference, deduplicate_warnings
from bayesgen.estimators.looking import Looking
from bayesgen.estimators.seeds import generator
from bayesgen.estimators.valuing import Asker, Valuing
from bayesgen.schema import Column, Schema, absent_columns
from bayesgen.schema.blocks import decoded_cells
from bayesgen.table import Name, Names, Table, fill_table, is_frame, read_table
from bayesgen.typing import Encoded

T = TypeVar("T")
"""A table of any kind: what is asked of one is answered by another of the same."""


class Asking(Looking, Valuing, abc.ABC):
    """Which missing cell is worth asking for, and what it may hold."""

    @abc.abstractmethod
    def _read(self, X: object, *, reset: bool) -> Table:
        """Return the table of rows."""

    @overload
    def impute(self, X: T, draws: Literal[1] = ..., *, random_state: object = ...) -> T: ...
    @overload
    def impute(self, X: T, draws: int, *, random_state: object = ...) -> list[T]: ...
    @deduplicate_warnings()
    def impute(self, X: T, draws: int = 1, *, random_state: object = None) -> T | list[T]:
        """Return the table with its missing cells drawn from p(missing given observed, data).

        The class of a row is drawn from what the row shows, then its cells given that class, with
        the parameters integrated out: rows are filled in one by one, each from the predictive
        distribution that `score_samples` is the density of. Observed cells come back bit for bit,
        in the same kind of table with the same index and, where they can hold it, types; an absent
        column is added. Cells of columns that no likelihood reads, or that say nothing (constant or
        never observed at fit), stay missing.

        Args:
            X: rows.
            draws: 1 returns one table; more return a list of tables, each filled in anew.
            random_state: seed.

        Raises:
            UnsupportedInference: a likelihood that cannot fill its cells (words of a text), or a
                story of your own.

        Example:
            >>> import bayesgen as bg
            >>> X, y = bg.datasets.load_iris()
            >>> holes = X.iloc[:2].assign(petal_width=[0.2, None])
            >>> bg.QDA().fit(X, y).impute(holes, random_state=0).petal_width.round(1).tolist()
            [0.2, 0.2]
        """
        draws = arguments.count("draws", draws)
        rng = generator(random_state)
        posterior, encoded, n_rows = self._cells_of(X, "impute()")
        table = self._own_columns(X, "impute()")
        filled = (explain.filled(posterior, encoded, n_rows, rng) for _ in range(draws))
        tables = [self._put(X, table, cells) for cells in filled]
        return tables[0] if draws == 1 else tables

    # -- the pieces -----------------------------------------------------------------------------

    def _askers(self, X: object, gain: explain.Gain, draws: int) -> dict[Name, Asker]:
        rows = self._cells_of(X, "feature_value()")
        schema = self._state_.schema
        missing_cells = schema.missing_cells(self._own_columns(X, "feature_value()"))
        askers: dict[Name, Asker] = {}
        for name, (block, j) in self._column_positions().items():
            column, asked = schema.blocks[block][j], np.flatnonzero(missing_cells[name][1])
            size = len(column.levels)
            question = explain.Question((block, j), column.kind, size, gain, draws)
            askers[name] = functools.partial(explain.worth, *rows, question, asked)
        return askers

    def _own_columns(self, X: object, what: str) -> Table:
        """Return the table of X, of whose columns none may have been made of another."""
        table = self._read(X, reset=False)
        made = set(table.names) - set(read_table(X, unread=lambda names: names).names)
        if made:
            raise UnsupportedInference.because(
                f"{what} of levels that are read as numbers",
                "a normal distribution over indicators draws no level",
                "Use a classifier that reads levels, such as NaiveBayes().",
            )
        return table

    def _column_positions(self) -> dict[Name, explain.Place]:
        """Return where each column that a block reads is encoded, in the order of the table."""
        schema = self._state_.schema
        found = {
            column.name: (block, j)
            for block, columns in schema.blocks.items()
            for j, column in enumerate(columns)
        }
        return {name: found[name] for name in schema.names if name in found}

    def _every_place(self) -> dict[Name, explain.Cell]:
        """Return the place of each column."""
        return {name: (place,) for name, place in self._column_positions().items()}

    def _check_complete(self, X: object) -> None:
        if is_frame(X):
            named = read_table(X, unread=lambda names: names)
            container = self._state_.schema.container
            absent = absent_columns(self._columns(), self._used(), container, named)
            if absent:
                raise NoRows.without_columns(absent)

    def _columns(self) -> Names:
        """Return the columns of the table that was fitted."""
        return self._state_.schema.names

    def _used(self) -> set[Name]:
        """Return those of them that a block reads."""
        made, used = self._made(), self._state_.schema.used()
        return {made[name].name if name in made else name for name in used}

    def _made(self) -> dict[Name, Column]:
        """Return the column of the table behind each column that was made of it."""
        return {}

    def _put(self, X: T, table: Table, filled: Encoded) -> T:
        """Return the table with the holes of its columns filled from encoded rows."""
        return fill_missing(X, table, self._state_.schema, self._written(filled))

    def _written(self, encoded: Encoded) -> dict[Name, np.ndarray]:
        """Return the cells of encoded rows by column, as a person writes them."""
        blocks = self._state_.schema.blocks
        return {
            name: decoded_cells(blocks[block][j], encoded[block][:, j])
            for name, (block, j) in self._column_positions().items()
        }


def fill_missing(X: T, table: Table, schema: Schema, written: Mapping[Name, np.ndarray]) -> T:
    """Return X, of which `table` was read, with holes of its columns filled from whole columns."""
    levels = {c.name: c.levels for part in schema.blocks.values() for c in part if c.declared}
    missing_cells, cells, declared = schema.missing_cells(table), {}, {}
    for name, values in written.items():
        own, missing = missing_cells[name]
        cells[own] = missing, values
        if name in levels:
            declared[own] = levels[name]
    there = tuple(table.names)
    fitted = [name for name in schema.names if name in cells or name in there]
    # in the order of the fit, unless the table has one of its own
    ordered = [name for name in fitted if name in there] == list(there)
    names = fitted if ordered else dict.fromkeys([*there, *cells])
    return cast(T, fill_table(X, table.container, tuple(names), cells, declared))
