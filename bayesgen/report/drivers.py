"""Drivers of the decision: weight of evidence of each column, alone and given the others."""

import dataclasses
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from jaxtyping import Float

from bayesgen import page
from bayesgen.compare.cross_validation import take
from bayesgen.errors import BayesgenError, CountsAsMissing, deduplicate_warnings
from bayesgen.likelihoods.protocols import Vocabulary
from bayesgen.page import Bar, Cell, Grid
from bayesgen.plots import RelevanceDisplay
from bayesgen.report.subject import Subject, Values
from bayesgen.report.words import ARROW, AT_LEAST, AT_MOST, odds
from bayesgen.schema import in_numbers
from bayesgen.table import TableColumn

MOST_ROWS = 300
"""Rows whose evidence is averaged: two predictions a column of so many rows."""
MOST_COLUMNS = 200
"""Columns that are left out one by one."""
WIDEST, CELLS = 1000, 20_000_000
"""Columns whose evidence is averaged; the rows are fewer where their square is large."""
BARS = 12
PICTURE = 5.0, 3.6
"""Inches: room for the names of columns and for what the axis means, legible on a telephone."""
MOST_LEVELS = 8
FEWEST = 5
"""Rows of a group of cells below which nothing is said about it."""
WORDS = 12
LEAST = 0.05
"""Nats of evidence that are worth a word."""
LARGEST = 30.0
"""Nats at which evidence is cut, so that one certain row does not outweigh all others."""


@dataclasses.dataclass(frozen=True, eq=False)
class Driver:
    """Evidence of one column.

    alone: mean nats for the true class of the column by itself. beside: of the column given all
    others. cells: which cells speak for which class, in words.
    """

    column: TableColumn
    alone: float
    beside: float
    cells: str


def drivers(subject: Subject) -> Values:
    """Return the columns by the weight of evidence that they add for the true class.

    names: the strongest first. Beside them words of texts that speak for each class, or the
    evidence of all columns, averaged over n_rows rows, as a figure and a table (of few columns), or
    why there is neither.
    """
    words = _words(subject)
    if words:
        return words
    n, n_columns = len(subject.at), len(subject.columns)
    if n_columns > WIDEST:
        reason = (
            f"The table has {n_columns:,} columns; evidence is averaged over rows for up to "
            f"{WIDEST:,}; {subject.in_python('relevance(X)')} has it for few rows."
        )
        return {"names": (), "reason": reason}
    most = min(n, MOST_ROWS, CELLS // n_columns**2)
    rows = np.arange(most) * n // most
    try:
        relevance = subject.clf.relevance(take(subject.X, subject.at[rows]))
        columns = by_column(subject, rows) if n_columns <= MOST_COLUMNS else []
    except BayesgenError as error:
        return {
            "names": (),
            "reason": f"Columns cannot be left out one by one. {subject.worded(error)}",
        }
    figure = page.svg(RelevanceDisplay(relevance, BARS).plot, PICTURE)
    most = max((abs(v) for d in columns for v in (d.alone, d.beside)), default=0.0) or 1.0
    lines: list[list[Cell]] = [
        [
            str(driver.column.name),
            *(Bar(v / most, f"{v:+z.2f}") for v in (driver.alone, driver.beside)),
            driver.cells,
        ]
        for driver in columns
    ]
    grid = Grid(["column", "alone, nats", "beside the others, nats", "strongest values"], lines)
    names = [str(driver.column.name) for driver in columns] or [str(n) for n in relevance.index]
    return {"names": names, "figure": figure, "columns": grid, "n_rows": len(rows)}


@deduplicate_warnings(CountsAsMissing)
def by_column(subject: Subject, rows: np.ndarray) -> list[Driver]:
    """Return the evidence of every column, the strongest first.

    Args:
        subject: of the report.
        rows: positions among its scored rows.
    """
    X, names = take(subject.X, subject.at[rows]), [c.name for c in subject.columns]
    place = np.arange(len(rows)), subject.codes[rows]
    table = in_numbers(subject.table).take(subject.at[rows])
    log_prior = subject.clf.posterior_.log_classes()
    with np.errstate(divide="ignore"):
        nothing = np.clip(log_prior - np.log1p(-np.exp(log_prior)), -LARGEST, LARGEST)
    everything, evidence = _logits(subject, X), []
    for column in table.columns:
        others = [name for name in names if name != column.name]
        alone = _logits(subject, _only(X, names, [column.name])) - nothing
        beside = everything - _logits(subject, _only(X, names, others))
        strongest = _strongest(column, alone, subject.classes)
        mean, more = float(alone[place].mean()), float(beside[place].mean())
        evidence.append(Driver(column, mean, more, strongest))
    return sorted(evidence, key=lambda driver: -(driver.alone + driver.beside))


def _logits(subject: Subject, X: object) -> Float[np.ndarray, "row class"]:
    """Return the log-odds of each class against the rest."""
    logits = np.clip(subject.clf.decision_function(X), -LARGEST, LARGEST)
    return np.stack([-logits, logits], axis=1) if logits.ndim == 1 else logits


def _only(X: Any, names: list, kept: list) -> Any:
    """Return rows whose other columns are absent from a dataframe, or missing in an array."""
    if isinstance(X, np.ndarray):
        out = X.astype(object if X.dtype.kind in "OUS" else float)
        out[:, [name not in kept for name in names]] = None if out.dtype.kind == "O" else np.nan
        return out
    return nw.from_native(X, eager_only=True)[:, [names.index(name) for name in kept]].to_native()


# -- which cells speak for which class -------------------------------------------------------------


def _strongest(column: TableColumn, weight: np.ndarray, classes: list) -> str:
    """Return the two groups of cells with the largest mean evidence, each for another class."""
    means = [
        (mean, words, label)
        for words, rows in _groups(column)
        if len(rows) >= FEWEST
        for mean, label in zip(weight[rows].mean(axis=0), classes, strict=True)
    ]
    best: dict = {}
    for mean, words, label in sorted(means, key=lambda group: -group[0]):
        if len(best) < 2 and label not in best and mean > LEAST:
            name = f"class {label}" if isinstance(label, int | float) else label
            best[label] = f"{words} {ARROW} {name}: odds {odds(mean)}"
    return "; ".join(best.values())


def _groups(column: TableColumn) -> list[tuple[str, np.ndarray]]:
    """Return groups of observed cells, as conditions, and their rows."""
    name, observed = column.name, np.flatnonzero(~column.missing)
    cells = column.values[observed]
    if column.kind == "level":
        common = np.argsort(-np.bincount(cells, minlength=len(column.levels)), kind="stable")
        groups = [(f"{name} = {column.levels[k]}", cells == k) for k in common[:MOST_LEVELS]]
    elif len(values := np.unique(cells)) <= MOST_LEVELS:
        groups = [(f"{name} = {value:g}", cells == value) for value in values]
    else:
        low, high = np.quantile(cells, [1 / 3, 2 / 3])
        groups = [
            (f"{name} {AT_MOST} {low:.3g}", cells <= low),
            (f"{name} {AT_LEAST} {high:.3g}", cells >= high),
            (f"{low:.3g} < {name} < {high:.3g}", (cells > low) & (cells < high)),
        ]
    return [(words, observed[group]) for words, group in groups]


# -- words of texts --------------------------------------------------------------------------------


def _words(subject: Subject) -> Values:
    """Return the words that favor each class, and all words, the strongest first.

    Nothing if columns are not words, or the likelihood is not updated in closed form.
    """
    posterior, method = subject.clf.posterior_, subject.clf.report_.method
    families = posterior.families if method in ("exact", "expected") else {}
    if len(families) != 1:
        return {}
    ((block, family),) = families.items()
    if not isinstance(family, Vocabulary):
        return {}
    weight, gain = family.word_weights()
    names = subject.models[subject.name].state_.columns(posterior.reader, block)
    lines: list[list[Cell]] = []
    for k, label in enumerate(subject.classes):
        best = np.argsort(-gain[k], kind="stable")[:WORDS]
        lines.append([str(label), ", ".join(f"{names[j]} {odds(weight[k, j])}" for j in best)])
    strongest = np.argsort(-gain.max(axis=0), kind="stable")
    grid = Grid(["class", "words"], lines)
    return {"names": [str(names[j]) for j in strongest], "words": grid, "shown": WORDS}
