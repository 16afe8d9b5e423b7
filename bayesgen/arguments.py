"""Argument validation by kind: counts, fractions, costs, seeds and named options.

Each function returns the argument as plain Python, or raises an error that names it.
"""

import os
from typing import Any, TypeGuard, TypeVar

import numpy as np

from bayesgen.errors import InvalidArgument
from bayesgen.errors.arguments import not_one_of, out_of_range

MOST_SEED = 2**32 - 1
Seed = int | np.random.RandomState | None
T = TypeVar("T")


def is_count(value: object, least: int = 1) -> TypeGuard[int]:
    """Return whether a value is a whole number of at least so much; True is not."""
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    return whole and bool(value >= least)


def is_number(value: object) -> TypeGuard[float]:
    """Return whether a value is a finite real number; True is not."""
    real = isinstance(value, int | float | np.integer | np.floating)
    return real and not isinstance(value, bool) and bool(np.isfinite(value))


def by_label(name: str, value: Any) -> Any:
    """Return a Series as the mapping of labels to numbers that it is, other values as they are.

    Raises:
        InvalidArgument: the index of a Series of pandas has a label twice.
    """
    # a Series of polars has no index, a DataFrame and an Index of pandas lack one of the two
    if not (hasattr(value, "index") and hasattr(value, "to_frame")):
        return value
    if not value.index.is_unique:
        raise InvalidArgument(
            "{name} is a Series with the label {label!r} twice; one number for each is allowed.",
            "Pass {name} as a dict.",
            name=name,
            label=value.index[value.index.duplicated()][0],
        )
    return value.to_dict()


def count(name: str, value: object, *, least: int = 1, default: int | None = None) -> int:
    """Validate an integer of at least `least`.

    Args:
        name: of the argument.
        value: the argument as passed.
        least: the smallest that is allowed.
        default: the value that the message suggests; None: the smallest.

    Raises:
        InvalidArgument: a fraction, a boolean, text, or less than that.
    """
    if is_count(value, least):
        return int(value)
    advised = least if default is None else default
    raise out_of_range(
        name, value, f"a whole number of at least {least}", f"Pass {name}={advised}."
    )


def share(name: str, value: object, *, default: float = 0.9) -> float:
    """Validate a fraction, a number above 0 and below 1.

    Raises:
        InvalidArgument: the value is another one.
    """
    if is_number(value) and 0 < value < 1:
        return float(value)
    raise out_of_range(name, value, "a number above 0 and below 1", f"Pass {name}={default}.")


def one_of(name: str, value: T, allowed: tuple | list) -> T:
    """Validate that a value is one of those allowed; the message suggests the first.

    Raises:
        InvalidArgument: it is another one, or of another type.
    """
    for choice in allowed:
        if type(value) is type(choice) and value == choice:
            return value
    raise not_one_of(name, value, allowed)


def seed(value: object) -> Seed:
    """Validate `random_state`: None, an integer, or a numpy.random.RandomState.

    These are the seeds of scikit-learn; numpy.random itself, NumPy's global generator, is None.

    Raises:
        InvalidArgument: it is none of them.
    """
    if value is None or value is np.random:
        return None
    if isinstance(value, np.random.RandomState):
        return value
    if is_count(value, 0) and value <= MOST_SEED:
        return int(value)
    allowed = "None, a whole number from 0 to 2**32 - 1 and a numpy.random.RandomState"
    raise out_of_range("random_state", value, allowed, "Pass random_state=0.")


def drawn_seed(random_state: object) -> int:
    """Draw an integer seed from `random_state`; equal integers give equal seeds.

    Raises:
        InvalidArgument: random_state is not a seed.
    """
    state = seed(random_state)
    if state is None:
        return int(np.random.randint(2**31 - 1))
    whole = np.random.RandomState(state) if isinstance(state, int) else state
    return int(whole.randint(2**31 - 1))


def generator(random_state: object) -> np.random.Generator:
    """Return a generator of random numbers from a seed.

    Raises:
        InvalidArgument: random_state is not a seed.
    """
    return np.random.default_rng(drawn_seed(random_state))


def path(name: str, value: object, *, default: str) -> None:
    """Validate a path.

    Raises:
        InvalidArgument: the value is not a path.
    """
    if not isinstance(value, str | os.PathLike):
        allowed = "the path of a file"
        raise out_of_range(name, value, allowed, f"Pass {name}={default!r}.")


def unlabelled_weight(weight: object) -> str | float | int | None:
    """Validate unlabelled=, the weight of a row without a label.

    Raises:
        InvalidArgument: neither "learn", None nor a number of at least 0.
    """
    learned = isinstance(weight, str) and weight == "learn"
    if weight is None or learned or (is_number(weight) and weight >= 0):
        return weight
    allowed = "'learn', None or a weight of at least 0"
    raise out_of_range("unlabelled", weight, allowed, "Pass unlabelled='learn'.")
