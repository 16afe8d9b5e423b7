"""Inference after partial_fit waits until its result is asked for."""

import copy
import pickle
import types

import numpy as np
import pytest

import bayesgen as bg
from bayesgen.errors import InvalidArgument, SuspiciousColumn
from bayesgen.inference import Exact

X = np.random.default_rng(0).standard_normal((30, 2))
Y = np.arange(30) % 3
PARTS = [slice(i, i + 6) for i in range(0, 30, 6)]


@pytest.fixture
def inferences(monkeypatch):
    """Return a list that grows by one at every inference."""
    found, infer = [], Exact.infer
    monkeypatch.setattr(Exact, "infer", lambda *args: found.append(1) or infer(*args))
    return found


def in_parts(model=bg.QDA, **params):
    clf = model(**params)
    for part in PARTS:
        clf.partial_fit(X[part], Y[part], classes=[0, 1, 2])
    return clf


def test_a_hundred_batches_are_inferred_when_asked_for(inferences):
    clf = in_parts()
    assert len(inferences) == 1  # the first batch, whose arguments and warnings come at once
    probs = clf.predict_proba(X)
    assert len(inferences) == 2
    np.testing.assert_array_equal(clf.predict_proba(X), probs)
    assert clf.inference_ == clf.report_.method == "exact"
    assert len(inferences) == 2
    np.testing.assert_allclose(probs, bg.QDA().fit(X, Y).predict_proba(X), rtol=1e-9)


@pytest.mark.parametrize("name", ["report_", "inference_"])
def test_reports_are_those_of_all_rows(name, inferences):
    clf = in_parts()
    getattr(clf, name)
    assert len(inferences) == 2
    assert not hasattr(bg.QDA(), name)


def test_seconds_are_those_of_the_call_or_of_inference_that_waited(monkeypatch):
    moments = [0.0, 1.0, 10.0, 10.5, 20.0, 24.0]  # of two calls, and of what the second left
    clock = types.SimpleNamespace(perf_counter=iter(moments).__next__)
    monkeypatch.setattr("bayesgen.estimators.fitting.time", clock)
    clf = bg.QDA().partial_fit(X[PARTS[0]], Y[PARTS[0]], classes=[0, 1, 2])
    assert clf.report_.seconds == 1.0
    clf.partial_fit(X[PARTS[1]], Y[PARTS[1]])
    assert clf.report_.seconds == clf.report_.seconds == 4.0


def test_copies_and_files_hold_the_posterior(tmp_path, inferences):
    probs = bg.QDA().fit(X, Y).predict_proba(X)
    in_parts().save(tmp_path / "m.bgm")
    found = (
        bg.load(tmp_path / "m.bgm"),
        copy.copy(in_parts()),
        pickle.loads(pickle.dumps(in_parts())),
    )
    before = len(inferences)
    for again in found:
        np.testing.assert_allclose(again.predict_proba(X), probs, rtol=1e-9)
    assert len(inferences) == before


def test_warnings_are_those_of_all_rows_when_asked_for():
    still = np.c_[X[:, 0], np.zeros(30)]
    clf = bg.NaiveBayes(inference="mle")
    with pytest.warns(SuspiciousColumn):
        clf.partial_fit(still[:6], Y[:6], classes=[0, 1, 2])
    clf.partial_fit(still[6:], Y[6:])
    with pytest.warns(SuspiciousColumn):
        clf.predict_proba(X)


def test_rows_of_a_single_class_wait_for_others():
    clf = bg.LDA(prior="reference").partial_fit(X[Y == 0], Y[Y == 0], classes=[0, 1, 2])
    with pytest.raises(InvalidArgument, match="at least 1 distinct complete row in every class"):
        clf.predict_proba(X)
    clf.partial_fit(X[Y > 0], Y[Y > 0])
    whole = bg.LDA(prior="reference").fit(X, Y)
    np.testing.assert_allclose(clf.predict_proba(X), whole.predict_proba(X), rtol=1e-9)


def test_arguments_set_later_are_those_of_later_fits():
    clf = in_parts()
    probs = copy.copy(clf).predict_proba(X)
    clf.set_params(inference="mle")
    np.testing.assert_array_equal(clf.predict_proba(X), probs)
