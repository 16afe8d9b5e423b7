"""The data: classes, columns with their missing values, and suspicious columns."""

import numpy as np

from bayesgen.page import Bar, Block, Cell, Details, Grid, Section, Text
from bayesgen.report.subject import Subject
from bayesgen.report.words import excerpt, number, share
from bayesgen.schema import suspicions
from bayesgen.table import TableColumn

SHOWN = 40
MOST = 1000
MOST_LEVELS = 6
MANY_MISSING = 0.5
RARE = 5


def section(subject: Subject) -> Section:
    """Return classes, odd columns, and every column with its values and missing cells."""
    columns, n_rows = subject.columns, subject.table.n_rows
    missing = np.array([column.missing.sum() for column in columns])
    anywhere = np.zeros(n_rows, dtype=bool)
    for column in columns:
        anywhere |= column.missing
    words = f"{n_rows:,} rows, {len(columns):,} columns."
    if missing.sum():
        words += (
            f" {missing.sum():,} of {n_rows * len(columns):,} cells are missing "
            f"({share(missing.sum() / (n_rows * len(columns)))}), in {anywhere.sum():,} rows. They "
            "are integrated out, when fitting and when predicting; none is replaced by a guess."
        )
    else:
        words += " No cell is missing."
    blocks: list[Block] = [Text(words), _classes(subject), *_odd(subject)]
    blocks += excerpt(_grid(columns[:MOST]), len(columns), "columns", SHOWN)
    return Section("The data", blocks)


def _classes(subject: Subject) -> Grid:
    count = np.bincount(subject.codes, minlength=len(subject.classes))
    lines: list[list[Cell]] = [
        [str(label), f"{rows:,}", Bar(rows / count.max(), share(rows / count.sum()))]
        for label, rows in zip(subject.classes, count, strict=True)
    ]
    return Grid(["class", "rows", "share"], lines, right=(1,))


def _odd(subject: Subject) -> list[Block]:
    """Return a warning for each column, or class, that deserves a look."""
    columns = subject.columns
    levels = {column.name: len(column.levels) for column in columns}
    found = [str(warning) for warning in suspicions(subject.table, levels)]
    for column in columns if len(columns) <= MOST else ():
        seen = column.values[~column.missing]
        if not len(seen):
            found.append(f"column {column.name!r} has no observed cell")
        elif len(np.unique(seen)) == 1 and len(seen) > 1:
            found.append(f"column {column.name!r} has one value in all rows and says nothing")
        elif column.missing.mean() > MANY_MISSING:
            found.append(f"column {column.name!r} is missing in {share(column.missing.mean())}")
    count = np.bincount(subject.codes, minlength=len(subject.classes))
    rare = [str(k) for k, n in zip(subject.classes, count, strict=True) if n < RARE]
    if rare:
        found.append(f"fewer than {RARE} rows have the class {', '.join(rare)}")
    blocks: list[Block] = [
        Text(f"{words[:1].upper()}{words[1:]}.".replace("..", "."), "warning")
        for words in found[:SHOWN]
    ]
    if len(found) > SHOWN:
        rest: list[Block] = [Text(words) for words in found[SHOWN:]]
        blocks.append(Details(f"{len(rest):,} more odd columns", rest))
    return blocks or [Text("No column looks odd.", "good")]


def _grid(columns: tuple[TableColumn, ...]) -> Grid:
    lines = [_line(column) for column in columns]
    return Grid(["column", "kind", "values", "missing", "share missing"], lines, right=(3,))


def _line(column: TableColumn) -> list[Cell]:
    gone = int(column.missing.sum())
    rate = gone / len(column.values)
    kind = "number" if column.kind == "number" else f"{len(column.levels):,} levels"
    bar: Cell = Bar(rate, share(rate)) if gone else ""
    return [str(column.name), kind, _values(column), f"{gone:,}", bar]


def _values(column: TableColumn) -> str:
    """Return the observed values in words."""
    seen = column.values[~column.missing]
    if not len(seen):
        return "none observed"
    if column.kind == "number":
        low, middle, high = np.quantile(seen, [0, 0.5, 1])
        return f"{number(low)} to {number(high)}, median {number(middle)}"
    count = np.bincount(seen, minlength=len(column.levels))
    order = np.argsort(-count, kind="stable")[:MOST_LEVELS]
    words = ", ".join(f"{column.levels[i]} ({count[i]:,})" for i in order)
    more = len(column.levels) - MOST_LEVELS
    return words + (f" and {more:,} more" if more > 0 else "")
