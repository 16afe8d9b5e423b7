"""Quotation marks of CSV files that are never closed: what follows them is read as one cell."""

import csv
import io
import itertools

import pyarrow as pa

from bayesgen.errors import InvalidData

BLOCK_BYTES = 1 << 22
END = "end\n"


def require_closed_quotes(path: str, separator: str) -> None:
    """Refuse a file in which a quoted cell swallows lines or the end of the file.

    pyarrow accepts such files, and the rows would be fewer. Only a file with an odd number of
    quotation marks is parsed here: a cell without quotes may hold one, as 5" does.

    Raises:
        InvalidData: with the number of the line.
    """
    with pa.input_stream(path) as stream:
        blocks = iter(lambda: stream.read(BLOCK_BYTES), b"")
        if sum(block.count(b'"') for block in blocks) % 2 == 0:
            return
    with pa.input_stream(path) as stream, io.TextIOWrapper(stream, "latin1", newline="") as text:
        rows = csv.reader(itertools.chain(text, [END]), delimiter=separator, strict=True)
        before, row = 0, []
        while row is not None:
            before = rows.line_num
            try:
                row = next(rows, None)
            except csv.Error:
                # within one line, a quotation mark costs no rows
                if rows.line_num > before + 1:
                    raise InvalidData(
                        "a quotation mark in the row that begins in line {line:,} of "
                        "{source!r} is not closed, and the lines below would be read as part "
                        "of it.",
                        "Close it there, or write the file again.",
                        line=before + 1,
                        source=path,
                    ) from None
