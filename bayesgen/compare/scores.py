"""Scores of out-of-fold predictions, standard errors over folds, and paired differences."""

import dataclasses

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from bayesgen.calibrate import (
    accuracy,
    area_under_roc,
    brier,
    brier_decomposition,
    calibration_error,
    log_loss,
    set_size,
)
from bayesgen.typing import Joint, Labels, Membership

LEVEL = 0.95
"""Coverage of the interval of a paired difference."""

DIFFERENCE = ["difference", "standard_error", "lower", "upper"]


@dataclasses.dataclass(frozen=True, eq=False)
class Scores:
    """Scores of one classifier.

    value: over all rows, by the name of the score. without: over all but one fold, one line for
    each; NaN where there is one fold, and for a score that is infinite without some fold.
    """

    value: pd.Series
    without: pd.DataFrame

    @classmethod
    def of(cls, y: Membership, probability: Joint, fold: Labels) -> "Scores":
        """Return every score.

        The area under the ROC curve is the mean over folds: ranks of rows that different fits have
        scored are not compared. Source: Forman and Scholz (2010), SIGKDD Explorations 12(1), 49-57.

        Args:
            y: class codes, shape (row,), or shares of the classes: scores are then expected.
            probability: class probabilities, shape (row, class).
            fold: the fold of each row, 0 to folds - 1, shape (row,).
        """
        folds = [fold == number for number in np.unique(fold)]
        codes = range(probability.shape[1])
        areas = np.array([area_under_roc(y[rows], probability[rows], codes) for rows in folds])
        value = pd.Series({**_over_rows(y, probability), "auc": areas.mean()})
        if len(folds) == 1:
            return cls(value, pd.DataFrame(np.nan, index=[0], columns=value.index))
        without = pd.DataFrame([_over_rows(y[~rows], probability[~rows]) for rows in folds])
        without["auc"] = (areas.sum() - areas) / (len(areas) - 1)
        without.loc[:, ~np.isfinite(without).all()] = np.nan
        return cls(value, without)

    @property
    def standard_error(self) -> pd.Series:
        """The standard error of every score over folds.

        It is the jackknife's, which leaves out one fold at a time. For a mean over folds of equal
        size it is the standard deviation of the folds' means over sqrt(folds). It serves the
        calibration error and the parts of the Brier score too, which cannot be averaged over small
        folds: they would be mostly noise. It is NaN for a single fold and where the score is
        infinite.

        Source: Efron and Tibshirani (1993), An Introduction to the Bootstrap, equation 11.5.
        """
        return ((len(self.without) - 1) * self.without.var(ddof=0)) ** 0.5

    def with_errors(self) -> dict[str, float]:
        """Return every score and, under `..._se`, its standard error."""
        return with_errors(self.value, self.standard_error)

    def difference(self, first: "Scores", overlap: float) -> pd.DataFrame:
        """Return the differences from another classifier on the same folds, by score.

        The scores of one fold are paired, and folds share most of the rows they are fitted to, so
        that their differences vary together. The interval is that of the corrected resampled
        t-test: with J folds of n1 rows fitted and n2 scored, s2 the variance of the folds'
        differences and t the quantile of Student's t with J - 1 degrees of freedom,

            difference +- t sqrt((1/J + n2/n1) s2).

        For scores that are not means over rows, the folds' differences are the jackknife's
        pseudo-values, which coincide with them for means over equal folds.

        Args:
            first: what is subtracted.
            overlap: n2/n1, from the mean numbers of rows. n1 counts those from which a fold draws
                its rows: few drawn rows overlap less than all, and the interval is then wide rather
                than narrow.

        Returns:
            The columns difference, standard_error, lower, upper; NaN where a score is not finite or
            there is one fold.

        Source: Nadeau and Bengio (2003), Machine Learning 52, 239-281, section 3; for
            cross-validation: Bouckaert and Frank (2004), PAKDD, LNAI 3056, 3-12.
        """
        folds, difference = len(self.without), self.value - first.value
        pseudo = folds * difference - (folds - 1) * (self.without - first.without)
        error = np.sqrt((1 / folds + overlap) * pseudo.var(ddof=1))
        half = stdtrit(folds - 1, (1 + LEVEL) / 2) * error
        columns = [difference, error, difference - half, difference + half]
        return pd.DataFrame(dict(zip(DIFFERENCE, columns, strict=True)))


def _over_rows(y: Membership, probability: Joint) -> dict[str, float]:
    codes = range(probability.shape[1])
    return {
        "log_loss": log_loss(y, probability, codes),
        "brier": brier(y, probability, codes),
        **dataclasses.asdict(brier_decomposition(y, probability, codes)),
        "calibration_error": calibration_error(y, probability, codes),
        "accuracy": accuracy(y, probability, codes),
        "set_size": set_size(y, probability, codes),
    }


def with_errors(values: pd.Series, errors: pd.Series) -> dict[str, float]:
    """Return every value and, under `..._se`, its standard error beside it."""
    pairs = {}
    for name, value in values.items():
        pairs |= {str(name): value, f"{name}_se": errors[name]}
    return pairs
