"""Classifiers of other libraries to compare with, in their common configurations.

Imported lazily, because the scikit-learn modules it needs would slow down every import.
"""

import importlib
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bayesgen.errors import MissingPackage

TREES = 300
SMALLEST_LEAF = 5
"""Rows in a leaf of the forest: with one, the default, many probabilities are 0 or 1."""


def rival(name: str, seed: int | None = None) -> BaseEstimator:
    """Return "frequencies", "logistic", "forest", "boosting", "catboost" or "lightgbm", not fitted.

    `compare` imputes missing cells and encodes levels for classifiers that do not support them;
    boosting handles missing numbers itself, CatBoost and LightGBM handle missing levels too.

    Raises:
        MissingPackage: CatBoost or LightGBM is not installed.
    """
    if name == "frequencies":
        return DummyClassifier(strategy="prior")
    if name == "logistic":
        # scaled columns need fewer iterations
        return make_pipeline(StandardScaler(), LogisticRegression(max_iter=5000))
    if name == "forest":
        return RandomForestClassifier(TREES, min_samples_leaf=SMALLEST_LEAF, random_state=seed)
    if name == "catboost":
        quiet = {"verbose": False, "allow_writing_files": False}
        return _package(name).CatBoostClassifier(random_state=seed, **quiet)
    if name == "lightgbm":
        return _package(name).LGBMClassifier(random_state=seed, verbose=-1)
    return HistGradientBoostingClassifier(random_state=seed)


def _package(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        raise MissingPackage(
            "the rival {name} needs the package {name}, which is not installed.",
            "Install it: pip install {name}.",
            name=name,
        ) from None
