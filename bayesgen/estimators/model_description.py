"""What a fitted model says of its columns and its rows: for forms, cards and reports."""

import dataclasses
import math
from typing import Any, Literal

import numpy as np

from bayesgen import diagnose
from bayesgen.estimators.fitted import Fitted
from bayesgen.likelihoods.exponential_family import SufficientStatistics
from bayesgen.schema import GROUPS, MISSING, Reading, in_numbers
from bayesgen.table import SPARSE, Name, Table
from bayesgen.typing import DataFrame

Ranges = Literal["fit", "simulated", "none"]
Holds = Literal["rows", "cells", "sums"]
Form = tuple[str, tuple, str]
"""Kind of a column, its levels, and the text that its numbers are written as."""
KINDS = ("group", "count", "number", "level")
"""Of a column that several models read, the first of these: levels of a number are bins of it."""
RANGE = ("lower", "upper", "least", "greatest")
SHARES = (0.05, 0.95)
"""Shares of the cells of a column below the ends of its range."""


@dataclasses.dataclass(frozen=True, eq=False)
class ModelDescription:
    """What a fitted model says of its columns and its rows.

    Attributes:
        columns: a line for each column that the model reads, in the order of the table: `kind`
            ("number", "count", "level", "group" or "text"); `levels`, a tuple, () of numbers;
            `form`, the text that numbers are written as, such as "percentages", or ""; of numbers
            `lower` and `upper`, between which nine in ten lie, `least` and `greatest`.
        ranges: of which rows these four are: "fit", those of the fit; "simulated", of rows that the
            model simulates, because it keeps none; "none", of no rows, and they are NaN.
        rows: number of labeled rows of the fit, the sum of their weights.
        classes: the same of each class.
        holds: what of rows of the fit is in the classifier, and in its file but for "rows", which
            stand there only if they were asked for: "rows", all of them; "cells", cells of some
            rows, as centers of kernels, or what was predicted of each; "sums", such as counts and
            means.
    """

    columns: DataFrame
    ranges: Ranges
    rows: float
    classes: dict[Any, float]
    holds: Holds


def described(
    fitted: Fitted, table: Table | None, ranges: Ranges, *, kept: bool
) -> ModelDescription:
    """Return the description of a model.

    Args:
        fitted: the model.
        table: rows whose cells give the ranges of columns; None: there are none.
        ranges: of which rows these are.
        kept: whether the classifier keeps the rows of its fit.
    """
    cells = {} if table is None else {c.name: c for c in in_numbers(table).columns}
    columns: dict[str, list] = {head: [] for head in ("kind", "levels", "form", *RANGE)}
    readings = _readings(fitted)
    for name, forms in readings.items():
        kind, levels, text = min(forms, key=lambda form: KINDS.index(form[0]))
        found, numbers = cells.get(name), np.empty(0)
        if kind in ("number", "count") and found is not None and found.kind == "number":
            numbers = found.values[~found.missing].astype(float)
        for head, value in zip(columns, (kind, levels, text, *_ends(numbers)), strict=True):
            columns[head].append(value)
    frame = diagnose.frame(columns, list(readings)).rename_axis("column")
    state = fitted.state
    count = state.statistics.count.tolist()
    classes = dict(zip(state.classes.tolist(), count, strict=True))
    return ModelDescription(frame, ranges, sum(count), classes, _holds(fitted, kept=kept))


def of_texts(found: ModelDescription) -> ModelDescription:
    """Return the description of a model of texts, whose words are columns to it alone."""
    line = {"kind": ["text"], "levels": [()], "form": [""], **{head: [math.nan] for head in RANGE}}
    frame = diagnose.frame(line, ["text"]).rename_axis("column")
    return dataclasses.replace(found, columns=frame, ranges="none")


def is_dense(fitted: Fitted) -> bool:
    """Return whether the columns of the model are few enough for their ranges to be of use."""
    return fitted.schema.container not in SPARSE


def _readings(fitted: Fitted) -> dict[Name, list[Form]]:
    """Return the ways in which models read each column, in the order of the table."""
    found: dict[Name, list[Form]] = {}
    for model in fitted.parts:
        forms: dict[Name, list[Form]] = {}
        for block, columns in model.schema.blocks.items():
            for column in columns:
                if column.kind != MISSING:
                    forms.setdefault(column.reads, []).append(_form(block, column))
        for name in model.names:
            found.setdefault(name, []).extend(forms.get(name, []))
    return {name: forms for name, forms in found.items() if forms}


def _form(block: str, column: Reading) -> Form:
    """Return the kind of a column of the table, its levels, and the form of its numbers."""
    original = column.original
    levels = original.levels or original.source_levels
    if block == GROUPS:
        return "group", levels, ""
    if column.kind == "binary" and not levels:
        return "level", (0, 1), ""
    if levels:
        return "level", levels, ""
    return ("count" if column.kind == "counts" else "number"), (), original.form


def _ends(numbers: np.ndarray) -> list[float]:
    """Return the ends of the range of numbers, and the least and the greatest."""
    if not len(numbers):
        return [math.nan] * len(RANGE)
    return [*np.quantile(numbers, SHARES).tolist(), float(numbers.min()), float(numbers.max())]


def _holds(fitted: Fitted, *, kept: bool) -> Holds:
    """Return what of its rows a model holds."""
    if kept:
        return "rows"
    if fitted.left_out is not None or len(fitted.parts) > 1:
        return "cells"
    for part in fitted.state.statistics.blocks.values():
        # moments of each missing pattern, which a single row may have
        if not isinstance(part, SufficientStatistics) or getattr(part, "has_missing", False):
            return "cells"
    return "sums"
