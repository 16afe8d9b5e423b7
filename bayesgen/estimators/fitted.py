"""What a fit keeps, and the pure steps from rows to it."""

import dataclasses
import math

import numpy as np

from bayesgen.classes import Spec, class_prior
from bayesgen.errors import MissingCells, OutOfSupport, TooManyCells
from bayesgen.likelihoods import Likelihood
from bayesgen.likelihoods.normal_statistics import row_chunks
from bayesgen.likelihoods.sparse_rows import first_missing
from bayesgen.model import (
    Model,
    ModelStatistics,
    Reader,
    complete_model,
    model_statistics,
)
from bayesgen.schema import Columns, Schema
from bayesgen.table import Table
from bayesgen.typing import Labels, Traceable, Weights

LEARN_ROWS = 1 << 17
"""Rows encoded at once: with 20 columns 21 MB, which the allocator hands out again and again
instead of asking the system for fresh pages (.4 s of .8 s for 1e6 rows, measured)."""


@dataclasses.dataclass(frozen=True, eq=False)
class TrainingState:
    """Everything that rows have said: columns, classes and statistics. It grows by addition.

    log_abs_det_jacobian: of the power transforms, over all rows; added to the log evidence.
    """

    schema: Schema
    likelihoods: dict[str, Likelihood]
    classes: np.ndarray
    statistics: ModelStatistics
    log_abs_det_jacobian: float = dataclasses.field(default=0.0, kw_only=True)

    def origin(self) -> dict[str, np.ndarray]:
        """Return what encoding subtracted from the columns of each block."""
        return {name: self.schema.origin(name) for name in self.likelihoods}


def learn(
    table: Table,
    schema: Schema,
    likelihoods: dict[str, Likelihood],
    y: np.ndarray,
    classes: np.ndarray,
    weight: Weights,
    *,
    unseen: str,
) -> TrainingState:
    """Return what the rows of one table say, read LEARN_ROWS at a time."""
    for name, likelihood in likelihoods.items():
        if likelihood.most_cells is not None:
            _check_cells(likelihood, schema.blocks[name])
    codes = codes_of(y, classes)
    n_levels = {name: schema.n_levels(name) for name in likelihoods}
    parts = [
        model_statistics(
            likelihoods,
            _encode_rows(
                table if len(codes) <= LEARN_ROWS else table.take(rows),
                schema,
                likelihoods,
                unseen,
                rows.start,
            ),
            codes[rows],
            weight[rows],
            n_classes=len(classes),
            n_levels=n_levels,
        )
        for rows in row_chunks(len(codes), LEARN_ROWS)
    ]
    return TrainingState(schema, likelihoods, classes, sum(parts[1:], start=parts[0]))


def codes_of(labels: np.ndarray, classes: np.ndarray) -> Labels:
    """Return the position of each label among the classes, which are sorted and hold them all."""
    if labels.dtype.kind in "iu" and classes.dtype.kind in "iu":
        low, high = int(classes[0]), int(classes[-1])
        if high - low == len(classes) - 1 and high < 2**62:
            # five times as fast as looking for them
            return labels.astype(np.int64, copy=False) - low
    return np.searchsorted(classes, labels)


def _encode_rows(
    table: Table, schema: Schema, likelihoods: dict[str, Likelihood], unseen: str, first: int
) -> dict[str, Traceable]:
    """Return encoded rows, complete for likelihoods that fit complete rows only.

    first: number of the first of them among all fitted rows.
    """
    encoded = schema.encode(table, unseen)
    for name, likelihood in likelihoods.items():
        if not likelihood.allows_missing_at_fit:
            missing = first_missing(encoded[name])
            if missing is not None:
                column = schema.blocks[name][missing[0]].name
                family = type(likelihood).__name__
                raise MissingCells.at_fit(family, column, missing[1], table.n_rows)
        _refuse_outside(likelihood, encoded[name], schema, name, first)
    return encoded


def _refuse_outside(
    likelihood: Likelihood, x: Traceable, schema: Schema, block: str, first: int
) -> None:
    """Refuse cells that have no density under any parameters."""
    outside = likelihood.out_of_support(x)
    if outside is None or not outside.any():
        return
    row, column = (int(i) for i in np.argwhere(outside)[0])
    value = x[row, column] + schema.origin(block)[column]
    raise OutOfSupport.cell(
        schema.blocks[block][column].name,
        value,
        first + row,
        count=int(outside[:, column].sum()),
        likelihood=repr(likelihood),
        support=likelihood.support,
    )


def _check_cells(likelihood: Likelihood, columns: Columns) -> None:
    """Refuse a table over columns of levels that is larger than its likelihood can bear."""
    n_levels = {column.name: len(column.levels) for column in columns}
    cells, most = math.prod(max(n, 1) for n in n_levels.values()), likelihood.most_cells
    if most is not None and cells > most:
        raise TooManyCells.block(n_levels, most)


def grow(learned: TrainingState, schema: Schema, classes: np.ndarray) -> TrainingState:
    """Return the same statistics over a schema with more levels and over more classes."""
    statistics = learned.statistics
    if len(classes) > len(learned.classes):
        index = np.searchsorted(classes, learned.classes)
        statistics = statistics.spread_classes(index, len(classes))
    more = {n for n in learned.likelihoods if schema.n_levels(n) != learned.schema.n_levels(n)}
    blocks = {
        name: part.reindex_levels(learned.schema.level_index(schema, name), schema.n_levels(name))
        if name in more
        else part
        for name, part in statistics.blocks.items()
    }
    return TrainingState(
        schema, learned.likelihoods, classes, dataclasses.replace(statistics, blocks=blocks)
    )


def add(earlier: TrainingState, later: TrainingState) -> TrainingState:
    """Return what the rows of both say; both are over the later schema and classes."""
    grown = grow(earlier, later.schema, later.classes)
    return dataclasses.replace(later, statistics=grown.statistics + later.statistics)


def complete(
    learned: TrainingState, prior: Spec, *, frequencies: bool
) -> tuple[Model, ModelStatistics, Reader]:
    """Return the model with every guess filled in, its statistics, and the reader of rows."""
    origin = learned.origin()
    blocks = {name: part.shifted(-origin[name]) for name, part in learned.likelihoods.items()}
    count = learned.statistics.count
    classes = class_prior(prior, learned.classes, count, frequencies=frequencies)
    model, statistics, reader = complete_model(classes, blocks, learned.statistics)
    return (
        model,
        statistics,
        dataclasses.replace(reader, power_transforms=learned.schema.power_transforms()),
    )


def columns(learned: TrainingState, reader: Reader, block: str) -> list:
    """Return the names of the columns that a block's likelihood still sees."""
    names = [column.name for column in learned.schema.blocks[block]]
    kept = reader.kept[block]
    whole = kept is None or reader.full[block].subset_axis != "feature"
    return names if whole else [names[i] for i in kept]


def level_names(learned: TrainingState, reader: Reader, block: str) -> list[str]:
    """Return "column=level" for the levels that a block's likelihood still sees, side by side."""
    names = [f"{c.name}={level}" for c in learned.schema.blocks[block] for level in c.levels]
    kept = reader.kept[block]
    if kept is None or not names:
        return names
    if reader.full[block].subset_axis == "level":
        return [names[i] for i in kept]
    columns = [learned.schema.blocks[block][i] for i in kept]
    return [f"{c.name}={level}" for c in columns for level in c.levels]


def lost_columns(learned: TrainingState, reader: Reader) -> dict[str, np.ndarray]:
    """Return the columns that say nothing, by block and position."""
    lost = {name: np.arange(len(learned.schema.blocks[name])) for name in learned.likelihoods}
    uninformative = reader.uninformative_columns()
    told = {
        n: uninformative.get(n, lost[n][:0])
        for n in reader.kept
        if learned.likelihoods[n].warns_uninformative
    }
    return {
        name: told.get(name, every[:0]) if name in reader.kept else every
        for name, every in lost.items()
    }
