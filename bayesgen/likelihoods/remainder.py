"""Statistics without some of their rows: whether these were there, and how many digits are left.

One rule judges every family. Its statistics are sums over rows of numbers that cannot be negative:
weights, counts, squares. A difference of two sums keeps their absolute rounding error, so what is
left has the relative error

    UNIT * whole / left,

and no digit is lost of whole numbers, nor where nothing is left. Rows that leave less than nothing,
or more than the difference, were not there. A sum whose terms may have either sign says neither; it
is judged by the other sums of its column, whose size is taken for that of its terms.

Squares around a mean are the net of those around the origin, the gross. They follow

    S_left = S - S_part - n m / (n - m) (mean - mean_part)^2

(Chan, Golub and LeVeque 1979), and means hold digits in proportion to their distance from the
origin. The last term is at most S, so by the inequality of Cauchy and Schwarz the rounding of the
means changes it by no more than UNIT * sqrt(S * gross * n / n_left).
"""

import dataclasses
from collections.abc import Sequence
from typing import Generic, NamedTuple, TypeVar

import numpy as np
from jaxtyping import Bool, Float

UNIT = 16 * np.finfo(float).eps
"""Rounding error of a sum relative to it: some rounding units, for sums are made in chunks."""
ROUNDING = 1e-9
"""Share of a sum below which a negative rest is taken for rounding, and share of a row."""
WHOLE = 2.0**53
"""Whole numbers up to here add and subtract exactly."""

S = TypeVar("S")
Values = Float[np.ndarray, "class position"]
Mask = Bool[np.ndarray, "class position"]


class Sum(NamedTuple):
    """A sum over rows, by class and by column, level or (a single position) block.

    gross: of numbers of at least 0, which adds over tables. net: what is read of it.
    """

    gross: Values
    net: Values


@dataclasses.dataclass(frozen=True, eq=False)
class Remainder(Generic[S]):
    """Statistics without some rows.

    statistics: of the rows that are left. foreign: where the subtracted rows cannot have been among
    them all, by class and by column, level or (a single position) block. error: a bound of the
    relative rounding error of what is left; infinite where no digit is left.
    """

    statistics: S
    foreign: Mask
    error: Values


def is_whole(values: np.ndarray) -> bool:
    """Return whether sums and differences of such numbers are exact."""
    return bool((values == np.rint(values)).all() and (np.abs(values) < WHOLE).all())


def rests(
    whole: Float[np.ndarray, "sum class position"],
    part: Float[np.ndarray, "sum class position"],
    *,
    exact: bool,
    signed: Sequence[int] = (),
) -> list[Values]:
    """Return what is left of sums of one shape.

    A rest within the rounding error of its sum is 0 if that error is far below the weight of a row.
    Where sums of whole numbers say that no row is left, the other sums are 0.

    exact: whether all weights are whole numbers; then the rest is exact if the sums are whole too.
    signed: positions of sums that may be negative, which are 0 where all others are.
    """
    others = [i for i in range(len(whole)) if i not in signed]
    pairs = [(whole[i], part[i]) for i in others]
    sure = [_are_whole(a, b, exact=exact) for a, b in pairs]
    left = [
        a - b if known else _without_noise(a, b) for known, (a, b) in zip(sure, pairs, strict=True)
    ]
    if any(sure) and not all(sure):
        were = np.any([a > 0 for known, (a, _) in zip(sure, pairs, strict=True) if known], axis=0)
        stay = np.any([rest != 0 for known, rest in zip(sure, left, strict=True) if known], axis=0)
        left = [np.where(were & ~stay, 0.0, rest) for rest in left]
    rest = dict(zip(others, left, strict=True))
    for i in signed:
        rest[i] = np.where(np.any(left, axis=0), whole[i] - part[i], 0.0)
    return [rest[i] for i in range(len(whole))]


def _without_noise(whole: np.ndarray, part: np.ndarray) -> np.ndarray:
    left, noise = whole - part, UNIT * whole
    return np.where((np.abs(left) <= noise) & (noise < ROUNDING), 0.0, left)


def judged(
    whole: Sequence[Sum], part: Sequence[Sum], left: Sequence[Sum], *, exact: bool
) -> tuple[Mask, Values]:
    """Return where subtracted rows were not all there, and the error of what is left.

    Args:
        whole: sums of all rows, that of weights first.
        part: of the subtracted rows.
        left: of the rows that are left.
        exact: whether all weights are whole numbers.
    """
    foreign, errors, rows, touched = [], [], [], []
    had, stay = whole[0].gross, left[0].gross
    shrunk = np.divide(had, stay, out=np.ones_like(had), where=stay > 0)
    for one, gone, rest in zip(whole, part, left, strict=True):
        difference = one.gross - gone.gross
        slack = ROUNDING * np.maximum(one.gross, gone.gross)
        less, more = difference < -slack, rest.gross - difference > slack
        foreign.append(less | more | ((rest.gross == 0) & (difference > slack)))
        noise = UNIT * one.gross
        if one.net is not one.gross:
            noise = UNIT * np.sqrt(one.gross) * np.sqrt(one.net) * np.sqrt(shrunk)
        elif _are_whole(one.gross, gone.gross, exact=exact):
            noise = np.zeros_like(noise)
        lost = np.abs(rest.gross - difference) > UNIT * one.gross
        errors.append(np.where(lost, np.inf, _relative(noise, rest)))
        rows.append(rest.gross != 0)
        touched.append(gone.gross != 0)
    # where no row is left nothing is read, and where none was subtracted nothing changed
    read = _largest(rows) & _largest(touched)
    return _largest(foreign), np.where(read, _largest(errors), 0.0)


def _are_whole(whole: np.ndarray, part: np.ndarray, *, exact: bool) -> bool:
    return exact and is_whole(whole) and is_whole(part)


def _relative(noise: Values, left: Sum) -> Values:
    """Return an error relative to what is left; 0 where that is nothing, infinite where unknown."""
    with np.errstate(over="ignore"):  # infinite, as where nothing is left
        error = np.divide(noise, left.net, out=np.full(noise.shape, np.inf), where=left.net > 0)
    nothing = (noise == 0) | ((left.gross == 0) & (noise < ROUNDING))
    return np.where(nothing, 0.0, error)


def _largest(values: Sequence[np.ndarray]) -> np.ndarray:
    """Return the largest of values by position; by class where positions are not the same."""
    if len({value.shape for value in values}) > 1:
        values = [value.max(axis=1, keepdims=True, initial=0) for value in values]
    return np.max(values, axis=0)
