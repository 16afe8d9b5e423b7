"""Fits to sources: the training state of parts of rows, then inference once."""

import contextlib
import dataclasses
import functools
from collections.abc import Callable, Generator, Iterable, Iterator
from typing import Any, TypeVar

import numpy as np

from bayesgen.errors import InvalidData
from bayesgen.errors.data import too_few_classes, zero_weights
from bayesgen.errors.sources import (
    needs_rows_in_memory,
    no_column,
    no_features,
    no_rows_in_source,
)
from bayesgen.errors.wording import Code
from bayesgen.estimators.estimator import Estimator
from bayesgen.estimators.state import TrainingState
from bayesgen.estimators.training_rows import TrainingRows
from bayesgen.estimators.updates.accumulation import with_its_rows
from bayesgen.estimators.updates.merging import merged
from bayesgen.progress_bar import Progress, progress_bar
from bayesgen.sources import Cluster, Part, Source, source_of
from bayesgen.table import from_dicts, is_frame

C = TypeVar("C", bound=Estimator)
E = TypeVar("E", bound=Estimator)

LONG = 1.0
"""Seconds of a fit after which a bar is shown."""

HEAD_ROWS = 1000
"""Rows of a cluster that decide on blocks and origins, which all partitions then share."""


@dataclasses.dataclass(frozen=True, eq=False)
class LabelledSource:
    """A source of rows with a column of labels, and perhaps one of weights.

    source: of the rows. target: the column of the labels. weight: that of the weights, or None.
    """

    source: Source
    target: str
    weight: str | None = None

    @property
    def beside(self) -> list[str]:
        """The columns that are no features."""
        return [self.target] if self.weight is None else [self.target, self.weight]

    def require_columns(self, name: str, names: Iterable) -> None:
        """Raise unless columns have these names, and one is a feature; `name` is what has them."""
        features = [column for column in names if column not in self.beside]
        for column in self.beside:
            if column not in names:
                raise no_column(name, column, features)
        if not features:
            raise no_features(name, self.target)

    @contextlib.contextmanager
    def parts(self, progress: Progress) -> Generator[Iterator[Part]]:
        """Give an iterator over the parts, in which a progress bar counts rows.

        Raises:
            InvalidData: there is no row, or a part has no column of labels or weights.
        """
        with progress_bar(self.source.n_rows, progress, unit="row", delay=LONG) as bar:

            def counted() -> Iterator[Part]:
                part = None
                for part in self.source.parts():
                    self.require_columns(Code(part.name), part.names)
                    yield part
                    bar.update(len(part))
                if part is None and self.source.once:
                    raise InvalidData(
                        "{source!r} has no rows left: it can be read only once.",
                        "Create it again, or pass a function that returns a new one.",
                        source=self.source.name,
                    )
                if part is None:
                    raise no_rows_in_source(self.source.name)

            yield counted()

    def split(self, part: Part) -> tuple[Part, object, np.ndarray | None]:
        """Return the features of a part, its labels and its weights."""
        weight = None if self.weight is None else part.table[self.weight].to_numpy()
        return part.without(*self.beside), part.table[self.target].to_native(), weight

    def rows(self, part: Part, read: Callable[..., TrainingRows]) -> TrainingRows | None:
        """Return the training rows of a part; None if all their weights are 0.

        Args:
            part: some rows.
            read: features, labels and weights -> training rows.

        Raises:
            BayesgenError: as in `partial_fit`, and rows without a label.
        """
        features, labels, weight = self.split(part)
        if weight is not None and not np.any(weight):
            return None
        rows = read(features.frame, labels, weight)
        if rows.unlabelled is not None:
            raise self.no_label(len(rows.unlabelled.codes), len(part))
        return rows

    def no_label(self, count: int, n_rows: int) -> InvalidData:
        """Return the error about rows of a part that have no label."""
        return InvalidData(
            "column {column!r} is missing in {count:,} of {n_rows:rows}; every row needs a class.",
            "Remove these rows, or fill the column; rows without a class can be fitted only from "
            "tables in memory, fit(X, y).",
            column=self.target,
            count=count,
            n_rows=n_rows,
        )


# -- labels in a column ----------------------------------------------------------------------------


def fit_by_column(
    fit: Callable[..., E], estimator: E, X: object, y: str, sample_weight: object
) -> E:
    """Fit to a table with names, or to a source, y being the name of one of its columns.

    Args:
        fit: to rows and their labels.
        estimator: to fit.
        X: rows with their labels.
        y: the column of the labels.
        sample_weight: the weights, or the name of their column.

    Raises:
        InvalidData: there is no such column; weights beside a source.
    """
    source = source_of(X)
    if source is None:
        return fit(estimator, *columns_of_table(X, y, sample_weight))
    if not isinstance(sample_weight, str | None):
        raise InvalidData(
            "sample_weight of {source!r} is of type {found}; the weights of a source must be "
            "one of its columns.",
            "Name it: fit(X, y, sample_weight='column').",
            source=source.name,
            found=type(sample_weight).__name__,
        )
    labelled = LabelledSource(source, y, sample_weight)
    if source.names is not None:
        labelled.require_columns(source.name, source.names)
        labelled = dataclasses.replace(labelled, source=source.with_classes(y))
    return estimator._fit_source(labelled)


def columns_of_table(X: object, y: str, sample_weight: object) -> tuple[Any, object, Any]:
    """Return the features, the labels and the weights of a table in memory that y is a column of.

    Raises:
        InvalidData: there is no such column.
    """
    X = from_dicts(X)
    if not is_frame(X):
        raise InvalidData(
            "y={target!r} names a column, and X is of type {found}, whose columns have no names.",
            "Pass the labels themselves: fit(X, y).",
            target=y,
            found=type(X).__name__,
        )
    part = Part("X", 0, X)
    weight = sample_weight if isinstance(sample_weight, str) else None
    labelled = LabelledSource(Source(Code("X"), lambda _: iter([part])), y, weight)
    labelled.require_columns(Code("X"), part.names)
    features, labels, weights = labelled.split(part)
    return features.frame, labels, sample_weight if weight is None else weights


# -- the fit ---------------------------------------------------------------------------------------


def learned_from(
    classifier: C, labelled: LabelledSource, progress: Progress
) -> tuple[C, TrainingState]:
    """Return a copy of a classifier that has read a source, and the training state of its rows.

    The states of parts are added. Workers of a cluster return the states of their partitions, never
    rows.

    Args:
        classifier: without any rows.
        labelled: the source.
        progress: whether a bar is shown.

    Raises:
        InvalidData: rows have to stay in memory, for a family that keeps them; all weigh 0.
        BayesgenError: as in `fit`; the message names the part.
    """
    cluster = labelled.source.cluster
    if cluster is None:
        with labelled.parts(progress) as parts:
            learner = learned(classifier, labelled, parts)
        state = learner.state_ if hasattr(learner, "fitted_") else None
    else:
        learner, state = learned_on_cluster(classifier, labelled, cluster)
    if state is None:
        raise zero_weights()
    if len(state.classes) < 2:
        raise too_few_classes(state.classes.tolist())
    return learner, state


def learned(classifier: C, labelled: LabelledSource, parts: Iterable[Part]) -> C:
    """Return a copy of a classifier that has the training state of parts too.

    It has none where they weigh 0. An error names the part.
    """
    learner = with_its_rows(classifier)
    for part in parts:
        with part.located():
            learner._accumulate(functools.partial(labelled.rows, part))
        if not hasattr(learner, "fitted_"):
            continue  # all rows so far weigh 0
        for likelihood in learner.state_.likelihoods.values():
            if likelihood.keeps_rows:
                raise needs_rows_in_memory(type(likelihood).__name__)
    return learner


def learned_on_cluster(
    classifier: C, labelled: LabelledSource, cluster: Cluster
) -> tuple[C, TrainingState | None]:
    """Return the classifier with the state of the first rows, and the state of all partitions.

    Raises:
        InvalidData: there is no row, or none of a weight above 0.
    """
    source = labelled.source
    head = Part("the first rows", 0, cluster.head(HEAD_ROWS, labelled.weight))
    if not len(head):
        raise no_rows_in_source(source.name) if labelled.weight is None else zero_weights()
    learner = learned(classifier, labelled, [head])
    prototype = with_its_rows(learner)
    # the first rows come again in their partition
    state = learner.state_.without_rows()
    prototype.fitted_ = dataclasses.replace(learner.fitted_, state=state)
    # the dataframe itself stays here
    columns = Source(source.name, lambda _: iter(()), source.names)
    labelled = dataclasses.replace(labelled, source=columns)
    return learner, cluster.reduced(functools.partial(partition_state, prototype, labelled), merged)


def partition_state(
    prototype: Estimator, labelled: LabelledSource, parts: Iterable[Part]
) -> TrainingState | None:
    """Return the training state of the rows of a partition; None without rows.

    Args:
        prototype: a fit to no rows, with the blocks and origins of all.
        labelled: the columns of all, and which of them hold labels and weights.
        parts: of the partition.

    Raises:
        InvalidData: the partition lacks a column.
    """
    learner = prototype
    for part in parts:
        if lacks := [name for name in labelled.source.names or () if name not in part.names]:
            # a worker's warning would be lost
            raise no_column(Code(part.name), lacks[0], part.names)
        learner = learned(learner, labelled, [part])
    return None if learner is prototype else learner.state_
