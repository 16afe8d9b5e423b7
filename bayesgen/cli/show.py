"""What a comparison looks like: text for people, JSON for programs."""

import json
import math
import sys
from collections.abc import Iterable, Iterator, Mapping, Sized
from typing import TypeVar

import numpy as np
from rich import box
from rich.console import Console
from rich.progress import Progress, TextColumn, TimeElapsedColumn
from rich.table import Table as Grid

from bayesgen.calibrate import BINS
from bayesgen.compare import Comparison
from bayesgen.table import Table

B = TypeVar("B", bound=Sized | tuple[Sized, ...])
SCORES = {"log_loss": "log loss", "brier": "Brier", "calibration_error": "calib. error"}
LEGEND = (
    "Scores of rows that were left out of the fit; ± is one standard error over the folds. Log "
    "loss (nats), Brier (0 to 2) and calibration error (top label, "
    f"{BINS} bins of equal width): lower is better. Seconds: all fits and predictions."
)
RULED_OUT = " Log loss inf: a class was given probability 0 in a row where it was the true one."


def print_result(result: object) -> None:
    """Print text or a table to stdout; without colour and at 80 columns when piped."""
    # column and class names are the user's own text, never markup
    console = Console(markup=False, highlight=False, emoji=False)
    with console.capture() as captured:
        console.print(result)
    print("\n".join(line.rstrip() for line in captured.get().splitlines()))


def print_notes(sentences: Iterable[str]) -> None:
    """Print sentences beside the result, on stderr."""
    sys.stdout.flush()
    for sentence in sentences:
        print(f"note: {sentence}", file=sys.stderr)


def print_facts(facts: Mapping[str, str]) -> None:
    """Print names and their values, wrapped under each other."""
    grid = Grid.grid(padding=(0, 2, 0, 0))
    grid.add_column(style="bold", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, value in facts.items():
        grid.add_row(name, value)
    print_result(grid)


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
    print_result(grid)


def print_comparison(comparison: Comparison) -> None:
    """Print the scores of each classifier with their spread, and which method ran for how long."""
    heads = ["", *SCORES.values(), "accuracy", "seconds", "ran"]
    table = comparison.table
    lines = [
        [
            str(name),
            *(spread(row[score], row[f"{score}_se"]) for score in (*SCORES, "accuracy")),
            seconds(comparison.folds * (row["fit_seconds"] + row["predict_seconds"])),
            row["method"],
        ]
        for name, row in zip(table.index, table.to_dict("records"), strict=True)
    ]
    print()
    print_grid(heads, lines)
    print()
    print_result(LEGEND + RULED_OUT if np.isinf(table["log_loss"]).any() else LEGEND)


def spread(value: float, error: float) -> str:
    """Return "0.466±.013", or the value alone where there is no standard error."""
    shown = f"{value:z.3f}"
    return f"{shown}±{error:.3f}".replace("±0.", "±.") if math.isfinite(error) else shown


def seconds(value: float) -> str:
    """Return a duration with about two digits."""
    return f"{value:.2f}" if value < 10 else f"{value:,.0f}"


def counts(table: Table) -> dict[str, int]:
    """Return the columns by kind."""
    numeric = sum(column.kind == "number" for column in table.columns)
    return {"numeric": numeric, "categorical": len(table.columns) - numeric}


def of_kinds(columns: Mapping[str, int]) -> str:
    """Return "3 columns (1 numeric, 2 categorical)"."""
    numeric, categorical = columns["numeric"], columns["categorical"]
    return f"{numeric + categorical:,} columns ({numeric:,} numeric, {categorical:,} categorical)"


def counted(batches: Iterable[B], words: str) -> Iterator[B]:
    """Yield batches, tables or tuples that begin with one; a terminal counts rows on stderr."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.completed:,.0f} " + words), TimeElapsedColumn())
    quiet = not console.is_terminal
    with Progress(*columns, console=console, transient=True, disable=quiet) as progress:
        task = progress.add_task(words, total=None)
        for batch in batches:
            yield batch
            progress.advance(task, len(batch[0] if isinstance(batch, tuple) else batch))


def missing_cells(table: Table) -> dict[str, int]:
    """Return the missing cells of each column that has any."""
    found = {
        c.name: c.values < 0 if c.kind == "level" else np.isnan(c.values) for c in table.columns
    }
    return {str(name): int(cells.sum()) for name, cells in found.items() if cells.any()}


def listing(numbers: Mapping[str, int], limit: int = 8) -> str:
    """Return "no 809, yes 500", cut after `limit` of them."""
    shown = [f"{name} {count:,}" for name, count in list(numbers.items())[:limit]]
    more = [f"and {len(numbers) - limit:,} more"] if len(numbers) > limit else []
    return ", ".join([*shown, *more])


def as_json(value: object) -> str:
    """Return JSON; NaN becomes null, and infinity the text "inf", which JSON has no number for."""
    return json.dumps(_plain(value), indent=2, ensure_ascii=False, allow_nan=False)


def as_line(row: Mapping[str, object]) -> str:
    """Return one row as JSON in one line; what JSON has no word for is text."""
    return json.dumps(_plain(row), ensure_ascii=False, allow_nan=False, default=str)


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    return value
