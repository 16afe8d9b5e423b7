"""Levels that are small whole numbers in one array: all columns at once, without sorting.

Sorting a million integers costs 40 ms a column; counting them in blocks of rows costs 3 ms, and
where none is above 62, setting one bit for each in a word for each column 1 ms.
"""

import numpy as np
from jaxtyping import Int

from bayesgen.schema.columns import Columns

WIDEST = 4096
"""Largest range of a column that is counted rather than sorted: its counts stay in cache."""

BLOCK_ROWS = 8192

BITS = 63
"""Bits of a word but for its sign."""


def integer_levels(matrix: Int[np.ndarray, "row feature"]) -> list[tuple[int, ...]] | None:
    """Return the sorted levels of each column, or None where a column spans too wide a range."""
    if not matrix.size:
        return None
    if _largest(matrix) < BITS:
        return _bits_set(matrix)
    low, high = matrix.min(axis=0), matrix.max(axis=0)
    # in Python integers: the range of an int64 column may overflow int64
    if any(int(b) - int(a) >= WIDEST for a, b in zip(low, high, strict=True)):
        return None
    width = (high - low).astype(np.int64) + 1
    first = np.cumsum(width) - width
    counts = np.zeros(int(width.sum()), dtype=np.int64)
    for start in range(0, len(matrix), BLOCK_ROWS):
        slots = matrix[start : start + BLOCK_ROWS] - low + first
        counts += np.bincount(slots.ravel(), minlength=len(counts))
    present = np.split(counts > 0, first[1:])
    return [
        tuple((np.flatnonzero(seen) + int(a)).tolist())
        for seen, a in zip(present, low, strict=True)
    ]


def integer_codes(
    columns: Columns, matrix: Int[np.ndarray, "row feature"]
) -> Int[np.ndarray, "row feature"] | None:
    """Return the codes of all columns, or None where levels have gaps or a cell is none of them."""
    levels = [column.levels for column in columns]
    if not all(ls and _consecutive(ls) for ls in levels):
        return None
    low = np.array([ls[0] for ls in levels], dtype=np.int64)
    # levels from 0 on are their own codes; one number is taken off twice as fast as one for each
    even = (low == low[0]).all()
    codes = matrix if not low.any() else matrix - (low[0] if even else low)
    top = np.array([len(ls) - 1 for ls in levels])
    if not len(codes) or _largest(codes) <= top.min():
        return codes
    inside = (codes.min(axis=0) >= 0).all() and (codes.max(axis=0) <= top).all()
    return codes if inside else None


def _largest(matrix: Int[np.ndarray, "row feature"]) -> int:
    """Return the largest cell; one below 0 counts as one beyond all others."""
    return int(matrix.view(np.uint64).max())


def _bits_set(matrix: Int[np.ndarray, "row feature"]) -> list[tuple[int, ...]]:
    """Return the sorted levels of columns of numbers from 0 to 62."""
    words = np.zeros(matrix.shape[1], dtype=np.int64)
    for start in range(0, len(matrix), BLOCK_ROWS):
        words |= np.bitwise_or.reduce(np.left_shift(1, matrix[start : start + BLOCK_ROWS]), axis=0)
    return [tuple(i for i in range(BITS) if word >> i & 1) for word in words.tolist()]


def _consecutive(levels: tuple) -> bool:
    if not all(type(level) is int for level in levels) or abs(levels[0]) > 2**62:
        return False
    return levels == tuple(range(levels[0], levels[0] + len(levels)))
