"""The distribution of a missing cell: that of the joint density, for every likelihood."""

import numpy as np
import pandas as pd
import pytest
from cases import CASES
from explained import FITS, WORDS, cells, fitted
from paces import fast_only
from scipy import stats

import bayesgen as bg
from bayesgen.errors import UnsupportedOperation
from bayesgen.explain.conditional import mixture_moments

ERRORS = 5.0
ASKED = [(name, method) for name, method in FITS if name not in WORDS]
COMPILED = [(name, method) for name, method in ASKED if method == "map"]
AT_ONCE = [fit for fit in ASKED if fit[1] == "exact"]
AT_ONCE += [(name, "mle") for name in ("Normal", "MultivariateNormal", "Categorical")]
AT_ONCE += [("Normal", "draws")]
"""Cells under many draws are imputed, which has tests of its own."""


def by_quadrature(clf, case, row, j):
    """Return the values of a column, in order, and the probability of each by the joint density."""
    values, weights = case.line(cells(case, 40, seed=3)[0], j)
    order = np.argsort(values)
    values, weights = values[order], weights[order]
    rows = np.repeat(row[None], len(values), axis=0)
    rows[:, j] = values
    logs = np.logaddexp.reduce(clf.predict_joint_log_proba(rows), axis=1)
    share = np.exp(logs - logs.max()) * weights
    return values, share / share.sum()


@pytest.mark.filterwarnings("ignore::bayesgen.errors.LowSampleSize")
@pytest.mark.parametrize(
    "fit",
    fast_only(AT_ONCE, ASKED, slow=[fit for fit in ASKED if fit not in COMPILED[3:]]),
    ids="-".join,
)
def test_a_cell_has_the_distribution_of_the_joint_density(fit):
    """By enumeration or quadrature; the ends of the interval by the distribution function."""
    name, method = fit
    case, clf = CASES[name], fitted(name, method)
    row = cells(case, 40, seed=3)[0][0].copy()
    row[1] = np.nan
    values, share = by_quadrature(clf, case, row, 1)
    found = clf.conditional(row[None], prob=0.8, draws=400)
    assert set(found["row"]) == {0} and found["column"].nunique() == 1
    if "probability" in found:
        there = dict(zip(found["level"], found["probability"], strict=True))
        expected = {value: p for value, p in zip(values, share, strict=True) if p > 0}
        assert there.keys() >= expected.keys()
        np.testing.assert_allclose([there[v] for v in expected], list(expected.values()), atol=1e-9)
        return
    one = found.iloc[0]
    spread = np.sqrt(share @ (values - share @ values) ** 2)
    # the quadrature's own error: nodes are finite, tails are cut
    near = ERRORS * one["error"] + 0.01 * spread
    assert abs(one["mean"] - share @ values) < near
    fine = len(values) > 150
    for end, tail in (("lower", 0.1), ("upper", 0.9)):
        below = share[values < one[end]].sum(), share[values <= one[end]].sum()
        slack = 0.02 if fine else 1e-6
        slack += ERRORS * np.sqrt(0.09 / 400) * (one["error"] > 0)
        assert below[0] - slack <= tail <= below[1] + slack


def test_one_normal_class_is_the_formula(rng):
    X, y = bg.datasets.load_iris()
    clf = bg.QDA(inference="mle").fit(X, y).with_class_prior([0, 1, 0])
    own = X[y == "versicolor"].to_numpy()
    mean, matrix = own.mean(axis=0), np.cov(own.T, bias=True)
    row = X.iloc[[60]].copy()
    row.iloc[0, [1, 3]] = np.nan
    o, m = [0, 2], [1, 3]
    gain = matrix[np.ix_(m, o)] @ np.linalg.inv(matrix[np.ix_(o, o)])
    centre = mean[m] + gain @ (row.to_numpy()[0, o] - mean[o])
    spread = np.sqrt(np.diag(matrix[np.ix_(m, m)] - gain @ matrix[np.ix_(o, m)]))
    found = clf.conditional(row, prob=0.95)
    np.testing.assert_allclose(found["mean"], centre, rtol=1e-10)
    z = stats.norm.ppf(0.975)
    np.testing.assert_allclose(found["lower"], centre - z * spread, rtol=1e-8)
    np.testing.assert_allclose(found["upper"], centre + z * spread, rtol=1e-8)
    assert (found["error"] == 0).all()


def test_moments_of_a_mixture_are_those_of_scipy(rng):
    weight = np.array([[0.3, 0.7, 0.0]])
    location, scale = rng.normal(size=(1, 3)), rng.gamma(2.0, size=(1, 3))
    degrees = np.array([[3.0, np.inf, 5.0]])
    tails = np.array([0.05, 0.5, 0.95])
    mean, ends = mixture_moments(weight, location, scale, degrees, tails)
    parts = stats.t(3, location[0, 0], scale[0, 0]), stats.norm(location[0, 1], scale[0, 1])
    below = [0.3 * parts[0].cdf(q) + 0.7 * parts[1].cdf(q) for q in ends[0]]
    np.testing.assert_allclose(below, tails, atol=1e-12)
    np.testing.assert_allclose(mean, 0.3 * location[0, 0] + 0.7 * location[0, 1])


def test_a_mean_that_does_not_exist_is_missing():
    one = np.ones((1, 1))
    mean, ends = mixture_moments(one, 0 * one, one, one, np.array([0.25, 0.75]))
    assert np.isnan(mean[0])
    np.testing.assert_allclose(ends[0], [-1, 1])  # quartiles of Cauchy's distribution


@pytest.mark.slow
@pytest.mark.parametrize(
    "make",
    [
        lambda: bg.StackedClassifier([bg.LDA(), bg.NaiveBayes()]),
        lambda: bg.NaiveBayes(power_transform=True),
        lambda: bg.NaiveBayes(temper="learn"),
        lambda: bg.NaiveBayes(missing="informative"),
    ],
    ids=["stack", "power transform", "tempered", "missing pattern"],
)
def test_means_are_those_of_imputations(make):
    X, y = bg.datasets.load_iris()
    rows = X.iloc[[0, 60]].copy()
    rows.iloc[0, 2] = rows.iloc[1, 1] = rows.iloc[1, 3] = np.nan
    clf = make()
    gaps = np.random.default_rng(0).random(X.shape) < 0.05 * (clf.missing == "informative")
    clf.fit(X.mask(gaps), y)
    found = clf.conditional(rows)
    drawn = np.stack([t.to_numpy() for t in clf.impute(rows, 1000, random_state=1)])
    for line in found.itertuples():
        cells_ = drawn[:, list(rows.index).index(line.row), list(X).index(line.column)]
        error = np.hypot(line.error, cells_.std() / np.sqrt(1000))
        assert abs(cells_.mean() - line.mean) < ERRORS * error
        inside = ((cells_ >= line.lower) & (cells_ <= line.upper)).mean()
        assert abs(inside - 0.9) < ERRORS * np.sqrt(0.09 / 1000) + 0.02


def test_the_table_names_rows_and_keeps_only_columns_it_needs():
    X, y = bg.datasets.load_titanic_passengers()
    clf = bg.NaiveBayes().fit(X, y)
    rows = X.iloc[:2].set_axis(["a", "b"])
    assert list(clf.conditional(rows)) == ["row", "column"] and clf.conditional(rows).empty
    levels = clf.conditional(rows.assign(sex=[None, "male"]))
    assert list(levels) == ["row", "column", "level", "probability"]
    assert set(levels["row"]) == {"a"} and abs(levels["probability"].sum() - 1) < 1e-12
    numbers = clf.conditional(rows[["sex", "passengerClass"]].assign(age=np.nan))
    assert list(numbers) == ["row", "column", "mean", "lower", "upper", "error"]
    assert numbers["row"].tolist() == ["a", "b"]
    X, y = bg.datasets.load_iris()
    array = bg.QDA().fit(X.to_numpy(), y).conditional([[5.0, np.nan, 1.4, 0.2]])
    assert array[["row", "column"]].to_numpy().tolist() == [[0, "x1"]]


def test_a_column_that_the_fit_dropped_has_no_distribution():
    X = pd.DataFrame({"a": [0.0, 1.0, 2.0, 3.0], "constant": 1.0})
    with pytest.warns(bg.errors.SuspiciousColumn):
        clf = bg.NaiveBayes().fit(X, [0, 0, 1, 1])
    found = clf.conditional(X.iloc[:1].assign(constant=np.nan))
    assert found["mean"].isna().all() and len(found) == 1


@pytest.mark.parametrize("name", WORDS)
def test_words_are_refused(name):
    case = CASES[name]
    row = cells(case, 40, seed=3)[0][:1]
    row[0, 1] = np.nan
    with pytest.raises(UnsupportedOperation):
        fitted(name, "exact").conditional(row)


def test_bins_are_refused():
    X, y = bg.datasets.load_iris()
    clf = bg.NaiveBayes(bg.Categorical(), bins="auto").fit(X, y)
    with pytest.raises(UnsupportedOperation, match="bins"):
        clf.conditional(X.assign(sepal_width=np.nan))
