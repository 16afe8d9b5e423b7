"""The rows that a stack keeps: those of several calls as of one, and without rows to forget."""

import functools
from collections.abc import Sequence

import numpy as np

from bayesgen.errors import UnsupportedOperation
from bayesgen.estimators.training_rows import UNLABELLED, TrainingRows
from bayesgen.estimators.updates.merging import united_classes
from bayesgen.membership import Entries, concatenated, shares_of
from bayesgen.table import row_keys, tables_together

ROUNDING = 1e-9
"""Share of a row's weight below which what is left of it is rounding."""


def rows_together(seen: Sequence[TrainingRows]) -> TrainingRows:
    """Return the rows of several calls as if they had been passed in one, in their order.

    Raises:
        InvalidData: labels, or the cells of a column, are text in one call and numbers in another.
    """
    if len(seen) == 1:
        return seen[0]
    table = tables_together([rows.table for rows in seen])
    classes = functools.reduce(united_classes, [rows.classes for rows in seen])
    codes = np.concatenate([rows.codes_among(classes) for rows in seen])
    weight = np.concatenate([rows.weight for rows in seen])
    y = concatenated([rows.membership(classes) for rows in seen], len(classes))
    return TrainingRows.of_table(table, codes, weight, classes, y if y.ndim == 2 else None)


def rows_without(rows: TrainingRows, others: TrainingRows) -> TrainingRows:
    """Return rows without others, which are found among them by their cells and labels.

    The weight of each of the others is subtracted from its copies, first from the one of the
    nearest weight; a row without weight is gone.

    Raises:
        UnsupportedOperation: one of the others is not among the rows, or not with this weight.
    """
    copies: dict[tuple, list[int]] = {}
    for i, row in enumerate(_identities(rows)):
        copies.setdefault(row, []).append(i)
    weight = rows.weight.copy()
    for i, row in enumerate(_identities(others)):
        left = float(others.weight[i])
        for j in sorted(copies.get(row, []), key=lambda j: abs(weight[j] - left)):
            taken = min(weight[j], left)
            weight[j], left = weight[j] - taken, left - taken
        if left > ROUNDING * others.weight[i]:
            raise _not_fitted(others, i)
    there = np.flatnonzero(weight > ROUNDING * rows.weight)
    left = rows.only(there)
    return TrainingRows.of_table(left.table, left.codes, weight[there], left.classes, left.shares)


def _identities(rows: TrainingRows) -> list[tuple]:
    """Return the content of each row and its share of each class; equal ones are of copies."""
    keys, labels = row_keys(rows.table)[1].tolist(), rows.classes.tolist()
    out = [[key] for key in keys]
    entries = Entries.of(shares_of(rows.membership(rows.classes), len(labels)), np.ones(len(keys)))
    shares = zip(entries.code.tolist(), entries.weight.tolist(), strict=True)
    for row, (code, share) in zip(entries.row.tolist(), shares, strict=True):
        out[row].append((labels[code], share))
    return list(map(tuple, out))


def _not_fitted(others: TrainingRows, i: int) -> UnsupportedOperation:
    """Return the error about a row to forget that the fit did not have."""
    code = int(others.codes[i])
    return UnsupportedOperation(
        "row {row:,} to forget, {label}, is not among the rows of the fit, or has more weight than "
        "there.",
        "Pass rows of the fit, each once and with the cells, label and weight it had there.",
        row=i if others.kept is None else int(others.kept[i]),
        label="without a label"
        if code == UNLABELLED
        else f"of class {others.classes.tolist()[code]!r}",
    )
