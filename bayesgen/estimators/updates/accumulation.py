"""Rows passed in several calls: the training state after each call, and the rows that are kept."""

import dataclasses
import functools
import operator
from collections.abc import Mapping, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike

from bayesgen import arguments
from bayesgen.errors import UnsupportedOperation
from bayesgen.errors.arguments import out_of_range
from bayesgen.errors.operations import ALL_ROWS
from bayesgen.estimators.estimator import Estimator
from bayesgen.estimators.likelihood_checks import check_sparse
from bayesgen.estimators.training import (
    TrainingState,
    drawn_seed,
    learn,
    with_power_transforms,
)
from bayesgen.estimators.training_rows import TrainingRows
from bayesgen.estimators.unlabelled_fit import LEARN
from bayesgen.estimators.updates.merged_state import united_classes
from bayesgen.table import SparseTable, check_declared, check_mark

E = TypeVar("E", bound=Estimator)


def accumulated(
    clf: Estimator, rows: TrainingRows, classes: ArrayLike | None = None
) -> tuple[TrainingState, int, tuple[TrainingRows, ...]]:
    """Return the training state after more rows, the seed, and the rows to keep.

    classes: declared for these rows; None: those of the rows.
    """
    these = rows.classes if classes is None else np.unique(classes)
    asks = clf._learned_from((*clf._training, rows))
    if not hasattr(clf, "state_"):
        check_declared(rows.classes, these)
        return (
            clf._new_state(rows, these),
            drawn_seed(clf.random_state, clf.inference),
            (rows,) if asks else (),
        )
    if not clf._training:
        require_no_rows(asks, had_unlabelled=clf._had_unlabelled())
    earlier = (_with_cells(clf, one) for one in clf._training) if asks else ()
    seen = (*earlier, rows)
    every = united_classes(clf.state_.classes, these)
    if clf.unlabelled is not None:
        check_mark(clf.state_.classes, every)
    check_declared(rows.classes, every)
    return _state_after(clf, seen, every), clf._seed, seen if asks else ()


def _state_after(
    clf: Estimator, seen: Sequence[TrainingRows], classes: np.ndarray
) -> TrainingState:
    """Return the state after the last rows seen.

    Power transforms and the edges of bins are learned from all of them.
    """
    rows, likelihoods, unseen = seen[-1], clf.state_.likelihoods, clf.unseen
    if isinstance(rows.table, SparseTable):
        check_sparse(likelihoods)
    schema = clf.state_.schema.merge(rows.table, estimator=type(clf).__name__)
    if clf.bins is not None:
        schema = schema.with_bins([(part.table, part.weight) for part in seen], clf.bins)
    if clf.power_transform:
        schema = with_power_transforms(schema, likelihoods, seen, classes, unseen=unseen)
    if clf.bins is None and not clf.power_transform:
        return clf.state_ + learn(rows, schema, likelihoods, classes, unseen=unseen)
    states = (learn(part, schema, likelihoods, classes, unseen=unseen) for part in seen)
    return functools.reduce(operator.add, states)


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


def _with_cells(clf: Estimator, rows: TrainingRows) -> TrainingRows:
    """Return rows with their cells, read again where no argument had asked for them so far."""
    if rows.has_cells:
        return rows
    return clf._training_rows(rows.X, rows.y, rows.sample_weight, reset=False)


def with_its_rows(clf: E) -> E:
    """Return a copy that includes the rows kept by a classifier, which ordinary copies lack.

    Fitting sets attributes anew and changes none in place.
    """
    other = object.__new__(type(clf))
    vars(other).update(vars(clf))
    return other


def discounted(clf: E, discount: object) -> E:
    """Return a copy in which the weight of every row so far is multiplied by a number.

    Raises:
        InvalidArgument: the number is not above 0, or above 1.
    """
    if not (arguments.is_number(discount) and 0 < discount <= 1):
        allowed, cure = "a number above 0, up to 1", "Pass discount=1.0."
        raise out_of_range("discount", discount, allowed, cure)
    other = with_its_rows(clf)
    if discount < 1:
        other._training = tuple(rows.times(discount) for rows in clf._training)
        if hasattr(clf, "state_"):
            statistics = clf.state_.statistics.times(discount)
            other.state_ = dataclasses.replace(clf.state_, statistics=statistics)
    return other
