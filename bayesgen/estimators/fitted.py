"""What a fit keeps, and the pure steps from rows to it."""

import dataclasses

import numpy as np

from bayesgen.classes import Spec, class_prior
from bayesgen.errors import (
    BayesgenWarning,
    DegenerateVariance,
    NotConverged,
    PooledEstimate,
    SingularCovariance,
    UninformativeColumn,
    warn,
)
from bayesgen.inference import MLE, Method, Posterior, choose
from bayesgen.likelihoods import Finding, Likelihood
from bayesgen.likelihoods.moments import blocks
from bayesgen.model import Model, ModelStatistics, Reader, complete_model, model_statistics
from bayesgen.schema import Schema
from bayesgen.table import Table
from bayesgen.typing import Weights

LEARN_ROWS = 1 << 17
"""Rows encoded at once: with 20 columns 21 MB, which the allocator hands out again and again
instead of asking the system for fresh pages (.4 s of .8 s for 1e6 rows, measured)."""


@dataclasses.dataclass(frozen=True, eq=False)
class Learned:
    """Everything that rows have said: columns, classes and statistics. It grows by addition."""

    schema: Schema
    likelihoods: dict[str, Likelihood]
    classes: np.ndarray
    statistics: ModelStatistics

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
) -> Learned:
    """Return what the rows of one table say, read LEARN_ROWS at a time."""
    codes = np.searchsorted(classes, y)
    n_levels = {name: schema.n_levels(name) for name in likelihoods}
    parts = [
        model_statistics(
            likelihoods,
            schema.encode(table if len(codes) <= LEARN_ROWS else table.take(rows), unseen),
            codes[rows],
            weight[rows],
            n_classes=len(classes),
            n_levels=n_levels,
        )
        for rows in blocks(len(codes), LEARN_ROWS)
    ]
    return Learned(schema, likelihoods, classes, sum(parts[1:], start=parts[0]))


def grow(learned: Learned, schema: Schema, classes: np.ndarray) -> Learned:
    """Return the same statistics over a schema with more levels and over more classes."""
    index = np.searchsorted(classes, learned.classes)
    statistics = learned.statistics.spread_classes(index, len(classes))
    blocks = {
        name: part.spread_levels(learned.schema.level_index(schema, name), schema.n_levels(name))
        for name, part in statistics.blocks.items()
    }
    return Learned(
        schema, learned.likelihoods, classes, dataclasses.replace(statistics, blocks=blocks)
    )


def add(earlier: Learned, later: Learned) -> Learned:
    """Return what the rows of both say; both are over the later schema and classes."""
    grown = grow(earlier, later.schema, later.classes)
    return dataclasses.replace(later, statistics=grown.statistics + later.statistics)


def complete(
    learned: Learned, prior: Spec, *, frequencies: bool
) -> tuple[Model, ModelStatistics, Reader]:
    """Return the model with every guess filled in, its statistics, and the reader of rows."""
    origin = learned.origin()
    blocks = {name: part.moved(-origin[name]) for name, part in learned.likelihoods.items()}
    count = learned.statistics.count
    classes = class_prior(prior, learned.classes, count, frequencies=frequencies)
    return complete_model(classes, blocks, learned.statistics)


def infer(learned: Learned, inference: str | Method, prior: Spec, seed: int) -> Posterior:
    """Return the posterior and warn of what a person should know about it."""
    frequencies = isinstance(inference, MLE) or inference == "mle"
    model, statistics, reader = complete(learned, prior, frequencies=frequencies)
    posterior = choose(inference, model, statistics).infer(model, statistics, reader, seed)
    for name, positions in lost_columns(learned, reader).items():
        for position in positions:
            warn(UninformativeColumn.column(learned.schema.blocks[name][position].name))
    for name, finding in posterior.report.findings:
        warn(_warning(finding, columns(learned, reader, name), learned.classes))
    if not posterior.report.converged:
        warn(NotConverged(posterior.report.verdict))
    return posterior


def columns(learned: Learned, reader: Reader, block: str) -> list:
    """Return the names of the columns that a block's likelihood still sees."""
    names = [column.name for column in learned.schema.blocks[block]]
    kept = reader.kept[block]
    whole = kept is None or reader.full[block].inert_axis != "feature"
    return names if whole else [names[i] for i in kept]


def lost_columns(learned: Learned, reader: Reader) -> dict[str, np.ndarray]:
    """Return the columns that say nothing, by block and position."""
    lost = {name: np.arange(len(learned.schema.blocks[name])) for name in learned.likelihoods}
    inert = reader.inert_columns()
    return {
        name: inert.get(name, every[:0]) if name in reader.kept else every
        for name, every in lost.items()
    }


def _warning(finding: Finding, names: list, classes: np.ndarray) -> BayesgenWarning:
    label = None if finding.cls is None else classes[finding.cls]
    label = label.item() if isinstance(label, np.generic) else label
    if finding.kind == "singular":
        return SingularCovariance.mended(names, label)
    column = names if finding.feature is None else names[finding.feature]
    make = DegenerateVariance.floored if finding.kind == "floored" else PooledEstimate.pooled
    return make(column, label)
