"""Subcommands (compare, fit, merge, predict, ...), their arguments, help and exit codes."""

import contextlib
import itertools
import math
import os
import shlex
import sys
import warnings
from collections import Counter
from collections.abc import Generator, Iterable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import pyarrow as pa
from cyclopts import App, CycloptsError, Parameter, Token, validators
from rich.console import Console

from bayesgen import datasets
from bayesgen.cli import printing
from bayesgen.cli.data_file import DataFile, counted
from bayesgen.cli.models import (
    METHODS,
    AnyModelName,
    InferenceName,
    MethodName,
    ModelName,
    Unlabelled,
    in_words,
    new_classifier,
    new_classifiers,
    require_numbers,
    require_weight,
)
from bayesgen.cli.target_column import LabelledRows, TargetColumn
from bayesgen.compare import compare
from bayesgen.errors import BayesgenError, InvalidSource
from bayesgen.errors.base import merge_sentences, merge_warnings
from bayesgen.estimators import Answers, StackedClassifier, load
from bayesgen.plots.style import pyplot
from bayesgen.report import Origin, write_report
from bayesgen.table import read_table
from bayesgen.table.sources import PART_ROWS
from bayesgen.table.sources.csv_files import NULLS

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
        "bayesgen fit rows.parquet --target churned --model naive-bayes --out naive.bgm",
    ),
    "merge": (
        "bayesgen merge north.bgm south.bgm --out both.bgm",
        "bayesgen merge ward1.bgm ward2.bgm ward3.bgm -o hospital.bgm",
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


class UnusableOutput(BayesgenError, ValueError):
    """The answers cannot be written in the form that was asked for."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    Args:
        arguments: None takes those of the process.

    Returns:
        0 when done, 1 when the data or the model were refused (one sentence on stderr), 2 when the
        arguments are wrong.
    """
    with warnings.catch_warnings(record=True) as caught:
        code = _exit_code(sys.argv[1:] if arguments is None else list(arguments))
    printing.print_notes(merge_sentences(str(warning.message) for warning in caught))
    return code


def _exit_code(arguments: list[str]) -> int:
    errors = Console(stderr=True)
    try:
        application()(
            arguments, exit_on_error=False, error_console=errors, result_action="return_value"
        )
        sys.stdout.flush()
    except CycloptsError:
        return 2
    except BayesgenError as error:
        where = "".join(f" [{note}]" for note in getattr(error, "__notes__", ()))
        print(f"bayesgen: {error}{where}", file=sys.stderr)
        return 1
    except BrokenPipeError:
        # the reader, such as `head`, has closed the pipe; nothing is left to flush
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def application() -> App:
    """Return the command line application."""
    app = App(
        name="bayesgen",
        help=HELP,
        help_epilogue=_example_text(itertools.chain.from_iterable(EXAMPLES.values())),
        help_format="markdown",
        version=lambda: version("bayesgen"),
    )
    commands = (compare_methods, fit_model, merge_models, predict_rows, report_page, list_datasets)
    for (name, examples), command in zip(EXAMPLES.items(), commands, strict=True):
        app.command(command, name=name, help_epilogue=_example_text(examples))
    return app


def _example_text(examples: Iterable[str]) -> str:
    return "\n".join(["Examples:", "", "```", *examples, "```", ""])


# -- arguments: the help of those that several commands take ---------------------------------------


def _split_methods(_: object, tokens: Sequence[Token]) -> tuple[str, ...]:
    words = [word.strip() for token in tokens for word in token.value.split(",")]
    for word in words:
        if word not in METHODS:
            raise ValueError(f"{word!r} is none of {', '.join(METHODS)}; separate them by commas.")
    return tuple(dict.fromkeys(words))


def _read_weight(_: object, tokens: Sequence[Token]) -> Unlabelled:
    word = tokens[0].value
    if word in ("learn", "none"):
        return "learn" if word == "learn" else None
    with contextlib.suppress(ValueError):
        if 0 <= (weight := float(word)) < math.inf:
            return weight
    raise ValueError(f"{word!r} is neither learn, none nor a weight of at least 0.")


def _require_table_name(_: object, path: Path | None) -> None:
    if path is not None and path.suffix not in (".csv", ".parquet", ".pq"):
        raise ValueError("name a file that ends in .parquet, .pq or .csv.")


DATA_HELP = (
    "A CSV file (separated by commas, semicolons, tabs or bars), a Parquet file (.parquet, .pq), "
    "an Arrow file (.arrow, .feather), a folder or a pattern of such files, or the name of a "
    "bundled data set (see `bayesgen datasets`). Columns of numbers are numeric, "
    "integers too; text and booleans are categories. Missing cells of a CSV file: the empty cell, "
    f"{', '.join(f'`{null}`' for null in NULLS if null)}."
)
TARGET_HELP = "Column that holds the classes; a bundled data set has its own."
MODEL_HELP = (
    "naive-bayes takes any columns; lda and qda take numbers; joint-table takes categories and "
    "whole numbers; bag-of-words takes counts"
)
STACKED_HELP = (
    "stacked, the best default, pools several structures that suit the columns by leave-one-out "
    "score"
)
INFERENCE_HELP = (
    "exact is the posterior in closed form; mle and map are points; nuts samples; auto is exact "
    "where that exists, else it samples. A stack has only auto."
)
MISSING_HELP = 'One more text that means "missing" in a CSV file, such as "?"; may be repeated.'
FOLDS_HELP = "Number of stratified folds; lowered to the rows of the smallest class."
GROUPS_HELP = (
    "Column, such as a patient's number, whose rows stay together in every fold; it is not a "
    "feature."
)
UNLABELLED_HELP = (
    "How much rows without a class count: learn, by leave-one-out of the other rows; a number, the "
    "weight of each, 1 if the model is right; or none, which refuses them. In such a row the cell "
    "of the target is missing, or -1 beside two other whole numbers, none of them negative."
)
NOT_NONE = " Or leave --unlabelled none out, to learn from them as well."
METHODS_HELP = (
    "Which of mle, map, exact, nuts, stacked, separated by commas; stacked is a stack of "
    "structures that suit the columns, whatever the model."
)

DataName = Annotated[str, Parameter(help=DATA_HELP)]
Target = Annotated[str | None, Parameter(help=TARGET_HELP)]
Model = Annotated[ModelName, Parameter(help=f"{MODEL_HELP}.")]
AnyModel = Annotated[AnyModelName, Parameter(help=f"{STACKED_HELP}; {MODEL_HELP}.")]
FittedFile = Annotated[Path, Parameter(help="A file that `bayesgen fit` or clf.save(path) wrote.")]
Inference = Annotated[InferenceName, Parameter(help=INFERENCE_HELP)]
Folds = Annotated[int, Parameter(validator=validators.Number(gte=2), help=FOLDS_HELP)]
Groups = Annotated[str | None, Parameter(help=GROUPS_HELP)]
Methods = Annotated[
    tuple[MethodName, ...],
    Parameter(
        converter=_split_methods, n_tokens=1, negative="", show_default=",".join, help=METHODS_HELP
    ),
]
Seed = Annotated[
    int, Parameter(validator=validators.Number(gte=0, lt=2**32), help="Seed of everything random.")
]
Words = Annotated[tuple[str, ...], Parameter(negative="", show_default=False)]
Weight = Annotated[
    Unlabelled,
    Parameter(
        converter=_read_weight, n_tokens=1, negative="", show_choices=False, help=UNLABELLED_HELP
    ),
]
Missing = Annotated[Words, Parameter(help=MISSING_HELP)]
Rows = Annotated[int, Parameter(validator=validators.Number(gte=1), help="Rows read at once.")]
Json = Annotated[bool, Parameter(negative="", show_default=False, help="Print JSON.")]

# -- commands --------------------------------------------------------------------------------------


def compare_methods(
    data: DataName,
    /,
    *,
    target: Target = None,
    model: Model = "naive-bayes",
    cv: Folds = 5,
    groups: Groups = None,
    methods: Methods = ("mle", "map", "exact", "nuts", "stacked"),
    unlabelled: Weight = "learn",
    seed: Seed = 0,
    missing: Missing = (),
    json: Annotated[
        Json,
        Parameter(
            help='Print JSON: more digits, warnings in full; infinite log loss is the text "inf".'
        ),
    ] = False,
) -> None:
    """Compare ways to fit one model: cross-validated scores, with their spread.

    Fits the model by maximum likelihood (mle), at the posterior mode (map), by the exact posterior
    (exact) and by sampling it (nuts), and a stack of several structures (stacked), on the same
    folds, and prints log loss, Brier score, calibration error and accuracy of the rows left out.
    Rows without a class are in no fold, and every fit takes them beside its own; mle, map and nuts
    leave them out unless --unlabelled states a weight.
    """
    rows = LabelledRows.read(DataFile.find(data, missing), target, groups)
    if unlabelled is None:
        rows.target.require_classes(NOT_NONE)
    table = read_table(rows.X)
    weight = unlabelled if rows.target.without_class else None
    classifiers = new_classifiers(model, methods, seed, table, weight)
    words = in_words(new_classifier(model, "auto", seed), table)
    comparison = compare(classifiers, rows.X, rows.y, cv=cv, groups=rows.groups, random_state=seed)
    missing_cells = {
        "missing_cells": comparison.n_missing_cells,
        "rows_with_missing": comparison.n_rows_with_missing,
        "missing_by_column": printing.missing_by_column(table),
    }
    facts = printing.facts_of_data(data, rows.target, table)
    facts |= missing_cells | {"folds": comparison.folds, "model": words, "seed": seed}
    alone = [] if weight is None else [n for n, c in classifiers.items() if c.unlabelled is None]
    found = [*rows.target.notes(), *printing.note_of_labelled(alone), *comparison.notes]
    if json:
        scores = {
            "classifiers": comparison.table.reset_index().to_dict("records"),
            "members": comparison.members.reset_index().to_dict("records"),
        }
        notes = {"notes": found, "warnings": comparison.warnings}
        print(printing.to_json(facts | scores | notes))
        return
    folds = f"{comparison.folds}, stratified, the same for every row below"
    printing.print_data(facts, missing=printing.missing_in_words(facts), model=words, folds=folds)
    printing.print_comparison(comparison)
    printing.print_notes([*found, *merge_warnings(comparison.warnings)])


def fit_model(
    data: DataName,
    /,
    *,
    out: Annotated[
        Path,
        Parameter(
            help="File to write the model to, by custom one that ends in .bgm (see `bayesgen "
            "predict`)."
        ),
    ],
    target: Target = None,
    model: AnyModel = "stacked",
    inference: Inference = "auto",
    unlabelled: Weight = "learn",
    seed: Seed = 0,
    missing: Missing = (),
    batch: Rows = PART_ROWS,
    json: Json = False,
) -> None:
    """Fit a model to the rows of a file, and save it.

    The file, a folder of files or a pattern, is read part by part, and may be larger than memory;
    if some rows have no class, all rows are held in memory. Columns keep one type throughout. A
    stack, the default, reads the rows twice, and learns its weights from 20,000 of them.
    """
    file = DataFile.find(data, missing, batch)
    column = TargetColumn.read(file, file.target(target))
    table = read_table(file.first().without(column.name).frame)
    require_numbers(model, table)
    if unlabelled is None:
        column.require_classes(NOT_NONE)
    if column.without_class:
        require_weight(inference, unlabelled)
    classifier = new_classifier(model, inference, seed, unlabelled)
    if column.without_class:
        rows = LabelledRows.read(file, column.name)
        classifier.fit(rows.X, rows.y)
    else:
        classifier.fit(file.source, column.name)
    classifier.save(out)
    report, words = classifier.report_, in_words(classifier, table)
    facts = printing.facts_of_data(data, column, table) | {"model": words}
    facts |= printing.facts_of_fit(classifier)
    if column.without_class:
        facts["unlabelled_weight"] = classifier.unlabelled_weight_
    lines = {"model": words, "fit": f"{report.method}: {report.verdict}"}
    members = None
    if isinstance(classifier, StackedClassifier):
        members, share = classifier.members_table(), classifier.pool_share_
        facts |= {"members": members.reset_index().to_dict("records"), "pool_share": share}
        lines["pools"] = f"{1 - share:.0%} linear, {share:.0%} log-linear"
    size = out.stat().st_size
    facts |= {"out": {"path": str(out), "bytes": size}, "seed": seed}
    if json:
        print(printing.to_json(facts))
    else:
        printing.print_data(facts, **lines, out=f"{out} ({size:,} bytes)")
        if members is not None:
            printing.print_members(members)
    printing.print_notes(column.notes())


def merge_models(
    first: FittedFile,
    second: FittedFile,
    /,
    *others: FittedFile,
    out: Annotated[
        Path, Parameter(name=["--out", "-o"], help="File to write the merged model to.")
    ],
    json: Json = False,
) -> None:
    """Merge fitted models into one, as if fitted to the rows of all of them together.

    Files hold statistics instead of rows: places that may not share rows can share these. All must
    be of one model, fitted to the same columns; levels and classes may differ. A saved stack does
    not merge, because its weights rest on single rows.
    """
    paths = [first, second, *others]
    classifier = load(first)
    for path in paths[1:]:
        with naming_files(first, path):
            classifier = classifier.merge(load(path))
    classifier.save(out)
    report, size = classifier.report_, out.stat().st_size
    labels, weights = map(str, classifier.classes_), classifier.state_.statistics.count.tolist()
    facts = {
        "models": list(map(str, paths)),
        "classifier": type(classifier).__name__,
        "rows": sum(weights),
        "classes": dict(zip(labels, weights, strict=True)),
        **printing.facts_of_fit(classifier),
        "out": {"path": str(out), "bytes": size},
    }
    lines = {
        "models": ", ".join(facts["models"]),
        "rows": f"{facts['rows']:,.12g}: {printing.name_counts(facts['classes'])}",
        "fit": f"{facts['classifier']}, {report.method}: {report.verdict}",
        "out": f"{out} ({size:,} bytes)",
    }
    if json:
        print(printing.to_json(facts))
    else:
        printing.print_facts(lines)


@contextlib.contextmanager
def naming_files(*paths: Path) -> Generator[None]:
    """Name the files of models that are merged in errors about them."""
    try:
        yield
    except BayesgenError as error:
        error.add_note(f"merging {', '.join(map(str, paths))}")
        raise


def predict_rows(
    model: FittedFile,
    data: DataName,
    /,
    *,
    out: Annotated[
        Path | None,
        Parameter(
            validator=_require_table_name,
            show_default=False,
            help="File to write to, .parquet, .pq or .csv; without it rows are printed as CSV.",
        ),
    ] = None,
    interval: Annotated[
        float | None,
        Parameter(
            validator=validators.Number(gt=0, lt=1),
            show_default=False,
            help="Share of the posterior between lower_K and upper_K, such as 0.9.",
        ),
    ] = None,
    draws: Annotated[
        bool,
        Parameter(
            negative="",
            show_default=False,
            help="Add draws_K, draws of probability_K from the posterior as a list, and their "
            "weight; in Parquet or JSON.",
        ),
    ] = False,
    keep: Annotated[
        Words,
        Parameter(
            help="A column of the file to copy beside the answers, such as a key; may be repeated."
        ),
    ] = (),
    missing: Missing = (),
    batch: Rows = PART_ROWS,
    json: Annotated[
        Json, Parameter(help="Print JSON: a summary, or without --out one object a row.")
    ] = False,
) -> None:
    """Answer about the rows of a file: class probabilities, intervals if asked for, and novelty.

    One row of predictions per row of the file, in its order: predicted (the most probable class),
    probability_K for each class K, with --interval lower_K and upper_K (mle and map have none) and
    log_density (log p(row): low for rows unlike every class). The file may be larger than memory,
    and the output is there at the end, whole, or not at all. Columns that the model does not read
    are ignored, absent ones count as missing.
    """
    classifier = load(model)
    file, count = DataFile.find(data, missing, batch), Counter()
    if draws and not json and (out is None or out.suffix == ".csv"):
        raise UnusableOutput("--draws are lists, which CSV has not. Add --out answers.parquet.")
    answers = Answers.with_density(classifier, interval=interval, draws=draws)
    for name in keep:
        if name not in file.column_names:
            raise InvalidSource.no_column(data, name, file.column_names)
        if name in answers.columns:
            raise UnusableOutput(
                f"--keep {name}: the answers have a column of this name. Rename it in the file."
            )
    reader = answers.reader(file.source, keep)
    first = next(reader, None)
    if first is None:
        raise InvalidSource.no_rows(data)
    with printing.table_writer(out, reader.schema, lines=json) as write:
        for rows in printing.show_progress(itertools.chain([first], reader), "rows answered"):
            write(pa.Table.from_batches([rows]))
            count += counted(rows.column("predicted"))
    if out is None:
        return
    facts = {
        "model": str(model),
        "classifier": type(classifier).__name__,
        "inference": classifier.inference_,
        "data": data,
        "rows": count.total(),
        "predicted": {str(label): count[label] for label in classifier.classes_.tolist()},
        "out": str(out),
        "columns": reader.schema.names,
    }
    lines = {
        "model": f"{model}: {facts['classifier']}, {facts['inference']}",
        "data": f"{data}: {facts['rows']:,} rows",
        "predicted": printing.name_counts(facts["predicted"]),
        "out": f"{out}: {', '.join(reader.schema.names)}",
    }
    if json:
        print(printing.to_json(facts))
    else:
        printing.print_facts(lines)


def report_page(
    data: DataName,
    /,
    *,
    html: Annotated[Path, Parameter(help="File to write.")],
    target: Target = None,
    fitted: Annotated[
        Path | None,
        Parameter(help="A model that `bayesgen fit` saved; the page is then about it."),
    ] = None,
    model: AnyModel = "stacked",
    inference: Inference = "auto",
    cv: Folds = 5,
    seed: Seed = 0,
    missing: Missing = (),
    json: Annotated[
        Json, Parameter(help="Print JSON: where the page is and how the fit ended.")
    ] = False,
) -> None:
    """Write a report as one self-contained HTML page.

    Verdict, calibration, what drives the decision, confusion and costs, rows to look at, the data,
    parameters, method. Fits the model (or takes a fitted one), and compares it with logistic
    regression and the class frequencies on rows left out of their fits, in the same folds.
    """
    pyplot()  # refuse before anything is read or fitted
    rows = LabelledRows.read(DataFile.find(data, missing), target)
    rows.target.require_classes()
    table = read_table(rows.X)
    if fitted is not None:
        classifier = load(fitted)
    else:
        classifier = new_classifier(model, inference, seed)
        classifier.fit(rows.X, rows.y)
    words = ["bayesgen report", shlex.quote(data), f"--target {shlex.quote(rows.target.name)}"]
    words += [f"--model {model} --inference {inference}"] if fitted is None else []
    words += [f"--fitted {shlex.quote(str(fitted))}"] if fitted is not None else []
    words += [f"--cv {cv} --seed {seed} --html {shlex.quote(str(html))}"]
    words += [f"--missing {shlex.quote(text)}" for text in missing]
    write_report(
        classifier,
        html,
        rows.X,
        rows.y,
        title=f"{data}: {rows.target.name}",
        cv=cv,
        random_state=seed,
        origin=Origin(" ".join(words), Path(data)),
    )
    facts = {
        "data": data,
        "target": rows.target.name,
        "model": in_words(classifier, table),
        "fit": f"{classifier.inference_}: {classifier.report_.verdict}",
        "page": f"{html} ({html.stat().st_size:,} bytes)",
    }
    if json:
        print(printing.to_json(facts))
    else:
        printing.print_facts(facts)


def list_datasets(*, json: Json = False) -> None:
    """List the bundled data sets."""
    found, lines = {}, []
    for name in datasets.names():
        rows = LabelledRows.read(DataFile.find(name))
        table = read_table(rows.X)
        kinds, missing = printing.kinds_of_columns(table), printing.missing_by_column(table)
        facts = {
            "missing_cells": sum(missing.values()),
            "target": rows.target.name,
            "classes": len(rows.target.counts),
        }
        found[name] = {"rows": table.n_rows, "columns": kinds, **facts}
        lines.append([name, *map(str, (table.n_rows, *kinds.values(), *facts.values()))])
    if json:
        print(printing.to_json(found))
        return
    heads = ["name", "rows", "numeric", "categorical", "missing", "target", "classes"]
    printing.print_grid(heads, lines)
