"""Classifiers of the calibration benchmark: ours, and scikit-learn's with standard pipelines."""

import numpy as np
import pandas as pd
from calibration_tables import Benchmark
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.compose import make_column_transformer
from sklearn.discriminant_analysis import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.naive_bayes import CategoricalNB, GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

import bayesgen as bg

OURS = {"NB": bg.NaiveBayes, "LDA": bg.LDA, "QDA": bg.QDA}
WAYS = {"MLE": "mle", "MAP": "map", "Bayes": "auto"}
STRENGTHS = [0.001, 0.01, 0.1, 1.0, 10.0, 100.0]


def rivals(table: Benchmark, wanted: list[str]) -> dict[str, BaseEstimator]:
    """Return the classifiers that suit a table, under the names of the report.

    Naive Bayes takes every table, LDA and QDA (ours and theirs) those of numbers only; "sk LDA,
    one-hot" is theirs for the other tables.
    """
    own = ["NB"] if table.levels else list(OURS)
    found = {f"{o} {w}": OURS[o](inference=i, random_state=0) for o in own for w, i in WAYS.items()}
    found["stack"] = bg.StackedClassifier(random_state=0)
    found["stack, no temper"] = bg.StackedClassifier(temper=None, random_state=0)
    found["sk NB"] = MixedNB()
    prepare, lda = _prepare(table), LinearDiscriminantAnalysis
    shrunk = {"shrinkage": "auto"}
    if table.levels:
        found["sk GaussianNB, one-hot"] = make_pipeline(prepare, GaussianNB())
        found["sk LDA, one-hot"] = make_pipeline(prepare, lda())
        found["sk LDA shrunk, one-hot"] = make_pipeline(prepare, lda(solver="lsqr", **shrunk))
    else:
        qda = QuadraticDiscriminantAnalysis
        found["sk LDA"] = make_pipeline(prepare, lda())
        found["sk QDA"] = make_pipeline(prepare, qda())
        found["sk LDA shrunk"] = make_pipeline(prepare, lda(solver="lsqr", **shrunk))
        found["sk QDA shrunk"] = make_pipeline(prepare, qda(solver="eigen", **shrunk))
    found["logistic"] = TunedLogistic(prepare)
    found["random forest"] = make_pipeline(prepare, RandomForestClassifier(500, random_state=0))
    boosting = HistGradientBoostingClassifier(random_state=0)
    found["boosting"] = make_pipeline(prepare, boosting)
    return {name: rival for name, rival in found.items() if not wanted or name in wanted}


class MixedNB(ClassifierMixin, BaseEstimator):
    """scikit-learn's naive Bayes for numbers and levels: GaussianNB and CategoricalNB, multiplied.

    Each is fitted to its own columns (means or most frequent levels in the missing values) with its
    defaults and the two joint densities are multiplied, the class prior counted once. The levels
    are those of the whole table. On a table of one kind it is that classifier.
    """

    def fit(self, X: pd.DataFrame, y: np.ndarray) -> "MixedNB":
        """Fit both parts."""
        self.classes_, count = np.unique(y, return_counts=True)
        self.log_prior_ = np.log(count / count.sum())
        levels = [c for c in X if isinstance(X[c].dtype, pd.CategoricalDtype)]
        numbers = [c for c in X if c not in levels]
        self.parts_ = []
        if numbers:
            self.parts_.append((numbers, SimpleImputer().fit(X[numbers]), GaussianNB()))
        if levels:
            given = [list(X[c].cat.categories) for c in levels]
            encode = make_pipeline(
                SimpleImputer(strategy="most_frequent"), OrdinalEncoder(categories=given)
            ).fit(X[levels].astype(object))
            many = CategoricalNB(min_categories=[len(k) for k in given])
            self.parts_.append((levels, encode, many))
        for columns, encode, part in self.parts_:
            part.fit(encode.transform(_direct(X[columns])), y)
        return self

    def predict_log_proba(self, X: pd.DataFrame) -> np.ndarray:
        """Return log P(class given row), shape (row, class)."""
        joint = self.log_prior_ * (1 - len(self.parts_))
        for columns, encode, part in self.parts_:
            joint = joint + part.predict_joint_log_proba(encode.transform(_direct(X[columns])))
        return joint - np.logaddexp.reduce(joint, axis=1, keepdims=True)


class TunedLogistic(ClassifierMixin, BaseEstimator):
    """Logistic regression whose strength is chosen by log loss in stratified cross-validation.

    Five folds, or as many as the smallest class has rows (at least two).
    """

    def __init__(self, prepare: BaseEstimator) -> None:
        self.prepare = prepare

    def fit(self, X: pd.DataFrame, y: np.ndarray) -> "TunedLogistic":
        """Choose the strength, then fit all rows with it."""
        self.classes_, count = np.unique(y, return_counts=True)
        direct = make_pipeline(self.prepare, LogisticRegression(max_iter=2000))
        cv = StratifiedKFold(int(np.clip(count.min(), 2, 5)), shuffle=True, random_state=0)
        grid = {"logisticregression__C": STRENGTHS}
        self.search_ = GridSearchCV(direct, grid, scoring="neg_log_loss", cv=cv).fit(X, y)
        return self

    def predict_log_proba(self, X: pd.DataFrame) -> np.ndarray:
        """Return log P(class given row), shape (row, class)."""
        return self.search_.predict_log_proba(X)


def _direct(X: pd.DataFrame) -> pd.DataFrame:
    kinds = [isinstance(kind, pd.CategoricalDtype) for kind in X.dtypes]
    return X.astype(object) if all(kinds) else X


def _prepare(table: Benchmark) -> BaseEstimator:
    """Return what fills missing values, scales numbers and spreads levels over 0/1 columns."""
    given = [list(table.X[c].cat.categories) for c in table.levels]
    spread = OneHotEncoder(categories=given, drop="if_binary", sparse_output=False)
    return make_column_transformer(
        (make_pipeline(SimpleImputer(), StandardScaler()), table.numbers),
        (make_pipeline(SimpleImputer(strategy="most_frequent"), spread), table.levels),
    )
