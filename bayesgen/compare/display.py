"""What a comparison looks like: its scores as text for people."""

import math

import pandas as pd

from bayesgen.calibrate import BINS
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
    f"(top label, {BINS} bins of equal width). vs first: difference of the log loss and its "
    f"{LEVEL:.0%} interval (corrected resampled t)."
)


def shown(table: pd.DataFrame) -> pd.DataFrame:
    """Return the scores of `Comparison.table` as text, each with its standard error."""
    columns = {
        head: [_spread(a, b) for a, b in zip(table[name], table[f"{name}_se"], strict=True)]
        for name, head in HEADS.items()
    }
    told = {"log loss": columns.pop("log loss"), "vs first": _against_first(table), **columns}
    told["fit + predict s"] = [
        f"{a:.2g} + {b:.2g}"
        for a, b in zip(table["fit_seconds"], table["predict_seconds"], strict=True)
    ]
    told["ran"] = table["method"].to_list()
    if table["prepared_by"].any():
        told["prepared by"] = table["prepared_by"].to_list()
    return pd.DataFrame(told, index=table.index)


def _against_first(table: pd.DataFrame) -> list[str]:
    columns = [table[f"log_loss_{name}"] for name in ("difference", "lower", "upper")]
    return [_interval(*numbers) for numbers in zip(*columns, strict=True)]


def _interval(value: float, low: float, high: float) -> str:
    if math.isnan(value):
        return ""
    # a difference to or of an infinite loss has no spread
    return f"{value:+z.3f}" + ("" if math.isnan(low) else f" [{low:+z.3f}, {high:+z.3f}]")


def _spread(value: float, error: float) -> str:
    shown = "" if math.isnan(value) else f"{value:z.3f}"
    return shown if math.isnan(error) else f"{shown}±{error:.3f}".replace("±0.", "±.")
