"""Sources of files: Parquet, CSV, Arrow IPC, ARFF and workbooks, one, a folder or a pattern."""

import contextlib
import dataclasses
import functools
import glob
import os
import re
from collections import Counter
from collections.abc import Collection, Generator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute
from pyarrow import csv as arrow_csv
from pyarrow import dataset

from bayesgen.errors import CountsAsMissing, Cure, InvalidData, RecognizedFormat, warn
from bayesgen.errors.data import repeated_name
from bayesgen.errors.sources import reason
from bayesgen.sources.defaults import PART_ROWS
from bayesgen.sources.dialect import Dialect, Stated
from bayesgen.sources.formats import arff_table, format_of
from bayesgen.sources.part import Part
from bayesgen.sources.source import NO_READAHEAD, Kinds, Source
from bayesgen.sources.text import Text
from bayesgen.sources.words import class_words, notes_of_words
from bayesgen.table import Name
from bayesgen.table.columns import NUMBER

compute: Any = pyarrow.compute  # its functions are made at import, where no type checker sees them

# reads no row group ahead of a slow reader: .3 instead of .9 GB of a file of .6 GB, measured
PARQUET = dataset.ParquetFileFormat(
    default_fragment_scan_options=dataset.ParquetFragmentScanOptions(pre_buffer=False)
)
IPC = dataset.IpcFileFormat()
FORMATS = {"parquet": PARQUET, "arrow": IPC}
"""Formats that state names and types."""

PADDING = 8
"""Blanks before and after a cell that means "missing", at most: pyarrow strips numbers alone. For
every column it makes trees of all these words, 4 s for 1,093 columns, so that files without blanks
beside separators have fewer."""

BLOCK_BYTES = 1 << 22
"""Bytes of a CSV file parsed at once: a row has to fit in, and the first block decides on types."""

HEAD_BYTES = 1 << 20
"""Bytes of a CSV file that decide on its dialect."""

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


@dataclasses.dataclass(frozen=True, eq=False)
class OpenFile:
    """A file that can be read again and again.

    path: its name. fragment: its rows, as pyarrow reads them. folders: the columns that its
    folders state.
    """

    path: str
    fragment: Any
    folders: Sequence[pa.Field] = ()

    @functools.cached_property
    def schema(self) -> pa.Schema:
        """The names and types of its columns, those of its folders among them."""
        return pa.schema([*self.fragment.physical_schema, *self.folders])

    @property
    def names(self) -> list[str]:
        """The names of its columns that are read."""
        return self.schema.names


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class OpenText(OpenFile):
    """A file of text, which states neither names nor types by itself.

    text: the text and its dialect.
    """

    text: Text

    @property
    def names(self) -> list[str]:
        """The names of its columns that are read."""
        return [name for name in self.schema.names if name not in self.text.dialect.ignored]


def file_source(
    path: str | os.PathLike,
    missing: Sequence[str] = (),
    separator: str | None = None,
    decimal: str | None = None,
    *,
    not_missing: Sequence[str] = (),
    encoding: str | None = None,
    header: bool | None = None,
    names: Sequence[str] | None = None,
    stray_quotes: bool = False,
) -> Source:
    r"""Return the rows of files, to pass in place of their path where something has to be stated.

    What is not stated of a CSV file is recognized from its beginning, and each thing that is not as
    in most files is said in a warning: encoding, separator, decimal mark, header, columns without
    a name, digits after zeros. Columns that some files lack are missing there, with a warning.
    Folders of the form column=value are columns. The types of the columns of a CSV file are those
    of its first 4 MB; blanks around its cells and names are no part of them.

    Args:
        path: of a file, of a folder of files, or a pattern. Parquet where it ends in .parquet or
            .pq, Arrow IPC in .arrow, .feather or .ipc, Weka's format in .arff; the first sheet of a
            workbook (.xlsx, .xls, .ods) where pandas has an engine for it; otherwise CSV.
        missing: more cells of CSV files that mean "missing".
        separator: of the cells of CSV files; None: recognized among commas, semicolons, tabs, |.
        decimal: the character before the decimals of numbers in CSV files; None: a point, or a
            comma where numbers have one.
        not_missing: words that mean "missing" by default, such as "NA", and do not here.
        encoding: of CSV files; None: UTF-8 or UTF-16, otherwise Windows-1252.
        header: whether the first row of CSV files holds names; None: refused where it looks like
            data. Without a header columns are x0, x1, ...
        names: of the columns of CSV files, in place of those of the header.
        stray_quotes: whether quotation marks that are not closed in their line are characters of
            the cell; such files are held in memory.

    Returns:
        What `fit(source, y="column")`, `predict_proba(source)` and so on take as X.

    Raises:
        InvalidData: there is no file, files are of two formats, a file cannot be read, a column has
            several types, or two columns of a file have one name.

    Examples:
        >>> import tempfile
        >>> path = tempfile.mkdtemp() + "/rows.csv"
        >>> with open(path, "w") as file:
        ...     _ = file.write("1.5,none,p\n2.5,mild,q\n3.5,none,p\n4.5,mild,q\n")
        >>> rows = file_source(path, names=["dose", "pain", "group"], header=False)
        >>> rows.names
        ('dose', 'pain', 'group')
    """
    name = os.fspath(path)
    stated = Stated(missing, not_missing, separator, decimal, encoding, header, names, stray_quotes)
    files = _opened(name, _files_at(name), stated)
    said: set[str] = set()
    for note in (note for file in files if isinstance(file, OpenText) for note in file.text.notes):
        # files of one folder are mostly alike
        if note.problem not in said:
            warn(note)
        said.add(note.problem)
    return _source(name, files, stated, {})


def _source(
    name: str, files: Sequence[OpenFile], stated: Stated, kept: Mapping[Name, frozenset[str]]
) -> Source:
    """Return the rows of files.

    Args:
        name: of their path.
        files: all of one format.
        stated: of files of text.
        kept: words for missing that a column of classes holds as a class.
    """
    names = tuple(dict.fromkeys(column for file in files for column in file.names))
    texts = [file for file in files if isinstance(file, OpenText)]

    def read(kinds: Kinds | None) -> Iterator[Part]:
        asked = [column for column in names if kinds is None or column in kinds]
        types = pa.schema([])
        for file in files:
            if absent := [column for column in asked if column not in file.schema.names]:
                warn(
                    CountsAsMissing(
                        "{part} lacks {columns:named column}, which other parts have; they count "
                        "as missing in its rows.",
                        "Add the columns, or leave this part out.",
                        part=f"file {file.path!r}",
                        columns=absent,
                    )
                )
            fields = [file.schema.field(column) for column in asked if column not in absent]
            if isinstance(file, OpenText):
                texts_of = {*file.text.dialect.codes, *kept}
                fields = [_csv_field(f, (kinds or {}).get(f.name), texts_of) for f in fields]
            with _readable(file):
                types = pa.unify_schemas([types, pa.schema(fields)], promote_options="permissive")
        for file in files:
            start, empty = 0, []
            if isinstance(file, OpenText):
                file.text.require_closed_quotes()
                empty = [pa.field(column, pa.string()) for column in file.text.dialect.ignored]
            with _readable(file):
                every = pa.schema([*types, *empty])
                for batch in file.fragment.to_batches(every, batch_size=PART_ROWS, **NO_READAHEAD):
                    table = pa.table(batch)
                    if isinstance(file, OpenText):
                        _require_empty(file, table.select([f.name for f in empty]), start)
                        table = _trimmed(table.select(types.names), stated.nulls, kept)
                    yield Part(f"file {file.path!r}", start, table)
                    start += len(batch)

    def labelled(target: Name, columns: Collection[Name], classes: Collection) -> Source:
        counts = _counted(texts, [column for column in names if column in columns], stated.nulls)
        words = class_words(counts.get(target, {}), stated.missing, map(str, classes))
        codes = {column: cell for file in texts for column, cell in file.text.dialect.codes.items()}
        if codes := {column: cell for column, cell in codes.items() if column in columns}:
            warn(_note_of_codes(name, codes))
        for note in notes_of_words(name, target, counts, words, stated.missing):
            warn(note)
        return _source(name, files, stated, {target: words} if words else {})

    n_rows = None if texts else sum(file.fragment.count_rows() for file in files)
    return Source(name, read, names, n_rows, labelled=labelled if texts else None)


def _note_of_codes(source: str, codes: Mapping[str, str]) -> RecognizedFormat:
    """Return the note about columns of digits after zeros, each with a cell."""
    return RecognizedFormat(
        "{columns:named column} {hold} digits after zeros, such as {cell!r}: codes, which are read "
        "as levels and not as numbers.",
        Cure(
            "If they are numbers, pass pandas.read_csv({source!r}).",
            "If they are numbers, write them without these zeros.",
        ),
        columns=list(codes),
        hold="holds" if len(codes) == 1 else "hold",
        cell=next(iter(codes.values())),
        source=source,
    )


def _opened(name: str, paths: Sequence[str], stated: Stated) -> Sequence[OpenFile]:
    """Return the files at paths, all of one format.

    Raises:
        InvalidData: one cannot be read.
    """
    form = format_of(paths[0])
    if form in FORMATS:
        return _with_folders(name, paths, FORMATS[form])
    if form == "arff":
        return [OpenFile(path, IPC.make_fragment(_as_ipc(arff_table(path)))) for path in paths]
    texts = [Text.open(path, stated, workbook=form == "workbook") for path in paths]
    forms = [_csv_format(text.dialect) for text in texts]
    folders, states = (), [None] * len(texts)
    if any("=" in path for path in paths) and form == "text":
        stating = _with_folders(name, paths, forms[0])
        folders = stating[0].folders
        states = [file.fragment.partition_expression for file in stating]
    files = [
        OpenText(path, text.fragment(form, state), folders, text=text)
        for path, text, form, state in zip(paths, texts, forms, states, strict=True)
    ]
    for file in files:
        with _readable(file):
            _ = file.schema
    return files


def _with_folders(name: str, paths: Sequence[str], form: Any) -> list[OpenFile]:
    """Return the files at paths, with the columns that their folders state."""
    with _readable(name):
        rows = dataset.dataset(list(paths), format=form, partitioning="hive")
        files = list(rows.get_fragments())
        keys = dataset.get_partition_keys(files[0].partition_expression)
        folders = [field for field in rows.schema if field.name in keys]
        found = [OpenFile(file.path, file, folders) for file in files]
        for file in found:
            _ = file.schema
    return found


def _as_ipc(table: pa.Table) -> pa.Buffer:
    """Return a table as a file in memory."""
    stream = pa.BufferOutputStream()
    with pa.ipc.new_file(stream, table.schema) as writer:
        writer.write_table(table)
    return stream.getvalue()


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
        if format_of(file) != format_of(files[0]):
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
def _readable(file: OpenFile | str) -> Generator[None]:
    """Turn errors of pyarrow about a file, or several at a path, into sentences."""
    path = file if isinstance(file, str) else file.path
    try:
        yield
    except (OSError, pa.ArrowException) as error:
        if repeated := REPEATED_NAME.search(str(error)):
            raise repeated_name(repeated[1]) from error
        invalid = INVALID_CELL.search(str(error))
        text = file.text if isinstance(file, OpenText) else None
        if invalid is None or text is None:
            if text is not None:
                text.require_closed_quotes()
                text.require_even_rows()
            raise InvalidData(
                "cannot read {source!r} as a table: {reason}.",
                "Write the file again, or leave it out; a CSV file is text in UTF-8 (in Excel: "
                "File, Save As, CSV UTF-8).",
                source=path,
                reason=reason(error),
            ) from error
        column, row, kind, cell = invalid.groups()
        # pyarrow counts the lines above as rows, and from 1
        raise _invalid_cell(path, text.dialect.names[int(column)], kind, cell).at(
            part=f"file {path!r}", row=int(row) - 1 - text.dialect.skipped
        ) from error


# -- CSV -------------------------------------------------------------------------------------------


def _csv_format(dialect: Dialect) -> dataset.CsvFileFormat:
    """Return how pyarrow reads files of a dialect; words in columns of text stay as they are."""
    return dataset.CsvFileFormat(
        read_options=arrow_csv.ReadOptions(
            block_size=BLOCK_BYTES,
            skip_rows=dialect.skipped,
            column_names=list(dialect.names),
            encoding=dialect.encoding,
        ),
        parse_options=arrow_csv.ParseOptions(delimiter=dialect.separator, newlines_in_values=True),
        convert_options=arrow_csv.ConvertOptions(
            null_values=_padded(dialect.nulls, PADDING if dialect.padded else 1),
            decimal_point=dialect.decimal,
        ),
    )


def _padded(words: Sequence[str], most: int = PADDING) -> list[str]:
    """Return words with up to so many blanks before and after them."""
    blanks = range(most + 1)
    return [f"{' ' * a}{word}{' ' * b}" for word in words for a in blanks for b in blanks]


def _csv_field(field: pa.Field, kind: str | None, texts: Collection[Name]) -> pa.Field:
    """Return a column with the type to read it as: that of its kind, or pyarrow's guess.

    Bytes that are no text are text too, so that reading refuses them; so are the columns of texts,
    which hold codes, or classes that are words for missing.
    """
    guess = pa.string() if pa.types.is_binary(field.type) or field.name in texts else field.type
    return field.with_type(TYPES.get(kind, guess))


def _trimmed(
    table: pa.Table, nulls: Sequence[str], kept: Mapping[Name, frozenset[str]]
) -> pa.Table:
    """Return rows without the blanks around text, of which words for missing are missing.

    Where they alone made numbers text they stay: by these a table knows that it holds numbers.
    """
    for i, field in enumerate(table.schema):
        if pa.types.is_string(field.type):
            text = compute.utf8_trim_whitespace(table.column(i))
            words = [word for word in nulls if word not in kept.get(field.name, ())]
            missing = compute.is_in(text, value_set=pa.array(words, pa.string()))
            cells = text
            if _are_numbers(text.filter(compute.invert(missing))):
                cells = table.column(i)
                blank = compute.and_(compute.equal(text, ""), compute.not_equal(cells, ""))
                missing = compute.and_not(missing, blank)
            text = compute.if_else(missing, pa.scalar(None, pa.string()), cells)
            table = table.set_column(i, field, text)
    return table


def _counted(
    files: Sequence[OpenText], columns: Sequence[str], nulls: Sequence[str]
) -> dict[Name, Counter]:
    """Return how often each column holds each of the cells that mean "missing"."""
    counts: dict[Name, Counter] = {}
    words = pa.array(_padded(nulls), pa.string())
    for file in files:
        cells = pa.schema([(name, pa.string()) for name in file.names if name in columns])
        file.text.require_closed_quotes()
        with _readable(file):
            for batch in file.fragment.to_batches(cells, batch_size=PART_ROWS, **NO_READAHEAD):
                for name, column in zip(cells.names, batch.columns, strict=True):
                    found = compute.is_in(column, value_set=words)
                    if not found.true_count:
                        continue
                    seen = compute.utf8_trim_whitespace(column.filter(found)).value_counts()
                    counts.setdefault(name, Counter()).update(
                        {entry["values"]: entry["counts"] for entry in seen.to_pylist()}
                    )
    return counts


def _are_numbers(text: pa.ChunkedArray) -> bool:
    """Return whether all texts, of which there are some, are numbers, and none is a code."""
    pattern = f"^({NUMBER.pattern})?$"
    numbers = compute.match_substring_regex(text, pattern, ignore_case=True)
    if not len(text) or not compute.all(numbers).as_py():
        return False
    codes = compute.match_substring_regex(text, r"^0\d")
    return bool(compute.any(compute.not_equal(text, "")).as_py()) and not compute.any(codes).as_py()


def _require_empty(file: OpenText, table: pa.Table, start: int) -> None:
    """Raise if a column that was to be ignored has a cell after all."""
    for name in table.column_names:
        cells = compute.utf8_trim_whitespace(table.column(name))
        filled = compute.not_equal(cells, "").to_numpy(zero_copy_only=False)
        if filled.any():
            row = int(filled.argmax())
            raise InvalidData(
                "column {position:,} has no name, and no cell in the first rows, and holds "
                "{cell!r} here.",
                "Give it a name in the header.",
                position=file.text.dialect.names.index(name) + 1,
                cell=cells[row].as_py(),
            ).at(part=f"file {file.path!r}", row=start + row)


def _invalid_cell(path: str, column: str, kind: str, cell: str | None) -> InvalidData:
    """Return the sentence for a cell that is not of its column's type; None: it is no text."""
    if cell is None:
        return InvalidData(
            "column {column!r} of {source!r} holds bytes that are not UTF-8 text.",
            Cure(
                "Pass bg.file_source({source!r}, encoding='cp1252') if it is Windows-1252, or "
                "Latin-1.",
                "Add --encoding cp1252 if it is Windows-1252, or Latin-1.",
            ),
            column=column,
            source=path,
        )
    return InvalidData(
        "column {column!r} holds {cell!r}, and is read as {kind}.",
        Cure(
            "If it means missing, pass bg.file_source({source!r}, missing=[{cell!r}]); if the "
            "column is of another type, polars.scan_csv({source!r}, infer_schema_length=None); "
            "otherwise correct the file.",
            "If it means missing, add {cell:assigned --missing}; otherwise correct the file, or "
            "write it as Parquet with one type a column.",
        ),
        column=column,
        cell=cell,
        kind=READ_AS.get(kind, kind),
        source=path,
    )
