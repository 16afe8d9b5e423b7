"""Trees and missing values: which rows they answer by the marginal, and what a stack does then."""

import itertools

import numpy as np
import pandas as pd
import pytest
from stacked_tables import iris

import bayesgen as bg

WIDTH = "petal_width"
NODES = np.linspace(-15.0, 18.0, 3301)
"""Steps of .01 of densities no narrower than .1: the trapezoid rule is exact to rounding. Beyond
lie 50 standard deviations of a Student-t with more than 20 degrees: less than 1e-20."""


def missing(X, name=WIDTH):
    return X.assign(**{name: np.nan})


def log_marginal(clf, row, name=WIDTH):
    """Return log p(x without a column, y) of one row, by the trapezoid rule."""
    many = pd.concat([row] * len(NODES), ignore_index=True).assign(**{name: NODES})
    joint = np.exp(clf.predict_joint_log_proba(many))
    return np.log(np.trapezoid(joint, NODES, axis=0))


@pytest.fixture(scope="module")
def three():
    """A stack of a tree and two joint normals over three columns, untempered, and its rows."""
    X, y = iris()
    X = X[["sepal_length", "petal_length", WIDTH]]
    members = {
        "LDA": bg.LDA(),
        "trees": bg.GenerativeClassifier(bg.TreeNormal()),
        "QDA": bg.QDA(),
    }
    return bg.StackedClassifier(members, temper=None, random_state=0).fit(X, y), X, y


# -- levels: summed ------------------------------------------------------------------------------

LEVELS = {"a": 2, "b": 3, "c": 2, "d": 4}


def leaning(gaps):
    """Return columns of levels that lean on each other, some cells missing, and classes."""
    rng = np.random.default_rng(0)
    codes = {name: rng.integers(0, size, 60) for name, size in LEVELS.items()}
    codes["c"] = np.where(rng.random(60) < 0.8, codes["a"], codes["c"])
    codes["d"] = np.where(rng.random(60) < 0.6, codes["a"] + codes["c"], codes["d"])
    types = {n: pd.CategoricalDtype([f"{n}{i}" for i in range(s)]) for n, s in LEVELS.items()}
    X = pd.DataFrame({n: [f"{n}{i}" for i in code] for n, code in codes.items()}).astype(types)
    return X, X.mask(rng.random(X.shape) < gaps), np.arange(60) % 2


@pytest.mark.parametrize("names", ["a", "bd", "abc", "abcd"])
@pytest.mark.parametrize("gaps", [0.0, 0.2])
def test_levels_that_are_missing_are_summed_out(gaps, names):
    X, fitted, y = leaning(gaps)
    clf = bg.GenerativeClassifier(bg.TreeCategorical()).fit(fitted, y)
    row = X.iloc[[5]]
    every = list(itertools.product(*(X[name].cat.categories for name in names)))
    full = pd.concat([row] * len(every), ignore_index=True)
    full[list(names)] = pd.DataFrame(every, columns=list(names)).astype(X.dtypes[list(names)])
    summed = np.logaddexp.reduce(clf.predict_joint_log_proba(full), axis=0)
    found = clf.predict_joint_log_proba(row.mask(row.columns.isin(list(names))[None]))
    # at most 48 densities are added, each rounded in its last digit
    np.testing.assert_allclose(found[0], summed, rtol=0, atol=1e-12)


def test_rows_left_out_are_summed_as_fits_without_them_sum():
    _, fitted, y = leaning(0.2)
    clf = bg.GenerativeClassifier(bg.TreeCategorical()).fit(fitted, y)
    found = clf.loo()["log_proba"]
    for i in np.flatnonzero(fitted.isna().any(axis=1))[:6]:
        rest = np.arange(len(y)) != i
        again = bg.GenerativeClassifier(bg.TreeCategorical()).fit(fitted[rest], y[rest])
        expected = again.predict_log_proba(fitted.iloc[[i]])[0, y[i]]
        assert found.iloc[i] == pytest.approx(expected, abs=1e-9)


# -- numbers: no closed form ---------------------------------------------------------------------


def test_the_only_column_shown_has_its_own_density():
    """Two columns, complete at fit, one of them missing: exact."""
    X, y = iris()
    X = X[["petal_length", WIDTH]]
    clf = bg.GenerativeClassifier(bg.TreeNormal()).fit(X, y)
    row = X.iloc[[30]]
    found = clf.predict_joint_log_proba(missing(row))[0]
    np.testing.assert_allclose(found, log_marginal(clf, row), rtol=0, atol=1e-9)


def test_the_report_says_what_is_not_the_integral():
    X, y = iris()
    reported = bg.GenerativeClassifier(bg.TreeNormal()).fit(X, y).report_.verdict
    assert (
        "not the integral over its missing values" in reported and "nothing approx" not in reported
    )
    assert "nothing approximated" in bg.QDA().fit(X, y).report_.verdict


def test_the_report_of_a_stack_names_the_members(three):
    stack, _, _ = three
    assert "answered without 'trees' where" in stack.report_.verdict


# -- stacks: outside where they have no marginal -------------------------------------------------


def test_a_stack_answers_by_the_members_whose_answer_is_the_integral(three):
    stack, X, _ = three
    for i in (25, 45):
        row, total, proba, density = X.iloc[[i]], 0.0, 0.0, 0.0
        for name, member in stack.members_.items():
            integral = log_marginal(member, row)
            own = member.predict_joint_log_proba(missing(row))[0]
            exact = np.allclose(own, integral, rtol=0, atol=1e-9)
            assert exact == (name != "trees")
            if exact:
                weight, joint = stack.weights_[name], np.exp(integral)
                total += weight
                proba = proba + weight * joint / joint.sum()
                density += weight * joint.sum()
        found = stack.predict_proba(missing(row))[0]
        np.testing.assert_allclose(found, proba / total, rtol=0, atol=1e-9)
        np.testing.assert_allclose(stack.score_samples(missing(row)), np.log(density / total))


def test_an_automatic_stack_leaves_trees_out_of_rows_with_missing_values():
    X, y = iris()
    stack = bg.StackedClassifier(temper=None, random_state=0).fit(X, y)
    assert "trees, power-transformed" in stack.members_
    for rows, kept in ((X, list(stack.members_)), (missing(X), None)):
        kept = kept or [name for name in stack.members_ if "trees" not in name]
        total = sum(stack.weights_[name] for name in kept)
        parts = [stack.weights_[n] / total * stack.members_[n].predict_proba(rows) for n in kept]
        np.testing.assert_allclose(stack.predict_proba(rows), sum(parts), rtol=0, atol=1e-12)
    gaps = bg.StackedClassifier(random_state=0).fit(X.mask(np.eye(len(X), 4, dtype=bool)), y)
    assert "quadratic, power-transformed" in gaps.members_
    assert "trees, power-transformed" not in gaps.members_


def test_a_row_is_answered_alike_beside_any_others(three):
    stack, X, _ = three
    rows = X.copy()
    rows.iloc[::2, 2] = np.nan
    rows.iloc[::3, 0] = np.nan
    whole = stack.predict_joint_log_proba(rows)
    for i in range(8):
        alone = stack.predict_joint_log_proba(rows.iloc[[i]])[0]
        np.testing.assert_allclose(whole[i], alone, rtol=0, atol=1e-9)


def test_draws_and_filled_cells_leave_trees_out_too(three):
    stack, X, y = three
    rows = pd.concat([X.iloc[[30]], missing(X.iloc[[30]])], ignore_index=True)
    draws = stack.predict_draws(rows)
    silent = (draws["weight"] == 0).sum("draw").values
    assert silent[0] == 0 < silent[1] < draws.sizes["draw"]
    np.testing.assert_allclose(draws["weight"].sum("draw"), 1.0, rtol=1e-12)
    alone = {"LDA": bg.LDA(), "trees": bg.GenerativeClassifier(bg.TreeNormal())}
    both = bg.StackedClassifier(alone, random_state=0).fit(X, y)
    one = bg.StackedClassifier({"LDA": bg.LDA()}, random_state=0).fit(X, y)
    filled = both.impute(missing(X), random_state=1)
    pd.testing.assert_frame_equal(filled, one.impute(missing(X), random_state=1))


def test_parts_of_evidence_sum_to_the_log_odds_without_trees(three):
    stack, X, _ = three
    rows = missing(X)
    parts = stack.evidence(rows, "virginica", "versicolor", order="shapley")
    log = stack.predict_log_proba(rows)
    np.testing.assert_allclose(parts.sum(axis=1), log[:, 2] - log[:, 1], rtol=0, atol=1e-9)


def test_trees_are_weighed_by_the_rows_that_they_can_answer():
    """Nothing nearby is higher than the weights, of what `loo` says of every member."""
    X, y = iris()
    X = X.mask(np.random.default_rng(1).random(X.shape) < 0.1)
    members = {
        "naive": bg.NaiveBayes(),
        "shared": bg.NaiveBayes(bg.Normal(spread="shared")),
        "trees": bg.GenerativeClassifier(bg.TreeNormal()),
    }
    stack = bg.StackedClassifier(members, temper=None).fit(X, y)
    stated = np.exp([member.loo()["log_proba"] for member in stack.members_.values()])
    able = np.ones(stated.shape)
    able[2] = X.notna().all(axis=1)
    assert 0 < able[2].mean() < 1

    def objective(w):
        return (
            np.log((w * able.T * stated.T).sum(axis=1) / (able.T @ w)).sum()
            + np.log(w).sum() * 2 / 3
        )

    found = np.array(list(stack.weights_.values()))
    rng = np.random.default_rng(0)
    for _ in range(50):
        other = found * np.exp(0.01 * rng.standard_normal(3))
        # the steps end where none moves a weight by 1e-9
        assert objective(other / other.sum()) < objective(found) + 1e-9


def test_where_no_other_member_is_left_trees_answer():
    X, y = iris()
    tree = bg.GenerativeClassifier(bg.TreeNormal())
    stack = bg.StackedClassifier({"trees": tree}, temper=None).fit(X, y)
    rows = missing(X)
    expected = stack.members_["trees"].predict_proba(rows)
    np.testing.assert_allclose(stack.predict_proba(rows), expected, rtol=0, atol=1e-12)
    assert stack.impute(rows, random_state=0).notna().all(axis=None)
