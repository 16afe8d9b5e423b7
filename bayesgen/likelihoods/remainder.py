"""Statistics after subtraction of some of their rows, with bounds on the rounding error.

A difference of sums has the absolute rounding error of the sums, so its relative error grows as
less is left. Sums of whole numbers are exact. Centered squares follow

    S_left = S - S_part - n m / (n - m) (mean - mean_part)^2,

each term of which is at most S (Chan, Golub and LeVeque 1979): the relative error of what is left
is about the rounding unit times S / S_left.
"""

import dataclasses
from typing import Generic, Protocol, TypeVar, runtime_checkable

import numpy as np
from jaxtyping import Bool, Float

UNIT = 16 * np.finfo(float).eps
"""Rounding error of a sum relative to it: some rounding units, for sums are made in chunks."""
ROUNDING = 1e-9
"""Share of a sum below which a negative rest is taken for rounding, and share of a row."""
WHOLE = 2.0**53
"""Whole numbers up to here add and subtract exactly."""

S = TypeVar("S")
Mask = Bool[np.ndarray, "class position"]
Error = Float[np.ndarray, "class position"]


@dataclasses.dataclass(frozen=True, eq=False)
class Remainder(Generic[S]):
    """Statistics without some rows.

    statistics: of the rows that are left. foreign: where the subtracted rows cannot have been among
    them all, by class and by column, level or (a single position) block. error: a bound of the
    relative rounding error of what is left; infinite where no digit is left.
    """

    statistics: S
    foreign: Mask
    error: Error


def is_whole(values: np.ndarray) -> bool:
    """Return whether sums and differences of such numbers are exact."""
    return bool((values == np.rint(values)).all() and (np.abs(values) < WHOLE).all())


def subtracted(
    whole: np.ndarray, part: np.ndarray, *, exact: bool, size: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the rest of sums that cannot be negative, where it is so, and its relative error.

    A rest within the rounding error of its sum is 0 if that error is far below the weight of a row.

    exact: whether all weights are whole numbers; then the rest is exact if the sums are whole too.
    size: of the terms of sums that may be negative, to which rounding is relative; None: they
        cannot be.
    """
    left = whole - part
    foreign = left < -ROUNDING * np.maximum(whole, part)
    if size is not None:
        foreign = np.zeros(left.shape, dtype=bool)
    if exact and is_whole(whole) and is_whole(part):
        return left, foreign, np.zeros(left.shape)
    noise = UNIT * (whole if size is None else size)
    nothing = (np.abs(left) <= noise) & (noise < ROUNDING)
    left, noise = (np.where(nothing, 0.0, values) for values in (left, noise))
    return left, foreign, relative(noise, left if size is None else np.abs(left))


def relative(error: np.ndarray, left: np.ndarray) -> np.ndarray:
    """Return an absolute error relative to what is left; 0 where nothing is, exactly."""
    out = np.divide(error, left, out=np.full(left.shape, np.inf), where=left > 0)
    return np.where((left == 0) & (error == 0), 0.0, out)


def weights_left(
    whole: np.ndarray, part: np.ndarray, left: np.ndarray, *, exact: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Return where subtracted rows were not all there, and the error of what is left.

    A difference of rows drops those whose weight is not above zero, and its total then exceeds the
    difference of the totals.

    Args:
        whole: total weight of the rows, by class and position.
        part: that of the subtracted rows.
        left: that of the rows that are left.
        exact: whether all weights are whole numbers.
    """
    rest, foreign, error = subtracted(whole, part, exact=exact)
    more = left - rest > ROUNDING * np.maximum(whole, part)
    lost = np.abs(left - rest) > UNIT * whole
    return foreign | more, np.where(lost, np.inf, error)


@runtime_checkable
class Weighed(Protocol):
    """Statistics that know the weight of the rows of each class."""

    def class_weight(self) -> Float[np.ndarray, " class"]:
        """Return the weight of the rows of each class."""


def class_weights_left(
    whole: Weighed, part: Weighed, left: Weighed, *, exact: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Return what `weights_left` does of the total weight of each class, shape (class, 1)."""
    return weights_left(
        whole.class_weight()[:, None],
        part.class_weight()[:, None],
        left.class_weight()[:, None],
        exact=exact,
    )


def by_class(values: np.ndarray) -> np.ndarray:
    """Return the largest of the values of each class, in one position."""
    return values.reshape(len(values), -1).max(axis=1, keepdims=True, initial=0)
