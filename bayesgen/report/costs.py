"""Confusion and costs: decisions of minimum expected loss, and undecided rows."""

import math

import numpy as np

from bayesgen import decide
from bayesgen.page import Cell, Grid, Section, Shade, Text
from bayesgen.report.subject import Subject
from bayesgen.report.words import share

PRICES = (0.05, 0.1, 0.2, 0.3, 0.4)
"""Costs of leaving a row undecided, as shares of the largest cost of a decision."""


def abstaining(subject: Subject, reject: float) -> tuple[float, int, float]:
    """Return the cost, the number of rows left undecided, and the accuracy of the others.

    The accuracy is that of the most probable class, NaN where no row is decided.
    """
    rule = decide.rule(subject.loss, subject.comparison.classes, reject)
    undecided = rule.best(subject.proba) == len(rule.decisions) - 1
    decided = subject.right[~undecided]
    return reject, int(undecided.sum()), float(decided.mean()) if len(decided) else math.nan


def section(subject: Subject) -> Section:
    """Return the confusion table, costs of decisions, and rows left undecided at several costs."""
    words = (
        "Rows are true classes, columns the most probable ones, all of rows left out. Right "
        "decisions are shaded blue, errors orange, by their share of the true class."
    )
    blocks = [Text(words, "muted"), _confusion(subject)]
    blocks += [_cost_words(subject), _costs(subject)]
    return Section("Confusion and costs", [*blocks, _undecided_words(subject), _undecided(subject)])


def _confusion(subject: Subject) -> Grid:
    table = subject.comparison.confusion(subject.name)
    count = table.to_numpy()
    fraction = count / np.maximum(count.sum(axis=1, keepdims=True), 1)
    lines: list[list[Cell]] = []
    for i, label in enumerate(table.index):
        cells: list[Cell] = [
            Shade(
                float(np.sqrt(fraction[i, j])),
                f"{rows:,} ({fraction[i, j]:.0%})" if rows else "0",
                right=i == j,
            )
            for j, rows in enumerate(count[i])
        ]
        lines.append([f"{label} ({count[i].sum():,} rows)", *cells])
    return Grid(["true class", *map(str, table.columns)], lines)


def _cost_words(subject: Subject) -> Text:
    if subject.loss is None:
        return Text(
            "Costs: every error counts 1. Other costs can be stated in Python, "
            "clf.report_html(path, X, y, loss={(true, decided): cost}); the decisions of least "
            "expected cost then differ from the most probable classes."
        )
    return Text("Costs as stated. The best decision is that of least expected cost for each row.")


def _costs(subject: Subject) -> Grid:
    rule = subject.rule
    cost, codes = rule.cost, subject.codes
    counts = np.bincount(codes, minlength=len(subject.classes))
    constant = int((counts @ cost).argmin())
    best = rule.best(subject.proba)
    expected = rule.expected(subject.proba)[np.arange(len(best)), best].mean()
    lines = [
        ["least expected cost, row by row", f"{cost[codes, best].mean():.3f}", f"{expected:.3f}"],
        [f"always {rule.decisions[constant]}", f"{cost[codes, constant].mean():.3f}", ""],
    ]
    if (
        list(map(str, rule.decisions)) == list(map(str, subject.classes))
        and subject.loss is not None
    ):
        likely = cost[codes, subject.proba.argmax(axis=1)].mean()
        lines.insert(1, ["most probable class", f"{likely:.3f}", ""])
    return Grid(["decision", "cost a row", "as expected by the model"], lines, right=(1, 2))


def _undecided_words(subject: Subject) -> Text:
    words = "Undecided rows: a row is left undecided where every decision is expected to cost more."
    return Text(words)


def _undecided(subject: Subject) -> Grid:
    most = float(subject.rule.cost.max())
    least = float(subject.rule.cost.min())
    prices = {price * most for price in PRICES if price * most >= least} | {subject.reject}
    n, lines = len(subject.codes), []
    for price in sorted(prices):
        cost, rows, right = abstaining(subject, price)
        accuracy = "" if math.isnan(right) else share(right)
        lines.append([f"{cost:g}", f"{rows:,}", share(rows / n), accuracy])
    heads = ["cost of leaving undecided", "rows undecided", "share", "accuracy of the others"]
    return Grid(heads, lines, right=(0, 1, 2, 3))
