"""Input data: files of rows and bundled data sets, read in parts or whole."""

import dataclasses
import difflib
import functools
import glob
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from bayesgen import datasets
from bayesgen.errors import BayesgenError, InvalidSource
from bayesgen.errors.base import listed
from bayesgen.table.sources import PART_ROWS, Part, Source
from bayesgen.table.sources.files import file_source


class UnusableData(BayesgenError, ValueError):
    """DATA cannot be found, or nothing says which column holds the classes."""


@dataclasses.dataclass(frozen=True)
class DataFile:
    """Files of rows, or a bundled data set.

    name: as it was typed. path: of the file, of a folder, or a pattern. bundled: whether the
    library brings it. missing: more cells of a CSV file that mean "missing". part_rows: read at
    once.
    """

    name: str
    path: Path
    bundled: bool
    missing: tuple[str, ...] = ()
    part_rows: int = PART_ROWS

    @classmethod
    def find(
        cls, data: str, missing: tuple[str, ...] = (), part_rows: int = PART_ROWS
    ) -> "DataFile":
        """Return the files at a path, or else those of the name of a bundled data set.

        Raises:
            UnusableData: there is neither.
        """
        existing = datasets.names()
        bundled = not Path(data).is_file() and data in existing
        path = datasets.path(data) if bundled else Path(data)
        if not path.exists() and not glob.glob(data, recursive=True):
            raise UnusableData(
                f"{data!r} is neither a file nor a bundled data set{_close_match(data, existing)}. "
                f"Give the path of a CSV or Parquet file, or one of {', '.join(existing)}."
            )
        return cls(data, path, bundled, missing, part_rows)

    @functools.cached_property
    def source(self) -> Source:
        """The rows, to be read part by part.

        Raises:
            InvalidSource: they are not a table.
            InvalidTable: two columns have one name.
        """
        source = file_source(self.path, self.missing)
        return dataclasses.replace(source, name=self.name, part_rows=self.part_rows)

    @property
    def column_names(self) -> list[str]:
        """The names of the columns."""
        return list(map(str, self.source.names or ()))

    def target(self, target: str | None) -> str:
        """Return the column that holds the classes; a bundled data set has its own.

        Raises:
            UnusableData, InvalidSource: there is none, or nothing beside it.
        """
        names = self.column_names
        if target is None and not self.bundled:
            raise UnusableData(
                f"which column of {self.name!r} holds the classes? Add --target: "
                f"{listed(names, 20)}."
            )
        target = target or datasets.target(self.name)
        if target not in names:
            raise InvalidSource.no_column(self.name, target, names)
        if len(names) == 1:
            raise InvalidSource.no_features(self.name, target)
        return target

    def first(self) -> Part:
        """Return the first rows.

        Raises:
            InvalidSource: there are none.
        """
        part = next(self.source.parts(), None)
        if part is None:
            raise InvalidSource.no_rows(self.name)
        return part


def counted(labels: pa.Array | pa.ChunkedArray) -> Counter:
    """Return how many rows have each label; None: a missing one."""
    found = labels.value_counts()
    return Counter(dict(zip(*map(pa.Array.to_pylist, found.flatten()), strict=True)))


def _close_match(word: str, existing: Sequence[str]) -> str:
    found = difflib.get_close_matches(word, existing, n=1)
    return f" (did you mean {found[0]!r}?)" if found else ""
