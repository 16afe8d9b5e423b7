"""`bayesgen compare`."""

import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from cyclopts import Parameter, Token

from bayesgen.cli import printing, scores
from bayesgen.cli.data_file import DataFile
from bayesgen.cli.models import (
    MODELS,
    RIVALS,
    RivalName,
    in_words,
    new_classifier,
    new_classifiers,
)
from bayesgen.cli.options import (
    ALL_COLUMNS,
    AS_SHOWN,
    DEFAULT_LENGTH,
    NOT_NONE,
    CsvFormat,
    DataName,
    Features,
    Folds,
    Json,
    Model,
    Sampling,
    Seed,
    Target,
    Weight,
    split_words,
)
from bayesgen.cli.target_column import LabelledRows
from bayesgen.compare import Comparison, compare
from bayesgen.errors import BayesgenError
from bayesgen.errors.notes import merged, merged_by_name
from bayesgen.estimators.compared import (
    DRAWS,
    FEW,
    METHODS,
    MethodName,
    Size,
    default_methods,
    default_sizes,
)
from bayesgen.estimators.compared import RIVALS as DEFAULT_RIVALS
from bayesgen.estimators.compared import rivals as new_rivals
from bayesgen.plots.style import pyplot
from bayesgen.table import read_table


class TooManyRows(BayesgenError, ValueError):
    """More training rows were asked for than a fold has."""


def _split_choices(choices: Sequence[str]) -> Any:
    def split(_: object, tokens: Sequence[Token]) -> tuple[str, ...]:
        words = split_words(_, tokens)
        for word in words:
            if word not in choices:
                raise ValueError(
                    f"{word!r} is none of {', '.join(choices)}; separate them by commas."
                )
        return words

    return split


def _split_sizes(_: object, tokens: Sequence[Token]) -> tuple[Size, ...]:
    found: list[Size] = []
    for word in split_words(_, tokens):
        if word == "all":
            found.append(word)
            continue
        with contextlib.suppress(ValueError):
            if int(word) > 1:
                found.append(int(word))
                continue
        raise ValueError(f"{word!r} is neither all nor a number of rows; type 24,all.")
    return tuple(found)


GROUPS_HELP = (
    "Column, such as a patient's number, whose rows stay together in every fold; it is not a "
    "feature."
)
METHODS_HELP = (
    "Which of stacked, exact, map, mle, nuts, separated by commas; stacked is a stack of "
    "structures that suit the columns, whatever the model. By default all but nuts, which draws "
    "from the posterior that exact has in closed form; nuts too where there is none."
)
RIVALS_HELP = (
    "scikit-learn classifiers to compare with, separated by commas: frequencies (of the "
    "classes), logistic (regression, scaled), forest (300 trees), boosting (of histograms); "
    "missing cells are imputed and categories encoded where they have to be. Or none."
)
TRAIN_ROWS_HELP = (
    "Rows in each fit, separated by commas: a number draws so many, with the classes in "
    f"proportion, in {DRAWS} folds; all is plain cross-validation. By default {FEW},all where "
    f"there are at least {4 * FEW} rows."
)


def compare_methods(
    data: DataName,
    /,
    *,
    target: Target = None,
    model: Model = "naive-bayes",
    methods: Annotated[
        tuple[MethodName, ...] | None,
        Parameter(
            converter=_split_choices(tuple(METHODS)),
            n_tokens=1,
            negative="",
            show_default=False,
            show_choices=False,
            help=METHODS_HELP,
        ),
    ] = None,
    rivals: Annotated[
        tuple[RivalName | Literal["none"], ...],
        Parameter(
            converter=_split_choices((*RIVALS, "none")),
            n_tokens=1,
            negative="",
            show_default=",".join,
            show_choices=False,
            help=RIVALS_HELP,
        ),
    ] = DEFAULT_RIVALS,
    train_rows: Annotated[
        tuple[Size, ...] | None,
        Parameter(
            converter=_split_sizes,
            n_tokens=1,
            negative="",
            show_default=False,
            show_choices=False,
            help=TRAIN_ROWS_HELP,
        ),
    ] = None,
    cv: Folds = 5,
    groups: Annotated[str | None, Parameter(help=GROUPS_HELP)] = None,
    unlabelled: Weight = "learn",
    seed: Seed = 0,
    sampling: Sampling = DEFAULT_LENGTH,
    features: Features = ALL_COLUMNS,
    csv: CsvFormat = AS_SHOWN,
    html: Annotated[
        Path | None, Parameter(show_default=False, help="Write a page with pictures, too.")
    ] = None,
    json: Annotated[
        Json,
        Parameter(
            help='Print JSON: more digits, warnings in full; infinite log loss is the text "inf".'
        ),
    ] = False,
) -> None:
    """Compare ways to fit a model, and rivals, by their scores on rows left out of the fits.

    Fits a stack of several structures, and one model by the exact posterior, at the posterior mode
    (map) and by maximum likelihood (mle), beside classifiers of scikit-learn, on the same folds.
    Prints log loss, the difference to the first with its interval, Brier score, calibration error,
    AUC and accuracy: once for fits to few rows, where methods differ most, and once for all rows.
    Rows without a class are in no fold, and every fit of bayesgen takes them beside its own; mle,
    map and nuts leave them out unless --unlabelled states a weight.
    """
    if html is not None:
        pyplot()  # refuse before anything is computed
    file = DataFile.find(data, csv)
    printing.print_notes(file.notes())
    rows = LabelledRows.read(file, target, groups, features)
    if unlabelled is None:
        rows.target.require_classes(NOT_NONE)
    table = read_table(rows.X)
    weight = unlabelled if rows.target.without_class else None
    ours = new_classifiers(
        model,
        methods or default_methods(MODELS[model][0], table),
        seed,
        table,
        weight,
        sampling.stated,
    )
    named = [name for name in get_args(RivalName) if name in rivals]
    classifiers = ours | (new_rivals(named, seed) if named else {})
    runs = {
        size: _compared(classifiers, rows, size, cv, seed)
        for size in train_rows or default_sizes(list(rows.target.counts.values()))
    }
    # the tables end with the one of most rows, which the pages and notes are about
    comparison = runs.get("all") or runs[max(runs)]
    if html is not None:
        comparison.to_html(html, title=f"{data}: {rows.target.name}")
    words = in_words(new_classifier(model, "auto", seed), table)
    facts = printing.facts_of_data(data, rows.target, table) | {
        "missing_cells": comparison.n_missing_cells,
        "rows_with_missing": comparison.n_rows_with_missing,
        "missing_by_column": printing.missing_by_column(table),
        "model": words,
        "seed": seed,
    }
    alone = [] if weight is None else [n for n, c in ours.items() if c.unlabelled is None]
    found = [*rows.target.notes(), *printing.note_of_labelled(alone)]
    if json:
        warned = {
            name: [words.text("shell") for words in several]
            for name, several in comparison.warned.items()
        }
        own = [*found, *(words.text("shell") for words in comparison.noted)]
        notes = {"notes": own, "warnings": warned}
        more = {str(size): scores.facts(one) for size, one in runs.items() if one is not comparison}
        print(printing.to_json(facts | scores.facts(comparison) | {"train_rows": more} | notes))
        return
    missing = printing.missing_in_words(facts)
    page = {} if html is None else {"page": f"{html} ({html.stat().st_size:,} bytes)"}
    printing.print_data(facts, missing=missing, model=words, **page)
    scores.print_runs(runs)
    scores.print_legend(list(runs.values()))
    printing.print_notes(
        [
            *found,
            *merged(note for one in reversed(runs.values()) for note in one.noted),
            *merged_by_name(comparison.warned),
            *(
                _notes_of_few(one)
                for one in runs.values()
                if one is not comparison and one.warnings
            ),
        ]
    )


def _compared(
    classifiers: dict[str, object], rows: LabelledRows, size: Size, cv: int, seed: int
) -> Comparison:
    if size == "all":
        return compare(classifiers, rows.X, rows.y, cv=cv, groups=rows.groups, random_state=seed)
    counts = rows.target.counts
    n_rows, fewest = sum(counts.values()), 2 * len(counts)
    # rows of the smallest fold
    most = n_rows - -(-n_rows // max(min(DRAWS, *counts.values()), 2))
    if rows.groups is None and not fewest <= size <= most:
        raise TooManyRows(
            f"--train-rows {size}: of {n_rows:,} rows in {len(counts)} classes, {fewest:,} to "
            f"{most:,} can be fitted. Choose --train-rows {most},all, or all alone."
        )
    return compare(
        classifiers,
        rows.X,
        rows.y,
        cv=DRAWS,
        groups=rows.groups,
        train_size=size,
        random_state=seed,
    )


def _notes_of_few(comparison: Comparison) -> str:
    count = sum(map(len, comparison.warnings.values()))
    warnings = "1 further warning" if count == 1 else f"{count:,} further warnings"
    return (
        f"fits to {comparison.train_size:,} rows gave {warnings}, of constant columns and the "
        f"like; --train-rows {comparison.train_size} shows {'it' if count == 1 else 'them'}."
    )
