"""Shared plot style: color-blind-safe colors, markers and lines that survive grayscale."""

import textwrap
from collections.abc import Iterable, Mapping
from typing import Any

from bayesgen.errors.packages import require_package

Axes = Any
"""Axes of matplotlib, which is imported only when something is drawn."""
Option = Any

COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8C6D31", "#000000")
"""Okabe and Ito (2008), "Color Universal Design", yellow replaced by brown: it drowns in white."""

MARKERS = ("o", "^", "s", "D", "v", "P", "X", "*")
LINES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1, 1, 1)), (0, (1, 1)), (0, (7, 2)))

INK, FAINT = "#333333", "#999999"


TURNED = {"rotation": 30, "ha": "right", "rotation_mode": "anchor"}
"""How long names stand below an axis."""


def color(k: int) -> str:
    """Return the color of class k; colors, markers and lines repeat after eight classes."""
    return COLORS[k % len(COLORS)]


def marker(k: int) -> str:
    """Return the marker of class k."""
    return MARKERS[k % len(MARKERS)]


def line(k: int) -> object:
    """Return the line style of class k."""
    return LINES[k % len(LINES)]


UNSEEN = "\u200b"
"""A blank without width."""


def in_legend(name: object) -> str:
    """Return a name for a legend; matplotlib leaves out those that begin with an underscore."""
    text = str(name)
    return f"{UNSEEN}{text}" if text.startswith("_") else text


def texts_of(ax: Axes) -> dict[Any, str]:
    """Return what is written on axes, and in the legends of their figure."""
    from matplotlib.text import Text

    legends = [text for legend in ax.figure.legends for text in legend.findobj(Text)]
    return {text: text.get_text() for text in (*ax.findobj(Text), *legends)}


LETTER = 0.073
"""Width of a letter in inches, of text of 10 points."""
OF_LEVEL = 16
"""Letters of a line of a level below an axis, which stands beside others."""
OF_NAME = 24
"""Letters of a line of a name beside an axis, or in a legend."""


def wrapped(text: str, width: int) -> str:
    """Return a text whose lines have at most so many letters; shorter lines stay as they are."""
    lines = text.split("\n")
    return "\n".join(textwrap.fill(line, width) if len(line) > width else line for line in lines)


def height_of(names: Iterable[object], row: float) -> float:
    """Return the height of a row of a plot in inches, of which each has the room of its name.

    Args:
        names: beside the rows.
        row: the height of one that has a name of one line.
    """
    lines = max((wrapped(str(name), OF_NAME).count("\n") for name in names), default=0)
    return max(row, 0.18 * (lines + 1))


def _wrap(ax: Axes, written: Iterable[Any]) -> None:
    """Break the lines of long names: of levels, of labels as long as the axes, of legends.

    Names beside the axes, and a legend beside the figure, take their width from the labels.

    Args:
        ax: on which they are written.
        written: the texts that may change.
    """
    from matplotlib.legend import Legend
    from matplotlib.text import Text
    from matplotlib.ticker import FixedLocator

    grid = ax.get_subplotspec()
    rows, columns = (1, 1) if grid is None else grid.get_gridspec().get_geometry()
    across, up = ax.figure.get_size_inches() / (columns, rows) / LETTER
    legends = [text for legend in ax.findobj(Legend) for text in legend.findobj(Text)]
    legends += [text for legend in ax.figure.legends for text in legend.findobj(Text)]
    across, up = across - OF_NAME * bool(ax.figure.legends), 0.7 * up
    ticks: set[Text] = set()
    for axis, width in ((ax.xaxis, OF_LEVEL), (ax.yaxis, OF_NAME)):
        ticks |= {*axis.findobj(Text)} - {axis.label}
        names = [tick.get_text() for tick in axis.get_ticklabels()]
        fixed = isinstance(axis.get_major_locator(), FixedLocator)
        if fixed and any(len(name) > width for name in names):
            axis.set_ticklabels([wrapped(name, width) for name in names])
            across -= width * (axis is ax.yaxis)
    for text in written:
        if text not in ticks:
            width = OF_NAME if text in legends else up if text is ax.yaxis.label else across
            text.set_text(wrapped(text.get_text(), max(int(0.9 * width), OF_LEVEL)))


def as_they_are(ax: Axes, earlier: Mapping[Any, str] | None = None) -> None:
    """Let names be drawn character by character, without mathematics between dollars, and whole.

    Numbers of axes keep theirs: powers of ten are written so.

    Args:
        ax: that were drawn on.
        earlier: what was written on them before; None: nothing. It stays as it was.
    """
    from matplotlib.text import Text
    from matplotlib.ticker import FixedLocator

    numbers: set[Text] = set()
    for axis in (ax.xaxis, ax.yaxis):
        if not isinstance(axis.get_major_locator(), FixedLocator):
            numbers |= {*axis.findobj(Text)} - {axis.label}
    written = []
    for text, words in texts_of(ax).items():
        if text in numbers or (words and (earlier or {}).get(text) == words):
            continue
        text.set_parse_math(False)
        text.set_text(words.removeprefix(UNSEEN))
        written.append(text)
    _wrap(ax, written)


def pyplot() -> Any:
    """Return matplotlib.pyplot; MissingPackage where matplotlib is not installed.

    Plotting functions call this first, so that they fail before anything is computed.
    """
    require_package("matplotlib", "pictures")
    import matplotlib.pyplot as plt

    return plt


def tidy(ax: Axes) -> None:
    """Remove the upper and right spines and lighten the others."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(FAINT)
    ax.tick_params(colors=INK)
