"""Notable rows, out of fold: surprising labels, uncertain rows, rows unlike every class."""

import warnings

import numpy as np
from jaxtyping import Float

from bayesgen.errors import BayesgenError
from bayesgen.page import Block, Cell, Grid, Section, Text
from bayesgen.report.subject import Subject, take, unfitted
from bayesgen.report.words import DASH, some_of
from bayesgen.table import TableColumn
from bayesgen.typing import Labels

SHOWN = 10
MOST_COLUMNS = 8
SLOW = ("nuts",)
"""Inferences that do not fit every fold once more for typicality."""
ODD = 0.01
"""Typicality below which a row looks like no class: one row in a hundred of the model."""


def surprising(subject: Subject) -> Labels:
    """Return scored rows by the probability of their label, the least probable first."""
    own = subject.proba[np.arange(len(subject.codes)), subject.codes]
    return np.argsort(own, kind="stable")


def uncertain(subject: Subject) -> Labels:
    """Return scored rows by the entropy of their class, the least certain first."""
    proba = subject.proba
    entropy = -np.sum(proba * np.log(np.maximum(proba, np.finfo(float).tiny)), axis=1)
    return np.argsort(-entropy, kind="stable")


def section(subject: Subject) -> Section:
    """Return the rows that are most worth a look, each predicted by a fit to other rows."""
    blocks: list[Block] = [
        Text(
            "Out of fold: the probabilities are those of a fit that has not seen the row. Rows are "
            f"counted from 0. {_columns_shown(subject)}"
        ),
        Text("Labels that surprise: wrong, or an unusual case?"),
        _grid(subject, surprising(subject)[:SHOWN]),
        Text("Least certain rows: who should a person look at?"),
        _grid(subject, uncertain(subject)[:SHOWN]),
        *_atypical(subject),
    ]
    return Section("Rows to look at", blocks)


def _atypical(subject: Subject) -> list[Block]:
    left_out = subject.clf.inference_ not in SLOW
    try:
        typicality = (
            typicalities(subject) if left_out else subject.clf.typicality(subject.X)[subject.at]
        )
    except BayesgenError as error:
        return [Text(f"Typicality is not available: {error}", "muted")]
    order, odd = np.argsort(typicality, kind="stable")[:SHOWN], int((typicality < ODD).sum())
    expected = ODD * len(typicality)
    words = (
        f"Least typical rows: {odd:,} of {len(typicality):,} are unlike every class (typicality "
        f"below {ODD:g}; {expected:.3g} are expected if the model is right). Typicality is the "
        "share of rows simulated from the model that are at most as likely as this one"
    )
    words += (
        ", out of fold." if left_out else ", here under the fit to all rows, this one included."
    )
    return [
        Text(words, "warning" if odd > 3 * expected + 3 else ""),
        _grid(subject, order, {"typicality": [f"{typicality[i]:.3f}" for i in order]}),
    ]


def _columns_shown(subject: Subject) -> str:
    n = len(subject.columns)
    words = f"Shown: {some_of(min(MOST_COLUMNS, n), n, 'columns')}"
    return words + (", those that drive the decision most first." if subject.leading else ".")


def typicalities(subject: Subject) -> Float[np.ndarray, " row"]:
    """Return the typicality of each scored row, under a fit to the other folds."""
    found, comparison = np.empty(len(subject.at)), subject.comparison
    labels = comparison.classes[comparison.y]
    for fold in np.unique(comparison.fold):
        fit, scored = comparison.fold != fold, comparison.fold == fold
        with warnings.catch_warnings():
            # the comparison has met these folds before, and collected their warnings
            warnings.simplefilter("ignore")
            clf = unfitted(subject.clf).fit(take(subject.X, comparison.rows[fit]), labels[fit])
            typicality = clf.typicality(take(subject.X, comparison.rows[scored]))
        found[np.searchsorted(subject.at, comparison.rows[scored])] = typicality
    return found


def _grid(subject: Subject, rows: Labels, more: dict[str, list[str]] | None = None) -> Grid:
    """Return rows with their label, prediction and first columns."""
    classes, proba = subject.classes, subject.proba[rows]
    best, at = proba.argmax(axis=1), np.arange(len(rows))
    columns: dict[str, list[str]] = {
        "row": [f"{i}" for i in subject.at[rows]],
        "label": [str(classes[k]) for k in subject.codes[rows]],
        "P(label)": [_probability(p) for p in proba[at, subject.codes[rows]]],
        "predicted": [str(classes[k]) for k in best],
        "P(predicted)": [_probability(p) for p in proba[at, best]],
        **(more or {}),
    }
    order = {name: i for i, name in enumerate(subject.leading)}
    ranked = sorted(subject.columns, key=lambda column: order.get(str(column.name), len(order)))
    shown = ranked[:MOST_COLUMNS]
    columns |= {str(column.name): cells(column.take(subject.at[rows])) for column in shown}
    lines: list[list[Cell]] = [list(line) for line in zip(*columns.values(), strict=True)]
    return Grid(list(columns), lines, right=(0, 2, 4))


def _probability(value: float) -> str:
    return "< 0.001" if 0 < value < 0.001 else f"{value:.3f}"


def cells(column: TableColumn) -> list[str]:
    """Return cells as text, missing ones as a dash."""
    number = column.kind == "number"
    return [
        DASH if gone else f"{value:.5g}" if number else str(column.levels[value])
        for value, gone in zip(column.values, column.missing, strict=True)
    ]
