"""Merging of two fitted classifiers: what both must have in common."""

from collections.abc import Mapping

from sklearn.utils.validation import check_is_fitted

from bayesgen.errors import Cure, UnsupportedOperation, Words
from bayesgen.errors.operations import ALL_ROWS
from bayesgen.estimators.estimator import Estimator
from bayesgen.estimators.training_rows import TrainingRows
from bayesgen.estimators.updates.merged_state import same

FREE = {"likelihood", "random_state", "progress"}
"""Arguments that may differ: what a likelihood comes to is compared column by column."""


def require_rows(learned: Mapping[str, object], *kept: tuple[TrainingRows, ...]) -> None:
    """Reject classifiers of which one kept no rows, from which something is to be learned.

    Args:
        learned: the arguments that are learned from rows, and their values.
        kept: the rows of each.

    Raises:
        UnsupportedOperation: names the first argument.
    """
    if not all(kept):
        raise UnsupportedOperation(
            "{what} is learned from the rows of both classifiers, and one that was loaded, "
            "copied or merged keeps none of them.",
            ALL_ROWS,
            what="{}={!r}".format(*next(iter(learned.items()))),
        )


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
