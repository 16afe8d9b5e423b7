"""What a model says of rows, as a table, and the files that such tables go to."""

import contextlib
import sys
from collections.abc import Callable, Generator
from pathlib import Path

import pyarrow as pa
from pyarrow import csv, parquet

from bayesgen.cli import show
from bayesgen.cli.files import UnusableData
from bayesgen.cli.models import Fitted
from bayesgen.persist import replacing

Write = Callable[[pa.Table], None]


def answered(classifier: Fitted, X: object, interval: float | None) -> pa.Table:
    """Return what a model says of rows, one column each.

    predicted: the most probable class. probability_K: P(y = K given the row), missing cells
    marginalised. lower_K, upper_K: the interval that holds `interval` of the posterior of that
    probability; None leaves them out. log_density: log p(row), the novelty score: low for rows
    unlike every class.
    """
    proba = classifier.predict_proba(X)
    labels = list(map(str, classifier.classes_))
    best = classifier.classes_[proba.argmax(axis=1)]
    columns = {"predicted": pa.array(best.tolist())}
    columns |= {f"probability_{k}": pa.array(proba[:, i]) for i, k in enumerate(labels)}
    if interval is not None:
        ends = classifier.predict_interval(X, interval)
        for side, word in enumerate(("lower", "upper")):
            columns |= {f"{word}_{k}": pa.array(ends[:, i, side]) for i, k in enumerate(labels)}
    columns["log_density"] = pa.array(classifier.score_samples(X))
    return pa.table(columns)


@contextlib.contextmanager
def writing(out: Path | None, schema: pa.Schema, *, lines: bool) -> Generator[Write]:
    """Give a function that writes tables of one schema behind each other.

    Args:
        out: a Parquet or CSV file, which is there at the end, whole; None writes to stdout.
        schema: of the tables.
        lines: on stdout, one JSON object for each row, instead of CSV.

    Raises:
        UnwritableFile: the path takes no file.
    """
    if out is None and lines:
        yield _json_lines
        return
    if out is None:
        # rows that were printed before stand first
        sys.stdout.flush()
        with csv.CSVWriter(sys.stdout.buffer, schema) as writer:
            yield writer.write_table
        return
    with replacing(out) as path:
        make = csv.CSVWriter if out.suffix == ".csv" else parquet.ParquetWriter
        with make(path, schema) as writer:
            yield writer.write_table


def beside(table: pa.Table, keep: tuple[str, ...], answers: pa.Table) -> pa.Table:
    """Return answers behind columns of the rows they are about.

    Raises:
        UnusableData: such a column has the name of an answer.
    """
    for name in keep:
        if name in answers.column_names:
            raise UnusableData.taken_name(name)
    kept = {name: table.column(name) for name in keep}
    return pa.table(kept | {name: answers.column(name) for name in answers.column_names})


def _json_lines(table: pa.Table) -> None:
    for row in table.to_pylist():
        print(show.as_line(row))
