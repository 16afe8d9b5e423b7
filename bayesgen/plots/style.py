"""Shared plot style: color-blind-safe colors, markers and lines that survive grayscale."""

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
