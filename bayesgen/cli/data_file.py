"""Input data: files of rows and bundled data sets, read in parts or whole."""

import dataclasses
import difflib
import functools
import glob
import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa

from bayesgen import datasets
from bayesgen.cli.options import AS_SHOWN, CsvFormat, Features
from bayesgen.errors import BayesgenError
from bayesgen.errors.sources import no_column, no_features, no_rows_in_source
from bayesgen.errors.wording import listed
from bayesgen.sources import PART_ROWS, Kinds, Part, Source
from bayesgen.sources.csv_files import CsvDialect
from bayesgen.sources.files import file_source, files_at, format_of


class UnusableData(BayesgenError, ValueError):
    """DATA cannot be found, or the column of the classes is unknown."""


SEPARATOR_WORDS = {";": "semicolons", "\t": "tabs", "|": "bars", ",": "commas"}


@dataclasses.dataclass(frozen=True)
class DataFile:
    """Files of rows, or a bundled data set.

    name: as it was typed. path: of the file, of a folder, or a pattern. bundled: whether the
    library brings it. csv: how CSV files are read. part_rows: read at once. only: columns to read;
    None: all.
    """

    name: str
    path: Path
    bundled: bool
    csv: CsvFormat = AS_SHOWN
    part_rows: int = PART_ROWS
    only: tuple[str, ...] | None = None

    @classmethod
    def find(cls, data: str, csv: CsvFormat = AS_SHOWN, part_rows: int = PART_ROWS) -> "DataFile":
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
        return cls(data, path, bundled, csv, part_rows)

    def with_features(self, features: Features, *beside: str | None) -> "DataFile":
        """Return the file without columns that are no features.

        Args:
            features: the columns to leave out, or the only ones to use.
            beside: columns that are read in any case, such as that of the classes.

        Raises:
            InvalidData: there is no such column.
            UnusableData: a column that is read in any case was to be left out, or none is left.
        """
        if not (features.drop or features.columns):
            return self
        names = self.column_names
        for name in (*features.drop, *features.columns):
            if name not in names:
                raise no_column(self.name, name, names)
        for name in beside:
            if name in features.drop:
                raise UnusableData(
                    f"--drop {name}: this column is not a feature, but needed. Leave it out of "
                    "--drop."
                )
        used = [name for name in features.columns or names if name not in features.drop]
        kept = tuple(name for name in names if name in used or name in beside)
        if not {*kept} - {*beside}:
            raise UnusableData("--drop and --columns leave no feature. Drop fewer columns.")
        return dataclasses.replace(self, only=kept)

    @functools.cached_property
    def source(self) -> Source:
        """The rows, to be read part by part.

        Raises:
            InvalidData: they are not a table; two columns have one name.
        """
        csv = self.csv
        source = file_source(self.path, csv.missing, csv.sep, csv.decimal)
        source = dataclasses.replace(source, name=self.name, part_rows=self.part_rows)
        return source if self.only is None else _only(source, self.only)

    def notes(self) -> list[str]:
        """Return a sentence on how CSV files are written where that was recognized."""
        if self.bundled or (self.csv.sep and self.csv.decimal):
            return []
        _ = self.source  # refuse what is no text
        files = [file for file in files_at(str(self.path)) if format_of(file) == "csv"]
        found = {CsvDialect.of(file, self.csv.sep, self.csv.decimal) for file in files}
        notes = []
        for dialect in sorted(found - {CsvDialect()}, key=str):
            cells, words = dialect.separator, []
            if self.csv.sep is None and cells != ",":
                words.append(f"cells separated by {SEPARATOR_WORDS[cells]}")
            if self.csv.decimal is None and dialect.decimal != ".":
                words.append("decimal commas")
            if words:
                sep = "tab" if cells == "\t" else shlex.quote(cells)
                notes.append(
                    f"{self.name!r} is read with {' and '.join(words)}, as its first rows show; "
                    f"--sep {sep} --decimal {dialect.decimal} makes sure of it."
                )
        return notes

    @property
    def column_names(self) -> list[str]:
        """The names of the columns."""
        return list(map(str, self.source.names or ()))

    def target(self, target: str | None) -> str:
        """Return the column that holds the classes; a bundled data set has its own.

        Raises:
            UnusableData, InvalidData: there is none, or nothing beside it.
        """
        names = self.column_names
        if target is None and not self.bundled:
            raise UnusableData(
                f"which column of {self.name!r} holds the classes? Add --target: "
                f"{listed(names, 20)}."
            )
        target = target or datasets.target(self.name)
        if target not in names:
            raise no_column(self.name, target, names)
        if len(names) == 1:
            raise no_features(self.name, target)
        return target

    def first(self) -> Part:
        """Return the first rows.

        Raises:
            InvalidData: there are none.
        """
        part = next(self.source.parts(), None)
        if part is None:
            raise no_rows_in_source(self.name)
        return part


def counted(labels: pa.Array | pa.ChunkedArray) -> Counter:
    """Return how many rows have each label; None: a missing one."""
    found = labels.value_counts()
    return Counter(dict(zip(*map(pa.Array.to_pylist, found.flatten()), strict=True)))


def _only(source: Source, names: tuple[str, ...]) -> Source:
    """Return a source that has some of the columns alone."""

    def read(kinds: Kinds | None) -> Iterator[Part]:
        return source.read(dict.fromkeys(names, "any") if kinds is None else kinds)

    return dataclasses.replace(source, read=read, names=names)


def _close_match(word: str, existing: Sequence[str]) -> str:
    found = difflib.get_close_matches(word, existing, n=1)
    return f" (did you mean {found[0]!r}?)" if found else ""
