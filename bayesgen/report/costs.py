"""Confusion and costs: decisions of minimum expected loss, and undecided rows."""

import math

import numpy as np

from bayesgen import decide
from bayesgen.page import Cell, Grid, Shade
from bayesgen.report.subject import Subject, Values
from bayesgen.report.words import number, share

PRICES = (0.05, 0.1, 0.2, 0.3, 0.4)
"""Costs of leaving a row undecided, as shares of the largest cost of a decision."""


def abstaining(subject: Subject, reject: float) -> tuple[int, float]:
    """Return the number of rows left undecided at a cost, and the accuracy of the others.

    The accuracy is that of the most probable class, NaN where no row is decided.
    """
    rule = decide.rule(subject.loss, subject.comparison.classes, reject)
    undecided = rule.best(subject.proba) == len(rule.decisions) - 1
    decided = subject.right[~undecided]
    return int(undecided.sum()), float(decided.mean()) if len(decided) else math.nan


def costs(subject: Subject) -> Values:
    """Return the confusion table, costs of decisions, and rows left undecided at several costs."""
    undecided, right = abstaining(subject, subject.reject)
    return {
        "undecided": undecided,
        "right": right,
        "confusion": _confusion(subject),
        "decisions": _decisions(subject),
        "abstaining": _undecided(subject),
    }


def _confusion(subject: Subject) -> Grid:
    table = subject.comparison.confusion(subject.name)
    lines: list[list[Cell]] = []
    for i, (label, count) in enumerate(zip(table.index, table.to_numpy(), strict=True)):
        fractions = count / max(count.sum(), 1)
        cells: list[Cell] = [
            Shade(math.sqrt(part), f"{rows:,} ({part:.0%})" if rows else "0", right=i == j)
            for j, (rows, part) in enumerate(zip(count, fractions.tolist(), strict=True))
        ]
        lines.append([f"{label} ({count.sum():,} rows)", *cells])
    return Grid(["true class", *map(str, table.columns)], lines)


def _decisions(subject: Subject) -> Grid:
    rule, codes = subject.rule, subject.codes
    cost = rule.cost[codes]
    constant, best = int(cost.sum(axis=0).argmin()), rule.best(subject.proba)
    rows = np.arange(len(codes))
    expected = rule.expected(subject.proba)[rows, best].mean()
    lines = [
        ["least expected cost, row by row", f"{cost[rows, best].mean():.3f}", f"{expected:.3f}"],
        [f"always {rule.decisions[constant]}", f"{cost[:, constant].mean():.3f}", ""],
    ]
    if rule.decisions.tolist() == subject.classes and subject.loss is not None:
        likely = cost[rows, subject.proba.argmax(axis=1)].mean()
        lines.insert(1, ["most probable class", f"{likely:.3f}", ""])
    return Grid(["decision", "cost a row", "as expected by the model"], lines, right=(1, 2))


def _undecided(subject: Subject) -> Grid:
    cost, n = subject.rule.cost, len(subject.codes)
    prices = {price * float(cost.max()) for price in PRICES if price * cost.max() >= cost.min()}
    lines = []
    for price in sorted(prices | {subject.reject}):
        rows, right = abstaining(subject, price)
        lines.append([f"{price:g}", f"{rows:,}", share(rows / n), number(right, ".1%")])
    heads = ["cost of leaving undecided", "rows undecided", "share", "accuracy of the others"]
    return Grid(heads, lines, right=(0, 1, 2, 3))
