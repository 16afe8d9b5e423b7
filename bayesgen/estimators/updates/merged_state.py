"""The training state of the rows of two others: statistics add, even if their origins differ.

Each state subtracts an origin of its own from its columns and numbers its own levels and classes.
Statistics are first moved to the origins, levels and classes of the union, which changes means but
no scatter, then merged by the formulas of Chan, Golub and LeVeque (1979).
"""

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from bayesgen.errors import Cure, InvalidData, UnsupportedOperation
from bayesgen.errors.operations import columns_of_one
from bayesgen.estimators.training import TrainingState
from bayesgen.likelihoods import Likelihood
from bayesgen.schema import Schema


def merged(earlier: TrainingState, later: TrainingState) -> TrainingState:
    """Return the training state of the labeled rows of both.

    Classes and levels that one of them alone has are added. Columns that are power-transformed or
    cut into bins must be so in the same way.

    Raises:
        UnsupportedOperation: other columns, likelihoods or priors, or labels of another type.
        InvalidData: a column of text in one, of numbers in the other.
    """
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
            Cure("Pass y.astype(str) with all rows.", "Write the classes as words in all rows."),
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
        (column.source is not None, column.reads): likelihoods[name]
        for name, columns in schema.blocks.items()
        for column in columns
    }


def _require_same_priors(earlier: TrainingState, later: TrainingState) -> None:
    """Reject columns that two states read by other likelihoods, or group into other blocks."""
    one, other = (_readers(state.schema, state.likelihoods) for state in (earlier, later))
    for key in one:
        if key in other and not same(one[key], other[key]):
            raise UnsupportedOperation(
                "column {column!r} is read by {one!r} in one classifier and by {other!r} in "
                "the other; statistics can be added only under the same likelihood and prior.",
                Cure(
                    "State it in both: likelihood={{{column!r}: {one!r}, ...}}.",
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
        # a guess that is not stated is None
        values = [getattr(likelihood, field) for field in likelihood.axes]
        stated = any(np.ndim(value) for value in values if value is not None)
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
                        "Declare the levels in both: pandas.Categorical(X[{column!r}], "
                        "[{one:listed 10}]).",
                        "Fit both to files that hold all levels.",
                    ),
                    column=column.name,
                    one=column.levels,
                    other=also.levels,
                    likelihood=likelihood,
                )
