"""Members that do not integrate over missing values: a stack answers such rows by the others."""

import numpy as np
import pandas as pd
import pytest
from stacked_tables import iris

import bayesgen as bg

NAME, WIDTH = "approximate", "petal_width"


class Approximate(bg.MultivariateNormal):
    """A joint normal said to approximate rows with missing values, and off by a factor there."""

    caveat = "Approximate is exact for complete rows."

    def is_marginal(self, x):
        return ~np.isnan(x).any(axis=1)

    def predictive(self):
        exact = super().predictive()
        return lambda x: exact(x) + np.where(self.is_marginal(x)[:, None], 0.0, np.arange(3.0))


def member():
    return bg.GenerativeClassifier(Approximate(), inference="expected")


def missing(X):
    return X.assign(**{WIDTH: np.nan})


@pytest.fixture(scope="module")
def three():
    """A stack of the approximation and two joint normals, untempered, and its rows."""
    X, y = iris()
    X = X[["sepal_length", "petal_length", WIDTH]]
    members = {"LDA": bg.LDA(), NAME: member(), "QDA": bg.QDA()}
    return bg.StackedClassifier(members, temper=None, pool=None, random_state=0).fit(X, y), X, y


def test_reports_name_the_approximation(three):
    stack, X, y = three
    assert "missing" not in stack.report_.verdict  # no cell is
    incomplete = pd.concat([X[2:], missing(X[:2])]), [*y[2:], *y[:2]]
    report = bg.StackedClassifier({NAME: member()}, random_state=0).fit(*incomplete).report_
    assert f"Rows whose missing values '{NAME}' cannot integrate over" in report.verdict
    assert Approximate.caveat in member().fit(X, y).report_.verdict
    assert "nothing approximated" in bg.QDA().fit(X, y).report_.verdict


def test_rows_are_answered_by_the_other_members(three):
    stack, X, _ = three
    for rows, kept in ((X, ["LDA", NAME, "QDA"]), (missing(X), ["LDA", "QDA"])):
        total = sum(stack.weights_[name] for name in kept)
        share = {name: stack.weights_[name] / total for name in kept}
        parts = [share[n] * stack.members_[n].predict_proba(rows) for n in kept]
        np.testing.assert_allclose(stack.predict_proba(rows), sum(parts), rtol=0, atol=1e-12)
        parts = [np.log(share[n]) + stack.members_[n].score_samples(rows) for n in kept]
        np.testing.assert_allclose(stack.score_samples(rows), np.logaddexp.reduce(parts))


def test_a_row_is_answered_alike_beside_any_others(three):
    stack, X, _ = three
    rows = X.copy()
    rows.iloc[::2, 2] = np.nan
    rows.iloc[::3, 0] = np.nan
    whole = stack.predict_joint_log_proba(rows)
    for i in range(8):
        alone = stack.predict_joint_log_proba(rows.iloc[[i]])[0]
        np.testing.assert_allclose(whole[i], alone, rtol=0, atol=1e-9)


def test_draws_and_imputed_cells_leave_it_out_too(three):
    stack, X, y = three
    rows = pd.concat([X.iloc[[30]], missing(X.iloc[[30]])], ignore_index=True)
    draws = stack.predict_draws(rows)
    silent = (draws["weight"] == 0).sum("draw").values
    assert silent[0] == 0 < silent[1] < draws.sizes["draw"]
    np.testing.assert_allclose(draws["weight"].sum("draw"), 1.0, rtol=1e-12)
    both = bg.StackedClassifier({"LDA": bg.LDA(), NAME: member()}, random_state=0).fit(X, y)
    one = bg.StackedClassifier({"LDA": bg.LDA()}, random_state=0).fit(X, y)
    filled = both.impute(missing(X), random_state=1)
    pd.testing.assert_frame_equal(filled, one.impute(missing(X), random_state=1))


def test_parts_of_evidence_sum_to_the_log_odds_of_the_others(three):
    stack, X, _ = three
    rows = missing(X)
    parts = stack.evidence(rows, "virginica", "versicolor", order="shapley")
    log = stack.predict_log_proba(rows)
    np.testing.assert_allclose(parts.sum(axis=1), log[:, 2] - log[:, 1], rtol=0, atol=1e-9)


def test_it_is_weighted_by_the_rows_that_it_answers():
    """No weights nearby have a higher score, of what `loo` states of every member."""
    X, y = iris()
    X = X.mask(np.random.default_rng(1).random(X.shape) < 0.1)
    shared = bg.NaiveBayes(bg.Normal(spread="shared"))
    members = {"naive": bg.NaiveBayes(), "shared": shared, NAME: member()}
    stack = bg.StackedClassifier(members, temper=None, pool=None).fit(X, y)
    stated = np.exp([m.loo()["log_proba"] for m in stack.members_.values()])
    able = np.ones(stated.shape)
    able[2] = X.notna().all(axis=1)
    assert 0 < able[2].mean() < 1

    def objective(w):
        score = np.log((w * able.T * stated.T).sum(axis=1) / (able.T @ w)).sum()
        return score + np.log(w).sum() * 2 / 3

    found = np.array(list(stack.weights_.values()))
    rng = np.random.default_rng(0)
    for _ in range(50):
        other = found * np.exp(0.01 * rng.standard_normal(3))
        # the steps end where none moves a weight by 1e-9
        assert objective(other / other.sum()) < objective(found) + 1e-9


def test_where_no_other_member_is_left_it_answers():
    X, y = iris()
    stack = bg.StackedClassifier({NAME: member()}, temper=None, pool=None).fit(X, y)
    rows = missing(X)
    expected = stack.members_[NAME].predict_proba(rows)
    np.testing.assert_allclose(stack.predict_proba(rows), expected, rtol=0, atol=1e-12)
    assert stack.impute(rows, random_state=0).notna().all(axis=None)
