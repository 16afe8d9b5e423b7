"""Saving of a fitted classifier: conversion to records and back, with consistency checks.

The parts of a loaded model must agree on blocks, classes, columns, levels and draws.
"""

import dataclasses
import functools
import inspect
import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, cast, get_args

import numpy as np
from sklearn.base import BaseEstimator

from bayesgen.classes import ClassPrior
from bayesgen.errors import InvalidModelFile, UnsavableModel
from bayesgen.estimators.training import TrainingState
from bayesgen.estimators.updates.settled_later import SETTLED
from bayesgen.inference import Method, Pool, Posterior, Report
from bayesgen.inference.unlabelled_rows import ExpectedLabels
from bayesgen.likelihoods import Likelihood, Repair, Statistics
from bayesgen.likelihoods.base import Arrays
from bayesgen.model import Model, ModelStatistics, Reader
from bayesgen.persist import (
    InvalidStructure,
    Record,
    Registry,
    is_ours,
    read_model,
    replacing,
    write_model,
)
from bayesgen.prevalence import LeftOutRows
from bayesgen.schema import Column, NumericColumns, PowerTransform, PowerTransforms, Schema
from bayesgen.table import PositionNames
from bayesgen.user_program import UserProgram

ROOTS: Mapping[str, tuple[type, ...]] = {
    "estimator": (BaseEstimator,),
    "likelihood": (Likelihood,),
    "statistics": (Statistics,),
    "posterior": (Posterior,),
    "method": get_args(Method),
    "value": (
        *(TrainingState, Schema, PowerTransform, PowerTransforms, Column, NumericColumns),
        *(PositionNames, ClassPrior, Repair, Model, ModelStatistics, Reader, Report, Pool),
        *(UserProgram, ExpectedLabels, LeftOutRows),
    ),
}
"""Types that files may hold, with their descendants in this library: a new family, posterior or
estimator needs no line here."""

VOCABULARY = ("vocabulary_", "fixed_vocabulary_")
"""Attributes of scikit-learn's counters of words that are saved, beside their settings."""

ROUTING = "_metadata_request"
"""Attribute that set_fit_request leaves on an estimator; it concerns callers and is not saved."""

DRAW = ("chain", "draw")
Sizes = Mapping[str, int]

PROGRAM = "program"
"""The record of a program of the user's own: its import path, never its code."""


@functools.cache
def vectorizers() -> Mapping[str, type]:
    """Return scikit-learn's counters of words that a file may hold, by the names of its records.

    Imported lazily, so that classifiers of tables start faster.
    """
    from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer

    return {f"sklearn.{cls.__name__}": cls for cls in (CountVectorizer, HashingVectorizer)}


def save(estimator: BaseEstimator, path: str | os.PathLike) -> None:
    """Write a fitted estimator to a file, which is read back before it replaces an older one.

    Raises:
        UnsavableModel: a part is not data.
        UnwritableFile: no file can be written to the path.
    """
    records = Records(path, Registry(ROOTS))
    with replacing(path) as temporary:
        encoder = write_model(temporary, estimator, records.registry, records.to_record)
        try:
            read(temporary, encoder.yours, records.story)
        except InvalidModelFile as error:
            name = type(estimator).__name__
            raise UnsavableModel.not_read_back(name, str(error.__cause__)) from error


def read(path: str | os.PathLike, classes: Iterable[type], story: Callable | None) -> object:
    """Return the contents of a file; see `load`."""
    records = Records(path, Registry(ROOTS, classes), story)
    made = read_model(path, records.registry, records.from_record)
    if story is not None and not records.met:
        raise InvalidModelFile.no_program(path)
    return made


@dataclasses.dataclass(eq=False)
class Records:
    """Conversion of estimators and user programs to records and back.

    path: of the file. registry: types that may be made. story: the program that was passed, or
    that was met. met: whether a file holds its draws.
    """

    path: str | os.PathLike
    registry: Registry
    story: Callable | None = None
    met: bool = False

    def to_record(self, value: object) -> object:
        """Return an estimator or a program as a record, and anything else unchanged.

        Raises:
            UnsavableModel: another library's estimator, a program without an import path, or a
                second program.
        """
        if value is not None and value is self.story:
            return Record(PROGRAM, {"path": import_path(value)})
        if not isinstance(value, BaseEstimator):
            return value
        cls, parameters = type(value), value.get_params(deep=False)
        if (story := parameters.get("story")) is not None:
            if self.story is not None and story is not self.story:
                raise UnsavableModel.programs(import_path(self.story), import_path(story))
            self.story = story
        if vectorizers().get(name := f"sklearn.{cls.__name__}") is cls:
            fitted = {key: vars(value)[key] for key in VOCABULARY if key in vars(value)}
            return Record(name, {"parameters": parameters, "fitted": fitted})
        if not any(map(is_ours, cls.__mro__)):
            raise UnsavableModel.value("a part of the model", value)
        # the attributes that a copy keeps: rows that the estimator remembers are not among them
        state, skipped = cast(dict, value.__getstate__()), {*parameters, ROUTING}
        fitted = {key: part for key, part in state.items() if key not in skipped}
        return Record(str(self.registry.name(cls)), {"parameters": parameters, "fitted": fitted})

    def from_record(self, record: Record) -> object:
        """Return the estimator or the program of a record.

        Raises:
            InvalidStructure: the record does not match its class, or its parts are inconsistent.
            InvalidModelFile: another program is needed.
        """
        if record.name == PROGRAM:
            return self._program(str(record.parts["path"]))
        cls = vectorizers().get(record.name) or self.registry.type(record.name)
        if not issubclass(cls, BaseEstimator):
            raise InvalidStructure(f"{record.name!r} is not an estimator")
        parameters, fitted = (cast(dict, record.parts[n]) for n in ("parameters", "fitted"))
        unknown = set(parameters) - set(inspect.signature(cls).parameters)
        if unknown:
            raise InvalidStructure(f"{cls.__name__} has no parameter {min(unknown)!r}")
        for name in fitted:
            # an attribute must not hide a method
            hides = name not in SETTLED and hasattr(
                type(inspect.getattr_static(cls, name, None)), "__get__"
            )
            if hides or not re.fullmatch(r"_?[a-z]\w*", name):
                raise InvalidStructure(f"{cls.__name__} has no place for {name!r}")
        _require_consistent(fitted)
        made = cls(**parameters)
        vars(made).update(fitted)
        return made

    def _program(self, there: str) -> Callable:
        if self.story is None:
            raise InvalidModelFile.needs_program(self.path, there)
        if there != (here := import_path(self.story)):
            raise InvalidModelFile.other_program(self.path, there, here)
        self.met = True
        return self.story


def import_path(program: object) -> str:
    """Return "module:name" of a program; a script's module is called as one would import it.

    Raises:
        UnsavableModel: it has no name.
    """
    module, name = (getattr(program, word, "") for word in ("__module__", "__qualname__"))
    if not module or not name or name.endswith("<lambda>"):
        raise UnsavableModel.program(program)
    if module == "__main__":
        main = sys.modules[module]
        spec, file = (getattr(main, word, None) for word in ("__spec__", "__file__"))
        module = spec.name if spec else Path(file).stem if file else module
    return f"{module}:{name}"


# -- a file may be damaged or forged: its parts must agree -----------------------------------------


def _require_consistent(fitted: Mapping[str, object]) -> None:
    """Validate that the attributes of a fit are consistent.

    Raises:
        InvalidStructure: naming them.
    """
    if "members_" in fitted:
        _require_stack(fitted)
    if "state_" not in fitted:
        return
    state, classes = fitted.get("state_"), fitted.get("classes_")
    posterior = fitted.get("_posterior")
    if not (
        isinstance(state, TrainingState) and isinstance(classes, np.ndarray) and classes.ndim == 1
    ):
        raise InvalidStructure("it does not say what was learned")
    if not isinstance(posterior, Posterior | None) or classes.tolist() != state.classes.tolist():
        raise InvalidStructure("its classes are not those that were learned")
    sizes = {name: _sizes(state.schema, name, len(classes)) for name in state.schema.blocks}
    _require_learned(state, sizes)
    if posterior is not None:
        _require_posterior(posterior, sizes, len(classes))


def _require_stack(fitted: Mapping[str, object]) -> None:
    members, weights, classes = (fitted.get(n) for n in ("members_", "weights_", "classes_"))
    if not (isinstance(members, dict) and isinstance(weights, dict) and members):
        raise InvalidStructure("it does not say what it is made of")
    if list(members) != list(weights) or not isinstance(classes, np.ndarray):
        raise InvalidStructure("its members have other names than their weights")
    if any(member.classes_.tolist() != classes.tolist() for member in members.values()):
        raise InvalidStructure("a member has other classes")
    share = np.array(list(weights.values()), dtype=float)
    if not (share > 0).all() or abs(share.sum() - 1) > 1e-6:
        raise InvalidStructure("the weights of its members are not positive, or do not sum to 1")
    pool, part = fitted.get("_pool"), fitted.get("pool_share_", 0.0)
    if not (pool is None or isinstance(pool, Pool)) or not 0 <= cast(float, part) <= 1:
        raise InvalidStructure("the pool of its members is not one")
    if isinstance(pool, Pool):
        _require_pool(pool)
    left_out = fitted.get("_left_out")
    if isinstance(left_out, LeftOutRows):
        shape = left_out.log_proba.shape
        if shape != (len(left_out.codes), len(classes)) or len(left_out.weight) != shape[0]:
            raise InvalidStructure("the rows that weigh its members have other classes")
    elif left_out is not None:
        raise InvalidStructure("the rows that weigh its members are not predictions")


def _require_pool(pool: Pool) -> None:
    found: Sizes = {}
    for name, words in Pool.axes.items():
        found = _require_axes(f"pool.{name}", getattr(pool, name), words, found)
    if abs(pool.share.sum() - 1) > 1e-6 or not (pool.share > 0).all():
        raise InvalidStructure("the priors of its pool are not positive, or do not sum to 1")


def _sizes(schema: Schema, block: str, n_classes: int) -> dict[str, int]:
    """Return the lengths of the axes of a block."""
    n_features, n_levels = len(schema.blocks[block]), sum(schema.n_levels(block))
    return {"class": n_classes, "feature": n_features, "level": n_levels}


def _require_learned(learned: TrainingState, sizes: Mapping[str, Sizes]) -> None:
    _require_names("likelihoods", learned.likelihoods, sizes)
    _require_names("statistics", learned.statistics.blocks, sizes)
    blocks = learned.schema.blocks.values()
    # sparse columns come as one list of names, tens of thousands of them
    lists = [getattr(part, "names", None) or [c.name for c in part] for part in blocks]
    names = [name for part in lists for name in part]
    every_column = [c for part in blocks if not hasattr(part, "names") for c in part]
    # a column may be named 0 or ""
    pattern = [c for c in every_column if c.source is not None]
    there = {*learned.schema.names, *(c.name for c in pattern if c.source in learned.schema.names)}
    if names and (len(set(names)) < len(names) or not set(names) <= there):
        raise InvalidStructure("its blocks have other columns than its table")
    every = {"class": len(learned.classes)}
    _require_axes("the weight of classes", learned.statistics.count, ("class",), every)
    for name in sizes:
        dataclasses.replace(cast(Any, learned.likelihoods[name]))  # refuses what is not a prior
        _require_arrays(name, learned.statistics.blocks[name], sizes[name], shared=False)


def _require_posterior(posterior: Posterior, sizes: Mapping[str, Sizes], n_classes: int) -> None:
    reader, families = posterior.reader, posterior.families
    _require_names("the reader", reader.full, reader.kept)
    _require_names("the posterior", families, reader.kept)
    if np.shape(posterior.log_classes()) != (n_classes,):
        raise InvalidStructure(f"the posterior does not have {n_classes} classes")
    params = getattr(getattr(posterior, "base", posterior), "params", None)
    draws: dict[str, int] = {}
    if params is not None:
        probs = params["class"]["probs"]
        _require_axes("class.probs", probs, (*DRAW, "class"), {"class": n_classes})
        draws = dict(zip(DRAW, probs.shape, strict=False))
    for name, family in families.items():
        found, kept = dict(sizes[name]), reader.kept[name]
        if kept is not None:
            axis = reader.full[name].subset_axis
            if not ((kept >= 0) & (kept < found[axis])).all():
                raise InvalidStructure(f"what is kept of {name} is not a part of its {found[axis]}")
            found[axis] = len(kept)
        # draws have only the settings of their families
        _require_arrays(name, family, found, shared=True, finite=params is None)
        if params is not None:
            _require_names(f"the draws of {name}", params[name], family.param_axes)
            for site, words in family.param_axes.items():
                where, value = f"{name}.{site}", params[name][site]
                _require_axes(where, value, (*DRAW, *words), found | draws, shared=True)


def _require_names(where: str, found: Iterable[str], wanted: Iterable[str]) -> None:
    if set(found) != set(wanted):
        listed, others = (", ".join(map(str, names)) or "nothing" for names in (found, wanted))
        raise InvalidStructure(f"{where} has {listed} where {others} belongs")


def _require_arrays(
    where: str, owner: Arrays, sizes: Sizes, *, shared: bool, finite: bool = True
) -> None:
    """Validate that arrays have their declared axes.

    shared: whether all positions of an axis may share one value. finite: whether NaN is refused.
    """
    for number, member in enumerate(getattr(owner, "members", ())):
        _require_arrays(f"{where}, member {number}", member, sizes, shared=shared, finite=finite)
    found = sizes
    for name, words in owner.axes.items():
        # rows that are kept have their missing values
        whole = finite and "entry" not in words
        value = getattr(owner, name)
        found = _require_axes(f"{where}.{name}", value, words, found, shared=shared, finite=whole)


def _require_axes(
    where: str,
    value: object,
    words: tuple[str, ...],
    sizes: Sizes,
    *,
    shared: bool = False,
    finite: bool = True,
) -> Sizes:
    """Validate the axes of an array; return the lengths of all known axes.

    shared: whether all positions of an axis may share one value; a length of 1 is then
    uninformative.
    """
    if not isinstance(value, np.ndarray | float) or np.asarray(value).dtype.kind not in "biuf":
        raise InvalidStructure(f"{where} is not an array of numbers")
    shape, found = np.shape(value), dict(sizes)
    if len(shape) != len(words):
        raise InvalidStructure(f"{where} has the shape {shape} where ({', '.join(words)}) belongs")
    for word, size in zip(words, shape, strict=True):
        if not (shared and size == 1) and found.setdefault(word, size) != size:
            wanted = f"{size} along its {word} axis where {found[word]} belong"
            raise InvalidStructure(f"{where} has {wanted}")
    if finite and np.isnan(value).any():
        raise InvalidStructure(f"{where} holds NaN")
    return found
