"""Dask DataFrames: tasks return frames of one cell, which holds the result of a partition."""

import dataclasses
import functools
from collections.abc import Iterator
from typing import Any

import numpy as np

from bayesgen.table.sources.answers import Answer, Columns, answered
from bayesgen.table.sources.cluster import (
    TOGETHER,
    Chunk,
    Cluster,
    Merge,
    caught,
    folded,
    raised,
)
from bayesgen.table.sources.part import Part, eager, joined


@dataclasses.dataclass(frozen=True, eq=False)
class DaskFrame(Cluster):
    """A Dask DataFrame."""

    frame: Any

    def head(self, rows: int, weight: str | None = None) -> object:
        """Return the first rows, of as few partitions as have them."""
        frame = self.frame if weight is None else self.frame[self.frame[weight] > 0]
        found, stop = [frame.partitions[0].head(rows)], 1
        while stop < frame.npartitions and sum(map(len, found)) < rows:
            # twice as many, since many may be empty
            start, stop = stop, min(2 * stop, frame.npartitions)
            found.append(frame.partitions[start:stop].head(rows, npartitions=-1))
        return eager(joined(found))[:rows].to_native()

    def frames(self) -> Iterator[object]:
        """Yield the partitions."""
        return (self.frame.partitions[i].compute() for i in range(self.frame.npartitions))

    def reduced(self, chunk: Chunk, merge: Merge) -> Any:
        """Return what chunks make of the partitions; tasks return frames of one cell."""
        import pandas as pd

        cell = pd.DataFrame({"result": pd.Series([None], dtype=object)})
        several = functools.partial(_dask_merge, merge)
        results = self.frame.map_partitions(functools.partial(_dask_chunk, chunk), meta=cell)
        whole = results.reduction(
            several, combine=several, aggregate=several, meta=cell, split_every=TOGETHER
        )
        return raised(whole.compute()["result"].iloc[0])

    def mapped(self, answer: Answer, columns: Columns) -> Any:
        """Return a Dask DataFrame of the answers, with the index of the rows."""
        import pandas as pd

        index = pd.Index([], dtype=self.frame.index.dtype, name=self.frame.index.name)
        types = {name: _dask_type(kind) for name, kind in columns.items()}
        meta = pd.DataFrame(index=index, columns=list(types)).astype(types)
        return self.frame.map_partitions(functools.partial(_dask_answers, answer, meta), meta=meta)


def _dask_type(kind: str | np.ndarray) -> str | np.dtype:
    if isinstance(kind, str):
        return "float64" if kind == "number" else "object"
    return "str" if kind.dtype.kind in "OU" else kind.dtype


def _dask_answers(answer: Answer, meta: Any, frame: Any, partition_info: dict | None = None) -> Any:
    import pandas as pd

    if not len(frame):
        return meta.set_axis(frame.index)
    found = answered(answer, Part(_name(partition_info), 0, frame))
    values = {name: cells if cells.ndim == 1 else list(cells) for name, cells in found.items()}
    return pd.DataFrame(values, index=frame.index).astype(meta.dtypes)


def _name(partition_info: dict | None) -> str:
    return f"partition {(partition_info or {}).get('number', 0)}"


def _dask_chunk(chunk: Chunk, frame: Any, partition_info: dict | None = None) -> Any:
    return _dask_cell(caught(chunk, _name(partition_info), [frame] if len(frame) else []))


def _dask_merge(merge: Merge, frame: Any) -> Any:
    return _dask_cell(folded(merge, frame["result"]))


def _dask_cell(value: object) -> Any:
    import pandas as pd

    column = pd.Series([None], dtype=object)
    column.iat[0] = value
    return pd.DataFrame({"result": column})
