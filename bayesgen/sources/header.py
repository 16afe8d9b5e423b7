"""Headers: the lines above the first row of a text, and the names of its columns."""

import collections
import csv
import dataclasses
import itertools
import re
from collections.abc import Sequence

from bayesgen.errors import BayesgenWarning, Cure, InvalidData, RecognizedFormat, Words
from bayesgen.errors.wording import listed
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
    notes: list[BayesgenWarning] = []
    above, comments = _above(lines, declared=declared)
    first = _Rows(lines, above, separator)
    if not first.rows and comments:  # nothing but comments: the last one may be the header
        above, comments = comments[-1], comments[:-1]
        first = _Rows(lines, above, separator)
    titles = _titles(first) if header is None and not names else 0
    if titles:
        above = first.ends[titles - 1]
        first = _Rows(lines, above, separator)
        notes.append(
            RecognizedFormat(
                "{count} above the header of {source!r} {hold} one cell and {are} left out.",
                Cure(
                    "If it is the header, pass bg.file_source({source!r}, header=True).",
                    "If it is the header, add --header.",
                ),
                source=path,
                count="1 line" if titles == 1 else f"{titles} lines",
                hold="holds" if titles == 1 else "hold",
                are="is" if titles == 1 else "are",
            )
        )
    width = first.width
    head, body = first.rows[:1], first.rows[1:]
    row = head[0] if head else []
    marked = _header_that_begins_with_a_mark(lines, comments, separator, row, body)
    if marked is not None:
        comments = [i for i in comments if i != comments[-1]]
        row, body, skipped = marked, first.rows, above
        found = True
        notes.append(
            RecognizedFormat(
                "the header of {source!r} begins with #, which is no part of the first name.",
                source=path,
            )
        )
    else:
        skipped = first.ends[0] if head else above
        found = not looks_like_data(row, body) if header is None else header
    if comments:
        notes.append(
            RecognizedFormat(
                "{count} above the header of {source!r} {begin} with # and {are} left out.",
                source=path,
                count="1 line" if len(comments) == 1 else f"{len(comments)} lines",
                begin="begins" if len(comments) == 1 else "begin",
                are="is" if len(comments) == 1 else "are",
            )
        )
    if header is None and not names and not found:
        raise _no_header(path, row, body, width)
    if not found:
        body, skipped = first.rows, above
        given = tuple(names) if names else tuple(f"x{j}" for j in range(width))
        _require_names(given, width, path)
        if header is None:
            notes.append(
                RecognizedFormat(
                    "the first row of {source!r} looks like data, and is read as a row.",
                    source=path,
                )
            )
        return Header(skipped, given, frozenset(), body, notes)
    second = body[0] if body else []
    if header is None and marked is None and _is_second_header(second, body[1:]):
        row, how = _joined(row, second, width)
        body, skipped = body[1:], first.ends[1]
        notes.append(
            RecognizedFormat(
                "{source!r} has two rows of names above its rows; {how}.",
                Cure(
                    "If the second is data, pass bg.file_source({source!r}, header=True).",
                    "If the second is data, add --header.",
                ),
                source=path,
                how=how,
            )
        )
    found_names, ignored, said = _named(row, body, width, path)
    notes += said
    if names:
        _require_names(names, len(found_names) - len(ignored), path)
        stated = iter(names)
        found_names = tuple(n if n in ignored else next(stated) for n in found_names)
    return Header(skipped, found_names, ignored, body, notes)


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
        notes.append(
            RecognizedFormat(
                "{which} of {source!r} {have} neither a name nor a cell: ignored.",
                source=path,
                which=_columns(ignored),
                have="has" if len(ignored) == 1 else "have",
            )
        )
    if unnamed:
        every = [j for j, name in enumerate(names) if name == f"Unnamed: {j}" and j not in ignored]
        notes.append(
            RecognizedFormat(
                "{which} of {source!r} {have} no name in the header: read as {columns:listed 20}.",
                Cure(
                    "Name all columns: bg.file_source({source!r}, names=[...]).",
                    "If they are no features, add --drop {columns:option}.",
                ),
                source=path,
                which=_columns(every),
                have="has" if len(every) == 1 else "have",
                columns=[names[j] for j in every],
            )
        )
    return tuple(names), frozenset(names[j] for j in ignored), notes


def _columns(positions: Sequence[int]) -> str:
    """Return "column 3" or "columns 2, 3", counted from 1."""
    noun = "column" if len(positions) == 1 else "columns"
    return f"{noun} {listed([j + 1 for j in positions], 20)}"
