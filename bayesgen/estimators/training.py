"""Training: rows to statistics, and statistics to a posterior."""

import contextlib
import copy
import dataclasses
import functools
import operator
from collections.abc import Generator, Hashable, Iterator, Sequence
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from bayesgen import arguments
from bayesgen.classes import Spec, class_prior, is_stated, prior_of_learning, require_possible
from bayesgen.errors import (
    BayesgenWarning,
    Cure,
    DegenerateEstimate,
    InvalidArgument,
    InvalidData,
    NoAttribute,
    NotConverged,
    SuspiciousColumn,
    UnsupportedOperation,
    warn,
    words_of,
)
from bayesgen.errors.arguments import not_one_of
from bayesgen.errors.operations import COMPARE
from bayesgen.estimators.column_blocks import Blocks
from bayesgen.estimators.judged_rows import ROWS_JUDGED, JudgedRows, every_row, judged_rows
from bayesgen.estimators.likelihood_checks import check_cells, check_encoded, check_sparse
from bayesgen.estimators.training_rows import (
    TrainingRows,
    copies,
    joined,
    together,
)
from bayesgen.inference import (
    MLE,
    NUTS,
    Components,
    Method,
    Pooled,
    Posterior,
    Tempered,
    any_missing,
    choose,
)
from bayesgen.inference.average import averaged_scores
from bayesgen.inference.components import take_rows
from bayesgen.inference.leave_one_out import LabelledRows, leave_one_out
from bayesgen.inference.pooling import column_priors, learned_pool, pattern_priors
from bayesgen.inference.powers import learned_powers, stated_powers
from bayesgen.inference.scores import Scores
from bayesgen.inference.unlabelled_rows import ExpectedLabels
from bayesgen.likelihoods import Likelihood, Repair, Statistics
from bayesgen.membership import Entries
from bayesgen.model import (
    ModelStatistics,
    Reader,
    log_abs_det_jacobian,
    model_statistics,
)
from bayesgen.problem import Problem
from bayesgen.schema import (
    GROUPS,
    MISSING,
    BlockSpec,
    IndicatorsOf,
    PatternOf,
    Reading,
    Schema,
)
from bayesgen.schema.readings import Numbers
from bayesgen.schema.readings.power_transform import learned as learned_transform
from bayesgen.schema.readings.power_transform import untransformed, with_power
from bayesgen.table import (
    SPARSE,
    Name,
    Table,
)
from bayesgen.typing import Membership, Traceable, Weights

LEARN_ROWS = 1 << 17
"""Rows encoded at once: with 20 columns 21 MB, which the allocator hands out again and again
instead of asking the system for fresh pages (.4 s of .8 s for 1e6 rows, measured)."""

MANY_COLUMNS = 20
"""Uninformative columns above which one warning names them all."""

Temper = str | float | int | None
"""None: the model as it is; a power above 0; "learn"; or "columns", a power for each block."""


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

    def problem(self, prior: Spec, *, frequencies: bool = False) -> Problem:
        """Return the model with every guess filled in, its statistics, and the reader of rows.

        Args:
            prior: of the classes.
            frequencies: whether an open prior of the classes is their frequencies.
        """
        origin = self.schema.origins()
        blocks = {
            name: part.of_indicators(self.schema.variables(name)).shifted(-origin[name])
            for name, part in self.likelihoods.items()
        }
        classes = class_prior(prior, self.classes, self.statistics.count, frequencies=frequencies)
        completed_by = self.statistics if self.unlabelled is None else self.unlabelled.guesses
        if self.statistics.groups:
            # rows carry the codes of their groups
            groups = {self.group_levels.index(g): s for g, s in completed_by.groups.items()}
            completed_by = dataclasses.replace(completed_by, groups=groups)
        transforms = self.schema.power_transforms()
        empirical = isinstance(prior, str) and prior == "empirical"
        problem = Problem.of(classes, blocks, completed_by, transforms, empirical=empirical)
        if self.unlabelled is None:
            return problem
        return problem.given(problem.reader.take(self.statistics))

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

    def labelled(
        self, seen: Sequence[TrainingRows], unseen: str, judged: JudgedRows | None = None
    ) -> LabelledRows:
        """Return the labeled rows of the fit, each to be left out with its copies.

        Args:
            seen: the rows of each call of fit or partial_fit.
            unseen: the argument of the classifier.
            judged: which of them are left out, and what are copies; by default all, and rows that
                are equal in the columns of the model.
        """
        encoded = joined([rows.labelled.encode(self.schema, unseen) for rows in seen])
        y, weight = together(seen, self.classes)
        equal = copies(seen, self.classes) if judged is None else judged.copies
        left_out = None if judged is None else judged.rows
        return LabelledRows(encoded, y, weight, equal.away, left_out, equal.content)

    def leave_one_out(self, prior: Spec, rows: LabelledRows) -> Scores:
        """Return the scores of rows, each given the others (see `inference.leave_one_out`).

        Args:
            prior: of the classes.
            rows: of the fit.
        """
        problem = self.problem(prior)
        with self.naming_columns(problem):
            if self.unlabelled is None:
                return leave_one_out(problem, rows)
            scores = [leave_one_out(problem.plus(part), rows) for part in self.unlabelled.added]
            return averaged_scores(scores, self.unlabelled.shares)

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

    def infer(self, inference: str | Method, prior: Spec, seed: int) -> Components:
        """Return the components of the posterior, with warnings about doubtful results.

        Class probabilities that are stated replace those of the rows, as `with_class_prior` does:
        draws of other parameters are the same under any of them.

        Args:
            inference: the inference= argument.
            prior: of the classes.
            seed: of simulated draws.
        """
        frequencies = isinstance(inference, MLE) or inference == "mle"
        classes = class_prior(prior, self.classes, self.statistics.count, frequencies=frequencies)
        problem = self.problem(prior_of_learning(prior), frequencies=frequencies)
        require_possible(prior, self.classes)
        method = choose(inference, problem)
        with self.naming_columns(problem):
            components = method.infer(problem, seed)
        self.warn_of(components)
        return components.with_classes(classes) if is_stated(prior) else components

    def warn_of(self, components: Components) -> None:
        """Warn about doubtful results."""
        for warning in self._warnings(components):
            warn(warning)

    def _warnings(self, components: Components) -> Iterator[BayesgenWarning]:
        for names in self.uninformative_columns(components.reader):
            if len(names) > MANY_COLUMNS:
                yield SuspiciousColumn(
                    "{columns:len} columns ({columns:listed}) are constant or never observed, "
                    "so they cannot distinguish the classes and are ignored.",
                    Cure(
                        "Leave them out, or state prior guesses for them.",
                        "Leave them out by --drop.",
                    ),
                    columns=names,
                )
            else:
                for name in names:
                    yield SuspiciousColumn(
                        "column {column!r} is constant or never observed, so it cannot distinguish "
                        "the classes and is ignored.",
                        Cure(
                            "Leave it out, X.drop(columns={column!r}), or state a prior variance.",
                            "Leave it out: --drop {column:option}.",
                        ),
                        column=name,
                    )
        for name, finding in components.report.findings:
            yield _warning(finding, self.columns(components.reader, name), self.classes)
        if not components.report.converged:
            yield NotConverged("{outcome}", outcome=components.report.outcome)

    def log_evidence(self, prior: Spec, inference: str) -> float:
        """Return log p(rows, labels), parameters integrated out.

        Raises:
            NoAttribute: the fit was not exact, or a prior or likelihood has no evidence.
        """
        try:
            problem = self.problem(prior)
        except InvalidArgument as error:
            raise NoAttribute("log_evidence_: {reason}", reason=words_of(error)) from error
        problem.model.require_evidence()
        if self.statistics.groups:
            raise NoAttribute(
                "log_evidence_ rests on one prior for all rows, and the guesses of groups come "
                "from the rows of other groups.",
                f"Instead, {COMPARE}",
            )
        if self.unlabelled is not None:
            raise NoAttribute(
                "log_evidence_ is a closed form, and there is none where rows have no label: "
                "it would be a sum over all their possible labels.",
                f"Instead, {COMPARE}",
            )
        if any_missing(problem.model, problem.statistics):
            raise NoAttribute(
                "log_evidence_ is a closed form, and there is none where fitted rows have "
                "missing values in a joint block.",
                f"Instead, {COMPARE}",
            )
        if inference != "exact":
            kept = "draws them, which does not give the integral"
            if inference in ("mle", "map"):
                kept = "keeps a single point"
            raise NoAttribute(
                "log_evidence_ is log p(rows, labels) with parameters integrated out, and "
                "inference={inference!r} {kept}.",
                "Fit with inference='exact'.",
                inference=inference,
                kept=kept,
            )
        return problem.model.log_evidence(problem.statistics) + self.log_abs_det_jacobian

    def tempered(
        self,
        posterior: Posterior,
        temper: str | float | None,
        prior: Spec,
        seen: Sequence[TrainingRows],
        *,
        unseen: str,
    ) -> Posterior:
        """Return the posterior tempered as `temper` specifies; None: the missing pattern alone.

        Powers are learned under the class frequencies of the rows, whatever the prior states.

        Raises:
            InvalidArgument: neither None, "learn", "columns" nor a number above 0.
            UnsupportedOperation: a power is learned where the posterior is not a closed form.
        """
        reader, components = posterior.reader, posterior.components
        if not isinstance(temper, str | None):
            return Posterior(components, Tempered(*stated_powers(temper)))
        if temper not in ("learn", "columns", None):
            raise not_one_of("temper", temper, ["learn", "columns", None, 0.5])
        pattern = [block for block in self.pattern_blocks() if block in reader.selections]
        if temper is None and not pattern:
            return posterior
        if temper is None:
            components.require_leave_one_out("missing='learn'", "Pass missing='informative'")
        else:
            components.require_leave_one_out(f"temper={temper!r}", "State a power: temper=0.5")
        if temper is None:
            judged = judged_rows(seen, self.classes, len(self.schema.used()))
        else:
            judged = every_row(seen, self.classes)
        rows = self.labelled(seen, unseen, judged)
        details = posterior.report.details | {ROWS_JUDGED: float(len(judged.rows))}
        posterior = posterior.with_report(dataclasses.replace(posterior.report, details=details))
        scores = self.leave_one_out(prior_of_learning(prior), rows)
        y, weight = rows.left_out.y, judged.weight
        if temper is None:
            return self.with_pattern_power(posterior, scores, y, judged)
        if temper == "learn":
            powers, share = learned_powers(scores.log_classes, scores.joint, y, weight)
            return dataclasses.replace(posterior, readout=Tempered(powers, share))
        priors = column_priors(scores.parts)
        pool, _ = learned_pool(scores.parts, scores.log_classes, y, weight, judged.lost, **priors)
        return dataclasses.replace(posterior, readout=Pooled(pool))

    def with_pattern_power(
        self, posterior: Posterior, scores: Scores, y: Membership, judged: JudgedRows
    ) -> Posterior:
        """Return the posterior, its missing pattern with a learned power if it reads one.

        Args:
            posterior: of the fit.
            scores: of rows, each given the others.
            y: classes of these rows.
            judged: these rows.
        """
        pattern = np.isin(list(posterior.reader.selections), self.pattern_blocks())
        if not pattern.any():
            return posterior
        priors = pattern_priors(pattern)
        pool, _ = learned_pool(
            scores.parts, scores.log_classes, y, judged.weight, judged.lost, **priors
        )
        return dataclasses.replace(posterior, readout=Pooled(pool))


def new_state(
    rows: TrainingRows,
    blocks: Blocks,
    classes: np.ndarray,
    *,
    power_transform: bool,
    bins: int | str | None,
    unseen: str,
    groups: Name | None = None,
) -> TrainingState:
    """Return the state of the first rows of a fit.

    Args:
        rows: that blocks read.
        blocks: name -> (likelihood, columns).
        classes: sorted, with the labels of the rows among them.
        power_transform: whether numeric columns are transformed by powers learned from the rows.
        bins: into how many bins likelihoods of levels cut numeric columns, or "auto"; None: none.
        unseen: "missing" or "error", for levels absent from the fit.
        groups: the column of groups, if there is one.
    """
    # copies, in which blocks share a likelihood as before: the caller may edit its arrays later
    likelihoods = copy.deepcopy({name: likelihood for name, (likelihood, _) in blocks.items()})
    if rows.table.is_sparse:
        check_sparse(likelihoods)
    if bins is not None and bins != "auto":
        arguments.count("bins", bins, least=2, default=8)
    specs = {
        name: BlockSpec(MISSING, names)
        if isinstance(names, PatternOf)
        else BlockSpec(
            part.kind,
            names,
            part.centred,
            binned=part.kind == "levels" and bins is not None,
            indicators=isinstance(names, IndicatorsOf),
        )
        for name, (part, names) in blocks.items()
    }
    if groups is not None:
        check_groups(rows.table, groups)
        specs[GROUPS] = BlockSpec("levels", (groups,))
    schema = Schema.learn(rows.table, specs)
    if bins is not None and not rows.table.is_sparse:
        schema = schema.with_bins([(rows.table, rows.weight)], bins)
    if power_transform not in (True, False):
        raise not_one_of("power_transform", power_transform, [True, False])
    if power_transform and not rows.table.is_sparse:
        schema = with_power_transforms(schema, likelihoods, (rows,), classes, unseen=unseen)
    return learn(rows, schema, likelihoods, classes, unseen=unseen)


def drawn_seed(random_state: object, inference: str | Method) -> int:
    """Return the seed of a fit: that of the checkpoint NUTS resumes from, or a drawn one."""
    if random_state is None and isinstance(inference, NUTS):
        kept_seed = inference.kept_seed()
        if kept_seed is not None:
            return kept_seed
    return arguments.drawn_seed(random_state)


def learn(
    rows: TrainingRows,
    schema: Schema,
    likelihoods: dict[str, Likelihood],
    classes: np.ndarray,
    *,
    unseen: str,
) -> TrainingState:
    """Return the state of the labeled rows of one table, read LEARN_ROWS at a time."""
    for name, likelihood in likelihoods.items():
        if likelihood.most_cells is not None:
            check_cells(likelihood, schema.blocks[name])
    rows, transforms = rows.labelled, schema.power_transforms()
    y, jacobian = rows.membership(classes), 0.0
    n_levels = {
        name: schema.n_levels(name) if part.kind == "levels" else ()
        for name, part in likelihoods.items()
    }
    parts = []
    # one empty chunk of a batch without labeled rows
    for start in range(0, max(len(y), 1), LEARN_ROWS):
        chunk = slice(start, start + LEARN_ROWS)
        weight = rows.weight[chunk]
        encoded = rows.encode(schema, unseen, None if len(y) <= LEARN_ROWS else chunk)
        check_encoded(encoded, schema, likelihoods, start)
        sizes = {"n_classes": len(classes), "n_levels": n_levels}
        part = model_statistics(likelihoods, encoded, y[chunk], weight, **sizes)
        if GROUPS in encoded:
            require_groups(encoded[GROUPS][:, 0], schema, start)
            part = dataclasses.replace(
                part, groups=by_group(schema, likelihoods, encoded, y[chunk], weight, **sizes)
            )
        parts.append(part)
        if transforms:
            slopes = log_abs_det_jacobian(transforms, encoded)
            jacobian += float(np.sum(weight[:, None] * slopes))
        # before the next chunk is encoded, which then takes the same memory
        del encoded
    statistics = functools.reduce(operator.add, parts)
    return TrainingState(schema, likelihoods, classes, statistics, log_abs_det_jacobian=jacobian)


def by_group(
    schema: Schema,
    likelihoods: dict[str, Likelihood],
    encoded: dict[str, Traceable],
    y: Membership,
    weight: Weights,
    **sizes: Any,
) -> dict[Hashable, ModelStatistics]:
    """Return the statistics of the rows of each group, by its level."""
    code, groups = encoded[GROUPS][:, 0], {}
    for group in np.unique(code).tolist():
        rows = np.flatnonzero(code == group)
        part = model_statistics(
            likelihoods, take_rows(encoded, rows), y[rows], weight[rows], **sizes
        )
        groups[schema.blocks[GROUPS][0].levels[group]] = part
    return groups


def require_groups(code: np.ndarray, schema: Schema, start: int) -> None:
    """Reject rows of a fit without a group; start: the number of the first row.

    Raises:
        InvalidData: names the first of them.
    """
    missing = np.flatnonzero(code < 0)
    if len(missing):
        raise InvalidData(
            "column {column!r}, which groups= names, is missing in row {row}.",
            "Give such rows a group of their own, such as 'unknown', or leave them and their "
            "labels out.",
            column=schema.blocks[GROUPS][0].name,
            row=start + int(missing[0]),
        )


def check_groups(table: Table, name: Name) -> None:
    """Reject a column of groups that has a value for nearly every row, or fractions.

    Raises:
        InvalidData: names the column.
    """
    column = table.columns[table.names.index(name)]
    if column.kind == "level":
        count = len(column.levels)
    else:
        values = np.unique(column.values[~column.missing])
        count = len(values)
        if (values != np.rint(values)).any():
            raise InvalidData(
                "column {column!r}, which groups= names, holds fractions such as {value!r}, and "
                "groups have names or whole numbers.",
                "Name another column, or cut it into groups: X[{column!r}] = "
                "pandas.cut(X[{column!r}], 5).",
                column=name,
                value=float(values[values != np.rint(values)][0]),
            )
    if 2 * count > table.n_rows:
        raise InvalidData(
            "column {column!r}, which groups= names, has {count} values in {n_rows} rows, and a "
            "group consists of rows that share a value.",
            "Name the column of a site or a batch, or leave out groups=.",
            column=name,
            count=count,
            n_rows=table.n_rows,
        )


def with_power_transforms(
    schema: Schema,
    likelihoods: dict[str, Likelihood],
    seen: Sequence[TrainingRows],
    classes: np.ndarray,
    *,
    unseen: str,
) -> Schema:
    """Return the schema with columns power-transformed by powers learned from rows.

    Powers are learned from all rows together, so they do not depend on how rows are split over
    calls. They apply to the columns of likelihoods that are equivariant under shifts.
    """
    numeric = {
        name: tuple(map(untransformed, schema.blocks[name]))
        for name, part in likelihoods.items()
        if part.kind == "numbers" and part.centred
    }
    if not numeric:
        return schema
    raw = dataclasses.replace(schema, blocks=numeric)
    seen = [rows.labelled for rows in seen]
    encoded = joined([rows.encode(raw, unseen) for rows in seen])
    entries = Entries.of(*together(seen, classes))
    # learned once for all members of a stack
    changed, known = {}, seen[0].power_transforms if len(seen) == 1 else {}
    for name, columns in numeric.items():
        for column, cells in zip(columns, encoded[name].T, strict=True):
            if not isinstance(column, Numbers):  # two values stay two values
                known[column] = None
            if column not in known:
                cells = cells[entries.row]
                known[column] = learned_transform(cells, entries.code, entries.weight)
        changed[name] = tuple(with_power(column, known[column]) for column in columns)
    return dataclasses.replace(schema, blocks={**schema.blocks, **changed})


def check_rows_of_fit(
    classes: np.ndarray, count: np.ndarray, y: Membership, weight: Weights
) -> None:
    """Reject rows that cannot be subtracted because they are not those of the fit.

    count: weight of the fitted rows of each class.
    """
    entries = Entries.of(y, weight)
    found = np.bincount(entries.code, entries.weight, minlength=len(count))
    other = np.flatnonzero(~np.isclose(found, count, rtol=1e-6, atol=0))
    if len(other):
        k = other[0]
        raise UnsupportedOperation(
            "each row of the fit is left out in turn, but class {label!r} has {found:g} rows "
            "here (sum of weights) and had {fitted:g} in the fit.",
            "Pass exactly the rows, labels and weights of the fit; for other rows use "
            "predict_log_proba.",
            label=classes[k : k + 1].tolist()[0],
            found=found[k],
            fitted=count[k],
        )


def _warning(finding: Repair, names: list, classes: np.ndarray) -> BayesgenWarning:
    label = None if finding.cls is None else classes[finding.cls]
    label = label.item() if isinstance(label, np.generic) else label
    if finding.kind == "singular":
        whose = "the shared covariance" if label is None else "the covariance of class {label!r}"
        return DegenerateEstimate(
            whose + " of the columns {columns:listed} is singular (too few rows, or columns that "
            "repeat each other); the eigenvalues of its correlations were raised to 1e-9.",
            Cure(
                "Use inference='exact', where the prior regularizes it.",
                "Use --inference exact, where the prior regularizes it.",
            ),
            columns=names,
            label=label,
        )
    block = finding.feature is None
    columns = "the columns {columns:listed}" if block else "column {columns[0]!r}"
    fields = {"columns": names if block else [names[finding.feature]], "label": label}
    if finding.kind == "floored":
        within = "any class" if label is None else "class {label!r}"
        return DegenerateEstimate(
            f"{columns} does not vary within {within}; its variance was raised to the floor.",
            Cure(
                "Use inference='exact', or set another floor by MLE(variance_floor=1e-9).",
                "Use --inference exact.",
            ),
            **fields,
        )
    drop = Cure("", "") if block else Cure(", or drop the column", ", or leave it out by --drop")
    return DegenerateEstimate(
        f"{columns} {'are' if block else 'is'} never observed in class {{label!r}}; the estimate "
        "over all classes is used.",
        Cure(
            f"Use inference='exact', where the prior fills in{drop.python}.",
            f"Use --inference exact, where the prior fills in{drop.shell}.",
        ),
        **fields,
    )
