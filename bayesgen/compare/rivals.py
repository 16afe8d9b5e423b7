"""scikit-learn classifiers to compare with, in their common configurations.

Imported lazily, because the scikit-learn modules it needs would slow down every import.
"""

from sklearn.base import BaseEstimator
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier

from bayesgen.compare.preprocessing import class_frequencies, logistic_regression

TREES = 300
SMALLEST_LEAF = 5
"""Rows in a leaf of the forest: with one, the default, many probabilities are 0 or 1."""


def rival(name: str, seed: int | None) -> BaseEstimator:
    """Return "frequencies", "logistic", "forest" or "boosting", not yet fitted.

    `compare` imputes missing cells and encodes levels for classifiers that do not support them;
    boosting handles missing numbers itself.
    """
    if name == "frequencies":
        return class_frequencies()
    if name == "logistic":
        return logistic_regression()
    if name == "forest":
        return RandomForestClassifier(TREES, min_samples_leaf=SMALLEST_LEAF, random_state=seed)
    return HistGradientBoostingClassifier(random_state=seed)
