"""scikit-learn classifiers to compare with, in their common configurations.

Imported lazily, because the scikit-learn modules it needs would slow down every import.
"""

from sklearn.base import BaseEstimator
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

TREES = 300
SMALLEST_LEAF = 5
"""Rows in a leaf of the forest: with one, the default, many probabilities are 0 or 1."""


def rival(name: str, seed: int | None = None) -> BaseEstimator:
    """Return "frequencies", "logistic", "forest" or "boosting", not yet fitted.

    `compare` imputes missing cells and encodes levels for classifiers that do not support them;
    boosting handles missing numbers itself.
    """
    if name == "frequencies":
        return DummyClassifier(strategy="prior")
    if name == "logistic":
        # scaled columns need fewer iterations
        return make_pipeline(StandardScaler(), LogisticRegression(max_iter=5000))
    if name == "forest":
        return RandomForestClassifier(TREES, min_samples_leaf=SMALLEST_LEAF, random_state=seed)
    return HistGradientBoostingClassifier(random_state=seed)
