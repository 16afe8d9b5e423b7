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

from bayesgen import decide
from bayesgen.calibrate import accuracy, brier, log_loss
from bayesgen.cli import options, printing
from bayesgen.cli.data import count_values, open_data
from bayesgen.errors.sources import no_column, no_rows_in_source
from bayesgen.errors.wording import rows as in_rows
from bayesgen.estimators import Answers, load
from bayesgen.progress_bar import progress_bar
from bayesgen.sources import PART_ROWS, Source
from bayesgen.typing import Joint, Labels

LONG = 1.0
"""Seconds after which a bar is shown."""


def predict_rows(
    model: options.FittedFile,
    data: options.DataName,
    /,
    *,
    out: Annotated[
        Path | None,
        Parameter(name=["--out", "-o"], validator=validators.Path(ext=("parquet", "pq", "csv"))),
    ] = None,
    interval: Annotated[float | None, Parameter(validator=validators.Number(gt=0, lt=1))] = None,
    draws: options.Flag = False,
    coverage: Annotated[float | None, Parameter(validator=validators.Number(gt=0, lt=1))] = None,
    keep: options.Words = (),
    target: str | None = None,
    prior: options.Prior = None,
    cost: options.Costs = None,
    csv: options.CsvFormat = options.AS_SHOWN,
    batch: options.Rows = PART_ROWS,
    json: options.Flag = False,
) -> None:
    """Answer about the rows of a file: class probabilities, intervals if asked for, and novelty.

    One row of predictions per row of the file, in its order: predicted (the most probable class),
    with --cost decision (of least expected cost), probability_K for each class K, with --interval
    lower_K and upper_K (mle and map have none), with --coverage in_set_K, and log_density
    (log p(row): low for rows unlike every class). The file may be larger than memory, and the
    output is there at the end, whole, or not at all. Columns that the model does not read are
    ignored, absent ones count as missing. With --target, answers are scored; if the rows are those
    of the fit, a note says so, with their log loss where each is left out of the fit.

    Args:
        out: File to write to, .parquet, .pq or .csv; without it rows are printed as CSV.
        interval: Share of the posterior between lower_K and upper_K, such as 0.9.
        draws: Add draws_K, draws of probability_K from the posterior as a list, and their weight;
            in Parquet or JSON.
        coverage: Share of rows whose set of classes, in_set_K, is to hold the true one, such as
            0.9; needs the model of a stack.
        keep: A column of the file to copy beside the answers, such as a key; may be repeated.
        target: Column that holds the classes, by which the answers are scored.
        json: Print JSON: a summary, or without --out one object a row.
    """
    classifier = options.with_prior(load(model), prior)
    source = open_data(data, csv, batch)
    keep = tuple(dict.fromkeys(keep))
    answers = Answers.of_command(classifier, interval=interval, draws=draws, coverage=coverage)
    if draws and not json and (out is None or out.suffix == ".csv"):
        raise options.UnusableOptions(
            "--draws are lists, which CSV cannot hold. Add --out answers.parquet."
        )
    scores = None if target is None else Scores(target, classifier.classes_)
    classes = classifier.classes_.tolist()
    loss = options.losses(cost, classes)
    rule = None if loss is None else decide.rule(loss, classifier.classes_)
    for option, name in [*(("keep", name) for name in keep), ("target", target)]:
        if name is not None and name not in map(str, source.names or ()):
            raise no_column(source.name, name, list(map(str, source.names or ())))
        if name in answers.columns or (rule and name == "decision"):
            raise options.UnusableOptions(
                f"--{option} {name}: the answers already have a column of this name. Rename it in "
                "the file."
            )
    source = _with_target(source, target, classes)
    hidden = [] if target is None or target in keep else [target]
    reader = answers.reader(source, [*keep, *hidden])
    first = next(reader, None)  # what cannot be read is refused before anything is written
    if first is None:
        raise no_rows_in_source(source.name)
    counts, decided, schema = Counter(), Counter(), _without(reader.schema, hidden)
    if rule is not None:
        # text where some decisions are classes and others are not
        mixed = rule.decisions.dtype == object
        labels = pa.array(rule.decisions.astype(str) if mixed else rule.decisions)
        schema = schema.insert(len(keep) + 1, pa.field("decision", labels.type))
    shown = "auto" if out is not None or not sys.stdout.isatty() else False
    with (
        printing.table_writer(out, schema, json=json) as write,
        progress_bar(source.n_rows, shown, unit="row", title="answered", delay=LONG) as bar,
    ):
        for batch_of_rows in itertools.chain([first], reader):
            rows = pa.Table.from_batches([batch_of_rows])
            if scores is not None:
                scores.add(rows)
            counts.update(count_values(rows.column("predicted")))
            if rule is not None:
                best = rule.best(_probabilities(rows, classes))
                rows = rows.append_column("decision", labels.take(pa.array(best)))
                decided.update(count_values(rows.column("decision")))
            write(rows.select(schema.names))
            bar.update(len(rows))
    found = None
    if scores is not None and scores.n_rows:
        again = _with_target(open_data(data, csv, batch), target, classes)
        found = answers.in_sample(again, scores.column, scores.codes_of, scores.counts)
        printing.print_notes([] if found is None else [found.written("shell")])
    if out is None:
        printing.print_notes([] if scores is None else [f"scored {scores.in_words()}"])
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
    if rule is not None:
        facts["decided"] = {str(label): count for label, count in decided.items()}
        lines["decided"] = printing.name_counts(facts["decided"])
    if scores is not None:
        facts["scores"], lines["scores"] = scores.facts(), scores.in_words()
        facts["scores"]["rows_of_the_fit"] = found is not None
    printing.print_answer(facts, lines, json=json)


def _with_target(source: Source, target: str | None, classes: list) -> Source:
    """Return a source in which words such as "None" are classes where the model has them."""
    if target is None:
        return source
    with printing.noted_at_once():
        return source.with_classes(target, [target], classes)


def _without(schema: pa.Schema, names: Sequence[str]) -> pa.Schema:
    return pa.schema([field for field in schema if field.name not in names])


def _probabilities(rows: pa.Table, classes: list) -> Joint:
    return np.column_stack([rows.column(f"probability_{label}").to_numpy() for label in classes])


class Scores:
    """Log loss, Brier score and accuracy of answers, added up part by part.

    column: that holds the classes.
    """

    def __init__(self, column: str, classes: np.ndarray) -> None:
        """Begin with no rows of these classes."""
        self.column, self.classes = column, classes.tolist()
        self.codes = {_key(label): code for code, label in enumerate(self.classes)}
        self.n_rows = self.without_class = 0
        self.sums, self.counts = np.zeros(3), np.zeros(len(classes))

    def add(self, rows: pa.Table) -> None:
        """Add answers beside the column of classes."""
        codes = self.codes_of(rows)
        self.counts += np.bincount(codes[codes >= 0], minlength=len(self.classes))
        y, proba = codes[codes >= 0], _probabilities(rows, self.classes)[codes >= 0]
        self.without_class += len(codes) - len(y)
        if len(y):
            codes = range(len(self.classes))
            means = np.array([score(y, proba, codes) for score in (log_loss, brier, accuracy)])
            self.sums, self.n_rows = self.sums + len(y) * means, self.n_rows + len(y)

    def codes_of(self, rows: pa.Table) -> Labels:
        """Return the class codes of rows, -1 where their cell is no class of the model."""
        labels = rows.column(self.column).to_pylist()
        return np.array([self.codes.get(_key(label), -1) for label in labels], dtype=int)

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


def _key(label: object) -> str:
    """Return a label as text that files of any kind have in common: 1, 1.0 and "1" are one."""
    text = str(label).strip()
    if isinstance(label, bool) or text in ("True", "False"):
        return text.lower()
    return text.removesuffix(".0") if isinstance(label, float) else text
