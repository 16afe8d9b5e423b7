"""Removal of rows from a fit: their statistics are subtracted from those of the classifier."""

import dataclasses
import itertools
from collections.abc import Hashable, Mapping, Sequence

import numpy as np

from bayesgen.errors import BayesgenError, UnsupportedOperation, Words
from bayesgen.errors.data import too_few_classes
from bayesgen.errors.dialect import KEPT
from bayesgen.errors.operations import never_fitted
from bayesgen.estimators import fit
from bayesgen.estimators.state import TrainingState
from bayesgen.estimators.training_rows import TrainingRows
from bayesgen.likelihoods import Statistics
from bayesgen.likelihoods.remainder import ROUNDING, Remainder, Sum, is_whole, judged, rests
from bayesgen.model import ModelStatistics
from bayesgen.schema import GROUPS, Schema
from bayesgen.schema.readings import indicators
from bayesgen.table import Name, Table

ERROR = 1e-9
"""Relative rounding error above which rows are not forgotten: of any sum that is left."""


def remaining(state: TrainingState, rows: TrainingRows) -> TrainingState:
    """Return the training state without rows, which are subtracted from their groups too.

    Raises:
        UnsupportedOperation: the rows cannot have been in the fit, or too few digits are left.
        InvalidData: fewer than two classes have rows left.
    """
    if rows.unlabelled is not None:
        raise UnsupportedOperation(
            "y has no label in {count:rows}, and only labeled rows can be subtracted.",
            "Leave these out: keep = pandas.notna(y); forget({kept}).",
            kept=KEPT,
            count=len(rows.unlabelled.codes),
        )
    strange = np.setdiff1d(rows.classes, state.classes)
    if len(strange):
        raise UnsupportedOperation(
            "y has the {labels:named class}, which the fit did not have; its classes are "
            "{existing:listed}.",
            "Pass rows of the fit.",
            labels=strange.tolist(),
            existing=state.classes.tolist(),
        )
    _require_levels(state.schema, rows.table)
    learned = fit.learn(rows, state.schema, state.likelihoods, state.classes, unseen="error")
    exact = is_whole(rows.weight) and is_whole(state.statistics.count)
    left = _without(state, learned.statistics, exact=exact, most=ERROR)
    groups = dict(state.statistics.groups)
    if gone := [group for group in learned.statistics.groups if group not in groups]:
        raise _strange_levels(state.schema.blocks[GROUPS][0].name, gone, list(groups))
    for group, part in learned.statistics.groups.items():
        of_group = dataclasses.replace(state, statistics=groups.pop(group))
        # of rounding in a group what matters is its share of what all groups and the prior add
        rest = _without(of_group, part, exact=exact, most=np.inf, group=group)
        if rest.count.sum() > ROUNDING * of_group.statistics.count.sum():
            groups[group] = rest
    stay = np.flatnonzero((state.statistics.count == 0) | (left.count > 0))
    if len(stay) < 2 or not left.count.any():
        raise too_few_left(state.classes[left.count > 0].tolist())
    left = dataclasses.replace(left, groups=groups).only_classes(stay)
    return _without_levels(dataclasses.replace(state, classes=state.classes[stay], statistics=left))


def too_few_left(classes: list) -> BayesgenError:
    """Return the error about rows of fewer than two classes that would remain."""
    return too_few_classes(
        classes, where="what would remain", cure="Leave rows of another class in the fit."
    )


def require_among(state: TrainingState, rows: TrainingRows) -> None:
    """Reject rows that cannot have been in the fit, judged by their statistics.

    Raises:
        UnsupportedOperation: with column and class.
    """
    learned = fit.learn(rows, state.schema, state.likelihoods, state.classes, unseen="missing")
    _without(state, learned.statistics, exact=False, most=np.inf)


def _without(
    state: TrainingState,
    part: ModelStatistics,
    *,
    exact: bool,
    most: float,
    group: Hashable | None = None,
) -> ModelStatistics:
    """Return the statistics of a state without rows that must be among them; see `remaining`.

    Args:
        state: with these rows.
        part: their statistics.
        exact: whether all weights are whole numbers.
        most: relative rounding error of what is left that is accepted.
        group: whose statistics they are; None: those of all rows.
    """
    whole = state.statistics
    had, took = whole.count[:, None], part.count[:, None]
    (rest,) = rests(had[None], took[None], exact=exact)
    foreign, error = judged(*([Sum(n, n)] for n in (had, took, rest)), exact=exact)
    count, foreign, error = rest[:, 0], foreign[:, 0], error[:, 0]
    for k in np.flatnonzero(foreign | (error > most)):
        label = state.classes[k : k + 1].tolist()[0]
        if foreign[k]:
            raise UnsupportedOperation(
                "class {label!r} has {found:g} rows here{where} (sum of weights), but the fit had "
                "{fitted:g}.",
                "Pass rows of the fit, each once and with the weight it had there.",
                label=label,
                where=Words("" if group is None else f" of group {group!r}"),
                found=float(part.count[k]),
                fitted=float(whole.count[k]),
            )
        raise UnsupportedOperation(
            "rounding error would dominate the weight of class {label!r}, whose rows have "
            "weights that are not whole numbers.",
            "Fit the remaining rows: clf.fit(X[rest], y[rest]).",
            label=label,
        )
    gone, blocks = (whole.count > 0) & (count == 0), {}
    for name, before in whole.blocks.items():
        remainder = before.without(part.blocks[name], exact=exact)
        indicators = np.flatnonzero(np.array(state.schema.variables(name)) >= 0)
        if len(indicators):
            remainder = _whole(remainder, indicators)
        _require_part(state, name, remainder, most)
        if _left(before, part.blocks[name], gone):
            columns = [column.name for column in state.schema.blocks[name]]
            raise never_fitted(columns, state.classes[gone].tolist()[0])
        blocks[name] = remainder.statistics
    return ModelStatistics(count, blocks)


def require_statistics(learned: Mapping[str, object]) -> None:
    """Reject classifiers that learned more of their rows than statistics.

    learned: the arguments that were, and their values.
    """
    for name, value in learned.items():
        raise UnsupportedOperation(
            "forget subtracts statistics, but {name}={value!r} is learned from the rows "
            "themselves.",
            "Fit the remaining rows: clf.fit(X[rest], y[rest]).",
            name=name,
            value=value,
        )


def _require_levels(schema: Schema, table: Table) -> None:
    """Reject levels of which the fit had no row."""
    later = schema.merge(table)
    for name, columns in schema.blocks.items():
        if schema.variables(name):
            for column in later.blocks[name]:
                had = next(c.source_levels for c in columns if c.reads == column.reads)
                if new := column.source_levels[len(had) :]:
                    raise _strange_levels(column.reads, new, had)
        if any(later.n_levels(name)):
            for column, grown in zip(columns, later.blocks[name], strict=True):
                if new := grown.levels[len(column.levels) :]:
                    raise _strange_levels(column.name, new, column.levels)


def _strange_levels(column: Name, new: Sequence, existing: Sequence) -> UnsupportedOperation:
    """Return the error that no row of the fit had some levels of a column."""
    return UnsupportedOperation(
        "column {column!r} has the {levels:named level}, which the fit did not have; it had "
        "{existing:listed 10}.",
        "Pass rows of the fit.",
        column=column,
        levels=new,
        existing=existing,
    )


def _require_part(state: TrainingState, name: str, found: Remainder, most: float) -> None:
    """Reject rows that cannot have been in a block, or leave too few digits.

    Raises:
        UnsupportedOperation: with column and class.
    """
    for wrong, make in (
        (found.foreign, never_fitted),
        (found.error > most, _too_few_digits),
    ):
        if not wrong.any():
            continue
        k, position = np.argwhere(wrong)[0]
        columns = state.schema.blocks[name]
        names = [column.name for column in columns]
        if wrong.shape[1] == sum(state.schema.n_levels(name)):
            names = [column.name for column in columns for _ in column.levels]
        whole = wrong.shape[1] != len(names) or wrong[k].all()
        raise make(
            list(dict.fromkeys(names)) if whole else [names[position]],
            state.classes[k : k + 1].tolist()[0],
        )


def _left(whole: Statistics, part: Statistics, gone: np.ndarray) -> bool:
    """Return whether classes that are left without rows have something left in a block."""
    pairs = zip(whole.sums(), part.sums(), strict=True)
    had, rest = zip(
        *((a.gross[gone], np.abs(a.gross - b.gross)[gone]) for a, b in pairs), strict=True
    )
    return any((r > ROUNDING * h.max(initial=0.0)).any() for h, r in zip(had, rest, strict=True))


def _whole(found: Remainder, indicators: np.ndarray) -> Remainder:
    """Return what is left where indicators that no longer vary in a class are known exactly."""
    statistics = found.statistics.with_whole_indicators(indicators)
    count, sums = statistics.by_class_and_column()
    share = sums[:, indicators] / np.maximum(count[:, indicators], np.finfo(float).tiny)
    varies = np.abs(share - np.rint(share)) > ROUNDING
    error = found.error.copy()
    error[:, indicators] = np.where(varies, error[:, indicators], 0.0)
    return dataclasses.replace(found, statistics=statistics, error=error)


def _too_few_digits(columns: Sequence, label: object) -> UnsupportedOperation:
    return UnsupportedOperation(
        "rounding error would dominate the {columns:named column} in class {label!r}: compared "
        "with the rows to forget, the remaining ones vary too little or weigh too little.",
        "Fit the remaining rows: clf.fit(X[rest], y[rest]).",
        columns=columns,
        label=label,
    )


def _without_levels(state: TrainingState) -> TrainingState:
    """Return the state without levels that were not declared and have no rows left.

    Indicators are of levels with rows, declared or not.
    """
    state = state.under(_indicating_rows(state), state.classes)
    schema, kept_levels = state.schema, {}
    changed = dict(schema.blocks)
    for name, part in state.statistics.blocks.items():
        weight = part.per_level()
        if weight is None:
            continue
        columns = schema.blocks[name]
        declared = np.repeat([c.declared for c in columns], [len(c.levels) for c in columns])
        stay = declared | (weight > 0)
        if stay.all():
            continue
        kept_levels[name] = np.flatnonzero(stay)
        ends = np.cumsum([len(column.levels) for column in columns])
        pairs = zip(columns, np.split(stay, ends[:-1]), strict=True)
        changed[name] = tuple(
            c.with_levels(tuple(itertools.compress(c.levels, kept))) for c, kept in pairs
        )
    statistics = state.statistics.each_block(
        lambda name, part: part.take("level", kept_levels[name]) if name in kept_levels else part
    )
    schema = dataclasses.replace(schema, blocks=changed)
    return dataclasses.replace(state, schema=schema, statistics=statistics)


def _indicating_rows(state: TrainingState) -> Schema:
    """Return the schema whose indicators are of the levels that have rows."""
    blocks = dict(state.schema.blocks)
    for name, columns in blocks.items():
        if not state.schema.variables(name):
            continue
        count, sums = state.statistics.blocks[name].by_class_and_column()
        blocks[name] = indicators.with_rows(
            columns, count.sum(axis=0), sums.sum(axis=0), least=ROUNDING
        )
    return dataclasses.replace(state.schema, blocks=blocks)
