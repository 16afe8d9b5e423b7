"""Rows, columns and classes of a table in an order that their content alone determines.

Whatever is drawn, or tried in turn, for rows and columns in this order depends neither on names
nor on the order, the direction and the units in which the table is told.

Rows, columns and classes have colors, which are refined in turn, as for the isomorphism of graphs:
the color of a column is that of the multiset of its cells, each with the color of its row, and so
on, until no color tells more apart. A column is read in the direction in which its color is the
larger one. What still has equal colors is told apart by nothing but its place, as the rows, columns
or classes of a table with an exact symmetry.

Source: Weisfeiler and Leman (1968), The reduction of a graph to canonical form and the algebra
which appears therein, Nauchno-Technicheskaya Informatsia 2 (9), 12-16.
"""

import dataclasses

import numpy as np
from jaxtyping import Bool, Int, UInt64

from bayesgen.table.content import mixed
from bayesgen.typing import Labels, Weights

MOST_ROUNDS = 20
"""Rounds of refinement: three suffice unless a table is nearly symmetric."""
SAME = 1e-9
"""Relative difference of weights that is rounding."""


@dataclasses.dataclass(frozen=True, eq=False)
class ContentOrder:
    """Positions of rows, columns and classes, in order.

    reflected: which columns, in their old order, are read from their highest value downward.
    """

    rows: Int[np.ndarray, " row"]
    columns: Int[np.ndarray, " column"]
    classes: Int[np.ndarray, " class"]
    reflected: Bool[np.ndarray, " column"]

    @classmethod
    def of(
        cls,
        ranks: Int[np.ndarray, "row column"],
        top: Int[np.ndarray, " column"],
        y: Labels,
        weight: Weights,
        n_classes: int,
    ) -> "ContentOrder":
        """Return the order of rows.

        Args:
            ranks: of the values of each column, from 0; -1 of a missing cell.
            top: the highest rank of each column.
            y: class codes.
            weight: of the rows.
            n_classes: number of classes.
        """
        missing = ranks < 0
        up, down = _hashed(ranks), _hashed(np.where(missing, -1, top - ranks))
        row = _hashed(_rank_of(weight))
        column, of_class = np.zeros(ranks.shape[1], np.uint64), np.zeros(n_classes, np.uint64)
        reflected, n_colors = np.zeros(ranks.shape[1], bool), 0
        for _ in range(MOST_ROUNDS):
            in_class = np.zeros(n_classes, np.uint64)
            np.add.at(in_class, y, mixed(row))
            of_class = mixed(of_class + mixed(in_class))
            row = mixed(row + of_class[y])
            rising, falling = (mixed(row[:, None] + cell).sum(axis=0) for cell in (up, down))
            # the same sum for either direction of a column
            column = mixed(column + mixed(rising) + mixed(falling))
            reflected, even = falling > rising, falling == rising
            one, other = mixed(column + up), mixed(column + down)
            cells = np.where(reflected, other, one)
            cells = np.where(even, mixed(one + other), cells)
            row = mixed(row + cells.sum(axis=1))
            colors = len(np.unique(row)) + len(np.unique(column)) + len(np.unique(of_class))
            before, n_colors = n_colors, colors + np.count_nonzero(~even)
            if n_colors == before:
                break
        return cls(_sorted(row), _sorted(column), _sorted(of_class), reflected)


def _sorted(color: UInt64[np.ndarray, "..."]) -> Int[np.ndarray, "..."]:
    """Return positions in the order of colors; equal ones stay as they are."""
    return np.argsort(color, kind="stable")


def _hashed(numbers: Int[np.ndarray, "..."]) -> UInt64[np.ndarray, "..."]:
    """Return the hashes of whole numbers from -1."""
    return mixed((numbers + 1).astype(np.uint64))


def _rank_of(weight: Weights) -> Int[np.ndarray, " row"]:
    """Return the rank of each weight among those that differ beyond rounding."""
    order = np.argsort(weight)
    rising = weight[order]
    rank = np.empty(len(weight), dtype=int)
    rank[order] = np.cumsum(np.diff(rising, prepend=rising[:1]) > SAME * rising)
    return rank
