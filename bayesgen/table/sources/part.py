"""`Part`: some rows of a source, as an eager frame of any kind."""

import contextlib
import dataclasses
from collections.abc import Callable, Generator, Sequence
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from narwhals.exceptions import DuplicateError

from bayesgen.errors import BayesgenError
from bayesgen.table.columns import Name
from bayesgen.table.reading import read_table

PART_ROWS = 1 << 16
"""Rows of a part at most."""

FindRow = Callable[[BayesgenError], int | None]
"""Returns the first row that raises the same sentence as an error, if it is one row."""


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
        return len(eager(self.frame))

    @property
    def names(self) -> list[Name]:
        """The names of the columns."""
        return list(eager(self.frame).columns)

    def rows(self, start: int, stop: int) -> "Part":
        """Return the rows from `start` to `stop`, counted within the part."""
        if start <= 0 and stop >= len(self):
            return self
        frame = eager(self.frame)[start:stop].to_native()
        return Part(self.name, self.start + start, frame)

    def take(self, rows: np.ndarray) -> object:
        """Return the frame of some rows, by position."""
        return eager(self.frame)[rows.tolist()].to_native()

    def column(self, name: str) -> object:
        """Return one column, a Series or an array of the frame's kind."""
        return eager(self.frame)[name].to_native()

    def missing(self, name: str) -> int:
        """Return the number of missing cells of a column."""
        series = eager(self.frame)[name]
        absent = series.is_null()
        if series.dtype.is_float():
            absent = absent | series.is_nan().fill_null(value=False)
        return int(absent.sum())

    def array(self, name: str) -> np.ndarray:
        """Return a column as an array."""
        return eager(self.frame)[name].to_numpy()

    def without(self, *names: str) -> "Part":
        """Return the part without some columns."""
        return dataclasses.replace(self, frame=eager(self.frame).drop(*names).to_native())

    def only(self, names: Sequence[Any]) -> "Part":
        """Return the part with these columns alone, in this order."""
        if self.names == list(names):
            return self
        return dataclasses.replace(self, frame=eager(self.frame).select(*names).to_native())

    def renamed(self, names: Sequence[Name]) -> object:
        """Return a pandas frame of the rows with other names, which need not be text."""
        return eager(self.frame).to_pandas().set_axis(list(names), axis=1)

    def to_numpy(self) -> np.ndarray:
        """Return the rows as an array, of objects unless all are numbers."""
        return eager(self.frame).to_pandas().to_numpy()

    @contextlib.contextmanager
    def named(self, row: FindRow | None = None) -> Generator[None]:
        """Name the part in errors about its rows, and the row, where it is one.

        row: function that finds the first row that raises the same sentence; None: no row.
        """
        try:
            yield
        except BayesgenError as error:
            position = None if row is None else row(error)
            rows = range(self.start, self.start + len(self))
            error.at(part=self.name, rows=rows, row=None if position is None else rows[position])
            raise

    def first_row(self, check: Callable[["Part"], object], error: BayesgenError) -> int | None:
        """Return the first row for which a check raises the sentence of an error, by bisection.

        None where no single row is to blame: every row alone fails, or none.
        """

        def fails(start: int, stop: int) -> bool:
            try:
                check(self.rows(start, stop))
            except BayesgenError as other:
                return other.problem == error.problem
            return False

        low, high = 0, len(self)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if fails(0, middle) else (middle, high)
        if not fails(low, high):
            return None
        return low if low or not fails(len(self) - 1, len(self)) else None


def joined(frames: Sequence[Any]) -> object:
    """Return the rows of frames of one kind, one below the other; types widen where they differ."""
    implementation = eager(frames[0]).implementation
    if len(frames) == 1:
        return frames[0]
    if implementation is nw.Implementation.PYARROW:
        import pyarrow as pa

        return pa.concat_tables(frames, promote_options="permissive")
    if implementation is nw.Implementation.POLARS:
        import polars as pl

        return pl.concat(frames, how="diagonal_relaxed")
    if implementation is nw.Implementation.PANDAS:
        import pandas as pd

        return pd.concat(frames, ignore_index=True)
    return nw.concat([eager(frame) for frame in frames], how="diagonal").to_native()


def eager(frame: Any) -> nw.DataFrame:
    """Return a frame for narwhals.

    Raises:
        InvalidData: two columns have one name.
    """
    try:
        return nw.from_native(frame, eager_only=True)
    except DuplicateError:
        read_table(frame, only=())
        raise
