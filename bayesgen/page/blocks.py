"""Blocks of a page: text, tables, figures, code and details, which the template renders."""

import dataclasses
from collections.abc import Sequence
from typing import ClassVar, Literal


@dataclasses.dataclass(frozen=True)
class Bar:
    """A cell with a bar beside its text.

    share: length of the bar, from -1 to 1; below 0 it has the other color and a sign in the text.
    """

    share: float
    text: str
    kind: ClassVar = "bar"


@dataclasses.dataclass(frozen=True)
class Shade:
    """A cell with a shaded background.

    share: darkness, from 0 to 1. right: whether the cell is what should be; others have the color
    of errors.
    """

    share: float
    text: str
    right: bool = True
    kind: ClassVar = "shade"


Cell = str | Bar | Shade


@dataclasses.dataclass(frozen=True)
class Text:
    """A paragraph.

    tone: "good" and "warning" have a color and a mark of their own; "muted" is a side remark.
    """

    words: str
    tone: Literal["", "good", "warning", "muted"] = ""
    kind: ClassVar = "text"


@dataclasses.dataclass(frozen=True)
class Grid:
    """A table.

    heads: of the columns. rows: of cells. right: positions of the columns aligned to the right.
    """

    heads: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    right: Sequence[int] = ()
    kind: ClassVar = "grid"


@dataclasses.dataclass(frozen=True)
class Figures:
    """Figures side by side, as many as fit: <svg> elements."""

    svgs: Sequence[str]
    kind: ClassVar = "figures"


@dataclasses.dataclass(frozen=True)
class Code:
    """Code, line by line."""

    text: str
    kind: ClassVar = "code"


@dataclasses.dataclass(frozen=True)
class Details:
    """Blocks behind a line that opens them."""

    summary: str
    blocks: "Sequence[Block]"
    kind: ClassVar = "details"


Block = Text | Grid | Figures | Code | Details


@dataclasses.dataclass(frozen=True)
class Section:
    """A heading and what stands below it."""

    title: str
    blocks: Sequence[Block]
