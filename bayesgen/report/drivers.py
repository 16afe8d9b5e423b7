"""Drivers of the decision: weight of evidence of each column, alone and given the others."""

import dataclasses
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from jaxtyping import Float

from bayesgen.errors import BayesgenError, CountsAsMissing, deduplicate_warnings
from bayesgen.likelihoods import Multinomial
from bayesgen.page import Bar, Block, Cell, Details, Grid, Section, Text
from bayesgen.report.subject import Subject, take
from bayesgen.report.words import ARROW, AT_LEAST, AT_MOST, listed, odds, some_of
from bayesgen.table import TableColumn

MOST_ROWS = 300
"""Rows whose evidence is averaged: two predictions a column of so many rows."""
MOST_COLUMNS = 200
"""Columns whose evidence is computed one by one."""
SHOWN = 15
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


def section(subject: Subject) -> tuple[Section, tuple[str, ...]]:
    """Return the columns by the weight of evidence that they add for the true class.

    Beside the section the names of the columns, the strongest first; none where they cannot be
    left out.
    """
    title = "What drives the decision"
    words, names = _words(subject)
    if words:
        return Section(title, words), names
    if len(subject.columns) > MOST_COLUMNS:
        about = f"The table has {len(subject.columns):,} columns; evidence is computed one by one "
        about += f"for up to {MOST_COLUMNS}. clf.evidence(X) has that of single cells."
        return Section(title, [Text(about)]), ()
    rows = _some_rows(subject)
    try:
        found = drivers(subject, rows)
    except BayesgenError as error:
        return Section(title, [Text(f"Columns cannot be left out one by one: {error}")]), ()
    names = tuple(str(driver.column.name) for driver in found)
    return Section(title, _blocks(subject, found, len(rows))), names


def _blocks(subject: Subject, found: list[Driver], n_rows: int) -> list[Block]:
    about = (
        "Weight of evidence is the log of the factor by which a column multiplies the odds of the "
        "true class against all others, on average over the rows: alone, and beside all other "
        "columns. A column that only repeats others has weight alone and little beside them; below "
        "0, it misleads more often than it helps."
    )
    grid = _grid(found[:SHOWN])
    blocks: list[Block] = [Text(about), grid]
    if len(found) > SHOWN:
        blocks.append(Text(f"Shown: {some_of(SHOWN, len(found), 'columns')}.", "muted"))
        blocks.append(Details(f"All {len(found)} columns", [_grid(found)]))
    whole = len(subject.at)
    rows = "all rows" if n_rows == whole else f"{n_rows:,} of {whole:,} rows, evenly spaced"
    words = f"Computed on {rows}, under the fit to all rows. A nat is a factor of 2.7."
    blocks.append(Text(words, "muted"))
    return blocks


def _grid(found: list[Driver]) -> Grid:
    most = max((abs(v) for d in found for v in (d.alone, d.beside)), default=0.0) or 1.0
    lines: list[list[Cell]] = [
        [
            str(driver.column.name),
            *(Bar(v / most, f"{v:+z.2f}") for v in (driver.alone, driver.beside)),
            driver.cells,
        ]
        for driver in found
    ]
    return Grid(["column", "alone, nats", "beside the others", "strongest values"], lines)


def _some_rows(subject: Subject) -> np.ndarray:
    """Return positions among the scored rows, evenly spaced."""
    n = len(subject.at)
    return np.arange(min(n, MOST_ROWS)) * n // min(n, MOST_ROWS)


@deduplicate_warnings(CountsAsMissing)
def drivers(subject: Subject, rows: np.ndarray) -> list[Driver]:
    """Return the evidence of every column, the strongest first.

    Args:
        subject: of the report.
        rows: positions among its scored rows.
    """
    X, names = take(subject.X, subject.at[rows]), [c.name for c in subject.columns]
    codes, table = subject.codes[rows], subject.table.take(subject.at[rows])
    everything, nothing = _logits(subject, X), _prior_logits(subject)
    found = []
    for place, column in enumerate(table.columns):
        others = [name for name in names if name != column.name]
        alone = _logits(subject, _only(X, names, [column.name])) - nothing
        beside = everything - _logits(subject, _only(X, names, others))
        own = [_of_true_class(values, codes) for values in (alone, beside)]
        cells = _loudest(table.columns[place], alone, subject.classes)
        found.append(Driver(column, *(float(values.mean()) for values in own), cells))
    return sorted(found, key=lambda driver: -(driver.alone + driver.beside))


def _logits(subject: Subject, X: object) -> Float[np.ndarray, "row class"]:
    """Return the log-odds of each class against the rest."""
    found = np.clip(subject.clf.decision_function(X), -LARGEST, LARGEST)
    return np.stack([-found, found], axis=1) if found.ndim == 1 else found


def _prior_logits(subject: Subject) -> Float[np.ndarray, " class"]:
    log_prior = subject.clf.posterior_.log_classes()
    with np.errstate(divide="ignore"):
        return np.clip(log_prior - np.log1p(-np.exp(log_prior)), -LARGEST, LARGEST)


def _of_true_class(values: np.ndarray, codes: np.ndarray) -> np.ndarray:
    return values[np.arange(len(codes)), codes]


def _only(X: Any, names: list, kept: list) -> Any:
    """Return rows whose other columns are absent from a dataframe, or missing in an array."""
    if isinstance(X, np.ndarray):
        out = X.astype(object if X.dtype.kind in "OUS" else float)
        gone = [j for j, name in enumerate(names) if name not in kept]
        out[:, gone] = None if out.dtype.kind == "O" else np.nan
        return out
    frame = nw.from_native(X, eager_only=True)
    place = {name: i for i, name in enumerate(names)}
    return frame[:, [place[name] for name in kept]].to_native()


# -- which cells speak for which class -------------------------------------------------------------


def _loudest(column: TableColumn, weight: np.ndarray, classes: list) -> str:
    """Return the two groups of cells with the largest mean evidence, each for another class."""
    spoken = []
    for name, rows in _groups(column):
        if len(rows) >= FEWEST:
            mean = weight[rows].mean(axis=0)
            spoken += [(mean[k], name, classes[k]) for k in range(len(classes)) if mean[k] > 0]
    spoken.sort(key=lambda one: -one[0])
    out: list[str] = []
    seen: set = set()
    for mean, name, label in spoken:
        if len(out) < 2 and label not in seen and mean > LEAST:
            named = f"class {label}" if isinstance(label, int | float) else label
            out.append(f"{name} {ARROW} {named}: odds {odds(mean)}")
            seen.add(label)
    return "; ".join(out)


def _groups(column: TableColumn) -> list[tuple[str, np.ndarray]]:
    """Return groups of observed cells, as conditions, and their rows."""
    name = column.name
    there = np.flatnonzero(~column.missing)
    seen = column.values[there]
    if column.kind == "level":
        common = np.argsort(-np.bincount(seen, minlength=len(column.levels)), kind="stable")
        return [(f"{name} = {column.levels[k]}", there[seen == k]) for k in common[:MOST_LEVELS]]
    values = np.unique(seen)
    if len(values) <= MOST_LEVELS:
        return [(f"{name} = {value:g}", there[seen == value]) for value in values]
    low, high = np.quantile(seen, [1 / 3, 2 / 3])
    ends = (
        (f"{name} {AT_MOST} {low:.3g}", seen <= low),
        (f"{name} {AT_LEAST} {high:.3g}", seen >= high),
    )
    middle = (f"{low:.3g} < {name} < {high:.3g}", (seen > low) & (seen < high))
    return [(words, there[rows]) for words, rows in (*ends, middle)]


# -- words of texts --------------------------------------------------------------------------------


def _words(subject: Subject) -> tuple[list[Block], tuple[str, ...]]:
    """Return the words that favor each class, and all words, the strongest first.

    Nothing if columns are not words.
    """
    state, posterior = getattr(subject.clf, "state_", None), subject.clf.posterior_
    texts = [(n, f) for n, f in posterior.families.items() if isinstance(f, Multinomial)]
    if len(texts) != 1 or len(posterior.families) != 1 or posterior.point or state is None:
        return [], ()
    block, family = texts[0]
    names = state.columns(posterior.reader, block)
    log = np.log(np.maximum(family.probs, np.finfo(float).tiny))
    weight = log - log.mean(axis=0)
    # nats that a word adds per word of a text of its class
    gain = family.probs * weight
    lines: list[list[Cell]] = []
    for k, label in enumerate(subject.classes):
        best = np.argsort(-gain[k], kind="stable")[:WORDS]
        lines.append([str(label), ", ".join(f"{names[j]} {odds(weight[k, j])}" for j in best)])
    about = (
        f"Words that speak for each class, those first that add most to a text of the class "
        f"({WORDS} of {len(names):,} words): the factor by which each occurrence multiplies the "
        "probability of the class against the (geometric) mean of all classes, under the fit to "
        "all rows."
    )
    strongest = np.argsort(-gain.max(axis=0), kind="stable")
    blocks: list[Block] = [Text(about), Grid(["class", "words"], lines)]
    return [*blocks, Text(_read(subject), "muted")], tuple(str(names[j]) for j in strongest)


def _read(subject: Subject) -> str:
    return f"{len(subject.columns):,} columns: {listed([c.name for c in subject.columns])}."
