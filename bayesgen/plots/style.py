"""Shared plot style: color-blind-safe colors, markers and lines that survive grayscale."""

from collections.abc import Mapping
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


def as_they_are(ax: Axes, earlier: Mapping[Any, str] | None = None) -> None:
    """Let names be drawn character by character, without mathematics between dollars.

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
    for text, words in texts_of(ax).items():
        if text in numbers or (words and (earlier or {}).get(text) == words):
            continue
        text.set_parse_math(False)
        text.set_text(words.removeprefix(UNSEEN))


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
