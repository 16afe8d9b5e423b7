"""Command-line output: text and tables for people, JSON for programs."""

import contextlib
import json
import math
import sys
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence, Sized
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
from pyarrow import csv, parquet
from rich import box
from rich.console import Console
from rich.progress import Progress, TextColumn, TimeElapsedColumn
from rich.table import Table as Grid

from bayesgen.cli.target_column import TargetColumn
from bayesgen.compare.as_text import MEMBERS_LEGEND, members_as_text
from bayesgen.errors import Words
from bayesgen.persist import replacing
from bayesgen.table import Table
from bayesgen.typing import DataFrame

B = TypeVar("B", bound=Sized)


def print_text(text: object) -> None:
    """Print text or a table to stdout; without color and at 80 columns when piped."""
    # column and class names are the user's own text, never markup
    console = Console(markup=False, highlight=False, emoji=False)
    with console.capture() as captured:
        console.print(text)
    print("\n".join(line.rstrip() for line in captured.get().splitlines()))


def print_notes(sentences: Iterable[Words | str]) -> None:
    """Print sentences beside the result, on stderr, with cures that can be typed."""
    sys.stdout.flush()
    for sentence in sentences:
        words = sentence if isinstance(sentence, str) else sentence.text("shell")
        print(f"note: {words}", file=sys.stderr)


def note_of_labelled(names: Sequence[str]) -> list[str]:
    """Return a sentence about classifiers that leave out rows without a class, if there are any."""
    if not names:
        return []
    fitted = "is fitted" if len(names) == 1 else "are fitted"
    return [
        f"{' and '.join(names)} {fitted} without the rows that have no class, of which no weight "
        "can be learned there. State one: --unlabelled 0.1."
    ]


def print_facts(facts: Mapping[str, str]) -> None:
    """Print names and their values, wrapped under each other."""
    grid = Grid.grid(padding=(0, 2, 0, 0))
    grid.add_column(style="bold", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, value in facts.items():
        grid.add_row(name, value)
    print_text(grid)


def print_grid(heads: Iterable[str], lines: Iterable[Iterable[str]]) -> None:
    """Print a table, its first column to the left and the others to the right."""
    grid = Grid(
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        pad_edge=False,
        show_edge=False,
        header_style="bold",
    )
    for position, head in enumerate(heads):
        grid.add_column(head, justify="right" if position else "left", no_wrap=True)
    for line in lines:
        grid.add_row(*line)
    print_text(grid)


def print_members(table: DataFrame, head: str = "member") -> None:
    """Print the members of a stack: leave-one-out log loss, log evidence and weights."""
    text = members_as_text(table)
    print()
    print_grid([head, *text.columns], text.itertuples(name=None))
    print()
    print_text(MEMBERS_LEGEND)


def show_progress(
    batches: Iterable[B], words: str, already: int = 0, total: int | None = None
) -> Iterator[B]:
    """Yield batches; a terminal counts their rows on stderr, on from `already`, of `total`."""
    words = words if total is None else f"of {total:,} {words}"
    console = Console(stderr=True)
    columns = (TextColumn("{task.completed:,.0f} " + words), TimeElapsedColumn())
    quiet = not console.is_terminal
    with Progress(*columns, console=console, transient=True, disable=quiet) as progress:
        task = progress.add_task(words, total=None, completed=already)
        for batch in batches:
            yield batch
            progress.advance(task, len(batch))


@contextlib.contextmanager
def table_writer(
    out: Path | None, schema: pa.Schema, *, lines: bool
) -> Generator[Callable[[pa.Table], None]]:
    """Give a function that writes tables of one schema one after the other.

    Args:
        out: a Parquet or CSV file, which is there at the end, whole; None writes to stdout.
        schema: of the tables.
        lines: on stdout, one JSON object for each row, instead of CSV.

    Raises:
        InvalidFile: the path takes no file.
    """
    if out is not None:
        kind = csv.CSVWriter if out.suffix == ".csv" else parquet_writer
        with replacing(out) as path, kind(path, schema) as writer:
            yield writer.write_table
    elif lines:
        yield _print_json_lines
    else:
        # rows that were printed before stand first
        sys.stdout.flush()
        with csv.CSVWriter(sys.stdout.buffer, schema) as writer:
            yield writer.write_table


def parquet_writer(path: Path, schema: pa.Schema) -> parquet.ParquetWriter:
    """Return a writer without dictionaries of numbers, which take four times as long (measured)."""
    others = [field.name for field in schema if field.type != pa.float64()]
    return parquet.ParquetWriter(path, schema, use_dictionary=others)


def _print_json_lines(table: pa.Table) -> None:
    for row in table.to_pylist():
        print(to_json(row, indent=None))


def kinds_of_columns(table: Table) -> dict[str, int]:
    """Return the number of columns of each kind."""
    numeric = sum(column.kind == "number" for column in table.columns)
    return {"numeric": numeric, "categorical": len(table.columns) - numeric}


def missing_by_column(table: Table) -> dict[str, int]:
    """Return the missing cells of each column that has any."""
    found = {str(column.name): int(column.missing.sum()) for column in table.columns}
    return {name: count for name, count in found.items() if count}


def facts_of_data(data: str, target: TargetColumn, table: Table) -> dict[str, Any]:
    """Return what was read; `table` may be part of the rows."""
    return {
        "data": data,
        "target": target.name,
        "rows": sum(target.counts.values()) + target.without_class,
        "columns": kinds_of_columns(table),
        "classes": {str(label): count for label, count in target.counts.items()},
        "rows_without_class": target.without_class,
    }


def facts_of_fit(classifier: Any) -> dict[str, Any]:
    """Return how the fit of a classifier ended."""
    report = classifier.report_
    facts = {
        "inference": report.method,
        "converged": report.converged,
        "verdict": report.outcome.text("shell"),
        "seconds": report.seconds,
    }
    if hasattr(classifier, "log_evidence_"):
        facts["log_evidence"] = classifier.log_evidence_
    return facts


def print_data(facts: Mapping[str, Any], **more: str) -> None:
    """Print a summary of the data: source, target column and further facts."""
    numeric, categorical = facts["columns"]["numeric"], facts["columns"]["categorical"]
    kinds = f"{numeric:,} numeric, {categorical:,} categorical"
    words = f"{facts['rows']:,} rows, {numeric + categorical:,} columns ({kinds})"
    classes = name_counts(facts["classes"])
    about = {"data": f"{facts['data']}: {words}", "target": f"{facts['target']}: {classes}"}
    if count := facts["rows_without_class"]:
        weight = facts.get("unlabelled_weight")
        mean = "" if weight is None else f", mean weight {weight:.2g}"
        about["no class"] = f"{count:,} rows{mean}"
    print_facts(about | more)


def missing_in_words(facts: Mapping[str, Any]) -> str:
    """Return "19 cells in 11 rows (sex 11, ...)"."""
    if not facts["missing_cells"]:
        return "none"
    columns = name_counts(facts["missing_by_column"])
    return f"{facts['missing_cells']:,} cells in {facts['rows_with_missing']:,} rows ({columns})"


def name_counts(counts: Mapping[str, float], limit: int = 8) -> str:
    """Return "no 809, yes 500", cut after `limit` of them."""
    parts = [f"{name} {count:,.12g}" for name, count in list(counts.items())[:limit]]
    more = [f"and {len(counts) - limit:,} more"] if len(counts) > limit else []
    return ", ".join([*parts, *more])


def to_json(value: object, indent: int | None = 2) -> str:
    """Return JSON: NaN as null and infinity as the text "inf", which JSON has no numbers for."""
    # cells without a JSON type, such as dates, are written as text
    finite = _finite(value)
    return json.dumps(finite, indent=indent, ensure_ascii=False, allow_nan=False, default=str)


def _finite(value: object) -> object:
    if isinstance(value, Mapping):
        return {str(key): _finite(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(part) for part in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    return value
