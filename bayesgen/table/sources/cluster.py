"""`Cluster`: a dataframe whose partitions are reduced and predicted by the workers that hold them.

An engine runs a task again if its worker dies, and counts what it returned once. No engine is
imported here: their dataframes have the methods.
"""

import abc
import functools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from bayesgen.errors import BayesgenError
from bayesgen.table.sources.answers import Answer, Columns

TOGETHER = 8
"""Results of partitions that one task merges."""

Frames = Iterable[object]
Chunk = Callable[[str, Frames], Any]
"""The name of a partition and its rows, as eager frames -> what becomes of them; None: nothing."""
Merge = Callable[[Any, Any], Any]


class Cluster(abc.ABC):
    """A dataframe whose partitions lie on the workers of a cluster."""

    @abc.abstractmethod
    def head(self, rows: int, weight: str | None = None) -> object:
        """Return the first rows, at most so many, as an eager frame.

        weight: column of numbers that are above 0 in these rows; None: any rows.
        """

    @abc.abstractmethod
    def frames(self) -> Iterator[object]:
        """Yield the rows, one partition in memory at a time."""

    @abc.abstractmethod
    def reduced(self, chunk: Chunk, merge: Merge) -> Any:
        """Return what chunks make of the partitions, merged in a tree; None without rows.

        Both functions are pickled. An error of this package ends the reduction and is raised here.
        """

    @abc.abstractmethod
    def mapped(self, answer: Answer, columns: Columns) -> Any:
        """Return a dataframe on the cluster with the answers to its rows, computed when needed.

        Args:
            answer: to the rows of a part; it is pickled.
            columns: of the answers.
        """


# -- an error is a result, so that the engine does not run its task again --------------------------


def caught(chunk: Chunk, name: str, frames: Frames) -> Any:
    """Return what becomes of a partition, or the error that it raises."""
    try:
        return chunk(name, frames)
    except BayesgenError as error:
        return error


def folded(merge: Merge, values: Iterable[Any]) -> Any:
    """Return results merged one by one: the first error, if there is one; None where all are."""

    def both(one: Any, other: Any) -> Any:
        if one is None or isinstance(other, BayesgenError):
            return other
        if other is None or isinstance(one, BayesgenError):
            return one
        try:
            return merge(one, other)
        except BayesgenError as error:
            return error

    return functools.reduce(both, values, None)


def raised(value: Any) -> Any:
    """Return a result, or raise the error that it is."""
    if isinstance(value, BayesgenError):
        raise value
    return value
