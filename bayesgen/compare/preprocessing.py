"""scikit-learn pipelines for classifiers that accept neither missing values nor text.

Imported lazily, because the scikit-learn modules it needs would slow down every import.
"""

import numpy as np
from jaxtyping import Float
from sklearn.base import BaseEstimator
from sklearn.compose import ColumnTransformer
from sklearn.dummy import DummyClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils import get_tags

from bayesgen.errors import BayesgenError
from bayesgen.table import Table, TableColumn


def logistic_regression() -> BaseEstimator:
    """Return logistic regression of scaled columns, which needs fewer iterations."""
    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=5000))


def class_frequencies() -> BaseEstimator:
    """Return the classifier that gives every row the class frequencies of the fit."""
    return DummyClassifier(strategy="prior")


def needs_preparing(error: Exception, estimator: object, table: Table) -> bool:
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


def prepared(estimator: object, table: Table) -> Pipeline:
    """Return a Pipeline that imputes missing cells and encodes levels, then the classifier.

    Numbers: the mean of the fitted rows. Levels: the most frequent one, then one 0/1 column for
    each level of the whole table (one column where there are two). A classifier that takes level
    codes by its tags, as CategoricalNB does, gets the codes instead. To be fitted to `as_matrix`.
    """
    kinds = np.array([column.kind for column in table.columns])
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


def steps_in_words(pipeline: Pipeline) -> str:
    """Return the steps before the classifier, such as "SimpleImputer, OneHotEncoder"."""
    parts = [step for _, step, _ in pipeline[0].transformers if not isinstance(step, str)]
    found = dict.fromkeys(type(step).__name__ for part in parts for _, step in part.steps)
    return ", ".join(found) or "level codes"


def as_matrix(table: Table) -> Float[np.ndarray, "row feature"]:
    """Return numbers as they are and levels as their codes; NaN where missing."""
    return np.column_stack([_as_numbers(column) for column in table.columns])


def _as_numbers(column: TableColumn) -> np.ndarray:
    values = column.values.astype(float)
    return values if column.kind == "number" else np.where(column.missing, np.nan, values)
