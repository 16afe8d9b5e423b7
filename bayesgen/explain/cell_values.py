"""Values that a missing cell may take given the observed cells of its row, and their weights.

Levels and counts are enumerated, counts up to a bound; other cells are drawn, as many in each
stratum of the imputations.
"""

import dataclasses
from collections.abc import Iterator

import numpy as np
from jaxtyping import Bool, Float, Int, Shaped

from bayesgen.explain.cells import Rows
from bayesgen.inference import class_probabilities
from bayesgen.inference.components import take_rows
from bayesgen.likelihoods.base import row_chunks
from bayesgen.table import Name

FLOATS = 2_000_000
"""Log joints, or cells of rows, held at once: 16 MB."""
LEFT_OUT = 1e-9
"""Probability of the counts that a sum may leave out: an error of at most 1e-9 log(classes)."""
COUNTS, MOST_COUNTS = 64, 4096
"""Counts summed at a time, and in all; larger ones are simulated."""

Cells = Shaped[np.ndarray, "stratum draw row"]


@dataclasses.dataclass(frozen=True, eq=False)
class CellValues:
    """Values of a missing cell in some rows: each a stratum of its own, or drawn within strata.

    rows, name: of the cell. asked: the rows that miss it. cells: codes, counts or drawn numbers.
    weight: probability of each stratum. joint: log p(observed cells, value, y = k) of enumerated
    values; None: to be computed.
    """

    rows: Rows
    name: Name
    asked: Int[np.ndarray, " row"]
    cells: Cells
    weight: Float[np.ndarray, "stratum row"]
    joint: Float[np.ndarray, "stratum row class"] | None = None

    def mean(self, values: Float[np.ndarray, "stratum draw row *more"]) -> np.ndarray:
        """Return the expectation of what goes with the cells, (row, ...)."""
        return np.einsum("sr,sdr...->r...", self.weight, values) / values.shape[1]

    def error(self, values: Cells) -> Float[np.ndarray, " row"]:
        """Return the Monte Carlo standard error of a mean: 0 of enumerated cells."""
        draws = values.shape[1]
        if draws == 1:
            return np.zeros(len(self.asked))
        return np.sqrt((self.weight**2 * values.var(axis=1, ddof=1) / draws).sum(axis=0))

    def quantiles(
        self, values: Cells, levels: Float[np.ndarray, " level"]
    ) -> Float[np.ndarray, "row level"]:
        """Return the smallest values whose weight reaches each level."""
        draws = values.shape[1]
        weight = np.broadcast_to(self.weight[:, None] / draws, values.shape)
        weight, values = (array.reshape(-1, len(self.asked)) for array in (weight, values))
        order = values.argsort(axis=0)
        reached = np.take_along_axis(weight, order, axis=0).cumsum(axis=0)
        # sums of equal weights may differ in the last digits
        places = [(reached < level - 1e-12).sum(axis=0) for level in levels]
        places = np.minimum(places, len(values) - 1)
        return np.take_along_axis(np.take_along_axis(values, order, axis=0), places, axis=0).T

    def class_probabilities(self) -> Float[np.ndarray, "stratum draw row class"]:
        """Return P(y = k given the observed cells and the value)."""
        posterior, joint = self.rows.posterior, self.joint
        if joint is None:
            asked = np.tile(self.asked, self.cells.size // len(self.asked))
            encoded = self.rows.with_values(asked, self.name, self.cells.ravel())
            joint = posterior.log_joint(encoded, len(asked))
        flat = joint.reshape(-1, joint.shape[-1])
        probs = class_probabilities(flat, posterior.log_classes())
        return probs.reshape(*self.cells.shape, -1)


def cell_values(
    rows: Rows, name: Name, asked: np.ndarray, draws: int, rng: np.random.Generator
) -> Iterator[CellValues]:
    """Yield the values of the cells of one column, some of the rows that miss it at a time.

    Nothing is yielded of a column that the fit left out.

    Args:
        rows: of the cells.
        name: of the column.
        asked: rows that miss it.
        draws: cells drawn in each stratum where they are not enumerated.
        rng: random numbers.
    """
    ((block, j), _), *_ = rows.places(name)
    rows.components.require_imputable(block)
    if not rows.components.selection(block).reads(j):
        return
    kind, n_classes = rows.kind(name), len(rows.posterior.log_classes())
    most = max(draws * n_classes, len(rows.listed(name)), COUNTS)
    width = most * max(n_classes, len(rows.cells))
    for part in row_chunks(len(asked), max(1, FLOATS // width)):
        left = asked[part]
        if kind in ("levels", "binary"):
            codes = rows.components.selection(block).codes(j, len(rows.listed(name)))
            yield _enumerated(rows, name, left, codes, _log_joints(rows, left, name, codes))
            continue
        if kind == "counts":
            joint, summed = _log_joints_of_counts(rows, left, name)
            if summed.any():
                counts = np.arange(len(joint))
                yield _enumerated(rows, name, left[summed], counts, joint[:, summed])
            left = left[~summed]
        if len(left):
            encoded = take_rows(rows.encoded, left)
            filled, weight = rows.components.stratified_imputations(encoded, len(left), draws, rng)
            cells = rows.values(filled, name).reshape(len(weight), -1, len(left))
            yield CellValues(rows, name, left, cells, weight)


def _enumerated(
    rows: Rows,
    name: Name,
    asked: np.ndarray,
    values: np.ndarray,
    joint: Float[np.ndarray, "value row class"],
) -> CellValues:
    """Return values that are all there are, each with its probability."""
    logs = np.logaddexp.reduce(joint, axis=2)
    top = logs.max(axis=0, initial=-np.inf)
    # a row that is impossible whatever the cell holds tells nothing about it
    weight = np.exp(np.where(np.isneginf(top), 0.0, logs - np.where(np.isneginf(top), 0.0, top)))
    cells = np.tile(values[:, None, None], (1, 1, len(asked)))
    return CellValues(rows, name, asked, cells, weight / weight.sum(axis=0), joint)


def _log_joints(
    rows: Rows, asked: np.ndarray, name: Name, values: np.ndarray
) -> Float[np.ndarray, "value row class"]:
    """Return the log joint of rows with each of some values in a column."""
    many = np.tile(asked, len(values))
    encoded = rows.with_values(many, name, np.repeat(values, len(asked)))
    joint = rows.posterior.log_joint(encoded, len(many))
    return joint.reshape(len(values), len(asked), -1)


def _log_joints_of_counts(
    rows: Rows, asked: np.ndarray, name: Name
) -> tuple[Float[np.ndarray, "count row class"], Bool[np.ndarray, " row"]]:
    """Return the log joint of the counts 0, 1, ..., and which rows hardly hold larger ones."""
    joint = rows.posterior.log_joint(take_rows(rows.encoded, asked), len(asked))
    blank = np.logaddexp.reduce(joint, axis=1)
    joints, reached = [], np.zeros(len(asked))
    for first in range(0, MOST_COUNTS, COUNTS):
        counts = np.arange(first, first + COUNTS, dtype=float)
        joints.append(_log_joints(rows, asked, name, counts))
        with np.errstate(invalid="ignore"):
            reached += np.exp(np.logaddexp.reduce(joints[-1], axis=2) - blank).sum(axis=0)
        enough = ~(reached < 1 - LEFT_OUT)
        if enough.all():
            break
    return np.concatenate(joints), enough
