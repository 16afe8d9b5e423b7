"""CSV files: how one is written, how pyarrow reads it, and what is wrong with it.

Blanks around cells and names of columns are no part of them: a cell of blanks is missing.
"""

import csv
import dataclasses
import io
import itertools
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute
from pyarrow import csv as arrow_csv
from pyarrow import dataset

from bayesgen.errors import Cure, InvalidData
from bayesgen.errors.sources import reason, unreadable_source

compute: Any = pyarrow.compute  # its functions are made at import, where no type checker sees them

NULLS = ("", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "NULL", "null", "None", "none")
"""Cells of a CSV file that mean "missing", quoted or not."""

PADDING = 8
"""Blanks before and after a cell that means "missing", at most: pyarrow strips numbers alone."""

TYPES = {"number": pa.float64(), "text": pa.string(), "boolean": pa.bool_()}
"""Kind of a column, as a classifier knows it -> the type of its cells."""

SEPARATORS = ",;\t|"
START_BYTES = 1 << 16
"""Bytes of a file by which its dialect is recognized."""

BLOCK_BYTES = 1 << 22
"""Bytes of a file parsed at once: a row has to fit in, and the first block decides on types."""

DECIMAL = re.compile(r"[+-]?\d*[.,]\d+(?:[eE][+-]?\d+)?")

UTF_16 = (b"\xff\xfe", b"\xfe\xff")
WORKBOOKS = (b"PK\x03\x04", b"\xd0\xcf\x11\xe0")
"""The first bytes of Excel files: a zip archive (.xlsx), and the older format (.xls)."""

INVALID_CELL = re.compile(
    r"CSV column #(\d+): Row #(\d+): CSV conversion error to ([^:]+): (?:invalid value '(.*)')?",
    re.DOTALL,
)
"""pyarrow's message for a cell that is not of its column's type: column, row, type, and the cell,
unless its bytes are no text."""

READ_AS = {
    "double": "numbers",
    "int64": "whole numbers",
    "bool": "booleans (true, false, 0, 1)",
    "null": "empty in the rows above",
}


@dataclasses.dataclass(frozen=True)
class CsvDialect:
    """The separator of cells, and the character before the decimals of numbers."""

    separator: str = ","
    decimal: str = "."

    @classmethod
    def of(
        cls, path: str, separator: str | None = None, decimal: str | None = None
    ) -> "CsvDialect":
        """Return what is stated, and otherwise what the first rows of a file show.

        The separator is a tab in .tsv, otherwise what `csv.Sniffer` finds in the first line, or a
        comma. The decimal mark is a comma where commas do not separate cells, some cell is a number
        with one, and none is a number with a decimal point.

        Raises:
            InvalidData: the file is not text in UTF-8, known by its first bytes.
        """
        with open(path, "rb") as file:
            magic = file.read(4)
        if magic.startswith(UTF_16):
            raise InvalidData(
                "{source!r} is text in UTF-16; CSV files are read as UTF-8.",
                "Convert the file: iconv -f utf-16 -t utf-8 {source!r} > utf8.csv.",
                source=path,
            )
        if magic.startswith(WORKBOOKS):
            raise InvalidData(
                "{source!r} is an Excel workbook or another archive, and no CSV file.",
                "Save its sheet as CSV (in Excel: File, Save As, CSV UTF-8), and use that file.",
                source=path,
            )
        with pa.input_stream(path) as stream:
            lines = stream.read(START_BYTES).decode("latin1").splitlines() or [""]
        separator = separator or _separator(path, lines[0])
        return cls(separator, decimal or _decimal(lines[1:], separator))


def csv_format(
    path: str, missing: Sequence[str], separator: str | None, decimal: str | None
) -> dataset.CsvFileFormat:
    """Return how pyarrow reads a file.

    Args:
        path: of the file.
        missing: cells that mean "missing", besides NULLS.
        separator: of cells; None: as the file shows.
        decimal: the character before decimals; None: as the file shows.
    """
    dialect = CsvDialect.of(path, separator, decimal)
    return dataset.CsvFileFormat(
        read_options=arrow_csv.ReadOptions(block_size=BLOCK_BYTES),
        parse_options=arrow_csv.ParseOptions(delimiter=dialect.separator, newlines_in_values=True),
        convert_options=arrow_csv.ConvertOptions(
            null_values=_padded([*NULLS, *missing]),
            strings_can_be_null=True,
            decimal_point=dialect.decimal,
        ),
    )


def csv_type(guess: pa.DataType, kind: str | None) -> pa.DataType:
    """Return the type to read a column as: that of its kind, or pyarrow's guess.

    Bytes that are no text are text too, so that reading refuses them.
    """
    return TYPES.get(kind, pa.string() if pa.types.is_binary(guess) else guess)


def trimmed(table: pa.Table) -> pa.Table:
    """Return rows without the blanks around text, of which nothing else is missing."""
    for i, field in enumerate(table.schema):
        if pa.types.is_string(field.type):
            text = compute.utf8_trim_whitespace(table.column(i))
            text = compute.if_else(compute.equal(text, ""), pa.scalar(None, pa.string()), text)
            table = table.set_column(i, field, text)
    return table


def _padded(cells: Sequence[str]) -> list[str]:
    """Return cells, each also with up to PADDING blanks before and after it."""
    return [
        f"{' ' * before}{cell}{' ' * after}"
        for cell in dict.fromkeys(cell.strip() for cell in cells)
        for before in range(PADDING + 1)
        for after in range(PADDING + 1)
    ]


def _separator(path: str, header: str) -> str:
    if ".tsv" in Path(path).suffixes[-2:]:
        return "\t"
    try:
        return csv.Sniffer().sniff(header, SEPARATORS).delimiter
    except csv.Error:  # of a single column
        return ","


def _decimal(lines: Sequence[str], separator: str) -> str:
    if separator == ",":
        return "."
    cells = {cell.strip(' "') for line in lines for cell in line.split(separator)}
    marks = {mark for cell in cells if DECIMAL.fullmatch(cell) for mark in ".," if mark in cell}
    return "," if marks == {","} else "."


def require_closed_quotes(path: str, separator: str) -> None:
    """Refuse a file in which a quoted cell swallows lines, or the end of the file.

    pyarrow accepts such files, and the rows would be fewer. A cell of several lines begins in a
    line with an odd number of quotation marks: only a file with such lines is parsed here.

    Raises:
        InvalidData: with the number of the line.
    """
    with pa.input_stream(path) as stream, io.BufferedReader(stream, BLOCK_BYTES) as lines:
        if not any(line.count(b'"') % 2 for line in lines):
            return
    with pa.input_stream(path) as stream, io.TextIOWrapper(stream, "latin1", newline="") as text:
        # a line after the last one, so that an open cell in the last one spans two
        rows = csv.reader(itertools.chain(text, ["\n"]), delimiter=separator, strict=True)
        first, row = 0, []
        while row is not None:
            first = rows.line_num + 1
            try:
                row = next(rows, None)
            except csv.Error:
                # within one line, a quotation mark costs no rows
                if rows.line_num > first:
                    raise InvalidData(
                        "a quotation mark in the row that begins in line {line:,} of {source!r} "
                        "is not closed, and the lines below would be read as part of it.",
                        "Close it there, or write the file again.",
                        line=first,
                        source=path,
                    ) from None


def file_error(path: str, names: Sequence[str], error: Exception) -> InvalidData:
    """Return the sentence for an error of pyarrow about a file with these columns."""
    invalid = INVALID_CELL.search(str(error))
    if invalid is None:
        return unreadable_source(path, reason(error))
    column, row, kind, cell = invalid.groups()
    name = names[int(column)]
    if cell is None:
        return InvalidData(
            "column {column!r} of {source!r} holds bytes that are not UTF-8 text.",
            "Convert the file: iconv -f latin1 -t utf-8 {source!r} > utf8.csv.",
            column=name,
            source=path,
        )
    sentence = InvalidData(
        "column {column!r} holds {cell!r}, and is read as {kind}.",
        Cure(
            "If it means missing, pass polars.scan_csv({source!r}, null_values=[{cell!r}]); if the "
            "column is of another type, polars.scan_csv({source!r}, infer_schema_length=None); "
            "otherwise correct the file.",
            "If it means missing, add --missing {cell:option}; otherwise correct the file, or "
            "write it as Parquet with one type a column.",
        ),
        column=name,
        cell=cell,
        kind=READ_AS.get(kind, kind),
        source=path,
    )
    # pyarrow counts the header as the first row
    return sentence.at(part=f"file {path!r}", row=int(row) - 2)
