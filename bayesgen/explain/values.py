"""What a missing cell is worth: how much measuring it is expected to tell of the class.

The value is the mutual information of cell and class given what the row shows,
sum over values v of p(v given x) KL(p(y given x, v) || p(y given x)), or with a loss the expected
fall of the least expected loss. Both are averages of numbers that are never below 0: the gain in
hindsight over what was believed, or would have been decided, before.

Source: Lindley (1956), Annals of Mathematical Statistics 27, 986-1005; Raiffa and Schlaifer (1961),
Applied Statistical Decision Theory, chapter 4.
"""

import dataclasses
from collections.abc import Callable

import numpy as np
from jaxtyping import Float

from bayesgen.explain.filling import filled_given, untempered
from bayesgen.explain.showing import Place, put, take
from bayesgen.inference import Posterior, class_probabilities
from bayesgen.likelihoods.conditional_draws import require_fillable
from bayesgen.likelihoods.normal_statistics import row_chunks
from bayesgen.typing import Encoded

LEFT_OUT = 1e-9
"""Probability of the counts that a sum may leave out: of its value at most 1e-9 log(classes)."""
COUNTS, MOST_COUNTS = 64, 4096
"""Counts asked at a time, and in all; larger ones are simulated."""
FLOATS = 2_000_000
"""Log joints held at once: 16 MB."""

Probs = Float[np.ndarray, "... class"]
Gain = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""(p(y) before, p(y) after), each (..., class) -> gain in hindsight, (...), never below 0."""


@dataclasses.dataclass(frozen=True, eq=False)
class Asked:
    """value: expected gain of a place, (row,). error: its standard error, 0 where it is a sum."""

    value: np.ndarray
    error: np.ndarray


def information(before: Probs, after: Probs) -> np.ndarray:
    """Return KL(after || before) in nats: its mean is the expected fall of the entropy."""
    tiny = np.finfo(float).tiny
    terms = after * (np.log(np.maximum(after, tiny)) - np.log(np.maximum(before, tiny)))
    # equal probabilities may differ in the last digits
    return np.maximum(terms.sum(axis=-1), 0.0)


def saving(cost: np.ndarray) -> Gain:
    """Return what deciding again saves, of costs (class, decision)."""

    def gain(before: Probs, after: Probs) -> np.ndarray:
        first, expected = (before @ cost).argmin(axis=-1), after @ cost
        kept = np.take_along_axis(expected, first[..., None], axis=-1)[..., 0]
        return kept - expected.min(axis=-1)

    return gain


@dataclasses.dataclass(frozen=True, eq=False)
class Question:
    """What is asked of the cells of one column.

    place: where it is encoded. kind: "levels" and "binary" are summed over their values, "counts"
    over all counts but for a probability of 1e-9, "numbers" simulated. size: number of levels.
    gain: `information`, or `saving` of a loss. draws: simulated cells for each class, of a row.
    """

    place: Place
    kind: str
    size: int
    gain: Gain
    draws: int

    def rows_at_once(self, n_classes: int) -> int:
        """Return of how many rows the log joints with all values are held at once."""
        return max(1, FLOATS // (n_classes * max(self.draws * n_classes, self.size, COUNTS)))


def worth(
    posterior: Posterior,
    encoded: Encoded,
    n_rows: int,
    question: Question,
    asked: np.ndarray,
    rng: np.random.Generator,
) -> Asked:
    """Return what the cell of one column is worth in each row that is asked; else NaN.

    Args:
        posterior: of the model.
        encoded: rows, blank where missing.
        n_rows: how many.
        question: which column, and what counts as a gain.
        asked: rows in which the cell is missing.
        rng: random numbers.
    """
    place = question.place
    if place[0] in posterior.families:
        require_fillable(posterior.families[place[0]])
    value, error = np.full(n_rows, np.nan), np.full(n_rows, np.nan)
    value[asked] = error[asked] = 0.0
    if not has_a_say(posterior, place):
        return Asked(value, error)
    for part in row_chunks(len(asked), question.rows_at_once(len(posterior.log_classes()))):
        rows = asked[part]
        found = _worth(posterior, take(encoded, rows), len(rows), question, rng)
        value[rows], error[rows] = found
    return Asked(value, error)


def _worth(
    posterior: Posterior,
    encoded: Encoded,
    n_rows: int,
    question: Question,
    rng: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the expected gain in each row, and its standard error: 0 where it is a sum."""
    place, gain = question.place, question.gain
    value, error = np.zeros(n_rows), np.zeros(n_rows)
    if question.kind in ("levels", "binary"):
        listed = np.arange(2.0)
        if question.kind == "levels":
            kept = kept_levels(posterior, encoded, place, question.size)
            listed = np.flatnonzero(kept)
        return summed(_joints(posterior, encoded, n_rows, place, listed), gain), error
    left = np.arange(n_rows)
    if question.kind == "counts":
        value, left = _counted(posterior, encoded, n_rows, question)
    if len(left):
        rows = take(encoded, left)
        value[left], error[left] = _simulated(posterior, rows, len(left), question, rng)
    return value, error


def has_a_say(posterior: Posterior, place: Place) -> bool:
    """Say whether the fit kept anything of a column."""
    block, j = place
    reader = posterior.reader
    if block not in reader.kept:
        return False
    kept = reader.kept[block]
    return kept is None or reader.full[block].subset_axis != "feature" or j in kept


def kept_levels(posterior: Posterior, encoded: Encoded, place: Place, size: int) -> np.ndarray:
    """Return which levels of a column the fit kept."""
    block, j = place
    kept = posterior.reader.kept[block]
    codes = np.full((size, encoded[block].shape[1]), -1)
    codes[:, j] = np.arange(size)
    seen = codes if kept is None else posterior.reader.full[block].select(codes, kept)
    return seen[:, j] >= 0


def _joints(
    posterior: Posterior, encoded: Encoded, n_rows: int, place: Place, listed: np.ndarray
) -> np.ndarray:
    """Return the log joint with each of some values in a place, shape (value, row, class)."""
    many = take(encoded, np.tile(np.arange(n_rows), len(listed)))
    joint = posterior.log_joint(put(many, place, np.repeat(listed, n_rows)), len(listed) * n_rows)
    return joint.reshape(len(listed), n_rows, -1)


def summed(joints: np.ndarray, gain: Gain) -> np.ndarray:
    """Return the expected gain over values whose joints are known."""
    if not len(joints):
        return np.zeros(joints.shape[1])
    top = joints.max(axis=(0, 2), keepdims=True)
    weight = np.exp(joints - np.where(np.isneginf(top), 0.0, top))
    total = weight.sum(axis=2)
    # a row that is impossible whatever the cell holds learns nothing from it
    share = total / np.maximum(total.sum(axis=0), np.finfo(float).tiny)
    after = weight / np.where(total > 0, total, 1.0)[..., None]
    before = (share[..., None] * after).sum(axis=0)
    return (share * gain(np.broadcast_to(before, after.shape), after)).sum(axis=0)


def _counted(
    posterior: Posterior, encoded: Encoded, n_rows: int, question: Question
) -> tuple[np.ndarray, np.ndarray]:
    """Return the expected gain over counts, and which rows need more counts than are summed."""
    blank = np.logaddexp.reduce(posterior.log_joint(encoded, n_rows), axis=1)
    found, reached = [], np.zeros(n_rows)
    for first in range(0, MOST_COUNTS, COUNTS):
        counts = np.arange(first, first + COUNTS, dtype=float)
        found.append(_joints(posterior, encoded, n_rows, question.place, counts))
        with np.errstate(invalid="ignore"):
            reached += np.exp(np.logaddexp.reduce(found[-1], axis=2) - blank).sum(axis=0)
        short = reached < 1 - LEFT_OUT
        if not short.any():
            break
    return summed(np.concatenate(found), question.gain), np.flatnonzero(short)


def _simulated(
    posterior: Posterior,
    encoded: Encoded,
    n_rows: int,
    question: Question,
    rng: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the expected gain over simulated cells, as many of every class, and its error."""
    base = untempered(posterior)
    weight = class_probabilities(base.log_joint(encoded, n_rows), base.log_classes())
    n_classes, draws, place = weight.shape[1], question.draws, question.place
    shape = (n_classes, draws, n_rows)
    many = take(encoded, np.tile(np.arange(n_rows), n_classes * draws))
    own = np.repeat(np.arange(n_classes), draws * n_rows)
    block, j = place
    cells = filled_given(posterior, many, own, rng)[block][:, j]
    after = class_probabilities(
        posterior.log_joint(put(many, place, cells), len(own)), posterior.log_classes()
    ).reshape(*shape, n_classes)
    # tempered probabilities need not average to those of before: then their own mean stands there
    before = weight if base is posterior else np.einsum("rk,kdrc->rc", weight, after) / draws
    gains = question.gain(np.broadcast_to(before, after.shape), after)
    error = gains.std(axis=1, ddof=1) / np.sqrt(draws)
    weight = weight.T
    return (weight * gains.mean(axis=1)).sum(axis=0), np.sqrt((weight**2 * error**2).sum(axis=0))
