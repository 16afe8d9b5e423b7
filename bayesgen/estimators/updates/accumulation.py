"""Rows passed in several calls: the training state after each call, and the rows that are kept."""

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bayesgen import arguments
from bayesgen.errors.arguments import out_of_range
from bayesgen.errors.data import no_target
from bayesgen.estimators import training, unlabelled_fit, validation
from bayesgen.estimators.learned_arguments import learned_from_rows, require_no_rows
from bayesgen.estimators.training import TrainingState
from bayesgen.estimators.training_rows import TrainingRows
from bayesgen.estimators.updates.merged_state import united_classes
from bayesgen.table import check_declared, check_mark

Fitted = Any
"""A classifier, whose module imports this one."""


def training_rows(
    clf: Fitted,
    X: object,
    y: object,
    sample_weight: object,
    *,
    reset: bool,
    classes: ArrayLike | None = None,
) -> TrainingRows:
    """Return the rows of one call, read and validated.

    Args:
        clf: that reads them.
        X: rows.
        y: their labels.
        sample_weight: their weights.
        reset: whether these are the first rows of a fit.
        classes: declared ones.
    """
    if y is None:
        raise no_target()
    marks = unlabelled_fit.checked_weight(clf.unlabelled) is not None
    stated = [] if reset else clf.classes_.tolist()
    stated += [] if classes is None else np.asarray(classes).tolist()
    table = clf._read(X, reset=reset)
    rows = validation.training_rows(table, X, y, sample_weight, classes=stated, marks=marks)
    return clf._own_rows(rows, reset=reset)


def accumulated(
    clf: Fitted, rows: TrainingRows, classes: ArrayLike | None = None
) -> tuple[TrainingState, int, tuple[TrainingRows, ...]]:
    """Return the training state after more rows, the seed, and the rows to keep.

    classes: declared for these rows; None: those of the rows.
    """
    these = rows.classes if classes is None else np.unique(classes)
    asks = learned_from_rows(clf, (*clf._training, rows))
    if not hasattr(clf, "state_"):
        check_declared(rows.classes, these)
        return (
            clf._new_state(rows, these),
            training.drawn_seed(clf.random_state, clf.inference),
            (rows,) if asks else (),
        )
    if not clf._training:
        require_no_rows(asks, vars(clf).get("_posterior"))
    earlier = (_with_cells(clf, one) for one in clf._training) if asks else ()
    seen = (*earlier, rows)
    every = united_classes(clf.state_.classes, these)
    if clf.unlabelled is not None:
        check_mark(clf.state_.classes, every)
    name = type(clf).__name__
    state = training.accumulated(clf.state_, seen, every, estimator=name, **clf._reading())
    return state, clf._seed, seen if asks else ()


def _with_cells(clf: Fitted, rows: TrainingRows) -> TrainingRows:
    """Return rows with their cells, read again where no argument had asked for them so far."""
    if rows.has_cells:
        return rows
    return clf._training_rows(rows.X, rows.y, rows.sample_weight, reset=False)


def with_its_rows(clf: Fitted) -> Fitted:
    """Return a copy that includes the rows kept by a classifier, which ordinary copies lack.

    Fitting sets attributes anew and changes none in place.
    """
    other = object.__new__(type(clf))
    vars(other).update(vars(clf))
    return other


def discounted(clf: Fitted, discount: object) -> Fitted:
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
