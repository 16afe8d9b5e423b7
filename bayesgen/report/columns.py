"""The data: classes, columns with their missing values, and suspicious columns."""

import numpy as np

from bayesgen.page import Bar, Cell, Grid
from bayesgen.report.subject import Subject, Values
from bayesgen.report.words import number, share
from bayesgen.schema import as_read, identifiers, ignored, set_aside, suspicions
from bayesgen.table import TableColumn

MOST = 1000
MOST_LEVELS = 6
MANY_MISSING = 0.5
RARE = 5


def data(subject: Subject) -> Values:
    """Return classes, odd columns, and every column with its values and missing cells."""
    missing, incomplete = 0, np.zeros(subject.table.n_rows, dtype=bool)
    for column in subject.columns:
        missing, incomplete = missing + column.missing.sum(), incomplete | column.missing
    count = np.bincount(subject.codes, minlength=len(subject.classes))
    lines: list[list[Cell]] = [
        [str(label), f"{rows:,}", Bar(rows / count.max(), share(rows / count.sum()))]
        for label, rows in zip(subject.classes, count, strict=True)
    ]
    classes = Grid(["class", "rows", "share"], lines, right=(1,))
    heads = ["column", "kind", "values", "missing", "share missing"]
    columns = Grid(heads, [_line(column) for column in subject.columns[:MOST]], right=(3,))
    return {
        "missing": missing,
        "incomplete": incomplete.sum(),
        "classes": classes,
        "odd": [f"{words[:1].upper()}{words[1:].rstrip('.')}." for words in _odd(subject, count)],
        "columns": columns,
    }


def _odd(subject: Subject, count: np.ndarray) -> list[str]:
    """Return a sentence for each column, or class, that deserves a look."""
    columns = subject.columns
    found = identifiers(subject.table)
    rest = set_aside(subject.table, found)
    warnings = [*map(ignored, found), *suspicions(rest, as_read(rest))]
    odd = [subject.worded(warning) for warning in warnings]
    for column in columns if len(columns) <= MOST else ():
        cells = column.values[~column.missing]
        if not len(cells):
            odd.append(f"column {column.name!r} has no observed cell")
        elif len(np.unique(cells)) == 1 and len(cells) > 1:
            odd.append(f"column {column.name!r} has one value in all rows and says nothing")
        elif column.missing.mean() > MANY_MISSING:
            odd.append(f"column {column.name!r} is missing in {share(column.missing.mean())}")
    rare = [str(k) for k, n in zip(subject.classes, count, strict=True) if n < RARE]
    if rare:
        odd.append(f"fewer than {RARE} rows have the class {', '.join(rare)}")
    return odd


def _line(column: TableColumn) -> list[Cell]:
    rate = column.missing.mean()
    kind = "number" if column.kind == "number" else f"{len(column.levels):,} levels"
    bar: Cell = Bar(rate, share(rate)) if rate else ""
    return [str(column.name), kind, _values(column), f"{column.missing.sum():,}", bar]


def _values(column: TableColumn) -> str:
    """Return the observed values in words."""
    cells = column.values[~column.missing]
    if not len(cells):
        return "none observed"
    if column.kind == "number":
        low, middle, high = np.quantile(cells, [0, 0.5, 1])
        return f"{number(low)} to {number(high)}, median {number(middle)}"
    count = np.bincount(cells, minlength=len(column.levels))
    order = np.argsort(-count, kind="stable")[:MOST_LEVELS]
    words = ", ".join(f"{column.levels[i]} ({count[i]:,})" for i in order)
    more = len(column.levels) - MOST_LEVELS
    return words + (f" and {more:,} more" if more > 0 else "")
