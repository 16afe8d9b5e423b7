"""Numbers and names in words, consistently on the whole page."""

import math
from collections.abc import Sequence

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


def listed(names: Sequence, limit: int = 8) -> str:
    """Return names with commas, and the number of those beyond the limit."""
    words = ", ".join(str(name) for name in names[:limit])
    more = len(names) - limit
    return f"{words} and {more:,} more" if more > 0 else words
