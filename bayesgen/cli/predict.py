"""`bayesgen predict`."""

import itertools
import math
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pyarrow as pa
from cyclopts import Parameter, validators

from bayesgen import datasets
from bayesgen.calibrate import accuracy, brier, log_loss
from bayesgen.cli import options, printing
from bayesgen.cli.data import count_values, is_bundled, open_data
from bayesgen.errors.sources import no_column, no_rows_in_source
from bayesgen.errors.wording import rows as in_rows
from bayesgen.estimators import Answers, load
from bayesgen.estimators.sources.predict import columns_read
from bayesgen.progress_bar import progress_bar
from bayesgen.sources import PART_ROWS, Source

LONG = 1.0
"""Seconds after which a bar is shown."""


def _require_table_name(_: object, path: Path | None) -> None:
    if path is not None and path.suffix not in (".csv", ".parquet", ".pq"):
        raise ValueError("Name a file that ends in .parquet, .pq or .csv.")


def predict_rows(
    model: options.FittedFile,
    data: options.DataName,
    /,
    *,
    out: Annotated[
        Path | None, Parameter(name=["--out", "-o"], validator=_require_table_name)
    ] = None,
    interval: Annotated[float | None, Parameter(validator=validators.Number(gt=0, lt=1))] = None,
    draws: options.Flag = False,
    keep: options.Words = (),
    target: str | None = None,
    prior: options.Prior = None,
    csv: options.CsvFormat = options.AS_SHOWN,
    batch: options.Rows = PART_ROWS,
    json: options.Flag = False,
) -> None:
    """Answer about the rows of a file: class probabilities, intervals if asked for, and novelty.

    One row of predictions per row of the file, in its order: predicted (the most probable class),
    probability_K for each class K, with --interval lower_K and upper_K (mle and map have none) and
    log_density (log p(row): low for rows unlike every class). The file may be larger than memory,
    and the output is there at the end, whole, or not at all. Columns that the model does not read
    are ignored, absent ones count as missing. If the file holds the classes, answers are scored.

    Args:
        out: File to write to, .parquet, .pq or .csv; without it rows are printed as CSV.
        interval: Share of the posterior between lower_K and upper_K, such as 0.9.
        draws: Add draws_K, draws of probability_K from the posterior as a list, and their weight;
            in Parquet or JSON.
        keep: A column of the file to copy beside the answers, such as a key; may be repeated.
        target: Column that holds the classes, by which the answers are scored; by default the one
            column that the model does not read and that holds its classes alone. Or none.
        json: Print JSON: a summary, or without --out one object a row.
    """
    classifier = options.with_prior(load(model), prior)
    source = open_data(data, csv, batch)
    answers = Answers.with_density(classifier, interval=interval, draws=draws)
    if draws and not json and (out is None or out.suffix == ".csv"):
        raise options.UnusableOptions(
            "--draws are lists, which CSV has not. Add --out answers.parquet."
        )
    for name in keep:
        require_column(source, name)
        if name in answers.columns:
            raise options.UnusableOptions(
                f"--keep {name}: the answers have a column of this name. Rename it in the file."
            )
    scores = Scores(column_of_classes(classifier, source, target, answers), classifier.classes_)
    hidden = [scores.column] if scores.column and scores.column not in keep else []
    reader = answers.reader(source, [*keep, *hidden])
    first = next(reader, None)  # what cannot be read is refused before anything is written
    if first is None:
        raise no_rows_in_source(source.name)
    counts, schema = Counter(), _without(reader.schema, hidden)
    shown = "auto" if out is not None or not sys.stdout.isatty() else False
    with (
        printing.table_writer(out, schema, json=json) as write,
        progress_bar(source.n_rows, shown, unit="row", title="answered", delay=LONG) as bar,
    ):
        for batch_of_rows in itertools.chain([first], reader):
            rows = pa.Table.from_batches([batch_of_rows])
            scores.add(rows)
            counts += count_values(rows.column("predicted"))
            write(rows.select(schema.names))
            bar.update(len(rows))
    if out is None:
        printing.print_notes([f"scored {scores.in_words()}"] if scores.column else [])
        return
    facts: dict[str, Any] = {
        "model": str(model),
        "classifier": type(classifier).__name__,
        "inference": classifier.inference_,
        "data": data,
        "rows": counts.total(),
        "predicted": {str(label): counts[label] for label in classifier.classes_.tolist()},
        "out": str(out),
        "columns": schema.names,
    }
    lines = {
        "model": f"{model}: {facts['classifier']}, {facts['inference']}",
        "data": f"{data}: {facts['rows']:,} rows",
        "predicted": printing.name_counts(facts["predicted"]),
        "out": f"{out}: {', '.join(schema.names)}",
    }
    if scores.column:
        facts["scores"], lines["scores"] = scores.facts(), scores.in_words()
    printing.print_answer(facts, lines, json=json)


def _without(schema: pa.Schema, names: Sequence[str]) -> pa.Schema:
    return pa.schema([field for field in schema if field.name not in names])


def require_column(source: Source, name: str) -> None:
    """Raise InvalidData if a source has no such column."""
    if name not in (source.names or ()):
        raise no_column(source.name, name, source.names or ())


# -- Scores ----------------------------------------------------------------------------------------


class Scores:
    """Log loss, Brier score and accuracy of answers, added up part by part.

    column: that holds the classes; None: there is none, and nothing is scored.
    """

    def __init__(self, column: str | None, classes: np.ndarray) -> None:
        """Begin with no rows of these classes."""
        self.column, self.classes = column, classes.tolist()
        self.codes = {_key(label): code for code, label in enumerate(self.classes)}
        self.n_rows = self.without_class = 0
        self.sums = np.zeros(3)

    def add(self, rows: pa.Table) -> None:
        """Add answers beside the column of classes."""
        if self.column is None:
            return
        labels = rows.column(self.column).to_pylist()
        codes = np.array([self.codes.get(_key(label), -1) for label in labels])
        columns = [rows.column(f"probability_{label}").to_numpy() for label in self.classes]
        y, proba = codes[codes >= 0], np.column_stack(columns)[codes >= 0]
        self.without_class += len(codes) - len(y)
        if len(y):
            means = np.array([log_loss(y, proba), brier(y, proba), accuracy(y, proba)])
            self.sums, self.n_rows = self.sums + len(y) * means, self.n_rows + len(y)

    def facts(self) -> dict[str, Any]:
        """Return the means over the scored rows, NaN where there are none."""
        means = (self.sums / self.n_rows).tolist() if self.n_rows else [math.nan] * 3
        return {
            "target": self.column,
            "rows": self.n_rows,
            "without_class": self.without_class,
            **dict(zip(("log_loss", "brier", "accuracy"), means, strict=True)),
        }

    def in_words(self) -> str:
        """Return the scores as a line."""
        if not self.n_rows:
            return f"no row of column {self.column!r} holds a class of the model"
        facts, count = self.facts(), self.without_class
        others = f"; {in_rows(count)} without a class of the model" if count else ""
        return (
            f"against column {self.column!r}: log loss {facts['log_loss']:.3f}, accuracy "
            f"{facts['accuracy']:.1%}, Brier {facts['brier']:.3f} ({in_rows(self.n_rows)}{others})"
        )


def column_of_classes(
    classifier: Any, source: Source, target: str | None, answers: Answers
) -> str | None:
    """Return the column by which answers are scored; None: there is none.

    By default it is that of a bundled data set, or the one column that the model does not read and
    that holds classes and nothing else in the first rows.

    Raises:
        InvalidData: there is no column of the name that was typed.
    """
    names = list(map(str, source.names or ()))
    if target == "none":
        return None
    if target is not None:
        require_column(source, target)
        return None if target in answers.columns else target
    if is_bundled(source.name):
        candidates = [datasets.target(source.name)]
    else:
        reads = columns_read(classifier, source.name, names)
        candidates = [name for name in names if name not in map(str, reads)]
    known = {_key(label) for label in classifier.classes_.tolist()}
    first = next(source.parts(dict.fromkeys(candidates, "text")), None) if candidates else None
    if first is None:
        return None
    cells = {name: pa.table(first.frame).column(name).unique().drop_null() for name in candidates}
    labels = {name: {_key(label) for label in cells[name].to_pylist()} for name in cells}
    columns = [name for name in candidates if labels[name] and labels[name] <= known]
    return columns[0] if len(columns) == 1 and columns[0] not in answers.columns else None


def _key(label: object) -> str:
    """Return a label as text that files of any kind have in common: 1, 1.0 and "1" are one."""
    text = str(label).strip()
    if isinstance(label, bool) or text in ("True", "False"):
        return text.lower()
    return text.removesuffix(".0") if isinstance(label, float) else text
