"""Scores against scikit-learn and against numbers worked out by hand."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from model_diagnostics.scoring import SquaredError, decompose
from sklearn import metrics
from sklearn.isotonic import IsotonicRegression

from bayesgen.calibrate import (
    accuracy,
    area_under_roc,
    brier,
    brier_decomposition,
    calibration_error,
    event_decomposition,
    log_loss,
    recalibrated,
)

THREE = np.array([[0.7, 0.2, 0.1], [0.2, 0.5, 0.3], [0.1, 0.6, 0.3]])


@pytest.fixture
def forecast(rng):
    """300 rows of three classes; few distinct probabilities, so ties abound."""
    probability = rng.dirichlet([1.0, 2.0, 3.0], size=40)[rng.integers(40, size=300)]
    y = (rng.random(300)[:, None] > probability.cumsum(axis=1)).sum(axis=1)
    return np.minimum(y, 2), probability


def test_scores_by_hand():
    y = np.array([0, 1, 2])
    assert log_loss(y, THREE) == pytest.approx(-np.log([0.7, 0.5, 0.3]).mean(), abs=1e-15)
    assert brier(y, THREE) == pytest.approx((0.14 + 0.38 + 0.86) / 3, abs=1e-15)
    assert accuracy(y, THREE) == 2 / 3


def test_scores_equal_scikit_learns(forecast):
    y, p = forecast
    assert log_loss(y, p) == pytest.approx(metrics.log_loss(y, p), rel=1e-13)
    whole = metrics.brier_score_loss(y, p, labels=[0, 1, 2], scale_by_half=False)
    assert brier(y, p) == pytest.approx(whole, rel=1e-13)
    assert accuracy(y, p) == metrics.accuracy_score(y, p.argmax(axis=1))


def test_two_class_brier_is_twice_the_binary_one():
    y, p = np.array([0, 1, 1]), np.array([0.3, 0.6, 0.9])
    both = brier(y, np.column_stack([1 - p, p]))
    assert both == pytest.approx(2 * np.mean((p - y) ** 2), abs=1e-15)


def test_a_true_class_ruled_out_makes_the_log_loss_infinite():
    assert log_loss(np.array([0, 1]), np.array([[0.5, 0.5], [1.0, 0.0]])) == np.inf


def test_accuracy_breaks_ties_by_class_order():
    halves = np.full((2, 2), 0.5)
    assert accuracy(np.array([0, 1]), halves) == 0.5


def test_calibration_error_by_hand():
    p = np.array([0.9, 0.9, 0.6, 0.6, 0.6])
    y = np.array([0, 1, 0, 0, 0])
    expected = (2 * abs(0.5 - 0.9) + 3 * abs(1.0 - 0.6)) / 5
    assert calibration_error(y, np.column_stack([p, 1 - p])) == pytest.approx(expected, abs=1e-15)


def test_calibration_bins_are_closed_on_the_right():
    # 0.75 and 0.6 share (0.5, 0.75], where their gaps -0.75 and +0.4 add; 0.8 lies above
    p = np.array([0.75, 0.6, 0.8])
    found = calibration_error(np.array([1, 0, 0]), np.column_stack([p, 1 - p]), bins=4)
    assert found == pytest.approx((0.35 + 0.2) / 3, abs=1e-15)


def test_calibration_error_of_certain_and_right_is_zero():
    certain = np.eye(3)[[0, 1, 2, 2]] * (1 + 1e-16)
    assert calibration_error(np.array([0, 1, 2, 2]), certain) == 0.0


def test_calibration_error_ignores_the_order_of_rows(forecast, rng):
    y, p = forecast
    order = rng.permutation(len(y))
    assert calibration_error(y[order], p[order]) == pytest.approx(
        calibration_error(y, p), abs=1e-14
    )


def test_recalibration_equals_scikit_learns(forecast):
    y, p = forecast
    event = (y == 2).astype(float)
    theirs = IsotonicRegression().fit(p[:, 2], event).predict(p[:, 2])
    np.testing.assert_allclose(recalibrated(event, p[:, 2]), theirs, atol=1e-14)


def test_recalibration_pools_ties():
    event = np.array([0.0, 1.0, 1.0, 0.0])
    np.testing.assert_allclose(recalibrated(event, np.full(4, 0.5)), 0.5)


def test_decomposition_of_a_constant_forecast():
    y = np.array([0, 0, 0, 1])
    parts = brier_decomposition(y, np.full((4, 2), 0.5))
    assert parts.uncertainty == pytest.approx(2 * 0.75 * 0.25, abs=1e-15)
    assert parts.discrimination == pytest.approx(0.0, abs=1e-15)
    assert parts.miscalibration == pytest.approx(0.5 - 0.375, abs=1e-15)


def test_decomposition_of_a_perfect_forecast():
    y = np.array([0, 1, 2, 2])
    parts = brier_decomposition(y, np.eye(3)[y])
    assert parts.miscalibration == 0.0
    assert parts.discrimination == pytest.approx(parts.uncertainty, abs=1e-15)


@settings(max_examples=50, deadline=None)
@given(st.integers(2, 4), st.integers(2, 30), st.integers(0, 2**32 - 1))
def test_decomposition_adds_up_and_its_parts_are_not_negative(classes, rows, seed):
    rng = np.random.default_rng(seed)
    probability = rng.dirichlet(np.ones(classes), size=rows).round(1)
    y = rng.integers(classes, size=rows)
    parts = brier_decomposition(y, probability, range(classes))
    total = parts.miscalibration - parts.discrimination + parts.uncertainty
    assert total == pytest.approx(brier(y, probability, range(classes)), abs=1e-12)
    assert min(parts.miscalibration, parts.discrimination, parts.uncertainty) > -1e-12


def test_decomposition_equals_that_of_model_diagnostics(forecast):
    y, p = forecast
    total = np.zeros(3)
    for k in range(3):
        theirs = decompose((y == k).astype(float), p[:, k], scoring_function=SquaredError())
        names = ["miscalibration", "discrimination", "uncertainty"]
        expected = [theirs[name].item() for name in names]
        found = event_decomposition(y == k, p[:, k])
        assert [getattr(found, name) for name in names] == pytest.approx(expected, abs=1e-12)
        total += expected
    parts = brier_decomposition(y, p)
    found = [parts.miscalibration, parts.discrimination, parts.uncertainty]
    assert found == pytest.approx(total.tolist(), abs=1e-12)


def test_area_under_roc_equals_scikit_learns(forecast):
    y, p = forecast
    theirs = metrics.roc_auc_score(y, p, multi_class="ovr", average="macro")
    assert area_under_roc(y, p) == pytest.approx(theirs, abs=1e-13)
    two, both = np.minimum(y, 1), np.column_stack([p[:, 0], 1 - p[:, 0]])
    theirs = metrics.roc_auc_score(two, both[:, 1])
    assert area_under_roc(two, both) == pytest.approx(theirs, abs=1e-13)


def test_area_under_roc_is_the_share_of_ordered_pairs():
    p = np.array([0.2, 0.5, 0.5, 0.9])
    y = np.array([0, 0, 1, 1])
    # 0.2 below both, 0.5 ties with one and stands below the other
    assert area_under_roc(y, np.column_stack([1 - p, p])) == (2 + 1.5) / 4


def test_area_under_roc_needs_rows_of_every_class():
    assert np.isnan(area_under_roc(np.zeros(3, dtype=int), THREE, range(3)))
