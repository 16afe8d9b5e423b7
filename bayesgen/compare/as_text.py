"""Tables of a comparison as text, and the legends below them."""

import math

import pandas as pd

from bayesgen.calibrate import BINS
from bayesgen.compare.scores import LEVEL

WIDTH = 80
"""Characters of a line of text."""

HEADS = {
    "log_loss": "log loss",
    "brier": "Brier",
    "calibration_error": "cal.",
    "auc": "AUC",
    "accuracy": "acc.",
}
MEMBERS_LEGEND = (
    "Members of a stack: log loss (nats) of each alone, by leave-one-out; log evidence where there "
    "is one; weights in the linear and the log-linear pool."
)


SUBGROUPS_LEGEND = (
    "Subgroups: the rows of one level each, under the same fits; ± is one standard error over "
    "these rows. expected: the accuracy that the probabilities promise. overconf.: standard "
    "errors by which the Brier score exceeds what they promise; beyond ±2 they are off."
)


def scores_as_text(table: pd.DataFrame, folds: int) -> pd.DataFrame:
    """Return the scores of `Comparison.table` as text: "0.419±.011", "-.010 [-.024,+.004]"."""
    text = pd.DataFrame({"log loss": _losses(table)}, index=table.index)
    if len(table) > 1:
        columns = [table[f"log_loss_{name}"] for name in ("difference", "lower", "upper")]
        text[f"vs {table.index[0]}"] = [
            _interval(*numbers) for numbers in zip(*columns, strict=True)
        ]
    for name in ("brier", "calibration_error", "auc", "accuracy"):
        text[HEADS[name]] = ["" if math.isnan(score) else _short(score) for score in table[name]]
    seconds = folds * (table["fit_seconds"] + table["predict_seconds"])
    text["sec"] = [f"{value:.1f}" if value < 10 else f"{value:,.0f}" for value in seconds]
    return text


def subgroups_as_text(table: pd.DataFrame) -> pd.DataFrame:
    """Return `Comparison.subgroups` as text."""
    columns = {
        "rows": table["rows"].map("{:,}".format),
        "log loss": _losses(table),
        HEADS["brier"]: table["brier"].map(_short),
        HEADS["accuracy"]: table["accuracy"].map(_short),
        "expected": table["expected_accuracy"].map(_short),
        "overconf.": table["overconfidence"].map("{:+.1f}".format),
    }
    return pd.DataFrame(columns, index=table.index)


def _losses(table: pd.DataFrame) -> list[str]:
    return list(map(_with_error, table["log_loss"], table["log_loss_se"]))


def members_as_text(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table of members as text, without numbers that are not there."""
    heads = {
        "leave_one_out_log_loss": ("log loss", "{:.3f}"),
        "log_evidence": ("evidence", "{:,.0f}"),
        "weight": ("linear", "{:z.2f}"),
        "log_linear_weight": ("log-lin.", "{:z.2f}"),
    }
    columns = {
        head: ["" if math.isnan(value) else form.format(value) for value in table[name]]
        for name, (head, form) in heads.items()
    }
    return pd.DataFrame(columns, index=table.index)


def aligned(table: pd.DataFrame) -> str:
    """Return a table of text with its columns below each other."""
    return table.rename_axis([None] * table.index.nlevels).to_string()


def legend(table: pd.DataFrame) -> str:
    """Return what the columns of the scores mean."""
    against = (
        f"vs {table.index[0]}: difference of the log loss and its {LEVEL:.0%} interval (folds "
        "paired; corrected resampled t, Nadeau and Bengio 2003). "
    )
    infinite = " Log loss inf: a class was given probability 0 in a row where it was the true one."
    return (
        "Scores of rows that were left out of the fit, on the same folds for every line; ± is one "
        f"standard error over the folds. {against if len(table) > 1 else ''}Log loss (nats), Brier "
        f"(0 to 2) and cal., the calibration error (top label, {BINS} bins of equal width): lower "
        "is better; AUC and acc., the accuracy: higher. sec: seconds of all fits and predictions."
        f"{infinite if math.isinf(table['log_loss'].max()) else ''}"
    )


def fits_in_words(table: pd.DataFrame) -> str:
    """Return how classifiers were fitted, and the steps that were put before some of them."""
    sentences = []
    for head, column in {"Inference": "method", "Prepared": "prepared_by"}.items():
        words = [f"{name} ({word})" for name, word in table[column].items() if word]
        sentences += [f"{head}: {', '.join(words)}."] if words else []
    return " ".join(sentences)


def _with_error(value: float, error: float) -> str:
    text = f"{value:z.3f}"
    return text if math.isnan(error) else f"{text}±{_short(error)}"


def _interval(value: float, low: float, high: float) -> str:
    if math.isnan(value):
        return ""
    # a difference to or of an infinite loss has no spread
    interval = "" if math.isnan(low) else f" [{_short(low, '+')},{_short(high, '+')}]"
    return f"{_short(value, '+')}{interval}"


def _short(value: float, sign: str = "") -> str:
    """Return ".419", and "1.000"; sign: "+" for numbers that have one."""
    text = f"{value:{sign}z.3f}"
    return text.replace("0.", ".", 1) if abs(value) < 1 else text
