"""What every error and warning of the library is, and how values are written into sentences."""

import contextlib
import warnings
from collections.abc import Generator, Iterable
from pathlib import Path

import numpy as np

Count = int | np.integer
Real = float | int | np.number

_PACKAGE = str(Path(__file__).parents[1])


class BayesgenError(Exception):
    """Anything this library refuses; each concrete error is also a ValueError or a TypeError."""


class BayesgenWarning(UserWarning):
    """Anything this library did that a person should know about; the text names the cure."""


def warn(warning: BayesgenWarning) -> None:
    """Issue a warning that points at the first line outside the library."""
    warnings.warn(warning, skip_file_prefixes=(_PACKAGE,), stacklevel=2)


@contextlib.contextmanager
def each_once() -> Generator[None]:
    """Issue each warning of what runs inside once, at its end: several models say the same."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    for text in dict.fromkeys((type(w.message), str(w.message)) for w in caught):
        first = next(w for w in caught if (type(w.message), str(w.message)) == text)
        if isinstance(first.message, BayesgenWarning):
            warn(first.message)
        else:
            warnings.warn_explicit(first.message, first.category, first.filename, first.lineno)


def shown(value: object) -> str:
    """Return a value as it would be typed; NumPy's scalars as the Python ones."""
    return repr(value.item() if isinstance(value, np.generic) else value)


class Code(str):
    """Something to type, which is shown without quotes around it: Code("bg.LDA()")."""

    __repr__ = str.__str__


def listed(values: Iterable, limit: int = 5) -> str:
    """Return values as they would be typed, "'a', 'b' and 7 more" beyond `limit` of them."""
    values = list(values)
    text = ", ".join(shown(value) for value in values[:limit])
    more = len(values) - limit
    return f"{text} and {more:,} more" if more > 0 else text or "nothing"


def rows(count: Count) -> str:
    """Return "1 row" or "1,234 rows"."""
    return f"{count:,} row" + ("" if count == 1 else "s")


def to_type(*lines: str) -> str:
    """Return lines of a program to write, each on a line of its own."""
    return "".join(f"\n    {line}" for line in lines)
