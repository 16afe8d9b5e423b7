"""Notable rows: surprising labels and uncertain rows, out of fold, and rows unlike every class."""

import dataclasses
import warnings
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Int

from bayesgen.errors import BayesgenError
from bayesgen.page import Cell, Grid
from bayesgen.report.measurements import Measurements
from bayesgen.report.subject import Subject, Values
from bayesgen.report.words import DASH
from bayesgen.table import TableColumn
from bayesgen.typing import Labels

SHOWN = 10
MOST_COLUMNS = 8
PROB = 0.9
"""Probability of an interval."""
MEASURE = "measure next"
Few = Int[np.ndarray, " _"]
"""Positions among the scored rows."""
ODD = 0.01
"""Typicality below which a row looks like no class: one row in a hundred of the model."""


@dataclasses.dataclass(frozen=True, eq=False)
class Notable:
    """The scored rows that are most worth a look, in three orders.

    surprising: those whose label has the least probability. uncertain: whose class is least known.
    atypical: those most unlike every class; none where typicality is unknown. typicality: of all
    rows; None: unknown. reason: why.
    """

    surprising: Few
    uncertain: Few
    atypical: Few
    typicality: Float[np.ndarray, " row"] | None
    reason: str

    @classmethod
    def of(cls, subject: Subject) -> "Notable":
        """Return the first rows of each order; probabilities are out of fold, typicality is not."""
        proba, typicality, reason = subject.proba, None, ""
        entropy = -np.sum(proba * np.log(np.maximum(proba, np.finfo(float).tiny)), axis=1)
        try:
            typicality = subject.clf.typicality(subject.X)[subject.at]
        except BayesgenError as error:
            reason = subject.worded(error)
        own = proba[np.arange(len(proba)), subject.codes]
        return cls(
            _first(own),
            _first(-entropy),
            np.arange(0) if typicality is None else _first(typicality),
            typicality,
            reason,
        )

    @property
    def rows(self) -> Few:
        """All of them, rising."""
        return np.unique(np.concatenate([self.surprising, self.uncertain, self.atypical]))


def _first(score: Float[np.ndarray, " row"]) -> Few:
    return np.argsort(score, kind="stable")[:SHOWN]


def notable_rows(notable: Notable, measurements: Measurements, leading: Sequence[str]) -> Values:
    """Return the rows that are most worth a look, predicted by a fit to other rows.

    measurements: of the same rows. leading: names of columns, those to show first.
    """
    subject = measurements.subject
    places = {name: i for i, name in enumerate(leading)}
    columns = sorted(subject.table.columns, key=lambda c: places.get(str(c.name), len(places)))
    shown = Shown(measurements, columns[:MOST_COLUMNS])
    surprising, uncertain = shown.grid(notable.surprising), shown.grid(notable.uncertain)
    values: Values = {
        "n_columns": len(shown.columns),
        "intervals": shown.intervals,
        "prob": PROB,
        "surprising": surprising,
        "uncertain": uncertain,
    }
    typicality, grids = notable.typicality, [surprising, uncertain]
    if typicality is None:
        values["reason"] = notable.reason
    else:
        grids.append(shown.grid(notable.atypical, typicality))
        values |= {
            "atypical": grids[-1],
            "unlike": int((typicality < ODD).sum()),
            "expected": ODD * len(typicality),
            "limit": ODD,
        }
    return values | {"measured": any(MEASURE in grid.heads for grid in grids)}


@dataclasses.dataclass(frozen=True, eq=False)
class Shown:
    """What is shown of a row.

    measurements: of the subject. columns: of the table.
    """

    measurements: Measurements
    columns: Sequence[TableColumn]

    @property
    def intervals(self) -> bool:
        """Whether the classifier has a posterior, and not a point, from which intervals follow."""
        return not self.measurements.subject.clf.posterior_.point

    def grid(self, rows: Few, typicality: Float[np.ndarray, " row"] | None = None) -> Grid:
        """Return some of the scored rows with their label, prediction and some columns."""
        subject = self.measurements.subject
        proba, label = subject.proba[rows], subject.codes[rows]
        best = proba.argmax(axis=1)
        columns = [("row", [f"{i}" for i in subject.at[rows]], True)]
        ends = interval_of(subject, rows) if self.intervals else None
        for head, codes in (("label", label), ("predicted", best)):
            columns.append((head, [str(subject.classes[k]) for k in codes], False))
            place = np.arange(len(rows)), codes
            columns.append((f"P({head})", [_probability(p) for p in proba[place]], True))
            if ends is not None:
                texts = [
                    "" if np.isnan(low) else f"{low:.3f}{DASH}{high:.3f}"
                    for low, high in ends[place]
                ]
                columns.append((f"{PROB:.0%} interval", texts, True))
        if typicality is not None:
            columns.append(("typicality", [f"{value:.3f}" for value in typicality[rows]], True))
        next_ones = self.measurements.best(rows)
        if any(next_ones):
            columns.append((MEASURE, next_ones, False))
        taken = subject.at[rows]
        columns += [(str(column.name), cells(column.take(taken)), False) for column in self.columns]
        heads, texts, right = zip(*columns, strict=True)
        lines: list[list[Cell]] = [list(line) for line in zip(*texts, strict=True)]
        return Grid(heads, lines, right=np.flatnonzero(right).tolist())


def interval_of(subject: Subject, rows: Labels) -> Float[np.ndarray, "row class 2"]:
    """Return intervals of the probabilities of some of the scored rows, by the fits without them.

    They are NaN where there is no such fit. A class that a fit has not seen has 0 to 0.
    """
    out = np.full((len(rows), len(subject.classes), 2), np.nan)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of which the comparison has warned
        for places, clf, X in subject.left_out.of(subject.at[rows]):
            out[places] = 0.0
            known = np.searchsorted(subject.comparison.classes, clf.classes_)
            out[np.ix_(places, known)] = clf.predict_interval(X, PROB)
    return out


def _probability(value: float) -> str:
    return "< 0.001" if 0 < value < 0.001 else f"{value:.3f}"


def cells(column: TableColumn) -> list[str]:
    """Return cells as text, missing ones as a dash."""
    number = column.kind == "number"
    return [
        DASH if gone else f"{value:.5g}" if number else str(column.levels[value])
        for value, gone in zip(column.values, column.missing, strict=True)
    ]
