"""Warnings about columns that may not be as they seem.

Numbers stored as text, row numbers, keys, blank text, and levels that may be one level in two
spellings. They are not errors: codes such as ICD's mix numbers and text, a measured column may be
sorted, and "m" and "M" may differ.
"""

import re
from collections.abc import Mapping

import numpy as np

from bayesgen.errors import BayesgenWarning, CountsAsMissing, Cure, SuspiciousColumn
from bayesgen.errors.data import SIMILAR_IN_FILE, paired, to_numbers
from bayesgen.errors.wording import Cells
from bayesgen.schema.number_forms import NumberForm, apart
from bayesgen.schema.readings.numbers import Numbers, form_of, reading_of
from bayesgen.schema.text_cells import form_and_numbers, other_cells
from bayesgen.table import Name, Table, TableColumn, alike

FEW_ROWS = 20
"""With so few rows neither a level for every row nor ascending numbers are a sign of a key."""
NUMBERS_SHARE = 0.9
"""Smallest share of numbers in a column of text that is taken for numbers; others hold names."""
FEWEST_NUMBERS = 10
"""Different numbers in a column of text: "0", "1", "2" and "3+" are levels."""
MOST_CODES = 3
"""Different texts beside numbers that may each be a code, however many cells have it."""
RANGE = re.compile(r"(\d+(?:\.\d+)?)\s*(?:-|\u2013|to)\s*(\d+(?:\.\d+)?)(?:\s*[^\d\s]\S*)?")
"""A text such as "735-739" or "1 to 5 years"."""
FEWEST = 3
"""Different ranges in a column of such, and different numbers beside a mark such as "?"."""
MOST_UNITS = 3
"""Different units, at most, of numbers that are not names."""
BOUND = re.compile(r"[<>\u2264\u2265]=?\s*\d[\d.,]*|\d[\d.,]*\s*\+")
"""A text such as "< 5" or "90+"."""
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


def as_read(table: Table) -> dict[Name, int]:
    """Return the number of levels of each column, where no likelihood is stated; 0 for numbers."""
    columns = table.columns
    return {c.name: 0 if reading_of(c) is not None else len(c.levels) for c in columns}


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
    if not n_levels and found.kind == "level" and (numbers := form_of(found)):
        return _read_as_numbers(found, numbers)
    if found.declared or not n_levels:
        return None
    n_rows = len(found.values)
    if found.kind == "level" and any(map(str.isdigit, "".join(map(str, found.levels)))):
        form, number = form_and_numbers(found)
        seen = number[found.values[found.values >= 0]]
        mixed = seen.mean() if len(seen) else 0.0
        others = [str(v) for v, is_one in zip(found.levels, number, strict=True) if not is_one]
        few = len(others) <= MOST_CODES
        marks = not any(map(str.isalnum, "".join(others)))
        fewest = FEWEST if few and marks else FEWEST_NUMBERS
        if number.sum() >= fewest and (few or mixed >= NUMBERS_SHARE) and mixed < 1:
            return _text_numbers(found.name, other_cells(found, number), len(seen), form)
        if are_ranges(found):
            return _ranges(found)
        if has_units(found):
            return _units(found)
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


def _text_numbers(name: Name, cells: Cells, observed: int, form: NumberForm) -> SuspiciousColumn:
    """Return the warning of a column whose `cells`, among those observed, are not numbers."""
    cure, fields = to_numbers(name, cells, decorated=not form.is_bare)
    if all(BOUND.fullmatch(text) for text, _ in cells):
        cure = Cure(
            "For numbers, take the bounds themselves: {column:bounds}.",
            "For numbers, write one in place of each bound into the file.",
        )
    text = " If it is meant as text, pass {column:as category}."
    return SuspiciousColumn(
        "column {column!r} is read as text, because {cells:len} of its {observed:,} cells {are}"
        "{form}: {cells:cells}.",
        Cure(cure.python + text, cure.shell),
        column=name,
        cells=cells,
        observed=observed,
        are="is not a number" if len(cells) == 1 else "are not numbers",
        form="" if form.is_bare else form.words.removeprefix("numbers"),
        **fields,
    )


def _read_as_numbers(found: TableColumn, numbers: Numbers) -> SuspiciousColumn:
    """Return the warning of a column of text that is read as numbers."""
    text = Cure(
        "If it is meant as text, pass {column:as category}.",
        "If levels are meant, give them names in the file.",
    )
    if numbers.form == "numbers":
        return SuspiciousColumn(
            "column {column!r} is read as numbers, because its texts are numbers but for blanks.",
            text,
            column=found.name,
        )
    rows = np.flatnonzero(found.values >= 0)
    row = int(rows[np.argmax([len(found.levels[code]) for code in found.values[rows]])])
    return SuspiciousColumn(
        "column {column!r} is read as {form}: {cell!r}{row:in_row} is {value:.10g}.",
        text,
        column=found.name,
        form=numbers.form,
        cell=found.levels[found.values[row]],
        row=row,
        value=float(numbers.numbers(found)[row]),
    )


def are_ranges(found: TableColumn) -> bool:
    """Return whether nearly all cells are ranges of numbers."""
    each = np.array([_is_range(level) for level in found.levels], dtype=bool)
    seen = each[found.values[found.values >= 0]]
    return bool(each.sum() >= FEWEST and seen.mean() >= NUMBERS_SHARE)


def _ranges(found: TableColumn) -> SuspiciousColumn:
    """Return the warning of a column of ranges, which have no order as levels."""
    return SuspiciousColumn(
        "column {column!r} holds ranges of numbers, such as {range!r}, which are read as levels "
        "without an order.",
        Cure(
            "For numbers, take the middle of each: {column:middles}. If levels are meant, pass "
            "{column:as category}.",
            "For numbers, write the middle of each range into the file.",
        ),
        column=found.name,
        range=next(filter(_is_range, found.levels)),
    )


def has_units(found: TableColumn) -> bool:
    """Return whether nearly all cells are numbers, in several units: no form makes them alike."""
    parts = [apart(str(level)) for level in found.levels]
    seen = np.array([one is not None for one in parts])[found.values[found.values >= 0]]
    units = {one.key for one in parts if one is not None}
    amounts = len(parts) >= FEWEST_NUMBERS and seen.mean() >= NUMBERS_SHARE
    return bool(amounts and 1 < len(units) <= MOST_UNITS)


def _units(found: TableColumn) -> SuspiciousColumn:
    """Return the warning of a column of numbers in several units, which are read as levels."""
    first = {}
    for code in found.values[found.values >= 0]:
        parts = apart(str(found.levels[code]))
        if parts is not None:
            first.setdefault(parts.key, found.levels[code])
    return SuspiciousColumn(
        "column {column!r} holds numbers in several units, {cells:listed}, which are read as "
        "levels.",
        Cure(
            "For numbers, write all of them in one unit. If levels are meant, pass {column:as "
            "category}.",
            "For numbers, write all of them in one unit into the file.",
        ),
        column=found.name,
        cells=list(first.values()),
    )


def _is_range(level: object) -> bool:
    """Return whether a level is a range of numbers, the lower end first."""
    ends = RANGE.fullmatch(str(level))
    return ends is not None and float(ends[1]) < float(ends[2])


def _index(*, first: bool) -> str:
    """Return the cure of the first column, which may be the index of a table in a file."""
    return ", or read the file by pandas.read_csv(path, index_col=0)" if first else ""
