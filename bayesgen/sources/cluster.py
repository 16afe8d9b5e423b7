"""`Cluster`: a dataframe whose partitions are reduced and predicted by the workers that hold them.

An engine runs a task again if its worker dies, and counts what it returned once.
"""

import abc
import functools
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from bayesgen.sources.part import Part

if TYPE_CHECKING:
    import pyarrow as pa

TOGETHER = 8
"""Results of partitions that one task merges."""

Reduce = Callable[[Iterable[Part]], Any]
"""The rows of a partition -> what becomes of them; None: nothing."""
Merge = Callable[[Any, Any], Any]
Answer = Callable[[Part], "pa.Table"]
"""The rows of a part -> the answers to them, as a table of as many rows."""


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
    def reduced(self, reduce: Reduce, merge: Merge) -> Any:
        """Return what becomes of the partitions, merged in a tree; None without rows.

        Both functions are sent to the workers. An error of this package is raised here.
        """

    @abc.abstractmethod
    def answered(self, answer: Answer, schema: "pa.Schema") -> Any:
        """Return a dataframe on the cluster with the answers to its rows, computed when needed.

        Args:
            answer: to the rows of a part; it is sent to the workers.
            schema: of the answers.
        """


def merged(merge: Merge, results: Iterable[Any]) -> Any:
    """Return results merged one by one; None where all are."""
    some = [result for result in results if result is not None]
    return functools.reduce(merge, some) if some else None
