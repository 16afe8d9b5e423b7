"""`bayesgen predict`: a saved model answers about the rows of a file."""

import itertools
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from bayesgen.cli import show
from bayesgen.cli.answers import answered, beside, writing
from bayesgen.cli.arguments import DataName, Flag, Missing, Rows, Share, TableFile, Words
from bayesgen.cli.files import located, require_names
from bayesgen.cli.models import Fitted
from bayesgen.cli.reading import Reading, reading
from bayesgen.cli.streams import BATCH_ROWS, batches, column_names
from bayesgen.errors import InvalidTable
from bayesgen.estimators.loading import load_classifier


def predict_rows(
    model: Path,
    data: DataName,
    /,
    *,
    out: TableFile = None,
    interval: Share = 0.9,
    keep: Words = (),
    missing: Missing = (),
    batch: Rows = BATCH_ROWS,
    json: Flag = False,
) -> None:
    """Answer about the rows of a file: class probabilities with intervals, and novelty.

    One row of answers for each row of the file, in its order: predicted (the most probable class),
    probability_K for each class K, lower_K and upper_K (its interval; mle and map have none) and
    log_density (log p(row): low for rows unlike every class). The file may be larger than memory.
    Columns that the model does not read are ignored, absent ones count as missing.

    Args:
        model: A file that `bayesgen fit` or clf.save(path) wrote.
        data: A file, or a bundled data set.
        out: File to write to, .parquet, .pq or .csv; without it rows are printed as CSV.
        interval: Share of the posterior between lower_K and upper_K.
        keep: A column of the file to copy beside the answers, such as a key; may be repeated.
        missing: One more text.
        batch: Rows that are answered at once.
        json: Print JSON: a summary, or without --out one object a row.
    """
    classifier = load_classifier(model)
    there = column_names(located(data))
    require_names(data, keep, there)
    wanted = reading(classifier, data, there)
    types = wanted.beside(keep)
    rows = batches(located(data), list(types), types, missing=missing, rows=batch)
    answers = _answers(classifier, wanted, rows, keep, interval)
    names, predicted = _written(answers, out, lines=json)
    if out is not None:
        _show(model, classifier, data, out, names, predicted, json=json)


def _answers(
    classifier: Fitted,
    wanted: Reading,
    rows: Iterator[pa.Table],
    keep: tuple[str, ...],
    interval: float,
) -> Iterator[pa.Table]:
    """Yield the answers about each batch of rows."""
    share = None if classifier._fitted_posterior().point else interval
    table = None
    for table in rows:
        yield beside(table, keep, answered(classifier, wanted.rows(table), share))
    if table is None:
        raise InvalidTable.no_rows(len(wanted.types))


def _written(
    answers: Iterator[pa.Table], out: Path | None, *, lines: bool
) -> tuple[list[str], Counter]:
    """Write answers; return the names of their columns, and how often each class is predicted."""
    predicted: Counter = Counter()
    first = next(answers)
    rows = itertools.chain([first], answers)
    with writing(out, first.schema, lines=lines) as write:
        for table in show.counted(rows, "rows answered"):
            write(table)
            predicted.update(table.column("predicted").to_pylist())
    return first.column_names, predicted


def _show(
    model: Path,
    classifier: Fitted,
    data: str,
    out: Path,
    names: list[str],
    predicted: Counter,
    *,
    json: bool,
) -> None:
    count = {str(label): predicted[label] for label in classifier.classes_.tolist()}
    facts = {
        "model": str(model),
        "classifier": type(classifier).__name__,
        "inference": classifier.inference_,
        "data": data,
        "rows": sum(count.values()),
        "predicted": count,
        "out": str(out),
        "columns": names,
    }
    if json:
        print(show.as_json(facts))
        return
    told = {
        "model": f"{model}: {facts['classifier']}, {facts['inference']}",
        "data": f"{data}: {facts['rows']:,} rows",
        "predicted": show.listing(count),
        "out": f"{out}: {', '.join(names)}",
    }
    show.print_facts(told)
