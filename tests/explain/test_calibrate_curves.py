"""Reliability curves, their bands, and what thresholds of a probability give."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn import metrics
from sklearn.isotonic import IsotonicRegression

import bayesgen as bg
from bayesgen.calibrate import (
    confusion,
    event_decomposition,
    reliability,
    reliability_curve,
    roc,
    threshold_table,
)
from bayesgen.errors import BayesgenError

EVENT = np.array([False, True, False, True, True])
STATED = np.array([0.1, 0.4, 0.4, 0.7, 0.9])


@pytest.fixture
def forecast(rng):
    """400 rows, rounded so that ties abound, of an event with exactly these probabilities."""
    probability = rng.random(400).round(2)
    return rng.random(400) < probability, probability


def curve(event, probability, **options):
    return reliability_curve(
        event, probability, **{"name": "x", "rng": np.random.default_rng(0), **options}
    )


def test_blocks_by_hand():
    blocks = curve(EVENT, STATED, resamples=5).blocks
    assert blocks["frequency"].tolist() == [0.0, 0.5, 1.0]
    assert blocks["lowest"].tolist() == [0.1, 0.4, 0.7]
    assert blocks["highest"].tolist() == [0.1, 0.4, 0.9]
    assert blocks["rows"].tolist() == [1, 2, 2]
    assert blocks["events"].tolist() == [0, 1, 2]


def test_blocks_are_the_isotonic_regression(forecast):
    event, p = forecast
    blocks = curve(event, p, resamples=1).blocks
    place = np.searchsorted(blocks["highest"], p)
    theirs = IsotonicRegression().fit(p, event).predict(p)
    np.testing.assert_allclose(blocks["frequency"].to_numpy()[place], theirs, atol=1e-12)
    assert (p >= blocks["lowest"].to_numpy()[place]).all()
    assert blocks["rows"].sum() == len(p)
    assert blocks["events"].sum() == event.sum()
    assert blocks["frequency"].is_monotonic_increasing


def test_band_of_one_probability_is_that_of_the_binomial():
    """Without order to keep, the recalibrated probability is the share of events.

    A quantile of 20,000 draws of a binomial of 50 rows is off by at most one row.
    """
    p = np.full(50, 0.3)
    band = curve(np.arange(50) < 15, p, prob=0.8, resamples=20_000).band
    expected = stats.binom.ppf([0.1, 0.9], 50, 0.3) / 50
    np.testing.assert_allclose(band[["lower", "upper"]].to_numpy()[0], expected, atol=0.0201)


@pytest.mark.slow
def test_band_holds_right_probabilities_as_often_as_it_says():
    """Pointwise .9 at p = .5 over 400 data sets: 4 standard errors of a share are .06."""
    rng, p = np.random.default_rng(0), np.linspace(0.05, 0.95, 91)
    inside = []
    for _ in range(400):
        event = rng.random(91) < p
        found = curve(event, p, rng=rng, resamples=200)
        at = np.searchsorted(found.blocks["highest"], 0.5)
        frequency = found.blocks["frequency"][at]
        line = found.band.iloc[45]
        inside.append(line["lower"] <= frequency <= line["upper"])
    assert np.mean(inside) == pytest.approx(0.9, abs=0.06)


def test_curve_keeps_what_a_picture_needs(forecast):
    event, p = forecast
    found = curve(event, p, prob=0.5, resamples=50)
    assert (found.name, found.prob, found.rows) == ("x", 0.5, 400)
    assert found.decomposition == event_decomposition(event, p)
    assert found.histogram["rows"].sum() == 400
    assert found.histogram["rows"][0] == (p <= 0.05).sum()
    wide = curve(event, p, prob=0.95, resamples=50).band
    assert (wide["lower"] <= found.band["lower"]).all()
    assert (wide["upper"] >= found.band["upper"]).all()
    again = curve(event, p, prob=0.5, resamples=50).band
    np.testing.assert_array_equal(found.band, again)


def test_bands_of_many_probabilities_are_thinned(rng):
    p = rng.random(2_000)
    band = curve(rng.random(2_000) < p, p, resamples=3).band
    assert len(band) == 400
    assert band["probability"].iloc[[0, -1]].tolist() == [p.min(), p.max()]


def test_one_curve_for_each_class_and_one_for_the_top_label(rng):
    p = rng.dirichlet(np.ones(3), size=60)
    y = rng.integers(3, size=60)
    found = reliability(np.array(list("abc"))[y], p, ["a", "b", "c"], rng=rng, resamples=2)
    assert [c.name for c in found] == ["a", "b", "c", "top label"]
    assert found[2].decomposition == event_decomposition(y == 2, p[:, 2])
    top = event_decomposition(y == p.argmax(axis=1), p.max(axis=1))
    assert found[3].decomposition == top
    both = reliability(np.where(y, "yes", "no"), p[:, :2], ["no", "yes"], rng=rng, resamples=2)
    assert [c.name for c in both] == ["yes", "top label"]


@pytest.mark.parametrize("options", [{"prob": 1.0}, {"prob": 0.0}, {"resamples": 0}])
def test_bands_that_cannot_be_are_refused(options):
    with pytest.raises(BayesgenError, match="allowed: a"):
        curve(EVENT, STATED, **options)


def test_probabilities_that_round_above_one_are_simulated_as_one():
    band = curve(np.ones(3, dtype=bool), np.full(3, 1 + 1e-16), resamples=3).band
    assert band[["lower", "upper"]].to_numpy().tolist() == [[1.0, 1.0]]


def test_thresholds_by_hand():
    found = threshold_table(EVENT, STATED, [0.5, 0.4, 1.0])
    assert found.index.to_list() == [0.5, 0.4, 1.0]
    half = found.loc[0.5]
    assert half["true_positives":"false_negatives"].tolist() == [2, 0, 2, 1]
    rates = [4 / 5, 2 / 3, 1.0, 1.0, 2 / 3, 0.8]
    assert half["accuracy":"f1"].tolist() == pytest.approx(rates, abs=1e-15)
    assert found.loc[0.4, "true_positives"] == 3
    nothing = found.loc[1.0]
    assert np.isnan(nothing["precision"])
    assert nothing["f1"] == 0.0


@settings(max_examples=50, deadline=None)
@given(st.integers(2, 60), st.sampled_from([0.2, 0.5, 0.95]), st.integers(0, 2**32 - 1))
def test_thresholds_equal_scikit_learns(rows, threshold, seed):
    rng = np.random.default_rng(seed)
    event, p = rng.random(rows) < 0.5, rng.random(rows).round(1)
    event[:2] = [True, False]
    found, called = threshold_table(event, p, [threshold]).loc[threshold], p >= threshold
    counts = metrics.confusion_matrix(event, called).ravel()
    names = ["true_negatives", "false_positives", "false_negatives", "true_positives"]
    assert found[names].tolist() == counts.tolist()
    theirs = [
        metrics.accuracy_score(event, called),
        metrics.recall_score(event, called),
        metrics.recall_score(~event, ~called),
        metrics.precision_score(event, called, zero_division=np.nan),
        metrics.f1_score(event, called),
    ]
    names = ["accuracy", "sensitivity", "specificity", "precision", "f1"]
    assert found[names].tolist() == pytest.approx(theirs, abs=1e-12, nan_ok=True)
    assert found["recall"] == found["sensitivity"]


def test_thresholds_outside_zero_to_one_are_refused():
    with pytest.raises(BayesgenError, match=r"thresholds is 95; allowed: numbers from 0 to 1"):
        threshold_table(EVENT, STATED, [0.5, 95])


def test_roc_equals_scikit_learns(forecast):
    event, p = forecast
    false, true, threshold = metrics.roc_curve(event, p, drop_intermediate=False)
    found = roc(event, p)
    np.testing.assert_allclose(found["false_positive_rate"], false, atol=1e-15)
    np.testing.assert_allclose(found["true_positive_rate"], true, atol=1e-15)
    np.testing.assert_array_equal(found["threshold"], threshold)
    assert found["true_positives"].iloc[-1] == event.sum()


def test_roc_without_events_has_no_true_positive_rate():
    found = roc(np.zeros(2, dtype=bool), np.array([0.3, 0.6]))
    assert found["true_positive_rate"].isna().all()
    assert found["false_positive_rate"].tolist() == [0.0, 0.5, 1.0]


def test_confusion_of_the_lectures_titanic():
    """2201 people, maximum likelihood, the rows that were fitted: .77828 are right."""
    X, y = bg.datasets.load_titanic()
    clf = bg.NaiveBayes(inference="mle").fit(X, y)
    found = confusion(y, clf.predict_proba(X), clf.classes_)
    assert found.to_numpy().tolist() == [[1364, 126], [362, 349]]
    assert np.trace(found) / 2201 == pytest.approx(0.77828, abs=5e-6)
    half = confusion(y, clf.predict_proba(X), clf.classes_, threshold=0.5)
    np.testing.assert_array_equal(found, half)
    strict = confusion(y, clf.predict_proba(X), clf.classes_, threshold=0.95)
    assert strict["Yes"].sum() < half["Yes"].sum()
