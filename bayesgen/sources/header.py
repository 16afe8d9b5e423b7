"""Headers: the lines above the first row of a text, and the names of its columns."""

import collections
import csv
import dataclasses
import itertools
import re
from collections.abc import Sequence

from bayesgen.errors import BayesgenWarning, Cure, InvalidData, Words
from bayesgen.errors.wording import listed
from bayesgen.sources import notes as said
from bayesgen.sources.defaults import NULLS

SAMPLE = 1000
"""Rows that decide on a header."""

EXPONENT = re.compile(r"[+-]?\d+(\.\d*)?[eE][+-]?\d+")
WHOLE = re.compile(r"[+-]?\d+")
SIGNS = re.compile(r"\W*")
"""A cell without letters and digits, which often means "missing"."""

NUMBERS = 0.8
"""Share of the cells of a column that are numbers, at least, if it is one of numbers."""

ASCENDING = 3
"""Whole numbers that rise or fall are names, such as years, if there are as many, and data else."""


@dataclasses.dataclass(frozen=True)
class Header:
    """What stands above the first row, and the rows that decided on it.

    skipped: lines above the first row. names: of the columns. ignored: those without name and cell.
    rows: the first ones. notes: what was recognized.
    """

    skipped: int
    names: tuple[str, ...]
    ignored: frozenset[str]
    rows: Sequence[Sequence[str]]
    notes: Sequence[BayesgenWarning] = ()

    def cells(self, j: int) -> list[str]:
        """Return the cells of a column that are not empty."""
        return [row[j] for row in self.rows if j < len(row) and row[j]]


def header_of(
    lines: Sequence[str],
    separator: str,
    path: str,
    *,
    header: bool | None = None,
    names: Sequence[str] | None = None,
    declared: bool = False,
) -> Header:
    """Return the header of a text.

    Args:
        lines: of the text, from the first.
        separator: between cells.
        path: of the file.
        header: whether the first row holds names; None: recognized.
        names: of the columns, in place of those of the header.
        declared: whether the first line states the separator.

    Raises:
        InvalidData: the first row looks like data; names do not fit the columns.
    """
    top = _Top.of(lines, separator, declared=declared, titled=header is None and not names)
    first, comments = top.first, top.comments
    row, body = (first.rows[0], first.rows[1:]) if first.rows else ([], [])
    notes = [said.titles_left_out(path, top.titles)] if top.titles else []
    marked = _header_that_begins_with_a_mark(lines, comments, separator, row, body)
    if marked is not None:
        notes.append(said.header_begins_with_a_mark(path))
        comments = comments[:-1]
    if comments:
        notes.append(said.comments_left_out(path, len(comments)))
    if marked is not None:
        row, body, skipped = marked, first.rows, top.above
    elif looks_like_data(row, body) if header is None else not header:
        if header is None and not names:
            raise _no_header(path, row, body, first.width)
        if header is None:
            notes.append(said.first_row_is_data(path))
        given = tuple(names or (f"x{j}" for j in range(first.width)))
        _require_names(given, first.width, path)
        return Header(top.above, given, frozenset(), first.rows, notes)
    else:
        skipped = first.ends[0] if first.rows else top.above
        if header is None and body and _is_second_header(body[0], body[1:]):
            row, how = _joined(row, body[0], first.width)
            body, skipped = body[1:], first.ends[1]
            notes.append(said.two_rows_of_names(path, how))
    found, ignored, unclear = _named(row, body, first.width, path)
    if names:
        _require_names(names, len(found) - len(ignored), path)
        stated = iter(names)
        found = tuple(name if name in ignored else next(stated) for name in found)
    return Header(skipped, found, ignored, body, [*notes, *unclear])


class _Rows:
    """The first rows of lines: cells, and the number of the line after each."""

    def __init__(self, lines: Sequence[str], start: int, separator: str) -> None:
        self.rows: list[list[str]] = []
        self.ends: list[int] = []
        reader = csv.reader(iter(lines[start:]), delimiter=separator, skipinitialspace=True)
        try:
            for row in reader:
                if row:
                    self.rows.append([cell.strip() for cell in row])
                    self.ends.append(start + reader.line_num)
                if len(self.rows) > SAMPLE:
                    break
        except csv.Error:  # a cell of more than 128 KB
            pass

    @property
    def width(self) -> int:
        """The number of cells of most rows below the first."""
        sizes = collections.Counter(map(len, self.rows[1:] or self.rows))
        return max(sizes, key=lambda size: sizes[size], default=0)


@dataclasses.dataclass(frozen=True)
class _Top:
    """The beginning of a text.

    above: lines above the first that may be a header. comments: those of them that begin with #.
    titles: rows of one cell among them. first: the rows below.
    """

    above: int
    comments: Sequence[int]
    titles: int
    first: _Rows

    @classmethod
    def of(cls, lines: Sequence[str], separator: str, *, declared: bool, titled: bool) -> "_Top":
        """Return the beginning of a text.

        Args:
            lines: of the text.
            separator: between cells.
            declared: whether the first line states it.
            titled: whether titles may stand above the header.
        """
        above, comments = _above(lines, declared=declared)
        first = _Rows(lines, above, separator)
        if not first.rows and comments:  # nothing but comments: the last one may be the header
            above, comments = comments[-1], comments[:-1]
            first = _Rows(lines, above, separator)
        titles = _titles(first) if titled else 0
        if titles:
            above = first.ends[titles - 1]
            first = _Rows(lines, above, separator)
        return cls(above, comments, titles, first)


def _above(lines: Sequence[str], *, declared: bool) -> tuple[int, list[int]]:
    """Return the number of lines above the first that may be a header, and which are comments."""
    comments = []
    start = 1 if declared else 0
    for i in range(start, len(lines)):
        line = lines[i].strip()
        if line and not line.startswith("#"):
            return i, comments
        if line:
            comments.append(i)
    return len(lines), comments


def _titles(first: _Rows) -> int:
    """Return how many of the first rows are titles: a single cell above rows of several."""
    width, n = first.width, 0
    while width > 2 and n + 2 < len(first.rows) and len(first.rows[n]) == 1:
        n += 1
    return n


def _header_that_begins_with_a_mark(
    lines: Sequence[str],
    comments: Sequence[int],
    separator: str,
    row: Sequence[str],
    body: Sequence[Sequence[str]],
) -> list[str] | None:
    """Return the names of a header that begins with #, as the cells of the last such line."""
    if not comments or len(row) < 2:
        return None
    (names,) = _Rows(lines[comments[-1] : comments[-1] + 1], 0, separator).rows
    if len(names) != len(row) or (body and not looks_like_data(row, body) and _is_name(row, body)):
        return None
    return [names[0].lstrip("#").strip() or "#", *names[1:]]


# -- data or names ---------------------------------------------------------------------------------


def looks_like_data(row: Sequence[str], body: Sequence[Sequence[str]]) -> bool:
    """Return whether a row is of the kind of those below, and no header.

    It speaks for data that a cell is a number above numbers, or a level of its column; it speaks
    for names that a word stands above numbers, or above levels of which it is none.

    Examples:
        >>> looks_like_data(["5.1", "p"], [["4.9", "p"], ["5.0", "q"]])
        True
        >>> looks_like_data(["x", "y"], [["4.9", "p"], ["5.0", "q"]])
        False
    """
    data, names = _evidence(row, body)
    return data > names


def _is_name(row: Sequence[str], body: Sequence[Sequence[str]]) -> bool:
    data, names = _evidence(row, body)
    return names > data


def _evidence(row: Sequence[str], body: Sequence[Sequence[str]]) -> tuple[int, int]:
    """Return how many cells of a row speak for data, and how many for names."""
    numbers, levels, names = [], 0, 0
    for j, cell in enumerate(row):
        if _is_empty(cell):
            continue
        cells = [other[j] for other in body if j < len(other) and not _is_empty(other[j])]
        if not cells:
            continue
        if _of_numbers(cells):
            if _is_number(cell):
                numbers.append(cell)
            else:
                names += 1
        elif cell in cells:
            levels += 1
        elif len(set(cells)) <= len(cells) / 2:
            names += 1
    if len(numbers) >= ASCENDING and all(WHOLE.fullmatch(cell) for cell in numbers):
        steps = [int(b) - int(a) for a, b in itertools.pairwise(numbers)]
        if all(step > 0 for step in steps) or all(step < 0 for step in steps):
            numbers, names = [], names + len(numbers)
    return len(numbers) + levels, names


def _is_empty(cell: str) -> bool:
    """Return whether a cell says nothing: a word for missing, or signs alone."""
    return cell in NULLS or bool(SIGNS.fullmatch(cell))


def _is_number(cell: str) -> bool:
    """Return whether a cell has digits and no letters: a number, amount, share or date; no name."""
    plain = any(map(str.isdigit, cell)) and not any(map(str.isalpha, cell))
    return plain or bool(EXPONENT.fullmatch(cell))


def _of_numbers(cells: Sequence[str]) -> bool:
    return sum(_is_number(cell) for cell in cells) >= NUMBERS * len(cells)


def _no_header(
    path: str, row: Sequence[str], body: Sequence[Sequence[str]], width: int
) -> InvalidData:
    """Return the error about a file whose first row looks like data."""
    names = [f"x{j}" for j in range(width)]
    return InvalidData(
        "the first row of {source!r} looks like data and not like names of columns: "
        "{row:listed 8}.",
        Cure(
            "Pass bg.file_source({source!r}, header=False), which names its {width:,} columns "
            "{first} to {last}, or names=[...]; if these are names, header=True. {labels}",
            "Add --no-header, which names its {width:,} columns {first} to {last}, or --names with "
            "as many names; if these are names, --header. {labels}",
        ),
        source=path,
        row=list(row),
        width=width,
        first=names[0],
        last=names[-1],
        labels=_likely_classes(names, [*[list(row)], *body]),
    )


def _likely_classes(names: Sequence[str], rows: Sequence[Sequence[str]]) -> Words | str:
    """Return a sentence about a column that may hold classes."""
    few = few_valued(names, rows)
    if not few:
        return ""
    text = f"{listed([few[0]])} may hold the classes, having few values"
    return Words(f"Column {text}.", f"Column {text}: --target {few[0]}.")


def few_valued(names: Sequence[str], rows: Sequence[Sequence[str]], most: int = 30) -> list[str]:
    """Return the columns that may hold classes, the likeliest first.

    They have at least two values, few of them, each in several rows; words go before numbers, and
    the last column before the others.
    """
    found = []
    for j, name in enumerate(names):
        cells = [row[j] for row in rows if j < len(row) and not _is_empty(row[j])]
        values = set(cells)
        if 2 <= len(values) <= most and 2 * len(values) <= len(cells):
            found.append((_of_numbers(cells), j not in (0, len(names) - 1), len(values), name))
    return [name for *_, name in sorted(found)]


def _require_names(names: Sequence[str], width: int, path: str) -> None:
    """Raise unless there are as many names as columns."""
    if len(names) != width:
        raise InvalidData(
            "{count:,} names are stated, and {source!r} has {width:,} columns.",
            "State a name for every column, in their order.",
            count=len(names),
            source=path,
            width=width,
        )


# -- a second row of names; columns without one ----------------------------------------------------


def _is_second_header(row: Sequence[str], body: Sequence[Sequence[str]]) -> bool:
    """Return whether a row below the header holds names or units too, and no cell of a row."""
    if len(body) < 2:
        return False
    words = 0
    for j, cell in enumerate(row):
        if not cell or cell in NULLS:
            continue
        cells = [other[j] for other in body if j < len(other) and not _is_empty(other[j])]
        if _is_number(cell) or cell in cells:
            return False
        words += bool(cells) and _of_numbers(cells) and not SIGNS.fullmatch(cell)
    return words > 0


def _joined(first: Sequence[str], second: Sequence[str], width: int) -> tuple[list[str], str]:
    """Return the names of two rows, and how they came about.

    The first row is enough if every column has a name there, another one; else the second, else
    both, the first holding for the columns on its right that have no name in it.
    """
    first, second = (list(row) + [""] * (width - len(row)) for row in (first, second))
    for row, which in ((first, "first"), (second, "second")):
        if all(row) and len(set(row)) == len(row):
            return row, f"the names are those of the {which} row"
    names, group = [], ""
    for above, below in zip(first, second, strict=False):
        group = above or group
        alone = below if second.count(below) == 1 else f"{group} {below}".strip()
        names.append(alone if below else above)
    return names, "names that are in both are joined"


def _named(
    row: Sequence[str], body: Sequence[Sequence[str]], width: int, path: str
) -> tuple[tuple[str, ...], frozenset[str], list[BayesgenWarning]]:
    """Return the names of columns, those that are to be ignored, and notes about both."""
    notes: list[BayesgenWarning] = []
    names = list(row)
    while len(names) > width and not names[-1]:
        names.pop()
    if body and len(names) == width - 1:
        last = any(len(cells) == width and cells[-1] for cells in body)
        # R writes the names of rows first, below no name
        names = ["", *names] if last else [*names, ""]
    ignored, unnamed = [], []
    for j, name in enumerate(names):
        if name:
            continue
        names[j] = f"Unnamed: {j}"
        # a table of no rows says nothing
        if body and not any(cells[j] for cells in body if j < len(cells)):
            ignored.append(j)
        elif j:
            unnamed.append(j)
    if ignored:
        notes.append(said.columns_ignored(path, ignored))
    if unnamed:
        every = [j for j, name in enumerate(names) if name == f"Unnamed: {j}" and j not in ignored]
        notes.append(said.columns_unnamed(path, [names[j] for j in every], every))
    return tuple(names), frozenset(names[j] for j in ignored), notes
