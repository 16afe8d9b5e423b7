"""Rows that are left out of tables with missing cells are scored as new rows are."""

import numpy as np
import pytest

import bayesgen as bg
from bayesgen.inference import leave_one_out

K = 2


def table(rng, n=60, p=6, share=0.3):
    y = np.arange(n) % K
    x = rng.standard_normal((n, p)) @ (np.eye(p) + 0.3) + 0.5 * y[:, None]
    x[rng.random(x.shape) < share] = np.nan
    x[np.isnan(x).all(axis=1), 0] = 0.0
    return x, y


def classifier(covariance):
    likelihood = bg.MultivariateNormal(covariance, covariance_rows=4, correlation=0.9)
    return bg.GenerativeClassifier(likelihood, inference="expected")


def left_out(x, y, weight=None, covariance="per_class"):
    """Log P(y_i given the other rows), shape (row,)."""
    clf = classifier(covariance).fit(x, y, sample_weight=weight)
    return clf.loo()["log_proba"].to_numpy()


def refitted(x, y, covariance):
    out = np.empty(len(y))
    for i in range(len(y)):
        rest = np.delete(np.arange(len(y)), i)
        clf = classifier(covariance).fit(x[rest], y[rest])
        out[i] = clf.predict_log_proba(x[[i]])[0, y[i]]
    return out


@pytest.mark.slow
@pytest.mark.parametrize("covariance", ["per_class", "shared"])
def test_scores_are_those_of_refits(rng, monkeypatch, covariance):
    """The mean within .05 nats of refits; without steps of EM it is too high by more."""
    x, y = table(rng)
    expected = refitted(x, y, covariance).mean()
    assert left_out(x, y, covariance=covariance).mean() == pytest.approx(expected, abs=0.05)
    monkeypatch.setattr(leave_one_out, "STEPS_WITHOUT", 0)
    gap = left_out(x, y, covariance=covariance).mean() - expected
    assert gap > (0.1 if covariance == "per_class" else 0.0)


def test_folds_depend_on_neither_order_nor_units(rng):
    x, y = table(rng)
    found = left_out(x, y)
    order = rng.permutation(len(y))
    np.testing.assert_allclose(left_out(x[order], y[order]), found[order], rtol=0, atol=1e-8)
    columns = rng.permutation(x.shape[1])
    units = -(10.0 ** rng.integers(-3, 4, x.shape[1]))
    again = left_out((x * units + 5.0)[:, columns], 1 - y)
    np.testing.assert_allclose(again, found, rtol=0, atol=1e-8)


def test_a_row_of_weight_2_is_two_rows_to_the_others(rng):
    x, y = table(rng)
    twice = np.concatenate([np.arange(len(y)), [3, 8]])
    weight = np.ones(len(y))
    weight[[3, 8]] = 2.0
    others = np.flatnonzero(weight == 1)
    found, again = left_out(x, y, weight), left_out(x[twice], y[twice])
    np.testing.assert_allclose(again[others], found[others], rtol=0, atol=1e-8)


def test_a_column_that_varies_in_one_row_keeps_its_guess(rng):
    x, y = table(rng)
    x[:, 2] = np.where(np.isnan(x[:, 2]), np.nan, 1.0)
    x[7, 2] = 3.0
    assert np.isfinite(left_out(x, y)).all()


def test_few_rows_of_a_class_are_left_out_together(rng):
    x, _ = table(rng, n=14)
    assert np.isfinite(left_out(x[:9], np.where(np.arange(9) < 7, 0, 1))).all()
