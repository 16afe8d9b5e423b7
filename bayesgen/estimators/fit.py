"""The fit: rows to a training state, its problem, and inference to a fitted model."""

import copy
import dataclasses
import functools
import operator
from collections.abc import Hashable, Iterator, Sequence
from typing import Any

import numpy as np

from bayesgen import arguments
from bayesgen.classes import class_prior, is_stated, prior_of_learning, require_possible
from bayesgen.errors import (
    BayesgenWarning,
    Cure,
    DegenerateEstimate,
    InvalidData,
    NotConverged,
    SuspiciousColumn,
    warn,
)
from bayesgen.errors.arguments import not_one_of
from bayesgen.estimators.column_blocks import Blocks
from bayesgen.estimators.fitted import Fitted
from bayesgen.estimators.likelihood_checks import check_cells, check_encoded, check_sparse
from bayesgen.estimators.state import TrainingState
from bayesgen.estimators.training_rows import TrainingRows, joined, together
from bayesgen.inference import MLE, NUTS, Components, Method, Posterior, choose
from bayesgen.inference.components import take_rows
from bayesgen.likelihoods import Likelihood, Repair
from bayesgen.membership import Entries
from bayesgen.model import ModelStatistics, log_abs_det_jacobian, model_statistics
from bayesgen.schema import GROUPS, MISSING, BlockSpec, IndicatorsOf, PatternOf, Schema
from bayesgen.schema.readings import Numbers
from bayesgen.schema.readings.power_transform import learned as learned_transform
from bayesgen.schema.readings.power_transform import untransformed, with_power
from bayesgen.table import Name, Table
from bayesgen.typing import Membership, Traceable, Weights

LEARN_ROWS = 1 << 17
"""Rows encoded at once: with 20 columns 21 MB, which the allocator hands out again and again
instead of asking the system for fresh pages (.4 s of .8 s for 1e6 rows, measured)."""

MANY_COLUMNS = 20
"""Uninformative columns above which one warning names them all."""


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
                "Name another column, or cut it into groups: {column:cut 5}.",
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


# -- a training state to a fitted model ------------------------------------------------------------


def inferred(fitted: Fitted, inference: str | Method, seed: int) -> Fitted:
    """Return a model with the posterior of its state; warns of doubtful results.

    Class probabilities that are stated replace those of the rows, as `with_class_prior` does: draws
    of other parameters are the same under any of them.

    Args:
        fitted: the model, without a posterior.
        inference: the inference= argument.
        seed: of simulated draws.
    """
    state, prior = fitted.state, fitted.class_prior
    frequencies = isinstance(inference, MLE) or inference == "mle"
    if not is_stated(prior):
        problem, stated = state.problem(prior, frequencies=frequencies), None
    else:
        count = state.statistics.count
        stated = class_prior(prior, state.classes, count, frequencies=frequencies)
        problem = state.problem(prior_of_learning(prior), frequencies=frequencies)
        require_possible(prior, state.classes)
    method = choose(inference, problem)
    with state.naming_columns(problem):
        components = method.infer(problem, seed)
    warn_of(state, components)
    if stated is not None:
        components = components.with_classes(stated)
    return dataclasses.replace(fitted, inferred=Posterior(components))


def warn_of(state: TrainingState, components: Components) -> None:
    """Warn about doubtful results of inference."""
    for warning in _warnings(state, components):
        warn(warning)


def _warnings(state: TrainingState, components: Components) -> Iterator[BayesgenWarning]:
    for names in state.uninformative_columns(components.reader):
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
                        "Leave it out, {column:without}, or state a prior variance.",
                        "Leave it out: --drop {column:option}.",
                    ),
                    column=name,
                )
    for name, finding in components.report.findings:
        yield _warning(finding, state.columns(components.reader, name), state.classes)
    if not components.report.converged:
        yield NotConverged("{outcome}", outcome=components.report.outcome)


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
