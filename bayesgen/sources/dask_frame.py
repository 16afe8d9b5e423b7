"""Dask DataFrames: partitions are reduced by delayed calls, and answered by `map_partitions`."""

import dataclasses
import functools
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from bayesgen.sources.cluster import (
    TOGETHER,
    Answer,
    Cluster,
    Merge,
    Reduce,
    merged,
)
from bayesgen.sources.part import Part

if TYPE_CHECKING:
    import pyarrow as pa


@dataclasses.dataclass(frozen=True, eq=False)
class DaskFrame(Cluster):
    """A Dask DataFrame."""

    frame: Any

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

        leaf = dask.delayed(functools.partial(_reduced, reduce))
        node = dask.delayed(functools.partial(merged, merge))
        results = [leaf(i, frame) for i, frame in enumerate(self.frame.to_delayed())]
        while len(results) > 1:
            starts = range(0, len(results), TOGETHER)
            results = [node(results[start : start + TOGETHER]) for start in starts]
        return results[0].compute()

    def answered(self, answer: Answer, schema: "pa.Schema") -> Any:
        """Return a Dask DataFrame of the answers, with the index of the rows."""
        import pandas as pd

        index = pd.Index([], dtype=self.frame.index.dtype, name=self.frame.index.name)
        meta = schema.empty_table().to_pandas().set_axis(index)
        return self.frame.map_partitions(functools.partial(_answered, answer, meta), meta=meta)


def _reduced(reduce: Reduce, number: int, frame: Any) -> Any:
    return reduce(Part(f"partition {number}", 0, frame).split())


def _answered(answer: Answer, meta: Any, frame: Any, partition_info: dict | None = None) -> Any:
    import pyarrow as pa

    if not len(frame):
        return meta.set_axis(frame.index)
    part = Part(f"partition {(partition_info or {}).get('number', 0)}", 0, frame)
    table = pa.concat_tables(map(answer, part.split()))
    return table.to_pandas().set_axis(frame.index).astype(meta.dtypes)
