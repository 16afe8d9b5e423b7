"""The commands: compare, fit, predict, report, datasets; their arguments and help."""

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated

import numpy as np
import pyarrow as pa
from cyclopts import App, Parameter, Token, validators

from bayesgen import datasets
from bayesgen.cli import printing
from bayesgen.cli.csv_and_parquet import (
    BATCH_ROWS,
    NULLS,
    DataFile,
    LabelledBatch,
    LabelledRows,
    naming_target,
)
from bayesgen.cli.models import (
    METHODS,
    AnyModelName,
    FileColumns,
    Fitted,
    InferenceName,
    MethodName,
    ModelName,
    in_words,
    new_classifier,
    new_classifiers,
    require_numbers,
)
from bayesgen.compare import Comparison, compare
from bayesgen.errors.base import merge_warnings
from bayesgen.estimators import StackedClassifier, fit_batches, load
from bayesgen.plots.style import pyplot
from bayesgen.report import report_html
from bayesgen.table import Table, read_table

HELP = "Class probabilities you can act on: Bayesian generative classification."
EXAMPLES = {
    "compare": (
        "bayesgen compare titanic_passengers --target survived",
        "bayesgen compare rows.csv --target species --model qda --methods mle,exact",
        "bayesgen compare rows.csv --target ill --groups patient",
        "bayesgen compare rows.parquet --target churned --json > scores.json",
    ),
    "fit": (
        "bayesgen fit titanic_passengers --out titanic.bgm",
        "bayesgen fit rows.csv --target species --model qda --inference map --out qda.bgm",
        "bayesgen fit rows.csv --target species --model stacked --out stack.bgm",
    ),
    "predict": (
        "bayesgen predict titanic.bgm passengers.csv --out answers.parquet",
        "bayesgen predict titanic.bgm passengers.csv --keep name > answers.csv",
        "bayesgen predict titanic.bgm passengers.csv --json | head -1",
    ),
    "report": (
        "bayesgen report titanic_passengers --html titanic.html",
        "bayesgen report rows.csv --target species --model qda --html page.html",
        "bayesgen report rows.csv --target species --fitted qda.bgm --html page.html",
    ),
    "datasets": ("bayesgen datasets", "bayesgen datasets --json"),
}
DATA_HELP = (
    "A CSV file (separated by commas, semicolons, tabs or bars), a Parquet file (.parquet, .pq), "
    "or the name of a bundled data set (see `bayesgen datasets`). Columns of numbers are numeric, "
    "integers too; text and booleans are categories. Missing cells of a CSV file: the empty cell, "
    f"{', '.join(f'`{null}`' for null in NULLS if null)}."
)
MODEL_HELP = (
    "naive-bayes takes any columns; lda and qda take numbers; joint-table takes categories and "
    "whole numbers; bag-of-words takes counts"
)
STACKED_HELP = "stacked weights several structures that suit the columns by leave-one-out score"
MISSING_HELP = 'One more text that means "missing" in a CSV file, such as "?"; may be repeated.'


def _split_methods(_: object, tokens: Sequence[Token]) -> tuple[str, ...]:
    words = [word.strip() for token in tokens for word in token.value.split(",")]
    for word in words:
        if word not in METHODS:
            raise ValueError(f"{word!r} is none of {', '.join(METHODS)}; separate them by commas.")
    return tuple(dict.fromkeys(words))


def _require_table_name(_: object, path: Path | None) -> None:
    if path is not None and path.suffix not in (".csv", ".parquet", ".pq"):
        raise ValueError("name a file that ends in .parquet, .pq or .csv.")


DataName = Annotated[str, Parameter(help=DATA_HELP)]
Methods = Annotated[
    tuple[MethodName, ...],
    Parameter(converter=_split_methods, n_tokens=1, negative="", show_default=",".join),
]
Folds = Annotated[int, Parameter(validator=validators.Number(gte=2))]
Seed = Annotated[int, Parameter(validator=validators.Number(gte=0, lt=2**32))]
Flag = Annotated[bool, Parameter(negative="", show_default=False)]
Model = Annotated[ModelName, Parameter(help=f"{MODEL_HELP}.")]
AnyModel = Annotated[AnyModelName, Parameter(help=f"{MODEL_HELP}; {STACKED_HELP}.")]
Missing = Annotated[tuple[str, ...], Parameter(help=MISSING_HELP, negative="", show_default=False)]
Words = Annotated[tuple[str, ...], Parameter(negative="", show_default=False)]
Share = Annotated[float, Parameter(validator=validators.Number(gt=0, lt=1))]
Rows = Annotated[int, Parameter(validator=validators.Number(gte=1))]
TableFile = Annotated[Path | None, Parameter(validator=_require_table_name, show_default=False)]


def application() -> App:
    """Return the command line application."""
    app = App(
        name="bayesgen",
        help=HELP,
        help_epilogue=_example_text(itertools.chain.from_iterable(EXAMPLES.values())),
        help_format="markdown",
        version=_version,
    )
    commands = (compare_methods, fit_model, predict_rows, report_page, list_datasets)
    for (name, examples), command in zip(EXAMPLES.items(), commands, strict=True):
        app.command(command, name=name, help_epilogue=_example_text(examples))
    return app


def _example_text(examples: Iterable[str]) -> str:
    return "\n".join(["Examples:", "", "```", *examples, "```", ""])


def _version() -> str:
    from importlib.metadata import version

    return version("bayesgen")


def compare_methods(
    data: DataName,
    /,
    *,
    target: str | None = None,
    model: Model = "naive-bayes",
    cv: Folds = 5,
    groups: str | None = None,
    methods: Methods = ("mle", "map", "exact", "nuts", "stacked"),
    seed: Seed = 0,
    missing: Missing = (),
    json: Flag = False,
) -> None:
    """Compare ways to fit one model: cross-validated scores, with their spread.

    Fits the model by maximum likelihood (mle), at the posterior mode (map), by the exact posterior
    (exact) and by sampling it (nuts), and a stack of several structures (stacked), on the same
    folds, and prints log loss, Brier score, calibration error and accuracy of the rows left out.

    Args:
        data: A file, or the name of a bundled data set.
        target: Column that holds the classes; a bundled data set has its own.
        model: Which one.
        cv: Number of stratified folds; lowered to the rows of the smallest class.
        groups: Column, such as a patient's number, whose rows stay together in every fold; it is
            not a feature.
        methods: Which of mle, map, exact, nuts, stacked, separated by commas; stacked is a stack of
            structures that suit the columns, whatever the model.
        seed: Seed of the folds and of every sampler.
        missing: One more text.
        json: Print JSON: more digits, warnings in full; infinite log loss is the text "inf".
    """
    rows, row_groups = DataFile.find(data, missing).read(target).split_groups(groups)
    table = read_table(rows.X)
    classifiers = new_classifiers(model, methods, seed, table)
    words = in_words(model, new_classifier(model, "auto", seed), table)
    with naming_target(rows.target):
        comparison = compare(
            classifiers, rows.X, rows.y, cv=cv, groups=row_groups, random_state=seed
        )
    facts = _facts_of_comparison(rows, table, comparison) | {"model": words}
    if json:
        scores = comparison.table.reset_index().to_dict("records")
        notes = {"notes": comparison.notes, "warnings": comparison.warnings}
        print(printing.to_json(facts | {"seed": seed, "classifiers": scores} | notes))
        return
    folds = f"{comparison.folds}, stratified, the same for every row below"
    _print_data(facts, missing=_missing_in_words(facts), model=words, folds=folds)
    printing.print_comparison(comparison)
    printing.print_notes([*comparison.notes, *merge_warnings(comparison.warnings)])


def _facts_of_comparison(rows: LabelledRows, table: Table, comparison: Comparison) -> dict:
    labels, count = np.unique(rows.y, return_counts=True)
    return {
        "data": rows.data,
        "target": rows.target,
        "rows": table.n_rows,
        "columns": printing.kinds_of_columns(table),
        "classes": dict(zip(map(str, labels), count.tolist(), strict=True)),
        "missing_cells": comparison.n_missing_cells,
        "rows_with_missing": comparison.n_rows_with_missing,
        "missing_by_column": printing.missing_by_column(table),
        "folds": comparison.folds,
    }


def _print_data(facts: Mapping, **more: str) -> None:
    """Print what data were read, which column is their target, and more facts."""
    rows = printing.rows_and_columns(facts["rows"], facts["columns"])
    classes = printing.name_counts(facts["classes"])
    about = {"data": f"{facts['data']}: {rows}", "target": f"{facts['target']}: {classes}"}
    printing.print_facts(about | more)


def _missing_in_words(facts: Mapping) -> str:
    if not facts["missing_cells"]:
        return "none"
    cells, rows = facts["missing_cells"], facts["rows_with_missing"]
    columns = printing.name_counts(facts["missing_by_column"])
    return f"{cells:,} cells in {rows:,} rows ({columns})"


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

    The file is read in batches, and may be larger than memory, except for a stack, which takes all
    rows at once. Columns keep one type throughout.

    Args:
        data: A file, or the name of a bundled data set.
        out: File to write the model to, by custom one that ends in .bgm (see `bayesgen predict`).
        target: Column that holds the classes; a bundled data set has its own.
        model: Which one.
        inference: exact is in closed form; mle and map are points; auto: exact, else by sampling.
            A stack has only auto.
        seed: Seed of everything random.
        missing: One more text.
        batch: Rows that are read at once.
        json: Print JSON.
    """
    file = DataFile.find(data, missing)
    target = file.target(target)
    batches = file.labelled_batches(target, batch)
    first = next(batches)
    table = read_table(first[0])
    require_numbers(model, table)
    classifier = new_classifier(model, inference, seed)
    count: Counter = Counter()
    with naming_target(target):
        _fit(classifier, _counting(itertools.chain([first], batches), count))
    classifier.save(out)
    facts = {
        "data": data,
        "target": target,
        "rows": count.total(),
        "columns": printing.kinds_of_columns(table),
        "classes": _by_class(classifier, count),
        "model": in_words(model, classifier, table),
        **_facts_of_fit(classifier),
        "out": {"path": str(out), "bytes": out.stat().st_size},
        "seed": seed,
    }
    if json:
        print(printing.to_json(facts))
        return
    fit, written = f"{facts['inference']}: {facts['verdict']}", facts["out"]
    out_words = f"{out} ({written['bytes']:,} bytes)"
    _print_data(facts, model=facts["model"], fit=fit, out=out_words)


def _facts_of_fit(classifier: Fitted) -> dict[str, object]:
    report = classifier.report_
    facts: dict[str, object] = {
        "inference": report.method,
        "converged": report.converged,
        "verdict": report.verdict,
        "seconds": report.seconds,
    }
    if hasattr(classifier, "log_evidence_"):
        facts["log_evidence"] = classifier.log_evidence_
    return facts


def _by_class(classifier: Fitted, count: Counter) -> dict[str, int]:
    """Return counts by class, in the order of the classifier's classes."""
    return {str(label): count[label] for label in classifier.classes_.tolist()}


def _fit(classifier: Fitted, batches: Iterator[LabelledBatch]) -> None:
    """Fit to batches of rows, a stack to all of them at once."""
    if not isinstance(classifier, StackedClassifier):
        fit_batches(classifier, batches)
        return
    tables, labels = zip(*batches, strict=True)
    classifier.fit(pa.concat_tables(tables), np.concatenate(labels))


def _counting(batches: Iterable[LabelledBatch], count: Counter) -> Iterator[LabelledBatch]:
    """Yield batches, and count their labels; a terminal shows progress."""
    for X, y in printing.show_progress(batches, "rows read"):
        count.update(y.tolist())
        yield X, y


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
    classifier = load(model)
    file = DataFile.find(data, missing)
    columns = FileColumns.match(classifier, data, file.column_names(), keep)
    batches = file.batches(columns.types, batch)
    answers = (columns.answers(classifier, rows, interval) for rows in batches)
    names, count = _write(answers, out, lines=json)
    if out is None:
        return
    facts = {
        "model": str(model),
        "classifier": type(classifier).__name__,
        "inference": classifier.inference_,
        "data": data,
        "rows": count.total(),
        "predicted": _by_class(classifier, count),
        "out": str(out),
        "columns": names,
    }
    if json:
        print(printing.to_json(facts))
        return
    lines = {
        "model": f"{model}: {facts['classifier']}, {facts['inference']}",
        "data": f"{data}: {facts['rows']:,} rows",
        "predicted": printing.name_counts(facts["predicted"]),
        "out": f"{out}: {', '.join(names)}",
    }
    printing.print_facts(lines)


def _write(
    answers: Iterator[pa.Table], out: Path | None, *, lines: bool
) -> tuple[list[str], Counter]:
    """Write answers; return the names of their columns, and how often each class is predicted."""
    first, count = next(answers), Counter()
    with printing.table_writer(out, first.schema, lines=lines) as write:
        for table in printing.show_progress(itertools.chain([first], answers), "rows answered"):
            write(table)
            count.update(table.column("predicted").to_pylist())
    return first.column_names, count


def report_page(
    data: DataName,
    /,
    *,
    html: Path,
    target: str | None = None,
    fitted: Path | None = None,
    model: AnyModel = "naive-bayes",
    inference: InferenceName = "auto",
    cv: Folds = 5,
    seed: Seed = 0,
    missing: Missing = (),
    json: Flag = False,
) -> None:
    """Write one self-contained HTML page: data, model, posterior, verdict, comparison, odd rows.

    Fits the model (or takes a fitted one), compares maximum likelihood, the posterior and logistic
    regression on the same folds; shows reliability, the least certain and least typical rows.

    Args:
        data: A file, or the name of a bundled data set.
        html: File to write.
        target: Column that holds the classes; a bundled data set has its own.
        fitted: A model that `bayesgen fit` saved; the page is then about it, without a comparison.
        model: Which one.
        inference: exact is the posterior in closed form; mle and map are points; nuts samples; auto
            is exact where that exists.
        cv: Number of stratified folds.
        seed: Seed of everything random.
        missing: One more text.
        json: Print JSON: where the page is and how the fit ended.
    """
    pyplot()  # refuse before anything is read or fitted
    rows = DataFile.find(data, missing).read(target)
    table = read_table(rows.X)
    if fitted is not None:
        classifier, comparison = load(fitted), None
    else:
        classifier = new_classifier(model, inference, seed)
        comparison = _compare_with_logistic_regression(rows, table, model, cv, seed)
        classifier.fit(rows.X, rows.y)
    title = f"{data}: {rows.target}"
    page = report_html(classifier, rows.X, rows.y, title=title, comparison=comparison)
    html.write_text(page, encoding="utf-8")
    facts = {
        "data": data,
        "target": rows.target,
        "model": in_words(model, classifier, table),
        "fit": f"{classifier.inference_}: {classifier.report_.verdict}",
        "page": f"{html} ({html.stat().st_size:,} bytes)",
    }
    if json:
        print(printing.to_json(facts))
    else:
        printing.print_facts(facts)


def _compare_with_logistic_regression(
    rows: LabelledRows, table: Table, model: AnyModelName, cv: int, seed: int
) -> Comparison:
    from bayesgen.compare.preprocessing import logistic_regression

    classifiers: dict[str, object] = dict(
        new_classifiers("naive-bayes", ("stacked", "exact", "mle"), seed, table)
        if model == "stacked"
        else new_classifiers(model, ("exact", "mle"), seed, table)
    )
    classifiers["logistic regression"] = logistic_regression(table)
    with naming_target(rows.target):
        return compare(classifiers, rows.X, rows.y, cv=cv, random_state=seed)


def list_datasets(*, json: Flag = False) -> None:
    """List the bundled data sets.

    Args:
        json: Print JSON.
    """
    found, lines = {}, []
    for name in datasets.names():
        rows = DataFile.find(name).read(None)
        table = read_table(rows.X)
        kinds, missing = printing.kinds_of_columns(table), printing.missing_by_column(table)
        facts = {
            "missing_cells": sum(missing.values()),
            "target": rows.target,
            "classes": len(set(rows.y.tolist())),
        }
        found[name] = {"rows": table.n_rows, "columns": kinds, **facts}
        lines.append([name, *map(str, (table.n_rows, *kinds.values(), *facts.values()))])
    if json:
        print(printing.to_json(found))
        return
    heads = ["name", "rows", "numeric", "categorical", "missing", "target", "classes"]
    printing.print_grid(heads, lines)
