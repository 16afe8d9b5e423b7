"""Comparisons on the command line: a table of scores for each number of training rows."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bayesgen.calibrate import BINS
from bayesgen.cli import printing
from bayesgen.compare import Comparison
from bayesgen.compare.as_text import with_error

SCORES = {
    "brier": "Brier",
    "calibration_error": "cal.",
    "auc": "AUC",
    "accuracy": "acc.",
}
LEGEND = (
    "Scores of rows that were left out of the fit, on the same folds for every line; ± is one "
    "standard error over the folds. vs {first}: difference of the log loss and its 95% interval "
    "(folds paired; corrected resampled t, Nadeau and Bengio 2003). Log loss (nats), Brier (0 to "
    f"2) and cal., the calibration error (top label, {BINS} bins of equal width): lower is better; "
    "AUC and acc., the accuracy: higher. sec: seconds of all fits and predictions."
)
RULED_OUT = " Log loss inf: a class was given probability 0 in a row where it was the true one."


def facts(comparison: Comparison) -> dict[str, Any]:
    """Return folds, scores, differences and members of a comparison."""
    return {
        "folds": comparison.folds,
        "classifiers": comparison.table.reset_index().to_dict("records"),
        "members": comparison.members.reset_index().to_dict("records"),
    }


def print_runs(runs: Mapping[Any, Comparison]) -> None:
    """Print a table of scores for each number of training rows, and the members of stacks."""
    for comparison in runs.values():
        print()
        printing.print_text(_heading(comparison))
        print()
        _print_scores(comparison)
    members = comparison.members
    for name in members.index.unique(0) if len(members) else ():
        printing.print_members(members.loc[name], f"member of {name}, means over folds")


def print_legend(comparisons: Sequence[Comparison]) -> None:
    """Print what the numbers mean."""
    infinite = any(np.isinf(one.table["log_loss"]).any() for one in comparisons)
    text = LEGEND.format(first=comparisons[0].table.index[0])
    print()
    printing.print_text(text + RULED_OUT if infinite else text)


def _heading(comparison: Comparison) -> str:
    size, folds = comparison.train_size, comparison.folds
    words = f"All rows: {folds} stratified folds, each fitted to the rows of the others"
    if size is not None:
        words = f"{size:,} rows a fit: drawn at random for each of {folds} stratified folds"
    if "Bayes" not in comparison.table.index:
        return words
    return f"{words}; Bayes: {comparison.table.loc['Bayes', 'method']}"


def _print_scores(comparison: Comparison) -> None:
    table = comparison.table
    lines = [
        [
            str(name),
            with_error(row["log_loss"], row["log_loss_se"]),
            _difference(row),
            *(_number(row[score]) for score in SCORES),
            _seconds(comparison.folds * (row["fit_seconds"] + row["predict_seconds"])),
        ]
        for name, row in zip(table.index, table.to_dict("records"), strict=True)
    ]
    heads = ["", "log loss", f"vs {table.index[0]}", *SCORES.values(), "sec"]
    printing.print_grid(heads, lines)


def _difference(row: Mapping[str, Any]) -> str:
    """Return "+.020 [+.011,+.029]", nothing where a log loss is infinite."""
    value = row["log_loss_difference"]
    if not math.isfinite(value):
        return ""
    ends = [_signed(row[f"log_loss_{end}"]) for end in ("lower", "upper")]
    known = math.isfinite(row["log_loss_lower"])
    return f"{_signed(value)} [{','.join(ends)}]" if known else _signed(value)


def _signed(value: float) -> str:
    return f"{value:+z.3f}".replace("+0.", "+.").replace("-0.", "-.")


def _number(value: float) -> str:
    return "" if math.isnan(value) else f"{value:z.3f}".removeprefix("0")


def _seconds(value: float) -> str:
    return f"{value:.1f}" if value < 10 else f"{value:,.0f}"
