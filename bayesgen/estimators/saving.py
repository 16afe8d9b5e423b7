"""Saving of a fitted classifier: estimators and programs as parts and back."""

import dataclasses
import functools
import inspect
import os
import re
import sys
from collections.abc import Callable, Container, Mapping, Sequence
from pathlib import Path
from typing import cast, get_args

from sklearn.base import BaseEstimator

from bayesgen import arguments, interactions, likelihoods
from bayesgen.classes import ClassPrior
from bayesgen.errors import Cure, InvalidFile, Words
from bayesgen.estimators.fitted import Fitted
from bayesgen.estimators.stack.weighed import WeighedStack
from bayesgen.estimators.state import TrainingState
from bayesgen.estimators.training_rows import TrainingRows
from bayesgen.inference import (
    Components,
    Method,
    Misfit,
    Pool,
    Posterior,
    Readout,
    Report,
    RowSpace,
)
from bayesgen.inference.unlabelled_rows import ExpectedLabels
from bayesgen.interactions import Cell, Interactions, Term
from bayesgen.likelihoods import Likelihood, Repair, Statistics
from bayesgen.likelihoods.kernels.fitted import FittedKernels
from bayesgen.likelihoods.kernels.plug_in import PlugInKernels
from bayesgen.likelihoods.selection import Selection
from bayesgen.model import Model, ModelStatistics, Reader
from bayesgen.persist import Parts, Registry, read_model, replacing, write_model
from bayesgen.prevalence import LeftOutRows
from bayesgen.schema import (
    NumberForm,
    NumericColumns,
    PowerTransform,
    PowerTransforms,
    Reading,
    Schema,
)
from bayesgen.table import PositionNames, Table, TableColumn

VOCABULARY = ("vocabulary_", "fixed_vocabulary_")
"""Attributes of scikit-learn's counters of words that are saved, beside their settings."""

ROWS = "_training"
"""Attribute of the rows of the fit."""

ROUTING = "_metadata_request"
"""Attribute that set_fit_request leaves on an estimator; it concerns callers and is not saved."""

PROGRAM = "program"
"""The type of a program of the user's own: its part is its import path, never its code."""


@functools.cache
def roots() -> Mapping[str, tuple[type, ...]]:
    """Return the types that files may hold, with their descendants in this library, by kind.

    A new family, posterior or estimator needs no line here.
    """
    from bayesgen.user_program import UserProgram

    for folder in (interactions, likelihoods):
        for name in dir(folder):
            # a class of which there is none yet may be in the file that is read
            getattr(folder, name)
    return {
        "estimator": (BaseEstimator,),
        "likelihood": (Likelihood,),
        "statistics": (Statistics,),
        "fitted": (Fitted,),
        "posterior": (Posterior,),
        "components": (Components,),
        "readout": (Readout,),
        "method": get_args(Method),
        "term": (Term,),
        "value": (
            *(TrainingState, Schema, PowerTransform, PowerTransforms, Reading, NumericColumns),
            NumberForm,
            *(PositionNames, ClassPrior, Repair, Model, ModelStatistics, Reader, Selection),
            *(Report, Words, Pool, RowSpace, Misfit, Cell, Interactions),
            *(UserProgram, ExpectedLabels, LeftOutRows, WeighedStack, Table, TableColumn),
            *(FittedKernels, PlugInKernels),
        ),
    }


@functools.cache
def vectorizers() -> Mapping[str, type]:
    """Return scikit-learn's counters of words that a file may hold, by the names of its records.

    Imported lazily, so that classifiers of tables start faster.
    """
    from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer

    return {f"sklearn.{cls.__name__}": cls for cls in (CountVectorizer, HashingVectorizer)}


def save(
    estimator: BaseEstimator, path: str | os.PathLike, rows: Sequence[TrainingRows] = ()
) -> None:
    """Write a fitted estimator to a file, which is read back before it replaces an older one.

    rows: of the fit, which the file shall hold too.

    Raises:
        InvalidFile: a part is not data; no file can be written to the path.
    """
    file = ModelFile(path, root=estimator, rows=rows)
    with replacing(path) as temporary:
        n_rows = sum(len(part.codes) for part in rows)
        write_model(temporary, estimator, file, n_rows=n_rows)
        try:
            read_model(temporary, file)
        except InvalidFile as error:
            raise InvalidFile(
                "this {estimator} cannot be saved: what was written could not be read back "
                "({reason}).",
                "Store the object with joblib.dump, for your own use only.",
                estimator=type(estimator).__name__,
                reason=str(error.__cause__ or error),
            ) from error


class ModelFile(Registry):
    """What a file holds: dataclasses, estimators, and at most one program of the user's own.

    Args:
        path: of the file.
        yours: classes of the user's own that it may hold; None: all of this process.
        story: the program whose draws it may hold.
        root: the estimator that is written.
        rows: those of its fit that are written with it.
    """

    def __init__(
        self,
        path: str | os.PathLike,
        yours: Container[type] | None = None,
        story: Callable | None = None,
        root: object = None,
        rows: Sequence[TrainingRows] = (),
    ) -> None:
        super().__init__(roots(), yours)
        self.path, self.root, self.rows = path, root, rows
        self.story, self.holds_program = story, False

    def apart(self, value: object) -> tuple[str, Parts] | None:
        """Return the type of an object and its parts; None: it cannot be saved.

        Raises:
            InvalidFile: a program without an import path.
        """
        if value is not None and value is self.story:
            return PROGRAM, {"path": import_path(value)}
        if isinstance(value, Fitted):
            # of which a file holds a Series as a mapping
            prior = arguments.by_label("class_prior", value.class_prior)
            value = dataclasses.replace(value, class_prior=prior)
        if not isinstance(value, BaseEstimator):
            return super().apart(value)
        cls, stated = type(value), value.get_params(deep=False)
        parameters = {name: arguments.by_label(name, part) for name, part in stated.items()}
        self.story = parameters.get("story") or self.story
        if vectorizers().get(name := f"sklearn.{cls.__name__}") is cls:
            fitted = {key: vars(value)[key] for key in VOCABULARY if key in vars(value)}
            return name, {"parameters": parameters, "fitted": fitted}
        if cls not in self.names:
            return None
        # the attributes that a copy keeps: rows that the estimator remembers are not among them
        state, skipped = cast(dict, value.__getstate__()), {*parameters, ROUTING}
        fitted = {key: part for key, part in state.items() if key not in skipped}
        if self.rows and value is self.root:
            fitted[ROWS] = [rows.as_data() for rows in self.rows]
        return self.name_of(cls), {"parameters": parameters, "fitted": fitted}

    def together(self, name: str, parts: Parts) -> object:
        """Return the object of a type and its parts.

        Raises:
            ValueError: the parts do not match the type.
            InvalidFile: another program is needed.
            UnknownType: no file may hold the type.
        """
        if name == PROGRAM:
            return self._program(str(parts["path"]))
        cls = vectorizers().get(name) or self.types.get(name)
        if cls is None or not issubclass(cls, BaseEstimator):
            return super().together(name, parts)
        parameters, fitted = (cast(dict, parts[n]) for n in ("parameters", "fitted"))
        if unknown := set(parameters) - set(inspect.signature(cls).parameters):
            raise ValueError(f"{cls.__name__} has no parameter {min(unknown)!r}")
        for attribute in fitted:
            # an attribute must not hide a method
            hides = hasattr(type(inspect.getattr_static(cls, attribute, None)), "__get__")
            if hides or not re.fullmatch(r"_?[a-z]\w*", attribute):
                raise ValueError(f"{cls.__name__} has no place for {attribute!r}")
        if ROWS in fitted:
            fitted[ROWS] = tuple(TrainingRows.of_table(**rows) for rows in fitted[ROWS])
        estimator = cls(**parameters)
        vars(estimator).update(fitted)
        return estimator

    def _program(self, recorded: str) -> Callable:
        passed = None if self.story is None else import_path(self.story)
        if self.story is None or passed != recorded:
            raise InvalidFile(
                "{path:path} holds draws of the program {recorded!r} without its code, and story= "
                "is {passed!r}.",
                Cure(
                    "Pass the program that was fitted: bg.load(path, story=...).",
                    "Such a model opens in Python alone.",
                ),
                path=self.path,
                recorded=recorded,
                passed=passed,
            )
        self.holds_program = True
        return self.story


def import_path(program: object) -> str:
    """Return "module:name" of a program; a script's module is called as one would import it.

    Raises:
        InvalidFile: it has no name.
    """
    module, name = (getattr(program, word, "") for word in ("__module__", "__qualname__"))
    if not module or not name or name.endswith("<lambda>"):
        raise InvalidFile(
            "story={found!r} has no import path, and a file holds the import path of a "
            "program, not its code.",
            "Define it by def, at the top level of a module.",
            found=program,
        )
    if module == "__main__":
        main = sys.modules[module]
        spec, file = (getattr(main, word, None) for word in ("__spec__", "__file__"))
        module = spec.name if spec else Path(file).stem if file else module
    return f"{module}:{name}"
