"""Warnings about columns that may not be as they seem.

Numbers stored as text, row numbers, keys, blank text, and levels that may be one level in two
spellings. They are not errors: codes such as ICD's mix numbers and text, a measured column may be
sorted, and "m" and "M" may differ.
"""

import re
from collections.abc import Callable, Mapping

import numpy as np
from jaxtyping import Bool

from bayesgen.errors import BayesgenWarning, CountsAsMissing, Cure, InvalidData, SuspiciousColumn
from bayesgen.errors.data import OTHER_MODEL, SIMILAR_IN_FILE, paired, to_numbers
from bayesgen.table import Name, Table, TableColumn, alike, is_number

FEW_ROWS = 20
"""With so few rows neither a level for every row nor ascending numbers are a sign of a key."""
NUMBERS_SHARE = 0.9
"""Smallest share of numbers in a column of text that is taken for numbers; others hold names."""
FEWEST_NUMBERS = 10
"""Different numbers in a column of text: "0", "1", "2" and "3+" are levels."""
COMMA = re.compile(r"\s*[+-]?(\d+|\d{1,3}(\.\d{3})+),\d+\s*", re.ASCII)
"""A number with a decimal comma, with or without points between thousands."""
WHOLE = re.compile(r"\s*[+-]?\d+\s*", re.ASCII)
DROP = "Leave it out: --drop {column:option}."
UNNAMED = re.compile(r"|Unnamed: \d+|__index_level_\d+__")
"""How pandas, polars and pyarrow name the index of a table that was written to a file."""


def suspicions(table: Table, n_levels: Mapping[Name, int]) -> list[BayesgenWarning]:
    """Return warnings about columns to check before fitting.

    Args:
        table: to fit.
        n_levels: columns to check, and the number of levels of each; 0 for numbers.
    """
    # columns of an array have no names, and are measured
    named = table.container != "numpy"
    place = {column.name: (column, i == 0) for i, column in enumerate(table.columns)}
    found: list[BayesgenWarning] = []
    for name, n in n_levels.items():
        column, first = place[name]
        if n and column.levels and not column.declared and (groups := alike(column.levels)):
            found.append(_similar_levels(name, groups))
        suspicion = _suspicion(column, n, named=named, first=first)
        found += [] if suspicion is None else [suspicion]
    return found


def blank_text(columns: list[Name]) -> CountsAsMissing:
    """Return the warning about text of blanks alone, which is read as missing, in columns."""
    return CountsAsMissing(
        "blank text in {columns:named column} is read as missing.",
        Cure(
            "If it is a level of its own, name it: {columns:blank blank}; {columns:blank None} "
            "makes it missing without this warning.",
            "If it is a level of its own, name it in the file.",
        ),
        columns=columns,
    )


def _suspicion(
    found: TableColumn, n_levels: int, *, named: bool, first: bool
) -> BayesgenWarning | None:
    if named and UNNAMED.fullmatch(str(found.name)) and not found.is_missing:
        return SuspiciousColumn(
            "column {column!r} has no name; it looks like an index that was written to the file, "
            "and it reveals the class if rows are sorted by class.",
            Cure(f"Leave it out: {{column:without}}{_index(first=first)}.", DROP),
            column=found.name,
        )
    if named and found.counts and len(found.values) > FEW_ROWS:
        return SuspiciousColumn(
            "column {column!r} holds integers that rise from every row to the next; it looks like "
            "a row number or a key, and it reveals the class if rows are sorted by class.",
            Cure(
                f"Leave it out: {{column:without}}{_index(first=first)}. If it is a measurement, "
                "pass {column:as float}.",
                DROP,
            ),
            column=found.name,
        )
    if found.declared or not n_levels:
        return None
    n_rows = len(found.values)
    if found.kind == "level":
        number = _are_numbers(found)
        seen = number[found.values[found.values >= 0]]
        mixed = seen.mean() if len(seen) else 0.0
        if number.sum() >= FEWEST_NUMBERS and NUMBERS_SHARE <= mixed < 1:
            return _text_numbers(found.name, _others(found, number), len(seen))
        if _have_commas(found):
            return _decimal_commas(found)
    if n_rows > FEW_ROWS and 2 * n_levels > n_rows:
        return SuspiciousColumn(
            "column {column!r} has {n_levels:,} levels in {n_rows:rows}; it looks like an "
            "identifier, and new rows will have levels that the fit did not have.",
            Cure("Leave it out: {column:without}.", DROP),
            column=found.name,
            n_levels=n_levels,
            n_rows=n_rows,
        )
    return None


def not_numeric(found: TableColumn) -> InvalidData:
    """Return the error about a column of levels where numbers are needed."""
    number = _are_numbers(found)
    if are_words(found):
        return InvalidData(
            "column {column!r} holds the levels {levels:listed}; its likelihood needs numbers.",
            Cure(
                "Give it one for levels, {column:by Categorical}, or, if it is a number, pass "
                "{column:as float}.",
                OTHER_MODEL,
            ),
            column=found.name,
            levels=found.levels,
        )
    if number[found.values[found.values >= 0]].all():
        return InvalidData(
            "column {column!r} holds numbers that are written as text; its likelihood needs "
            "numbers.",
            Cure(
                "Pass {column:as float}.",
                OTHER_MODEL,
            ),
            column=found.name,
        )
    cells = _others(found, number)
    cure, fields = to_numbers(cells)
    return InvalidData(
        "column {column!r} holds {cells:cells}; its likelihood needs numbers.",
        cure,
        column=found.name,
        cells=cells,
        **fields,
    )


def not_in_form(found: TableColumn, form: str, is_in_form: Callable[[str], bool]) -> InvalidData:
    """Return the error about cells in another form than the numbers of their column.

    Args:
        found: the cells.
        form: how the numbers of the column are written, in words.
        is_in_form: whether a text is in this form.
    """
    in_form = [isinstance(level, str) and is_in_form(level) for level in found.levels]
    cells = _others(found, np.array(in_form, dtype=bool))
    return InvalidData(
        "column {column!r} holds {cells:cells}, and was read as {form}.",
        Cure(
            "Write all cells alike, and None where one is missing.",
            "Write all cells alike; if {first!r} means missing, add --missing={first:option}.",
        ),
        column=found.name,
        cells=cells,
        form=form,
        first=cells[0][0],
    )


def are_words(found: TableColumn) -> bool:
    """Return whether a column of levels is more than numbers that are written as text."""
    seen = _are_numbers(found)[found.values[found.values >= 0]]
    return found.declared or bool(2 * seen.sum() <= len(seen))


def _similar_levels(name: Name, groups: list[list]) -> SuspiciousColumn:
    """Return the warning of levels of which those of a group differ only by blanks or case."""
    return SuspiciousColumn(
        "column {column!r} has levels that differ only by blanks or case: {groups}.",
        Cure(
            "If they mean the same, write them alike: {column:alike}; if not, pass "
            "{column:as category}.",
            SIMILAR_IN_FILE,
        ),
        column=name,
        groups=paired(groups),
    )


def _text_numbers(name: Name, cells: list[tuple[str, int]], observed: int) -> SuspiciousColumn:
    """Return the warning of a column whose `cells`, among those observed, are not numbers."""
    cure, fields = to_numbers(cells)
    text = " If it is meant as text, pass {column:as category}."
    return SuspiciousColumn(
        "column {column!r} is read as text, because {cells:len} of its {observed:,} cells {are}: "
        "{cells:cells}.",
        Cure(cure.python + text, cure.shell),
        column=name,
        cells=cells,
        observed=observed,
        are="is not a number" if len(cells) == 1 else "are not numbers",
        **fields,
    )


def _have_commas(found: TableColumn) -> bool:
    """Return whether nearly all cells are numbers with a decimal comma, or whole beside such."""
    comma = np.array([isinstance(v, str) and bool(COMMA.fullmatch(v)) for v in found.levels])
    whole = np.array([isinstance(v, str) and bool(WHOLE.fullmatch(v)) for v in found.levels])
    seen = found.values[found.values >= 0]
    share = (comma | whole)[seen].mean() if comma.sum() >= FEWEST_NUMBERS else 0.0
    return bool(share >= NUMBERS_SHARE)


def _decimal_commas(found: TableColumn) -> SuspiciousColumn:
    """Return the warning of a column of numbers with a decimal comma."""
    texts = [level for level in found.levels if COMMA.fullmatch(str(level))]
    points = [level for level in texts if "." in level]
    shell = "Write them without the points, and add --decimal ,." if points else "Add --decimal ,."
    numbers = "{column:commas points}" if points else "{column:commas}"
    return SuspiciousColumn(
        "column {column!r} is read as text, because it holds numbers with a decimal comma"
        "{thousands}, such as {example!r}.",
        Cure(
            "Make them numbers: "
            + numbers
            + ". If it is meant as text, pass {column:as category}.",
            shell,
        ),
        column=found.name,
        thousands=" and points between thousands" if points else "",
        example=(points or texts)[0],
    )


def _index(*, first: bool) -> str:
    """Return the cure of the first column, which may be the index of a table in a file."""
    return ", or read the file by pandas.read_csv(path, index_col=0)" if first else ""


def _are_numbers(found: TableColumn) -> Bool[np.ndarray, " level"]:
    """Return which levels of a column are numbers that are written as text."""
    return np.array([isinstance(v, str) and is_number(v) for v in found.levels], dtype=bool)


def _others(found: TableColumn, number: Bool[np.ndarray, " level"]) -> list[tuple[str, int]]:
    """Return (text, row) of the observed cells that are not numbers, in the order of rows."""
    rows = np.flatnonzero((found.values >= 0) & ~np.append(number, True)[found.values])
    return [(found.levels[found.values[row]], int(row)) for row in rows]
