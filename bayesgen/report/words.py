"""Numbers and names in words, and tables that are cut, consistently on the whole page."""

import dataclasses
import math
from collections.abc import Sequence

from bayesgen.page import Block, Details, Grid, Text

TIMES = "\u00d7"
DASH = "\u2013"
AT_MOST, AT_LEAST, ARROW = "\u2264", "\u2265", "\u2192"


def share(value: float) -> str:
    """Return "12.3%"."""
    return f"{100 * value:.1f}%"


def number(value: float, form: str = ".4g") -> str:
    """Return four significant digits, or another form; nothing for NaN."""
    if math.isnan(value):
        return ""
    return f"{value:{form}}" if math.isfinite(value) else "infinite"


def odds(nats: float) -> str:
    """Return the factor that so many nats multiply odds by: "x3.2" with a multiplication sign."""
    factor = math.exp(min(abs(nats), 700.0))
    return f"{TIMES}1000 or more" if factor >= 1000 else f"{TIMES}{factor:.3g}"


def some_of(shown: int, total: int, things: str) -> str:
    """Return "60 of 78 parameters", or "78 parameters" where all are shown."""
    return f"{total:,} {things}" if shown >= total else f"{shown:,} of {total:,} {things}"


def listed(names: Sequence, limit: int = 8) -> str:
    """Return names with commas, and the number of those beyond the limit."""
    words = ", ".join(str(name) for name in names[:limit])
    more = len(names) - limit
    return f"{words} and {more:,} more" if more > 0 else words


def excerpt(grid: Grid, total: int, things: str, shown: int, order: str = "") -> list[Block]:
    """Return the first rows of a table, and all its rows in details.

    Args:
        grid: the table.
        total: number of rows that it would have if it were whole.
        things: what a row is of, in the plural.
        shown: number of rows outside the details.
        order: of the rows, in words after a comma.
    """
    if total <= shown:
        return [grid]
    first = dataclasses.replace(grid, rows=grid.rows[:shown])
    rows = some_of(len(grid.rows), total, things)
    summary = f"All {rows}" if len(grid.rows) == total else f"The first {rows}"
    words = Text(f"Shown: {some_of(shown, total, things)}{order}.", "muted")
    return [first, words, Details(summary, [grid])]
