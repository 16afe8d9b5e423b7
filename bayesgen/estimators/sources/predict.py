"""Predictions for sources: streams of columns, computed part by part."""

import contextlib
import dataclasses
import functools
import inspect
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, TypeVar, cast

import numpy as np
from jaxtyping import Float

from bayesgen import predict
from bayesgen.errors import (
    BayesgenError,
    InSampleScore,
    InvalidData,
    Words,
    deduplicate_warnings,
)
from bayesgen.estimators.estimator import Estimator
from bayesgen.estimators.in_sample import SeenRows, in_sample_score
from bayesgen.estimators.judged_rows import LOSS
from bayesgen.estimators.prediction_sets import PredictionSets
from bayesgen.schema import MISSING
from bayesgen.sources import (
    ANSWERS,
    Kinds,
    Part,
    Source,
    answer_schema,
    answer_stream,
    answer_table,
    asked_by,
    source_of,
)
from bayesgen.table import Name
from bayesgen.typing import Labels, Self

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
        stated = signature.bind(self, X, *args, **options).arguments
        options = {name: stated[name] for name in stated if name not in ("self", "X")}
        return Answers(self, {verb: options}).to(source)

    return cast(M, either)


@dataclasses.dataclass(frozen=True, eq=False)
class Answers:
    """Predictions of a fitted classifier for the rows of sources.

    asked: verbs of `ANSWERS`, each with its arguments besides X.
    """

    classifier: Estimator
    asked: Mapping[str, Mapping[str, object]]

    @classmethod
    def of_command(cls, classifier: Estimator, **options: object) -> Self:
        """Return the answers of `bayesgen predict`.

        Args:
            classifier: fitted.
            options: of the command, by name, that ask for an answer.
        """
        return cls(classifier, asked_by(options))

    def __post_init__(self) -> None:
        """Refuse a classifier that has no answer, before any row is read."""
        fit = self.classifier._fit_with_rows()
        for name in self.asked:
            if ANSWERS[name].posterior:
                verb = Words(name, f"--{ANSWERS[name].option}")
                predict.require_posterior(fit.fitted.posterior, verb)
        if (sets := self.asked.get("predict_set")) is not None:
            X, y, weight = (sets.get(name) for name in ("X_fit", "y_fit", "weight_fit"))
            by, method = cast(Hashable, sets.get("by")), cast(str, sets.get("method", "auto"))
            PredictionSets(fit, X, y, weight, by=by, method=method).require()

    @property
    def schema(self) -> Any:
        """The columns of the answers, as a pyarrow Schema."""
        return answer_schema(self.asked, self.classifier.classes_)

    @property
    def columns(self) -> list[str]:
        """The names of the columns of the answers."""
        return self.schema.names

    def __call__(self, part: Part, earlier: set | None = None) -> Any:
        """Return the answers to a part of a source, as a pyarrow Table.

        Args:
            part: some rows.
            earlier: what earlier parts have warned of, see `deduplicate_warnings`; None: nothing.

        Raises:
            BayesgenError: it names the part.
        """
        # verbs warn of the same cells, and so do parts
        with deduplicate_warnings(part=part.name, rows=part.rows, earlier=earlier):
            names: list[Any] = list(columns_read(self.classifier, part.name, part.names))
            X = part.table.select(*names).to_native()

            def returned(verb: str) -> Any:
                return getattr(self.classifier, verb)(X, **self.asked.get(verb, {}))

            return answer_table(self.asked, returned, self.classifier.classes_)

    def in_sample(
        self,
        source: Source,
        target: str,
        codes_of: Callable[[Any], Labels],
        counts: Float[np.ndarray, " class"],
    ) -> InSampleScore | None:
        """Return the warning that the rows of a source are those of the fit; None: others.

        They are read again, if there are as many of each class as in the fit.

        Args:
            source: of the rows that were answered.
            target: its column of classes.
            codes_of: table -> class codes, -1 where a row has no class of the fit.
            counts: rows of each class.
        """
        classes, names = self.classifier.classes_, source.names or ()
        seen = SeenRows(self.classifier._fit_with_rows())
        if not seen.could_be(counts):
            return None
        columns = getattr(self.classifier, "feature_names_in_", ())
        kinds = {name: "any" for name in columns if name in names}
        kinds |= {target: "text", **columns_read(self.classifier, source.name, names)}
        # levels that are none of the fit are refused
        with contextlib.suppress(BayesgenError):
            for part in source.parts(cast(Kinds, kinds)):
                codes = codes_of(part.table.to_arrow())
                rows = Part(part.name, part.start, part.take(np.flatnonzero(codes >= 0)))
                features = rows.without(target).frame if target not in columns else rows.frame
                seen.add(features, classes[codes[codes >= 0]])
            if seen.are_of_fit:
                return in_sample_score(seen, LOSS)
        return None

    def to(self, source: Source) -> Any:
        """Return the answers to a source: a RecordBatchReader, or a dataframe on its cluster."""
        if source.cluster is None:
            return self.reader(source)
        columns_read(self.classifier, source.name, source.names or ())
        return source.cluster.answered(self, self.schema)

    def reader(self, source: Source, keep: Sequence[str] = ()) -> Any:
        """Return the answers to a source, as a RecordBatchReader that computes them when read.

        Args:
            source: of rows.
            keep: columns of the source that come first; the first part is then read at once.
        """
        kinds = None
        if source.names is not None:
            reads = columns_read(self.classifier, source.name, source.names)
            kinds = dict.fromkeys(keep, "text") | dict(reads)
        rows = min(source.part_rows, DRAWS_ROWS) if "predict_draws" in self.asked else None
        answer = functools.partial(self, earlier=set())
        return answer_stream(source.parts(kinds, rows), self.schema, answer, keep)


def columns_read(classifier: Estimator, source: str, names: Sequence[Name]) -> Kinds:
    """Return the columns of a source that a fitted classifier reads, and their kinds.

    Columns match by name, and others are not read; those of a classifier that was fitted to an
    array are all read, and match by position.

    Args:
        classifier: fitted.
        source: its name in sentences.
        names: of its columns.

    Raises:
        InvalidData: the source has none of the columns.
    """
    members = list(getattr(classifier, "members_", {"": classifier}).values())
    if members[0].state_.schema.container not in ("pandas", "polars", "pyarrow"):
        return dict.fromkeys(names, "any")
    kinds = {name: kind for member in members for name, kind in _kinds(member).items()}
    columns = members[0].state_.schema.names
    columns = [name for name in columns if name in kinds] or columns  # a program reads all
    reads = {name: kinds.get(name, "number") for name in columns if name in names}
    if not reads:
        raise InvalidData(
            "{source!r} has none of the columns that the model reads, {names:listed 20}; its "
            "columns are {existing:listed 20}.",
            "Name them as they were named when the model was fitted.",
            source=source,
            names=list(map(str, columns)),
            existing=list(names),
        )
    return reads


def _kinds(classifier: Estimator) -> dict[Name, str]:
    """Return the kinds of the columns that a classifier reads."""
    blocks = classifier.state_.schema.blocks.values()
    return {c.reads: c.in_files for block in blocks for c in block if c.kind != MISSING}
