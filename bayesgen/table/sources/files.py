"""Sources of files: Parquet, CSV and Arrow IPC, one, a folder or a pattern."""

import contextlib
import glob
import os
from collections.abc import Generator, Iterator, Mapping, Sequence
from pathlib import Path

import pyarrow as pa
from pyarrow import dataset, fs, parquet

from bayesgen.errors import InvalidData, warn
from bayesgen.errors.data import duplicate_names
from bayesgen.errors.sources import lacks_columns, reason, unreadable_source
from bayesgen.table.sources.csv_files import CsvFiles
from bayesgen.table.sources.part import PART_ROWS, Part
from bayesgen.table.sources.source import Kinds, Source

FORMATS = {
    **dict.fromkeys((".parquet", ".pq"), "parquet"),
    **dict.fromkeys((".arrow", ".feather", ".ipc"), "ipc"),
}
"""Formats by the ending of a file; others are CSV."""


def file_source(
    path: str | os.PathLike,
    missing: Sequence[str] = (),
    separator: str | None = None,
    decimal: str | None = None,
) -> Source:
    """Return the rows of files.

    Columns that some files lack are missing there, with a warning. Folders of the form column=value
    are columns.

    Args:
        path: of a file, of a folder of files, or a pattern. Parquet where it ends in .parquet or
            .pq, Arrow IPC in .arrow, .feather or .ipc, otherwise CSV.
        missing: more cells of CSV files that mean "missing".
        separator: of the cells of CSV files; None: as their first line shows.
        decimal: the character before the decimals of numbers in CSV files; None: as their first
            rows show.

    Raises:
        InvalidData: there is no file, files are of two formats, a file cannot be read, or a column
            has several types; two columns of a file have one name.
    """
    name = os.fspath(path)
    files = files_at(name)
    kind = format_of(files[0])
    for other in files:
        if format_of(other) != kind:
            pattern = f"{os.path.dirname(files[0])}/*{Path(files[0]).suffix}"
            raise InvalidData(
                "{source!r} holds {one!r} and {other!r}, files of two formats.",
                "Pass a pattern that selects one: {pattern!r}.",
                source=name,
                one=files[0],
                other=other,
                pattern=pattern,
            )
    base = name if os.path.isdir(name) else None
    if kind == "csv":
        return _csv_source(name, CsvFiles(tuple(files), tuple(missing), separator, decimal))
    return _arrow_source(name, files, kind, base)


def files_at(path: str) -> list[str]:
    """Return the files at a path, in order; hidden ones and those that begin with _ are left out.

    Raises:
        InvalidData: there is none.
    """
    if os.path.isdir(path):
        found = [
            os.path.join(folder, file)
            for folder, _, names in os.walk(path)
            for file in names
            if not file.startswith((".", "_"))
        ]
    else:
        found = [path] if os.path.exists(path) else glob.glob(path, recursive=True)
        found = [file for file in found if not os.path.isdir(file)]
    if not found:
        raise InvalidData(
            "there is no file at {source!r}.",
            "Pass the path of a Parquet, CSV or Arrow file, of a folder of them, or a pattern "
            "such as 'rows/*.parquet'.",
            source=path,
        )
    return sorted(found)


def format_of(file: str) -> str:
    """Return "parquet", "ipc" or "csv"."""
    return FORMATS.get(Path(file).suffix, "csv")


def _label(file: str) -> str:
    """Return how messages name a file."""
    return f"file {file!r}"


# -- Parquet and Arrow -----------------------------------------------------------------------------


def _arrow_source(name: str, files: list[str], kind: str, base: str | None) -> Source:
    reader = dataset.ParquetFileFormat() if kind == "parquet" else dataset.IpcFileFormat()
    with _refusals(files[0]):
        _distinct(reader.inspect(files[0], filesystem=fs.LocalFileSystem()))
    # only where folders are columns
    hive = dataset.partitioning(flavor="hive") if any("=" in file for file in files) else None
    with _refusals(name):
        made = dataset.dataset(files, format=reader, partitioning=hive, partition_base_dir=base)
        fragments = list(made.get_fragments())
    schema, own, n_rows = made.schema, {}, 0
    for fragment in fragments:
        with _refusals(fragment.path):
            own[fragment.path] = _distinct(fragment.physical_schema)
            n_rows += fragment.count_rows()
        schema = _unified(schema, fragments[0].path, own[fragment.path], fragment.path)
    batches = _parquet_batches if kind == "parquet" else _arrow_batches
    folders = {*made.schema.names} - {*own[fragments[0].path].names}

    def read(kinds: Kinds | None) -> Iterator[Part]:
        wanted = [name for name in schema.names if kinds is None or name in kinds]
        asked = pa.schema([schema.field(name) for name in wanted])
        for fragment in fragments:
            there = own[fragment.path].names
            lacks = [c for c in wanted if c not in there]
            if absent := [c for c in lacks if c not in folders]:
                warn(lacks_columns(_label(fragment.path), absent))
            keys = dataset.get_partition_keys(fragment.partition_expression)
            with _refusals(fragment.path):
                start = 0
                for batch in batches(fragment.path, [c for c in wanted if c in there]):
                    table = _conforming(pa.Table.from_batches([batch]), asked, keys)
                    yield Part(_label(fragment.path), start, table)
                    start += len(batch)

    return Source(name, read, tuple(schema.names), n_rows)


def _parquet_batches(path: str, columns: list[str]) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a Parquet file.

    pyarrow.dataset reads ahead of a slow reader; this does not (51 MB instead of 416 MB of a file
    of 661 MB, measured).
    """
    with parquet.ParquetFile(path, pre_buffer=False) as file:
        yield from file.iter_batches(PART_ROWS, columns=columns, use_threads=False)


def _arrow_batches(path: str, columns: list[str]) -> Iterator[pa.RecordBatch]:
    """Yield the batches of an Arrow file."""
    with pa.OSFile(path) as file, pa.ipc.open_file(file) as reader:
        for i in range(reader.num_record_batches):
            yield reader.get_batch(i).select(columns)


def _conforming(table: pa.Table, schema: pa.Schema, keys: Mapping[str, object]) -> pa.Table:
    """Return rows with the columns and types of all files; keys: of the folders of their file."""
    if table.schema.equals(schema):
        return table
    columns = []
    for field in schema:
        if field.name in table.column_names:
            columns.append(table.column(field.name).cast(field.type))
        elif field.name in keys:
            columns.append(pa.repeat(pa.scalar(keys[field.name], field.type), len(table)))
        else:
            columns.append(pa.nulls(len(table), field.type))
    return pa.table(columns, schema=schema)


def _distinct(schema: pa.Schema) -> pa.Schema:
    """Return a schema.

    Raises:
        InvalidData: two columns have one name.
    """
    if twice := sorted({name for name in schema.names if schema.names.count(name) > 1}):
        raise duplicate_names(twice)
    return schema


def _unified(schema: pa.Schema, first: str, other: pa.Schema, file: str) -> pa.Schema:
    """Return a schema that holds the rows of one more file.

    Raises:
        InvalidData: a column has two types, neither of which holds the other.
    """
    if schema.equals(other):
        return schema
    with contextlib.suppress(pa.ArrowException):
        return pa.unify_schemas([schema, other], promote_options="permissive")
    for field in other:
        if field.name not in schema.names:
            continue
        try:
            parts = [pa.schema([schema.field(field.name)]), pa.schema([field])]
            pa.unify_schemas(parts, promote_options="permissive")
        except pa.ArrowException:
            types = str(schema.field(field.name).type), str(field.type)
            raise InvalidData(
                "column {column!r} is {before} in {first!r} and {now} in {second!r}; all files "
                "need one type.",
                "Write {second!r} again with the type of the others, or leave it out.",
                column=field.name,
                before=types[0],
                first=first,
                now=types[1],
                second=file,
            ) from None
    raise unreadable_source(file, "its columns are not those of the other files")


@contextlib.contextmanager
def _refusals(file: str) -> Generator[None]:
    """Turn errors of pyarrow into sentences that name the file."""
    try:
        yield
    except (OSError, pa.ArrowException) as error:
        raise unreadable_source(file, reason(error)) from error


# -- CSV -------------------------------------------------------------------------------------------


def _csv_source(name: str, files: CsvFiles) -> Source:
    def read(kinds: Kinds | None) -> Iterator[Part]:
        for file, start, table in files.tables(kinds):
            yield Part(_label(file), start, table)

    return Source(name, read, files.names())
