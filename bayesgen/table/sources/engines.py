"""Sources by type: Arrow streams and datasets, paths, lazy frames, relations, iterators of frames.

Engines are recognized by the module of a type, so that none is imported that the caller has not.
"""

import contextlib
import functools
import itertools
import os
from collections.abc import Callable, Generator, Iterable, Iterator
from typing import Any

import numpy as np

from bayesgen.errors import BayesgenError, InvalidData
from bayesgen.errors.sources import reason
from bayesgen.errors.wording import Code, rows
from bayesgen.table.columns import Names
from bayesgen.table.reading import is_frame
from bayesgen.table.sources.cluster import Cluster
from bayesgen.table.sources.dask_frame import DaskFrame
from bayesgen.table.sources.part import PART_ROWS, Part
from bayesgen.table.sources.source import Kinds, Source
from bayesgen.table.sources.spark_frame import SparkFrame


def source_of(X: object) -> Source | None:
    """Return the source of rows that X is; None for tables in memory and anything else.

    Args:
        X: a pyarrow RecordBatchReader or Dataset; another object with an Arrow stream that is not a
            table in memory; the path of a Parquet, CSV or Arrow file, of a folder of them, or a
            pattern; a polars LazyFrame; a DuckDB relation; a list or an iterator of frames, or a
            function without arguments that returns one, which can then be read again.

    Raises:
        InvalidData: there is no file at a path, or it cannot be read.

    Examples:
        >>> import pandas as pd
        >>> half = pd.DataFrame({"a": [1.0, 2.0], "y": ["no", "yes"]})
        >>> [part.name for part in source_of([half, half]).parts()]
        ['part 0', 'part 1']
        >>> source_of(half) is None
        True
    """
    if isinstance(X, Source):
        return X
    if isinstance(X, np.ndarray) or X is None or hasattr(X, "tocsr"):
        return None
    if isinstance(X, str | os.PathLike):
        from bayesgen.table.sources.files import file_source

        return file_source(X)
    kind = type(X)
    for (module, name), adapter in ADAPTERS.items():
        if any(_is(base, module, name) for base in kind.__mro__):
            return adapter(X)
    if hasattr(X, "__arrow_c_stream__"):
        # a table in memory has a number of rows
        return None if is_frame(X) or hasattr(X, "__len__") else _stream_source(X)
    return _frames_source(X)


def _is(kind: type, module: str, name: str) -> bool:
    return kind.__name__ == name and kind.__module__.split(".")[0].lstrip("_") == module


def is_lazy_frame(X: object) -> bool:
    """Return whether X is a polars LazyFrame."""
    return _is(type(X), "polars", "LazyFrame")


# -- engines: each yields batches of rows ----------------------------------------------------------


def _lazy_frame_source(X: Any) -> Source:
    def batches() -> Iterator[object]:
        return X.collect_batches(chunk_size=PART_ROWS, maintain_order=True)

    with _refusals("the LazyFrame"):
        names = tuple(X.collect_schema().names())
    return _numbered("the LazyFrame", batches, names)


def _relation_source(X: Any) -> Source:
    def batches() -> Iterator[object]:
        # of a query of its own, since a relation hands out one result
        again = X.select("*")
        read = getattr(again, "to_arrow_reader", None) or again.fetch_record_batch
        return read(PART_ROWS)

    return _numbered("the relation", batches, tuple(X.columns))


def _dataset_source(X: Any) -> Source:
    def batches() -> Iterator[object]:
        # with threads pyarrow reads ahead of a slow reader: 416 MB of a file of 661 MB, not 139
        options = {"use_threads": False, "batch_readahead": 0, "fragment_readahead": 0}
        return X.to_batches(batch_size=PART_ROWS, **options)

    with _refusals("the Dataset"):
        n_rows = X.count_rows()
    return _numbered("the Dataset", batches, tuple(X.schema.names), n_rows=n_rows)


def _reader_source(X: Any) -> Source:
    return _numbered("the RecordBatchReader", lambda: X, tuple(X.schema.names), once=True)


def _stream_source(X: Any) -> Source:
    def batches() -> Iterator[object]:
        import pyarrow as pa

        return pa.RecordBatchReader.from_stream(X)

    return _numbered(f"the {type(X).__name__}", batches)


def _cluster_source(kind: Callable[[Any], Cluster], name: str, X: Any) -> Source:
    cluster = kind(X)
    return _numbered(name, cluster.frames, tuple(X.columns), cluster=cluster)


ADAPTERS: dict[tuple[str, str], Callable[[Any], Source]] = {
    ("pyarrow", "RecordBatchReader"): _reader_source,
    ("pyarrow", "Dataset"): _dataset_source,
    ("polars", "LazyFrame"): _lazy_frame_source,
    ("duckdb", "DuckDBPyRelation"): _relation_source,
    ("dask", "DataFrame"): functools.partial(_cluster_source, DaskFrame, "the Dask DataFrame"),
    ("pyspark", "DataFrame"): functools.partial(_cluster_source, SparkFrame, "the Spark DataFrame"),
}
"""Package and name of a type -> what makes a source of it."""


def _numbered(
    name: str, batches: Callable[[], Iterable], names: Names | None = None, **about: Any
) -> Source:
    """Return the source of the batches of one stream, whose rows are numbered through."""

    def read(_: Kinds | None) -> Iterator[Part]:
        with _refusals(name):
            stream, start = iter(batches()), 0
        for i in itertools.count():
            # engines read ahead, so that the rows that fail may be later ones
            with _refusals(f"{name} after {rows(start)}" if start else name):
                batch = next(stream, None)
            if batch is None:
                return
            part = Part(f"part {i}", start, _table(batch))
            yield part
            start += len(part)

    return Source(Code(name), read, names, **about)


@contextlib.contextmanager
def _refusals(what: str) -> Generator[None]:
    """Turn errors of an engine, of any class, into sentences; what: it was reading."""
    try:
        yield
    except (BayesgenError, MemoryError):
        raise
    except Exception as error:
        raise InvalidData(
            "cannot read {source!r}: {reason}.",
            "If these are rows of files, pass the path of the files, fit('rows/*.parquet', "
            "y=...): errors then name the file and the column.",
            source=Code(what),
            reason=reason(error),
        ) from error


def _table(batch: Any) -> object:
    """Return a batch as a frame: those of Arrow as tables."""
    if _is(type(batch), "pyarrow", "RecordBatch"):
        import pyarrow as pa

        return pa.Table.from_batches([batch])
    return batch


# -- iterators of frames ---------------------------------------------------------------------------


def _frames_source(X: Any) -> Source | None:
    """Return the source of a list, an iterator or a function of frames; None for anything else."""
    once = False
    if isinstance(X, list | tuple):
        if not (X and is_frame(X[0])):
            return None
        frames = X.__iter__
    elif callable(X) and not hasattr(X, "columns"):
        frames = X
    elif hasattr(X, "__next__"):
        once, frames = True, X.__iter__
    else:
        return None

    def read(_: Kinds | None) -> Iterator[Part]:
        for i, frame in enumerate(frames()):
            yield Part(f"part {i}", 0, _table(frame))

    words = "list of frames" if isinstance(X, list | tuple) else "iterator" if once else "function"
    return Source(Code(f"the {words}"), read, once=once)
