"""Texts in columns that are to hold numbers: which of them are, and errors about the others."""

from collections.abc import Callable

import numpy as np
from jaxtyping import Bool

from bayesgen.errors import Cure, InvalidData
from bayesgen.errors.data import OTHER_MODEL, to_numbers
from bayesgen.schema.number_forms import NumberForm, learned
from bayesgen.table import TableColumn


def not_numeric(found: TableColumn) -> InvalidData:
    """Return the error about a column of levels where numbers are needed."""
    form, number = form_and_numbers(found)
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
                "Pass {column:as float}."
                if form.is_bare
                else "Make them numbers: {column:commas}.",
                OTHER_MODEL,
            ),
            column=found.name,
        )
    cells = other_cells(found, number)
    cure, fields = to_numbers(found.name, cells, decorated=not form.is_bare)
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
    cells = other_cells(found, np.array(in_form, dtype=bool))
    return InvalidData(
        "column {column!r} holds {cells:cells}, and was read as {form}.",
        Cure(
            "Write all cells alike, and None where one is missing.",
            "Write all cells alike; if {first!r} means missing, add {first:assigned --missing} to "
            "the command.",
        ),
        column=found.name,
        cells=cells,
        form=form,
        first=cells[0][0],
    )


def are_words(found: TableColumn) -> bool:
    """Return whether a column of levels is more than numbers that are written as text."""
    seen = are_numbers(found)[found.values[found.values >= 0]]
    return found.declared or bool(2 * seen.sum() <= len(seen))


def are_numbers(found: TableColumn) -> Bool[np.ndarray, " level"]:
    """Return which levels of a column are numbers, all of these written as text in one form."""
    return form_and_numbers(found)[1]


def form_and_numbers(
    found: TableColumn, earlier: NumberForm | None = None
) -> tuple[NumberForm, Bool[np.ndarray, " level"]]:
    """Return the form of the numbers among the levels of a column, and which levels are these.

    earlier: the form of earlier cells.
    """
    words = [level if isinstance(level, str) else "" for level in found.levels]
    count = np.bincount(found.values[found.values >= 0], minlength=len(words))
    form, in_form = learned(words, count.tolist(), earlier)
    return form, np.array(in_form, dtype=bool)


def other_cells(found: TableColumn, number: Bool[np.ndarray, " level"]) -> list[tuple[str, int]]:
    """Return (text, row) of the observed cells that are not numbers, in the order of rows."""
    rows = np.flatnonzero((found.values >= 0) & ~np.append(number, True)[found.values])
    return [(found.levels[found.values[row]], int(row)) for row in rows]
