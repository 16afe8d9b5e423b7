"""A comparison as an HTML page: tables and figures, which comparison.html puts in their places."""

import math
import os
from typing import Any

import numpy as np
import pandas as pd

from bayesgen import page
from bayesgen.compare.as_text import (
    HEADS,
    MEMBERS_LEGEND,
    SUBGROUPS_LEGEND,
    fits_in_words,
    legend,
    members_as_text,
    scores_as_text,
    subgroups_as_text,
)
from bayesgen.errors.notes import merged_by_name
from bayesgen.page import Grid
from bayesgen.plots import ReliabilityDisplay
from bayesgen.plots.style import FAINT, INK, Axes, color, tidy

Comparison = Any
"""A comparison, whose module imports this one."""


def write_page(comparison: Comparison, path: str | os.PathLike, title: str) -> None:
    """Write the page of a comparison to a file."""
    table, members = comparison.table, comparison.members
    roc = curves = None
    curved = [] if comparison.y.ndim == 2 else list(comparison.probabilities)
    if curved and len(comparison.classes) == 2:
        roc = page.svg(lambda ax: comparison.plot_roc(ax=ax), (4.2, 4.0))
    if len(comparison.curves):
        curves = page.svg(lambda ax: comparison.plot_learning_curves(ax=ax))
    html = page.html(
        "bayesgen.compare",
        "comparison.html",
        {},
        title=title,
        subtitle=comparison.heading,
        comparison=comparison,
        first=table.index[0],
        verdict=_verdict(comparison),
        scores=score_grid(comparison),
        legend=legend(table),
        fits=fits_in_words(table),
        differences=_differences(comparison) if len(table) > 1 else None,
        calibration=[
            page.svg(lambda ax, name=name: _draw_reliability(ax, comparison, name))
            for name in curved
        ],
        roc=roc,
        curves=curves,
        members=grid(members_as_text(members)) if len(members) else None,
        members_legend=MEMBERS_LEGEND,
        subgroups=None if comparison.by is None else grid(subgroups_as_text(comparison.subgroups)),
        subgroups_legend=SUBGROUPS_LEGEND,
        notes=[*comparison.notes, *map(str, merged_by_name(comparison.warned))],
    )
    page.write(path, html)


def _verdict(comparison: Comparison) -> str:
    """Return which classifier has the lowest log loss; "" if all are infinite."""
    loss = comparison.table["log_loss"]
    best, value = loss.idxmin(), loss.min()
    if not math.isfinite(value):
        return ""
    words = f"{best} has the lowest log loss, {value:.3f} nats a row"
    words = f"Of {len(loss)} classifiers, {words}." if len(loss) > 1 else f"{words}."
    first = loss.index[0]
    if best == first or (best, "log_loss") not in comparison.differences.index:
        return words
    low, high = comparison.differences.loc[(best, "log_loss"), ["lower", "upper"]]
    if math.isnan(low):
        return words
    sure = "below that of" if high < 0 else "not clearly below that of"
    return (
        f"{words} It is {sure} {first}: the difference is {value - loss[first]:+z.3f} "
        f"with a 95% interval from {low:+z.3f} to {high:+z.3f}."
    )


def score_grid(comparison: Comparison) -> Grid:
    """Return the table of scores; best ones are marked by a star."""
    table = comparison.table
    text = scores_as_text(table, comparison.folds)
    if len(table) > 1:
        for name, head in HEADS.items():
            higher = name in ("accuracy", "auc")
            best = table[name].max() if higher else table[name].min()
            cells = zip(text[head], table[name], strict=True)
            text[head] = [f"{cell} ★" if value == best else cell for cell, value in cells]
    return grid(text)


def grid(table: pd.DataFrame) -> Grid:
    """Return a DataFrame of text as a table of a page, with its index in the first columns."""
    names = [str(name or "") for name in table.index.names]
    index = [key if isinstance(key, tuple) else (key,) for key in table.index]
    rows = [
        [*map(str, key), *map(str, row)] for key, row in zip(index, table.to_numpy(), strict=True)
    ]
    return Grid([*names, *map(str, table.columns)], rows)


def _differences(comparison: Comparison) -> str:
    differences = comparison.differences.xs("log_loss", level="score")
    first, size = str(comparison.table.index[0]), (5.5, 0.9 + 0.35 * len(differences))
    return page.svg(lambda ax: draw_differences(ax, differences, first), size)


def draw_differences(ax: Axes, found: pd.DataFrame, first: str) -> None:
    """Draw differences with their intervals, one line for each classifier."""
    place = np.arange(len(found))
    ax.axvline(0, color=FAINT, linewidth=1)
    ax.hlines(place, found["lower"], found["upper"], color=color(0), linewidth=2)
    ax.plot(found["difference"], place, "o", color=color(0), markersize=5)
    ax.locator_params(axis="x", nbins=5)
    ax.set_yticks(place, [str(name) for name in found.index])
    ax.set(ylim=(len(found) - 0.5, -0.5), xlabel=f"log loss minus that of {first}, nats a row")
    ax.xaxis.label.set_color(INK)
    tidy(ax)


def _draw_reliability(ax: Axes, comparison: Comparison, name: str) -> None:
    curves = comparison.reliability(name)
    # of two classes the second, of more the most probable one
    curve = curves[0] if len(comparison.classes) == 2 else curves[-1]
    ReliabilityDisplay((curve,)).plot(ax)
    ax.set_title(f"{name}: miscalibration {curve.decomposition.miscalibration:.3f}")
    ax.title.set_fontsize("medium")
