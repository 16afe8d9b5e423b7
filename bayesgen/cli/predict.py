"""`bayesgen predict`."""

import itertools
import sys
from collections import Counter
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter, validators

from bayesgen.cli import options, printing
from bayesgen.errors.sources import no_column, no_rows_in_source
from bayesgen.progress_bar import progress_bar
from bayesgen.sources.defaults import PART_ROWS

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
    import pyarrow as pa

    from bayesgen import decide
    from bayesgen.cli.answers import Scores, probabilities, with_target, without
    from bayesgen.cli.data import count_values, open_data
    from bayesgen.cli.stated import losses, with_prior
    from bayesgen.cli.writing import table_writer
    from bayesgen.estimators import load
    from bayesgen.estimators.sources.predict import Answers

    classifier = with_prior(load(model), prior)
    source = open_data(data, csv, batch)
    keep = tuple(dict.fromkeys(keep))
    answers = Answers.of_command(classifier, interval=interval, draws=draws, coverage=coverage)
    if draws and not json and (out is None or out.suffix == ".csv"):
        raise options.UnusableOptions(
            "--draws are lists, which CSV cannot hold. Add --out answers.parquet."
        )
    scores = None if target is None else Scores(target, classifier.classes_)
    classes = classifier.classes_.tolist()
    loss = losses(cost, classes)
    rule = None if loss is None else decide.rule(loss, classifier.classes_)
    for option, name in [*(("keep", name) for name in keep), ("target", target)]:
        if name is not None and name not in map(str, source.names or ()):
            raise no_column(source.name, name, list(map(str, source.names or ())))
        if name in answers.columns or (rule and name == "decision"):
            raise options.UnusableOptions(
                f"--{option} {name}: the answers already have a column of this name. Rename it in "
                "the file."
            )
    source = with_target(source, target, classes)
    hidden = [] if target is None or target in keep else [target]
    reader = answers.reader(source, [*keep, *hidden])
    first = next(reader, None)  # what cannot be read is refused before anything is written
    if first is None:
        raise no_rows_in_source(source.name)
    counts, decided, schema = Counter(), Counter(), without(reader.schema, hidden)
    if rule is not None:
        # text where some decisions are classes and others are not
        mixed = rule.decisions.dtype == object
        labels = pa.array(rule.decisions.astype(str) if mixed else rule.decisions)
        schema = schema.insert(len(keep) + 1, pa.field("decision", labels.type))
    shown = "auto" if out is not None or not sys.stdout.isatty() else False
    with (
        table_writer(out, schema, json=json) as write,
        progress_bar(source.n_rows, shown, unit="row", title="answered", delay=LONG) as bar,
    ):
        for batch_of_rows in itertools.chain([first], reader):
            rows = pa.Table.from_batches([batch_of_rows])
            if scores is not None:
                scores.add(rows)
            counts.update(count_values(rows.column("predicted")))
            if rule is not None:
                best = rule.best(probabilities(rows, classes))
                rows = rows.append_column("decision", labels.take(pa.array(best)))
                decided.update(count_values(rows.column("decision")))
            write(rows.select(schema.names))
            bar.update(len(rows))
    found = None
    if scores is not None and scores.n_rows:
        again = with_target(open_data(data, csv, batch), target, classes)
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
