"""Distribution of each missing cell given the observed cells of its row.

p(cell given observed) is a mixture over classes, with weights P(y = k given observed). Levels and
counts are summed. Numbers under normal likelihoods are mixtures of Student-t or normal
distributions, whose mean is a sum and whose quantiles are roots of a sum; other numbers are drawn
by the imputations of `bayesgen.explain.impute`.
"""

import dataclasses
from collections.abc import Hashable

import numpy as np
from jaxtyping import Float
from scipy.special import ndtr, ndtri, stdtr, stdtrit

from bayesgen.explain.cell_values import kept_codes, log_joints, log_joints_of_counts
from bayesgen.explain.cells import Rows
from bayesgen.inference.components import take_rows
from bayesgen.likelihoods.base import row_chunks
from bayesgen.schema.blocks import decoded_cells
from bayesgen.table import Name

BISECTIONS = 80
"""Halvings of an interval that holds a quantile: it ends at the resolution of floats."""
FLOATS = 2_000_000
"""Log joints, or imputed cells, held at once: 16 MB."""


@dataclasses.dataclass(frozen=True, eq=False)
class Numbers:
    """mean, ends (row, 2) of central intervals, and Monte Carlo error of the mean, 0 if exact."""

    mean: Float[np.ndarray, " row"]
    ends: Float[np.ndarray, "row 2"]
    error: Float[np.ndarray, " row"]


@dataclasses.dataclass(frozen=True, eq=False)
class Levels:
    """Values of a cell, and the probability of each, (row, level)."""

    values: list[Hashable]
    probability: Float[np.ndarray, "row level"]


@dataclasses.dataclass(frozen=True)
class Question:
    """prob: of intervals. draws: imputations per class if there is no closed form."""

    prob: float
    draws: int

    @property
    def tails(self) -> np.ndarray:
        """Probabilities below the ends of the intervals."""
        return np.array([(1 - self.prob) / 2, (1 + self.prob) / 2])


def conditional_table(
    rows: Rows, question: Question, rng: np.random.Generator, labels: list
) -> dict[str, list]:
    """Return a line for each missing number or count, and one for each level of a missing cell.

    Args:
        rows: whose missing cells are described.
        question: level of the intervals and number of draws.
        rng: random numbers.
        labels: of the rows.
    """
    lines: list[tuple[int, int, dict[str, object]]] = []
    numbers = levels = False
    for i, name in enumerate(rows.names):
        asked = np.flatnonzero(rows.missing()[name][1])
        if not len(asked):
            continue
        found = _conditional(rows, name, asked, question, rng)
        own = rows.missing()[name][0]
        numbers |= isinstance(found, Numbers)
        levels |= isinstance(found, Levels)
        for at, row in enumerate(asked.tolist()):
            first = {"row": labels[row], "column": own}
            lines += [(row, i, first | one) for one in _lines(found, at)]
    lines.sort(key=lambda line: line[:2])
    columns = ["row", "column"]
    columns += ["level", "probability"] if levels else []
    columns += ["mean", "lower", "upper", "error"] if numbers else []
    missing = {"level": None}
    return {
        key: [line.get(key, missing.get(key, np.nan)) for _, _, line in lines] for key in columns
    }


def _lines(found: Numbers | Levels, at: int) -> list[dict[str, object]]:
    if isinstance(found, Levels):
        pairs = zip(found.values, found.probability[at].tolist(), strict=True)
        return [{"level": value, "probability": p} for value, p in pairs]
    lower, upper = found.ends[at].tolist()
    error = float(found.error[at])
    return [{"mean": float(found.mean[at]), "lower": lower, "upper": upper, "error": error}]


def _conditional(
    rows: Rows, name: Name, asked: np.ndarray, question: Question, rng: np.random.Generator
) -> Numbers | Levels:
    """Return the distribution of the cells of one column in the rows that miss it."""
    ((block, j), column), *_ = rows.places(name)
    rows.components.require_imputable(block)
    kind = rows.kind(name)
    if kind in ("levels", "binary"):
        codes = kept_codes(rows, name)
        values = decoded_cells(column, codes if column.levels else codes.astype(float)).tolist()
        width = max(1, len(codes)) * len(rows.posterior.log_classes())
        parts = row_chunks(len(asked), max(1, FLOATS // width))
        found = [_shares(log_joints(rows, asked[part], name, codes)) for part in parts]
        return Levels(values, np.concatenate(found))
    if not rows.components.selection(block).reads(j):
        nothing = np.full(len(asked), np.nan)
        return Numbers(nothing, np.stack([nothing, nothing], axis=1), np.zeros(len(asked)))
    parts = row_chunks(len(asked), max(1, FLOATS // (question.draws * _width(rows))))
    each = [_numbers(rows, name, asked[part], question, rng) for part in parts]
    return Numbers(*(np.concatenate([getattr(n, f) for n in each]) for f in _FIELDS))


_FIELDS = ("mean", "ends", "error")


def _width(rows: Rows) -> int:
    return len(rows.posterior.log_classes()) * max(1, len(rows.cells))


def _shares(joints: np.ndarray) -> Float[np.ndarray, "row value"]:
    """Return the probability of each value from log joints (value, row, class)."""
    logs = np.logaddexp.reduce(joints, axis=2).T
    top = logs.max(axis=1, keepdims=True, initial=-np.inf)
    weight = np.exp(logs - np.where(np.isneginf(top), 0.0, top))
    total = weight.sum(axis=1, keepdims=True)
    # a row that is impossible whatever the cell holds tells nothing about it
    even = np.full_like(weight, 1 / max(1, weight.shape[1]))
    return np.where(total > 0, weight / np.where(total > 0, total, 1.0), even)


def _numbers(
    rows: Rows, name: Name, asked: np.ndarray, question: Question, rng: np.random.Generator
) -> Numbers:
    ((block, j), column), *others = rows.places(name)
    if rows.kind(name) == "counts":
        joints, short = log_joints_of_counts(rows, asked, name)
        if not len(short):
            return _of_counts(_shares(joints), question)
    elif not others and (found := _mixture(rows, block, j, asked)) is not None:
        weight, location, scale, degrees = found
        mean, ends = mixture_moments(weight, location, scale, degrees, question.tails)
        shift = float(np.nan_to_num(column.origin))
        return Numbers(mean + shift, ends + shift, np.zeros(len(asked)))
    return _drawn(rows, name, asked, question, rng)


def _of_counts(share: Float[np.ndarray, "row count"], question: Question) -> Numbers:
    below, counts = share.cumsum(axis=1), np.arange(share.shape[1])
    ends = np.stack([(below < tail - 1e-12).sum(axis=1) for tail in question.tails], axis=1)
    return Numbers(share @ counts, ends.astype(float), np.zeros(len(share)))


def _mixture(
    rows: Rows, block: str, j: int, asked: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray] | None:
    """Return weight, location, scale and degrees of freedom of each class, (row, class)."""
    some, n_rows = take_rows(rows.encoded, asked), len(asked)
    weight = rows.components.class_weights(some, n_rows)
    parts = []
    for k in range(weight.shape[1]):
        found = rows.components.conditional(block, some, np.full(n_rows, k))
        if found is None:
            return None
        parts.append(np.stack([part[:, j] for part in found]))
    location, scale, degrees = np.moveaxis(np.stack(parts, axis=2), 0, 0)
    return weight, location, scale, degrees


def mixture_moments(
    weight: Float[np.ndarray, "row class"],
    location: Float[np.ndarray, "row class"],
    scale: Float[np.ndarray, "row class"],
    degrees: Float[np.ndarray, "row class"],
    tails: Float[np.ndarray, " tail"],
) -> tuple[Float[np.ndarray, " row"], Float[np.ndarray, "row tail"]]:
    """Return the mean and quantiles of mixtures of Student-t, or normal, distributions.

    The mean of a t with one degree of freedom or fewer does not exist: NaN. Quantiles are found by
    bisection between the smallest and the largest of those of the components.
    """
    here = weight > 0
    centre = np.where(degrees > 1, location, np.nan)
    mean = np.where(here, weight * centre, 0.0).sum(axis=1)
    normal = np.isinf(degrees)
    finite = np.where(normal, 1.0, degrees)
    ends = []
    for tail in tails:
        each = location + scale * np.where(normal, ndtri(tail), stdtrit(finite, tail))
        low = np.where(here, each, np.inf).min(axis=1)
        high = np.where(here, each, -np.inf).max(axis=1)
        for _ in range(BISECTIONS):
            middle = low + (high - low) / 2
            z = (middle[:, None] - location) / scale
            below = np.where(here, weight * np.where(normal, ndtr(z), stdtr(finite, z)), 0.0)
            less = below.sum(axis=1) < tail
            low, high = np.where(less, middle, low), np.where(less, high, middle)
        ends.append(low + (high - low) / 2)
    return mean, np.stack(ends, axis=1)


def _drawn(
    rows: Rows, name: Name, asked: np.ndarray, question: Question, rng: np.random.Generator
) -> Numbers:
    """Return mean and quantiles of imputations, as many of each stratum."""
    some = take_rows(rows.encoded, asked)
    filled, weight = rows.components.stratified_imputations(some, len(asked), question.draws, rng)
    cells = rows.decoded_column(filled, name).astype(float)
    cells = cells.reshape(len(weight), -1, len(asked))
    draws = cells.shape[1]
    mean = np.einsum("sr,sdr->r", weight, cells) / draws
    error = np.sqrt((weight**2 * cells.var(axis=1, ddof=1) / draws).sum(axis=0))
    each = np.broadcast_to(weight[:, None] / draws, cells.shape).reshape(-1, len(asked))
    flat = cells.reshape(-1, len(asked))
    order = flat.argsort(axis=0)
    steps = np.take_along_axis(each, order, axis=0).cumsum(axis=0)
    ordered = np.take_along_axis(flat, order, axis=0)
    places = [np.minimum((steps < tail).sum(axis=0), len(flat) - 1) for tail in question.tails]
    ends = [np.take_along_axis(ordered, at[None], axis=0)[0] for at in places]
    return Numbers(mean, np.stack(ends, axis=1), error)
