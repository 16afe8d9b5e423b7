"""`bayesgen compare`."""

import dataclasses
import functools
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from bayesgen.cli import options, printing
from bayesgen.cli.data import LabelledData
from bayesgen.compare import Comparison, compare
from bayesgen.errors import Words
from bayesgen.errors.notes import merged, merged_by_name
from bayesgen.estimators.compared import (
    DRAWS,
    METHODS,
    MethodName,
    RivalName,
    Size,
    classifiers_by_method,
    default_methods,
    default_sizes,
    new_rivals,
)
from bayesgen.estimators.compared import RIVALS as DEFAULT_RIVALS
from bayesgen.plots.style import pyplot
from bayesgen.table import read_table


def compare_methods(
    data: options.DataName,
    /,
    *,
    target: options.Target = None,
    model: options.Model = "naive-bayes",
    methods: Annotated[tuple[MethodName, ...] | None, options.SEPARATED] = None,
    rivals: Annotated[tuple[Literal[RivalName, "none"], ...], options.SEPARATED] = DEFAULT_RIVALS,
    train_rows: Annotated[tuple[Size, ...] | None, options.SEPARATED] = None,
    cv: options.Folds = 5,
    groups: str | None = None,
    by: options.By = None,
    unlabelled: options.Weight = "learn",
    seed: options.Seed = 0,
    sampling: options.Sampling = options.DEFAULT_LENGTH,
    features: options.Features = options.ALL_COLUMNS,
    csv: options.CsvFormat = options.AS_SHOWN,
    html: Path | None = None,
    json: options.Flag = False,
) -> None:
    """Compare ways to fit a model, and rivals, by their scores on rows left out of the fits.

    Fits a stack of several structures, and one model by the exact posterior, at the posterior mode
    (map) and by maximum likelihood (mle), beside classifiers of scikit-learn, on the same folds.
    Prints log loss, the difference to the first with its interval, Brier score, calibration error,
    AUC and accuracy: once for fits to few rows, where methods differ most, and once for all rows.
    Rows without a class are in no fold, and every fit of bayesgen takes them beside its own, but
    for nuts, and for mle and map unless --unlabelled states a weight.

    Args:
        methods: Which of stacked, exact, map, mle, nuts, separated by commas; stacked is a stack of
            structures that suit the columns, whatever the model. By default all but nuts, which
            draws from the posterior that exact has in closed form; nuts too where there is none.
        rivals: Classifiers of scikit-learn to compare with, separated by commas: frequencies (of
            the classes), logistic (regression, scaled), forest (300 trees), boosting (of
            histograms); missing cells are imputed and categories encoded where they have to be.
            catboost and lightgbm, as they come, where these packages are installed. Or none. By
            default frequencies,logistic.
        train_rows: Rows in each fit, separated by commas: a number draws so many, with the classes
            in proportion, in 25 folds; all is plain cross-validation. By default 24,all where there
            are at least 96 rows.
        groups: Column, such as a patient's number, whose rows stay together in every fold; it is
            not a feature.
        html: Write a page with pictures, too.
        json: Print JSON: more digits, warnings in full; infinite log loss is the text "inf".
    """
    if "none" in rivals and len(rivals) > 1:
        others = ",".join(name for name in rivals if name != "none")
        raise options.UnusableOptions(
            f"--rivals {','.join(rivals)}: none leaves no room for others. Type --rivals none, or "
            f"--rivals {others}."
        )
    if html is not None:
        pyplot()  # refuse before anything is computed
    rows = LabelledData.read(data, target, features, csv, groups=groups, by=by)
    if unlabelled is None:
        rows.require_classes(options.NOT_NONE)
    (X, y, group_of_row), by_row = rows.rows(), rows.subgroups()
    table, kind = read_table(X), options.MODELS[model][0]
    read = rows.print_first(table, json=json)
    methods = methods or default_methods(kind, table)
    nuts = sampling.method(
        samples="nuts" in methods,
        why="it is not among the methods",
        cure=f"--methods {','.join([*methods, 'nuts'])}",
    )
    weight = unlabelled if rows.without_class else None
    ours = classifiers_by_method(kind, methods, table, seed, unlabelled=weight, nuts=nuts)
    others = [name for name in get_args(RivalName) if name in rivals]
    classifiers = ours | new_rivals(others, seed)
    sizes = train_rows or default_sizes(list(rows.counts.values()))
    runs = [
        compare(
            classifiers,
            X,
            y,
            cv=cv if size == "all" else DRAWS,
            groups=group_of_row,
            by=by_row,
            train_size=None if size == "all" else size,
            random_state=seed,
        )
        for size in sorted(sizes, key=lambda size: math.inf if size == "all" else size)
    ]
    # the page and the notes are about the fits to most rows
    *fewer, comparison = runs
    if html is not None:
        comparison.to_html(html, title=rows.title)
    facts: dict[str, Any] = read | {
        "missing_cells": comparison.n_missing_cells,
        "rows_with_missing": comparison.n_rows_with_missing,
        "missing_by_column": printing.missing_by_column(table),
        "model": printing.model_in_words(options.new_classifier(model, "auto", seed), table),
        "seed": seed,
    }
    labelled = [] if weight is None else [n for n, c in ours.items() if c.unlabelled is None]
    notes: list[Words | str] = [_note_of_labelled(labelled)] if labelled else []
    if json:
        print(printing.to_json(facts | _scores(fewer, comparison, notes)))
        return
    lines = {"missing": _missing_in_words(facts), "model": facts["model"]}
    if html is not None:
        lines["page"] = printing.file_in_words(html)
    printing.print_answer(facts, lines, json=False)
    shown = functools.reduce(lambda few, run: dataclasses.replace(run, few=few), runs)
    print(f"\n{shown.text}")
    said = printing.SAID.get() or ()
    notes += merged(note for run in reversed(runs) for note in run.noted if note.python not in said)
    notes += merged_by_name(comparison.warned)
    printing.print_notes([*notes, *(_note_of_few(run) for run in fewer if run.warned)])


def _scores(
    fewer: Sequence[Comparison], comparison: Comparison, notes: Sequence[Words | str]
) -> dict[str, Any]:
    """Return scores, members, notes and warnings for JSON."""
    tables = {
        run.train_size: {
            "folds": run.folds,
            "classifiers": run.table.reset_index().to_dict("records"),
            "members": run.members.reset_index().to_dict("records"),
            "subgroups": run.subgroups.reset_index().to_dict("records"),
        }
        for run in (*fewer, comparison)
    }
    warned = comparison.warned.items()
    return tables.pop(comparison.train_size) | {
        "train_rows": tables,
        "notes": list(map(printing.sentence, [*notes, *comparison.noted])),
        "warnings": {name: list(map(printing.sentence, texts)) for name, texts in warned},
    }


def _missing_in_words(facts: Mapping[str, Any]) -> str:
    """Return "19 cells in 11 rows (sex 11, ...)"."""
    if not facts["missing_cells"]:
        return "none"
    columns = printing.name_counts(facts["missing_by_column"])
    return f"{facts['missing_cells']:,} cells in {facts['rows_with_missing']:,} rows ({columns})"


def _note_of_labelled(names: Sequence[str]) -> str:
    """Return a sentence about classifiers that leave out rows without a class."""
    fitted = "is fitted" if len(names) == 1 else "are fitted"
    able = [name for name in names if name != METHODS["nuts"]]
    cure = f" For {' and '.join(able)} state one: --unlabelled 0.1." if able else ""
    return (
        f"{' and '.join(names)} {fitted} without the rows that have no class, whose weight cannot "
        f"be learned there.{cure}"
    )


def _note_of_few(comparison: Comparison) -> str:
    """Return a sentence about the warnings of fits to few rows, which are not printed."""
    count = sum(map(len, comparison.warned.values()))
    warnings = "1 further warning" if count == 1 else f"{count:,} further warnings"
    return (
        f"fits to {comparison.train_size:,} rows gave {warnings}, of constant columns and the "
        f"like; --train-rows {comparison.train_size} shows {'it' if count == 1 else 'them'}."
    )
