"""Rows on which a fit is scored by leave-one-out."""

import numpy as np
from jaxtyping import Int

from bayesgen.typing import Labels

JUDGED, CELLS, FEWEST = 2000, 40_000, 500
"""Rows that judge a fit at most; where one costs more than 20 cells, as many as have so many cells,
but no fewer than the last number."""

SORTED = 20_011
"""Rows sorted by class at most: of 1,000,000 in .5 ms, all of them in 26 to 97. It is prime, so
that rows evenly spaced among a table's miss no class where labels come in turns."""

ROWS_JUDGED = "rows judged"
"""Name of their number in `report_.details`."""


def judged_rows(codes: Labels, cells: int = 1) -> Int[np.ndarray, " judged"]:
    """Return the positions, ascending, of the rows that judge a fit: all, or JUDGED at most.

    They weigh the members of a stack, learn the power of a missing pattern, and score naive Bayes.
    Some rows are evenly spaced within each class, so that every class has its share of them (and
    those of a large table are spaced evenly among SORTED that are spaced evenly in it).

    Args:
        codes: class codes, shape (row,).
        cells: what it costs to leave one row out, in cells: more where the table is wide.
    """
    n, most = len(codes), min(JUDGED, max(CELLS // max(cells, 1), FEWEST))
    if n <= most:
        return np.arange(n)
    size = min(n, SORTED)
    rows = np.arange(size) * n // size
    by_class = rows[np.argsort(codes[rows], kind="stable")]
    return np.sort(by_class[np.arange(most) * size // most])
