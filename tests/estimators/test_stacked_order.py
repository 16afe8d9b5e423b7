"""Laws of the automatic stack: order of rows and columns, calls, columns never observed."""

import numpy as np
import pandas as pd
import pytest
from paces import fast_only
from sklearn.base import clone

import bayesgen as bg
from bayesgen.estimators import held_out, judged_rows

LACKING = ("a gap", "rows", "a column of numbers", "a column of levels", "a level")
"""The last is that of the planted fault."""


def table(n, rng):
    y = rng.integers(0, 2, n)
    X = pd.DataFrame(np.exp(0.7 * rng.normal(size=(n, 3))) + 0.6 * y[:, None], columns=[*"abc"])
    return X, y


def proba(X, y, rows):
    return bg.StackedClassifier(random_state=0, progress=False).fit(X, y).predict_proba(rows)


@pytest.fixture
def few_judged(monkeypatch):
    monkeypatch.setattr(judged_rows, "JUDGED", 60)
    monkeypatch.setattr(judged_rows, "FEWEST", 60)


def test_rows_and_columns_may_stand_in_any_order(rng, few_judged):
    X, y = table(150, rng)
    whole, turned = proba(X, y, X), rng.permutation(150)
    np.testing.assert_allclose(proba(X.iloc[turned], y[turned], X), whole, rtol=0, atol=1e-9)
    np.testing.assert_allclose(proba(X[["c", "a", "b"]], y, X), whole, rtol=0, atol=1e-9)


@pytest.mark.slow
def test_rows_and_columns_with_missing_cells_may_stand_in_any_order(rng):
    X, y = table(60, rng)
    X["u"], X["v"] = rng.choice([*"pq"], 60), rng.choice([*"klm"], 60)
    X, turned = X.mask(rng.random(X.shape) < 0.2), rng.permutation(60)
    whole = proba(X, y, X)
    np.testing.assert_allclose(proba(X.iloc[turned], y[turned], X), whole, rtol=0, atol=1e-9)
    np.testing.assert_allclose(proba(X[[*"vcaub"]], y, X), whole, rtol=0, atol=1e-9)


def test_folds_of_rows_do_not_depend_on_their_order(rng):
    codes, proba = np.sort(rng.integers(0, 3, 40)), rng.random(40)
    folds, turned = held_out.folds_of(codes, proba), rng.permutation(40)
    np.testing.assert_array_equal(held_out.folds_of(codes[turned], proba[turned]), folds[turned])
    shares = [np.bincount(folds[codes == k], minlength=held_out.FOLDS) for k in range(3)]
    assert np.ptp(shares, axis=1).max() <= 1


@pytest.mark.filterwarnings("ignore::bayesgen.errors.SuspiciousColumn")
def test_a_column_that_is_never_observed_changes_nothing(rng):
    X, y = table(60, rng)
    other = X.assign(z=np.nan)
    np.testing.assert_allclose(proba(other, y, other), proba(X, y, X), rtol=0, atol=1e-12)


def first_lacks(what):
    """Return a table whose first ten rows lack what decides on members, and labels."""
    rng = np.random.default_rng(4)
    X, y = table(60, rng)
    X["u"], X["v"] = rng.choice([*"pq"], 60), rng.choice([*"klmn"], 60)
    if what == "a gap":
        X.loc[30, "a"] = np.nan
    if what == "a column of numbers":
        X.loc[:9, "b"] = np.nan
    if what == "a column of levels":
        X.loc[:9, "v"] = None
    if what == "a level":
        X.loc[:9, "v"] = "m"
    return X, y


def law_calls(what):
    X, y = first_lacks(what)
    whole = bg.StackedClassifier(random_state=0, progress=False).fit(X, y)
    parts = clone(whole).fit(X[:10], y[:10])
    parts.partial_fit(X[10:], y[10:])
    assert list(parts.members_) == list(whole.members_) and parts.left_out_ == whole.left_out_
    np.testing.assert_allclose(parts.predict_proba(X), whole.predict_proba(X), rtol=0, atol=1e-7)


@pytest.mark.filterwarnings("ignore::bayesgen.errors.SuspiciousColumn")
@pytest.mark.parametrize("what", fast_only(LACKING[-1:], LACKING))
def test_members_follow_from_the_rows_of_all_calls(what):
    law_calls(what)


@pytest.mark.filterwarnings("ignore::bayesgen.errors.BayesgenWarning")
def test_fault_members_of_the_first_call(monkeypatch):
    monkeypatch.setattr(bg.StackedClassifier, "_is_still", lambda self, name, *_: True)
    with pytest.raises((AssertionError, KeyError)):
        law_calls("a level")
