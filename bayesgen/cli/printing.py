"""Command-line output: text and tables for people, JSON for programs."""

import contextlib
import json as json_format
import math
import sys
import warnings
from collections.abc import Generator, Iterable, Mapping
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table as Grid

from bayesgen.errors import BayesgenError, Words
from bayesgen.errors.notes import merged, note


def sentence(problem: BayesgenError | Words | str) -> str:
    """Return an error or a sentence of the library with cures to type as options."""
    if isinstance(problem, BayesgenError):
        notes = "".join(f" [{note}]" for note in getattr(problem, "__notes__", ()))
        return f"{problem.written('shell')}{notes}"
    return problem if isinstance(problem, str) else problem.text("shell")


SAID: ContextVar[set[str] | None] = ContextVar("said", default=None)
"""The sentences that the command has printed, in the words of Python."""


def print_notes(sentences: Iterable[Words | str]) -> None:
    """Print sentences beside the result, on stderr, with cures that can be typed."""
    sys.stdout.flush()
    for text in sentences:
        print(f"note: {sentence(text)}", file=sys.stderr, flush=True)


APART = 10
"""Notes on columns that are printed one by one, each with a cure to type; of more, those that are
alike are counted."""


def print_warnings(issued: Iterable[Warning | str], *, apart: bool = False) -> None:
    """Print warnings as notes, each once in a command; apart: alike ones too, if they are few."""
    said = SAID.get()
    said = set() if said is None else said
    news = [warning for warning in issued if str(warning) not in said]
    said.update(map(str, news))
    notes = [note(warning) for warning in news]
    print_notes(notes if apart and len(notes) <= APART else merged(notes))


@contextlib.contextmanager
def noted_at_once() -> Generator[None]:
    """Print the warnings of the block at its end, and not at that of the command."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    print_warnings(warning.message for warning in caught)


def print_answer(facts: Mapping[str, Any], lines: Mapping[str, str], *, json: bool) -> None:
    """Print facts as JSON, or lines of names and their values, wrapped under each other."""
    if json:
        print(to_json(facts))
        return
    grid = Grid.grid(padding=(0, 2, 0, 0))
    # lines of one answer that are printed one after the other stand in columns
    grid.add_column(style="bold", no_wrap=True, min_width=8)
    grid.add_column(overflow="fold")
    for name, value in lines.items():
        grid.add_row(name, value)
    # column and class names are the user's own text, never markup
    console = Console(markup=False, highlight=False, emoji=False)
    with console.capture() as captured:
        console.print(grid)
    print("\n".join(line.rstrip() for line in captured.get().splitlines()), flush=True)


def name_counts(counts: Mapping[str, float | int], limit: int = 8) -> str:
    """Return "no 809, yes 500", cut after `limit` of them."""
    words = [f"{name} {count:,.12g}" for name, count in list(counts.items())[:limit]]
    more = [f"and {len(counts) - limit:,} more"] if len(counts) > limit else []
    return ", ".join([*words, *more])


def file_in_words(path: Path) -> str:
    """Return the name of a file that was written, and its size."""
    return f"{path} ({path.stat().st_size:,} bytes)"


def to_json(value: object, indent: int | None = 2) -> str:
    """Return JSON: NaN as null and infinity as the text "inf", which JSON has no numbers for."""
    # cells without a JSON type, such as dates, are written as text
    return json_format.dumps(
        _finite(value), indent=indent, ensure_ascii=False, allow_nan=False, default=str
    )


def _finite(value: object) -> object:
    if isinstance(value, Mapping):
        return {str(key): _finite(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(entry) for entry in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    return value
