"""What is said of a text: a note of each thing that was recognized, and how to state it."""

from collections.abc import Sequence

from bayesgen.errors import Cure, RecognizedFormat
from bayesgen.errors.wording import listed

CALLED = {
    "cp1252": "Windows-1252, which contains Latin-1",
    "latin-1": "Latin-1",
    "utf-16": "UTF-16",
    "utf-16-le": "UTF-16",
    "utf-16-be": "UTF-16",
}
"""Encoding other than UTF-8 -> how a note calls it."""

MARKS = {";": "semicolons", "\t": "tabs", "|": "'|'", ",": "commas"}
"""Separator -> how a note calls it."""


def encoding_is(path: str, encoding: str) -> RecognizedFormat:
    """A text is not UTF-8."""
    return RecognizedFormat(
        "{source!r} is not UTF-8; it is read as {encoding}.",
        Cure(
            "If letters come out wrong, pass bg.file_source({source!r}, encoding='...').",
            "If letters come out wrong, add --encoding with the right one.",
        ),
        source=path,
        encoding=CALLED[encoding],
    )


def separator_is(path: str, separator: str) -> RecognizedFormat:
    """Cells are not separated as the name of the file says."""
    return RecognizedFormat(
        "cells of {source!r} are separated by {mark}.",
        Cure(
            "If not, pass bg.file_source({source!r}, separator=...).",
            "If not, state the mark after --sep.",
        ),
        source=path,
        mark=MARKS.get(separator, repr(separator)),
    )


def decimals_follow_a_comma(path: str) -> RecognizedFormat:
    """Numbers have a decimal comma."""
    return RecognizedFormat(
        "decimals of {source!r} follow a comma.",
        Cure(
            "If commas separate thousands, pass bg.file_source({source!r}, decimal='.').",
            "If commas separate thousands, add --decimal='.' to the command.",
        ),
        source=path,
    )


# -- lines above the rows --------------------------------------------------------------------------


def titles_left_out(path: str, titles: int) -> RecognizedFormat:
    """Lines of a single cell stand above the header."""
    one = titles == 1
    return RecognizedFormat(
        "{count} above the header of {source!r} {hold} one cell and {are} left out.",
        Cure(
            "If it is the header, pass bg.file_source({source!r}, header=True).",
            "If it is the header, add --header.",
        ),
        source=path,
        count=_lines(titles),
        hold="holds" if one else "hold",
        are="is" if one else "are",
    )


def comments_left_out(path: str, comments: int) -> RecognizedFormat:
    """Lines that begin with # stand above the header."""
    one = comments == 1
    return RecognizedFormat(
        "{count} above the header of {source!r} {begin} with # and {are} left out.",
        source=path,
        count=_lines(comments),
        begin="begins" if one else "begin",
        are="is" if one else "are",
    )


def header_begins_with_a_mark(path: str) -> RecognizedFormat:
    """The header looks like a comment."""
    return RecognizedFormat(
        "the header of {source!r} begins with #, which is no part of the first name.",
        source=path,
    )


def first_row_is_data(path: str) -> RecognizedFormat:
    """There is no header, and names were stated."""
    return RecognizedFormat(
        "the first row of {source!r} looks like data, and is read as a row.", source=path
    )


def two_rows_of_names(path: str, how: str) -> RecognizedFormat:
    """Two rows hold names; how: the names of the columns came about."""
    return RecognizedFormat(
        "{source!r} has two rows of names above its rows; {how}.",
        Cure(
            "If the second is data, pass bg.file_source({source!r}, header=True).",
            "If the second is data, add --header.",
        ),
        source=path,
        how=how,
    )


# -- columns ---------------------------------------------------------------------------------------


def columns_ignored(path: str, positions: Sequence[int]) -> RecognizedFormat:
    """Columns have neither a name nor a cell."""
    return RecognizedFormat(
        "{which} of {source!r} {have} neither a name nor a cell: ignored.",
        source=path,
        which=_columns(positions),
        have="has" if len(positions) == 1 else "have",
    )


def columns_unnamed(
    path: str, columns: Sequence[str], positions: Sequence[int]
) -> RecognizedFormat:
    """Columns have no name in the header; columns: what they are called."""
    return RecognizedFormat(
        "{which} of {source!r} {have} no name in the header: read as {columns:listed 20}.",
        Cure(
            "Name all columns: bg.file_source({source!r}, names=[...]).",
            "If they are no features, add --drop {columns:option}.",
        ),
        source=path,
        which=_columns(positions),
        have="has" if len(positions) == 1 else "have",
        columns=columns,
    )


def _lines(count: int) -> str:
    return "1 line" if count == 1 else f"{count} lines"


def _columns(positions: Sequence[int]) -> str:
    """Return "column 3" or "columns 2, 3", counted from 1."""
    noun = "column" if len(positions) == 1 else "columns"
    return f"{noun} {listed([j + 1 for j in positions], 20)}"
