"""A value near each column's numbers: what is left after subtracting it keeps its digits."""

import numpy as np
from jaxtyping import Float, Num

from bayesgen.errors import InvalidValues
from bayesgen.table import TableColumn

SMALLEST_SPREAD = 1e-150
"""Squares of smaller differences underflow float64 (4.9e-324) or lose their digits."""

TOGETHER = 16
"""Rows that are taken as one."""
FIRST_ROWS = 64
MOST_ROWS = 65_536


def origins(columns: list[TableColumn]) -> Float[np.ndarray, " feature"]:
    """Return one value per column of numbers: that of the first row without a missing value.

    Where every row has a missing value: the first observed value; NaN for a column without one. A
    constant column becomes exactly 0.
    """
    start, size, n = 0, FIRST_ROWS, len(columns[0].values)
    while start < n:
        rows = np.stack([column.values[start : start + size] for column in columns], axis=1)
        complete = ~np.isnan(rows).any(axis=1)
        if complete.any():
            return rows[complete.argmax()].astype(float).astype(np.float64)
        start, size = start + size, min(2 * size, MOST_ROWS)
    return np.array([first_observed(column.values) for column in columns])


def less(
    matrix: Num[np.ndarray, "row feature"], origin: Float[np.ndarray, " feature"]
) -> Float[np.ndarray, "row feature"]:
    """Return matrix - origin.

    Where rows lie side by side, several are taken as one: a loop over a short row costs about as
    much as its work (a quarter of the time less for 20 columns, measured).
    """
    n = len(matrix) - len(matrix) % TOGETHER
    if not matrix.flags.c_contiguous or n < FIRST_ROWS * TOGETHER:
        return matrix - origin
    out = np.empty(matrix.shape)
    wide = (n // TOGETHER, TOGETHER * matrix.shape[1])
    np.subtract(matrix[:n].reshape(wide), np.tile(origin, TOGETHER), out=out[:n].reshape(wide))
    np.subtract(matrix[n:], origin, out=out[n:])
    return out


def first_observed(values: Float[np.ndarray, " row"]) -> float:
    """Return the first value that is not NaN, or NaN."""
    observed = ~np.isnan(values)
    return float(values[observed.argmax()]) if observed.any() else float("nan")


def check_spread(columns: list[TableColumn], origin: Float[np.ndarray, " feature"]) -> None:
    """Refuse columns that vary, but so little that squared differences underflow.

    Neighbours of a number x lie 1e-16 |x| apart, so that only columns at (almost) 0 can do so.

    Raises:
        InvalidValues: a spread above 0 and below 1e-150.
    """
    for i in np.flatnonzero(np.abs(origin) < 1e16 * SMALLEST_SPREAD):
        values = columns[i].values
        spread = np.fmax.reduce(values) - np.fmin.reduce(values)
        if 0 < spread < SMALLEST_SPREAD:
            raise InvalidValues.tiny_spread(columns[i].name, spread)
