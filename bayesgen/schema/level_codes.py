"""The cells of one column, by what fitting saw of it: codes of levels, or 0 and 1."""

import numpy as np
from jaxtyping import Float, Int

from bayesgen.errors import NotBinary, UnseenLevel, UnseenLevelError, warn
from bayesgen.schema.columns import Column
from bayesgen.table import TableColumn


def level_codes(column: Column, found: TableColumn, unseen: str) -> Int[np.ndarray, " row"]:
    """Return the positions of the cells in the column's levels, -1 = missing.

    Args:
        column: what fitting saw.
        found: the cells; levels and numbers match by value (1 == 1.0 == True).
        unseen: what to do with a level that fitting did not see: "missing" warns, "error" raises.

    Raises:
        UnseenLevelError: if unseen is "error".
    """
    return _codes(column, column.levels, found, unseen)


def binary_values(column: Column, found: TableColumn, unseen: str) -> Float[np.ndarray, " row"]:
    """Return the cells as 0.0 and 1.0, NaN = missing.

    Raises:
        NotBinary: a number is neither 0 nor 1.
        UnseenLevelError: a level that fitting did not see, if unseen is "error".
    """
    levels = column.levels or (False, True)
    if found.kind == "number" and set(levels) == {0, 1}:
        values = found.values
        strange = ~((values == 0) | (values == 1) | np.isnan(values))
        if strange.any():
            raise NotBinary.number(column.name, float(values[strange.argmax()]))
        return values.astype(float, copy=False)
    codes = _codes(column, levels, found, unseen)
    return np.where(codes < 0, np.nan, codes)


def _codes(column: Column, levels: tuple, found: TableColumn, unseen: str) -> np.ndarray:
    if found.levels == levels and found.kind == "level":
        return found.values
    look_up = _from_levels if found.kind == "level" else _from_numbers
    codes, strange = look_up(levels, found)
    if strange.any():
        if found.kind == "level":
            new = tuple(found.levels[i] for i in np.unique(found.values[strange]))
        else:
            new = tuple(_python_number(value) for value in np.unique(found.values[strange]))
        facts = (column.name, new, int(strange.sum()), len(strange), levels)
        if unseen == "error":
            raise UnseenLevelError.in_column(*facts)
        warn(UnseenLevel.in_column(*facts))
    return codes


def _from_levels(levels: tuple, found: TableColumn) -> tuple[np.ndarray, np.ndarray]:
    position = {level: i for i, level in enumerate(levels)}
    # The last entry serves code -1.
    table = np.array([*(position.get(level, -1) for level in found.levels), -1])
    codes = table[found.values]
    return codes, (codes < 0) & (found.values >= 0)


def _from_numbers(levels: tuple, found: TableColumn) -> tuple[np.ndarray, np.ndarray]:
    numbers = sorted(
        (float(level), i) for i, level in enumerate(levels) if isinstance(level, bool | int | float)
    )
    observed = ~np.isnan(found.values)
    if not numbers:
        return np.full(len(observed), -1), observed
    values, position = np.array([v for v, _ in numbers]), np.array([i for _, i in numbers])
    nearest = np.minimum(np.searchsorted(values, found.values), len(values) - 1)
    codes = np.where(values[nearest] == found.values, position[nearest], -1)
    return codes, (codes < 0) & observed


def _python_number(value: np.floating) -> float | int:
    return int(value) if value == np.floor(value) else float(value)
