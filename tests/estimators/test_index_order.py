"""Labels and weights whose index has the labels of X in another order are refused, not misread."""

import numpy as np
import pandas as pd
import pytest

import bayesgen as bg
from bayesgen import errors

X = pd.DataFrame({"a": np.arange(8.0) % 5, "b": np.arange(8.0) % 3}, index=list("hgfedcba"))
Y = pd.Series(["no", "yes"] * 4, index=X.index)
TURNED = Y[::-1]
WEIGHT = pd.Series(1.0, index=TURNED.index)


@pytest.fixture(scope="module")
def clf():
    return bg.NaiveBayes().fit(X, Y)


CALLS = {
    "fit": lambda clf: bg.LDA().fit(X, TURNED),
    "fit, probabilities": lambda clf: bg.LDA().fit(X, pd.get_dummies(TURNED).astype(float)),
    "fit, weights": lambda clf: bg.LDA().fit(X, Y, sample_weight=WEIGHT),
    "fit of a stack": lambda clf: bg.StackedClassifier(["naive"]).fit(X, TURNED),
    "partial_fit": lambda clf: bg.LDA().partial_fit(X, TURNED),
    "forget": lambda clf: clf.forget(X, TURNED),
    "score": lambda clf: clf.score(X, TURNED),
    "score, weights": lambda clf: clf.score(X, Y, sample_weight=WEIGHT),
    "loo": lambda clf: clf.loo(X, TURNED),
    "predict_set": lambda clf: clf.predict_set(X, X_fit=X, y_fit=TURNED),
    "sample_prior": lambda clf: clf.sample_prior(5, X, TURNED),
    "estimate_prevalence": lambda clf: clf.estimate_prevalence(X, sample_weight=WEIGHT.astype(int)),
    "check_label_shift": lambda clf: clf.check_label_shift(X, X=X, y=TURNED),
    "to_datatree": lambda clf: clf.to_datatree(X, TURNED),
    "plot_features": lambda clf: clf.plot_features(X, TURNED),
    "plot_regions": lambda clf: clf.plot_regions(X, TURNED),
    "plot_reliability": lambda clf: clf.plot_reliability(X, TURNED),
    "plot_intervals": lambda clf: clf.plot_intervals(X, TURNED),
    "set_coverage": lambda clf: bg.calibrate.set_coverage(clf, X, TURNED),
    "compare": lambda clf: bg.compare({"naive": bg.NaiveBayes()}, X, TURNED),
    "report_html": lambda clf: clf.report_html("unwritten.html", X, TURNED),
}


@pytest.mark.parametrize("call", CALLS)
def test_the_labels_of_x_in_another_order_are_refused(clf, call):
    with pytest.raises(errors.InvalidData, match="index labels of X in another order"):
        CALLS[call](clf)


def test_both_cures_work(clf):
    by_label = bg.NaiveBayes().fit(X, TURNED.loc[X.index]).predict_proba(X)
    np.testing.assert_array_equal(by_label, clf.predict_proba(X))
    by_place = bg.NaiveBayes().fit(X, TURNED.to_numpy()).predict_proba(X)
    assert abs(by_place - by_label).max() > 0.01


@pytest.mark.parametrize(
    "y",
    [
        Y.reset_index(drop=True),
        Y.set_axis([*"hgfedcbz"]),  # one label is not of X
        TURNED.to_list(),
        TURNED.to_numpy(),
        Y.copy(),
    ],
)
def test_other_indexes_go_by_position_as_in_scikit_learn(y):
    bg.NaiveBayes().fit(X, y)


def test_labels_that_occur_twice_name_no_row():
    index = list("aabbccdd")
    bg.NaiveBayes().fit(X.set_axis(index), Y.set_axis(index[::-1]))
