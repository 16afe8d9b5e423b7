"""Spark DataFrames: tasks return pickles, which only move."""

import copy
import dataclasses
import functools
import pickle
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from bayesgen.errors import InvalidData
from bayesgen.errors.wording import Code
from bayesgen.table.sources.answers import Answer, Columns, answered, arrow_array
from bayesgen.table.sources.cluster import (
    TOGETHER,
    Chunk,
    Cluster,
    Merge,
    caught,
    folded,
    raised,
)
from bayesgen.table.sources.part import PART_ROWS, Part


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

        tables = self.frame.mapInArrow(_spark_tables, "rows binary")
        for row in tables.toLocalIterator(prefetchPartitions=True):
            yield pa.ipc.open_stream(row[0]).read_all()

    def reduced(self, chunk: Chunk, merge: Merge) -> Any:
        """Return what chunks make of the partitions; tasks return pickles, which only move."""
        results = self.frame.mapInArrow(functools.partial(_spark_chunk, chunk), "result binary")
        merged = results.repartition(TOGETHER).mapInArrow(
            functools.partial(_spark_merge, merge), "result binary"
        )
        values = (pickle.loads(row[0]) for row in merged.collect())
        return raised(folded(merge, values))

    def mapped(self, answer: Answer, columns: Columns) -> Any:
        """Return the Spark DataFrame, whose rows have no order, with the answers beside them.

        Raises:
            InvalidData: a column has the name of one of the answers.
        """
        if taken := [name for name in columns if name in self.frame.columns]:
            raise InvalidData(
                "{source!r} already has the {columns:named column}, and predictions of the "
                "same name would be added.",
                "Leave these out, X.drop({columns:listed}), or rename them.",
                source=Code("the Spark DataFrame"),
                columns=taken,
            )
        schema = copy.deepcopy(self.frame.schema)
        for name, kind in columns.items():
            schema.add(name, _spark_type(kind))
        return self.frame.mapInArrow(functools.partial(_spark_answers, answer), schema)


def _spark_type(kind: str | np.ndarray) -> Any:
    from pyspark.sql import types

    if isinstance(kind, str):
        number = types.DoubleType()
        return number if kind == "number" else types.ArrayType(number)
    named = {"b": types.BooleanType, "i": types.LongType, "f": types.DoubleType}
    return named.get(kind.dtype.kind, types.StringType)()


def _spark_answers(answer: Answer, batches: Iterator) -> Iterator:
    start = 0
    for table in grouped(batches):
        for name, values in answered(answer, Part(_spark_name(), start, table)).items():
            table = table.append_column(name, arrow_array(values))
        yield from table.to_batches()
        start += len(table)


def _spark_tables(batches: Iterator) -> Iterator:
    import pyarrow as pa

    for table in grouped(batches):
        written = pa.BufferOutputStream()
        with pa.ipc.new_stream(written, table.schema) as stream:
            stream.write_table(table)
        yield pa.RecordBatch.from_pydict({"rows": [written.getvalue().to_pybytes()]})


def _spark_chunk(chunk: Chunk, batches: Iterator) -> Iterator:
    yield _spark_cell(caught(chunk, _spark_name(), grouped(batches)))


def _spark_name() -> str:
    from pyspark import TaskContext  # of the worker, which runs it

    context = TaskContext.get()
    return f"partition {0 if context is None else context.partitionId()}"


def _spark_merge(merge: Merge, batches: Iterator) -> Iterator:
    values = (pickle.loads(cell.as_py()) for batch in batches for cell in batch.column(0))
    yield _spark_cell(folded(merge, values))


def _spark_cell(value: object) -> Any:
    import pyarrow as pa

    return pa.RecordBatch.from_pydict({"result": [pickle.dumps(value)]})


def grouped(batches: Iterable[Any], rows: int = PART_ROWS) -> Iterator[Any]:
    """Yield Arrow tables of about so many rows, made of several record batches."""
    import pyarrow as pa

    group: list = []
    for batch in batches:
        group.append(batch)
        if sum(map(len, group)) >= rows:
            yield pa.Table.from_batches(group)
            group = []
    if sum(map(len, group)):
        yield pa.Table.from_batches(group)
