"""Tables of a page, whose cells are text, bars or shades."""

import dataclasses
from collections.abc import Sequence


@dataclasses.dataclass(frozen=True)
class Bar:
    """A cell with a bar beside its text.

    share: length of the bar, from -1 to 1; below 0 it has the other color and a sign in the text.
    """

    share: float
    text: str


@dataclasses.dataclass(frozen=True)
class Shade:
    """A cell with a shaded background.

    share: darkness, from 0 to 1. right: whether the cell is what should be; others have the color
    of errors.
    """

    share: float
    text: str
    right: bool


Cell = str | Bar | Shade
LONG = 40
"""Letters of a text that takes more than one line."""
LEAST_LONG = 24
"""Letters beside each other that such a text has at least: 11 rem."""
TRACK, PADDING = 6, 1.3
"""Width of a bar and of the space after a column on a telephone, in letters."""
TELEPHONE = 50
"""Letters that a telephone of 390 pixels shows beside each other."""


@dataclasses.dataclass(frozen=True)
class Grid:
    """A table.

    heads: of the columns. rows: of cells. right: positions of the columns aligned to the right.
    """

    heads: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    right: Sequence[int] = ()

    def is_long(self, cell: Cell) -> bool:
        """Whether a cell is text that takes more than one line."""
        return isinstance(cell, str) and len(cell) > LONG

    @property
    def records(self) -> bool:
        """Whether a telephone is too narrow for the columns, so that it shows row after row."""
        width = sum(
            max(len(word) for cell in (head, *cells) for word in self._unbroken(cell)) + PADDING
            for head, *cells in zip(self.heads, *self.rows, strict=True)
        )
        return width > TELEPHONE

    def _unbroken(self, cell: Cell) -> list[str]:
        """Return the parts of a cell that stand in one line, at least one."""
        if isinstance(cell, Bar):
            return [" " * TRACK + cell.text]
        if isinstance(cell, Shade):
            return [cell.text]
        return [" " * LEAST_LONG if self.is_long(cell) else "", *cell.split()]
