"""Stacks of many columns: which members there are, and that left-out scores are honest."""

import numpy as np
import pandas as pd
import pytest

import bayesgen as bg
from bayesgen.estimators.stack import structures
from bayesgen.table import read_table

pytestmark = pytest.mark.filterwarnings("ignore:.*with the cube")


def simulated(difference, number, seed=0, n=60, new=1000, columns=200):
    """Return rows whose classes differ in some columns, and new rows, with their labels."""
    rng = np.random.default_rng(seed)
    y = np.arange(n + new) % 2
    x = rng.standard_normal((n + new, columns))
    x[:, :number] += difference * (y[:, None] - 0.5)
    return x[:n], y[:n], x[n:], y[n:]


def log_loss(clf, x, y):
    return -clf.predict_log_proba(x)[np.arange(len(y)), y].mean()


@pytest.mark.parametrize(("difference", "number", "most"), [(1.2, 6, 0.45), (0.25, 200, 0.45)])
def test_few_columns_that_matter_and_many_that_matter_a_little(difference, number, most):
    """New rows are predicted as well as the rows left out, with the member made for the table."""
    x, y, new, labels = simulated(difference, number)
    stack = bg.StackedClassifier(random_state=0).fit(x, y)
    assert list(stack.members_) == ["average", "naive_shared"]
    assert stack.weights_["average"] > 0.7 if number == 6 else stack.weights_["average"] < 0.3
    loss = log_loss(stack, new, labels)
    assert loss < most
    assert loss < stack.report_.details["leave-one-out log loss"] + 0.1


@pytest.mark.slow
def test_a_pool_of_a_column_each_would_know_the_left_out_rows(monkeypatch):
    """The fault that columns in blocks of their own would be: scores of rows left out too good."""
    monkeypatch.setattr(structures, "_of_many", lambda *_: {})
    x, y, new, labels = simulated(0.15, 400, columns=400)
    stack = bg.StackedClassifier(random_state=0).fit(x, y)
    assert log_loss(stack, new, labels) > stack.report_.details["leave-one-out log loss"] + 0.1


def test_more_rows_than_columns_keep_the_other_members(monkeypatch):
    monkeypatch.setattr(structures, "WIDEST", 3)
    x, y, _, _ = simulated(0.5, 5, columns=5)
    stack = bg.StackedClassifier(members=["naive", "average", "naive_shared"]).fit(x, y)
    assert stack.weights_.keys() == {"naive", "average", "naive_shared"}


def test_wide_tables_with_levels_and_gaps(tmp_path, monkeypatch):
    """Every verb works; intervals hold the prediction."""
    monkeypatch.setattr(structures, "WIDEST", 20)
    rng = np.random.default_rng(0)
    y = np.arange(36) % 3
    X = pd.DataFrame(rng.standard_normal((36, 30))).rename(columns=lambda j: f"x{j}")
    X["x0"] += 2 * y
    for j in range(10):
        X[f"level{j}"] = rng.choice(list("abc"), 36)
    X = X.mask(rng.random(X.shape) < 0.1)
    stack = bg.StackedClassifier(random_state=0).fit(X, y)
    assert "average" in stack.members_ and "naive" not in stack.members_
    proba, interval = stack.predict_proba(X[:5]), stack.predict_interval(X[:5])
    assert (interval[..., 0] <= proba + 0.02).all()
    assert (proba <= interval[..., 1] + 0.02).all()
    assert stack.members_["average"].relevance().index[0] == "x0"
    assert stack.impute(X[:5], random_state=0).notna().all().all()
    assert np.isfinite(stack.score_samples(X[:5])).all()
    stack.save(tmp_path / "wide.bgm")
    np.testing.assert_array_equal(bg.load(tmp_path / "wide.bgm").predict_proba(X[:5]), proba)


def correlated(seed=0, n=60, new=500, columns=150):
    """Return rows of ten factors, of which classes differ in three small ones, and new rows."""
    rng = np.random.default_rng(seed)
    y = np.arange(n + new) % 2
    size = np.array([3, 3, 2, 2, 1, 1, 1, 0.5, 0.5, 0.5])[:, None]
    factors = rng.standard_normal((n + new, 10))
    factors[:, 5:8] += 1.2 * (y[:, None] - 0.5)
    x = factors @ (size * rng.standard_normal((10, columns)))
    x += 2 * rng.standard_normal(x.shape)
    return x[:n], y[:n], x[n:], y[n:]


def test_a_discriminant_joins_where_columns_are_correlated(tmp_path):
    """It predicts better than independent columns; a row twice, order and files change nothing."""
    x, y, new, labels = correlated()
    stack = bg.StackedClassifier(random_state=0).fit(x, y)
    assert list(stack.weights_) == ["average", "naive_shared", "discriminant"]
    mean = np.mean([log_loss(member, new, labels) for member in stack.members_.values()])
    assert log_loss(stack, new, labels) < mean - 0.05
    left_out = -stack.loo(x, y)["log_proba"].mean()
    assert left_out == pytest.approx(stack.report_.details["leave-one-out log loss"], abs=0.02)
    proba, interval = stack.predict_proba(new[:5]), stack.predict_interval(new[:5])
    assert ((interval[..., 0] <= proba + 0.02) & (proba <= interval[..., 1] + 0.02)).all()
    stack.save(tmp_path / "wide.bgm")
    np.testing.assert_array_equal(bg.load(tmp_path / "wide.bgm").predict_proba(new[:5]), proba)
    twice, weight = np.r_[np.arange(60), 7][::-1], 1.0 + (np.arange(60) == 7)
    again = bg.StackedClassifier(random_state=0).fit(x[twice], y[twice])
    weighed = bg.StackedClassifier(random_state=0).fit(x, y, sample_weight=weight)
    difference = again.predict_proba(new[:5]) - weighed.predict_proba(new[:5])
    assert np.abs(difference).max() < 1e-9


def test_covariances_of_classes_need_a_row_a_column():
    """With fewer, the determinant of the class that lost a row tells which row was left out."""
    x, y, new, labels = simulated(0.25, 90, columns=90)
    stack = bg.StackedClassifier(random_state=0).fit(x, y)
    assert not [name for name in stack.members_ if "quadratic" in name]
    assert log_loss(stack, new, labels) < stack.report_.details["leave-one-out log loss"] + 0.15
    few = structures.automatic(read_table(x[:, :60]))
    assert {"quadratic", "quadratic_pooled"} <= few.keys()
