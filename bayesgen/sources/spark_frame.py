"""Spark DataFrames: partitions are reduced and answered by `mapInArrow`.

The results of tasks are pickles in one cell of bytes, which only move between processes of Spark.
"""

import dataclasses
import functools
import pickle
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from bayesgen.errors import BayesgenError, InvalidData
from bayesgen.sources.cluster import (
    TOGETHER,
    Answer,
    Cluster,
    Merge,
    Reduce,
    merged,
)
from bayesgen.sources.part import PART_ROWS, Part

if TYPE_CHECKING:
    import pyarrow as pa


@dataclasses.dataclass(frozen=True, eq=False)
class SparkFrame(Cluster):
    """A Spark DataFrame."""

    frame: Any

    def head(self, rows: int, weight: str | None = None) -> object:
        """Return the first rows."""
        frame = self.frame if weight is None else self.frame.filter(self.frame[weight] > 0)
        return frame.limit(rows).toArrow()

    def frames(self) -> Iterator[object]:
        """Yield the rows in tables, each of which comes as one cell of bytes."""
        import pyarrow as pa

        cells = self.frame.mapInArrow(_serialized, "result binary")
        for row in cells.toLocalIterator(prefetchPartitions=True):
            yield pa.ipc.open_stream(row[0]).read_all()

    def reduced(self, reduce: Reduce, merge: Merge) -> Any:
        """Return what becomes of the partitions, merged by TOGETHER tasks and then here."""
        leaf = functools.partial(_outcome, functools.partial(_reduced, reduce))
        node = functools.partial(_outcome, functools.partial(_merged, merge))
        results = self.frame.mapInArrow(leaf, "result binary").repartition(TOGETHER)
        cells = results.mapInArrow(node, "result binary").collect()
        return merged(merge, map(_result, (row[0] for row in cells)))

    def answered(self, answer: Answer, schema: "pa.Schema") -> Any:
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
        both = StructType([*self.frame.schema.fields, *from_arrow_schema(schema).fields])
        return self.frame.mapInArrow(functools.partial(_answered, answer), both)


def _reduced(reduce: Reduce, batches: Iterable["pa.RecordBatch"]) -> Any:
    return reduce(_parts(batches))


def _merged(merge: Merge, batches: Iterable["pa.RecordBatch"]) -> Any:
    cells = (cell.as_py() for batch in batches for cell in batch.column(0))
    return merged(merge, map(_result, cells))


def _outcome(function: Callable[[Any], Any], batches: Iterable["pa.RecordBatch"]) -> Iterator:
    """Yield what a function returns, or the error that it raises, lest Spark runs it again."""
    try:
        outcome = function(batches)
    except BayesgenError as error:
        outcome = error
    yield _cell(pickle.dumps(outcome))


def _result(cell: bytes) -> Any:
    """Return the result that a task returned, or raise its error."""
    outcome = pickle.loads(cell)
    if isinstance(outcome, BayesgenError):
        raise outcome
    return outcome


def _answered(answer: Answer, batches: Iterable["pa.RecordBatch"]) -> Iterator["pa.RecordBatch"]:
    for part in _parts(batches):
        table, answers = part.frame, answer(part)
        for name in answers.column_names:
            table = table.append_column(name, answers[name])
        yield from table.to_batches()


def _serialized(batches: Iterable["pa.RecordBatch"]) -> Iterator["pa.RecordBatch"]:
    import pyarrow as pa

    for part in _parts(batches):
        written = pa.BufferOutputStream()
        with pa.ipc.new_stream(written, part.frame.schema) as stream:
            stream.write_table(part.frame)
        yield _cell(written.getvalue().to_pybytes())


def _cell(content: bytes) -> "pa.RecordBatch":
    import pyarrow as pa

    return pa.RecordBatch.from_pydict({"result": [content]})


def _parts(batches: Iterable["pa.RecordBatch"]) -> Iterator[Part]:
    """Yield the rows of a partition, several batches of Spark's together."""
    import pyarrow as pa
    from pyspark import TaskContext  # of the worker, which runs it

    context = TaskContext.get()
    name = f"partition {0 if context is None else context.partitionId()}"
    group: list[pa.RecordBatch] = []
    start = n_rows = 0
    for batch in batches:
        group.append(batch)
        n_rows += len(batch)
        if n_rows >= PART_ROWS:
            yield Part(name, start, pa.Table.from_batches(group))
            start, n_rows, group = start + n_rows, 0, []
    if n_rows:
        yield Part(name, start, pa.Table.from_batches(group))
