"""Classifiers of other libraries compared: pipelines for missing cells and text, processes."""

import copy

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_iris
from sklearn.dummy import DummyClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_predict
from sklearn.naive_bayes import CategoricalNB, GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import bayesgen as bg
from bayesgen.compare import compare

CONTAINERS = {"polars": pl.from_pandas, "pyarrow": pa.Table.from_pandas}


@pytest.fixture
def iris():
    return load_iris(return_X_y=True)


def test_classifiers_that_cannot_take_missing_cells_or_text_get_a_pipeline():
    X, y = bg.datasets.load_titanic_passengers()
    classifiers = {"Bayes": bg.NaiveBayes(), "LR": LogisticRegression(), "prior": DummyClassifier()}
    found = compare(classifiers, X, y, cv=3)
    expected = {"Bayes": "", "LR": "SimpleImputer, OneHotEncoder", "prior": ""}
    assert found.table["prepared_by"].to_dict() == expected
    assert "SimpleImputer, OneHotEncoder" in repr(found)
    columns = make_column_transformer(
        (SimpleImputer(), ["age"]), (OneHotEncoder(drop="if_binary"), ["sex", "passengerClass"])
    )
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    rival = make_pipeline(columns, LogisticRegression())
    theirs = cross_val_predict(rival, X, y, cv=folds, method="predict_proba")
    np.testing.assert_allclose(found.probabilities["LR"], theirs[found.rows], atol=1e-5)


@pytest.mark.parametrize("container", CONTAINERS)
def test_pipelines_take_every_container(container):
    X, y = bg.datasets.load_titanic_passengers()
    classifiers = {"LR": LogisticRegression()}
    losses = [
        compare(classifiers, rows, y, cv=2).table.loc["LR", "log_loss"]
        for rows in (X, CONTAINERS[container](X))
    ]
    assert losses[0] == pytest.approx(losses[1], rel=1e-12)


class CatBoostError(Exception):
    """As CatBoost's: neither a ValueError nor a TypeError."""


class CatBoostClassifier(ClassifierMixin, BaseEstimator):
    """The frequencies by the first column of levels; refuses levels as CatBoost does."""

    def __init__(self, cat_features=None, smoothing=1.0):
        self.cat_features, self.smoothing = cat_features, smoothing

    def _levels(self, X):
        for j, dtype in enumerate(getattr(X, "dtypes", ())):
            if dtype == "category" and j not in (self.named_ or ()):
                raise CatBoostError(f"column {j} has dtype 'category' but is not in cat_features")
        levels = X[:, self.named_]
        assert all(isinstance(level, str) for level in levels.ravel())
        assert set(levels[:, 2]) == {"-1", "0", "1", "2"}  # missing, and three islands
        return levels[:, 0]

    def get_params(self, deep=True):
        """Return copies, so that no clone with a list survives scikit-learn's check."""
        return copy.deepcopy(super().get_params(deep))

    def fit(self, X, y, cat_features=None):
        self.named_ = cat_features or self.cat_features
        self.classes_, codes = np.unique(y, return_inverse=True)
        levels, count = self._levels(X), {}
        for level, code in zip(levels, codes, strict=True):
            count.setdefault(level, np.full(len(self.classes_), self.smoothing))[code] += 1
        self.count_ = count
        return self

    def predict_proba(self, X):
        count = np.array([self.count_[level] for level in self._levels(X)])
        return count / count.sum(axis=1, keepdims=True)


def test_catboost_is_told_which_columns_hold_levels():
    X, y = bg.datasets.load_penguins()
    X = X[["island", "sex", "bill_length_mm"]].assign(sex=X.sex.fillna("none"))
    X["where"] = X.island.where(np.arange(len(X)) % 9 > 0)
    found = compare({"CatBoost": CatBoostClassifier()}, X, y, cv=3)
    assert found.table.loc["CatBoost", "prepared_by"] == "cat_features"
    share = pd.crosstab(X.island, y, normalize="index").loc[X.island.iloc[found.rows]]
    np.testing.assert_allclose(found.probabilities["CatBoost"], share, atol=0.1)
    # whoever names them keeps their names, and the error
    with pytest.raises(CatBoostError, match="is not in cat_features"):
        compare({"CatBoost": CatBoostClassifier(cat_features=(1,))}, X, y, cv=3)


def test_a_classifier_of_level_codes_gets_codes():
    X, y = bg.datasets.load_titanic()
    ours = bg.NaiveBayes(bg.Categorical.laplace(1), class_prior="empirical")
    classifiers = {"ours": ours, "sklearn": CategoricalNB(min_categories=[4, 2, 2])}
    found = compare(classifiers, X, y, cv=3)
    assert found.table.loc["sklearn", "prepared_by"] == "level codes"
    ours, theirs = found.probabilities.values()
    np.testing.assert_allclose(ours, theirs, atol=1e-12)


def test_a_wrapped_classifier_of_ours_takes_missing_cells_itself():
    X, y = bg.datasets.load_penguins()
    found = compare({"tuned": GridSearchCV(bg.NaiveBayes(), {}, cv=2)}, X, y, cv=2)
    assert found.table.loc["tuned", "prepared_by"] == ""


def test_a_classifier_that_fails_behind_the_pipeline_too_tells_both_errors():
    X = pd.DataFrame({"a": [1.0, np.nan, 3.0, 4.0] * 3})
    with pytest.raises(ValueError, match="n_neighbors") as caught:
        compare({"KNN": KNeighborsClassifier(50)}, X, [0, 1] * 6, cv=2)
    assert caught.value.__notes__ == ["classifier 'KNN', fold 1 of 2"]
    assert "NaN" in str(caught.value.__context__)


@pytest.mark.slow
def test_processes_give_the_same_scores(iris):
    classifiers = {"GNB": GaussianNB(), "Bayes": bg.NaiveBayes()}
    one, two = (compare(classifiers, *iris, cv=3, n_jobs=n, train_sizes=[20]) for n in (1, 2))
    for name in classifiers:
        np.testing.assert_array_equal(one.probabilities[name], two.probabilities[name])
    np.testing.assert_array_equal(one.curves["log_loss"], two.curves["log_loss"])
