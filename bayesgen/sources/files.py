"""Sources of files: Parquet, CSV and Arrow IPC, one, a folder or a pattern."""

import contextlib
import dataclasses
import glob
import os
from collections.abc import Generator, Iterator, Mapping, Sequence
from pathlib import Path

import pyarrow as pa
from pyarrow import dataset, fs

from bayesgen.errors import InvalidData, warn
from bayesgen.errors.data import duplicate_names
from bayesgen.errors.sources import lacks_columns
from bayesgen.sources.csv_files import (
    csv_format,
    csv_type,
    file_error,
    require_closed_quotes,
    trimmed,
)
from bayesgen.sources.part import NO_READAHEAD, PART_ROWS, Part
from bayesgen.sources.source import Kinds, Source

FORMATS = {
    **dict.fromkeys((".parquet", ".pq"), "parquet"),
    **dict.fromkeys((".arrow", ".feather", ".ipc"), "ipc"),
}
"""Formats by the ending of a file; others are CSV."""

# reads no row group ahead of a slow reader: .3 instead of .9 GB of a file of .6 GB, measured
PARQUET = dataset.ParquetFragmentScanOptions(pre_buffer=False)
ARROW = {
    "parquet": dataset.ParquetFileFormat(default_fragment_scan_options=PARQUET),
    "ipc": dataset.IpcFileFormat(),
}
LOCAL = fs.LocalFileSystem()


def file_source(
    path: str | os.PathLike,
    missing: Sequence[str] = (),
    separator: str | None = None,
    decimal: str | None = None,
) -> Source:
    """Return the rows of files.

    Columns that some files lack are missing there, with a warning. Folders of the form column=value
    are columns. The types of the columns of a CSV file are those of its first 4 MB.

    Args:
        path: of a file, of a folder of files, or a pattern. Parquet where it ends in .parquet or
            .pq, Arrow IPC in .arrow, .feather or .ipc, otherwise CSV.
        missing: more cells of CSV files that mean "missing".
        separator: of the cells of CSV files; None: as their first line shows.
        decimal: the character before the decimals of numbers in CSV files; None: as their first
            rows show.

    Raises:
        InvalidData: there is no file, files are of two formats, a file cannot be read, a column has
            several types, or two columns of a file have one name.
    """
    name = os.fspath(path)
    paths = files_at(name)
    kind = format_of(paths[0])
    for other in paths:
        if format_of(other) != kind:
            pattern = f"{os.path.dirname(paths[0])}/*{Path(paths[0]).suffix}"
            raise InvalidData(
                "{source!r} holds {one!r} and {other!r}, files of two formats.",
                "Pass a pattern that selects one: {pattern!r}.",
                source=name,
                one=paths[0],
                other=other,
                pattern=pattern,
            )
    forms = {}
    for file in paths:
        with _readable(file):
            csv = kind == "csv"
            forms[file] = csv_format(file, missing, separator, decimal) if csv else ARROW[kind]
    folders = _folders(name, forms)
    files = [File.of(file, form, folders) for file, form in forms.items()]
    names = list(dict.fromkeys(column for file in files for column in file.schema.names))

    def read(kinds: Kinds | None) -> Iterator[Part]:
        wanted = [column for column in names if kinds is None or column in kinds]
        schema = pa.schema([])
        for file in files:
            if absent := [column for column in wanted if column not in file.schema.names]:
                warn(lacks_columns(file.label, absent))
            with _readable(file.path):
                types = [schema, file.types(wanted, kinds or {})]
                schema = pa.unify_schemas(types, promote_options="permissive")
        for file in files:
            yield from file.parts(schema)

    n_rows = None if kind == "csv" else sum(file.n_rows for file in files)
    return Source(name, read, tuple(names), n_rows)


def files_at(path: str) -> list[str]:
    """Return the files at a path, in order; hidden ones and those that begin with _ are left out.

    Raises:
        InvalidData: there is none.
    """
    if os.path.isdir(path):
        files = [
            os.path.join(folder, file)
            for folder, _, names in os.walk(path)
            for file in names
            if not file.startswith((".", "_"))
        ]
    else:
        files = [path] if os.path.exists(path) else glob.glob(path, recursive=True)
        files = [file for file in files if not os.path.isdir(file)]
    if not files:
        raise InvalidData(
            "there is no file at {source!r}.",
            "Pass the path of a Parquet, CSV or Arrow file, of a folder of them, or a pattern "
            "such as 'rows/*.parquet'.",
            source=path,
        )
    return sorted(files)


def format_of(file: str) -> str:
    """Return "parquet", "ipc" or "csv"."""
    return FORMATS.get(Path(file).suffix, "csv")


@dataclasses.dataclass(frozen=True, eq=False)
class File:
    """One file, as pyarrow reads it.

    path: of the file. fragment: pyarrow's reader of it. schema: its columns, then its folders'.
    written: names as the file has them, with the blanks around them.
    """

    path: str
    fragment: dataset.Fragment
    schema: pa.Schema
    written: Mapping[str, str]

    @classmethod
    def of(cls, path: str, form: dataset.FileFormat, folders: dataset.Partitioning) -> "File":
        """Return a file of a format; folders: above it that are columns.

        Raises:
            InvalidData: it cannot be read, or two columns have one name.
        """
        with _readable(path):
            schema = form.inspect(path, filesystem=LOCAL)
            expression = folders.parse(path)
        csv = isinstance(form, dataset.CsvFileFormat)
        names = [name.strip() if csv else name for name in schema.names]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise duplicate_names(twice)
        above = [field for field in folders.schema if field.name not in names]
        fragment = form.make_fragment(path, LOCAL, expression)
        written = dict(zip(names, schema.names, strict=True))
        fields = [field.with_name(name) for name, field in zip(names, schema, strict=True)]
        return cls(path, fragment, pa.schema([*fields, *above]), written)

    @property
    def is_csv(self) -> bool:
        """Whether the file is text, not columns with types of their own."""
        return isinstance(self.fragment.format, dataset.CsvFileFormat)

    @property
    def label(self) -> str:
        """How messages name the file."""
        return f"file {self.path!r}"

    @property
    def n_rows(self) -> int:
        """The number of its rows, as the file states it.

        Raises:
            InvalidData: it does not.
        """
        with _readable(self.path):
            return self.fragment.count_rows()

    def types(self, names: Sequence[str], kinds: Kinds) -> pa.Schema:
        """Return the types of those of the columns that the file has.

        kinds: "number", "text" or "boolean" of the cells of CSV files; others: as they show.
        """
        fields = [self.schema.field(name) for name in names if name in self.schema.names]
        if self.is_csv:
            fields = [
                field.with_type(csv_type(field.type, kinds.get(field.name))) for field in fields
            ]
        return pa.schema(fields)

    def parts(self, schema: pa.Schema) -> Iterator[Part]:
        """Yield the rows; schema: of the columns to read, missing ones that the file lacks.

        Raises:
            InvalidData: a row or a cell cannot be read.
        """
        if self.is_csv:
            require_closed_quotes(self.path, self.fragment.format.parse_options.delimiter)
        start, options = 0, {"batch_size": PART_ROWS, **NO_READAHEAD}
        fields = [field.with_name(self.written.get(field.name, field.name)) for field in schema]
        asked = pa.schema(fields)
        with _readable(self.path, self.schema.names):
            for batch in self.fragment.to_batches(asked, asked.names, **options):
                table = pa.Table.from_batches([batch]).rename_columns(schema.names)
                yield Part(self.label, start, trimmed(table) if self.is_csv else table)
                start += len(table)


def _folders(name: str, forms: Mapping[str, dataset.FileFormat]) -> dataset.Partitioning:
    """Return which folders are columns: those of the form column=value."""
    if not any("=" in path for path in forms):
        return dataset.HivePartitioning(pa.schema([]))
    with _readable(name):
        made = dataset.dataset(
            list(forms),
            format=next(iter(forms.values())),
            partitioning=dataset.partitioning(flavor="hive"),
            partition_base_dir=name if os.path.isdir(name) else None,
        )
    return made.partitioning


@contextlib.contextmanager
def _readable(path: str, names: Sequence[str] = ()) -> Generator[None]:
    """Turn errors of pyarrow about a file with these columns into sentences."""
    try:
        yield
    except (OSError, pa.ArrowException) as error:
        raise file_error(path, names, error) from error
