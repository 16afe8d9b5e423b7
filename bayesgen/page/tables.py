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


@dataclasses.dataclass(frozen=True)
class Grid:
    """A table.

    heads: of the columns. rows: of cells. right: positions of the columns aligned to the right.
    """

    heads: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    right: Sequence[int] = ()
