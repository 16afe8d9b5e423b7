"""`Text`: a file of text, or what was made of a file, with the dialect that its beginning shows."""

import codecs
import contextlib
import csv
import dataclasses
import io
import itertools
from collections.abc import Generator, Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyarrow.fs import LocalFileSystem

from bayesgen.errors import BayesgenWarning, Cure, InvalidData, RecognizedFormat
from bayesgen.errors.sources import reason
from bayesgen.sources.dialect import Dialect, Stated, recognized
from bayesgen.sources.formats import workbook_text
from bayesgen.sources.quotes import mended, unclosed_lines
from bayesgen.typing import Self

HEAD_BYTES = 1 << 20
"""Bytes of a file that decide on its dialect."""

LINES = 50
"""Lines with an open quotation mark that a sentence names."""

BYTES = ("utf-8", "cp1252", "latin-1", "ascii")
"""Encodings in which a byte that looks like a quotation mark is one."""


@dataclasses.dataclass(frozen=True, eq=False)
class Text:
    """A file of text.

    path: its name. dialect: how it is a table. buffer: the text in UTF-8 where it is none of the
    file itself; None: it is. notes: what was recognized.
    """

    path: str
    dialect: Dialect
    buffer: pa.Buffer | None = None
    notes: Sequence[BayesgenWarning] = ()

    @classmethod
    def open(cls, path: str, stated: Stated, *, workbook: bool = False) -> Self:
        """Return a file of text, or the first sheet of a workbook.

        Raises:
            InvalidData: it cannot be read.
        """
        buffer, notes = None, []
        if workbook:
            sheet, notes = workbook_text(path)
            buffer = pa.py_buffer(sheet.encode())
            stated = dataclasses.replace(stated, separator=",", decimal=".", encoding="utf-8")
        try:
            with pa.input_stream(path if buffer is None else buffer) as stream:
                head = stream.read(HEAD_BYTES)
        except (OSError, pa.ArrowException) as error:
            raise InvalidData(
                "cannot read {source!r}: {reason}.",
                "Check the path, and whether you may read it.",
                source=path,
                reason=reason(error),
            ) from error
        dialect = recognized(head, path, stated, whole=len(head) < HEAD_BYTES)
        text = cls(path, dialect, buffer, (*notes, *dialect.notes))
        return text.with_closed_quotes() if stated.stray_quotes else text

    def fragment(self, form: Any, folders: Any = None) -> Any:
        """Return the rows, as pyarrow reads them; folders: what folders state, an expression."""
        if self.buffer is not None:
            return form.make_fragment(self.buffer, partition_expression=folders)
        return form.make_fragment(self.path, LocalFileSystem(), folders)

    @contextlib.contextmanager
    def lines(self) -> Generator[Iterator[str]]:
        """Give the lines, with their ends."""
        stream = pa.input_stream(self.path if self.buffer is None else self.buffer)
        encoding = self.dialect.encoding
        with stream, io.TextIOWrapper(stream, encoding, errors="replace", newline="") as text:
            yield iter(text)

    def open_lines(self) -> list[int]:
        """Return the lines, counted from 1, on which a row begins whose quotes are not closed."""
        if self.dialect.encoding in BYTES:
            with pa.input_stream(self.path if self.buffer is None else self.buffer) as stream:
                # only a text with an odd number of marks in a line is parsed here
                if not any(line.count(b'"') % 2 for line in io.BufferedReader(stream, 1 << 22)):
                    return []
        with self.lines() as lines:
            return list(unclosed_lines(lines, self.dialect.separator))

    def require_closed_quotes(self) -> None:
        """Refuse a text in which quotation marks that are not closed swallow the lines below.

        pyarrow would read fewer rows.
        """
        bad = self.open_lines()
        if not bad:
            return
        raise InvalidData(
            "a quotation mark in the {rows} on {lines} of {source!r} is not closed, and the lines "
            "below would be read as part of it.",
            Cure(
                "Close it there, or, if it is a character of the cell, pass "
                "bg.file_source({source!r}, stray_quotes=True).",
                "Close it there, or, if it is a character of the cell, add --stray-quotes.",
            ),
            rows="row that begins" if len(bad) == 1 else "rows that begin",
            lines=_numbered(bad),
            source=self.path,
        )

    def require_even_rows(self) -> None:
        """Refuse a text some of whose rows have more or fewer cells than there are columns."""
        width, skipped, end = len(self.dialect.names), self.dialect.skipped, 0
        uneven: list[str] = []
        with self.lines() as lines:
            rows = csv.reader(
                itertools.islice(lines, skipped, None), delimiter=self.dialect.separator
            )
            for row in rows:
                if row and len(row) != width:
                    uneven.append(f"{len(row):,} on line {skipped + end + 1:,}")
                end = rows.line_num
        if not uneven:
            return
        raise InvalidData(
            "{source!r} has {width:,} columns, and another number of cells in {rows}: "
            "{lines}{more}.",
            "Put quotation marks around a cell that holds {separator!r}, and write every cell of a "
            "row, the missing ones as empty.",
            source=self.path,
            width=width,
            rows="1 row" if len(uneven) == 1 else f"{len(uneven):,} rows",
            lines=", ".join(uneven[:LINES]),
            more=f" and {len(uneven) - LINES:,} more" if len(uneven) > LINES else "",
            separator=self.dialect.separator,
        )

    def with_closed_quotes(self) -> Self:
        """Return the text in which marks that are not closed are characters of their cells."""
        bad = self.open_lines()
        if not bad:
            return self
        with self.lines() as lines:
            text = mended(lines, self.dialect.separator, {*bad})
        note = RecognizedFormat(
            "quotation marks that are not closed on {lines} of {source!r} are read as characters.",
            lines=_numbered(bad),
            source=self.path,
        )
        return dataclasses.replace(
            self,
            dialect=dataclasses.replace(self.dialect, encoding="utf-8"),
            buffer=pa.py_buffer(text.removeprefix(codecs.BOM_UTF8.decode()).encode()),
            notes=(*self.notes, note),
        )


def _numbered(lines: Sequence[int]) -> str:
    """Return "line 3" or "lines 3, 9 and 4 more"."""
    more = f" and {len(lines) - LINES:,} more" if len(lines) > LINES else ""
    numbers = ", ".join(f"{line:,}" for line in lines[:LINES])
    return f"line{'' if len(lines) == 1 else 's'} {numbers}{more}"
