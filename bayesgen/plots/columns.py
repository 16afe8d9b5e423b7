"""What pictures with a panel for each column share: which columns, and the bars of levels."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Num

from bayesgen.plots.display import Display
from bayesgen.plots.probing import named
from bayesgen.plots.style import Axes, color
from bayesgen.table import Table, TableColumn

FIRST = 12
"""Columns that are drawn where none are chosen."""


def chosen(table: Table, features: list | tuple | None) -> list[TableColumn]:
    """Return columns by name or by position; None: the first twelve."""
    return [named(table, name) for name in (table.names[:FIRST] if features is None else features)]


def count_columns(display: Display, table: Table) -> None:
    """Say above the panels of a new figure how many columns it shows, if not all."""
    shown, whole = len(display.axes_ or []), len(table.names)
    if shown < whole:
        title = f"{shown} of {whole:,} columns (features= chooses others)"
        display.figure_.suptitle(title, fontsize="medium")


def observed(column: TableColumn) -> Num[np.ndarray, " _"]:
    """Return the cells that are not missing: numbers, or positions of levels."""
    values = column.values
    return values[~np.isnan(values) if column.kind == "number" else values >= 0]


def level_shares(codes: np.ndarray, n_levels: int) -> Float[np.ndarray, " level"]:
    """Return the share of each level among codes; 0 where there are none."""
    return np.bincount(codes.astype(int), minlength=n_levels) / max(len(codes), 1)


def draw_levels(
    ax: Axes, levels: Sequence, groups: Sequence, shares: Float[np.ndarray, "group level"]
) -> Float[np.ndarray, "group level"]:
    """Draw bars of the shares of levels, side by side for each group; return their centers."""
    width, place = 0.8 / len(groups), np.arange(len(levels))
    centers = place + width * (np.arange(len(groups)) - (len(groups) - 1) / 2)[:, None]
    for k, group in enumerate(groups):
        ax.bar(centers[k], shares[k], 0.9 * width, color=color(k), alpha=0.6, label=str(group))
    names = [str(level) for level in levels]
    long = max(map(len, names)) > 6 or len(names) > 5
    ax.set_xticks(place, names, rotation=30 if long else 0)
    return centers
