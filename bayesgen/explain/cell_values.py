"""Values that a missing cell may take given the observed cells of its row, and their weights.

Levels and counts are enumerated, counts up to a bound; other cells are drawn, as many in each
stratum of the imputations.
"""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from jaxtyping import Bool, Float, Int, Shaped

from bayesgen.explain.cells import Rows
from bayesgen.inference import scores
from bayesgen.inference.components import take_rows
from bayesgen.likelihoods.base import row_chunks
from bayesgen.table import Name
from bayesgen.typing import Joint

FLOATS = 2_000_000
"""Cells of encoded rows scored at once: 16 MB, of which scoring holds a few times as many."""
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


def class_probabilities(
    cells: Sequence[CellValues],
) -> list[Float[np.ndarray, "stratum draw row class"]]:
    """Return P(y = k given the observed cells and the value), of each of several cells."""
    drawn = [cell for cell in cells if cell.joint is None]
    wanted = [
        (cell.name, np.tile(cell.asked, cell.cells.size // len(cell.asked)), cell.cells.ravel())
        for cell in drawn
    ]
    joints, out = iter(_log_joints(drawn[0].rows, wanted) if drawn else ()), []
    for cell in cells:
        posterior, joint = cell.rows.posterior, cell.joint
        joint = next(joints) if joint is None else joint.reshape(-1, joint.shape[-1])
        probs = scores.class_probabilities(joint, posterior.log_classes())
        out.append(probs.reshape(*cell.cells.shape, -1))
    return out


def cell_values(
    rows: Rows, asked: Mapping[Name, np.ndarray], draws: int, rng: np.random.Generator
) -> Iterator[list[CellValues]]:
    """Yield the values of missing cells, those of several columns of some rows together.

    Whatever is drawn of a row is drawn at once, for all of its columns. Nothing is yielded of a
    column that the fit left out.

    Args:
        rows: of the cells.
        asked: rows that miss the cell of each column.
        draws: cells drawn in each stratum where they are not enumerated.
        rng: random numbers.
    """
    by_kind: dict[str, dict[Name, np.ndarray]] = {"levels": {}, "counts": {}, "numbers": {}}
    for name, some in asked.items():
        ((block, j), _), *_ = rows.places(name)
        rows.components.require_imputable(block)
        if len(some) and rows.components.selection(block).reads(j):
            kind = rows.kind(name)
            by_kind["levels" if kind == "binary" else kind][name] = some
    yield from _listed(rows, by_kind["levels"])
    drawn = by_kind["numbers"]
    for name, some in by_kind["counts"].items():
        left = np.ones(len(some), dtype=bool)
        for part in row_chunks(len(some), max(1, FLOATS // (COUNTS * _width(rows)))):
            joint, summed = _log_joints_of_counts(rows, some[part], name)
            left[part] = ~summed
            if summed.any():
                counts = np.arange(len(joint))
                yield [_enumerated(rows, name, some[part][summed], counts, joint[:, summed])]
        if left.any():
            drawn[name] = some[left]
    yield from _drawn(rows, drawn, draws, rng)


def _width(rows: Rows) -> int:
    """Return the number of cells of an encoded row."""
    return max(1, sum(x.shape[1] for x in rows.encoded.values()))


def _batches(
    rows: Rows, asked: Mapping[Name, np.ndarray], values: int
) -> Iterator[tuple[Int[np.ndarray, " row"], list[dict[Name, np.ndarray]]]]:
    """Yield some of the rows of which any column is asked, and the columns asked of them.

    The columns come in groups, each with the rows that it is asked of.

    values: how many a cell may take at most.
    """
    every = np.unique(np.concatenate([np.arange(0), *asked.values()]))
    for part in row_chunks(len(every), max(1, FLOATS // (values * _width(rows)))):
        some = every[part]
        of_columns = {name: np.intersect1d(some, each) for name, each in asked.items()}
        here = [(name, each) for name, each in of_columns.items() if len(each)]
        size = max(1, FLOATS // (values * _width(rows) * len(some)))
        yield some, [dict(here[group]) for group in row_chunks(len(here), size)]


def _listed(rows: Rows, asked: Mapping[Name, np.ndarray]) -> Iterator[list[CellValues]]:
    """Yield all levels of the cells of columns of levels."""
    codes = {}
    for name in asked:
        ((block, j), _), *_ = rows.places(name)
        codes[name] = rows.components.selection(block).codes(j, len(rows.listed(name)))
    for _, groups in _batches(rows, asked, max(map(len, codes.values()), default=1)):
        for each in groups:
            wanted = [
                (name, np.tile(some, len(codes[name])), np.repeat(codes[name], len(some)))
                for name, some in each.items()
            ]
            joints = zip(each.items(), _log_joints(rows, wanted), strict=True)
            yield [
                _enumerated(rows, name, some, codes[name], _by_value(joint, len(some)))
                for (name, some), joint in joints
            ]


def _drawn(
    rows: Rows, asked: Mapping[Name, np.ndarray], draws: int, rng: np.random.Generator
) -> Iterator[list[CellValues]]:
    """Yield values that are drawn, of all columns of a row from the same imputations."""
    for some, groups in _batches(rows, asked, draws * len(rows.posterior.log_classes())):
        encoded = take_rows(rows.encoded, some)
        filled, weight = rows.components.stratified_imputations(encoded, len(some), draws, rng)
        for each in groups:
            cells = []
            for name, own in each.items():
                at = np.searchsorted(some, own)
                values = rows.values(filled, name).reshape(len(weight), -1, len(some))
                cells.append(CellValues(rows, name, own, values[..., at], weight[:, at]))
            yield cells


def _by_value(
    joint: Float[np.ndarray, "version class"], n_rows: int
) -> Float[np.ndarray, "value row class"]:
    """Return the log joint of rows with each of some values; joint: value by value."""
    return joint.reshape(-1, n_rows, joint.shape[1])


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


def _log_joints(rows: Rows, wanted: Sequence[tuple[Name, np.ndarray, np.ndarray]]) -> list[Joint]:
    """Return the log joint of rows with other values in a column, for each of several columns.

    All of them are scored at once.

    wanted: columns, rows, and the value of each of these.
    """
    versions = [rows.with_values(at, name, values) for name, at, values in wanted]
    sizes = [len(at) for _, at, _ in wanted]
    together = {
        block: np.concatenate([version[block] for version in versions]) for block in rows.encoded
    }
    joint = rows.posterior.log_joint(together, sum(sizes))
    return np.split(joint, np.cumsum(sizes)[:-1])


def _log_joints_of_counts(
    rows: Rows, asked: np.ndarray, name: Name
) -> tuple[Float[np.ndarray, "count row class"], Bool[np.ndarray, " row"]]:
    """Return the log joint of the counts 0, 1, ..., and which rows hardly hold larger ones."""
    joint = rows.posterior.log_joint(take_rows(rows.encoded, asked), len(asked))
    blank = np.logaddexp.reduce(joint, axis=1)
    joints, reached = [], np.zeros(len(asked))
    for first in range(0, MOST_COUNTS, COUNTS):
        counts = np.arange(first, first + COUNTS, dtype=float)
        many = np.tile(asked, len(counts)), np.repeat(counts, len(asked))
        (logs,) = _log_joints(rows, [(name, *many)])
        joints.append(_by_value(logs, len(asked)))
        with np.errstate(invalid="ignore"):
            reached += np.exp(np.logaddexp.reduce(joints[-1], axis=2) - blank).sum(axis=0)
        enough = ~(reached < 1 - LEFT_OUT)
        if enough.all():
            break
    return np.concatenate(joints), enough
