"""Answers of a fitted model: joint, odds, densities, intervals, draws and other class priors."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import bayesgen as bg


def binary_rows(rng):
    y = rng.integers(0, 2, 60)
    return pd.DataFrame(rng.random((60, 3)) < 0.3 + 0.3 * y[:, None], columns=list("abc")), y


def cases():
    """Return one classifier for each likelihood that has a closed form, and its data."""
    rng = np.random.default_rng(1)
    X, y = bg.datasets.load_iris()
    X, y = X[50:], y[50:]
    tennis, play = bg.datasets.load_play_tennis()
    binary, target = binary_rows(rng)
    return {
        "normal": (bg.NaiveBayes(), X, y),
        "shared normal": (bg.NaiveBayes(bg.Normal(spread="shared")), X, y),
        "own covariance": (bg.QDA(), X, y),
        "shared covariance": (bg.LDA(), X, y),
        "categorical": (bg.NaiveBayes(), tennis, play),
        "bernoulli": (bg.NaiveBayes(bg.Bernoulli()), binary, target),
    }


CASES = cases()


def fitted(name, **params):
    clf, X, y = CASES[name]
    return clone(clf).set_params(**params).fit(X, y), X, y


def test_ties_go_to_the_first_class():
    X = pd.DataFrame({"a": [1.0, 2.0, 1.0, 2.0]})
    clf = bg.NaiveBayes().fit(X, ["z", "z", "b", "b"])
    np.testing.assert_allclose(clf.predict_proba(X), 0.5, atol=1e-15)
    assert clf.predict(X).tolist() == ["b"] * 4


def test_nothing_observed_is_the_class_prior(iris):
    X, y = iris
    blank = pd.DataFrame([[np.nan] * 4], columns=list(X))
    for clf in (bg.NaiveBayes(), bg.LDA(), bg.QDA(), bg.QDA(inference="mle")):
        clf.fit(X[:120], y[:120])
        prior = np.array([50, 50, 20]) + (clf.inference != "mle")
        np.testing.assert_allclose(clf.predict_proba(blank)[0], prior / prior.sum(), rtol=1e-12)
        np.testing.assert_allclose(clf.score_samples(blank), 0, atol=1e-12)


def test_row_by_row_equals_all_at_once(passengers):
    X, y = passengers
    clf = bg.NaiveBayes().fit(X, y)
    whole = clf.predict_proba(X)
    single = np.concatenate([clf.predict_proba(X.iloc[i : i + 1]) for i in range(20)])
    np.testing.assert_allclose(single, whole[:20], rtol=0, atol=1e-14)


# -- other class priors ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "spec"),
    [
        ("exact", "uniform"),
        ("exact", {"no": 0.9, "yes": 0.1}),
        ("map", [0.9, 0.1]),
    ],
)
def test_with_class_prior_is_bayes_rule(method, spec, passengers):
    X, y = passengers
    clf = bg.NaiveBayes(inference=method, random_state=0).fit(X, y)
    other = clf.with_class_prior(spec)
    old = np.exp(clf.fitted_.posterior.log_classes())
    new = np.array([0.5, 0.5] if spec == "uniform" else [0.9, 0.1])
    expected = clf.predict_proba(X) * new / old
    expected /= expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(other.predict_proba(X), expected, rtol=0, atol=1e-12)
    # the same as fitting under it, and the first one has not changed
    again = bg.NaiveBayes(class_prior=spec, inference=method).fit(X, y)
    np.testing.assert_allclose(again.predict_proba(X), expected, rtol=0, atol=1e-12)
    np.testing.assert_allclose(np.exp(clf.fitted_.posterior.log_classes()), old)
    if method == "exact":
        _, labels = other.sample(400, random_state=0)
        # five standard errors (false alarm 6e-7)
        assert abs((labels == "no").mean() - new[0]) < 5 * np.sqrt(new.prod() / 400)
        draws = other.predict_draws(X[:10])
        weight = draws["weight"]
        means = (draws * weight).sum("draw")
        spread = ((draws - means) ** 2 * weight).sum("draw")
        errors = np.sqrt(spread * (weight**2).sum("draw"))
        # five standard errors of weighted draws
        assert (np.abs(means - expected[:10]) < 5 * errors).all()


# -- intervals and draws -----------------------------------------------------------------------


@pytest.mark.parametrize("name", ["shared normal", "own covariance", "categorical"])
def test_mean_of_draws_is_the_probability(name):
    clf, X, _ = fitted(name, random_state=3)
    draws = clf.predict_draws(X)
    assert draws.dims == ("draw", "row", "class")
    assert draws["class"].to_numpy().tolist() == clf.classes_.tolist()
    weight = draws["weight"].to_numpy()
    np.testing.assert_allclose(weight.sum(axis=0), 1, rtol=0, atol=1e-12)
    np.testing.assert_allclose(draws.sum("class"), 1, rtol=0, atol=1e-12)
    mean = (draws * draws["weight"]).sum("draw").to_numpy()
    deviation = draws.to_numpy() - mean
    error = np.sqrt((weight[..., None] ** 2 * deviation**2).sum(axis=0))
    # five standard errors and a bit for the few rows whose draws hardly vary (false alarm < 1e-4)
    assert (np.abs(mean - clf.predict_proba(X)) <= 5 * error + 1e-3).all()


@pytest.mark.parametrize("name", ["shared covariance", "categorical"])
def test_draws_are_fixed_at_fit(name):
    clf, X, _ = fitted(name, random_state=3)
    draws, ends = clf.predict_draws(X).to_numpy(), clf.predict_interval(X)
    np.testing.assert_array_equal(clf.predict_draws(X), draws)
    np.testing.assert_array_equal(clf.predict_interval(X), ends)
    some = np.array([7, 2, 11])
    # the same numbers, up to the order in which a product of other shape adds them
    few = X.iloc[some]
    np.testing.assert_allclose(clf.predict_draws(few), draws[:, some], rtol=0, atol=1e-12)
    np.testing.assert_allclose(clf.predict_interval(few), ends[some], rtol=0, atol=1e-12)
    again, *_ = fitted(name, random_state=3)
    np.testing.assert_array_equal(again.predict_interval(X), ends)
    other, *_ = fitted(name, random_state=4)
    assert not np.array_equal(other.predict_draws(X), draws)


def test_draws_with_missing_values_are_fixed_at_fit(iris, rng):
    X, y = iris
    gaps = X.mask(rng.random(X.shape) < 0.3)
    for make in (bg.QDA, bg.LDA, bg.NaiveBayes):
        clf = make(random_state=0).fit(X, y)
        ends = clf.predict_interval(gaps)
        some = rng.permutation(150)[:20]
        # the same numbers, up to the order in which a product of other shape adds them
        found = clf.predict_interval(gaps.iloc[some])
        np.testing.assert_allclose(found, ends[some], rtol=1e-12)
        draws = clf.predict_draws(gaps)
        mean = (draws * draws["weight"]).sum("draw")
        np.testing.assert_allclose(mean, clf.predict_proba(gaps), rtol=0, atol=0.05)


@pytest.mark.parametrize("name", ["normal", "bernoulli"])
def test_intervals(name):
    clf, X, _ = fitted(name)
    wide, narrow = clf.predict_interval(X, prob=0.95), clf.predict_interval(X, prob=0.5)
    assert wide.shape == (len(X), 2, 2)
    assert ((wide >= 0) & (wide <= 1)).all()
    assert (wide[..., 0] <= narrow[..., 0]).all()
    assert (narrow[..., 0] <= narrow[..., 1]).all()
    assert (narrow[..., 1] <= wide[..., 1]).all()
    # two classes: one interval is the other's complement, up to one draw at each end
    np.testing.assert_allclose(wide[:, 0, 0], 1 - wide[:, 1, 1], rtol=0, atol=0.03)


def test_interval_is_the_beta_quantile():
    # one yes/no column, classes known: P(y = 1 given x) is a ratio of two Betas' draws
    X = pd.DataFrame({"a": [1.0] * 30 + [0.0] * 10 + [1.0] * 10 + [0.0] * 30})
    y = np.repeat([0, 1], 40)
    prior = bg.Bernoulli(prob=0.5, rows=2)
    clf = bg.NaiveBayes(prior, class_prior="uniform", inference=bg.Exact(draws=4000)).fit(X, y)
    found = clf.predict_interval(pd.DataFrame({"a": [1.0]}))[0, 1]
    rng = np.random.default_rng(0)
    # theta given the data and x = 1 of unknown class: a mixture over that class
    own = rng.random(400_000) < clf.predict_proba(pd.DataFrame({"a": [1.0]}))[0, 1]
    first, second = rng.beta(31 + ~own, 11), rng.beta(11 + own, 31)
    expected = np.quantile(second / (first + second), [0.05, 0.95])
    np.testing.assert_allclose(found, expected, rtol=0, atol=0.01)


def test_a_point_has_no_draws(iris):
    clf = bg.QDA(inference="mle").fit(*iris)
    with pytest.raises(bg.errors.NoAttribute, match=r"predict_draws needs .*'mle'.*auto"):
        clf.predict_draws(iris[0])


# -- evidence ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("shared covariance", {"mean": 5.0, "scale": 0.3}),
        ("categorical", {"likelihood": bg.Categorical.laplace(1)}),
    ],
)
def test_evidence_is_the_product_of_one_step_ahead_predictions(name, params):
    clf, X, y = CASES[name]
    params = clf.get_params(deep=False) | params
    if name == "categorical":
        X = X.apply(lambda column: pd.Categorical(column, categories=sorted(set(column))))
    order = np.random.default_rng(0).permutation(len(X))[:14]
    X, y = X.iloc[order], np.asarray(y)[order]
    whole = type(clf)(**params).fit(X, y)
    steps, start = 0.0, 2
    while len(set(y[:start])) < 2:
        start += 1
    before = type(clf)(**params).partial_fit(X[:start], y[:start])
    first = before.log_evidence_
    for i in range(start, len(X)):
        joint = before.predict_joint_log_proba(X.iloc[i : i + 1])[0]
        steps += joint[before.classes_.tolist().index(y[i])]
        before.partial_fit(X.iloc[i : i + 1], y[i : i + 1])
    assert whole.log_evidence_ == pytest.approx(first + steps, rel=1e-10)
