"""Dialect of a CSV file: separator of cells and decimal mark of numbers."""

import dataclasses
import re
from pathlib import Path

import pyarrow as pa

from bayesgen.errors import InvalidData

SEPARATORS = ",;\t|"
START_BYTES = 1 << 16
"""Bytes of a file by which its dialect is recognized."""

UTF_16 = (b"\xff\xfe", b"\xfe\xff")
WORKBOOKS = (b"PK\x03\x04", b"\xd0\xcf\x11\xe0")
"""The first bytes of Excel files: a zip archive (.xlsx), and the older format (.xls)."""

QUOTED = re.compile(r'"([^"]*)"')


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

        The separator is a tab in .tsv, a comma where the first line has one, and otherwise the most
        frequent of semicolons, tabs and bars there. The decimal mark is a comma where commas do not
        separate cells, some cell is a number with one, and none is a number with a decimal point.
        """
        with pa.input_stream(path) as stream:
            raw = stream.read(START_BYTES).decode("latin1")
        separator = separator or _separator(path, raw)
        return cls(separator, decimal or _decimal(raw, separator))


def require_text(path: str) -> None:
    """Refuse files that are not text in UTF-8, known by their first bytes.

    Raises:
        InvalidData: with what to do about them.
    """
    with open(path, "rb") as file:
        start = file.read(4)
    if start.startswith(UTF_16):
        raise InvalidData(
            "{source!r} is text in UTF-16; CSV files are read as UTF-8.",
            "Convert the file: iconv -f utf-16 -t utf-8 {source!r} > utf8.csv.",
            source=path,
        )
    if start.startswith(WORKBOOKS):
        raise InvalidData(
            "{source!r} is an Excel workbook or another archive, and no CSV file.",
            "Save its sheet as CSV (in Excel: File, Save As, CSV UTF-8), and use that file.",
            source=path,
        )


def _separator(path: str, raw: str) -> str:
    if ".tsv" in Path(path).suffixes[-2:]:
        return "\t"
    line = QUOTED.sub("", raw).split("\n")[0]
    return "," if "," in line else max(SEPARATORS, key=line.count)


def _decimal(raw: str, separator: str) -> str:
    """Return the decimal mark of the complete lines of the start of a file."""
    if separator == ",":
        return "."
    lines = raw.splitlines()[1:] if len(raw) < START_BYTES else raw.splitlines()[1:-1]
    cells = {cell.strip(' "') for line in lines for cell in line.split(separator)}
    point = any(re.fullmatch(r"[+-]?\d*\.\d+(?:[eE][+-]?\d+)?", cell) for cell in cells)
    comma = any(re.fullmatch(r"[+-]?\d*,\d+(?:[eE][+-]?\d+)?", cell) for cell in cells)
    return "," if comma and not point else "."
