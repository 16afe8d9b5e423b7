"""Value of information: the expected gain from measuring a missing cell.

The value is the mutual information of cell and class given the observed cells of the row, sum over
values v of p(v given x) KL(p(y given x, v) || p(y given x)), or with a loss the expected reduction
of the minimum expected loss. Both are expectations of gains relative to the probabilities, or the
decision, before the cell is observed; these gains are never negative. Under a mixture of posteriors
or a power posterior, the probabilities before need not equal the mean of those after the cell is
observed; that mean then replaces them.

Source: Lindley (1956), Annals of Mathematical Statistics 27, 986-1005; Raiffa and Schlaifer (1961),
Applied Statistical Decision Theory, chapter 4.
"""

import dataclasses
from collections.abc import Callable

import numpy as np
from jaxtyping import Float

from bayesgen import decide
from bayesgen.explain.cell_values import COUNTS, kept_codes, log_joints, log_joints_of_counts
from bayesgen.explain.cells import Rows
from bayesgen.inference import class_probabilities
from bayesgen.inference.components import take_rows
from bayesgen.likelihoods.base import row_chunks
from bayesgen.table import Name

FLOATS = 2_000_000
"""Log joints held at once: 16 MB."""

Probs = Float[np.ndarray, "... class"]
GainFn = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""(p(y) before, p(y) after), each (..., class) -> gain in hindsight, (...), never below 0."""


@dataclasses.dataclass(frozen=True, eq=False)
class Gain:
    """value: expected gain of a column, (row,). error: its standard error, 0 where it is a sum."""

    value: np.ndarray
    error: np.ndarray


@dataclasses.dataclass(frozen=True, eq=False)
class Query:
    """A column to measure, and the gain.

    name: of the column. gain: `information`, or `saving` of a loss. draws: simulated cells for each
    class, of a row.
    """

    name: Name
    gain: GainFn
    draws: int


def information(before: Probs, after: Probs) -> np.ndarray:
    """Return KL(after || before) in nats, whose mean is the expected reduction in entropy."""
    tiny = np.finfo(float).tiny
    terms = after * (np.log(np.maximum(after, tiny)) - np.log(np.maximum(before, tiny)))
    # equal probabilities may differ in the last digits
    return np.maximum(terms.sum(axis=-1), 0.0)


def saving(cost: np.ndarray) -> GainFn:
    """Return the loss saved by a new decision, given costs (class, decision)."""

    def gain(before: Probs, after: Probs) -> np.ndarray:
        first, expected = (before @ cost).argmin(axis=-1), after @ cost
        kept = np.take_along_axis(expected, first[..., None], axis=-1)[..., 0]
        return kept - expected.min(axis=-1)

    return gain


def gain_of(loss: decide.Loss, classes: np.ndarray) -> GainFn:
    """Return the gain: in entropy, or in loss where there is one."""
    return information if loss is None else saving(decide.rule(loss, classes).cost)


def expected_gains(
    rows: Rows, gain: GainFn, draws: int, seed: int
) -> tuple[dict[Name, np.ndarray], dict[Name, np.ndarray]]:
    """Return expected gains of missing cells by column, NaN where observed, and standard errors.

    Every column has its own random numbers.
    """
    found = {
        name: expected_gain(rows, Query(name, gain, draws), np.random.default_rng((seed, i)))
        for i, name in enumerate(rows.names)
    }
    return {n: one.value for n, one in found.items()}, {n: one.error for n, one in found.items()}


def expected_gain(rows: Rows, query: Query, rng: np.random.Generator) -> Gain:
    """Return the expected gain of the cell of one column in each row that lacks it; else NaN."""
    ((block, j), _), *_ = rows.places(query.name)
    rows.components.require_imputable(block)
    asked = np.flatnonzero(rows.missing()[query.name][1])
    value, error = np.full((2, rows.n_rows), np.nan)
    value[asked] = error[asked] = 0.0
    if not rows.components.selection(block).reads(j):
        return Gain(value, error)
    n_classes = len(rows.posterior.log_classes())
    values = max(query.draws * n_classes, len(rows.listed(query.name)), COUNTS)
    width = n_classes * len(rows.cells[query.name]) * values
    for part in row_chunks(len(asked), max(1, FLOATS // width)):
        found = _expected_gain(rows, asked[part], query, rng)
        value[asked[part]], error[asked[part]] = found
    return Gain(value, error)


def _expected_gain(
    rows: Rows, asked: np.ndarray, query: Query, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Return the expected gain in some rows, and its standard error: 0 where it is a sum."""
    value, error = np.zeros((2, len(asked)))
    kind, left = rows.kind(query.name), np.arange(len(asked))
    if kind in ("levels", "binary"):
        joints = log_joints(rows, asked, query.name, kept_codes(rows, query.name))
        return summed(joints, query.gain), error
    if kind == "counts":
        value, left = _counted(rows, asked, query)
    if len(left):
        value[left], error[left] = _simulated(rows, asked[left], query, rng)
    return value, error


def summed(joints: np.ndarray, gain: GainFn) -> np.ndarray:
    """Return the expected gain over values whose joints are known."""
    if not len(joints):
        return np.zeros(joints.shape[1])
    top = joints.max(axis=(0, 2), keepdims=True)
    weight = np.exp(joints - np.where(np.isneginf(top), 0.0, top))
    total = weight.sum(axis=2)
    # a row that is impossible for every value gains nothing
    share = total / np.maximum(total.sum(axis=0), np.finfo(float).tiny)
    after = weight / np.where(total > 0, total, 1.0)[..., None]
    before = (share[..., None] * after).sum(axis=0)
    return (share * gain(np.broadcast_to(before, after.shape), after)).sum(axis=0)


def _counted(rows: Rows, asked: np.ndarray, query: Query) -> tuple[np.ndarray, np.ndarray]:
    """Return the expected gain over counts, and which rows need more counts than are summed."""
    joints, short = log_joints_of_counts(rows, asked, query.name)
    return summed(joints, query.gain), short


def _simulated(
    rows: Rows, asked: np.ndarray, query: Query, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Return the expected gain over simulated cells, as many of each stratum, and its error."""
    posterior, some = rows.posterior, take_rows(rows.encoded, asked)
    filled, weight = posterior.components.stratified_imputations(some, len(asked), query.draws, rng)
    cells = rows.values(filled, query.name)
    many = np.tile(asked, len(cells) // len(asked))
    joint = posterior.log_joint(rows.with_values(many, query.name, cells), len(many))
    after = class_probabilities(joint, posterior.log_classes())
    after = after.reshape(len(weight), -1, len(asked), after.shape[1])
    draws = after.shape[1]
    # where strata are classes, their weights are the probabilities before
    mean = np.einsum("sr,sdrc->rc", weight, after) / draws
    before = weight.T if posterior.coherent else mean
    gains = query.gain(np.broadcast_to(before, after.shape), after)
    error = gains.std(axis=1, ddof=1) / np.sqrt(draws)
    return (weight * gains.mean(axis=1)).sum(axis=0), np.sqrt((weight**2 * error**2).sum(axis=0))
