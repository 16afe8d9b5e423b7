"""Streams of predictions: one row of numbers for each row of a source, computed part by part."""

import itertools
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesgen.table.sources.part import PART_ROWS, Part, eager

if TYPE_CHECKING:
    import pyarrow as pa

Columns = Mapping[str, str | np.ndarray]
"""Column of the answers -> "number", "numbers" (a list in every row), or the classes it names."""
Answer = Callable[[Part], Mapping[str, np.ndarray]]
"""The answers to the rows of a part: column -> values, shape (row,) or (row, ...)."""


def answer_reader(
    parts: Iterator[Part], columns: Columns, answer: Answer, keep: Sequence[str] = ()
) -> "pa.RecordBatchReader":
    """Return the answers to the rows of a source, as a stream that computes them when read.

    Args:
        parts: of the source.
        columns: of the answers.
        answer: to the rows of a part; what it raises is raised to the reader.
        keep: columns of the source that come first; the first part is then read at once.
    """
    import pyarrow as pa

    fields = []
    if keep:
        first = next(parts, None)
        parts = iter(()) if first is None else itertools.chain([first], parts)
        kept = pa.schema([]) if first is None else eager(first.frame).to_arrow().schema
        fields = [kept.field(name) for name in keep if name in kept.names]
    schema = pa.schema([*fields, *((name, _type(kind)) for name, kind in columns.items())])

    def batches() -> Iterator[pa.RecordBatch]:
        for part in parts:
            kept = eager(part.frame).to_arrow() if keep else None
            found = {name: arrow_array(values) for name, values in answer(part).items()}
            own = {} if kept is None else {name: kept[name] for name in keep}
            table = pa.table({**own, **found}).cast(schema)
            yield from table.combine_chunks().to_batches()

    return pa.RecordBatchReader.from_batches(schema, batches())


def answer_lazy_frame(frame: Any, columns: Columns, answer: Answer) -> Any:
    """Return the answers to the rows of a polars LazyFrame, as another.

    `collect(engine="streaming")` and the sinks of polars compute them in batches.
    """
    import polars as pl
    import pyarrow as pa

    arrow = pa.schema([(name, _type(kind)) for name, kind in columns.items()])
    types = dict(pl.DataFrame(arrow.empty_table()).schema)
    # polars may call from several threads, and warnings are recorded for the whole process
    one_at_a_time = threading.Lock()

    def answered(batch: pl.DataFrame) -> pl.DataFrame:
        if not len(batch):
            return pl.DataFrame(schema=types)
        with one_at_a_time:
            found = answer(Part("a batch of the LazyFrame", 0, batch))
        values = {name: arrow_array(values) for name, values in found.items()}
        return pl.DataFrame({name: pl.Series(name, values[name]) for name in types}, schema=types)

    return frame.map_batches(answered, schema=types, streamable=True)


def _type(kind: str | np.ndarray) -> "pa.DataType":
    import pyarrow as pa

    if not isinstance(kind, str):
        return pa.array(kind.tolist()).type
    return pa.list_(pa.float64()) if kind == "numbers" else pa.float64()


def arrow_array(values: np.ndarray) -> "pa.Array":
    """Return values as an Arrow array; those of shape (row, draw) as lists."""
    import pyarrow as pa

    if values.ndim == 1:
        return pa.array(values.tolist() if values.dtype.kind in "OU" else values)
    ends = np.arange(0, values.size + 1, values.shape[1], dtype=np.int32)
    return pa.ListArray.from_arrays(ends, np.ascontiguousarray(values).ravel())


def answered(answer: Answer, part: Part) -> dict[str, np.ndarray]:
    """Return the answers to a part of any size, PART_ROWS at a time."""
    starts = range(0, len(part), PART_ROWS)
    each = [answer(part.rows(start, start + PART_ROWS)) for start in starts]
    return {name: np.concatenate([found[name] for found in each]) for name in each[0]}
