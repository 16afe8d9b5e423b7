"""Predictions for sources: streams of columns, computed part by part."""

import dataclasses
import functools
import inspect
import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar, cast

import numpy as np

from bayesgen import predict
from bayesgen.errors import BayesgenError, BayesgenWarning, InvalidData, Words, deduplicate_warnings
from bayesgen.schema import Column
from bayesgen.table import Name
from bayesgen.table.sources import (
    Kinds,
    Part,
    Source,
    answer_lazy_frame,
    answer_reader,
    is_lazy_frame,
    source_of,
)

M = TypeVar("M", bound=Callable)

LABELLED = "predicted, probability"
"""Asks for probabilities and, from these, for the labels of the most probable classes."""

WORDS = {
    "probability": ("probability",),
    LABELLED: ("probability",),
    "interval": ("lower", "upper"),
    "draws": ("draws",),
}
"""What is asked -> the words before the name of each class."""

DRAWS_ROWS = 512
"""Rows of a part at most where each is answered by draws: 1,000 of 3 classes take 12 MB."""


def answers_sources(asked: str) -> Callable[[M], M]:
    """Let X be a source, which is answered by a stream of columns that begin with `asked`."""

    def decorate(method: M) -> M:
        signature, name = inspect.signature(method), getattr(method, "__name__", "")

        @functools.wraps(method)
        def either(self: Any, X: object, *args: Any, **options: Any) -> Any:
            source = source_of(X)
            if source is None:
                return method(self, X, *args, **options)

            stated = dict(signature.bind(self, X, *args, **options).arguments)
            own = {key: value for key, value in stated.items() if key not in ("self", "X")}
            # by its name, so that a cluster can send it to its workers
            answer = functools.partial(getattr(self, name), **own)
            return Answers(self, {asked: answer}).to(source, X)

        return cast(M, either)

    return decorate


@dataclasses.dataclass(frozen=True, eq=False)
class Answers:
    """Predictions of a fitted classifier for parts of a source.

    asked: "predicted", "probability", LABELLED, "interval", "draws" or "log_density", each with the
    method of the classifier that answers a table.
    """

    classifier: Any
    asked: Mapping[str, Callable[[object], Any]]

    @classmethod
    def with_density(
        cls, classifier: Any, *, interval: float | None = None, draws: bool = False
    ) -> "Answers":
        """Return answers of the labels, the probabilities and the density of a row, and more.

        Args:
            classifier: fitted.
            interval: share of the posterior between the ends of intervals; None: no intervals.
            draws: whether to add draws of the probabilities.
        """
        asked: dict[str, Callable[[object], Any]] = {LABELLED: classifier.predict_proba}
        if interval is not None:
            asked["interval"] = functools.partial(classifier.predict_interval, prob=interval)
        if draws:
            asked["draws"] = classifier.predict_draws
        return cls(classifier, asked | {"log_density": classifier.score_samples})

    def __post_init__(self) -> None:
        """Refuse a classifier that has no answer, before any row is read."""
        posterior = self.classifier._fitted_posterior()
        for word in {"interval", "draws"} & {*self.asked}:
            predict.require_posterior(posterior, Words(f"predict_{word}", f"--{word}"))

    @property
    def columns(self) -> dict[str, str | np.ndarray]:
        """The columns of the answers: name -> "number", "numbers" or the classes."""
        found: dict[str, str | np.ndarray] = {}
        for asked in self.asked:
            kind = "numbers" if asked == "draws" else "number"
            if asked in ("predicted", LABELLED):
                found["predicted"] = self.classifier.classes_
            for word in WORDS.get(asked, ()):
                found |= {f"{word}_{label}": kind for label in self.classifier.classes_}
            if asked == "draws":
                found["weight"] = kind
            if asked == "log_density":
                found[asked] = kind
        return found

    def of(self, X: object) -> dict[str, np.ndarray]:
        """Return the columns of the answers to a table."""
        found: dict[str, np.ndarray] = {}
        for asked, answer in self.asked.items():
            found |= self._split(asked, answer(X))
        return found

    def _split(self, asked: str, values: Any) -> dict[str, np.ndarray]:
        """Return what a method returned as columns."""
        labels = list(map(str, self.classifier.classes_))
        if asked == LABELLED:
            predicted = self.classifier.classes_[np.argmax(values, axis=1)]
            return {"predicted": predicted} | self._split("probability", values)
        if asked == "probability":
            return {f"probability_{label}": values[:, k] for k, label in enumerate(labels)}
        if asked == "interval":
            ends = enumerate(WORDS[asked])
            each = itertools.product(ends, enumerate(labels))
            return {f"{word}_{label}": values[:, k, i] for (i, word), (k, label) in each}
        if asked == "draws":
            draws = {f"draws_{label}": values.values[:, :, k].T for k, label in enumerate(labels)}
            return draws | {"weight": values["weight"].values.T}
        return {asked: values}

    def to(self, source: Source, X: object = None) -> Any:
        """Return the answers to a source, as a pyarrow RecordBatchReader.

        X: what the source was made of; a polars LazyFrame is answered by a LazyFrame, a dataframe
        on a cluster by one there.
        """
        if not (is_lazy_frame(X) or source.cluster):
            return self.reader(source)
        columns = SourceColumns.match(self.classifier, source.name, source.names or ())
        answer = AnswersOfPart(self, columns)
        if source.cluster:
            return source.cluster.mapped(answer, self.columns)
        return answer_lazy_frame(X, self.columns, answer)

    def reader(self, source: Source, keep: Sequence[str] = ()) -> Any:
        """Return the answers to a source, as a pyarrow RecordBatchReader.

        Args:
            source: of rows.
            keep: columns of the source to copy.
        """
        columns, kinds = None, None
        if source.names is not None:
            columns = SourceColumns.match(self.classifier, source.name, source.names)
            kinds = dict.fromkeys(keep, "text") | dict(columns.reads)
        rows = min(source.part_rows, DRAWS_ROWS) if "draws" in self.asked else None
        parts = source.parts(kinds, rows)
        return answer_reader(parts, self.columns, AnswersOfPart(self, columns), keep)


@dataclasses.dataclass(frozen=True, eq=False)
class AnswersOfPart:
    """The function from a part of a source to the columns of its answers.

    columns: that are read; None where each part has its own.
    """

    answers: Answers
    columns: "SourceColumns | None"

    def __call__(self, part: Part) -> dict[str, np.ndarray]:
        """Return the answers to a part; an error names it, and the row if it is one."""
        columns = self.columns
        if columns is None:
            columns = SourceColumns.match(self.answers.classifier, part.name, part.names)

        def check(some: Part) -> object:
            with deduplicate_warnings(BayesgenWarning):
                return self.answers.of(columns.as_fitted(some))

        def row(error: BayesgenError) -> int | None:
            return part.first_row(check, error)

        with part.named(row):
            return self.answers.of(columns.as_fitted(part))


@dataclasses.dataclass(frozen=True, eq=False)
class SourceColumns:
    """The columns of a source that a fitted classifier reads.

    reads: the kind of each, by its name in the source. names: those that the classifier has for
    them; None: they have an order alone.
    """

    reads: Kinds
    names: list | None

    @classmethod
    def match(cls, classifier: Any, source: str, found: Sequence[Name]) -> "SourceColumns":
        """Match the columns `found` in a source with those of a classifier.

        Columns match by name, and others are not read; those of a classifier that was fitted to an
        array match by position, unless the source names them x0, x1, ... as the classifier does.

        Raises:
            InvalidData: the source has none of the columns.
        """
        members = list(getattr(classifier, "members_", {"": classifier}).values())
        kinds = {name: kind for part in members for name, kind in _kinds(part).items()}
        names = members[0]._column_names()
        known = [name for name in names if name in kinds] or list(names)
        kinds = dict.fromkeys(known, "number") | kinds
        there = {**{str(name): name for name in found}, **{name: name for name in found}}
        shared = [name for name in known if name in there or str(name) in there]
        if members[0].state_.schema.container in ("pandas", "polars", "pyarrow"):
            if not shared:
                raise InvalidData(
                    "{source!r} has none of the columns that the model reads, {names:listed "
                    "20}; its columns are {existing:listed 20}.",
                    "Name them as they were named when the model was fitted.",
                    source=source,
                    names=list(map(str, known)),
                    existing=list(found),
                )
            own = [name if name in there else str(name) for name in shared]
            reads = {there[name]: kinds[key] for name, key in zip(own, shared, strict=True)}
            return cls(reads, shared)
        if len(shared) == len(known):
            return cls({there.get(name, str(name)): kinds[name] for name in known}, None)
        by_position = itertools.zip_longest(found, known[: len(found)])
        return cls({name: kinds.get(own, "number") for name, own in by_position}, None)

    def as_fitted(self, part: Part) -> object:
        """Return rows in the container, and by the names, that the classifier was fitted to."""
        found = {*part.names}
        read = [name for name in self.reads if name in found]
        if self.names is None:
            return part.only(read).to_numpy()
        wanted = [own for own, name in zip(self.names, self.reads, strict=True) if name in read]
        rows = part.only(read)
        return rows.frame if wanted == read else rows.renamed(wanted)


def _kinds(classifier: Any) -> dict[Name, str]:
    """Return the kinds of the columns that a classifier reads."""
    blocks, derived = classifier.state_.schema.blocks, classifier._derived_columns()
    every = [column for part in blocks.values() for column in part if column.source is None]
    kinds = {column.name: _kind(column) for column in every}
    sources = {derived[name].name: _kind(derived[name]) for name in kinds if name in derived}
    return {name: kind for name, kind in kinds.items() if name not in derived} | sources


def _kind(column: Column) -> str:
    """Return the kind of the cells of a column: numbers match levels by their value."""
    found = {type(level) for level in column.levels}
    if found == {bool}:
        return "boolean"
    return "text" if str in found else "number"
