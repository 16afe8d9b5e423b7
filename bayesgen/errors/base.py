"""Base classes of errors and warnings: a sentence as data, which is written when it is read."""

import contextlib
import functools
import re
import shlex
import string
import warnings
from collections.abc import Callable, Generator, Iterable, Mapping
from pathlib import Path
from typing import Any, Self

from bayesgen.errors.wording import (
    Code as Code,
)
from bayesgen.errors.wording import (
    Count as Count,
)
from bayesgen.errors.wording import (
    Cure,
    Language,
    Place,
    Words,
    Writer,
)
from bayesgen.errors.wording import (
    Real as Real,
)
from bayesgen.errors.wording import (
    listed as listed,
)
from bayesgen.errors.wording import (
    named as named,
)
from bayesgen.errors.wording import (
    rows as rows,
)
from bayesgen.errors.wording import (
    shown as shown,
)
from bayesgen.errors.wording import (
    to_type as to_type,
)

_INSIDE = str(Path(__file__).parents[1]), contextlib.__file__
"""Files that no warning points to: the library, and the one that runs `deduplicate_warnings`."""


class Message:
    """A sentence as data: what is wrong, its values, the place, and the cure.

    Args:
        problem: What was found, and what is allowed: a template, see `Writer`. Without fields it is
            the text itself.
        cure: What to type instead; a `Cure` where the command line types something else.
        fields: Values of the fields of both templates.

    Attributes:
        problem, cure, fields: as given.
        place: where it happened; see `at`.

    Examples:
        >>> drop = Cure("Pass X.drop(columns={column!r}).", "Add --drop {column:option}.")
        >>> error = BayesgenError("column {column!r} holds {value!r}.", drop, column="a", value=3)
        >>> print(error.at(part="file 'b.csv'", row=7))
        file 'b.csv', row 7: column 'a' holds 3. Pass X.drop(columns='a').
        >>> error.written("shell")
        "file 'b.csv', row 7: column 'a' holds 3. Add --drop a."
    """

    def __init__(self, problem: str, cure: Cure | str = "", /, **fields: Any) -> None:
        self.problem, self.fields, self.place = problem, fields, Place()
        self.cure = cure if isinstance(cure, Cure) else Cure(cure)

    def at(
        self,
        *,
        part: str = "",
        rows: range | None = None,
        row: int | None = None,
        **fields: Any,
    ) -> Self:
        """Say where it happened, and return the same: `raise error.at(part=name, row=7)`.

        Args:
            part: The name of the part, file or frame that holds the rows.
            rows: The rows of the part as the source counts them; rows that the sentence names are
                counted on from the first of these.
            row: The one row to blame, as the source counts it.
            fields: Values in place of those in the sentence, such as column= or owner=.
        """
        self.place = Place(part, rows, row)
        self.fields |= fields
        return self

    def written(self, language: Language) -> str:
        """Return the sentence for a reader of Python, or of the command line."""
        where = f"{self.place}: " if str(self.place) else ""
        parts = (self._written(self.problem, language), self._cure(language))
        return where + " ".join(filter(None, parts))

    def _cure(self, language: Language) -> str:
        return self._written(self.cure.text(language), language)

    def _written(self, template: str, language: Language) -> str:
        if not self.fields:
            return template
        return Writer(language, self.place).vformat(template, (), self.fields)

    def __str__(self) -> str:
        return self.written("python")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"

    def __reduce__(self) -> tuple:
        """Pickle the finished text: a value of the user may be one that cannot be pickled."""
        problem = Words(*(self._written(self.problem, to) for to in ("python", "shell")))
        cure = Words(self._cure("python"), self._cure("shell"))
        return _unpickled, (type(self), problem, cure, self.place, getattr(self, "__notes__", []))


class BayesgenError(Message, Exception):
    """Base class of all errors; each is also a ValueError, a TypeError or an ImportError."""


class BayesgenWarning(Message, UserWarning):
    """Base class of all warnings; the text names the cure."""


def _unpickled(
    kind: type[BayesgenError], problem: Words, cure: Words, place: Place, notes: list[str]
) -> BayesgenError:
    message = kind("{problem}", "{cure}", problem=problem, cure=cure)
    message.place = place
    for note in notes:
        message.add_note(note)
    return message


def warn(warning: BayesgenWarning) -> None:
    """Issue a warning that points at the first line outside the library."""
    warnings.warn(warning, skip_file_prefixes=_INSIDE, stacklevel=2)


@contextlib.contextmanager
def deduplicate_warnings(*silent: type[BayesgenWarning]) -> Generator[None]:
    """Issue each warning of the block once, at its end: several models give the same ones.

    Usable as a decorator too.

    Args:
        silent: kinds of warnings that are not issued at all.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    firsts: dict[tuple[type, str], warnings.WarningMessage] = {}
    for warning in caught:
        firsts.setdefault((type(warning.message), str(warning.message)), warning)
    for first in firsts.values():
        if isinstance(first.message, silent):
            continue
        if isinstance(first.message, BayesgenWarning):
            warn(first.message)
        else:
            warnings.warn_explicit(first.message, first.category, first.filename, first.lineno)


# -- the former constructors, until every sentence has moved ---------------------------------------


class Sentence(string.Formatter):
    """Constructor of an error or a warning from a sentence with fields, as a class attribute."""

    def __init__(self, template: str, *, order: str = "", **defaults: object) -> None:
        names = [re.split(r"[.[]", name)[0] for _, name, _, _ in self.parse(template) if name]
        self.template, self.defaults = template, defaults
        self.order = order.split() or list(dict.fromkeys(names))

    def __get__[E: Exception](self, _: E | None, kind: type[E]) -> Callable[..., E]:
        return functools.partial(self._filled, kind)

    def _filled[E: Exception](self, kind: type[E], /, *values: object, **named: object) -> E:
        if len(values) > len(self.order):
            raise TypeError(f"the sentence takes {self.order}, and {len(values)} values were given")
        fields = dict(zip(self.order, values, strict=False)) | named
        return kind(self.template, **(self.defaults | fields))


def in_rows(cells: list[tuple[str, int]], limit: int = 5) -> str:
    """Return "'12,5' in row 17", rows counted from 0."""
    text = ", ".join(f"{shown(cell)} in row {row:,}" for cell, row in cells[:limit])
    more = len(cells) - limit
    return f"{text} and {more:,} more" if more > 0 else text


def to_numbers(column: object, cells: list[tuple[str, int]]) -> str:
    """Return the code that makes cells of a column missing, in Python and on the command line."""
    name, texts = shown(column), list(dict.fromkeys(text for text, _ in cells))
    options = " ".join(f"--missing {shlex.quote(text)}" for text in texts[:5])
    return (
        f"If they mean missing, X[{name}] = pandas.to_numeric(X[{name}], "
        f"errors='coerce'); on the command line {options}"
    ) + (" and so on" if len(texts) > 5 else "")


QUOTED = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\""""
NAME = rf"(?:{QUOTED}|-?\d+(?:\.\d+)?|True|False)"
NAMED = re.compile(rf"\b(column|class)(?:s|es)? ({NAME}(?:, {NAME})*)")
"""Columns and classes as sentences name them: "column 'a'", "the columns 'a', 'b'", "class 1"."""
PLURALS = {"column": "columns", "class": "classes"}


def merge_warnings(warnings: Mapping[str, Iterable[str]]) -> list[str]:
    """Return the warnings of each classifier as sentences "MLE, MAP: ...".

    Warnings that differ only in their numbers, columns and classes become the first of them, which
    counts the others. Names elsewhere in the text distinguish warnings.

    Examples:
        >>> texts = [f"column {c!r} is flat in class {k}" for c in "ab" for k in (0, 1)]
        >>> merge_warnings({"MLE": texts})
        ["MLE: column 'a' is flat in class 0 (and 3 more like it: 2 columns, 2 classes)"]
        >>> merge_warnings({"MLE": ["2 rows are odd"], "MAP": ["2 rows are odd", "3 rows are odd"]})
        ['MLE, MAP: 2 rows are odd (and 1 more like it)']
    """
    groups: dict[str, dict[str, list[str]]] = {}
    for who, texts in warnings.items():
        for text in texts:
            groups.setdefault(_pattern(text), {}).setdefault(who, []).append(text)
    return [
        f"{', '.join(group)}: {_together([text for part in group.values() for text in part])}"
        for group in groups.values()
    ]


def merge_sentences(texts: Iterable[str]) -> list[str]:
    """Return warnings of one origin, merged in the same way.

    Examples:
        >>> merge_sentences(["3 of 9 rows", "no rows", "4 of 9 rows"])
        ['3 of 9 rows (and 1 more like it)', 'no rows']
    """
    return [sentence.removeprefix(": ") for sentence in merge_warnings({"": texts})]


def _together(texts: list[str]) -> str:
    first, *others = dict.fromkeys(texts)
    if not others:
        return first
    counts = []
    for kind, plural in PLURALS.items():
        each = {_names(text, kind) for text in (first, *others)}
        if len(each) > 1:
            counts.append(f"{len({name for names in each for name in names}):,} {plural}")
    of = f": {', '.join(counts)}" if counts else ""
    return f"{first} (and {len(others):,} more like it{of})"


def _names(text: str, kind: str) -> tuple[str, ...]:
    lists = [names for found, names in NAMED.findall(text) if found == kind]
    return tuple(name for names in lists for name in re.findall(NAME, names))


def _pattern(text: str) -> str:
    """Return a text without its numbers, and without the names of its columns and classes."""
    for _, names in NAMED.findall(text):
        for name in re.findall(QUOTED, names):
            text = text.replace(name, "#")
    return re.sub(rf"({QUOTED})|\d[\d.,]*", lambda match: match[1] or "#", text)
