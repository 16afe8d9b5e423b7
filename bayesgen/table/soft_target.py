"""Soft labels: a table of probabilities, a column for each class, in place of labels."""

from collections.abc import Sequence
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from narwhals.exceptions import DuplicateError

from bayesgen.errors import InvalidData
from bayesgen.errors.data import wrong_length
from bayesgen.errors.dialect import KEPT
from bayesgen.table.target import Target, read_target
from bayesgen.typing import DataFrame, Joint

ROUNDING = 1e-6
"""Difference from one, of the sum of a row, that single precision explains."""


def read_labels(y: object, classes: Sequence | np.ndarray = (), **options: Any) -> Target:
    """Return labels, or probabilities of classes; arguments as `read_target`."""
    soft = {name: value for name, value in options.items() if name != "silent"}
    target = read_soft_target(y, classes, **soft)
    return read_target(y, classes, **options) if target is None else target


def read_soft_target(
    y: object,
    classes: Sequence | np.ndarray = (),
    *,
    marks: bool = True,
    n_rows: int | None = None,
    counted: np.ndarray | None = None,
) -> Target | None:
    """Return labels that are a table of probabilities; None: y is no table of several numbers.

    Args:
        y: DataFrame (pandas, polars, pyarrow) whose columns name the classes, or an array of shape
            (row, class) of the classes 0, 1, ...; numbers of at least 0 that sum to one in every
            row. A row of zeros, or of missing cells, has no label.
        classes: those of earlier rows, and declared ones.
        marks: whether rows may lack a label.
        n_rows: the number of rows that need one; None: as many as there are.
        counted: positions of the rows to read; None: all.

    Raises:
        InvalidData: a cell is negative, infinite, or missing beside others; a row does not sum to
            one or, unless marks, has no label; a column names no class, or the one of another.

    Examples:
        >>> target = read_soft_target(np.array([[0.25, 0.75], [0.0, 0.0]]))
        >>> target.classes.tolist(), target.codes.tolist()
        ([0, 1], [1, -1])
    """
    try:
        frame = nw.from_native(y, eager_only=True, pass_through=True)
    except DuplicateError:
        names = list(getattr(y, "columns", ()))
        raise _not_classes([name for name in names if names.count(name) > 1]) from None
    if isinstance(frame, nw.DataFrame) and frame.shape[1] > 1:
        columns = [*frame.iter_columns()]
        if not all(c.dtype.is_numeric() or c.dtype == nw.Boolean for c in columns):
            return None
        names, divide = frame.columns, "y.div(y.sum(axis=1), axis=0)"
        cells = np.column_stack([column.cast(nw.Float64).to_numpy() for column in columns])
    elif (
        isinstance(y, np.ndarray)
        and not isinstance(y, np.matrix)
        and y.ndim == 2
        and y.shape[1] > 1
        and y.dtype.kind in "fiub"
    ):
        names, cells = list(range(y.shape[1])), np.ma.filled(y.astype(float), np.nan)
        divide = "y / y.sum(axis=1, keepdims=True)"
        existing = [*dict.fromkeys(np.asarray(classes).tolist())]
        if len(existing) == len(names) and isinstance(existing[0], str):
            raise InvalidData(
                "y is an array of probabilities of the classes 0 to {last}, and other rows have "
                "the classes {existing:listed}.",
                "Name its columns: pandas.DataFrame(y, columns={existing!r}).",
                last=len(names) - 1,
                existing=existing,
            )
    else:
        return None
    if n_rows is not None and len(cells) != n_rows:
        raise wrong_length(len(cells), n_rows)
    cells = np.where(np.isnan(cells).all(axis=1, keepdims=True), 0.0, cells)
    _check(cells, names, divide)
    try:
        target = read_target(names, classes, marks=False)
    except InvalidData as error:  # of no name, or of several types
        raise _not_classes(names) from error
    if len(target.classes) < len(names) or target.classes.dtype.kind == "f":
        raise _not_classes(names)
    shares = np.empty_like(cells)
    shares[:, target.codes] = cells
    shares = shares if counted is None else shares[counted]
    there = shares.any(axis=1)
    if not (marks or there.all()):
        raise InvalidData(
            "y has no label in {count:,} of {n_rows:rows}, which are zero or missing in every "
            "column; every row needs one.",
            "Leave these rows out: keep = numpy.nansum(y, axis=1) > 0; fit({kept}).",
            kept=KEPT,
            count=int((~there).sum()),
            n_rows=len(there),
        )
    codes = np.where(there, shares.argmax(axis=1), -1)
    single = ((shares == 0) | (shares == 1)).all()
    return Target(target.classes, codes, None if single else shares)


def _check(cells: Joint, names: Sequence, divide: str) -> None:
    """Reject rows that are no probabilities."""
    wrong = ~(np.isfinite(cells) & (cells >= 0))
    if wrong.any():
        row, k = np.argwhere(wrong)[0].tolist()
        raise InvalidData(
            "y holds {value:g} for class {label!r} in row {row:,}; probabilities of at least 0 "
            "that sum to one are needed, or a row of zeros where there is no label.",
            "Leave the row out: keep = numpy.arange(len(y)) != {row}; fit({kept}).",
            kept=KEPT,
            value=float(cells[row, k]),
            label=names[k],
            row=row,
        )
    total = cells.sum(axis=1)
    wrong = (np.abs(total - 1) > ROUNDING) & (total > 0)
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        raise InvalidData(
            "y sums to {total:.6g} in row {row:,}; the probabilities of a row sum to one, "
            "or are all zero where it has no label.",
            f"If these are counts or scores of at least 0, pass {divide}.",
            total=float(total[row]),
            row=row,
        )


def _not_classes(names: Sequence) -> InvalidData:
    return InvalidData(
        "the columns of y are named {names:listed}, but each must name a class of its own: text, "
        "whole numbers or booleans, all of one type.",
        "Rename them, in pandas by y.columns = [...].",
        names=names,
    )


def soft_target(shares: Joint, classes: np.ndarray) -> DataFrame:
    """Return labels as a table of probabilities that `read_soft_target` reads."""
    import pandas as pd

    return pd.DataFrame(shares, columns=classes.tolist())
