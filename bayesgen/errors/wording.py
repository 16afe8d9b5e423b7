"""Words of sentences: values as they would be typed, lists of them, and formats of fields."""

import shlex
import string
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from bayesgen.errors.dialect import TYPED, Dialect, Typed, typed

Count = int | np.integer
Real = float | int | np.number
Language = Literal["python", "shell"]
"""Where a sentence is read: in Python, or on the command line."""


@dataclass(frozen=True)
class Words:
    """Words of a sentence that differ between Python and the command line.

    python, shell: the words of each; None: both say the same.
    """

    python: str
    shell: str | None = None

    def __str__(self) -> str:
        return self.python

    def __add__(self, other: "Words | str") -> "Words":
        """Return the words followed by others."""
        both: tuple[Language, Language] = ("python", "shell")
        after = [other if isinstance(other, str) else other.text(to) for to in both]
        return Words(*(self.text(to) + more for to, more in zip(both, after, strict=True)))

    def text(self, language: Language) -> str:
        """Return the words in one language."""
        return self.python if self.shell is None or language == "python" else self.shell


@dataclass(frozen=True)
class Cure(Words):
    """What to type instead, in Python and on the command line.

    Both are templates, whose fields are those of the error.
    """


@dataclass(frozen=True)
class Place:
    """Where an error occurred, in rows that are read part by part.

    part: such as "part 317" or "file 'b.parquet'". rows: those of the part, as the source counts
    them, or those of a fit in another order. row: the only row to blame.
    """

    part: str = ""
    rows: Sequence[int] | None = None
    row: Count | None = None

    def __str__(self) -> str:
        if self.row is not None:
            rows = f"row {self.row:,}"
        elif isinstance(self.rows, range) and self.rows:
            rows = f"rows {self.rows[0]:,} to {self.rows[-1]:,}"
        else:
            rows = ""
        return ", ".join(filter(None, (self.part, rows)))

    def in_row(self, row: Count) -> str:
        """Return " in row 17" for a row counted within the part; "" where the place names it."""
        if self.row is not None:
            return ""
        return f" in row {self.counted(row):,}"

    def counted(self, row: Count) -> int:
        """Return the number of a row as its source counts it, or the fit that was asked."""
        return int(row if self.rows is None else self.rows[int(row)])


class Writer(string.Formatter):
    """Writes templates in one language.

    In a field, !r shows a value as it would be typed, :listed several of them, :listed 20 up to
    20, :named level the same after "level" or "levels", :joined several texts without quotes, :len
    the number of values, :rows a number of rows, :path the name of a file, :in_row a row " in row
    3", :cells up to five cells as "'12,5' in row 17", :option one or several names as the value of
    an option in a shell, and :assigned --name the option with it. Of names of columns, :without is
    the code of X without them, :as float that with another type, :in_X that of the column, and :by
    Normal that of a likelihood, all in the dialect of the call; all else is as in str.format.
    """

    def __init__(self, language: Language, place: Place, dialect: Dialect | None = None) -> None:
        self.language, self.place, self.dialect = language, place, dialect or Dialect()

    def convert_field(self, value: object, conversion: str | None) -> object:
        """Show a value for !r."""
        return shown(value) if conversion == "r" else super().convert_field(value, conversion)

    def format_field(self, value: Any, format_spec: str) -> str:
        """Format a value by one of the words of sentences, or as str.format does."""
        word, _, option = format_spec.partition(" ")
        if word in FORMATS:
            return FORMATS[word](value, *option.split())
        if word == "in_row":
            return self.place.in_row(value)
        if word == "cells":
            cells = sorted(value, key=lambda cell: self.place.counted(cell[1]))
            return listed((Code(f"{shown(text)}{self.place.in_row(row)}") for text, row in cells))
        if word in TYPED:
            return typed(self.dialect, value, word, *option.split())
        if isinstance(value, Typed):
            return value.text(self.dialect)
        if isinstance(value, Words):
            return value.text(self.language)
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
    """Return "level 'a'", "levels 'a', 'b'" or "classes 'a', 'b'"."""
    values = list(values)
    plural = "es" if noun.endswith("s") else "s"
    return f"{noun}{'' if len(values) == 1 else plural} {listed(values)}"


def rows(count: Count) -> str:
    """Return "1 row" or "1,234 rows"."""
    return f"{count:,} row" + ("" if count == 1 else "s")


def option(value: object) -> str:
    """Return one or several names as the value of an option in a shell: "'pa tient,date'"."""
    several = value if isinstance(value, list | tuple) else [value]
    return shlex.quote(",".join(map(str, several)))


def assigned(value: object, name: str) -> str:
    """Return an option with its value, as it can be typed: "--missing NA", "--missing=-".

    Examples:
        >>> print(*(assigned(cell, "--missing") for cell in ("NA", "-", ".")))
        --missing NA --missing=- --missing='.'
    """
    text = option(value)
    if any(map(str.isalnum, text)) or text[0] in "-'":
        return f"{name}={text}" if text.startswith("-") else f"{name} {text}"
    return f"{name}='{text}'"


FORMATS: dict[str, Callable[..., str]] = {
    "listed": lambda values, limit="5": listed(values, int(limit)),
    "named": lambda values, noun: named(noun, values),
    "joined": ", ".join,
    "len": lambda values: f"{len(values):,}",
    "rows": rows,
    "path": lambda path: shown(str(path)),
    "option": option,
    "assigned": assigned,
}
"""Formats of the fields of a template, besides those that depend on the place of an error."""


def to_type(*lines: str) -> str:
    """Return lines of a program to write, each on a line of its own."""
    return "".join(f"\n    {line}" for line in lines)


Cells = Sequence[tuple[str, int]]
"""Texts of cells, each with its row."""
