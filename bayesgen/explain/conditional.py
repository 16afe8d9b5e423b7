"""Distribution of each missing cell given the observed cells of its row.

p(cell given observed) is a mixture over classes, with weights P(y = k given observed). Numbers
under normal likelihoods are mixtures of Student-t or normal distributions, whose mean is a sum and
whose quantiles are roots of a sum; other cells are enumerated or drawn (`cell_values`).
"""

import dataclasses
from collections.abc import Iterator

import numpy as np
from jaxtyping import Float
from scipy.special import ndtr, ndtri, stdtr, stdtrit

from bayesgen.explain.cell_values import FLOATS, cell_values
from bayesgen.explain.cells import Rows
from bayesgen.inference.components import take_rows
from bayesgen.likelihoods.base import row_chunks
from bayesgen.table import Name

BISECTIONS = 80
"""Halvings of an interval that holds a quantile: it ends at the resolution of floats."""
COLUMNS = ("row", "column", "level", "probability", "mean", "lower", "upper", "error")

Line = dict[str, object]


@dataclasses.dataclass(frozen=True)
class Question:
    """prob: of intervals. draws: imputations per class if there is no closed form."""

    prob: float
    draws: int

    @property
    def tails(self) -> Float[np.ndarray, " tail"]:
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
    lines: list[tuple[int, Line]] = []
    missing = rows.missing()
    for name in rows.names:
        column, gaps = missing[name]
        asked = np.flatnonzero(gaps)
        if not len(asked):
            continue
        describe = _levels if rows.kind(name) in ("levels", "binary") else _numbers
        for row, line in describe(rows, name, asked, question, rng):
            lines.append((row, {"row": labels[row], "column": column, **line}))
    lines.sort(key=lambda line: line[0])
    used = {"row", "column"}.union(*(line for _, line in lines))
    nothing = dict.fromkeys(COLUMNS, np.nan) | {"level": None}
    return {
        key: [line.get(key, nothing[key]) for _, line in lines] for key in COLUMNS if key in used
    }


def _levels(
    rows: Rows, name: Name, asked: np.ndarray, question: Question, rng: np.random.Generator
) -> Iterator[tuple[int, Line]]:
    """Yield the probability of each level of a cell, by row."""
    for (cell,) in cell_values(rows, {name: asked}, question.draws, rng):
        levels = rows.decoded_values(name, cell.cells[:, 0, 0]).tolist()
        for row, shares in zip(cell.asked.tolist(), cell.weight.T.tolist(), strict=True):
            for level, share in zip(levels, shares, strict=True):
                yield row, {"level": level, "probability": share}


def _numbers(
    rows: Rows, name: Name, asked: np.ndarray, question: Question, rng: np.random.Generator
) -> Iterator[tuple[int, Line]]:
    """Yield mean, interval and Monte Carlo error of a number or count, by row."""
    numbers = np.full((rows.n_rows, 4), np.nan)
    numbers[asked, 3] = 0.0
    closed = _closed_form(rows, name, asked, question.tails)
    if closed is not None:
        numbers[asked, :3] = closed
    else:
        for (cell,) in cell_values(rows, {name: asked}, question.draws, rng):
            values = rows.decoded_values(name, cell.cells).astype(float)
            ends = cell.quantiles(values, question.tails)
            columns = [cell.mean(values), ends, cell.error(values)]
            numbers[cell.asked] = np.column_stack(columns)
    for row in asked.tolist():
        yield row, dict(zip(COLUMNS[4:], numbers[row].tolist(), strict=True))


def _closed_form(
    rows: Rows, name: Name, asked: np.ndarray, tails: Float[np.ndarray, " tail"]
) -> Float[np.ndarray, "row 3"] | None:
    """Return mean and ends of mixtures of Student-t, or normal, distributions; None of others."""
    ((block, j), column), *others = rows.places(name)
    if others or rows.kind(name) == "counts" or not rows.components.selection(block).reads(j):
        return None
    n_classes, moments = len(rows.posterior.log_classes()), []
    for part in row_chunks(len(asked), max(1, FLOATS // (n_classes * len(rows.cells)))):
        encoded = take_rows(rows.encoded, asked[part])
        weight = rows.components.class_weights(encoded, len(asked[part]))
        by_class = []
        for k in range(n_classes):
            densities = rows.components.conditional(block, encoded, np.full(len(weight), k))
            if densities is None:
                return None
            by_class.append([array[:, j] for array in densities])
        location, scale, degrees = np.moveaxis(np.array(by_class), 0, 2)
        mean, ends = mixture_moments(weight, location, scale, degrees, tails)
        moments.append(np.column_stack([mean, ends]) + (column.origin or 0.0))
    return np.concatenate(moments)


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
