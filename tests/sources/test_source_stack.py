"""Stacks fitted to sources: a stratified sample weighs members with statistics of all rows."""

import numpy as np
import pandas as pd
import pytest

import bayesgen as bg
from bayesgen import errors
from bayesgen.estimators.sources.fit import LabelledSource
from bayesgen.estimators.stack import reservoir
from bayesgen.sources import source_of

N = 1200


@pytest.fixture
def frame(rng):
    """Return numbers and levels, of three classes, one of which is rare."""
    y = rng.choice(["p", "q", "r"], N, p=[0.75, 0.2, 0.05])
    X = rng.normal(size=(N, 2)) + np.select([y == "p", y == "q"], [0, 1], 2)[:, None]
    return pd.DataFrame(X, columns=["a", "b"]).assign(y=y, row=np.arange(N))


def split(frame, rows):
    return [frame[i : i + rows] for i in range(0, len(frame), rows)]


@pytest.fixture
def small(monkeypatch):
    """Draw 300 rows, 40 of each class."""
    monkeypatch.setattr(reservoir, "RESERVOIR", 300)
    monkeypatch.setattr(reservoir, "FEWEST", 40)


def drawn(frame, rows, seed=0):
    return reservoir.drawn(LabelledSource(source_of(split(frame, rows)), "y"), seed, False)


def test_sample_is_stratified_and_does_not_depend_on_the_parts(frame, small):
    sample = drawn(frame, 100)
    other = drawn(frame, 1000)
    assert sample.X["row"].tolist() == other.X["row"].tolist()
    assert sample.X["row"].is_monotonic_increasing
    assert (len(sample.y), sample.n_rows, sample.is_whole) == (300, N, False)
    assert sample.y.tolist() == frame["y"][sample.X["row"]].tolist()
    classes, m = np.unique(sample.y, return_counts=True)
    n = frame["y"].value_counts()[classes].to_numpy()
    assert m.tolist()[2] == min(40, n[2])
    share = {k: sample.share[sample.y == k] for k in classes}
    ratios = np.array([share[k][0] for k in classes])
    assert all(np.ptp(share[k]) == 0 for k in classes)
    np.testing.assert_allclose(ratios, (n / m) / (n / m).max())
    assert drawn(frame, 100, seed=1).X["row"].tolist() != sample.X["row"].tolist()


def test_rows_of_a_class_are_equally_likely(frame, small):
    rows = frame["row"][frame["y"] == "p"].to_numpy()
    size, seeds = len(rows), 12
    low = rows[: size // 2]
    found = [drawn(frame, 600, seed) for seed in range(seeds)]
    own = [sample.X["row"][sample.y == "p"] for sample in found]
    m = np.mean([len(part) for part in own])
    first = np.mean([np.isin(part, low).mean() for part in own])
    # of a hypergeometric share
    error = np.sqrt(0.25 / m * (1 - m / size) / seeds)
    assert abs(first - len(low) / size) < 4 * error


def members():
    blocks = {"a": bg.Normal(), "b": bg.KernelDensity()}
    return [
        bg.NaiveBayes(),
        bg.LDA(),
        bg.NaiveBayes(power_transform=True),
        bg.GenerativeClassifier(blocks),
    ]


def test_sample_of_all_rows_is_the_fit_of_the_table(frame):
    X, y = frame[["a", "b"]], frame["y"]
    whole = bg.StackedClassifier([bg.LDA(), bg.NaiveBayes()], random_state=0).fit(X, y)
    parts = split(frame.drop(columns="row"), 500)
    found = bg.StackedClassifier([bg.LDA(), bg.NaiveBayes()], random_state=0).fit(parts, y="y")
    np.testing.assert_array_equal(found.predict_proba(X), whole.predict_proba(X))


def test_members_have_the_statistics_of_all_rows_and_the_sample_weighs_them(frame, small):
    X, y = frame[["a", "b"]], frame["y"]
    parts = split(frame.drop(columns="row"), 250)
    stack = bg.StackedClassifier(members(), random_state=0, progress=False).fit(parts, y="y")
    for name, clf in (("naivebayes-1", bg.NaiveBayes()), ("lda", bg.LDA())):
        expected = clf.fit(X, y).predict_proba(X)
        found = stack.members_[name].predict_proba(X)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10)
    counts = [m.state_.statistics.count.sum() for m in stack.members_.values()]
    np.testing.assert_allclose(counts[:3], N)
    assert counts[3] < 300
    details = stack.report_.details
    assert (details["rows"], details["rows that weigh"]) == (N, 300)
    assert "300 drawn within classes from 1,200" in stack.report_.verdict
    assert sum(stack.weights_.values()) == pytest.approx(1)
    with pytest.raises(errors.UnsupportedOperation):
        stack.partial_fit(X, y)


def test_jacobian_of_power_transforms_is_that_of_all_rows(frame, small):
    frame = frame[["a", "b", "y"]].assign(a=np.exp(frame["a"]))
    stack = bg.StackedClassifier(members()[2:3], random_state=0, progress=False)
    member = stack.fit(split(frame, 250), y="y").members_["naivebayes"]
    again = bg.StackedClassifier(members()[2:3], random_state=0, progress=False)
    assert member.log_evidence_ == pytest.approx(
        again.fit([frame], y="y").members_["naivebayes"].log_evidence_, rel=1e-10
    )


def test_levels_that_were_not_drawn_are_levels(frame, small):
    levels = np.where(np.arange(N) % 2 == 0, "u", "v").astype(object)
    row = int(np.setdiff1d(np.arange(N), drawn(frame, N).X["row"])[0])
    levels[row] = "rare"
    frame = frame.drop(columns="row").assign(s=levels)
    blocks = {"a": bg.KernelDensity(), "b": bg.Normal(), "s": bg.Categorical()}
    clf = [bg.NaiveBayes(), bg.GenerativeClassifier(blocks)]
    stack = bg.StackedClassifier(clf, random_state=0, progress=False).fit([frame], y="y")
    proba = stack.predict_proba(frame.drop(columns="y"))
    assert np.isfinite(proba).all()
    for member in stack.members_.values():
        found = [c.levels for b in member.state_.schema.blocks.values() for c in b if c.name == "s"]
        assert set(found[0]) == {"u", "v", "rare"}
