"""`bayesgen compare`."""

import dataclasses
import functools
import math
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from bayesgen.cli import options, printing
from bayesgen.errors import Words
from bayesgen.errors.notes import merged, merged_by_name
from bayesgen.estimators.method_names import RIVALS, MethodName, RivalName, Size


def compare_methods(
    data: options.DataName,
    /,
    *,
    target: options.Target = None,
    model: options.Model = "naive-bayes",
    methods: Annotated[tuple[MethodName, ...] | None, options.SEPARATED] = None,
    rivals: Annotated[tuple[Literal[RivalName, "none"], ...], options.SEPARATED] = RIVALS,
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
    from bayesgen.cli import comparison as described
    from bayesgen.cli.data import WORDS, LabelledData, counted_words, is_text
    from bayesgen.cli.facts import missing_by_column, model_in_words
    from bayesgen.cli.stated import MODELS, new_classifier, nuts
    from bayesgen.compare import compare
    from bayesgen.estimators.compared import (
        DRAWS,
        classifiers_by_method,
        default_methods,
        default_sizes,
        new_rivals,
    )
    from bayesgen.plots.style import pyplot
    from bayesgen.schema import identifiers, set_aside
    from bayesgen.table import read_table

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
    table, kind = read_table(X), MODELS[model][0]
    words = model == "bag-of-words" and is_text(table)
    read = rows.print_first(table, json=json, odd=not words)
    if words:
        X = counted_words(table)
        table = read_table(X)
    if methods is None:
        methods = default_methods(kind, table)
        # stacks of hundreds of words take minutes a fit
        methods = tuple(method for method in methods if not (words and method == "stacked"))
    sampler = nuts(
        sampling,
        samples="nuts" in methods,
        why="it is not among the methods",
        cure=f"--methods {','.join([*methods, 'nuts'])}",
    )
    weight = unlabelled if rows.without_class else None
    ours = classifiers_by_method(kind, methods, table, seed, unlabelled=weight, nuts=sampler)
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
        "missing_by_column": missing_by_column(table),
        "model": model_in_words(
            new_classifier(model, "auto", seed), set_aside(table, identifiers(table))
        ),
        "seed": seed,
    }
    labelled = [] if weight is None else [n for n, c in ours.items() if c.unlabelled is None]
    notes: list[Words | str] = [described.note_of_labelled(labelled)] if labelled else []
    if words:
        notes.append(f"texts are compared by the counts of their {WORDS} most frequent words.")
    if json:
        print(printing.to_json(facts | described.scores(fewer, comparison, notes)))
        return
    lines = {"missing": described.missing_in_words(facts), "model": facts["model"]}
    if html is not None:
        lines["page"] = printing.file_in_words(html)
    printing.print_answer(facts, lines, json=False)
    shown = functools.reduce(lambda few, run: dataclasses.replace(run, few=few), runs)
    print(f"\n{shown.text}")
    said = printing.SAID.get() or ()
    notes += merged(note for run in reversed(runs) for note in run.noted if note.python not in said)
    notes += merged_by_name(comparison.warned)
    printing.print_notes([*notes, *(described.note_of_few(run) for run in fewer if run.warned)])
