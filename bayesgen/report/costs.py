"""Confusion and costs: decisions of minimum expected loss, and undecided rows."""

import math

import numpy as np

from bayesgen import decide
from bayesgen.page import Cell, Grid, Shade
from bayesgen.report.subject import Subject, Values
from bayesgen.report.words import number, share

PRICES = (0.1, 0.2, 0.4, 0.6, 0.8)
"""Costs of leaving a row undecided, as shares of the way from the least cost to the largest that
the best decision can be expected to have: at more than that, every row is decided."""


def abstaining(subject: Subject, reject: float) -> tuple[int, float]:
    """Return the number of rows left undecided at a cost, and how good the other decisions are.

    That is their accuracy, or the mean cost of a row if they are actions; NaN where no row is
    decided.
    """
    rule = decide.rule(subject.loss, subject.comparison.classes, reject)
    best = rule.best(subject.proba)
    decided = best < len(rule.decisions) - 1
    codes, best = subject.codes[decided], best[decided]
    quality = best == codes if _decides_classes(subject) else rule.cost[codes, best]
    return int((~decided).sum()), float(quality.mean()) if len(quality) else math.nan


def _decides_classes(subject: Subject) -> bool:
    """Return whether decisions are the classes, in their order, and not actions."""
    return subject.rule.decisions.tolist() == subject.classes


def costs(subject: Subject) -> Values:
    """Return the confusion table, costs of decisions, and rows left undecided at several costs."""
    undecided, quality = abstaining(subject, subject.reject)
    worst = subject.rule.worst()
    return {
        "worst": worst if subject.reject >= worst else None,
        "undecided": undecided,
        "quality": quality,
        "classes": _decides_classes(subject),
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
    if _decides_classes(subject) and subject.loss is not None:
        likely = cost[rows, subject.proba.argmax(axis=1)].mean()
        lines.insert(1, ["most probable class", f"{likely:.3f}", ""])
    return Grid(["decision", "cost a row", "as expected by the model"], lines, right=(1, 2))


def _undecided(subject: Subject) -> Grid:
    least, worst = float(subject.rule.cost.min()), subject.rule.worst()
    prices = {float(f"{least + price * (worst - least):.3g}") for price in PRICES}
    form = ".1%" if _decides_classes(subject) else ".3f"
    lines, n = [], len(subject.codes)
    for price in sorted({price for price in prices if price >= least} | {subject.reject}):
        rows, quality = abstaining(subject, price)
        lines.append([f"{price:g}", f"{rows:,}", share(rows / n), number(quality, form)])
    others = "accuracy of the others" if _decides_classes(subject) else "cost a row of the others"
    heads = ["cost of leaving undecided", "rows undecided", "share", others]
    return Grid(heads, lines, right=(0, 1, 2, 3))
