"""`bayesgen fit`: a file of rows becomes a file with a fitted model."""

import itertools
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa

from bayesgen.cli import show
from bayesgen.cli.arguments import AnyModel, DataName, Flag, Missing, Rows, Seed
from bayesgen.cli.files import apart, classes_in, located, target_of
from bayesgen.cli.models import (
    Fitted,
    InferenceName,
    in_words,
    parts_of,
    require_columns,
    unfitted,
)
from bayesgen.cli.streams import BATCH_ROWS, batches, column_types
from bayesgen.errors import InvalidTable
from bayesgen.estimators import fit_batches
from bayesgen.estimators.classifier import Classifier
from bayesgen.table import Table, read_table

Batch = tuple[pa.Table, np.ndarray]


def fit_model(
    data: DataName,
    /,
    *,
    out: Path,
    target: str | None = None,
    model: AnyModel = "naive-bayes",
    inference: InferenceName = "auto",
    seed: Seed = 0,
    missing: Missing = (),
    batch: Rows = BATCH_ROWS,
    json: Flag = False,
) -> None:
    """Fit a model to the rows of a file, and save it.

    The file is read in batches, and may be larger than memory, but for a stack, which asks every
    row what the others say of it. Columns keep one type throughout.

    Args:
        data: A file, or the name of a bundled data set.
        out: File to write the model to, by custom one that ends in .nc (see `bayesgen predict`).
        target: Column that holds the classes; a bundled data set knows its own.
        model: Which one.
        inference: exact is in closed form; mle and map are points; auto: exact, else by sampling.
            A stack has but auto.
        seed: Seed of everything random.
        missing: One more text.
        batch: Rows that are read at once.
        json: Print JSON.
    """
    target, first, rows = _begun(data, target, missing, batch)
    require_columns(model, first)
    classifier = unfitted(model, inference, seed)
    with classes_in(target):
        _fit(classifier, show.counted(rows, "rows read"))
    words = in_words(model, classifier, first)
    classifier.save(out)
    facts = _facts(classifier, data, target, first, words)
    facts |= {"out": {"path": str(out), "bytes": out.stat().st_size}, "seed": seed}
    if json:
        print(show.as_json(facts))
    else:
        show.print_facts(_told(facts))


def _fit(classifier: Fitted, rows: Iterator[Batch]) -> None:
    """Fit to batches of rows, a stack to all of them at once."""
    if isinstance(classifier, Classifier):
        fit_batches(classifier, rows)
        return
    tables, labels = zip(*rows, strict=True)
    classifier.fit(pa.concat_tables(tables), np.concatenate(labels))


def _begun(
    data: str, target: str | None, missing: tuple[str, ...], size: int
) -> tuple[str, Table, Iterator[Batch]]:
    """Return the target, the table of the first batch, and all batches."""
    path = located(data)
    types = column_types(path, missing)
    target = target_of(data, target, list(types))
    tables = batches(path, list(types), types, missing=missing, rows=size)
    rows = (apart(table, target) for table in tables)
    first = next(rows, None)
    if first is None:
        raise InvalidTable.no_rows(len(types) - 1)
    return target, read_table(first[0]), itertools.chain([first], rows)


def _facts(
    classifier: Fitted, data: str, target: str, first: Table, words: str
) -> dict[str, object]:
    count = parts_of(classifier)[0]._state_.statistics.count
    report = classifier.report_
    facts = {
        "data": data,
        "target": target,
        "rows": int(count.sum()),
        "columns": show.counts(first),
        "classes": dict(
            zip(map(str, classifier.classes_), count.astype(int).tolist(), strict=True)
        ),
        "model": words,
        "inference": report.method,
        "converged": report.converged,
        "verdict": report.verdict,
        "seconds": report.seconds,
    }
    if isinstance(classifier, Classifier) and hasattr(classifier, "log_evidence_"):
        facts["log_evidence"] = classifier.log_evidence_
    return facts


def _told(facts: Mapping) -> dict[str, str]:
    columns, out = facts["columns"], facts["out"]
    return {
        "data": f"{facts['data']}: {facts['rows']:,} rows, {show.of_kinds(columns)}",
        "target": f"{facts['target']}: {show.listing(facts['classes'])}",
        "model": facts["model"],
        "fit": f"{facts['inference']}: {facts['verdict']}",
        "out": f"{out['path']} ({out['bytes']:,} bytes)",
    }
