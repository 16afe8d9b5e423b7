"""Scores of out-of-fold predictions, standard errors over folds, and paired differences."""

import dataclasses

import numpy as np
import pandas as pd
from jaxtyping import Float
from scipy.special import stdtrit

from bayesgen.calibrate import (
    accuracy,
    area_under_roc,
    brier,
    brier_decomposition,
    calibration_error,
    log_loss,
)
from bayesgen.typing import Joint, Labels

LEVEL = 0.95
"""Coverage of the interval of a paired difference."""


@dataclasses.dataclass(frozen=True, eq=False)
class Scored:
    """Scores of one classifier: `value` over all rows, `without` one fold at a time (fold,)."""

    value: dict[str, float]
    without: dict[str, np.ndarray]

    def with_errors(self) -> dict[str, float]:
        """Return every score and, under `..._se`, its standard error over folds.

        The standard error is the jackknife's, which leaves out one fold at a time. For a mean over
        folds of equal size it is the standard deviation of the folds' means over sqrt(folds). It
        serves the calibration error and the parts of the Brier score too, which cannot be averaged
        over small folds: they would be mostly noise. It is NaN for a single fold and where the
        score is infinite.

        Source: Efron and Tibshirani (1993), An Introduction to the Bootstrap, equation 11.5.
        """
        found = {}
        for name, value in self.value.items():
            found[name], found[f"{name}_se"] = value, _jackknife(self.without[name])
        return found


def score(y: Labels, probability: Joint, fold: Labels) -> Scored:
    """Return every score over all rows and over all but one fold.

    Args:
        y: class codes, shape (row,).
        probability: class probabilities, shape (row, class).
        fold: the fold of each row, 0 to folds - 1, shape (row,).
    """
    areas = _areas(y, probability, fold)
    rest = [fold != f for f in np.unique(fold)] if len(areas) > 1 else []
    parts = [_pooled(y[rows], probability[rows]) for rows in rest]
    value = {**_pooled(y, probability), "auc": float(areas.mean())}
    without = {name: np.array([part[name] for part in parts]) for name in value if name != "auc"}
    without["auc"] = (areas.sum() - areas) / (len(areas) - 1) if rest else np.array([])
    return Scored(value, without)


def _pooled(y: Labels, probability: Joint) -> dict[str, float]:
    return {
        "log_loss": log_loss(y, probability),
        "brier": brier(y, probability),
        **dataclasses.asdict(brier_decomposition(y, probability)),
        "calibration_error": calibration_error(y, probability),
        "accuracy": accuracy(y, probability),
    }


def _areas(y: Labels, probability: Joint, fold: Labels) -> Float[np.ndarray, " fold"]:
    """Return the area under the ROC curve in each fold.

    Ranks of rows that different fits have scored are not compared. Source: Forman and Scholz
    (2010), SIGKDD Explorations 12(1), 49-57.
    """
    folds = [fold == f for f in np.unique(fold)]
    return np.array([area_under_roc(y[rows], probability[rows]) for rows in folds])


def _jackknife(without: np.ndarray) -> float:
    if len(without) < 2 or not np.isfinite(without).all():
        return np.nan
    return float(np.sqrt((len(without) - 1) * without.var()))


def differences(scored: dict[str, Scored], fitted: float, held_out: float) -> pd.DataFrame:
    """Return the score differences of all classifiers to the first, with 95 % intervals.

    The scores of one fold are paired, and folds share most of the rows they are fitted to, so that
    their differences vary together. The interval is that of the corrected resampled t-test: with J
    folds of n1 rows fitted and n2 scored, s2 the variance of the folds' differences and t the
    quantile of Student's t with J - 1 degrees of freedom,

        difference +- t sqrt((1/J + n2/n1) s2).

    For scores that are not means over rows, the folds' differences are the jackknife's
    pseudo-values, which coincide with them for means over equal folds. NaN where a score is not
    finite or there is one fold.

    Args:
        scored: by classifier.
        fitted: mean number of rows that a fold fits, or of those from which it draws them: few
            drawn rows overlap less than all, and the interval is then wide rather than narrow.
        held_out: mean number of rows that it scores.

    Returns:
        DataFrame with the index (classifier, score) and the columns difference, standard_error,
        lower, upper.

    Source: Nadeau and Bengio (2003), Machine Learning 52, 239-281, section 3; for
        cross-validation: Bouckaert and Frank (2004), PAKDD, LNAI 3056, 3-12.
    """
    first, *others = scored
    ratio = held_out / fitted
    lines = {
        (name, quantity): _difference(scored[name], scored[first], quantity, ratio)
        for name in others
        for quantity in scored[first].value
    }
    index = pd.MultiIndex.from_tuples(lines, names=["classifier", "score"]) if lines else None
    columns = ["difference", "standard_error", "lower", "upper"]
    return pd.DataFrame(list(lines.values()), index=index, columns=columns)


def _difference(ours: Scored, first: Scored, name: str, ratio: float) -> tuple[float, ...]:
    with np.errstate(invalid="ignore"):
        difference = float(np.subtract(ours.value[name], first.value[name]))
        without = ours.without[name] - first.without[name]
    folds = len(without)
    if folds < 2 or not np.isfinite(without).all():
        return difference, np.nan, np.nan, np.nan
    pseudo = folds * difference - (folds - 1) * without
    error = float(np.sqrt((1 / folds + ratio) * pseudo.var(ddof=1)))
    half = float(stdtrit(folds - 1, (1 + LEVEL) / 2)) * error
    return difference, error, difference - half, difference + half
