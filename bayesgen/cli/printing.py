"""Command-line output: text and tables for people, JSON for programs."""

import contextlib
import json as json_format
import math
import sys
import warnings
from collections.abc import Callable, Generator, Iterable, Mapping
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import csv, parquet
from rich.console import Console
from rich.table import Table as Grid

from bayesgen.cli.options import MODELS
from bayesgen.errors import BayesgenError, Words
from bayesgen.errors.notes import merged, note
from bayesgen.errors.wording import rows as in_rows
from bayesgen.estimators import description
from bayesgen.estimators.classifier import Classifier
from bayesgen.persist import replacing
from bayesgen.schema import in_numbers
from bayesgen.table import Table


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


def print_warnings(issued: Iterable[Warning | str]) -> None:
    """Print warnings as notes, each once in a command."""
    said = SAID.get()
    said = set() if said is None else said
    news = [warning for warning in issued if str(warning) not in said]
    said.update(map(str, news))
    print_notes(merged(note(warning) for warning in news))


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


# -- Facts -----------------------------------------------------------------------------------------


def kinds_of_columns(table: Table) -> dict[str, int]:
    """Return the number of columns of each kind."""
    numeric = sum(column.kind == "number" for column in in_numbers(table).columns)
    return {"numeric": numeric, "categorical": len(table.columns) - numeric}


def missing_by_column(table: Table) -> dict[str, int]:
    """Return the missing cells of each column that has any."""
    counts = {str(column.name): int(column.missing.sum()) for column in table.columns}
    return {name: count for name, count in counts.items() if count}


def facts_of_fit(classifier: Classifier) -> dict[str, Any]:
    """Return how the fit of a classifier ended."""
    report = classifier.report_
    facts = {
        "inference": report.method,
        "converged": report.converged,
        "verdict": sentence(report.outcome),
        "seconds": report.seconds,
    }
    if hasattr(classifier, "log_evidence_"):
        facts["log_evidence"] = classifier.log_evidence_
    return facts


def lines_of_data(facts: Mapping[str, Any]) -> dict[str, str]:
    """Return the lines about data, target column and rows without a class."""
    numeric, categorical = facts["columns"]["numeric"], facts["columns"]["categorical"]
    kinds = f"{numeric:,} numeric, {categorical:,} categorical"
    words = f"{facts['rows']:,} rows, {numeric + categorical:,} columns ({kinds})"
    lines = {
        "data": f"{facts['data']}: {words}",
        "target": f"{facts['target']}: {name_counts(facts['classes'])}",
    }
    if count := facts["rows_without_class"]:
        lines["no class"] = f"{in_rows(count)}, read as rows without a label"
    return lines


def model_in_words(classifier: Classifier, table: Table, limit: int = 8) -> str:
    """Return the likelihoods of a model with their columns, or the members of a fitted stack."""
    if members := getattr(classifier, "members_", None):
        return f"stack of {'; '.join(members)}"
    blocks = []
    for likelihood, names in description.blocks(classifier, table).values():
        more = f" and {len(names) - limit:,} more" if len(names) > limit else ""
        family = repr(likelihood).removesuffix("()")
        blocks.append(f"{family} for {', '.join(map(str, names[:limit]))}{more}")
    kind = type(classifier)
    return f"{dict(MODELS.values()).get(kind, kind.__name__)}: {'; '.join(blocks)}"


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


# -- Rows ------------------------------------------------------------------------------------------


@contextlib.contextmanager
def table_writer(
    out: Path | None, schema: pa.Schema, *, json: bool
) -> Generator[Callable[[pa.Table], None]]:
    """Give a function that writes tables of one schema one after the other.

    Args:
        out: a Parquet or CSV file, which is there at the end, whole; None writes to stdout.
        schema: of the tables.
        json: on stdout, one JSON object for each row, instead of CSV.

    Raises:
        InvalidFile: the path takes no file.
    """
    if out is not None:
        with replacing(out) as path, _file_writer(path, schema, out.suffix) as writer:
            yield writer.write_table
    elif json:
        yield _print_json_lines
    else:
        # rows that were printed before stand first
        sys.stdout.flush()
        with csv.CSVWriter(sys.stdout.buffer, schema) as writer:
            yield writer.write_table


def _file_writer(
    path: Path, schema: pa.Schema, suffix: str
) -> csv.CSVWriter | parquet.ParquetWriter:
    if suffix == ".csv":
        return csv.CSVWriter(path, schema)
    # dictionaries of numbers take four times as long (measured)
    words = [field.name for field in schema if field.type != pa.float64()]
    return parquet.ParquetWriter(path, schema, use_dictionary=words)


def _print_json_lines(table: pa.Table) -> None:
    for row in table.to_pylist():
        print(to_json(row, indent=None))
