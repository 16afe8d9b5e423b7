"""The training state of the rows of two others: statistics add, even if their origins differ.

Each state subtracts an origin of its own from its columns and numbers its own levels and classes.
Statistics are first moved to the origins, levels and classes of the union, which changes means but
no scatter, then merged by the formulas of Chan, Golub and LeVeque (1979).
"""

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from bayesgen.errors import DifferentModels
from bayesgen.estimators.training import TrainingState
from bayesgen.likelihoods import Likelihood
from bayesgen.schema import Schema


def merged(earlier: TrainingState, later: TrainingState) -> TrainingState:
    """Return the training state of the labeled rows of both.

    Classes and levels that one of them alone has are added. Columns that are power-transformed or
    cut into bins must be so in the same way.

    Raises:
        DifferentModels: other columns, likelihoods or priors, or labels of another type.
        NotLevels: a column of text in one, of numbers in the other.
    """
    _require_same_priors(earlier, later)
    schema = earlier.schema.union(later.schema)
    _require_same_positions(earlier, later)
    classes = united_classes(earlier.classes, later.classes)
    both = earlier.over(schema, classes) + later.over(schema, classes)
    return dataclasses.replace(
        earlier,
        schema=schema,
        classes=classes,
        statistics=both,
        log_abs_det_jacobian=earlier.log_abs_det_jacobian + later.log_abs_det_jacobian,
        unlabelled=None,
    )


def united_classes(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return the sorted classes of both.

    Raises:
        DifferentModels: text in one, numbers or booleans in the other.
    """
    if len(one) and len(other) and _kind(one) != _kind(other):
        raise DifferentModels.classes(one.tolist(), other.tolist())
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
            raise DifferentModels.likelihood(key[1], one[key], other[key])
    only = [key for key in {**one, **other} if key not in one or key not in other]
    if only:
        raise DifferentModels.columns(list(dict.fromkeys(name for _, name in only)))
    if earlier.schema.blocks.keys() != later.schema.blocks.keys():
        raise DifferentModels.blocks(list(earlier.schema.blocks), list(later.schema.blocks))


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
                raise DifferentModels.levels(column.name, column.levels, also.levels, likelihood)
