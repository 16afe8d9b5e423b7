"""Probabilities of members, that each is nearest to the truth, and draws by them."""

import numpy as np
import pytest
from scipy.special import softmax

import bayesgen as bg
from bayesgen.inference import mixture
from bayesgen.inference.stacking import probabilities_of

PRIOR = np.array([0.5, 0.2, 0.3])


def judged(n, gains, seed=0):
    """Return log probabilities of labels by members, who gain so many nats a row on average."""
    rng = np.random.default_rng(seed)
    return np.log(0.4) + np.array(gains)[:, None] + rng.normal(0, 0.3, (len(gains), n))


def bootstraps(log_proba, weight, prior, n=20_000):
    """Return the mean over Bayesian bootstraps from their definition, and its standard error."""
    rows = np.random.default_rng(1).gamma(weight, size=(n, len(weight)))
    rows *= weight.sum() / rows.sum(axis=1, keepdims=True)
    share = softmax(rows @ log_proba.T + np.log(prior), axis=1)
    return share.mean(axis=0), share.std(axis=0) / np.sqrt(n)


@pytest.mark.parametrize("n", [40, 400])
def test_they_are_means_over_bayesian_bootstraps(n):
    """Of 500 normal draws, whose standard error is that of the bootstraps times 6.3."""
    log_proba = judged(n, [0.0, 0.03, -0.2 / np.sqrt(n)])
    weight = np.random.default_rng(2).integers(1, 4, n).astype(float)
    expected, error = bootstraps(log_proba, weight, PRIOR)
    found = probabilities_of(log_proba, weight, PRIOR)
    assert found.sum() == pytest.approx(1)
    np.testing.assert_array_less(np.abs(found - expected), 4 * 6.4 * error + 0.01)


def test_copies_of_rows_are_their_weights():
    log_proba, weight = judged(30, [0.0, 0.02, -0.02]), np.arange(30) % 3 + 1.0
    copies = np.repeat(np.arange(30), weight.astype(int))
    many = probabilities_of(log_proba[:, copies], np.ones(len(copies)), PRIOR)
    np.testing.assert_allclose(probabilities_of(log_proba, weight, PRIOR), many, atol=1e-9)


def test_members_alike_differ_by_their_prior_and_rows_decide_between_others():
    one = judged(200, [0.0])
    same = probabilities_of(np.repeat(one, 3, axis=0), np.ones(200), PRIOR)
    np.testing.assert_allclose(same, PRIOR, atol=1e-9)
    worse = probabilities_of(np.stack([*one, *one, *(one - 0.2)]), np.ones(200), PRIOR)
    np.testing.assert_allclose(worse, [5 / 7, 2 / 7, 0], atol=1e-9)


def test_a_member_that_rules_out_a_label_is_not_the_one():
    log_proba = judged(20, [0.0, 0.0, 0.0])
    log_proba[:, 3] = -np.inf  # by all: this row says nothing
    without = np.delete(log_proba, 3, axis=1)
    found = probabilities_of(log_proba, np.ones(20), PRIOR)
    np.testing.assert_allclose(found, probabilities_of(without, np.ones(19), PRIOR), atol=1e-9)
    log_proba[1, 5] = -np.inf
    found = probabilities_of(log_proba, np.ones(20), PRIOR)
    assert found[1] == 0 and found.sum() == pytest.approx(1)
    log_proba[[0, 2], 6] = -np.inf
    np.testing.assert_array_equal(probabilities_of(log_proba, np.ones(20), PRIOR), PRIOR)


# -- draws around a mean ---------------------------------------------------------------------------


def test_draws_are_moved_to_a_mean(rng):
    probs = np.moveaxis(rng.dirichlet([2.0, 3.0, 1.0], (4, 200)), -1, 1)
    weight = rng.dirichlet(np.ones(200), 4).T
    mean = np.array([[0.3, 0.5, 0.2], [0.5, 0.4, 0.1], [0.4, 0.4, 0.2], [0.3, 0.7, 0.0]])
    probs[3, 2] = 0  # an impossible class, also for draws of weight 0 that know no other
    probs[3] /= probs[3].sum(axis=0)
    probs[3, :, 7], weight[7, 3] = [0, 0, 1], 0
    weight[:, 3] /= weight[:, 3].sum()
    moved = probs.copy()
    mixture._center(moved, weight, mean)
    np.testing.assert_allclose(np.einsum("rkd,dr->rk", moved, weight), mean, atol=0.01)
    np.testing.assert_allclose(moved.sum(axis=1), 1)
    assert moved[3, :, 7].tolist() == [0, 0, 1]
    # the odds of all draws are multiplied alike
    odds, before = (p[:3, 0] / p[:3, 1] for p in (moved, probs))
    np.testing.assert_allclose(odds / before, (odds / before)[:, :1] * np.ones(200))
    assert moved[:3, 0, 0] / moved[:3, 1, 0] != pytest.approx(before[:, 0], rel=0.01)


# -- the draws of a stack --------------------------------------------------------------------------


def heavy_tails():
    """Return rows of numbers with heavy tails: members differ by much."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 300)
    return rng.standard_t(2, (300, 5)) + 0.5 * np.outer(2 * y - 1, [1, 1, 1, 0, 0]), y


@pytest.fixture(scope="module")
def stack():
    """A stack of a table with heavy tails."""
    return bg.StackedClassifier(random_state=0, progress=False).fit(*heavy_tails())


def require_draws_around_the_prediction(stack):
    """Check that their mean is the prediction, but for the curves of a misfit and of odds."""
    X, _ = heavy_tails()
    found = stack.predict_draws(X)
    mean = (found * found.weight).sum("draw").to_numpy()
    assert np.abs(mean - stack.predict_proba(X)).mean() < 0.012


def test_draws_are_around_the_prediction(stack):
    require_draws_around_the_prediction(stack)


def test_fault_is_caught_draws_of_members_where_they_are(stack, monkeypatch):
    monkeypatch.setattr(mixture, "_center", lambda *_: None)
    with pytest.raises(AssertionError):
        require_draws_around_the_prediction(stack)


def members_of_draws(stack):
    """Return the probabilities of the members, and their weights."""
    components = stack.fitted_.posterior.components
    return components.probabilities, components.weights


def test_draws_are_of_the_members_that_are_nearest_to_the_truth():
    """Of normal classes members with a covariance; bins and kernels keep weights, and no draws."""
    rng = np.random.default_rng(3)
    x = rng.standard_normal((1000, 5))
    y = (rng.random(1000) < 1 / (1 + np.exp(x[:, 1] - x[:, 0]))).astype(int)
    stack = bg.StackedClassifier(random_state=0, progress=False).fit(x, y)
    nearest, weights = members_of_draws(stack)
    names = list(stack.members_)
    rough = [names.index(name) for name in ("bins", "kernels")]
    assert nearest[rough].sum() < 0.001 < 0.02 < weights[rough].sum()
    # whoever asks for the weights is told those of the prediction
    assert stack.members_table()["weight"].sum() == pytest.approx(1)
    np.testing.assert_allclose(stack.members_table()["weight"], weights)


def test_without_a_pool_draws_are_around_the_prediction_too():
    X, y = heavy_tails()
    stack = bg.StackedClassifier(pool=None, random_state=0, progress=False).fit(X, y)
    found = stack.predict_draws(X)
    mean = (found * found.weight).sum("draw").to_numpy()
    assert np.abs(mean - stack.predict_proba(X)).mean() < 0.012


def test_a_file_holds_the_probabilities(stack, tmp_path):
    stack.save(tmp_path / "stack.bgm")
    loaded = bg.load(tmp_path / "stack.bgm")
    np.testing.assert_array_equal(members_of_draws(loaded)[0], members_of_draws(stack)[0])
