"""The commands and their help."""

from collections.abc import Iterable, Mapping

import numpy as np
from cyclopts import App

from bayesgen import datasets
from bayesgen.cli import show
from bayesgen.cli.arguments import DataName, Flag, Folds, Methods, Missing, Model, Seed
from bayesgen.cli.files import Data, classes_in, grouped, read
from bayesgen.cli.fitting import fit_model
from bayesgen.cli.models import classifiers, in_words, unfitted
from bayesgen.cli.predicting import predict_rows
from bayesgen.cli.reporting import report_page
from bayesgen.compare import Comparison, compare
from bayesgen.errors.merged import merged
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
        "bayesgen fit titanic_passengers --out titanic.nc",
        "bayesgen fit rows.csv --target species --model qda --inference map --out qda.nc",
        "bayesgen fit rows.csv --target species --model stacked --out stack.nc",
    ),
    "predict": (
        "bayesgen predict titanic.nc passengers.csv --out answers.parquet",
        "bayesgen predict titanic.nc passengers.csv --keep name > answers.csv",
        "bayesgen predict titanic.nc passengers.csv --json | head -1",
    ),
    "report": (
        "bayesgen report titanic_passengers --html titanic.html",
        "bayesgen report rows.csv --target species --model qda --html page.html",
        "bayesgen report rows.csv --target species --fitted qda.nc --html page.html",
    ),
    "datasets": ("bayesgen datasets", "bayesgen datasets --json"),
}


def application() -> App:
    """Return the command line application."""
    every = (example for examples in EXAMPLES.values() for example in examples)
    app = App(
        name="bayesgen",
        help=HELP,
        help_epilogue=_shown(every),
        help_format="markdown",
        version=_version,
    )
    commands = (compare_methods, fit_model, predict_rows, report_page, list_datasets)
    for (name, examples), command in zip(EXAMPLES.items(), commands, strict=True):
        app.command(command, name=name, help_epilogue=_shown(examples))
    return app


def _shown(examples: Iterable[str]) -> str:
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
        target: Column that holds the classes; a bundled data set knows its own.
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
    rows, together = grouped(read(data, target, missing), groups)
    table = read_table(rows.X)
    rivals = classifiers(model, methods, seed, table)
    words = in_words(model, unfitted(model, "auto", seed), table)
    with classes_in(rows.target):
        comparison = compare(rivals, rows.X, rows.y, cv=cv, groups=together, random_state=seed)
    facts = _facts(rows, table, comparison, words)
    if json:
        print(show.as_json({**facts, "seed": seed, **_scores(comparison)}))
        return
    show.print_facts(_told(facts, comparison))
    show.print_comparison(comparison)
    show.print_notes([*comparison.notes, *merged(comparison.warnings)])


def list_datasets(*, json: Flag = False) -> None:
    """List the bundled data sets.

    Args:
        json: Print JSON.
    """
    found = {}
    for name in datasets.names():
        rows = read(name, None)
        table = read_table(rows.X)
        found[name] = {
            "rows": table.n_rows,
            "columns": show.counts(table),
            "missing_cells": sum(show.missing_cells(table).values()),
            "target": rows.target,
            "classes": len(set(rows.y.tolist())),
        }
    if json:
        print(show.as_json(found))
        return
    heads = ["name", "rows", "numeric", "categorical", "missing", "target", "classes"]
    show.print_grid(heads, ([name, *_cells(facts)] for name, facts in found.items()))


def _cells(facts: Mapping) -> list[str]:
    """Return all numbers and names of nested facts, in their order."""
    return [
        cell
        for fact in facts.values()
        for cell in (_cells(fact) if isinstance(fact, Mapping) else [str(fact)])
    ]


def _facts(rows: Data, table: Table, comparison: Comparison, words: str) -> dict[str, object]:
    labels, count = np.unique(rows.y, return_counts=True)
    return {
        "data": rows.name,
        "target": rows.target,
        "rows": table.n_rows,
        "columns": show.counts(table),
        "classes": dict(zip(map(str, labels), count.tolist(), strict=True)),
        "missing_cells": comparison.n_missing_cells,
        "rows_with_missing": comparison.n_rows_with_missing,
        "missing_by_column": show.missing_cells(table),
        "model": words,
        "folds": comparison.folds,
    }


def _scores(comparison: Comparison) -> dict[str, object]:
    table = comparison.table
    return {
        "classifiers": table.reset_index().to_dict("records"),
        "notes": comparison.notes,
        "warnings": comparison.warnings,
    }


def _told(facts: dict, comparison: Comparison) -> dict[str, str]:
    missing_cells = "none"
    if facts["missing_cells"]:
        where = show.listing(facts["missing_by_column"])
        cells, rows = facts["missing_cells"], facts["rows_with_missing"]
        missing_cells = f"{cells:,} cells in {rows:,} rows ({where})"
    return {
        "data": f"{facts['data']}: {facts['rows']:,} rows, {show.of_kinds(facts['columns'])}",
        "target": f"{facts['target']}: {show.listing(facts['classes'])}",
        "missing": missing_cells,
        "model": facts["model"],
        "folds": f"{comparison.folds}, stratified, the same for every row below",
    }
