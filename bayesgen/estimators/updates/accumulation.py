"""Rows passed in several calls: the training state after each call, and rows that are not kept."""

import functools
import operator
from collections.abc import Mapping, Sequence
from typing import TypeVar

import numpy as np

from bayesgen.errors import UnsupportedOperation
from bayesgen.errors.operations import ALL_ROWS
from bayesgen.estimators.fit import learn, with_power_transforms
from bayesgen.estimators.likelihood_checks import check_sparse
from bayesgen.estimators.state import TrainingState
from bayesgen.estimators.training_rows import TrainingRows
from bayesgen.estimators.unlabelled_fit import LEARN
from bayesgen.schema import GROUPS, Schema
from bayesgen.table import Name

E = TypeVar("E")


def state_after(
    state: TrainingState,
    seen: Sequence[TrainingRows],
    classes: np.ndarray,
    *,
    power_transform: bool,
    bins: int | str | None,
    unseen: str,
    estimator: str,
) -> TrainingState:
    """Return the state after the last rows seen.

    Power transforms and the edges of bins are learned from all of them.

    Args:
        state: before them.
        seen: rows, at least the last ones.
        classes: sorted, with those of the state and of the rows.
        power_transform: whether numeric columns are transformed by powers learned from the rows.
        bins: into how many bins numeric columns are cut; None: none.
        unseen: "missing" or "error", for levels absent from the fit.
        estimator: name of the classifier, for errors.
    """
    rows, likelihoods = seen[-1], state.likelihoods
    if rows.table.is_sparse:
        check_sparse(likelihoods)
    schema = state.schema.merge(rows.table, estimator=estimator)
    if bins is not None:
        schema = schema.with_bins([(part.table, part.weight) for part in seen], bins)
    if power_transform:
        schema = with_power_transforms(schema, likelihoods, seen, classes, unseen=unseen)
    if bins is None and not power_transform:
        return state + learn(rows, schema, likelihoods, classes, unseen=unseen)
    states = (learn(part, schema, likelihoods, classes, unseen=unseen) for part in seen)
    return functools.reduce(operator.add, states)


def require_groups(schema: Schema, groups: Name | None) -> None:
    """Raise if the argument groups= of a classifier is no longer that of its fit.

    Raises:
        UnsupportedOperation: with both.
    """
    fitted = schema.blocks[GROUPS][0].name if GROUPS in schema.blocks else None
    if groups != fitted:
        raise UnsupportedOperation(
            "groups={groups!r}, and the rows so far were read with groups={fitted!r}.",
            "Fit all rows again, or clf.set_params(groups={fitted!r}).",
            groups=groups,
            fitted=fitted,
        )


def require_no_rows(asks: Mapping[str, object], *, had_unlabelled: bool) -> None:
    """Raise if an argument is learned from the rows of earlier calls, of which none was kept.

    At a stated weight rows without a label need no earlier row that has one.

    Args:
        asks: the arguments that are learned from rows, and their values.
        had_unlabelled: whether rows of the earlier calls had no label.

    Raises:
        UnsupportedOperation: with the argument.
    """
    learned = "{}={!r}".format(*next(iter(asks.items()), ("", "")))
    if had_unlabelled or (asks and list(asks) != ["unlabelled"]):
        raise UnsupportedOperation(
            "{what} is learned from all rows, and a classifier that was copied or loaded keeps "
            "none of them.",
            ALL_ROWS,
            what="a posterior given rows without a label" if had_unlabelled else learned,
        )
    if asks.get("unlabelled") == LEARN:
        raise UnsupportedOperation(
            "unlabelled='learn' weighs unlabeled rows by how well all labeled rows are "
            "predicted, but an earlier call kept no rows, because all of them had labels.",
            "Call fit with all rows, or state a weight: unlabelled=0.1.",
        )


def with_its_rows(clf: E) -> E:
    """Return a copy that includes the rows kept by a classifier, which ordinary copies lack.

    Fitting sets attributes anew and changes none in place.
    """
    other = object.__new__(type(clf))
    vars(other).update(vars(clf))
    return other
