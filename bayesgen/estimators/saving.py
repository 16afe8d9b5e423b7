"""Save a fitted classifier: taken apart into records, and put together again."""

import dataclasses
import inspect
import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import cast, get_args

from sklearn.base import BaseEstimator
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer

from bayesgen.classes import ClassPrior
from bayesgen.errors import InvalidModelFile, UnsavableModel
from bayesgen.estimators.consistency import require_consistent
from bayesgen.estimators.training import TrainingState
from bayesgen.inference import Method, Posterior, Report
from bayesgen.likelihoods import Likelihood, Repair, Statistics
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
        *(
            TrainingState,
            Schema,
            PowerTransform,
            PowerTransforms,
            Column,
            NumericColumns,
            PositionNames,
            ClassPrior,
        ),
        *(Repair, Model, ModelStatistics, Reader, Report, UserProgram),
    ),
}
"""Types that files may hold, with all that derive from them in this library: a new family,
posterior or estimator needs no line here."""

VECTORIZERS = {f"sklearn.{cls.__name__}": cls for cls in (CountVectorizer, HashingVectorizer)}
VOCABULARY = ("vocabulary_", "fixed_vocabulary_")
"""Attributes of scikit-learn's counters of words that are saved, if no setting is a function."""

ROUTING = "_metadata_request"
"""The attribute of set_fit_request, which concerns callers and is not saved."""

PROGRAM = "program"
"""The record of a program of the user's own: its import path, never its code."""


def save(estimator: BaseEstimator, path: str | os.PathLike) -> None:
    """Write a fitted estimator to a file, which is read back before it takes its place.

    Raises:
        UnsavableModel: a part is not data.
        UnwritableFile: the path takes no file.
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
    """Return what a file holds; see `load`."""
    records = Records(path, Registry(ROOTS, classes), story)
    made = read_model(path, records.registry, records.from_record)
    if story is not None and not records.met:
        raise InvalidModelFile.no_program(path)
    return made


@dataclasses.dataclass(eq=False)
class Records:
    """Estimators and programs of users, taken apart into records and put together again.

    path: of the file. registry: types that may be made. story: the program that was passed, or
    that was met. met: whether a file holds its draws.
    """

    path: str | os.PathLike
    registry: Registry
    story: Callable | None = None
    met: bool = False

    def to_record(self, value: object) -> object:
        """Return an estimator or a program as a record, and everything else as it is.

        Raises:
            UnsavableModel: it is a stranger's, a program without an import path, or one of several.
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
        if VECTORIZERS.get(name := f"sklearn.{cls.__name__}") is cls:
            fitted = {key: vars(value)[key] for key in VOCABULARY if key in vars(value)}
            return Record(name, {"parameters": parameters, "fitted": fitted})
        if not any(map(is_ours, cls.__mro__)):
            raise UnsavableModel.value("a part of the model", value)
        # as in a copy of the estimator: without the rows of the fit
        state, skipped = cast(dict, value.__getstate__()), {*parameters, ROUTING}
        fitted = {key: part for key, part in state.items() if key not in skipped}
        return Record(str(self.registry.name(cls)), {"parameters": parameters, "fitted": fitted})

    def from_record(self, record: Record) -> object:
        """Return the estimator or the program of a record.

        Raises:
            InvalidStructure: it does not belong to its class, or its parts contradict each other.
            InvalidModelFile: another program is needed.
        """
        if record.name == PROGRAM:
            return self._program(str(record.parts["path"]))
        cls = VECTORIZERS.get(record.name) or self.registry.type(record.name)
        if not issubclass(cls, BaseEstimator):
            raise InvalidStructure(f"{record.name!r} is not an estimator")
        parameters, fitted = (cast(dict, record.parts[n]) for n in ("parameters", "fitted"))
        unknown = set(parameters) - set(inspect.signature(cls).parameters)
        if unknown:
            raise InvalidStructure(f"{cls.__name__} has no parameter {min(unknown)!r}")
        for name in fitted:
            # an attribute must not hide a method
            hides = hasattr(type(inspect.getattr_static(cls, name, None)), "__get__")
            if hides or not re.fullmatch(r"_?[a-z]\w*", name):
                raise InvalidStructure(f"{cls.__name__} has no place for {name!r}")
        require_consistent(fitted)
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
