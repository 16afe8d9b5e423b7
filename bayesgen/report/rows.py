"""Notable rows: surprising labels and uncertain rows, out of fold, and rows unlike every class."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from bayesgen.errors import BayesgenError
from bayesgen.page import Cell, Grid
from bayesgen.report.subject import Subject, Values
from bayesgen.report.words import DASH
from bayesgen.table import TableColumn
from bayesgen.typing import Labels

SHOWN = 10
MOST_COLUMNS = 8
ODD = 0.01
"""Typicality below which a row looks like no class: one row in a hundred of the model."""


def notable_rows(subject: Subject, leading: Sequence[str]) -> Values:
    """Return the rows that are most worth a look, predicted by a fit to other rows.

    leading: names of columns, those to show first.
    """
    proba, places = subject.proba, {name: i for i, name in enumerate(leading)}
    columns = sorted(subject.table.columns, key=lambda c: places.get(str(c.name), len(places)))
    columns = columns[:MOST_COLUMNS]
    entropy = -np.sum(proba * np.log(np.maximum(proba, np.finfo(float).tiny)), axis=1)
    proba_of_label = proba[np.arange(len(proba)), subject.codes]
    return {
        "n_columns": len(columns),
        "surprising": _grid(subject, columns, np.argsort(proba_of_label, kind="stable")),
        "uncertain": _grid(subject, columns, np.argsort(-entropy, kind="stable")),
        **_atypical(subject, columns),
    }


def _atypical(subject: Subject, columns: Sequence[TableColumn]) -> Values:
    """Return the least typical rows and how many are unlike every class, or why it is unknown."""
    try:
        typicality = subject.clf.typicality(subject.X)[subject.at]
    except BayesgenError as error:
        return {"reason": subject.worded(error)}
    return {
        "atypical": _grid(subject, columns, np.argsort(typicality, kind="stable"), typicality),
        "unlike": int((typicality < ODD).sum()),
        "expected": ODD * len(typicality),
        "limit": ODD,
    }


def _grid(
    subject: Subject,
    shown: Sequence[TableColumn],
    order: Labels,
    typicality: Float[np.ndarray, " row"] | None = None,
) -> Grid:
    """Return the first rows of an order with their label, prediction and some columns."""
    rows = order[:SHOWN]
    classes, proba, codes = subject.classes, subject.proba[rows], subject.codes[rows]
    best, places = proba.argmax(axis=1), np.arange(len(rows))
    columns = {
        "row": [f"{i}" for i in subject.at[rows]],
        "label": [str(classes[k]) for k in codes],
        "P(label)": [_probability(p) for p in proba[places, codes]],
        "predicted": [str(classes[k]) for k in best],
        "P(predicted)": [_probability(p) for p in proba[places, best]],
    }
    if typicality is not None:
        columns["typicality"] = [f"{value:.3f}" for value in typicality[rows]]
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
