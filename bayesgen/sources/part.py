"""`Part`: consecutive rows of a source, as an eager frame of any kind."""

import contextlib
import dataclasses
import functools
from collections.abc import Generator, Iterator
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from narwhals.exceptions import DuplicateError

from bayesgen.errors import BayesgenError, InvalidData
from bayesgen.sources.defaults import PART_ROWS
from bayesgen.table import Name, is_frame, read_table


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
    def rows(self) -> range:
        """The numbers of the rows."""
        return range(self.start, self.start + len(self))

    @property
    def names(self) -> list[Name]:
        """The names of the columns."""
        return list(self.table.columns)

    def split(self, rows: int = PART_ROWS) -> Iterator["Part"]:
        """Yield the rows in parts of at most so many; no part where there are none."""
        for start in range(0, len(self), rows):
            frame = self.table[start : start + rows].to_native()
            yield Part(self.name, self.start + start, frame)

    def take(self, rows: np.ndarray) -> object:
        """Return the frame of some rows, by position."""
        return self.table[rows.tolist()].to_native()

    def without(self, *names: str) -> "Part":
        """Return the part without some columns."""
        return dataclasses.replace(self, frame=self.table.drop(*names).to_native())

    @contextlib.contextmanager
    def located(self) -> Generator[None]:
        """Let an error of this package that is raised within name the part and its rows."""
        try:
            yield
        except BayesgenError as error:
            error.at(part=self.name, rows=self.rows)
            raise
