"""`bayesgen compare`."""

import contextlib
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np

from bayesgen.calibrate import BINS
from bayesgen.cli import options, printing
from bayesgen.cli.data import LabelledData
from bayesgen.compare import Comparison, compare
from bayesgen.compare.as_text import with_error
from bayesgen.errors import Words
from bayesgen.errors.notes import merged, merged_by_name
from bayesgen.estimators.compared import (
    DRAWS,
    FEW,
    METHODS,
    MethodName,
    Size,
    classifiers_by_method,
    default_methods,
    default_sizes,
)
from bayesgen.estimators.compared import RIVALS as DEFAULT_RIVALS
from bayesgen.estimators.compared import rivals as new_rivals
from bayesgen.plots.style import pyplot
from bayesgen.table import read_table

RivalName = Literal["frequencies", "logistic", "forest", "boosting", "none"]
RIVALS = ("frequencies", "logistic", "forest", "boosting")
SCORES = {"brier": "Brier", "calibration_error": "cal.", "auc": "AUC", "accuracy": "acc."}
LEGEND = (
    "Scores of rows that were left out of the fit, on the same folds for every line; ± is one "
    "standard error over the folds. vs {first}: difference of the log loss and its 95% interval "
    "(folds paired; corrected resampled t, Nadeau and Bengio 2003). Log loss (nats), Brier (0 to "
    f"2) and cal., the calibration error (top label, {BINS} bins of equal width): lower is better; "
    "AUC and acc., the accuracy: higher. sec: seconds of all fits and predictions."
)
RULED_OUT = " Log loss inf: a class was given probability 0 in a row where it was the true one."


def _read_size(word: str) -> Size:
    if word == "all":
        return word
    with contextlib.suppress(ValueError):
        if int(word) > 1:
            return int(word)
    raise ValueError(f"{word!r} is neither all nor a number of rows; type 24,all.")


def compare_methods(
    data: options.DataName,
    /,
    *,
    target: options.Target = None,
    model: options.Model = "naive-bayes",
    methods: Annotated[
        tuple[MethodName, ...] | None,
        options.comma_separated(options.one_of(*METHODS)),
    ] = None,
    rivals: Annotated[
        tuple[RivalName, ...],
        options.comma_separated(options.one_of(*RIVALS, "none"), show_default=",".join),
    ] = DEFAULT_RIVALS,
    train_rows: Annotated[
        tuple[Size, ...] | None,
        options.comma_separated(
            _read_size,
            help="Rows in each fit, separated by commas: a number draws so many, with the classes "
            f"in proportion, in {DRAWS} folds; all is plain cross-validation. By default {FEW},all "
            f"where there are at least {4 * FEW} rows.",
        ),
    ] = None,
    cv: options.Folds = 5,
    groups: str | None = None,
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
        rivals: scikit-learn classifiers to compare with, separated by commas: frequencies (of the
            classes), logistic (regression, scaled), forest (300 trees), boosting (of histograms);
            missing cells are imputed and categories encoded where they have to be. Or none.
        groups: Column, such as a patient's number, whose rows stay together in every fold; it is
            not a feature.
        html: Write a page with pictures, too.
        json: Print JSON: more digits, warnings in full; infinite log loss is the text "inf".
    """
    if html is not None:
        pyplot()  # refuse before anything is computed
    rows = LabelledData.read(data, target, features, csv, groups=groups)
    if unlabelled is None:
        rows.require_classes(options.NOT_NONE)
    X, y, group_of_row = rows.rows()
    table, kind = read_table(X), options.MODELS[model][0]
    methods = methods or default_methods(kind, table)
    nuts = sampling.method(
        samples="nuts" in methods,
        why="it is not among the methods",
        cure=f"--methods {','.join([*methods, 'nuts'])}",
    )
    weight = unlabelled if rows.without_class else None
    ours = classifiers_by_method(kind, methods, table, seed, unlabelled=weight, nuts=nuts)
    classifiers = ours | new_rivals([name for name in RIVALS if name in rivals], seed)
    sizes = train_rows or default_sizes(list(rows.counts.values()))
    runs = {
        size: compare(
            classifiers,
            X,
            y,
            cv=cv if size == "all" else DRAWS,
            groups=group_of_row,
            train_size=None if size == "all" else size,
            random_state=seed,
        )
        for size in sorted(sizes, key=lambda size: math.inf if size == "all" else size)
    }
    # the last one, of most rows, is what the pages and notes are about
    *_, comparison = runs.values()
    if html is not None:
        comparison.to_html(html, title=f"{data}: {rows.target}")
    facts: dict[str, Any] = rows.facts(table) | {
        "missing_cells": comparison.n_missing_cells,
        "rows_with_missing": comparison.n_rows_with_missing,
        "missing_by_column": printing.missing_by_column(table),
        "model": printing.model_in_words(options.new_classifier(model, "auto", seed), table),
        "seed": seed,
    }
    labelled = [] if weight is None else [n for n, c in ours.items() if c.unlabelled is None]
    notes: list[Words | str] = list(_notes_of_labelled(labelled))
    fewer = {size: run for size, run in runs.items() if run is not comparison}
    if json:
        print(printing.to_json(facts | _facts(comparison, fewer, notes)))
        return
    lines = printing.lines_of_data(facts)
    lines |= {"missing": _missing_in_words(facts), "model": facts["model"]}
    if html is not None:
        lines["page"] = printing.file_in_words(html)
    printing.print_answer(facts, lines, json=False)
    _print_scores(list(runs.values()))
    notes += merged(note for run in reversed(runs.values()) for note in run.noted)
    notes += merged_by_name(comparison.warned)
    printing.print_notes([*notes, *(_note_of_few(run) for run in fewer.values() if run.warnings)])


# -- Answers ---------------------------------------------------------------------------------------


def _facts(
    comparison: Comparison, fewer: Mapping[Size, Comparison], notes: Sequence[Words | str]
) -> dict[str, Any]:
    """Return scores, members, notes and warnings for JSON."""
    warned = comparison.warned.items()
    return _tables(comparison) | {
        "train_rows": {str(size): _tables(run) for size, run in fewer.items()},
        "notes": list(map(printing.sentence, [*notes, *comparison.noted])),
        "warnings": {name: list(map(printing.sentence, texts)) for name, texts in warned},
    }


def _tables(comparison: Comparison) -> dict[str, Any]:
    return {
        "folds": comparison.folds,
        "classifiers": comparison.table.reset_index().to_dict("records"),
        "members": comparison.members.reset_index().to_dict("records"),
    }


def _missing_in_words(facts: Mapping[str, Any]) -> str:
    """Return "19 cells in 11 rows (sex 11, ...)"."""
    if not facts["missing_cells"]:
        return "none"
    columns = printing.name_counts(facts["missing_by_column"])
    return f"{facts['missing_cells']:,} cells in {facts['rows_with_missing']:,} rows ({columns})"


def _print_scores(runs: Sequence[Comparison]) -> None:
    """Print a table of scores for each number of training rows, members of stacks and a legend."""
    for run in runs:
        print()
        printing.print_text(_heading(run))
        print()
        heads = ["", "log loss", f"vs {run.table.index[0]}", *SCORES.values(), "sec"]
        table = zip(run.table.index, run.table.to_dict("records"), strict=True)
        printing.print_grid(heads, [_line(str(name), row, run.folds) for name, row in table])
    members = runs[-1].members
    for name in members.index.unique(0) if len(members) else ():
        printing.print_members(members.loc[name], f"member of {name}, means over folds")
    infinite = any(np.isinf(run.table["log_loss"]).any() for run in runs)
    legend = LEGEND.format(first=runs[0].table.index[0])
    print()
    printing.print_text(legend + RULED_OUT if infinite else legend)


def _heading(comparison: Comparison) -> str:
    size, folds = comparison.train_size, comparison.folds
    words = f"All rows: {folds} stratified folds, each fitted to the rows of the others"
    if size is not None:
        words = f"{size:,} rows a fit: drawn at random for each of {folds} stratified folds"
    if "Bayes" not in comparison.table.index:
        return words
    return f"{words}; Bayes: {comparison.table.loc['Bayes', 'method']}"


def _line(name: str, row: Mapping[str, Any], folds: int) -> list[str]:
    """Return a line of the scores of one classifier, with "+.020 [+.011,+.029]" against another."""
    against = ""  # nothing where a log loss is infinite
    if math.isfinite(row["log_loss_difference"]):
        against = _signed(row["log_loss_difference"])
        if math.isfinite(row["log_loss_lower"]):
            against += f" [{_signed(row['log_loss_lower'])},{_signed(row['log_loss_upper'])}]"
    seconds = folds * (row["fit_seconds"] + row["predict_seconds"])
    return [
        name,
        with_error(row["log_loss"], row["log_loss_se"]),
        against,
        *("" if math.isnan(row[s]) else f"{row[s]:z.3f}".removeprefix("0") for s in SCORES),
        f"{seconds:.1f}" if seconds < 10 else f"{seconds:,.0f}",
    ]


def _signed(value: float) -> str:
    return f"{value:+z.3f}".replace("+0.", "+.").replace("-0.", "-.")


def _notes_of_labelled(names: Sequence[str]) -> list[str]:
    """Return a sentence about classifiers that leave out rows without a class, if there are any."""
    if not names:
        return []
    fitted = "is fitted" if len(names) == 1 else "are fitted"
    able = [name for name in names if name != METHODS["nuts"]]
    cure = f" For {' and '.join(able)} state one: --unlabelled 0.1." if able else ""
    return [
        f"{' and '.join(names)} {fitted} without the rows that have no class, of which no weight "
        f"can be learned there.{cure}"
    ]


def _note_of_few(comparison: Comparison) -> str:
    """Return a sentence about the warnings of fits to few rows, which are not printed."""
    count = sum(map(len, comparison.warnings.values()))
    warnings = "1 further warning" if count == 1 else f"{count:,} further warnings"
    return (
        f"fits to {comparison.train_size:,} rows gave {warnings}, of constant columns and the "
        f"like; --train-rows {comparison.train_size} shows {'it' if count == 1 else 'them'}."
    )
