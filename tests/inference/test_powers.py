"""Tempering: the likelihood to a power that rows left out choose; class prior and density stay."""

import copy

import numpy as np
import pytest
from sklearn.base import clone

import bayesgen as bg
from bayesgen.errors import InvalidArgument, UnsupportedOperation
from bayesgen.inference import powers, readouts


def softmax(logs):
    return np.exp(logs - np.logaddexp.reduce(logs, axis=1, keepdims=True))


def few(step=5):
    X, y = bg.datasets.load_iris()
    return X[::step].reset_index(drop=True), y[::step].reset_index(drop=True)


@pytest.mark.parametrize("power", [0.2, 1.0, 1.5])
@pytest.mark.parametrize("inference", ["exact", "mle"])
def test_a_stated_power_raises_the_likelihood_alone(power, inference):
    X, y = few()
    prior = [0.5, 0.2, 0.3]
    direct = bg.NaiveBayes(class_prior=prior, inference=inference).fit(X, y)
    clf = clone(direct).set_params(temper=power).fit(X, y)
    joint = direct.predict_joint_log_proba(X)
    expected = softmax(np.log(prior) + power * (joint - np.log(prior)))
    np.testing.assert_allclose(clf.predict_proba(X), expected, rtol=1e-9)
    np.testing.assert_allclose(clf.score_samples(X), direct.score_samples(X), rtol=1e-12)
    assert clf.temperature_ == pytest.approx(1 / power)
    blank = X[:1] * np.nan
    np.testing.assert_allclose(clf.predict_proba(blank), [prior], rtol=1e-12)


def test_learned_powers_weigh_by_rows_left_out():
    """Against fits without each row, the score of every power summed by hand."""
    X, y = few(8)
    clf = bg.NaiveBayes(temper="learn").fit(X, y)
    scores = np.zeros(len(powers.POWERS))
    for i in range(len(y)):
        rest = np.arange(len(y)) != i
        other = bg.NaiveBayes().fit(X[rest], y[rest])
        joint = other.predict_joint_log_proba(X[i : i + 1])[0]
        prior = other._fitted_posterior().log_classes()
        k = list(other.classes_).index(y[i])
        for g, power in enumerate(powers.POWERS):
            logs = prior + power * (joint - prior)
            scores[g] += logs[k] - np.logaddexp.reduce(logs)
    scores += np.where(powers.POWERS <= 1, 1, -4) * np.log(powers.POWERS)
    weights = np.exp(scores - np.logaddexp.reduce(scores))
    np.testing.assert_allclose(clf.fitted_.posterior.readout.weights, weights, rtol=1e-7)
    direct = bg.NaiveBayes().fit(X, y)
    joint, prior = direct.predict_joint_log_proba(X), direct._fitted_posterior().log_classes()
    parts = [
        w * softmax(prior + power * (joint - prior))
        for power, w in zip(powers.POWERS, weights, strict=True)
    ]
    np.testing.assert_allclose(clf.predict_proba(X), sum(parts), rtol=1e-7)


def test_a_tempered_class_prior_is_caught(monkeypatch):
    def wrong(classes, joint, powers):
        yield slice(None), np.stack([np.log(softmax(power * joint)) for power in powers])

    monkeypatch.setattr(readouts, "power_log_proba", wrong)
    with pytest.raises(AssertionError):
        test_a_stated_power_raises_the_likelihood_alone(0.2, "exact")


def test_columns_that_repeat_each_other_are_found_out():
    """Four copies of one column count four times; the temperature undoes most of that."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 600)
    x = rng.standard_normal((600, 1)) + y[:, None]
    one = bg.NaiveBayes(temper="learn").fit(x, y)
    four = bg.NaiveBayes(temper="learn").fit(np.repeat(x, 4, axis=1), y)
    assert one.temperature_ < 1.3
    assert 3 < four.temperature_ < 5
    loss = [
        -np.log(clf.predict_proba(X)[np.arange(600), y]).mean()
        for clf, X in ((one, x), (four, np.repeat(x, 4, axis=1)))
    ]
    assert abs(loss[0] - loss[1]) < 0.01


def overlapping(n=600):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, n)
    return rng.standard_normal((n, 1)) + y[:, None], y


def learned_variance(clf, X):
    """Return the posterior variance of the log power around 1: one over its Fisher information."""
    odds, proba = clf.decision_function(X), clf.predict_proba(X)
    return 1 / (proba.prod(axis=1) * odds**2).sum()


def naive_stack(temper):
    return bg.StackedClassifier([bg.NaiveBayes()], temper=temper)


@pytest.mark.parametrize(
    ("make", "copies"),
    [
        (bg.NaiveBayes, 30),
        (naive_stack, 30),
        pytest.param(bg.NaiveBayes, 300, marks=pytest.mark.slow),
    ],
)
def test_any_number_of_copies_says_what_one_column_says(make, copies):
    """The temperature goes as far as it must."""
    x, y = overlapping(200)
    row = np.array([[-2.0], [0.4], [3.0]])
    one = bg.NaiveBayes(bg.Normal(spread="shared")).fit(x, y)
    single = make(temper="learn").fit(x, y)
    many = make(temper="learn").fit(np.repeat(x, copies, axis=1), y)
    # prior weights of powers differ by at most the fifth power of what they are multiplied by: a
    # shift of 5 variances of the log power. Twice that, as the posterior is no normal
    slack = 10 * learned_variance(one, x)
    assert slack < 0.4
    assert abs(np.log(many.temperature_ / single.temperature_ / copies)) < slack
    found, expected = (
        clf.decision_function(np.repeat(row, wide, axis=1))
        for clf, wide in ((many, copies), (single, 1))
    )
    np.testing.assert_allclose(found, expected, rtol=slack, atol=slack)


def test_a_story_that_counts_too_little_is_found_out_too():
    """A variance stated a hundred times too large divides log-odds by a hundred."""
    x, y = overlapping()
    right, wide = (
        bg.NaiveBayes(bg.Normal(variance=v, variance_rows=1e7), class_prior="uniform", temper=t)
        for v, t in ((1.0, None), (100.0, "learn"))
    )
    right.fit(x, y)
    wide.fit(x, y)
    # five standard errors of the log power, and what the prior weight, a fourth power, costs
    variance = learned_variance(right, x)
    assert abs(np.log(100 * wide.temperature_)) < 5 * np.sqrt(variance) + 4 * variance < 0.5


def test_columns_that_say_nothing_end_at_the_class_prior():
    """Powers have an end where no power helps: noise, fifty times."""
    x, y = np.random.default_rng(3).standard_normal((40, 1)), np.resize([0, 1], 40)
    clf = bg.NaiveBayes(temper="learn").fit(np.repeat(x, 50, axis=1), y)
    assert 50 < clf.temperature_ < 1e5
    proba = clf.predict_proba(np.repeat(x, 50, axis=1))
    # not further from it than one column
    one = bg.NaiveBayes().fit(x, y).predict_proba(x)
    assert np.abs(proba - 0.5).max() <= np.abs(one - 0.5).max()


def test_intervals_are_tempered_too():
    X, y = few()
    clf = bg.NaiveBayes(temper=0.3, random_state=0).fit(X, y)
    low, high = np.moveaxis(clf.predict_interval(X, 0.99), -1, 0)
    proba = clf.predict_proba(X)
    sharp = np.moveaxis(bg.NaiveBayes(random_state=0).fit(X, y).predict_interval(X, 0.99), -1, 0)
    top = proba.argmax(axis=1)
    rows = np.arange(len(X))
    # toward the class prior, a third
    before, after = sharp[0][rows, top], low[rows, top]
    assert (low <= high).all() and (after <= before)[before > 0.5].all()
    draws = clf.predict_draws(X)
    np.testing.assert_allclose(draws.sum("class"), 1.0)
    assert np.abs(draws.mean("draw") - proba).max() < 0.2


def test_partial_fit_keeps_rows_and_equals_fit(tmp_path):
    X, y = few()
    whole = bg.QDA(temper="learn").fit(X, y)
    parts = bg.QDA(temper="learn")
    for rows in (slice(0, 7), slice(7, 20), slice(20, None)):
        parts.partial_fit(X[rows], y[rows])
    np.testing.assert_allclose(parts.predict_proba(X), whole.predict_proba(X), rtol=1e-9)
    assert parts.temperature_ == pytest.approx(whole.temperature_)
    parts.save(tmp_path / "m.bgm")
    for again in (bg.load(tmp_path / "m.bgm"), copy.deepcopy(parts)):
        np.testing.assert_array_equal(again.predict_proba(X), parts.predict_proba(X))
        with pytest.raises(UnsupportedOperation, match="Call fit with all rows"):
            again.partial_fit(X, y)


def test_what_cannot_be_tempered():
    X, y = few()
    with pytest.raises(UnsupportedOperation, match="temper='learn'"):
        bg.LDA(inference="mle", temper="learn").fit(X, y)
    for wrong in ("hot", 0.0, -1.0, True, np.nan):
        with pytest.raises(InvalidArgument, match="temper"):
            bg.LDA(temper=wrong).fit(X, y)
