"""Cells of encoded rows: column positions, missing values, substituted and imputed values."""

import dataclasses
from collections.abc import Mapping
from typing import TypeVar, cast

import numpy as np
from jaxtyping import Bool, Int

from bayesgen.inference import Components
from bayesgen.inference.components import take_rows
from bayesgen.likelihoods import base
from bayesgen.predict import ReadRows
from bayesgen.schema import Reading, Schema
from bayesgen.schema.matching import matched
from bayesgen.table import Name, Table, fill_table
from bayesgen.typing import Encoded, Self

T = TypeVar("T")
"""A table of any kind: the result is of the same kind."""

Place = tuple[str, int]
"""Position of an encoded column: its block, and its index there."""

Cell = tuple[Place, ...]
"""A column: one place, or several where several posteriors read it."""


@dataclasses.dataclass(frozen=True, eq=False)
class Rows(ReadRows):
    """Read rows, their table, and the positions of its columns.

    table: their source. schema: of the columns whose cells can be imputed. cells: the positions of
    the columns, in the order of the table at fit.
    """

    table: Table
    schema: Schema
    cells: Mapping[Name, Cell]

    @property
    def components(self) -> Components:
        """The components of the posterior, which fill cells."""
        return self.posterior.components

    def places(self, name: Name) -> list[tuple[Place, Reading]]:
        """Return where a column whose cells can be imputed is encoded, and its `Reading` there."""
        return [((block, j), self.schema.blocks[block][j]) for block, j in self.cells[name]]

    @property
    def names(self) -> list[Name]:
        """The columns whose cells can be imputed."""
        fitted = set(self.schema.names)
        return [name for name in self.cells if name in fitted]

    def missing(self) -> dict[Name, tuple[Name, Bool[np.ndarray, " row"]]]:
        """Return by column its name in the table, and which of its cells are missing."""
        return self.schema.missing_cells(self.table)

    def written(self, name: Name) -> np.ndarray:
        """Return the cells of a column, NaN where missing: numbers, levels, or 0 and 1."""
        if name not in self.schema.names:
            block, j = self.cells[name][0]
            return np.asarray(self.encoded[block][:, j], dtype=float)
        column = matched(self.schema.names, self.schema.container, self.table, "").column(name)
        if column.kind == "number":
            return column.values
        return np.array([*column.levels, np.nan], dtype=object)[column.values]

    def take(self, at: Int[np.ndarray, " some"]) -> Self:
        """Return some of the rows, by position."""
        return dataclasses.replace(super().take(at), table=self.table.take(at))

    def kind(self, name: Name) -> str:
        """Return the kind of a column, by which its values are enumerated (`Reading.kind`)."""
        return self.places(name)[0][1].kind

    def listed(self, name: Name) -> tuple:
        """Return all possible values of a column, in codes; () for numbers and counts."""
        column = self.places(name)[0][1]
        return (0, 1) if column.kind == "binary" else tuple(range(len(column.levels)))

    def values(self, encoded: Encoded, name: Name) -> np.ndarray:
        """Return the cells of one column of imputed rows, in the form that `with_values` takes."""
        (block, j), _ = self.places(name)[0]
        return encoded[block][:, j]

    def decoded_values(self, name: Name, values: np.ndarray) -> np.ndarray:
        """Return cells of one column, in the form that `with_values` takes, in its own units."""
        column = self.places(name)[0][1]
        cells = values.ravel() if column.kind == "levels" else values.ravel().astype(float)
        return column.in_units(cells).reshape(values.shape)

    def with_values(self, rows: np.ndarray, name: Name, values: np.ndarray) -> Encoded:
        """Return some of the rows, encoded, with other values, or codes, in one column."""
        (block, j), _ = self.places(name)[0]
        out = take_rows(self.encoded, rows)
        out[block] = out[block].copy()
        out[block][:, j] = values
        return out

    def decoded_column(self, encoded: Encoded, name: Name, *, in_units: bool = False) -> np.ndarray:
        """Return the cells of one column of imputed rows, in the user's own values.

        Where several posteriors read a column, each cell is from the one that imputed it.

        in_units: whether numbers are to be such, however the user writes them.
        """
        (block, j), column = self.places(name)[0]
        x = encoded[block][:, j]
        out = column.in_units(x) if in_units else column.decode(x)
        for (block, j), column in self.places(name)[1:]:
            x = encoded[block][:, j]
            own = column.in_units(x) if in_units else column.decode(x)
            out = np.where(base.is_missing(x), out, own)
        return out


def is_missing(encoded: Encoded, cell: Cell) -> np.ndarray:
    """Return whether each row misses the cell of a column."""
    return np.all([base.is_missing(encoded[block][:, j]) for block, j in cell], axis=0)


def imputed(X: T, rows: Rows, draws: int, rng: np.random.Generator) -> T | list[T]:
    """Return the table with cells drawn from p(missing given observed, data), or a list of tables.

    Args:
        X: the table that the rows were read from.
        rows: whose missing cells are drawn.
        draws: number of tables; 1 returns the table itself, not a list.
        rng: random numbers.
    """
    filled = (rows.components.impute(rows.encoded, rows.n_rows, rng) for _ in range(draws))
    tables = [_filled_in(X, rows, encoded) for encoded in filled]
    return tables[0] if draws == 1 else tables


def _filled_in(X: T, rows: Rows, encoded: Encoded) -> T:
    """Return X with its missing cells filled in from imputed rows."""
    blocks = rows.schema.blocks.values()
    levels = {c.name: c.levels for block in blocks for c in block if c.declared}
    missing, cells, declared = rows.missing(), {}, {}
    for name in rows.names:
        column, gaps = missing[name]
        cells[column] = gaps, rows.decoded_column(encoded, name)
        if name in levels:
            declared[column] = levels[name]
    names = list(rows.table.names)
    fitted = [name for name in rows.schema.names if name in cells or name in names]
    # in the order of the fit, unless the table has one of its own
    ordered = [name for name in fitted if name in names] == names
    columns = fitted if ordered else dict.fromkeys([*names, *cells])
    return cast(T, fill_table(X, rows.table.container, tuple(columns), cells, declared))
