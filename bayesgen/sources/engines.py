"""Sources by type: Arrow streams and datasets, paths, lazy frames, relations, iterators of frames.

Engines are recognized by the module of a type, so that none is imported that the caller has not.
"""

import contextlib
import itertools
import os
from collections.abc import Callable, Generator, Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from bayesgen.errors import BayesgenError, InvalidData
from bayesgen.errors.sources import reason
from bayesgen.errors.wording import Code, rows
from bayesgen.sources.cluster import Cluster, DaskFrame, SparkFrame
from bayesgen.sources.defaults import PART_ROWS
from bayesgen.sources.files import file_source
from bayesgen.sources.part import Part
from bayesgen.sources.source import NO_READAHEAD, Kinds, Source
from bayesgen.table import is_frame


def source_of(X: Any) -> Source | None:
    """Return the source of rows that X is; None for tables in memory and anything else.

    Args:
        X: a pyarrow RecordBatchReader or Dataset; another object with an Arrow stream that is not a
            table in memory; the path of a Parquet, CSV or Arrow file, of a folder of them, or a
            pattern; a polars LazyFrame; a DuckDB relation; a list or an iterator of frames, or a
            function without arguments that returns one, which can then be read again; a Dask or a
            Spark DataFrame.

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
        return file_source(X)
    for kind in type(X).__mro__:
        key = kind.__module__.split(".")[0].lstrip("_"), kind.__name__
        if key in ENGINES:
            name, source = ENGINES[key]
            with _refusals(name):
                return source(name, X)
    if hasattr(X, "__arrow_c_stream__"):
        if hasattr(X, "__len__") or is_frame(X):  # a table in memory has a number of rows
            return None
        return _batches(f"the {type(X).__name__}", lambda: pa.RecordBatchReader.from_stream(X))
    if isinstance(X, list | tuple):
        return _frames("the list of frames", X.__iter__) if X and is_frame(X[0]) else None
    if callable(X) and not hasattr(X, "columns"):
        return _frames("the function", X)
    return _frames("the iterator", X.__iter__, once=True) if hasattr(X, "__next__") else None


def _frames(name: str, frames: Callable[[], Iterable], *, once: bool = False) -> Source:
    """Return the source of frames, each of which is a part, in which rows are counted from 0."""

    def read(_: Kinds | None) -> Iterator[Part]:
        return (_part(i, 0, frame) for i, frame in enumerate(frames()))

    return Source(Code(name), read, once=once)


def _batches(name: str, batches: Callable[[], Iterable], **about: Any) -> Source:
    """Return the source of the batches of an engine, whose rows are numbered through.

    about: other fields of the source.
    """

    def read(_: Kinds | None) -> Iterator[Part]:
        with _refusals(name):
            stream, start = iter(batches()), 0
        for i in itertools.count():
            # engines read ahead, so that the rows that fail may be later ones
            with _refusals(f"{name} after {rows(start)}" if start else name):
                batch = next(stream, None)
            if batch is None:
                return
            yield _part(i, start, batch)
            start += len(batch)

    return Source(Code(name), read, **about)


def _part(number: int, start: int, frame: Any) -> Part:
    batch = isinstance(frame, pa.RecordBatch)
    return Part(f"part {number}", start, pa.table(frame) if batch else frame)


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


# -- engines ---------------------------------------------------------------------------------------


def _reader(name: str, X: pa.RecordBatchReader) -> Source:
    return _batches(name, lambda: X, names=tuple(X.schema.names), once=True)


def _dataset(name: str, X: Any) -> Source:
    def batches() -> Iterable[pa.RecordBatch]:
        return X.to_batches(batch_size=PART_ROWS, **NO_READAHEAD)

    return _batches(name, batches, names=tuple(X.schema.names), n_rows=X.count_rows())


def _lazy_frame(name: str, X: Any) -> Source:
    def batches() -> Iterable[object]:
        return X.collect_batches(chunk_size=PART_ROWS, maintain_order=True)

    return _batches(name, batches, names=tuple(X.collect_schema().names()))


def _relation(name: str, X: Any) -> Source:
    def batches() -> Iterable[pa.RecordBatch]:
        # a query of its own, since a relation hands out one result
        return pa.RecordBatchReader.from_stream(X.select("*"))

    return _batches(name, batches, names=tuple(X.columns))


def _on_cluster(name: str, cluster: Cluster) -> Source:
    names = tuple(cluster.frame.columns)
    return _batches(name, cluster.frames, names=names, cluster=cluster)


ENGINES: dict[tuple[str, str], tuple[str, Callable[[str, Any], Source]]] = {
    ("pyarrow", "RecordBatchReader"): ("the RecordBatchReader", _reader),
    ("pyarrow", "Dataset"): ("the Dataset", _dataset),
    ("polars", "LazyFrame"): ("the LazyFrame", _lazy_frame),
    ("duckdb", "DuckDBPyRelation"): ("the relation", _relation),
    ("dask", "DataFrame"): ("the Dask DataFrame", lambda name, X: _on_cluster(name, DaskFrame(X))),
    ("pyspark", "DataFrame"): (
        "the Spark DataFrame",
        lambda name, X: _on_cluster(name, SparkFrame(X)),
    ),
}
"""Package and name of a type -> how sentences name it, and the source of the rows of one."""
