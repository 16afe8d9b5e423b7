"""A comparison as an HTML page: scores, differences, calibration, curves, members, warnings."""

import math
import os
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from bayesgen import page
from bayesgen.compare.as_text import (
    HEADS,
    LEGEND,
    MEMBERS_LEGEND,
    members_as_text,
    scores_as_text,
)
from bayesgen.errors.notes import merged_by_name
from bayesgen.page import Figures, Grid, Section, Text
from bayesgen.plots import LearningCurveDisplay, ReliabilityDisplay, RocDisplay
from bayesgen.plots.style import FAINT, INK, Axes, color, tidy

Comparison = Any
"""A comparison, whose module imports this one."""


def write_page(comparison: Comparison, path: str | os.PathLike, title: str) -> None:
    """Write the page of a comparison to a file."""
    sections = list(_sections(comparison))
    page.write(path, page.html(title, comparison.heading, sections))


def _sections(comparison: Comparison) -> Iterator[Section]:
    yield _scores(comparison)
    if len(comparison.table) > 1:
        yield _differences(comparison)
    yield _calibration(comparison)
    if len(comparison.classes) == 2:
        yield _roc(comparison)
    if len(comparison.curves):
        draw = LearningCurveDisplay(comparison.curves).plot
        words = (
            "Log loss of rows left out, against the rows that were fitted; ± one standard error."
        )
        yield Section("Learning curves", [Text(words, "muted"), Figures([page.svg(draw)])])
    if len(comparison.members):
        table = grid(members_as_text(comparison.members))
        yield Section(
            "Members of the stacks", [table, Text(MEMBERS_LEGEND + " Means over folds.", "muted")]
        )
    notes = [*comparison.noted, *merged_by_name(comparison.warned)]
    if notes:
        yield Section("Notes and warnings", [Text(str(note)) for note in notes])


def _scores(comparison: Comparison) -> Section:
    table = comparison.table
    words = f"{LEGEND} ★: the best of its column." if len(table) > 1 else LEGEND
    steps = {name: step for name, step in table["prepared_by"].items() if step}
    if steps:
        prepared = "; ".join(f"{name} by {step}" for name, step in steps.items())
        words += f" The table was prepared for {prepared}."
    return Section("Scores", [_verdict(comparison), score_grid(comparison), Text(words, "muted")])


def _verdict(comparison: Comparison) -> Text:
    loss = comparison.table["log_loss"]
    best, value = loss.idxmin(), loss.min()
    if not math.isfinite(value):
        return Text("Every classifier gave some true class the probability 0.", "warning")
    words = f"{best} has the lowest log loss, {value:.3f} nats a row"
    words = f"Of {len(loss)} classifiers, {words}." if len(loss) > 1 else f"{words}."
    first = loss.index[0]
    if best == first or (best, "log_loss") not in comparison.differences.index:
        return Text(words)
    low, high = comparison.differences.loc[(best, "log_loss"), ["lower", "upper"]]
    if math.isnan(low):
        return Text(words)
    sure = "below that of" if high < 0 else "not clearly below that of"
    return Text(
        f"{words} It is {sure} {first}: the difference is {value - loss[first]:+z.3f} "
        f"with a 95% interval from {low:+z.3f} to {high:+z.3f}."
    )


def score_grid(comparison: Comparison) -> Grid:
    """Return the table of scores; best ones are marked by a star."""
    table = comparison.table
    text = scores_as_text(table).drop(columns="prepared by", errors="ignore")
    if len(table) > 1:
        for name, head in HEADS.items():
            higher = name in ("accuracy", "auc", "discrimination")
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


def _differences(comparison: Comparison) -> Section:
    found = comparison.differences.xs("log_loss", level="score")
    first = comparison.table.index[0]
    figure = page.svg(
        lambda ax: draw_differences(ax, found, str(first)), (5.5, 0.9 + 0.35 * len(found))
    )
    words = (
        f"Left of the line, the log loss is below that of {first}. Intervals hold the difference "
        "with a probability of 95% (corrected resampled t); one that crosses the line leaves open "
        "which of the two is better."
    )
    return Section(f"Difference in log loss to {first}", [Figures([figure]), Text(words, "muted")])


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


def _calibration(comparison: Comparison) -> Section:
    words = (
        "On the diagonal, a probability of .7 comes true 7 times in 10. A curve outside the gray "
        "band is unlikely to be there by chance (90%, point by point). Below, the number of rows."
    )
    if len(comparison.classes) > 2:
        words += " Shown is the most probable class of each row."
    figures = [
        page.svg(lambda ax, name=name: _draw_reliability(ax, comparison, name))
        for name in comparison.probabilities
    ]
    return Section("Calibration", [Text(words, "muted"), Figures(figures)])


def _draw_reliability(ax: Axes, comparison: Comparison, name: str) -> None:
    curves = comparison.reliability(name)
    # of two classes the second, of more the most probable one
    curve = curves[0] if len(comparison.classes) == 2 else curves[-1]
    ReliabilityDisplay((curve,)).plot(ax)
    ax.set_title(f"{name}: miscalibration {curve.decomposition.miscalibration:.3f}")
    ax.title.set_fontsize("medium")


def _roc(comparison: Comparison) -> Section:
    event = comparison.classes.tolist()[-1]
    curves = {name: comparison.roc(name) for name in comparison.probabilities}
    return Section("ROC curves", [Figures([page.svg(RocDisplay(curves, event).plot, (4.2, 4.0))])])
