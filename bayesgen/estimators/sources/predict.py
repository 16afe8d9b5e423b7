"""Predictions for sources: streams of columns, computed part by part."""

import dataclasses
import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar, cast

from bayesgen import predict
from bayesgen.errors import InvalidData, Words
from bayesgen.estimators.estimator import Estimator
from bayesgen.schema import Column
from bayesgen.sources import (
    ANSWERS,
    Kinds,
    Part,
    Source,
    answer_schema,
    answer_stream,
    answer_table,
    source_of,
)
from bayesgen.table import Name

M = TypeVar("M", bound=Callable)

DRAWS_ROWS = 512
"""Rows of a part at most where each is answered by draws: 1,000 of 3 classes take 12 MB."""


def answers_sources(method: M) -> M:
    """Let X be a source, which is answered by a stream of the columns of the verb's answer."""
    signature, verb = inspect.signature(method), getattr(method, "__name__", "")

    @functools.wraps(method)
    def either(self: Any, X: object, *args: Any, **options: Any) -> Any:
        source = source_of(X)
        if source is None:
            return method(self, X, *args, **options)
        stated = dict(signature.bind(self, X, *args, **options).arguments)
        own = {name: value for name, value in stated.items() if name not in ("self", "X")}
        return Answers(self, {verb: own}).to(source)

    return cast(M, either)


@dataclasses.dataclass(frozen=True, eq=False)
class Answers:
    """Predictions of a fitted classifier for the rows of sources.

    asked: verbs of `ANSWERS`, each with its arguments besides X.
    """

    classifier: Estimator
    asked: Mapping[str, Mapping[str, object]]

    @classmethod
    def with_density(
        cls, classifier: Estimator, *, interval: float | None = None, draws: bool = False
    ) -> "Answers":
        """Return answers of the labels, the probabilities and the density of a row, and more.

        Args:
            classifier: fitted.
            interval: share of the posterior between the ends of intervals; None: no intervals.
            draws: whether to add draws of the probabilities.
        """
        asked: dict[str, dict[str, object]] = {"predict": {}, "predict_proba": {}}
        if interval is not None:
            asked["predict_interval"] = {"prob": interval}
        if draws:
            asked["predict_draws"] = {}
        return cls(classifier, asked | {"score_samples": {}})

    def __post_init__(self) -> None:
        """Refuse a classifier that has no answer, before any row is read."""
        posterior = self.classifier._fitted_posterior()
        for name in self.asked:
            if ANSWERS[name].posterior:
                option = f"--{name.removeprefix('predict_')}"
                predict.require_posterior(posterior, Words(name, option))

    @property
    def schema(self) -> Any:
        """The columns of the answers, as a pyarrow Schema."""
        return answer_schema(self.asked, self.classifier.classes_)

    @property
    def columns(self) -> list[str]:
        """The names of the columns of the answers."""
        return self.schema.names

    def __call__(self, part: Part) -> Any:
        """Return the answers to a part of a source, as a pyarrow Table.

        Raises:
            BayesgenError: it names the part, and the row if it is one.
        """
        return part.apply(self._table)

    def _table(self, part: Part) -> Any:
        X = SourceColumns.match(self.classifier, part.name, part.names).as_fitted(part)

        def returned(verb: str) -> Any:
            return getattr(self.classifier, verb)(X, **self.asked.get(verb, {}))

        return answer_table(self.asked, returned, self.classifier.classes_)

    def to(self, source: Source) -> Any:
        """Return the answers to a source: a RecordBatchReader, or a dataframe on its cluster."""
        if source.cluster is None:
            return self.reader(source)
        SourceColumns.match(self.classifier, source.name, source.names or ())
        return source.cluster.answered(self, self.schema)

    def reader(self, source: Source, keep: Sequence[str] = ()) -> Any:
        """Return the answers to a source, as a pyarrow RecordBatchReader.

        Args:
            source: of rows.
            keep: columns of the source to copy.
        """
        kinds = None
        if source.names is not None:
            columns = SourceColumns.match(self.classifier, source.name, source.names)
            kinds = dict.fromkeys(keep, "text") | dict(columns.reads)
        rows = min(source.part_rows, DRAWS_ROWS) if "predict_draws" in self.asked else None
        return answer_stream(source.parts(kinds, rows), self.schema, self, keep)


@dataclasses.dataclass(frozen=True, eq=False)
class SourceColumns:
    """The columns of a source that a fitted classifier reads.

    reads: the kind of each, by its name in the source. fitted: the name that the classifier has for
    it, by its name in the source.
    """

    reads: Kinds
    fitted: Mapping[Name, Name]

    @classmethod
    def match(cls, classifier: Estimator, source: str, names: Sequence[Name]) -> "SourceColumns":
        """Match the columns of a source with those of a classifier.

        Columns match by name, and others are not read; those of a classifier that was fitted to an
        array are all read, and match by position.

        Raises:
            InvalidData: the source has none of the columns.
        """
        members = list(getattr(classifier, "members_", {"": classifier}).values())
        if members[0].state_.schema.container not in ("pandas", "polars", "pyarrow"):
            return cls(dict.fromkeys(names, "any"), {name: name for name in names})
        kinds = {name: kind for member in members for name, kind in _kinds(member).items()}
        columns = members[0]._column_names()
        columns = [name for name in columns if name in kinds] or columns  # a program reads all
        present = {str(name): name for name in names} | {name: name for name in names}
        fitted = {
            present[key]: name
            for name in columns
            for key in [name if name in present else str(name)]
            if key in present
        }
        if not fitted:
            raise InvalidData(
                "{source!r} has none of the columns that the model reads, {names:listed 20}; its "
                "columns are {existing:listed 20}.",
                "Name them as they were named when the model was fitted.",
                source=source,
                names=list(map(str, columns)),
                existing=list(names),
            )
        return cls({key: kinds.get(name, "number") for key, name in fitted.items()}, fitted)

    def as_fitted(self, part: Part) -> object:
        """Return the rows by the names that the classifier was fitted to."""
        reads: list[Any] = [name for name in self.reads if name in part.names]
        names = [self.fitted[name] for name in reads]
        rows = part.table if part.names == reads else part.table.select(*reads)
        return rows.to_native() if names == reads else rows.to_pandas().set_axis(names, axis=1)


def _kinds(classifier: Estimator) -> dict[Name, str]:
    """Return the kinds of the columns that a classifier reads."""
    blocks, derived = classifier.state_.schema.blocks, classifier._derived_columns()
    every = [column for part in blocks.values() for column in part if column.source is None]
    kinds = {column.name: _kind(column) for column in every}
    sources = {derived[name].name: _kind(derived[name]) for name in kinds if name in derived}
    return {name: kind for name, kind in kinds.items() if name not in derived} | sources


def _kind(column: Column) -> str:
    """Return the kind of the cells of a column: numbers match levels by their value."""
    types = {type(level) for level in column.levels}
    if types == {bool}:
        return "boolean"
    return "text" if str in types else "number"
