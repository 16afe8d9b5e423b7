"""Prevalence and label shift after a fit to rows of which some have no label."""

import numpy as np
import pytest
from paces import fast_only

import bayesgen as bg


@pytest.fixture(scope="module")
def marked():
    X, y = bg.datasets.load_iris()
    return X, np.where(np.arange(150) % 2 == 0, np.asarray(y, dtype=object), None)


@pytest.mark.parametrize("make", fast_only([bg.NaiveBayes], [bg.NaiveBayes, bg.StackedClassifier]))
def test_rows_without_a_label_are_no_labeled_rows(make, marked):
    X, y = marked
    clf = make(random_state=0).fit(X, y)
    found = clf.estimate_prevalence(X[:80], method="left_out", random_state=0)
    assert found.report.details["labeled rows"] == 75
    assert found.mean.to_numpy() == pytest.approx([5 / 8, 3 / 8, 0.0], abs=0.08)
    has = np.flatnonzero(y != None)  # noqa: E711
    shown = clf.check_label_shift(X[:80], found)
    stated = clf.check_label_shift(X[:80], found, X.iloc[has], y[has])
    assert shown.equals(stated)
    assert (shown.p_value > 0.001).all()
