"""Guesses that users state: checked, and given the shape of their block."""

from typing import Literal

import numpy as np
from jaxtyping import Num

from bayesgen.errors import InvalidArgument, InvalidPrior

LEARN = "learn"
"""What a setting says that is averaged over a grid (see `averaged`)."""

Stated = float | int | Num[np.ndarray, "..."] | None
Guess = Stated | Literal["learn"]


def is_learned(value: object) -> bool:
    """Return whether a setting is to be learned."""
    return isinstance(value, str) and value == LEARN


def require_positive(owner: object, *names: str) -> None:
    """Refuse a prior strength or a scale that is not a positive finite number."""
    for name in names:
        value = getattr(owner, name)
        if isinstance(value, str):
            if not is_learned(value) or name not in owner.hyperparameter_grid:
                raise InvalidPrior.not_positive(type(owner).__name__, name, value)
            continue
        if value is not None and not (np.isfinite(value).all() and (np.asarray(value) > 0).all()):
            raise InvalidPrior.not_positive(type(owner).__name__, name, value)


def require_one_of(owner: object, name: str, allowed: tuple[str, ...]) -> None:
    """Refuse a word that names nothing."""
    if getattr(owner, name) not in allowed:
        raise InvalidArgument.not_one_of(name, getattr(owner, name), allowed)


def require_probabilities(family: str, probs: object) -> None:
    """Refuse a guess that is neither None, "uniform" nor positive numbers."""
    if probs is None or (isinstance(probs, str) and probs == "uniform"):
        return
    numbers = np.zeros(1) if isinstance(probs, str) else np.asarray(probs, dtype=float)
    if not np.isfinite(numbers).all() or (numbers <= 0).any():
        raise InvalidPrior.not_probabilities(family, "probs", probs)


def require_unit_sums(family: str, sums: np.ndarray) -> None:
    """Refuse a guess whose probabilities do not sum to one."""
    if not np.allclose(sums, 1.0, rtol=0, atol=1e-8):
        raise InvalidPrior.does_not_sum_to_one(f"{family}.probs", sums)


def broadcast_guess(family: str, name: str, value: object, shape: tuple[int, ...]) -> np.ndarray:
    """Return a guess as a float64 array of its declared shape, or say what shape was expected."""
    array = np.asarray(value, dtype=float)
    try:
        return np.broadcast_to(array, shape).astype(float)
    except ValueError:
        raise InvalidPrior.wrong_shape(family, name, array.shape, shape) from None
