"""Merging of two fits: what both must have in common, and the training state of all their rows.

Statistics add, even if their origins differ. Each state subtracts an origin of its own from its
columns and numbers its own levels and classes. Statistics are first moved to the origins, levels
and classes of the union, which changes means but no scatter, then merged by the formulas of Chan,
Golub and LeVeque (1979).
"""

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from bayesgen.errors import Cure, InvalidData, UnsupportedOperation, Words
from bayesgen.errors.dialect import LABELS
from bayesgen.errors.operations import ALL_ROWS, columns_of_one
from bayesgen.estimators.state import TrainingState
from bayesgen.estimators.training_rows import TrainingRows
from bayesgen.likelihoods import Likelihood
from bayesgen.schema import GROUPS, MISSING, Schema

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


def require_same_model(one: BaseEstimator, other: BaseEstimator) -> None:
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


def merged(earlier: TrainingState, later: TrainingState) -> TrainingState:
    """Return the training state of the labeled rows of both.

    Classes and levels that one of them alone has are added. Columns that are power-transformed or
    cut into bins must be so in the same way.

    Raises:
        UnsupportedOperation: other columns, likelihoods or priors, or labels of another type.
        InvalidData: a column of text in one, of numbers in the other.
    """
    _require_same_identifiers(earlier.schema, later.schema)
    _require_same_priors(earlier, later)
    schema = earlier.schema.union(later.schema)
    _require_same_positions(earlier, later)
    classes = united_classes(earlier.classes, later.classes)
    return dataclasses.replace(earlier + later.under(schema, classes), unlabelled=None)


def united_classes(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return the sorted classes of both.

    Raises:
        InvalidData: text in one, numbers or booleans in the other.
    """
    if len(one) and len(other) and _kind(one) != _kind(other):
        raise InvalidData(
            "the classes are {one:listed} in some rows and {other:listed} in others; text, numbers "
            "or booleans are allowed, all of one type.",
            Cure(
                "Pass {labels}.astype(str) with all rows.",
                "Write the classes as words in all rows.",
            ),
            labels=LABELS,
            one=one.tolist(),
            other=other.tolist(),
        )
    return np.union1d(one, other)


def same(one: Any, other: Any) -> bool:
    """Return whether two arguments mean the same: numbers, arrays, likelihoods, mappings."""
    if hasattr(one, "get_params") and not isinstance(one, type):
        return type(one) is type(other) and same(one.get_params(), other.get_params())
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    several = [isinstance(value, np.ndarray | list | tuple) for value in (one, other)]
    if any(several):
        return all(several) and len(one) == len(other) and all(map(same, one, other))
    return one is other or bool(one == other)


def _kind(classes: np.ndarray) -> str:
    kinds = {"number" if isinstance(c, int | float) else type(c).__name__ for c in classes.tolist()}
    return "bool" if classes.dtype.kind == "b" else "".join(sorted(kinds))


def _readers(schema: Schema, likelihoods: Mapping[str, Likelihood]) -> dict:
    """Return the likelihood of each column; by whether it reads cells or where they are missing."""
    return {
        (column.kind == MISSING, column.reads): likelihoods[name]
        for name, columns in schema.blocks.items()
        if name != GROUPS
        for column in columns
    }


def _require_same_identifiers(one: Schema, other: Schema) -> None:
    """Reject columns that one schema sets aside as identifiers, and the other reads."""
    names = [name for name in one.aside if name in other.used()]
    names += [name for name in other.aside if name in one.used()]
    if names:
        raise UnsupportedOperation(
            "one of the classifiers ignores the {names:named column}, taken for an identifier, "
            "which the other reads.",
            Cure(
                "Fit both without it: X.drop(columns={names}).",
                "Fit both without it: --drop {names:option}.",
            ),
            names=names,
        )


def _require_same_priors(earlier: TrainingState, later: TrainingState) -> None:
    """Reject columns that two states read by other likelihoods, or group into other blocks."""
    one, other = (_readers(state.schema, state.likelihoods) for state in (earlier, later))
    for key in one:
        if key in other and not same(one[key], other[key]):
            raise UnsupportedOperation(
                "column {column!r} is read by {one!r} in one classifier and by {other!r} in "
                "the other; statistics can be added only under the same likelihood and prior.",
                Cure(
                    "State it in both: bg.NaiveBayes(likelihood={{{column!r}: {one!r}, ...}}).",
                    "Fit both files with the same --model.",
                ),
                column=key[1],
                one=one[key],
                other=other[key],
            )
    only = [key for key in {**one, **other} if key not in one or key not in other]
    if only:
        raise columns_of_one(list(dict.fromkeys(name for _, name in only)))
    if earlier.schema.blocks.keys() != later.schema.blocks.keys():
        raise UnsupportedOperation(
            "the columns form the blocks {one:listed} in one classifier and {other:listed} in "
            "the other; merge needs two with the same blocks.",
            Cure("State the same likelihood= in both.", "Fit both files with the same --model."),
            one=list(earlier.schema.blocks),
            other=list(later.schema.blocks),
        )


def _require_same_positions(earlier: TrainingState, later: TrainingState) -> None:
    """Reject levels in another order where a prior states a number for each by its position."""
    for name, likelihood in earlier.likelihoods.items():
        # of an average over priors those of each; a guess that is not stated is None
        priors = likelihood.components
        values = [getattr(prior, field) for prior in priors for field in prior.axes]
        stated = any(np.ndim(value) and np.size(value) for value in values if value is not None)
        if likelihood.kind != "levels" or not stated:
            continue
        pairs = zip(earlier.schema.blocks[name], later.schema.blocks[name], strict=True)
        for column, also in pairs:
            if column.levels != also.levels:
                raise UnsupportedOperation(
                    "column {column!r} has the levels {one:listed 10} in one classifier and "
                    "{other:listed 10} in the other, and {likelihood!r} states a number for "
                    "each by its position.",
                    Cure(
                        "Declare the levels of both in one order: pandas.CategoricalDtype(levels) "
                        "or polars.Enum(levels).",
                        "Fit both to files that hold all levels.",
                    ),
                    column=column.name,
                    one=column.levels,
                    other=also.levels,
                    likelihood=likelihood,
                )
