"""`Dialect`: how the text of a file is a table, recognized once from its beginning."""

import codecs
import csv
import dataclasses
import io
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from bayesgen.errors import BayesgenWarning, Cure, InvalidData
from bayesgen.errors.data import duplicate_names
from bayesgen.sources import notes as said
from bayesgen.sources.defaults import NULLS
from bayesgen.sources.header import Header, header_of

SEPARATORS = ",;\t|"
"""Marks that are recognized between cells."""

SHARE = 0.8
"""Rows with one number of cells, at least, if a mark separates them."""

SAMPLE = 1000
"""Rows that decide on separator and header."""

COMMA = re.compile(r"[+-]?(\d*),\d+")
"""A number with a decimal comma."""
THOUSANDS = re.compile(r"[+-]?\d{1,3}(,\d{3})+")
POINT = re.compile(r"[+-]?\d*\.\d+([eE][+-]?\d+)?")

CODE = re.compile(r"0\d+")
"""Digits after a zero: a code, such as a postal one."""

BOMS = {codecs.BOM_UTF8: "utf-8", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
"""Bytes at the beginning of a text -> its encoding, whose decoder leaves them out."""


@dataclasses.dataclass(frozen=True)
class Stated:
    """What is stated of files of text; the rest is recognized.

    missing: more cells that mean "missing". not_missing: words of NULLS that do not. separator:
    between cells. decimal: the character before decimals. encoding: of the text. header: whether
    the first row holds the names. names: of the columns, in their order. stray_quotes: whether a
    quotation mark that is not closed in its line is a character of its cell.
    """

    missing: Sequence[str] = ()
    not_missing: Sequence[str] = ()
    separator: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    header: bool | None = None
    names: Sequence[str] | None = None
    stray_quotes: bool = False

    @property
    def nulls(self) -> tuple[str, ...]:
        """The cells that mean "missing"."""
        kept = {word.strip() for word in self.not_missing}
        words = [word for word in NULLS if word not in kept]
        return tuple(dict.fromkeys([*words, *(word.strip() for word in self.missing)]))


NOTHING = Stated()


@dataclasses.dataclass(frozen=True)
class Dialect:
    """How the text of one file is a table.

    encoding, separator, decimal: of the text, its cells, its numbers. skipped: lines above the
    first row, the header among them. names: of the columns, in their order. ignored: those that
    have neither a name nor a cell. codes: those of digits after zeros, which are no numbers, each
    with such a cell. nulls: cells that mean "missing". padded: whether blanks stand beside
    separators. notes: what was recognized.
    """

    encoding: str
    separator: str
    decimal: str
    skipped: int
    names: tuple[str, ...]
    ignored: frozenset[str]
    codes: Mapping[str, str]
    nulls: tuple[str, ...]
    padded: bool = True
    notes: tuple[BayesgenWarning, ...] = ()


def recognized(head: bytes, path: str, stated: Stated = NOTHING, *, whole: bool = True) -> Dialect:
    """Return the dialect of a file of text.

    Args:
        head: its first bytes.
        path: its name.
        stated: what need not be recognized.
        whole: whether these are all its bytes.

    Raises:
        InvalidData: it is no text, has no header, or its names do not fit its rows.
    """
    encoding = stated.encoding or encoding_of(head)
    text = _decoded(head, encoding, path, whole=whole)
    lines = list(io.StringIO(text, newline=""))
    if not whole and len(lines) > 1:
        lines.pop()
    notes: list[BayesgenWarning] = []
    if stated.encoding is None and encoding in said.CALLED:
        notes.append(said.encoding_is(path, encoding))
    default = "\t" if ".tsv" in path.lower()[-8:] else ","
    declared = _declared_separator(lines)
    separator = stated.separator or declared or separator_of(_below_comments(lines), default)
    if separator != (stated.separator or default):
        notes.append(said.separator_is(path, separator))
    elif stated.separator is None:
        _refuse_blanks(_below_comments(lines), path, separator)
    header = header_of(
        lines,
        separator,
        path,
        header=stated.header,
        names=stated.names,
        declared=declared is not None,
    )
    if len(set(header.names)) < len(header.names):
        raise duplicate_names(header.names, path)
    notes += header.notes
    decimal = stated.decimal or _decimal_of(header, separator)
    if decimal == "," and stated.decimal is None:
        notes.append(said.decimals_follow_a_comma(path))
    mark = re.escape(separator)
    return Dialect(
        encoding,
        separator,
        decimal,
        skipped=header.skipped,
        names=header.names,
        ignored=header.ignored,
        codes=_codes(header, stated.nulls),
        nulls=stated.nulls,
        padded=bool(re.search(rf"(?:^|{mark}) | (?:{mark}|$)", text, re.M)),
        notes=tuple(notes),
    )


# -- encoding --------------------------------------------------------------------------------------


def encoding_of(head: bytes) -> str:
    """Return the encoding of a text: by its mark, else UTF-8, UTF-16 by its zeros, or cp1252."""
    for mark, encoding in BOMS.items():
        if head.startswith(mark):
            return encoding
    even, odd = head[::2], head[1::2]
    if odd and odd.count(0) > 0.7 * len(odd) and even.count(0) < 0.1 * len(even):
        return "utf-16-le"
    if odd and even.count(0) > 0.7 * len(even) and odd.count(0) < 0.1 * len(odd):
        return "utf-16-be"
    for encoding in ("utf-8", "cp1252"):
        try:
            codecs.getincrementaldecoder(encoding)().decode(head)
        except UnicodeDecodeError:
            continue
        return encoding
    return "latin-1"


def _decoded(head: bytes, encoding: str, path: str, *, whole: bool) -> str:
    """Return the text of bytes, without the mark of their encoding.

    Raises:
        InvalidData: there is no such encoding, or they are not of it.
    """
    try:
        text = codecs.getincrementaldecoder(encoding)().decode(head, final=whole)
    except (LookupError, UnicodeDecodeError) as error:
        unknown = isinstance(error, LookupError)
        raise InvalidData(
            "{source!r} cannot be read in the encoding {encoding!r}: {reason}.",
            "State another one, such as utf-8, utf-16 or cp1252 (Windows, Latin-1).",
            source=path,
            encoding=encoding,
            reason="Python knows none of this name" if unknown else "its bytes are not of it",
        ) from error
    if "\0" in text[:1000] or sum(c < " " and c not in "\t\n\r\f" for c in text[:1000]) > 10:
        raise InvalidData(
            "{source!r} is no text: it begins with {start}.",
            "A table is read from CSV, Parquet, Arrow, ARFF or Excel files; save it as one of "
            "these.",
            source=path,
            start=" ".join(f"{byte:02x}" for byte in head[:8]),
        )
    return text.removeprefix("\ufeff")


# -- separators ------------------------------------------------------------------------------------


def _declared_separator(lines: Sequence[str]) -> str | None:
    """Return the separator that a first line "sep=;" states, as Excel writes and reads it."""
    found = re.fullmatch(r'"?sep=(.)"?', lines[0].strip("\r\n")) if lines else None
    return None if found is None else found[1]


def _below_comments(lines: Sequence[str]) -> list[str]:
    """Return the first lines that are neither blank nor begin with #; else all."""
    found = [line for line in lines[: 2 * SAMPLE] if line.strip() and line.lstrip()[0] != "#"]
    return found[:SAMPLE] or list(lines[:SAMPLE])


def separator_of(lines: Sequence[str], default: str) -> str:
    """Return the mark that separates the cells of lines.

    Examples:
        >>> separator_of(["a;b", "1,5;2", "2,5;3"], ",")
        ';'
        >>> separator_of(["a,b", "x;y,2"], ",")
        ','
    """
    found: dict[str, tuple[float, list[list[str]]]] = {}
    for mark in dict.fromkeys([default, *SEPARATORS]):
        rows = [row for row in cells_of(lines, mark) if row]
        sizes = [len(row) for row in rows]
        most = max(set(sizes), key=lambda n: (sizes.count(n), n), default=0)
        share = sizes.count(most) / max(len(sizes), 1)
        # a header may have one cell less, or a title of one cell stand above it
        if most >= 2 and (share >= SHARE or (len(sizes) <= 5 and share >= 0.5)):
            found[mark] = share, rows
    if not found:
        present = [mark for mark in SEPARATORS if lines and mark in lines[0]]
        return default if default in present or not present else present[0]
    best = max(share for share, _ in found.values())
    marks = [mark for mark, (share, _) in found.items() if share == best]
    # numbers with a decimal comma are cells between semicolons, and never cells of commas
    for mark in marks:
        decimals = sum(bool(COMMA.fullmatch(c.strip())) for row in found[mark][1] for c in row)
        if mark != "," and "," in marks and decimals > len(found[mark][1]) / 2:
            return mark
    return marks[0]


def cells_of(lines: Sequence[str], separator: str) -> list[list[str]]:
    """Return the cells of lines, without the blanks around them; rows after a bad quote are one."""
    rows = csv.reader(lines, delimiter=separator, skipinitialspace=True)
    found = []
    try:
        for row in rows:
            found.append([cell.strip() for cell in row])
    except csv.Error:  # a cell of more than 128 KB
        pass
    return found


def _refuse_blanks(lines: Sequence[str], path: str, separator: str) -> None:
    """Refuse a file whose columns are separated by blanks alone."""
    if len(lines) < 3 or any(separator in line for line in lines):
        return
    rows = [line.split() for line in lines]
    if len({len(row) for row in rows}) > 1 or len(rows[0]) < 2:
        return
    numbers = sum(bool(re.fullmatch(r"[+-]?[\d.]+(e[+-]?\d+)?", c)) for r in rows[1:] for c in r)
    if 2 * numbers > len(rows[1:]) * len(rows[0]) - 1:
        raise InvalidData(
            "cells of {source!r} are separated by blanks.",
            Cure(
                "Pass pandas.read_csv({source!r}, sep=r'\\s+').",
                'Write it with commas: python -c "import pandas; pandas.read_csv({source!r}, '
                "sep=r'\\s+').to_csv({out!r}, index=False)\".",
            ),
            source=path,
            out=f"{Path(path).stem}-commas.csv",
        )


# -- numbers ---------------------------------------------------------------------------------------


def _decimal_of(header: Header, separator: str) -> str:
    """Return the character before decimals: a comma if numbers have one, and none a point."""
    if separator == ",":
        return "."
    commas = thousands = 0
    for j in range(len(header.names)):
        cells = header.cells(j)
        if any(POINT.fullmatch(cell) for cell in cells):
            return "."
        with_comma = [cell for cell in cells if COMMA.fullmatch(cell)]
        commas += len(with_comma)
        thousands += sum(bool(THOUSANDS.fullmatch(cell)) for cell in with_comma)
    return "," if commas > thousands else "."


def _codes(header: Header, nulls: Sequence[str]) -> dict[str, str]:
    """Return the columns of digits alone, some of them after a zero, each with such a cell."""
    found = {}
    for j, name in enumerate(header.names):
        cells = [cell for cell in header.cells(j) if cell not in nulls]
        if cells and all(cell.isascii() and cell.isdigit() for cell in cells):
            code = next((cell for cell in cells if CODE.fullmatch(cell)), None)
            if code is not None:
                found[name] = code
    return found
