"""Fits on a cluster: each worker reduces its partitions to training states, which are merged."""

import dataclasses
from collections.abc import Iterable
from typing import Any, TypeVar

from bayesgen.errors.data import too_few_classes, zero_weights
from bayesgen.errors.sources import no_column, no_rows_in_source
from bayesgen.errors.wording import Code
from bayesgen.estimators.sources.fit import (
    LabelledSource,
    add,
    forget_fit,
    reduced,
    refuse_new_columns,
    require_statistics,
)
from bayesgen.estimators.training import TrainingState
from bayesgen.estimators.updates.accumulation import with_its_rows
from bayesgen.estimators.updates.merged_state import merged
from bayesgen.table.sources import PART_ROWS, Cluster, Part, Source

C = TypeVar("C", bound=Any)

HEAD_ROWS = 1000
"""Rows that decide on blocks and origins, which all partitions then share."""


def fit_source(classifier: C, labelled: LabelledSource) -> C:
    """Fit to a source: on the cluster where its rows lie, else here, part by part."""
    cluster = labelled.source.cluster
    if cluster is None:
        return reduced(classifier, labelled)
    return reduced_on_cluster(classifier, labelled, cluster)


def reduced_on_cluster(classifier: C, labelled: LabelledSource, cluster: Cluster) -> C:
    """Fit to the partitions of a cluster: workers return statistics, never rows.

    Raises:
        InvalidData: rows have to stay in memory.
        BayesgenError: as in `fit`; the message names the partition, and the row if it is one.
    """
    require_statistics(classifier)
    forget_fit(classifier)
    first = Part("the first rows", 0, cluster.head(HEAD_ROWS))
    if not len(first):
        raise no_rows_in_source(labelled.source.name)
    add(classifier, labelled, first)
    if not hasattr(classifier, "state_"):
        add_weighted(classifier, labelled, cluster)
    prototype = with_its_rows(classifier)
    # they come again in their partition
    prototype.state_ = classifier.state_.without_rows()
    # the dataframe itself stays here
    source = Source(labelled.source.name, lambda _: iter(()), tuple(first.names))
    here = dataclasses.replace(labelled, source=source)
    state = cluster.reduced(PartitionState(prototype, here), merged)
    if state is None:
        raise no_rows_in_source(labelled.source.name)
    if len(state.classes) < 2:
        raise too_few_classes(state.classes.tolist())
    return classifier._finish_fit(state, classifier._seed)


def add_weighted(classifier: Any, labelled: LabelledSource, cluster: Cluster) -> None:
    """Add the first rows of a weight above 0.

    Raises:
        InvalidData: there is none.
    """
    first = Part("the first rows", 0, cluster.head(HEAD_ROWS, labelled.weight))
    if not len(first):
        raise zero_weights()
    add(classifier, labelled, first)


@dataclasses.dataclass(frozen=True, eq=False)
class PartitionState:
    """The function from a partition to its training state; None without rows.

    prototype: a fit to no rows, with the blocks and origins of all. labelled: the columns of all,
    and which of them hold labels and weights.
    """

    prototype: Any
    labelled: LabelledSource

    def __call__(self, name: str, frames: Iterable[object]) -> TrainingState | None:
        """Return the state of the rows of a partition.

        Raises:
            InvalidData: the partition lacks a column, or has another.
        """
        classifier, start = with_its_rows(self.prototype), 0
        for frame in frames:
            whole = Part(name, start, frame)
            names = self.labelled.source.names or ()
            refuse_new_columns(whole, names)
            if lacks := [n for n in names if n not in whole.names]:
                raise no_column(Code(name), lacks[0], whole.names)
            for first in range(0, len(whole), PART_ROWS):
                add(classifier, self.labelled, whole.rows(first, first + PART_ROWS))
            start += len(whole)
        return classifier.state_ if start else None
