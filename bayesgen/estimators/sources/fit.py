"""Fits to sources: one reduction of statistics over parts of rows, then inference once."""

import contextlib
import dataclasses
import functools
from collections.abc import Callable, Generator, Iterator, Sequence
from typing import Any, TypeVar, cast

import numpy as np

from bayesgen.errors import (
    AbsentColumns,
    BayesgenWarning,
    IncompletePart,
    InvalidSource,
    InvalidWeights,
    TooFewClasses,
    deduplicate_warnings,
    warn,
)
from bayesgen.errors.base import Code
from bayesgen.estimators import unlabelled_fit, validation
from bayesgen.estimators.learned_arguments import learned_from_rows
from bayesgen.estimators.training_rows import TrainingRows
from bayesgen.estimators.updates.accumulation import accumulated
from bayesgen.progress_bar import Progress, progress_bar
from bayesgen.table import from_dicts, is_frame, read_marked_target, read_target
from bayesgen.table.sources import FindRow, Part, Source, source_of

C = TypeVar("C", bound=Any)
M = TypeVar("M", bound=Callable)

LONG = 1.0
"""Seconds of a fit after which a bar is shown."""


@dataclasses.dataclass(frozen=True, eq=False)
class LabelledSource:
    """A source of rows with a column of labels, and perhaps one of weights.

    source: of the rows. target: the column of the labels. weight: that of the weights, or None.
    """

    source: Source
    target: str
    weight: str | None = None

    @classmethod
    def of(cls, source: Source, target: str, sample_weight: object) -> "LabelledSource":
        """Return a source with the columns that arguments of `fit` name.

        Raises:
            InvalidSource: weights that are not the name of a column, or a column that is not there.
        """
        if not isinstance(sample_weight, str | None):
            raise InvalidSource.weights(source.name, sample_weight)
        found = cls(source, target, sample_weight)
        if source.names is not None:
            found.require_columns(source.name, source.names)
        return found

    def require_columns(self, name: str, names: Any) -> None:
        """Raise unless columns have these names, and one is a feature; `name` is what has them."""
        own = [column for column in (self.target, self.weight) if column is not None]
        for column in own:
            if column not in names:
                raise InvalidSource.no_column(name, column, [n for n in names if n not in own])
        if len(names) <= len({*own}):
            raise InvalidSource.no_features(name, self.target)

    def require_rows(self, n_rows: int) -> None:
        """Raise if no row was read."""
        if not n_rows:
            none = InvalidSource.exhausted if self.source.once else InvalidSource.no_rows
            raise none(self.source.name)

    @contextlib.contextmanager
    def parts(self, progress: Progress) -> Generator[Iterator[Part]]:
        """Give an iterator over the parts, in which a progress bar counts rows.

        Columns that a part lacks are missing in its rows, with a warning.
        """
        total = self.source.n_rows
        with progress_bar(total, progress, unit="row", delay=LONG) as bar:

            def counted() -> Iterator[Part]:
                names: list = []
                warned: set = set()
                for part in self.source.parts():
                    found = part.names
                    self.require_columns(Code(part.name), found)
                    names = names or found
                    refuse_new_columns(part, names)
                    lacks = [n for n in names if n not in found and n not in warned]
                    if lacks:
                        warned.update(lacks)
                        warn(IncompletePart.lacks(part.name, lacks))
                    yield part
                    bar.update(len(part))

            yield counted()

    def split(self, part: Part) -> tuple[Part, object, np.ndarray | None]:
        """Return the features of a part, its labels and its weights.

        Raises:
            InvalidSource: a label or a weight is missing.
        """
        own = [column for column in (self.target, self.weight) if column is not None]
        labels = part.column(self.target)
        absent = part.missing(self.target)
        if absent:
            raise InvalidSource.no_label(self.target, absent, len(part))
        if self.weight is None:
            return part.without(*own), labels, None
        absent = part.missing(self.weight)
        if absent:
            raise InvalidSource.no_weight(self.weight, absent, len(part))
        return part.without(*own), labels, part.array(self.weight)

    def rows(self, classifier: Any, part: Part, *, reset: bool) -> TrainingRows | None:
        """Return the training rows of a part; None if all their weights are 0.

        Args:
            classifier: that reads them.
            part: some rows.
            reset: whether these are the first rows of a fit.
        """
        features, labels, weight = self.split(part)
        if weight is not None and not np.any(weight):
            return None
        unlabelled_fit.checked_weight(classifier.unlabelled)
        X, earlier = features.frame, [] if reset else classifier.classes_.tolist()
        with deduplicate_warnings(AbsentColumns):  # `parts` warns of them
            table = classifier._read(X, reset=reset)
        rows = validation.training_rows(table, X, labels, weight, classes=earlier, marks=False)
        self.check_labels(np.asarray(earlier), rows.classes)
        return classifier._own_rows(rows, reset=reset)

    def check_labels(self, earlier: np.ndarray, now: np.ndarray) -> None:
        """Reject labels of another type than those of earlier parts, and marks among them."""
        if len(earlier) and _kind(earlier) != _kind(now):
            raise InvalidSource.labels(self.target, earlier.tolist()[0], now.tolist()[0])
        every = np.union1d(earlier, now) if len(earlier) else now
        if read_marked_target(every, silent=True).there is not None:
            others = [label for label in every.tolist() if label != -1]
            raise InvalidSource.marked(self.target, others)


def refuse_new_columns(part: Part, names: Sequence) -> None:
    """Raise if a part has columns that the first one lacks.

    names: of the columns of the first part.
    """
    if new := [name for name in part.names if name not in names]:
        raise InvalidSource.new_columns(Code(part.name), new)


def _kind(labels: np.ndarray) -> str:
    """Return the kind of labels: "text", "boolean" or "number"."""
    if labels.dtype == object:
        labels = read_target(labels)
    return {"b": "boolean", "U": "text", "O": "text"}.get(labels.dtype.kind, "number")


def labels_in_column(fit: M) -> M:
    """Let y be the name of a column of X, which is then a table with names or a source."""

    @functools.wraps(fit)
    def either(self: Any, X: object, y: object, sample_weight: object = None) -> Any:
        if isinstance(y, str):
            return fit_column(self, X, y, sample_weight)
        return fit(self, X, y, sample_weight)

    return cast(M, either)


def fit_column(classifier: C, X: object, y: str, sample_weight: object) -> C:
    """Fit to a source, or to a table in memory, whose labels are the column `y`.

    Raises:
        InvalidSource: there is no such column.
    """
    source = source_of(X)
    if source is not None:
        return classifier._fit_source(LabelledSource.of(source, y, sample_weight))
    X = from_dicts(X)
    if not is_frame(X):
        raise InvalidSource.no_names(y, X)
    part = Part("X", 0, X)
    weight = sample_weight if isinstance(sample_weight, str) else None
    labelled = LabelledSource(Source("X", lambda _: iter([part])), y, weight)
    labelled.require_columns(Code("X"), part.names)
    own = [y] if weight is None else [y, weight]
    weights = sample_weight if weight is None else part.array(weight)
    return classifier.fit(part.without(*own).frame, part.column(y), weights)


def reduced(classifier: C, labelled: LabelledSource) -> C:
    """Fit to a source: statistics of all parts are added, then inference runs once.

    Memory is needed for one part and the statistics. The result is that of `fit` with all rows:
    new classes and levels may appear in any part.

    Raises:
        InvalidSource: rows have to stay in memory, for an argument that is learned from them or a
            family that keeps them.
        BayesgenError: as in `fit`; the message names the part, and the row if it is one.
    """
    require_statistics(classifier)
    forget_fit(classifier)
    read = 0
    with labelled.parts(getattr(classifier, "progress", "auto")) as parts:
        for part in parts:
            read += len(part)
            add(classifier, labelled, part)
    labelled.require_rows(read)
    if not hasattr(classifier, "state_"):
        raise InvalidWeights.all_zero()
    if len(classifier.classes_) < 2:
        raise TooFewClasses.found(classifier.classes_.tolist())
    return classifier._finish_fit(classifier.state_, classifier._seed)


def forget_fit(classifier: Any) -> None:
    """Remove what an earlier fit left."""
    for name in ("state_", "_posterior", "classes_"):
        vars(classifier).pop(name, None)
    classifier._training = ()


def require_statistics(classifier: Any) -> None:
    """Raise if a fit needs all rows at once, for an argument that is learned from them."""
    asks = learned_from_rows(classifier, ())
    if asks:
        name, value = next(iter(asks.items()))
        raise InvalidSource.kept_rows(f"{name}={value!r}")
    if getattr(classifier, "story", None) is not None:
        raise InvalidSource.kept_rows("a program of your own")


def add(classifier: Any, labelled: LabelledSource, part: Part) -> None:
    """Add the statistics of a part; an error names the part, and the row if it is one."""

    def added(some: Part) -> Any:
        other = object.__new__(type(classifier))
        vars(other).update(vars(classifier))
        first = not hasattr(other, "state_")
        rows = labelled.rows(other, some, reset=first)
        if rows is None:
            return other
        other.state_, other._seed, _ = accumulated(other, rows)
        other.classes_ = other.state_.classes
        return other

    with part.named(finding(part, added)):
        after = added(part)
    vars(classifier).update(vars(after))
    likelihoods = classifier.state_.likelihoods if hasattr(classifier, "state_") else {}
    for likelihood in likelihoods.values():
        if likelihood.keeps_rows:
            raise InvalidSource.kept_rows(type(likelihood).__name__)


def finding(part: Part, check: Callable[[Part], object]) -> FindRow:
    """Return the function that finds the row of a part for which a check raises an error."""

    def quiet(some: Part) -> object:
        with deduplicate_warnings(BayesgenWarning):
            return check(some)

    return lambda kind: part.first_row(quiet, kind)
