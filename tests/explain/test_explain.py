"""Weight of evidence: parts that add up to log-odds, in every family and for every posterior."""

import itertools
import warnings

import numpy as np
import pandas as pd
import pytest
from cases import CASES
from explained import FITS, cells, fitted
from paces import fast_only

import bayesgen as bg
from bayesgen.errors import BayesgenWarning, InvalidArgument, NoAttribute
from bayesgen.explain import evidence

PRIOR = "(prior)"
# what cells say is asked of a posterior of each kind, and of every family of one kind
EVERY_KIND = [fit for fit in FITS if fit[0] in ("Normal", "MultivariateNormal", "Categorical")]
EVERY_FAMILY = [fit for fit in FITS if fit[1] == "exact"]


@pytest.fixture(scope="module")
def titanic():
    X, y = bg.datasets.load_titanic_passengers()
    return bg.NaiveBayes(random_state=0).fit(X[::3], y[::3]), X, y


@pytest.fixture(scope="module")
def iris():
    X, y = bg.datasets.load_iris()
    return bg.QDA(random_state=0).fit(X, y), X, y


def some_rows(name, n=12):
    """Return rows of a case with a quarter of the cells missing, one of them all."""
    X = cells(CASES[name], n, seed=5)[0]
    gaps = np.random.default_rng(6).random(X.shape) < 0.25
    gaps[0] = True
    return np.where(gaps, np.nan, X), gaps


def quiet(call, *arguments, **options):
    """Return what a call returns; few draws, and counts of 0, have their own tests."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BayesgenWarning)
        return call(*arguments, **options)


def check_sum(clf, X, gaps, order):
    """Assert that rows sum to log-odds, by pair and by class, and that missing cells add 0."""
    joint = quiet(clf.predict_joint_log_proba, X)
    possible = np.isfinite(joint).all(axis=1)
    for target, against in ((1, 0), (0, 2)):
        parts = quiet(clf.evidence, X, target, against, order=order)
        assert (parts.to_numpy()[:, 1:][gaps] == 0).all()
        expected = joint[possible, target] - joint[possible, against]
        np.testing.assert_allclose(parts[possible].sum(axis=1), expected, rtol=1e-9, atol=1e-9)
    every = quiet(clf.evidence, X, order=order)
    for k in range(3):
        total = every[k][possible].sum(axis=1)
        expected = joint[possible, k] - joint[possible].mean(axis=1)
        np.testing.assert_allclose(total, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("fit", fast_only(EVERY_KIND + EVERY_FAMILY, FITS), ids="-".join)
def test_rows_sum_to_log_odds(fit):
    name, method = fit
    for order in ("columns", "shapley"):
        check_sum(fitted(name, method), *some_rows(name), order)


def test_two_classes_sum_to_the_decision_function(titanic):
    clf, X, _ = titanic
    holed = X.mask(np.random.default_rng(0).random(X.shape) < 0.3)
    for rows in (X, holed):
        parts = clf.evidence(rows)
        np.testing.assert_allclose(parts.sum(axis=1), clf.decision_function(rows), atol=1e-9)
        assert list(parts.columns) == [PRIOR, *X.columns] and (parts.index == X.index).all()
        np.testing.assert_allclose(clf.evidence(rows, "no"), -parts, atol=1e-12)
        np.testing.assert_allclose(clf.evidence(rows, against="yes"), -parts, atol=1e-12)


@pytest.mark.parametrize("temper", [0.5, "learn"])
def test_tempered_rows_sum_too(temper, titanic):
    X, y = titanic[1:]
    clf = bg.NaiveBayes(temper=temper, random_state=0).fit(X[::3], y[::3])
    parts = clf.evidence(X[:50])
    np.testing.assert_allclose(parts.sum(axis=1), clf.decision_function(X[:50]), atol=1e-9)
    if temper == 0.5:
        direct = titanic[0].evidence(X[:50])
        np.testing.assert_allclose(parts.iloc[:, 1:], direct.iloc[:, 1:] / 2, atol=1e-9)
        ends = (clf.evidence(X[:9], interval=0.9)[1:], titanic[0].evidence(X[:9], interval=0.9)[1:])
        for tempered, untempered in zip(*ends, strict=True):
            np.testing.assert_allclose(tempered.iloc[:, 1:], untempered.iloc[:, 1:] / 2, atol=1e-9)


def test_a_naive_cell_is_its_own_bayes_factor(titanic):
    """Whatever the order of the columns: the log of the ratio of two predictive densities."""
    clf, X, _ = titanic
    parts = clf.evidence(X[:40])
    post = clf.fitted_.posterior.components.model.blocks
    t = post["normal"].log_predictive(clf._read_rows(X[:40]).encoded["normal"])
    np.testing.assert_allclose(parts["age"], t[:, 1] - t[:, 0], atol=1e-9)
    np.testing.assert_allclose(clf.evidence(X[:40], order="shapley"), parts, atol=1e-9)


def test_conditional_contributions_in_column_order(iris):
    clf, X, _ = iris
    X = X[::10]
    parts = clf.evidence(X, "virginica", "versicolor")
    blank = X.assign(**dict.fromkeys(X.columns, np.nan))
    logs = [clf.predict_joint_log_proba(blank)]
    for j in range(4):
        shown = X.assign(**dict.fromkeys(X.columns[j + 1 :], np.nan))
        logs.append(clf.predict_joint_log_proba(shown))
        more = logs[-1] - logs[-2]
        np.testing.assert_allclose(parts.iloc[:, 1 + j], more[:, 2] - more[:, 1], atol=1e-9)


def by_brute_force(clf, X, target, against):
    """Return contributions in each of the 24 orders, shape (order, row, feature)."""
    t, a = (clf.classes_.tolist().index(k) for k in (target, against))
    out = []
    for order in itertools.permutations(X.columns):
        shown = X.assign(**dict.fromkeys(X.columns, np.nan))
        before = clf.predict_joint_log_proba(shown)
        parts = {}
        for name in order:
            shown = shown.assign(**{name: X[name]})
            after = clf.predict_joint_log_proba(shown)
            parts[name] = (after - before)[:, t] - (after - before)[:, a]
            before = after
        out.append(np.stack([parts[name] for name in X.columns], axis=1))
    return np.array(out)


@pytest.mark.parametrize("make", [bg.QDA, bg.LDA])
def test_shapley_is_the_mean_over_all_orders(make, iris):
    _, X, y = iris
    clf = make(random_state=0).fit(X, y)
    rows = X[::30].copy()
    rows.iloc[1, 2] = np.nan
    found = clf.evidence(
        rows, "setosa", "virginica", order="shapley", interval="orders", return_error=True
    )
    orders_ = by_brute_force(clf, rows, "setosa", "virginica")
    wanted = orders_.mean(axis=0), orders_.min(axis=0), orders_.max(axis=0)
    for part, expected in zip(found, wanted, strict=False):
        np.testing.assert_allclose(part.iloc[:, 1:], expected, atol=1e-9)
    assert (found[3].to_numpy() == 0).all()


def test_sampled_orders_err_as_they_say(monkeypatch):
    """All of 40 numbers within 5 standard errors: a false alarm has a probability of 3e-5."""
    rng = np.random.default_rng(4)
    y = np.arange(80) % 2
    X = rng.normal(size=(80, 10)) @ rng.normal(size=(10, 10)) + y[:, None]
    clf = bg.QDA(random_state=0).fit(X, y)
    sampled, error = clf.evidence(X[:4], order="shapley", return_error=True)
    np.testing.assert_allclose(sampled.sum(axis=1), clf.decision_function(X[:4]), atol=1e-9)
    monkeypatch.setattr(evidence, "EXACT", 10)
    exact = clf.evidence(X[:4], order="shapley")
    away = np.abs(sampled - exact).to_numpy()[:, 1:]
    assert (away <= 5 * error.to_numpy()[:, 1:]).all() and (away > 0).all()


def test_intervals_are_quantiles_of_the_posterior():
    """Of the log ratio of two Beta variables; shares below the ends within 5 standard errors."""
    rng = np.random.default_rng(5)
    y = np.arange(60) % 2
    X = (rng.random((60, 2)) < 0.3 + 0.4 * y[:, None]).astype(float)
    clf = bg.NaiveBayes(bg.Bernoulli(), random_state=0).fit(X, y)
    row = np.array([[1.0, np.nan]])
    value, low, high = clf.evidence(row, interval=0.8)
    (block,) = clf.fitted_.posterior.components.model.blocks.values()
    yes, no = block.rows * block.prob, block.rows * (1 - block.prob)
    logs = np.log(rng.beta(yes[:, 0], no[:, 0], (200_000, 2)))
    ratio = logs[:, 1] - logs[:, 0]
    error = 5 * np.sqrt(0.1 * 0.9 / 1000)
    assert abs((ratio < low.iloc[0, 1]).mean() - 0.1) < error
    assert abs((ratio > high.iloc[0, 1]).mean() - 0.1) < error
    assert value.iloc[0, 1] == pytest.approx(np.log(block.prob[1, 0] / block.prob[0, 0]))
    assert low.iloc[0, 2] == high.iloc[0, 2] == 0
    assert low.iloc[0, 0] < value.iloc[0, 0] < high.iloc[0, 0]


def test_intervals_of_joint_blocks_hold_their_value(iris):
    clf, X, _ = iris
    value, low, high = clf.evidence(X[::20], "virginica", "versicolor", interval=0.99)
    inside = (low <= value) & (value <= high)
    assert inside.to_numpy().mean() > 0.9 and (low <= high).to_numpy().all()


def test_another_class_prior_changes_the_prior_alone(titanic):
    clf, X, _ = titanic
    before, after = clf.evidence(X[:5]), clf.with_class_prior([0.9, 0.1]).evidence(X[:5])
    np.testing.assert_allclose(after[PRIOR], np.log(0.1 / 0.9))
    pd.testing.assert_frame_equal(after.iloc[:, 1:], before.iloc[:, 1:])


def test_a_loaded_model_says_the_same(titanic, tmp_path):
    clf, X, _ = titanic
    clf.save(tmp_path / "model.bgm")
    pd.testing.assert_frame_equal(
        bg.load(tmp_path / "model.bgm").evidence(X[:5]), clf.evidence(X[:5])
    )


def test_what_says_nothing_adds_nothing(titanic):
    _, X, y = titanic
    X = X.assign(same=1.0)
    with pytest.warns(BayesgenWarning, match="'same'"):
        clf = bg.NaiveBayes(random_state=0).fit(X, y)
    parts = clf.evidence(X[:4])
    assert (parts["same"] == 0).all() and (parts["sex"] != 0).all()
    with pytest.warns(BayesgenWarning, match="lacks .* the column 'age'"):
        assert (clf.evidence(X[:4].drop(columns="age"))["age"] == 0).all()
    with pytest.warns(BayesgenWarning, match="4th"):
        parts = clf.evidence(X[:4].assign(passengerClass="4th"))
    assert (parts["passengerClass"] == 0).all()


def test_columns_that_nobody_reads_are_left_out(titanic):
    _, X, y = titanic
    clf = bg.GenerativeClassifier({"sex": bg.Categorical()}, remainder="drop").fit(X, y)
    assert list(clf.evidence(X[:3]).columns) == [PRIOR, "sex"]


def test_impossible_rows_have_the_prior_and_no_more():
    X = pd.DataFrame({"a": ["x", "x", "y", "y", "z"], "b": ["u", "v", "v", "v", "u"]})
    clf = bg.NaiveBayes(inference="mle").fit(X, [0, 0, 1, 1, 2])
    rows = pd.DataFrame({"a": ["x", "x", "y"], "b": ["u", "v", "u"]})
    parts = clf.evidence(rows, 0, 1)
    np.testing.assert_allclose(parts.iloc[0], [0.0, np.inf, np.log(0.5)])
    np.testing.assert_allclose(parts.iloc[2], [0.0, 0.0, 0.0], atol=1e-12)
    every = clf.evidence(rows)
    assert every.loc[1, (1, "a")] == -np.inf and np.isfinite(every.loc[1, (0, "a")])


# --- planted faults ------------------------------------------------------------------------------


def test_a_column_by_itself_breaks_the_sum(monkeypatch):
    """In a joint block the densities of single columns do not add up."""

    def alone(order):
        shown = np.concatenate([np.zeros((1, len(order)), dtype=bool), np.eye(len(order)) > 0])
        return evidence.Orders(shown, [evidence.Step(i, 0, i + 1, 1.0) for i in order])

    monkeypatch.setattr(evidence, "in_turn", alone)
    check_sum(fitted("Normal", "exact"), *some_rows("Normal"), "columns")
    with pytest.raises(AssertionError):
        check_sum(
            fitted("MultivariateNormal", "exact"), *some_rows("MultivariateNormal"), "columns"
        )


def test_equal_weights_of_subsets_break_the_sum(monkeypatch):
    monkeypatch.setattr(evidence, "factorial", lambda n: 1.0)
    with pytest.raises(AssertionError):
        check_sum(
            fitted("MultivariateNormal", "exact"), *some_rows("MultivariateNormal"), "shapley"
        )


# --- refused -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"target": "rose"}, "target is 'rose'; allowed: 'setosa'"),
        ({"against": "setosa"}, "target is None; allowed: 'versicolor', 'virginica'"),
        ({"target": "setosa", "against": "setosa"}, "target is 'setosa'"),
        ({"order": "rows"}, "order is 'rows'"),
        ({"interval": "orders"}, "order='shapley'"),
    ],
)
def test_refused(iris, arguments, sentence):
    clf, X, _ = iris
    with pytest.raises(InvalidArgument, match=sentence):
        clf.evidence(X, **arguments)


def test_a_point_estimate_has_no_intervals(iris):
    _, X, y = iris
    with pytest.raises(NoAttribute, match="evidence"):
        bg.LDA(inference="mle").fit(X, y).evidence(X, interval=0.9)
