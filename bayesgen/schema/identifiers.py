"""Identifiers: columns of text with a level for nearly every row, which say nothing of others."""

import dataclasses
import re
from collections.abc import Collection

import numpy as np

from bayesgen.errors import Cure, InvalidData, SuspiciousColumn, Words
from bayesgen.errors.data import TABLE
from bayesgen.schema.readings.numbers import reading_of
from bayesgen.schema.suspects import FEW_ROWS, are_ranges, has_units
from bayesgen.schema.text_cells import are_words
from bayesgen.table import Name, Table, TableColumn, missing_column

NEARLY = 0.9
"""Levels for each observed cell, at least, of an identifier: a new row has another one, and levels
of single rows tell no class. With a column of 300 names in 300 rows logistic regression had a log
loss of .424 in place of .177."""

WORDS = 5
"""Words of half of the cells, at least, if these are texts that a bag of words reads."""

ZEROS = re.compile(r"0\d+")
"""Digits after a zero: a code, though all of it are digits."""


def identifiers(table: Table, kept: Collection[object] = ()) -> list[TableColumn]:
    """Return the columns of text with a level for nearly every row, which are no features.

    Those of an array, whose columns go by position, are none, nor are declared levels and numbers
    that are written as text.

    Args:
        table: rows to fit.
        kept: names of columns that are none, because a likelihood or another use is stated.
    """
    if table.container == "numpy" or not table.has_many_levels or table.n_rows <= FEW_ROWS:
        return []
    columns = [column for column in table.columns if column.name not in kept]
    return [column for column in columns if _is_identifier(column)]


def holds_texts(column: TableColumn) -> bool:
    """Return whether the cells of a column are texts of several words."""
    if column.kind == "number" or not column.levels:
        return False
    return bool(np.median([len(str(level).split()) for level in column.levels]) >= WORDS)


def ignored(column: TableColumn) -> SuspiciousColumn:
    """Return the note about an identifier, which is no feature."""
    if holds_texts(column):
        return SuspiciousColumn(
            "column {column!r} holds texts, another one in nearly every row, and is ignored.",
            Cure(
                "To classify by it, fit the texts: bg.BagOfWords().fit({column:in_X}, y).",
                "To classify by it, add --columns {column:option} --model bag-of-words.",
            ),
            column=column.name,
        )
    return SuspiciousColumn(
        "column {column!r} has {n_levels:,} levels in {n_rows:rows}; it is taken for an "
        "identifier, and ignored.",
        Cure(
            "If new rows have the same levels, declare them: {column:as category}; otherwise leave "
            "it out to silence this: {column:without}.",
            "Leave it out to silence this: --drop {column:option}.",
        ),
        column=column.name,
        n_levels=_n_levels(column),
        n_rows=len(column.values),
    )


def no_feature_left(columns: Collection[TableColumn]) -> InvalidData:
    """Return the error about a table whose columns are all identifiers."""
    texts = [column.name for column in columns if holds_texts(column)]
    if texts:
        return InvalidData(
            "column {column!r} holds texts, another one in nearly every row, and {table} {has} no "
            "other feature.",
            Cure(
                "Fit the texts: bg.BagOfWords().fit({column:in_X}, y).",
                "Add --model bag-of-words."
                if len(columns) == 1
                else "Add --columns {column:option} --model bag-of-words.",
            ),
            column=texts[0],
            table=TABLE,
            has="has",
        )
    return InvalidData(
        "the {columns:named column} of {table} {have} a level for nearly every row, which says "
        "nothing of other rows, and there is no other feature.",
        Cure(
            "Add columns, or, if new rows have the same levels, declare them, "
            "as by {columns[0]:as category}.",
            "Add columns of numbers, or of levels that rows share.",
        ),
        columns=[column.name for column in columns],
        table=Words("X", "the file"),
        have="has" if len(columns) == 1 else "have",
    )


def set_aside(table: Table, columns: Collection[TableColumn]) -> Table:
    """Return a table in which no likelihood reads some of the columns."""
    if not columns:
        return table
    names: set[Name] = {column.name for column in columns}
    return dataclasses.replace(
        table,
        columns=tuple(
            missing_column(column.name, table.n_rows, unread=True)
            if column.name in names
            else column
            for column in table.columns
        ),
    )


def _n_levels(column: TableColumn) -> int:
    return len(np.unique(column.values[column.values >= 0]))


def _is_identifier(column: TableColumn) -> bool:
    if column.declared or reading_of(column) is not None or are_ranges(column):
        return False
    observed = int((column.values >= 0).sum())
    if observed <= FEW_ROWS or len(column.levels) < NEARLY * observed:
        return False
    levels = [level for level in column.levels if isinstance(level, str)]
    if len(levels) < len(column.levels) or _n_levels(column) < NEARLY * observed:
        return False
    if any(ZEROS.fullmatch(level) for level in levels):
        return True
    return are_words(column) and not has_units(column)
