"""Tables of a comparison as text: scores with their errors, members of stacks, legends."""

import math

import pandas as pd

from bayesgen import calibrate
from bayesgen.compare.scores import LEVEL

HEADS = {
    "log_loss": "log loss",
    "brier": "Brier",
    "miscalibration": "miscalibr.",
    "discrimination": "discrim.",
    "calibration_error": "calib. error",
    "accuracy": "accuracy",
    "auc": "AUC",
}
LEGEND = (
    "Rows left out of the fit; ± is one standard error over folds. Lower is better for log loss "
    "(nats), Brier = miscalibration - discrimination + uncertainty (0 to 2) and calibration error "
    f"(top label, {calibrate.BINS} bins of equal width). vs first: difference of the log loss and "
    f"its {LEVEL:.0%} interval (corrected resampled t)."
)
MEMBERS_LEGEND = (
    "Members of a stack: log loss (nats) of each alone, by leave-one-out; log evidence where there "
    "is one; weights in the linear and the log-linear pool."
)


def scores_as_text(table: pd.DataFrame) -> pd.DataFrame:
    """Return the scores of `Comparison.table` as text, each with its standard error."""
    scores = {
        head: [with_error(a, b) for a, b in zip(table[name], table[f"{name}_se"], strict=True)]
        for name, head in HEADS.items()
    }
    columns = {"log loss": scores.pop("log loss"), "vs first": _against_first(table), **scores}
    columns["fit + predict s"] = [
        f"{_seconds(a)} + {_seconds(b)}"
        for a, b in zip(table["fit_seconds"], table["predict_seconds"], strict=True)
    ]
    columns["ran"] = table["method"].to_list()
    if table["prepared_by"].any():
        columns["prepared by"] = table["prepared_by"].to_list()
    return pd.DataFrame(columns, index=table.index)


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


def _seconds(value: float) -> str:
    return "<.001" if value < 0.001 else f"{value:.2g}"


def _against_first(table: pd.DataFrame) -> list[str]:
    columns = [table[f"log_loss_{name}"] for name in ("difference", "lower", "upper")]
    return [_interval(*numbers) for numbers in zip(*columns, strict=True)]


def _interval(value: float, low: float, high: float) -> str:
    if math.isnan(value):
        return ""
    # a difference to or of an infinite loss has no spread
    return f"{value:+z.3f}" + ("" if math.isnan(low) else f" [{low:+z.3f}, {high:+z.3f}]")


def with_error(value: float, error: float) -> str:
    """Return "0.466±.013", or the value alone where there is no standard error."""
    text = "" if math.isnan(value) else f"{value:z.3f}"
    return text if math.isnan(error) else f"{text}±{error:.3f}".replace("±0.", "±.")
