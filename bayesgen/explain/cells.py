"""Cells of encoded rows: where columns are encoded, which are missing, and other values in them."""

import dataclasses
import itertools
from collections.abc import Callable, Iterable, Mapping

import numpy as np
from jaxtyping import Bool

from bayesgen.inference import Posterior
from bayesgen.inference.posterior import take_rows
from bayesgen.likelihoods import base
from bayesgen.schema import Column, Schema
from bayesgen.schema.blocks import decoded_cells
from bayesgen.table import Name, Table
from bayesgen.typing import Encoded, Traceable

Score = Callable[[Encoded, int], np.ndarray]
"""(encoded rows, their number) -> log p(shown cells, y = k), shape (row, class) or
(row, draw, class)."""

Place = tuple[str, int]
"""Where a column is encoded: its block, and its position there."""

Cell = tuple[Place, ...]
"""A column: one place, or several where several posteriors read it."""


@dataclasses.dataclass(frozen=True, eq=False)
class Rows:
    """Encoded rows, their table, and where each of its columns is encoded.

    posterior: that reads them. encoded: one array for each block. n_rows: how many.
    table: what they were read from. schema: of the columns whose cells can be filled in.
    cells: where the columns are encoded, in the order of the table at fit.
    """

    posterior: Posterior
    encoded: Encoded
    n_rows: int
    table: Table
    schema: Schema
    cells: Mapping[Name, Cell]

    def places(self, name: Name) -> list[tuple[Place, Column]]:
        """Return where a column's cells can be filled in, and what the fit knows of it there."""
        return [((block, j), self.schema.blocks[block][j]) for block, j in self.cells[name]]

    @property
    def names(self) -> list[Name]:
        """The columns whose cells can be filled in."""
        return list(self.cells)

    def missing(self) -> dict[Name, tuple[Name, Bool[np.ndarray, " row"]]]:
        """Return by column its name in the table, and which of its cells are missing."""
        return self.schema.missing_cells(self.table)

    def kind(self, name: Name) -> str:
        """Return how the values of a column are gone through, as `Column.kind`."""
        return self.places(name)[0][1].kind

    def listed(self, name: Name) -> tuple:
        """Return everything that a column may hold, in codes; () of numbers and counts."""
        column = self.places(name)[0][1]
        return (0, 1) if column.kind == "binary" else tuple(range(len(column.levels)))

    def values(self, encoded: Encoded, name: Name) -> np.ndarray:
        """Return the cells of a column of rows that were filled in, as `with_values` takes them."""
        (block, j), _ = self.places(name)[0]
        return encoded[block][:, j]

    def with_values(self, rows: np.ndarray, name: Name, values: np.ndarray) -> Encoded:
        """Return some of the rows, encoded, with other values, or codes, in one column."""
        (block, j), _ = self.places(name)[0]
        out = take_rows(self.encoded, rows)
        out[block] = out[block].copy()
        out[block][:, j] = values
        return out

    def decoded(self, encoded: Encoded) -> dict[Name, np.ndarray]:
        """Return the cells of rows that were filled in by column, as a person writes them.

        Where several posteriors read a column, each cell is that of the one that filled it in.
        """
        return {name: self.decoded_column(encoded, name) for name in self.names}

    def decoded_column(self, encoded: Encoded, name: Name) -> np.ndarray:
        """Return the same of one column."""
        (block, j), column = self.places(name)[0]
        out = decoded_cells(column, encoded[block][:, j])
        for (block, j), column in self.places(name)[1:]:
            x = encoded[block][:, j]
            out = np.where(base.is_missing(x), out, decoded_cells(column, x))
        return out


def blank(encoded: Encoded) -> dict[str, Traceable]:
    """Return rows of which nothing is shown."""
    return {name: np.full_like(x, _nothing(x)) for name, x in encoded.items()}


def show(shown: Mapping[str, Traceable], encoded: Encoded, cells: Iterable[Cell]) -> dict:
    """Return the rows with the cells of some more columns."""
    out = dict(shown)
    for block, j in itertools.chain.from_iterable(cells):
        if out[block] is shown[block]:
            out[block] = out[block].copy()
        out[block][:, j] = encoded[block][:, j]
    return out


def is_missing(encoded: Encoded, cell: Cell) -> np.ndarray:
    """Return whether each row misses the cell of a column."""
    return np.all([base.is_missing(encoded[block][:, j]) for block, j in cell], axis=0)


def _nothing(x: np.ndarray) -> float | int:
    return np.nan if x.dtype.kind == "f" else -1
