"""Rows of the fit are recognized where they are scored, whatever way they came, and no others."""

import re
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from agree import agree
from sklearn.model_selection import learning_curve

import bayesgen as bg
from bayesgen import report
from bayesgen.errors import InSampleScore
from bayesgen.estimators import in_sample
from bayesgen.estimators.fitted import Fitted

pytestmark = [
    pytest.mark.filterwarnings("ignore::bayesgen.errors.BayesgenWarning"),
    pytest.mark.filterwarnings("always::bayesgen.errors.InSampleScore"),
]


def table(n=60, seed=0):
    rng = np.random.default_rng(seed)
    y = np.resize(["ill", "well"], n)
    X = pd.DataFrame({"dose": rng.normal(size=n) + (y == "ill"), "age": rng.normal(50, 9, n)})
    return X.assign(site=rng.choice(["a", "b"], n)), y


X, Y = table()
NUMBERS = ["dose", "age"]
CASES = {
    "naive": (bg.NaiveBayes(), [*X]),
    "LDA": (bg.LDA(), NUMBERS),
    "powers": (bg.QDA(temper="learn"), NUMBERS),
    "kernels": (bg.NaiveBayes(bg.KernelDensity()), NUMBERS),
    "MLE": (bg.NaiveBayes(inference="mle"), [*X]),
    "groups": (bg.NaiveBayes(groups="site"), [*X]),
    "stack": (bg.StackedClassifier(["naive", "linear"], random_state=0), NUMBERS),
}


def said(score, *rows):
    """Return the warnings of a score as sentences."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        score(*rows)
    return [str(w.message) for w in caught if isinstance(w.message, InSampleScore)]


def law(case, tmp_path):
    """Rows of the fit in any order and container are told from others, after saving too."""
    clf, columns = CASES[case]
    clf = clf.fit(X[columns], Y)
    clf.save(tmp_path / "m.bgm")
    other = X[columns].assign(dose=X["dose"] + 1e-3)
    for each in (clf, bg.load(tmp_path / "m.bgm")):
        assert len(said(each.score, X[columns], Y)) == 1
        assert len(said(each.score, X[columns][::-1], Y[::-1])) == 1
        assert len(said(each.score, pl.from_pandas(X[columns]), list(Y))) == 1
        for rows, labels in (
            (other, Y),
            (X[columns], Y[::-1]),
            (X[columns][:-2], Y[:-2]),
            (pd.concat([X[columns]] * 2), np.tile(Y, 2)),
            (table(seed=1)[0][columns], Y),
            (X[columns], np.resize(["ill", "well", "dead"], 60)),
        ):
            assert said(each.score, rows, labels) == []


@pytest.mark.parametrize("case", CASES)
def test_rows_of_the_fit_are_told_from_others(case, tmp_path):
    law(case, tmp_path)


def test_fault_counts_of_classes_alone(tmp_path, monkeypatch):
    same = property(lambda seen: seen.could_be(seen.count))
    monkeypatch.setattr(in_sample.SeenRows, "are_of_fit", same)
    with pytest.raises(AssertionError):
        law("naive", tmp_path)


def test_few_contents_that_another_sample_has_too():
    """Three columns of two levels: a new sample has every content, and other numbers of each."""
    rng = np.random.default_rng(0)
    first, second = (
        pd.DataFrame(rng.integers(0, 2, (200, 3)), columns=list("abc")).astype(str) for _ in "12"
    )
    y, members = np.resize([0, 1], 200), [bg.NaiveBayes(), bg.JointTable()]
    for clf in (bg.NaiveBayes(), bg.StackedClassifier(members, random_state=0)):
        clf.fit(first, y)
        assert len(said(clf.score, first, y)) == 1
        assert said(clf.score, second, y) == []


def test_fits_in_parts_and_weights():
    clf = bg.NaiveBayes().partial_fit(X[:20], Y[:20]).partial_fit(X[20:], Y[20:])
    assert len(said(clf.score, X, Y)) == 1
    weight = np.where(Y == "ill", 2.0, 0.5)
    weighted = bg.NaiveBayes().fit(X, Y, weight)
    assert said(weighted.score, X, Y) == []
    assert len(said(weighted.score, X, Y, weight)) == 1
    some = np.where(np.arange(60) < 20, None, Y)
    clf = bg.NaiveBayes().fit(X[20:], Y[20:])
    assert len(said(clf.score, X, some)) == 1  # rows without a label are not scored


@pytest.mark.parametrize("case", ["naive", "LDA", "powers", "stack"])
def test_the_accuracy_of_rows_left_out_stands_beside_it(case):
    clf, columns = CASES[case]
    clf.fit(X[columns], Y)
    (sentence,) = said(clf.score, X[columns], Y)
    right = clf.loo(X[columns], Y)["log_proba"] > np.log(0.5)
    assert f"left out in turn they have an accuracy of {right.mean():.3f}" in sentence
    point = bg.NaiveBayes(inference="mle").fit(X, Y)
    assert "left out in turn" not in said(point.score, X, Y)[0]


def law_under_frequencies():
    """What rows have that are left out does not depend on the class probabilities stated."""
    found = []
    for prior in ([0.03, 0.97], 1.0):
        # rows left out are not scored until they are recognized
        clf = bg.LDA(class_prior=prior).partial_fit(X[NUMBERS], Y)
        assert not clf.report_.details
        (sentence,) = said(clf.score, X[NUMBERS], Y)
        found.append(float(re.search(r"left out in turn.* an accuracy of (\d\.\d+)", sentence)[1]))
        assert ("under the class frequencies" in sentence) == (prior != 1.0)
    agree(*found, what="accuracy of rows left out")


def test_rows_left_out_are_under_the_frequencies_of_the_fit():
    law_under_frequencies()
    clf = bg.NaiveBayes(class_prior="uniform").fit(X, Y)
    assert "left out in turn, under the class frequencies" in said(clf.score, X, Y)[0]


def test_fault_under_the_stated_prior(monkeypatch):
    monkeypatch.setattr(Fitted, "under_frequencies", lambda model: model)
    with pytest.raises(AssertionError, match="accuracy of rows left out: expected"):
        law_under_frequencies()


def test_learning_curves_can_silence_it():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InSampleScore)
        _, trained, _ = learning_curve(bg.LDA(), X[NUMBERS], Y, cv=3, train_sizes=[20, 40])
    assert np.isfinite(trained).all()


def test_a_report_says_so(tmp_path, monkeypatch):
    clf, found = bg.LDA().fit(X[NUMBERS], Y), []

    def write_report(clf, path, X, y, *, in_sample):
        found.append(in_sample(X, y))

    monkeypatch.setattr(report, "write_report", write_report)
    for n in (60, 58):
        clf.report_html(tmp_path / "page.html", X[NUMBERS][:n], Y[:n])
    loss = -clf.loo(X[NUMBERS], Y)["log_proba"].mean()
    own, other = found
    assert f"left out in turn they have a log loss of {loss:.3f}" in own
    assert other == ""
