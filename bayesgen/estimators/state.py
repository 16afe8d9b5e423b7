"""Training state: what a fit remembers of its rows, which adds up over tables."""

import contextlib
import dataclasses
import functools
from collections.abc import Generator, Sequence

import numpy as np
from scipy.sparse import csr_array

from bayesgen.classes import Spec, class_prior, even_classes
from bayesgen.errors import InvalidData
from bayesgen.inference.unlabelled_rows import ExpectedLabels
from bayesgen.likelihoods import Likelihood, Statistics
from bayesgen.model import ModelStatistics, Reader
from bayesgen.problem import Problem
from bayesgen.schema import GROUPS, MISSING, Reading, Schema
from bayesgen.table import SPARSE, Name
from bayesgen.typing import Traceable


@dataclasses.dataclass(frozen=True, eq=False)
class TrainingState:
    """Additive training state: columns, classes and sufficient statistics.

    likelihoods: of each block, with the guesses as the user left them. statistics: of the labeled
    rows. log_abs_det_jacobian: of the power transforms over all rows, which is added to the log
    evidence. unlabelled: what the last fit made of rows without a label, if there were any.
    """

    schema: Schema
    likelihoods: dict[str, Likelihood]
    classes: np.ndarray
    statistics: ModelStatistics
    log_abs_det_jacobian: float = dataclasses.field(default=0.0, kw_only=True)
    unlabelled: ExpectedLabels | None = dataclasses.field(default=None, kw_only=True)

    def to_keep(self) -> "TrainingState":
        """Return the part of the state that a fitted classifier keeps: all of it."""
        return self

    def __add__(self, later: "TrainingState") -> "TrainingState":
        """Return the combined state; the schema and classes of the later one include all."""
        earlier = self.under(later.schema, later.classes)
        return dataclasses.replace(
            later,
            statistics=earlier.statistics + later.statistics,
            log_abs_det_jacobian=earlier.log_abs_det_jacobian + later.log_abs_det_jacobian,
        )

    def __sub__(self, other: "TrainingState") -> "TrainingState":
        """Return the state without the rows of the other, which must be among them."""
        part = other.under(self.schema, self.classes).statistics
        return dataclasses.replace(self, statistics=self.statistics - part)

    def without_rows(self) -> "TrainingState":
        """Return the state of no rows, with the same columns and classes."""
        statistics = self.statistics.times(0.0)
        return dataclasses.replace(self, statistics=statistics, log_abs_det_jacobian=0.0)

    def under(self, schema: Schema, classes: np.ndarray) -> "TrainingState":
        """Return the state of the same rows under a schema with other levels and origins.

        schema, classes: they include the levels and the classes of the state.
        """
        statistics = self.statistics
        if len(classes) > len(self.classes):
            index = np.searchsorted(classes, self.classes)
            statistics = statistics.spread_classes(index, len(classes))
        statistics = statistics.each_block(functools.partial(self._block_under, schema))
        return dataclasses.replace(self, schema=schema, classes=classes, statistics=statistics)

    def _block_under(self, schema: Schema, name: str, part: Statistics) -> Statistics:
        """Return the statistics of a block under a schema with other levels and origins."""
        if schema.blocks[name] is self.schema.blocks[name]:
            return part
        if (rewriting := self.schema.rewriting(schema, name)) is not None:
            return part.rewritten(rewriting.matrix, rewriting.offset, rewriting.like)
        if n_levels := schema.n_levels(name):
            index = self.schema.level_index(schema, name)
            if not np.array_equal(index, np.arange(sum(n_levels))):
                part = part.reindex_levels(index, n_levels)
        by = self.schema.origin_change(schema, name)
        return part.shifted(by) if by.any() else part

    def split_columns(self, blocks: Sequence[str]) -> "TrainingState":
        """Return the state of some blocks, their columns as blocks of their own."""
        columns, likelihoods, statistics = {}, {}, {}
        for name in blocks:
            for j, column in enumerate(self.schema.blocks[name]):
                block = f"{name}/{j}"
                columns[block], likelihoods[block] = (column,), self.likelihoods[name]
                statistics[block] = self.statistics.blocks[name].take("feature", np.array([j]))
        return dataclasses.replace(
            self,
            schema=dataclasses.replace(self.schema, blocks=columns),
            likelihoods=likelihoods,
            statistics=ModelStatistics(self.statistics.count, statistics),
        )

    def origins(self, reader: Reader) -> dict[str, np.ndarray]:
        """Return the offsets that encoding subtracts from the informative columns of blocks."""
        origins = self.schema.origins()
        return {
            name: origins[name][selection.positions("feature", len(origins[name]))]
            for name, selection in reader.selections.items()
        }

    @functools.cached_property
    def completed(self) -> Problem:
        """The model with every guess filled in, its statistics, and the reader of rows.

        Under even class probabilities: guesses of likelihoods depend on none.
        """
        origin = self.schema.origins()
        blocks = {
            name: part.of_indicators(self.schema.variables(name)).shifted(-origin[name])
            for name, part in self.likelihoods.items()
        }
        completed_by = self.statistics if self.unlabelled is None else self.unlabelled.guesses
        if self.statistics.groups:
            # rows carry the codes of their groups
            groups = {self.group_levels.index(g): s for g, s in completed_by.groups.items()}
            completed_by = dataclasses.replace(completed_by, groups=groups)
        transforms = self.schema.power_transforms()
        problem = Problem.of(even_classes(len(self.classes)), blocks, completed_by, transforms)
        if self.unlabelled is None:
            return problem
        return problem.given(problem.reader.take(self.statistics))

    def problem(self, prior: Spec, *, frequencies: bool = False) -> Problem:
        """Return the completed model under a class prior.

        Args:
            prior: of the classes.
            frequencies: whether an open prior of the classes is their frequencies.
        """
        classes = class_prior(prior, self.classes, self.statistics.count, frequencies=frequencies)
        empirical = isinstance(prior, str) and prior == "empirical"
        return self.completed.with_classes(classes, empirical=empirical)

    @property
    def group_levels(self) -> tuple:
        """The known groups, in the order of their codes; none if rows have no groups."""
        return self.schema.blocks[GROUPS][0].levels if GROUPS in self.schema.blocks else ()

    def column_positions(self) -> dict[Name, tuple[str, int]]:
        """Return the encoded position of each column, or indicator, in the order of the table."""
        found: dict[Name, dict[Name, tuple[str, int]]] = {}
        for block, columns in self.schema.blocks.items():
            for j, column in enumerate(columns):
                if block != GROUPS and column.kind != MISSING:
                    found.setdefault(column.reads, {})[column.name] = block, j
        places = (found.get(name, {}) for name in self.schema.names)
        return {name: place for some in places for name, place in some.items()}

    def pattern_positions(self) -> dict[Name, tuple[Reading, tuple[str, int]]]:
        """Return the columns of the missing pattern, by source, with their encoded positions."""
        return {
            column.reads: (column, (block, j))
            for block in self.pattern_blocks()
            for j, column in enumerate(self.schema.blocks[block])
        }

    def pattern_blocks(self) -> list[str]:
        """Return the blocks that read the missing pattern."""
        return [name for name, part in self.schema.blocks.items() if part[0].kind == MISSING]

    def columns(self, reader: Reader, block: str) -> list[Name]:
        """Return the names of the informative columns of a block."""
        columns = self.schema.blocks[block]
        positions = reader.selections[block].positions("feature", len(columns))
        return [columns[j].name for j in positions.tolist()]

    def level_names(self, reader: Reader, block: str) -> list[str]:
        """Return "column=level" for the informative levels of a block; none of other blocks."""
        columns = self.schema.blocks[block]
        names = [f"{column.name}={level}" for column in columns for level in column.levels]
        return [names[i] for i in reader.selections[block].positions("level", len(names))]

    def uninformative_columns(self, reader: Reader) -> list[list[Name]]:
        """Return the columns that cannot tell classes apart, of each block, to warn of them."""
        names = []
        for block, likelihood in self.likelihoods.items():
            columns, read = self.schema.blocks[block], block in reader.selections
            if columns[0].kind != MISSING and (likelihood.warns_uninformative or not read):
                informative = set(self.columns(reader, block)) if read else set()
                # a level that tells nothing has others beside it, and one level is no surprise
                asked = [c for c in columns if not (read and c.source_levels)]
                names.append([c.name for c in asked if c.name not in informative])
        return names

    def restored(self, reader: Reader, simulated: dict, n: int) -> dict[str, Traceable]:
        """Return simulated rows in encoded form, with uninformative columns missing."""
        out = {}
        for name, likelihood in self.likelihoods.items():
            shape = n, len(self.schema.blocks[name])
            if name in simulated:
                out[name] = reader.selections[name].restored(simulated[name], shape[1])
            elif self.schema.container in SPARSE:
                out[name] = csr_array(shape)
            else:
                out[name] = np.full(shape, -1 if likelihood.kind == "levels" else np.nan)
        if GROUPS in self.schema.blocks:  # a new one
            out[GROUPS] = np.full((n, 1), -1)
        return out

    @contextlib.contextmanager
    def naming_columns(self, problem: Problem) -> Generator[None]:
        """Raise the error about a numerically singular matrix with the columns of joint blocks."""
        try:
            yield
        except np.linalg.LinAlgError as error:
            joint = [name for name, part in problem.model.blocks.items() if part.joint]
            columns = [name for block in joint for name in self.columns(problem.reader, block)]
            if not columns:
                raise
            raise InvalidData(
                "the covariance matrix of the columns {columns:listed} is numerically singular: "
                "the columns are collinear, or weights differ too much.",
                "Leave out a column that repeats others, or pass weights of similar size.",
                columns=columns,
            ) from error
