"""Dataframes whose partitions are reduced and predicted by the workers of a cluster.

An engine runs a task again if its worker dies, and counts what it returned once. Dask's partitions
are reduced by delayed calls and answered by `map_partitions`; Spark's by `mapInArrow`, where the
results of tasks are pickles in one cell of bytes, which only move between processes of Spark.
"""

import abc
import dataclasses
import functools
import pickle
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pyarrow as pa

from bayesgen.errors import BayesgenError, InvalidData
from bayesgen.sources.part import Part

TOGETHER = 8
"""Results of partitions that one task merges."""

Reduce = Callable[[Iterable[Part]], Any]
"""The rows of a partition -> what becomes of them; None: nothing."""
Merge = Callable[[Any, Any], Any]
Answer = Callable[[Part], pa.Table]
"""The rows of a part -> the answers to them, as a table of as many rows."""


@dataclasses.dataclass(frozen=True, eq=False)
class Cluster(abc.ABC):
    """A dataframe whose partitions lie on the workers of a cluster.

    frame: the engine's.
    """

    frame: Any

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
    def answered(self, answer: Answer, schema: pa.Schema) -> Any:
        """Return a dataframe on the cluster with the answers to its rows, computed when needed.

        Args:
            answer: to the rows of a part; it is sent to the workers.
            schema: of the answers.
        """


def _merged(merge: Merge, results: Iterable[Any]) -> Any:
    """Return results merged one by one; None where all are."""
    some = [result for result in results if result is not None]
    return functools.reduce(merge, some) if some else None


class DaskFrame(Cluster):
    """A Dask DataFrame."""

    def head(self, rows: int, weight: str | None = None) -> object:
        """Return the first rows, of as few partitions as have them."""
        import pandas as pd

        frame = self.frame if weight is None else self.frame[self.frame[weight] > 0]
        heads, n_rows = [], 0
        for partition in frame.partitions:
            heads.append(partition.head(rows - n_rows))
            n_rows += len(heads[-1])
            if n_rows >= rows:
                break
        return pd.concat(heads)

    def frames(self) -> Iterator[object]:
        """Yield the partitions."""
        return (partition.compute() for partition in self.frame.partitions)

    def reduced(self, reduce: Reduce, merge: Merge) -> Any:
        """Return what becomes of the partitions, by a tree of delayed calls."""
        import dask

        leaf = dask.delayed(lambda i, frame: reduce(Part(f"partition {i}", 0, frame).split()))
        node = dask.delayed(functools.partial(_merged, merge))
        results = [leaf(i, frame) for i, frame in enumerate(self.frame.to_delayed())]
        while len(results) > 1:
            starts = range(0, len(results), TOGETHER)
            results = [node(results[start : start + TOGETHER]) for start in starts]
        return results[0].compute()

    def answered(self, answer: Answer, schema: pa.Schema) -> Any:
        """Return a Dask DataFrame of the answers, with the index of the rows."""
        import pandas as pd

        index = pd.Index([], dtype=self.frame.index.dtype, name=self.frame.index.name)
        meta = schema.empty_table().to_pandas().set_axis(index)

        def answers(frame: Any, partition_info: dict | None = None) -> Any:
            part = Part(f"partition {(partition_info or {}).get('number', 0)}", 0, frame)
            tables = [schema.empty_table(), *map(answer, part.split())]
            return pa.concat_tables(tables).to_pandas().set_axis(frame.index).astype(meta.dtypes)

        return self.frame.map_partitions(answers, meta=meta)


class SparkFrame(Cluster):
    """A Spark DataFrame."""

    def head(self, rows: int, weight: str | None = None) -> object:
        """Return the first rows."""
        frame = self.frame if weight is None else self.frame.filter(self.frame[weight] > 0)
        return frame.limit(rows).toArrow()

    def frames(self) -> Iterator[object]:
        """Yield the rows in tables, each of which comes as one cell of bytes."""
        cells = self.frame.mapInArrow(lambda batches: map(_cell, batches), "result binary")
        return (pickle.loads(row[0]) for row in cells.toLocalIterator(prefetchPartitions=True))

    def reduced(self, reduce: Reduce, merge: Merge) -> Any:
        """Return what becomes of the partitions, merged by TOGETHER tasks and then here."""

        def leaf(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            yield _cell(_outcome(lambda: reduce(_parts(batches))))

        def node(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            cells = (cell.as_py() for batch in batches for cell in batch.column(0))
            yield _cell(_outcome(lambda: _merged(merge, map(_result, cells))))

        results = self.frame.mapInArrow(leaf, "result binary").repartition(TOGETHER)
        cells = results.mapInArrow(node, "result binary").collect()
        return _merged(merge, (_result(row[0]) for row in cells))

    def answered(self, answer: Answer, schema: pa.Schema) -> Any:
        """Return the Spark DataFrame, whose rows have no order, with the answers beside them.

        Raises:
            InvalidData: a column has the name of one of the answers.
        """
        from pyspark.sql.pandas.types import from_arrow_schema
        from pyspark.sql.types import StructType

        if taken := [name for name in schema.names if name in self.frame.columns]:
            raise InvalidData(
                "the Spark DataFrame already has the {columns:named column}, and predictions of "
                "the same name would be added.",
                "Leave these out, X.drop({columns:listed}), or rename them.",
                columns=taken,
            )

        def answers(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for part in _parts(batches):
                columns = [*part.frame.columns, *answer(part).columns]
                names = [*part.frame.column_names, *schema.names]
                yield from pa.table(columns, names=names).to_batches()

        both = StructType([*self.frame.schema.fields, *from_arrow_schema(schema).fields])
        return self.frame.mapInArrow(answers, both)


def _outcome(function: Callable[[], Any]) -> Any:
    """Return what a function returns, or the error that it raises, lest Spark runs it again."""
    try:
        return function()
    except BayesgenError as error:
        return error


def _cell(outcome: Any) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict({"result": [pickle.dumps(outcome)]})


def _result(cell: bytes) -> Any:
    """Return the result that a task returned, or raise its error."""
    outcome = pickle.loads(cell)
    if isinstance(outcome, BayesgenError):
        raise outcome
    return outcome


def _parts(batches: Iterable[pa.RecordBatch]) -> Iterator[Part]:
    """Yield the rows of a partition."""
    from pyspark import TaskContext  # of the worker, which runs it

    context, start = TaskContext.get(), 0
    name = f"partition {0 if context is None else context.partitionId()}"
    for batch in batches:
        if len(batch):
            yield Part(name, start, pa.table(batch))
            start += len(batch)
