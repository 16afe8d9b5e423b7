"""Merging of two fitted classifiers: statistics add, and rows that were kept are read again."""

import copy
from typing import TypeVar

from sklearn.utils.validation import check_is_fitted

from bayesgen.errors import Cure, UnsupportedOperation, Words
from bayesgen.errors.operations import ALL_ROWS
from bayesgen.estimators.estimator import Estimator
from bayesgen.estimators.updates.accumulation import accumulated, with_its_rows
from bayesgen.estimators.updates.merged_state import merged, same

E = TypeVar("E", bound=Estimator)

FREE = {"likelihood", "random_state", "progress"}
"""Arguments that may differ: what a likelihood comes to is compared column by column."""


def merge(one: E, other: E) -> E:
    """Return a classifier fitted to the rows of both; see `Classifier.merge`.

    Raises:
        UnsupportedOperation: something is learned from all rows, and one of them kept none.
    """
    require_same_model(one, other)
    asks = one._learned_from((*one._training, *other._training))
    if not asks and not (one._had_unlabelled() or other._had_unlabelled()):
        return copy.copy(one)._finish_fit(merged(one.state_, other.state_), one._seed)
    if not (one._training and other._training):
        what = "{}={!r}".format(*next(iter(asks.items()), ("unlabelled", one.unlabelled)))
        raise UnsupportedOperation(
            "{what} is learned from the rows of both classifiers, and one that was loaded, "
            "copied or merged keeps none of them.",
            ALL_ROWS,
            what=what,
        )
    out = with_its_rows(one)
    for rows in other._training:
        again = out._training_rows(rows.X, rows.y, rows.sample_weight, reset=False)
        out._finish_fit(*accumulated(out, again))
    return out


def require_same_model(one: Estimator, other: Estimator) -> None:
    """Reject classifiers of two types, or with different arguments.

    Raises:
        UnsupportedOperation: names the argument.
    """
    if type(one) is not type(other):
        raise UnsupportedOperation(
            "one classifier is of type {one} and the other of type {other}; merge needs two of "
            "the same type.",
            "Fit both as {one}.",
            one=type(one).__name__,
            other=type(other).__name__,
        )
    for clf in (one, other):
        check_is_fitted(clf)
    arguments = (clf.get_params(deep=False) for clf in (one, other))
    for (name, value), found in zip(*(found.items() for found in arguments), strict=True):
        if name not in FREE and not same(value, found[1]):
            raise UnsupportedOperation(
                "{option} is {one!r} in one classifier and {other!r} in the other; merge needs "
                "two of the same model.",
                Cure("Fit both with {name}={one!r}.", "Fit both with the same options."),
                name=name,
                one=value,
                other=found[1],
                option=Words(f"{name}=", f"--{name}"),
            )
