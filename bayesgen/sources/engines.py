"""Sources by type: Arrow streams and datasets, paths, lazy frames, relations, iterators of frames.

Engines are recognized by the module of a type, so that none is imported that the caller has not.
"""

import contextlib
import dataclasses
import os
from collections.abc import Callable, Generator, Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from bayesgen.errors import BayesgenError, InvalidData
from bayesgen.errors.sources import reason
from bayesgen.errors.wording import Code, rows
from bayesgen.sources.cluster import Cluster
from bayesgen.sources.dask_frame import DaskFrame
from bayesgen.sources.part import NO_READAHEAD, PART_ROWS, Part
from bayesgen.sources.source import Kinds, Source
from bayesgen.sources.spark_frame import SparkFrame
from bayesgen.table import Name, is_frame


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
        from bayesgen.sources.files import file_source

        return file_source(X)
    for (module, name), engine in ENGINES.items():
        if any(_is(base, module, name) for base in type(X).__mro__):
            return engine.source(X)
    if hasattr(X, "__arrow_c_stream__"):
        # a table in memory has a number of rows
        stream = Engine(f"the {type(X).__name__}", pa.RecordBatchReader.from_stream)
        return None if is_frame(X) or hasattr(X, "__len__") else stream.source(X)
    if isinstance(X, list | tuple):
        return _frames("the list of frames", X.__iter__) if X and is_frame(X[0]) else None
    if callable(X) and not hasattr(X, "columns"):
        return _frames("the function", X)
    return _frames("the iterator", X.__iter__, once=True) if hasattr(X, "__next__") else None


def _is(kind: type, module: str, name: str) -> bool:
    return kind.__name__ == name and kind.__module__.split(".")[0].lstrip("_") == module


def is_lazy_frame(X: object) -> bool:
    """Return whether X is a polars LazyFrame."""
    return _is(type(X), "polars", "LazyFrame")


# -- engines: each yields batches of rows ----------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Engine:
    """How the rows of a type are read.

    name: in sentences. batches: of rows, in their order, from the beginning. names: of the columns;
    None: known once the first batch is. n_rows: None: unknown. once: whether rows can be read only
    once. cluster: on whose workers the rows lie; None: on none.
    """

    name: str
    batches: Callable[[Any], Iterable]
    names: Callable[[Any], Iterable[Name]] | None = None
    n_rows: Callable[[Any], int] | None = None
    once: bool = False
    cluster: Callable[[Any], Cluster] | None = None

    def source(self, X: Any) -> Source:
        """Return the source of the rows of X, which are numbered through.

        Raises:
            InvalidData: the engine cannot read them.
        """

        def frames() -> Iterator[Any]:
            with _refusals(self.name):
                stream, n_rows = iter(self.batches(X)), 0
            while True:
                # engines read ahead, so that the rows that fail may be later ones
                with _refusals(f"{self.name} after {rows(n_rows)}" if n_rows else self.name):
                    batch = next(stream, None)
                if batch is None:
                    return
                yield batch
                n_rows += len(batch)

        with _refusals(self.name):
            names = None if self.names is None else tuple(self.names(X))
            n_rows = None if self.n_rows is None else self.n_rows(X)
        return _frames(
            self.name,
            frames,
            numbered_through=True,
            names=names,
            n_rows=n_rows,
            once=self.once,
            cluster=None if self.cluster is None else self.cluster(X),
        )


def _columns(X: Any) -> Iterable[Name]:
    return X.columns


def _schema_names(X: Any) -> Iterable[Name]:
    return X.schema.names


def _relation(X: Any) -> Iterable[object]:
    """Return the batches of a query of its own, since a relation hands out one result."""
    query = X.select("*")
    read = getattr(query, "to_arrow_reader", None) or query.fetch_record_batch
    return read(PART_ROWS)


ENGINES = {
    ("pyarrow", "RecordBatchReader"): Engine(
        "the RecordBatchReader", lambda X: X, _schema_names, once=True
    ),
    ("pyarrow", "Dataset"): Engine(
        "the Dataset",
        lambda X: X.to_batches(batch_size=PART_ROWS, **NO_READAHEAD),
        _schema_names,
        n_rows=lambda X: X.count_rows(),
    ),
    ("polars", "LazyFrame"): Engine(
        "the LazyFrame",
        lambda X: X.collect_batches(chunk_size=PART_ROWS, maintain_order=True),
        lambda X: X.collect_schema().names(),
    ),
    ("duckdb", "DuckDBPyRelation"): Engine("the relation", _relation, _columns),
    ("dask", "DataFrame"): Engine(
        "the Dask DataFrame", lambda X: DaskFrame(X).frames(), _columns, cluster=DaskFrame
    ),
    ("pyspark", "DataFrame"): Engine(
        "the Spark DataFrame", lambda X: SparkFrame(X).frames(), _columns, cluster=SparkFrame
    ),
}
"""Package and name of a type -> how its rows are read."""


def _frames(
    name: str, frames: Callable[[], Iterable], *, numbered_through: bool = False, **about: Any
) -> Source:
    """Return the source of frames, each of which is a part.

    numbered_through: whether rows are counted from the first frame; else in each.
    """

    def read(_: Kinds | None) -> Iterator[Part]:
        start = 0
        for i, frame in enumerate(frames()):
            batch = isinstance(frame, pa.RecordBatch)
            part = Part(f"part {i}", start, pa.table(frame) if batch else frame)
            yield part
            start += len(part) if numbered_through else 0

    return Source(Code(name), read, **about)


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
