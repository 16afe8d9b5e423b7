"""scikit-learn pipelines for classifiers that accept neither missing values nor text.

Imported lazily, because the scikit-learn modules it needs would slow down every import.
"""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Shaped
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.utils import get_tags

from bayesgen.errors import BayesgenError
from bayesgen.table import Table, TableColumn
from bayesgen.typing import AnyClassifier, Self

Matrix = Float[np.ndarray, "row feature"]

LEVELS = {"CatBoostClassifier": "cat_features", "LGBMClassifier": "categorical_feature"}
"""Classifiers to be told which columns hold levels -> the argument of fit that names these.

By the names of their classes, since they need not be installed. LightGBM ends the process on a
pyarrow table of levels: it is not tried before it is told.
"""


def needs_preparing(error: Exception, estimator: AnyClassifier, table: Table) -> bool:
    """Return whether missing values or levels may explain why a fit failed.

    Not so for classifiers whose `__sklearn_tags__` declare support for both, as all of this library
    do, nor for errors of this library.
    """
    if isinstance(error, BayesgenError) or not isinstance(error, ValueError | TypeError):
        return False
    tags = get_tags(estimator).input_tags
    if tags.allow_nan and tags.categorical and tags.string:
        return False
    return any(column.kind == "level" or column.missing.any() for column in table.columns)


def levels_argument(estimator: AnyClassifier) -> str | None:
    """Return by which argument a classifier is to be told its columns of levels; None: it is not.

    Not where its constructor was told them.
    """
    names = [LEVELS[cls.__name__] for cls in type(estimator).__mro__ if cls.__name__ in LEVELS]
    stated = getattr(estimator, "get_params", dict)()
    return names[0] if names and stated.get(names[0]) is None else None


class NativeLevels(ClassifierMixin, BaseEstimator):
    """CatBoost or LightGBM, told which columns are levels; fitted to `ComparedRows.matrix`.

    CatBoost takes levels as text, a missing one as one of its own; LightGBM takes their codes, and
    missing ones as they are. They are named when it is fitted: with the argument of its constructor
    set CatBoost cannot be cloned.
    """

    def __init__(self, classifier: AnyClassifier, levels: Sequence[int], argument: str) -> None:
        self.classifier = classifier
        self.levels = levels
        self.argument = argument

    def fit(self, X: Matrix, y: object) -> Self:
        """Fit a clone to numbers and text; returns self."""
        fitted = clone(self.classifier)
        self.classifier_ = fitted.fit(self._cells(X), y, **{self.argument: list(self.levels)})
        self.classes_ = fitted.classes_
        return self

    def predict_proba(self, X: Matrix) -> Float[np.ndarray, "row class"]:
        """Return class probabilities."""
        return self.classifier_.predict_proba(self._cells(X))

    def _cells(self, X: Matrix) -> Shaped[np.ndarray, "row feature"]:
        if self.argument != "cat_features":
            return X
        text = X.astype(object)
        text[:, self.levels] = np.nan_to_num(X[:, self.levels], nan=-1).astype(int).astype(str)
        return text


def prepared(estimator: AnyClassifier, table: Table) -> Pipeline | NativeLevels:
    """Return a Pipeline that imputes missing cells and encodes levels, then the classifier.

    CatBoost and LightGBM impute and encode themselves, and are told which columns hold levels.

    Numbers: the mean of the fitted rows. Levels: the most frequent one, then one 0/1 column for
    each level of the whole table (one column where there are two). A classifier that takes level
    codes by its tags, as CategoricalNB does, gets the codes instead. To be fitted to
    `ComparedRows.matrix`.
    """
    kinds = np.array([column.kind for column in table.columns])
    if argument := levels_argument(estimator):
        return NativeLevels(estimator, np.flatnonzero(kinds == "level").tolist(), argument)
    missing = np.array([column.missing.any() for column in table.columns])
    steps = []
    for kind, strategy in {"number": "mean", "level": "most_frequent"}.items():
        of = np.flatnonzero(kinds == kind)
        parts: list[tuple[str, BaseEstimator]] = []
        if missing[of].any():
            parts.append(("fill", SimpleImputer(strategy=strategy, keep_empty_features=True)))
        if kind == "level" and len(of) and not get_tags(estimator).input_tags.categorical:
            parts.append(("encode", _one_hot([table.columns[int(j)] for j in of])))
        steps.append((kind, Pipeline(parts) if parts else "passthrough", of))
    return Pipeline([("prepare", ColumnTransformer(steps)), ("classifier", estimator)])


def _one_hot(columns: list[TableColumn]) -> OneHotEncoder:
    codes = [np.arange(max(len(column.levels), 1), dtype=float) for column in columns]
    return OneHotEncoder(categories=codes, drop="if_binary", sparse_output=False)


def steps_in_words(pipeline: Pipeline | NativeLevels) -> str:
    """Return the steps before the classifier, such as "SimpleImputer, OneHotEncoder"."""
    if isinstance(pipeline, NativeLevels):
        return pipeline.argument if pipeline.levels else ""
    parts = [step for _, step, _ in pipeline[0].transformers if not isinstance(step, str)]
    found = dict.fromkeys(type(step).__name__ for part in parts for _, step in part.steps)
    return ", ".join(found) or "level codes"
