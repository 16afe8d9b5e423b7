"""`Part`: consecutive rows of a source, as an eager frame of any kind."""

import bisect
import dataclasses
import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import narwhals.stable.v2 as nw
import numpy as np
from narwhals.exceptions import DuplicateError

from bayesgen.errors import (
    BayesgenError,
    BayesgenWarning,
    InvalidData,
    deduplicate_warnings,
)
from bayesgen.table import Name, is_frame, read_table

T = TypeVar("T")

PART_ROWS = 1 << 16
"""Rows of a part at most."""

NO_READAHEAD = {"use_threads": False, "batch_readahead": 0, "fragment_readahead": 0}
"""How pyarrow reads: else it reads ahead of a slow reader, 416 MB of a file of 661 MB, not 139."""


@dataclasses.dataclass(frozen=True, eq=False)
class Part:
    """Some consecutive rows of a source.

    name: such as "part 317" or "file 'b.parquet'". start: number of the first row, counted from 0
    in the file, in the frame, or in the whole stream. frame: the rows, an eager frame of any kind.
    """

    name: str
    start: int
    frame: Any

    def __len__(self) -> int:
        return len(self.table)

    @functools.cached_property
    def table(self) -> nw.DataFrame:
        """The rows as narwhals reads them.

        Raises:
            InvalidData: they are not a table whose columns have names, each another one.
        """
        if not is_frame(self.frame):
            raise InvalidData(
                "{part} is of type {found}; every part must be a table with column names.",
                "Yield frames: pandas.DataFrame(part).",
                part=self.name,
                found=type(self.frame).__name__,
            )
        try:
            return nw.from_native(self.frame, eager_only=True)
        except DuplicateError:
            read_table(self.frame, only=())
            raise

    @property
    def names(self) -> list[Name]:
        """The names of the columns."""
        return list(self.table.columns)

    def rows(self, start: int, stop: int) -> "Part":
        """Return the rows from `start` to `stop`, counted within the part."""
        if start <= 0 and stop >= len(self):
            return self
        return Part(self.name, self.start + start, self.table[start:stop].to_native())

    def split(self, rows: int = PART_ROWS) -> Iterator["Part"]:
        """Yield the rows in parts of at most so many; no part where there are none."""
        for start in range(0, len(self), rows):
            yield self.rows(start, start + rows)

    def take(self, rows: np.ndarray) -> object:
        """Return the frame of some rows, by position."""
        return self.table[rows.tolist()].to_native()

    def without(self, *names: str) -> "Part":
        """Return the part without some columns."""
        return dataclasses.replace(self, frame=self.table.drop(*names).to_native())

    def apply(self, function: Callable[["Part"], T]) -> T:
        """Return what a function makes of the part.

        Raises:
            BayesgenError: of the function; it names the part, and the row if one alone raises it.
        """
        try:
            return function(self)
        except BayesgenError as error:
            row = self._first_row(function, error)
            rows = range(self.start, self.start + len(self))
            error.at(part=self.name, rows=rows, row=None if row is None else rows[row])
            raise

    def _first_row(self, function: Callable[["Part"], object], error: BayesgenError) -> int | None:
        """Return the first row for which a function raises the sentence of an error, by bisection.

        None where no single row is to blame: every row alone fails, or none.
        """

        def fails(start: int, stop: int) -> bool:
            try:
                with deduplicate_warnings(BayesgenWarning):
                    function(self.rows(start, stop))
            except BayesgenError as other:
                return other.problem == error.problem
            return False

        n_rows = len(self)
        row = bisect.bisect_left(range(n_rows), 1, key=lambda last: fails(0, last + 1))
        if row == n_rows or not fails(row, row + 1):
            return None
        return row if row or not fails(n_rows - 1, n_rows) else None


def joined(frames: Sequence[Any]) -> object:
    """Return the rows of frames of one kind, one below the other; types widen where they differ."""
    if len(frames) == 1:
        return frames[0]
    tables = [nw.from_native(frame, eager_only=True) for frame in frames]
    if tables[0].implementation is nw.Implementation.PYARROW:
        import pyarrow as pa

        return pa.concat_tables(frames, promote_options="permissive")
    if tables[0].implementation is nw.Implementation.POLARS:
        import polars as pl

        return pl.concat(frames, how="diagonal_relaxed")
    if tables[0].implementation is nw.Implementation.PANDAS:
        import pandas as pd

        return pd.concat(frames, ignore_index=True)
    return nw.concat(tables, how="diagonal").to_native()
