"""Scores of a comparison: paired differences, learning curves, thresholds, reliability."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.datasets import load_iris
from sklearn.dummy import DummyClassifier
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.naive_bayes import GaussianNB

import bayesgen as bg
from bayesgen.compare import compare
from bayesgen.compare.folds import subset
from bayesgen.errors import BayesgenError


@pytest.fixture
def iris():
    return load_iris(return_X_y=True)


def test_the_parts_of_the_brier_score_and_the_area_are_those_of_other_packages(iris):
    X, y = iris
    found = compare({"GNB": GaussianNB()}, X, y, cv=5).table.loc["GNB"]
    parts = found["miscalibration"] - found["discrimination"] + found["uncertainty"]
    assert parts == pytest.approx(found["brier"], abs=1e-12)
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    areas = cross_val_score(GaussianNB(), X, y, cv=folds, scoring="roc_auc_ovr")
    assert found["auc"] == pytest.approx(areas.mean(), abs=1e-12)
    assert found["auc_se"] == pytest.approx(areas.std(ddof=1) / np.sqrt(5), abs=1e-12)


def test_differences_are_those_of_nadeau_and_bengio(iris):
    X, y = iris
    classifiers = {"prior": DummyClassifier(), "GNB": GaussianNB()}
    found = compare(classifiers, X, y, cv=5)
    per_fold = []
    for f in range(5):
        rows = found.fold == f
        losses = [log_loss(found.y[rows], p[rows]) for p in found.probabilities.values()]
        per_fold.append(losses[1] - losses[0])
    mean, variance = np.mean(per_fold), np.var(per_fold, ddof=1)
    error = np.sqrt((1 / 5 + 30 / 120) * variance)
    line = found.differences.loc[("GNB", "log_loss")]
    half = stats.t.ppf(0.975, 4) * error
    np.testing.assert_allclose(line, [mean, error, mean - half, mean + half], rtol=1e-10)
    shown = found.table.loc["GNB", ["log_loss_difference", "log_loss_lower", "log_loss_upper"]]
    np.testing.assert_allclose(shown.astype(float), [mean, mean - half, mean + half], rtol=1e-10)
    assert found.table.loc["prior", ["log_loss_difference", "log_loss_lower"]].isna().all()


def test_learning_curves(iris):
    classifiers = {"GNB": GaussianNB(), "prior": DummyClassifier(strategy="prior")}
    found = compare(classifiers, *iris, cv=3, train_sizes=[1.0, 12, 0.5])
    assert found.curves.index.to_list() == [(n, s) for n in classifiers for s in (12, 50, 100)]
    whole = found.curves.loc[("GNB", 100)]
    for name in ("log_loss", "log_loss_se", "auc", "miscalibration"):
        assert whole[name] == pytest.approx(found.table.loc["GNB", name], rel=1e-12)
    assert found.curves.loc[("GNB", 12), "log_loss"] > whole["log_loss"]
    again = compare(classifiers, *iris, cv=3, train_sizes=[12]).curves
    expected = found.curves.loc[again.index, "log_loss"]
    np.testing.assert_array_equal(again["log_loss"], expected)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(1, 40), min_size=1, max_size=5), st.integers(0, 2**32 - 1))
def test_subsets_are_nested_and_keep_two_rows_of_every_class(counts, seed):
    y = np.repeat(np.arange(len(counts)), counts)
    parts = [set(subset(y, n, np.random.default_rng(seed)).tolist()) for n in range(1, len(y) + 1)]
    assert all(a <= b for a, b in itertools.pairwise(parts))
    least = sum(min(n, 2) for n in counts)
    assert [len(part) for part in parts] == [max(n, least) for n in range(1, len(y) + 1)]
    kept = np.bincount(y[sorted(parts[0])], minlength=len(counts))
    assert (kept == np.minimum(counts, 2)).all()


def test_subsets_hold_the_classes_in_proportion():
    y = np.repeat([0, 1, 2], [100, 50, 10])
    count = np.bincount(y[subset(y, 80, np.random.default_rng(0))])
    assert np.abs(count - [50, 25, 5]).max() <= 1


@pytest.mark.parametrize("size", [5, 101])
def test_train_sizes_that_cannot_be_are_refused(iris, size):
    with pytest.raises(BayesgenError, match=r"train_sizes is .* 6 to 100 rows"):
        compare({"GNB": GaussianNB()}, *iris, cv=3, train_sizes=[size])


def test_what_out_of_fold_probabilities_say_about_thresholds_and_reliability():
    X, y = bg.datasets.load_titanic()
    found = compare({"MLE": bg.NaiveBayes(inference="mle")}, X, y, cv=5)
    table = found.confusion("MLE")
    assert (table.index.to_list(), table.columns.to_list()) == (["No", "Yes"], ["No", "Yes"])
    assert np.trace(table) / 2201 == pytest.approx(found.table.loc["MLE", "accuracy"], abs=1e-12)
    line = found.thresholds("MLE", [0.5]).iloc[0]
    assert line["accuracy"] == pytest.approx(found.table.loc["MLE", "accuracy"], abs=1e-12)
    assert line["true_positives"] == table.loc["Yes", "Yes"]
    other = found.thresholds("MLE", [0.5], positive="No").iloc[0]
    assert other["sensitivity"] == pytest.approx(line["specificity"], abs=1e-12)
    points = found.roc("MLE")
    area = np.trapezoid(points["true_positive_rate"], points["false_positive_rate"])
    theirs = roc_auc_score(found.y, found.probabilities["MLE"][:, 1])
    assert area == pytest.approx(theirs, abs=1e-12)
    curves = found.reliability("MLE", resamples=20)
    assert [curve.name for curve in curves] == ["Yes", "top label"]
    parts = curves[0].decomposition
    assert 2 * parts.miscalibration == pytest.approx(found.table.loc["MLE", "miscalibration"])
    assert all(curve.rows == curve.blocks["rows"].sum() == 2201 for curve in curves)


def test_events_of_a_comparison_have_names(iris):
    found = compare({"GNB": GaussianNB()}, *iris, cv=2)
    assert [c.name for c in found.reliability("GNB", resamples=2)] == [0, 1, 2, "top label"]
    assert len(found.roc("GNB", positive=2)) > 2
    with pytest.raises(BayesgenError, match="positive is None; allowed: 0, 1"):
        found.roc("GNB")
    with pytest.raises(BayesgenError, match="name is 'MLE'; allowed: 'GNB'"):
        found.confusion("MLE")
    with pytest.raises(BayesgenError, match=r"threshold is 0\.5"):
        found.confusion("GNB", threshold=0.5)
