"""Scores of out-of-fold predictions, with their standard errors over folds."""

from collections.abc import Callable

import numpy as np

from bayesgen.calibrate import accuracy, brier, calibration_error, log_loss
from bayesgen.typing import Joint, Labels

SCORES: dict[str, Callable[[Labels, Joint], float]] = {
    "log_loss": log_loss,
    "brier": brier,
    "calibration_error": calibration_error,
    "accuracy": accuracy,
}


def score(y: Labels, probability: Joint, fold: Labels) -> dict[str, float]:
    """Return every score over all rows and, under `..._se`, its standard error over folds.

    The standard error is the jackknife's, which leaves out one fold at a time. For a mean over
    folds of equal size it is the standard deviation of the folds' means over sqrt(folds). It serves
    the calibration error too, which cannot be averaged over small folds: it would be mostly noise.
    It is NaN for a single fold and where the score is infinite.

    Args:
        y: class codes, shape (row,).
        probability: class probabilities, shape (row, class).
        fold: the fold of each row, 0 to folds - 1, shape (row,).

    Source: Efron and Tibshirani (1993), An Introduction to the Bootstrap, equation 11.5.
    """
    scores = {}
    for name, of in SCORES.items():
        scores[name] = of(y, probability)
        scores[f"{name}_se"] = _jackknife(of, y, probability, fold)
    return scores


def _jackknife(
    of: Callable[[Labels, Joint], float], y: Labels, probability: Joint, fold: Labels
) -> float:
    folds = np.unique(fold)
    if len(folds) < 2:
        return np.nan
    without = np.array([of(y[fold != f], probability[fold != f]) for f in folds])
    if not np.isfinite(without).all():
        return np.nan
    return float(np.sqrt((len(folds) - 1) * without.var()))
