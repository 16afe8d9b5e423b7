"""A user's program under a type checker: what an editor knows of every answer."""

from typing import assert_type

import numpy as np
import pandas as pd
import xarray as xr
from arviz_stats.utils import ELPDData

import bayesgen as bg

assert_type(bg.__version__, str)
X, y = bg.datasets.load_titanic_passengers()
assert_type(X, pd.DataFrame)

clf = bg.NaiveBayes(random_state=0).fit(X, y)
assert_type(clf, bg.NaiveBayes)
assert_type(clf.partial_fit(X, y), bg.NaiveBayes)
assert_type(clf.with_class_prior({"no": 0.9, "yes": 0.1}), bg.NaiveBayes)
assert_type(bg.LDA().fit(X, y), bg.LDA)
assert_type(bg.JointTable().fit(X, y), bg.JointTable)
assert_type(bg.BagOfWords().fit(X, y), bg.BagOfWords)
assert_type(bg.GenerativeClassifier().fit(X, y), bg.GenerativeClassifier)
assert_type(bg.StackedClassifier().fit(X, y), bg.StackedClassifier)

proba: np.ndarray = clf.predict_proba(X)
interval: np.ndarray = clf.predict_interval(X)[:, 1].round(3)
density: np.ndarray = clf.score_samples(X).round(2)
labels: np.ndarray = clf.decide(X, reject=0.3)
labels, expected = clf.decide(X, return_loss=True)

assert_type(clf.predict_draws(X), xr.DataArray)
assert_type(clf.summary(kind="stats"), pd.DataFrame)
assert_type(clf.to_datatree(), xr.DataTree)
assert_type(clf.loo(), pd.DataFrame)
assert_type(clf.loo(kind="elpd"), ELPDData)
assert_type(clf.evidence(X), pd.DataFrame)
assert_type(clf.evidence(X, interval=0.9), tuple[pd.DataFrame, ...])
assert_type(clf.feature_value(X), pd.DataFrame)
assert_type(clf.feature_value(X, return_error=True), tuple[pd.DataFrame, pd.DataFrame])
assert_type(clf.impute(X), pd.DataFrame)
assert_type(clf.impute(X, draws=5), list[pd.DataFrame])

stack = bg.StackedClassifier().fit(X, y)
assert_type(stack.to_datatree(draws=100), xr.DataTree)
assert_type(stack.impute(X), pd.DataFrame)
assert_type(stack.with_class_prior("uniform"), bg.StackedClassifier)
assert_type(bg.compare({"naive": clf, "stack": stack}, X, y).table, pd.DataFrame)
