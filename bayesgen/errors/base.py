"""Base classes of errors and warnings, quoting of values, and merging of similar warnings."""

import contextlib
import functools
import re
import shlex
import string
import warnings
from collections.abc import Callable, Generator, Iterable, Mapping
from pathlib import Path

import numpy as np

Count = int | np.integer
Real = float | int | np.number
_INSIDE = str(Path(__file__).parents[1]), contextlib.__file__
"""Files that no warning points to: the library, and the one that runs `deduplicate_warnings`."""


class BayesgenError(Exception):
    """Base class of all errors; each is also a ValueError, a TypeError or an ImportError."""


class BayesgenWarning(UserWarning):
    """Base class of all warnings; the text names the cure.

    subject: what several models may warn of in different numbers, of which a user reads the first;
        None: the text.
    """

    subject: object = None


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
    for one in caught:
        subject = getattr(one.message, "subject", None)
        key = str(one.message) if subject is None else subject
        firsts.setdefault((type(one.message), key), one)
    for first in firsts.values():
        if isinstance(first.message, silent):
            continue
        if isinstance(first.message, BayesgenWarning):
            warn(first.message)
        else:
            warnings.warn_explicit(first.message, first.category, first.filename, first.lineno)


class Sentence(string.Formatter):
    """Constructor of an error or a warning from a sentence with fields.

    An attribute of the class of the error: `TooLong.column("a", 9)` fills the fields in the order
    of their first appearance, or by name.

    In a field, !r shows a value as it would be typed, :listed several of them, :listed 20 up to
    20, :named level the same after "level" or "levels", :joined several texts without quotes, :len
    the number of values, :rows a number of rows and :path the name of a file; all else is as in
    str.format.

    Args:
        template: The sentence.
        order: Names of the fields in the order of the arguments, where that is another.
        defaults: Fields that an argument replaces, or none does.

    Examples:
        >>> class TooLong(BayesgenError):
        ...     column = Sentence("column {column!r} is too long by {count:rows}.")
        >>> TooLong.column("a", count=1)
        TooLong("column 'a' is too long by 1 row.")
    """

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
        return kind(self.vformat(self.template, (), self.defaults | fields))

    def convert_field(self, value: object, conversion: str | None) -> object:
        """Show a value for !r."""
        return shown(value) if conversion == "r" else super().convert_field(value, conversion)

    def format_field(self, value: object, format_spec: str) -> str:
        """Format a value by one of the words of sentences, or as str.format does."""
        word, _, option = format_spec.partition(" ")
        if word in WORDS:
            return WORDS[word](value, *option.split())
        return super().format_field(value, format_spec)


def shown(value: object) -> str:
    """Return a value as it would be typed; NumPy's scalars as the Python ones."""
    return repr(value.item() if isinstance(value, np.generic) else value)


class Code(str):
    """Code to type, shown without quotes: Code("bg.LDA()")."""

    __repr__ = str.__str__


def listed(values: Iterable, limit: int = 5) -> str:
    """Return values as they would be typed, "'a', 'b' and 7 more" beyond `limit` of them."""
    values = list(values)
    text = ", ".join(shown(value) for value in values[:limit])
    more = len(values) - limit
    return f"{text} and {more:,} more" if more > 0 else text or "nothing"


def named(noun: str, values: Iterable) -> str:
    """Return "level 'a'" or "levels 'a', 'b'"."""
    values = list(values)
    return f"{noun}{'' if len(values) == 1 else 's'} {listed(values)}"


def rows(count: Count) -> str:
    """Return "1 row" or "1,234 rows"."""
    return f"{count:,} row" + ("" if count == 1 else "s")


WORDS: dict[str, Callable[..., str]] = {
    "listed": lambda values, limit="5": listed(values, int(limit)),
    "named": lambda values, noun: named(noun, values),
    "joined": ", ".join,
    "len": lambda values: f"{len(values):,}",
    "rows": rows,
    "path": lambda path: shown(str(path)),
}
"""Formats of the fields of a sentence, besides those of str.format."""


def in_rows(cells: list[tuple[str, int]], limit: int = 5) -> str:
    """Return "'12,5' in row 17", rows counted from 0."""
    text = ", ".join(f"{shown(cell)} in row {row:,}" for cell, row in cells[:limit])
    more = len(cells) - limit
    return f"{text} and {more:,} more" if more > 0 else text


def paired(groups: list[list], limit: int = 3) -> str:
    """Return "'male' and 'male '; 'no' and 'No'"."""
    text = "; ".join(" and ".join(map(shown, group)) for group in groups[:limit])
    more = len(groups) - limit
    return f"{text} and {more:,} more" if more > 0 else text


def to_numbers(column: object, cells: list[tuple[str, int]]) -> str:
    """Return the code that makes cells of a column missing, in Python and on the command line."""
    name, texts = shown(column), list(dict.fromkeys(text for text, _ in cells))
    options = " ".join(f"--missing {shlex.quote(text)}" for text in texts[:5])
    return (
        f"If they mean missing, X[{name}] = pandas.to_numeric(X[{name}], "
        f"errors='coerce'); on the command line {options}"
    ) + (" and so on" if len(texts) > 5 else "")


def to_type(*lines: str) -> str:
    """Return lines of a program to write, each on a line of its own."""
    return "".join(f"\n    {line}" for line in lines)


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
