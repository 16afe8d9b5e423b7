"""Sources of files: Parquet, CSV and Arrow IPC, one, a folder or a pattern."""

import contextlib
import csv
import glob
import io
import os
import re
from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute
from pyarrow import csv as arrow_csv
from pyarrow import dataset

from bayesgen.errors import CountsAsMissing, Cure, InvalidData, warn
from bayesgen.errors.data import duplicate_names
from bayesgen.errors.sources import reason
from bayesgen.sources.part import PART_ROWS, Part
from bayesgen.sources.source import NO_READAHEAD, Kinds, Source
from bayesgen.table.columns import NUMBER

compute: Any = pyarrow.compute  # its functions are made at import, where no type checker sees them

# reads no row group ahead of a slow reader: .3 instead of .9 GB of a file of .6 GB, measured
PARQUET = dataset.ParquetFileFormat(
    default_fragment_scan_options=dataset.ParquetFragmentScanOptions(pre_buffer=False)
)
IPC = dataset.IpcFileFormat()
FORMATS = {".parquet": PARQUET, ".pq": PARQUET, ".arrow": IPC, ".feather": IPC, ".ipc": IPC}
"""Formats by the ending of a file; others are CSV."""

NULLS = ("", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "NULL", "null", "None", "none")
"""Cells of a CSV file that mean "missing", quoted or not."""

PADDING = 8
"""Blanks before and after a cell that means "missing", at most: pyarrow strips numbers alone."""

BLOCK_BYTES = 1 << 22
"""Bytes of a CSV file parsed at once: a row has to fit in, and the first block decides on types."""

TYPES = {"number": pa.float64(), "text": pa.string(), "boolean": pa.bool_()}
"""Kind of a column, as a classifier knows it -> the type of its cells in CSV files."""

READ_AS = {
    "double": "numbers",
    "int64": "whole numbers",
    "bool": "booleans (true, false, 0, 1)",
    "null": "empty in the rows above",
}

REPEATED_NAME = re.compile(r"multiple columns named (.+)")
INVALID_CELL = re.compile(
    r"CSV column #(\d+): Row #(\d+): CSV conversion error to ([^:]+): (?:invalid value '(.*)')?",
    re.DOTALL,
)
"""pyarrow's message for a cell that is not of its column's type: column, row, type, and the cell,
unless its bytes are no text."""


def file_source(
    path: str | os.PathLike,
    missing: Sequence[str] = (),
    separator: str | None = None,
    decimal: str | None = None,
) -> Source:
    """Return the rows of files.

    Columns that some files lack are missing there, with a warning. Folders of the form column=value
    are columns. The types of the columns of a CSV file are those of its first 4 MB; blanks around
    its cells and names are no part of them.

    Args:
        path: of a file, of a folder of files, or a pattern. Parquet where it ends in .parquet or
            .pq, Arrow IPC in .arrow, .feather or .ipc, otherwise CSV.
        missing: more cells of CSV files that mean "missing".
        separator: of the cells of CSV files; None: a tab in .tsv files, otherwise a comma.
        decimal: the character before the decimals of numbers in CSV files; None: a point.

    Raises:
        InvalidData: there is no file, files are of two formats, a file cannot be read, a column has
            several types, or two columns of a file have one name.
    """
    name = os.fspath(path)
    paths = _files_at(name)
    separator = separator or ("\t" if ".tsv" in Path(paths[0]).suffixes[-2:] else ",")
    text = _csv_format(missing, separator, decimal or ".")
    form = FORMATS.get(Path(paths[0]).suffix, text)
    is_csv = form is text
    if is_csv:
        _require_separator(paths[0], separator)
    with _readable(name):
        rows = dataset.dataset(paths, format=form, partitioning="hive")
        files = list(rows.get_fragments())
        # the schema of the first file is known: to inspect it again would parse its first 4 MB
        keys = dataset.get_partition_keys(files[0].partition_expression)
        folders = [field for field in rows.schema if field.name in keys]
        others = [pa.schema([*file.physical_schema, *folders]) for file in files[1:]]
        schemas = [rows.schema, *others]
        n_rows = None if is_csv else rows.count_rows()
    written = dict.fromkeys(column for schema in schemas for column in schema.names)
    names = {column: column.strip() if is_csv else column for column in written}
    if twice := [column for column, number in Counter(names.values()).items() if number > 1]:
        raise duplicate_names(twice)

    def read(kinds: Kinds | None) -> Iterator[Part]:
        asked = [column for column in names if kinds is None or names[column] in kinds]
        types = pa.schema([])
        for file, schema in zip(files, schemas, strict=True):
            if absent := [names[column] for column in asked if column not in schema.names]:
                warn(
                    CountsAsMissing(
                        "{part} lacks {columns:named column}, which other parts have; they count "
                        "as missing in its rows.",
                        "Add the columns, or leave this part out.",
                        part=f"file {file.path!r}",
                        columns=absent,
                    )
                )
            fields = [schema.field(column) for column in asked if column in schema.names]
            if is_csv:
                fields = [
                    _csv_field(field, (kinds or {}).get(names[field.name])) for field in fields
                ]
            with _readable(file.path):
                types = pa.unify_schemas([types, pa.schema(fields)], promote_options="permissive")
        for file, schema in zip(files, schemas, strict=True):
            if is_csv:
                _require_closed_quotes(file.path, separator)
            with _readable(file.path, schema.names):
                start = 0
                for batch in file.to_batches(types, batch_size=PART_ROWS, **NO_READAHEAD):
                    table = pa.table(batch).rename_columns([names[raw] for raw in types.names])
                    yield Part(f"file {file.path!r}", start, _trimmed(table) if is_csv else table)
                    start += len(batch)

    return Source(name, read, tuple(names.values()), n_rows)


def _files_at(path: str) -> list[str]:
    """Return the files at a path, in order; hidden ones and those that begin with _ are left out.

    Raises:
        InvalidData: there is none, or files are of two formats.
    """
    if os.path.isfile(path):
        return [path]
    pattern = os.path.join(glob.escape(path), "**") if os.path.isdir(path) else path
    files = [file for file in sorted(glob.glob(pattern, recursive=True)) if os.path.isfile(file)]
    files = [file for file in files if not os.path.basename(file).startswith("_")]
    if not files:
        raise InvalidData(
            "there is no file at {source!r}.",
            "Pass the path of a Parquet, CSV or Arrow file, of a folder of them, or a pattern "
            "such as 'rows/*.parquet'.",
            source=path,
        )
    for file in files:
        if FORMATS.get(Path(file).suffix) is not FORMATS.get(Path(files[0]).suffix):
            raise InvalidData(
                "{source!r} holds {one!r} and {other!r}, files of two formats.",
                "Pass a pattern that selects one: {pattern!r}.",
                source=path,
                one=files[0],
                other=file,
                pattern=f"{os.path.dirname(files[0])}/*{Path(files[0]).suffix}",
            )
    return files


@contextlib.contextmanager
def _readable(path: str, names: Sequence[str] = ()) -> Generator[None]:
    """Turn errors of pyarrow about a file with these columns into sentences."""
    try:
        yield
    except (OSError, pa.ArrowException) as error:
        if repeated := REPEATED_NAME.search(str(error)):
            raise duplicate_names([repeated[1]]) from error
        invalid = INVALID_CELL.search(str(error))
        if invalid is None:
            raise InvalidData(
                "cannot read {source!r} as a table: {reason}.",
                "Write the file again, or leave it out; a CSV file is text in UTF-8 (in Excel: "
                "File, Save As, CSV UTF-8).",
                source=path,
                reason=reason(error),
            ) from error
        column, row, kind, cell = invalid.groups()
        name = names[int(column)].strip()
        # pyarrow counts the header as the first row
        raise _invalid_cell(path, name, kind, cell).at(
            part=f"file {path!r}", row=int(row) - 2
        ) from error


# -- CSV -------------------------------------------------------------------------------------------


def _csv_format(missing: Sequence[str], separator: str, decimal: str) -> dataset.CsvFileFormat:
    """Return how pyarrow reads CSV files, whose cells `missing` mean "missing", besides NULLS."""
    blanks = range(PADDING + 1)
    nulls = [
        f"{' ' * before}{cell.strip()}{' ' * after}"
        for cell in dict.fromkeys([*NULLS, *missing])
        for before in blanks
        for after in blanks
    ]
    return dataset.CsvFileFormat(
        read_options=arrow_csv.ReadOptions(block_size=BLOCK_BYTES),
        parse_options=arrow_csv.ParseOptions(delimiter=separator, newlines_in_values=True),
        convert_options=arrow_csv.ConvertOptions(
            null_values=nulls, strings_can_be_null=True, decimal_point=decimal
        ),
    )


def _csv_field(field: pa.Field, kind: str | None) -> pa.Field:
    """Return a column with the type to read it as: that of its kind, or pyarrow's guess.

    Bytes that are no text are text too, so that reading refuses them.
    """
    guess = pa.string() if pa.types.is_binary(field.type) else field.type
    return field.with_type(TYPES.get(kind, guess))


def _trimmed(table: pa.Table) -> pa.Table:
    """Return rows without the blanks around text, of which nothing else is missing.

    Where they alone made numbers text they stay: by these a table knows that it holds numbers.
    """
    for i, field in enumerate(table.schema):
        if pa.types.is_string(field.type):
            text = compute.utf8_trim_whitespace(table.column(i))
            if _are_numbers(text):
                continue
            text = compute.if_else(compute.equal(text, ""), pa.scalar(None, pa.string()), text)
            table = table.set_column(i, field, text)
    return table


def _are_numbers(text: pa.ChunkedArray) -> bool:
    """Return whether all texts, of which there are some, are numbers."""
    pattern = f"^({NUMBER.pattern})?$"
    numbers = compute.match_substring_regex(text, pattern, ignore_case=True)
    return bool(compute.all(numbers).as_py()) and bool(
        compute.any(compute.not_equal(text, "")).as_py()
    )


def _require_separator(path: str, separator: str) -> None:
    """Refuse a file whose first line has another usual separator, and not this one."""
    with pa.input_stream(path) as stream:
        header = stream.read(BLOCK_BYTES).split(b"\n")[0].decode("latin1")
    marks = [mark for mark in ",;\t|" if mark in header]
    if marks and separator not in header:
        raise InvalidData(
            "the first line of {source!r} has no {separator!r} between cells, but {mark!r}.",
            Cure(
                "Pass polars.scan_csv({source!r}, separator={mark!r}), with decimal_comma=True if "
                "decimals follow a comma.",
                "Add --sep {mark:option}, and --decimal , if decimals follow a comma.",
            ),
            source=path,
            separator=separator,
            mark=marks[0],
        )


def _require_closed_quotes(path: str, separator: str) -> None:
    """Refuse a file in which a quotation mark that is not closed swallows the lines below.

    pyarrow would read fewer rows. Only a file with an odd number of marks in a line is parsed here.
    """
    with pa.input_stream(path) as stream, io.BufferedReader(stream, BLOCK_BYTES) as lines:
        if not any(line.count(b'"') % 2 for line in lines):
            return
    with pa.input_stream(path) as stream, io.TextIOWrapper(stream, "latin1", newline="") as lines:
        rows, line = csv.reader(lines, delimiter=separator, strict=True), 1
        try:
            for _ in rows:
                line = rows.line_num + 1
        except csv.Error as error:
            raise InvalidData(
                "a quotation mark in the row that begins on line {line:,} of {source!r} is not "
                "closed, and the lines below would be read as part of it.",
                "Close it there, or write the file again.",
                line=line,
                source=path,
            ) from error


def _invalid_cell(path: str, column: str, kind: str, cell: str | None) -> InvalidData:
    """Return the sentence for a cell that is not of its column's type; None: it is no text."""
    if cell is None:
        return InvalidData(
            "column {column!r} of {source!r} holds bytes that are not UTF-8 text.",
            "Convert the file: iconv -f latin1 -t utf-8 {source!r} > utf8.csv.",
            column=column,
            source=path,
        )
    return InvalidData(
        "column {column!r} holds {cell!r}, and is read as {kind}.",
        Cure(
            "If it means missing, pass polars.scan_csv({source!r}, null_values=[{cell!r}]); if the "
            "column is of another type, polars.scan_csv({source!r}, infer_schema_length=None); "
            "otherwise correct the file.",
            "If it means missing, add --missing {cell:option}; otherwise correct the file, or "
            "write it as Parquet with one type a column.",
        ),
        column=column,
        cell=cell,
        kind=READ_AS.get(kind, kind),
        source=path,
    )
