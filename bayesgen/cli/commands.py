"""The commands and their help."""

from collections.abc import Mapping, Sequence
from typing import Annotated

import numpy as np
from cyclopts import App, Parameter, Token, validators

from bayesgen import datasets
from bayesgen.cli import show
from bayesgen.cli.files import NULLS, Data, read
from bayesgen.cli.models import METHODS, MethodName, ModelName, classifiers, in_words
from bayesgen.compare import Comparison, compare
from bayesgen.table import Table, read_table

HELP = "Class probabilities you can act on: Bayesian generative classification."
EXAMPLES = """Examples:

```
bayesgen compare titanic_passengers --target survived
bayesgen compare rows.csv --target species --model qda --methods mle,exact
bayesgen compare rows.parquet --target churned --json > scores.json
bayesgen datasets
```
"""


def application() -> App:
    """Return the command line application."""
    app = App(
        name="bayesgen",
        help=HELP,
        help_epilogue=EXAMPLES,
        help_format="markdown",
        version=_version,
    )
    app.command(compare_methods, name="compare")
    app.command(list_datasets, name="datasets")
    return app


def _version() -> str:
    from importlib.metadata import version

    return version("bayesgen")


def _methods(_: object, tokens: Sequence[Token]) -> tuple[str, ...]:
    words = [word.strip() for token in tokens for word in token.value.split(",")]
    for word in words:
        if word not in METHODS:
            raise ValueError(f"{word!r} is none of {', '.join(METHODS)}; separate them by commas.")
    return tuple(dict.fromkeys(words))


DATA_HELP = (
    "A CSV file (.tsv: tab-separated), a Parquet file (.parquet, .pq), or the name of a bundled "
    "data set (see `bayesgen datasets`). Columns of numbers are numeric, integers too; text and "
    "booleans are categories. Missing cells of a CSV file: the empty cell, "
    f"{', '.join(f'`{null}`' for null in NULLS if null)}."
)
DataName = Annotated[str, Parameter(help=DATA_HELP)]
Methods = Annotated[
    tuple[MethodName, ...],
    Parameter(converter=_methods, n_tokens=1, negative="", show_default=",".join),
]
Folds = Annotated[int, Parameter(validator=validators.Number(gte=2))]
Seed = Annotated[int, Parameter(validator=validators.Number(gte=0, lt=2**32))]
Flag = Annotated[bool, Parameter(negative="", show_default=False)]
Words = Annotated[tuple[str, ...], Parameter(negative="", show_default=False)]


def compare_methods(
    data: DataName,
    /,
    *,
    target: str | None = None,
    model: ModelName = "naive-bayes",
    cv: Folds = 5,
    methods: Methods = ("mle", "map", "exact", "nuts"),
    seed: Seed = 0,
    missing: Words = (),
    json: Flag = False,
) -> None:
    """Compare ways to fit one model: cross-validated scores, with their spread.

    Fits the model by maximum likelihood (mle), at the posterior mode (map), by the exact posterior
    (exact) and by sampling it (nuts), on the same folds, and prints log loss, Brier score,
    calibration error and accuracy of the rows left out.

    Args:
        data: A file, or the name of a bundled data set.
        target: Column that holds the classes; a bundled data set knows its own.
        model: naive-bayes takes any columns; lda and qda take numbers.
        cv: Number of stratified folds; lowered to the rows of the smallest class.
        methods: Which of mle, map, exact, nuts, separated by commas.
        seed: Seed of the folds and of every sampler.
        missing: One more text that means "missing" in a CSV file, such as "?"; may be repeated.
        json: Print JSON: what the tables say with more digits, and the warnings in full. An
            infinite log loss is the text "inf".
    """
    rows = read(data, target, missing)
    table = read_table(rows.X)
    rivals = classifiers(model, methods, seed, table)
    words = in_words(model, next(iter(rivals.values())), table)
    comparison = compare(rivals, rows.X, rows.y, cv=cv, random_state=seed)
    facts = _facts(rows, table, comparison, words)
    if json:
        print(show.as_json({**facts, "seed": seed, **_scores(comparison)}))
        return
    show.print_facts(_told(facts, comparison))
    show.print_comparison(comparison)
    show.print_notes([*comparison.notes, *show.shortened(comparison.warnings)])


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
            "missing_cells": sum(show.holes(table).values()),
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
        "missing_by_column": show.holes(table),
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
    kinds = facts["columns"]
    holes = "none"
    if facts["missing_cells"]:
        where = show.listing(facts["missing_by_column"])
        cells, rows = facts["missing_cells"], facts["rows_with_missing"]
        holes = f"{cells:,} cells in {rows:,} rows ({where})"
    return {
        "data": f"{facts['data']}: {facts['rows']:,} rows, {sum(kinds.values()):,} columns "
        f"({kinds['numeric']:,} numeric, {kinds['categorical']:,} categorical)",
        "target": f"{facts['target']}: {show.listing(facts['classes'])}",
        "missing": holes,
        "model": facts["model"],
        "folds": f"{comparison.folds}, stratified, the same for every row below",
    }
