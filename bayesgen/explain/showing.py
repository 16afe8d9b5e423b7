"""Rows of which some cells are shown, and the others blank."""

import itertools
from collections.abc import Callable, Iterable, Mapping

import numpy as np

from bayesgen.likelihoods.conditional_draws import is_missing_cell
from bayesgen.typing import Encoded, Traceable

Score = Callable[[Encoded, int], np.ndarray]
"""(encoded rows, their number) -> log p(shown cells, y = k), shape (row, class) or
(row, draw, class)."""

Place = tuple[str, int]
"""Where a column is encoded: its block, and its position there."""

Cell = tuple[Place, ...]
"""A column: one place, or several where several posteriors read it."""


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


def put(encoded: Encoded, place: Place, values: np.ndarray) -> dict[str, Traceable]:
    """Return rows whose cells of one column are replaced."""
    block, j = place
    x = encoded[block].copy()
    x[:, j] = values
    return {**encoded, block: x}


def take(encoded: Encoded, rows: np.ndarray | slice) -> dict[str, Traceable]:
    """Return some of the rows."""
    return {name: x[rows] for name, x in encoded.items()}


def missing(encoded: Encoded, cell: Cell) -> np.ndarray:
    """Return whether each row misses the cell of a column."""
    return np.all([is_missing_cell(encoded[block][:, j]) for block, j in cell], axis=0)


def _nothing(x: np.ndarray) -> float | int:
    return np.nan if x.dtype.kind == "f" else -1
