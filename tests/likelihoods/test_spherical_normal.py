"""One variance for all columns: against scipy, by hand, and at the edges of the data."""

import numpy as np
import pandas as pd
import pytest
from cases_normal import NORMALS, some_lengths
from scipy.stats import multivariate_t

import bayesgen as bg
from bayesgen.errors import DegenerateEstimate, InvalidArgument
from bayesgen.likelihoods import Normal, Repair, SphericalNormal

K, P = 3, 3
SPREADS = ["per_class", "shared"]
PATTERNS = [np.array(seen) for seen in ([True] * 3, [True, False, True], [False, True, False])]


def statistics_of(part, x, y):
    return part.statistics(x, y, np.ones(len(x)), n_classes=K)


def updated(part, x, y):
    rows = statistics_of(part, x, y)
    return part.complete(rows).posterior(rows)


def lengths(rng, n=40, gaps=0.0):
    x, y = some_lengths(rng, n)
    return np.where(rng.random(x.shape) < gaps, np.nan, x), y


@pytest.mark.parametrize("spread", SPREADS)
@pytest.mark.parametrize("seen", PATTERNS)
def test_predictive_is_the_multivariate_t_of_what_is_seen(rng, spread, seen):
    name = "SphericalNormal" + " shared" * (spread == "shared")
    after = updated(NORMALS[name].prior, *lengths(rng, gaps=0.2))
    x = lengths(rng, 6)[0]
    found = after.log_predictive(np.where(seen, x, np.nan))
    for k in range(K):
        at = min(k, len(after.variance) - 1)
        shape = np.diag(after.variance[at] * (1 + 1 / after.mean_rows[k][seen]))
        law = multivariate_t(after.mean[k][seen], shape, after.variance_rows[at, 0])
        np.testing.assert_allclose(found[:, k], law.logpdf(x[:, seen]), rtol=1e-10)


def test_every_cell_counts_once(rng):
    """Three columns worth one row each are three cells: by hand."""
    x = np.array([[1.0, 2.0, np.nan], [3.0, 4.0, 5.0]])
    prior = SphericalNormal(mean=0.0, mean_rows=1.0, variance=2.0, variance_rows=2.0)
    rows = prior.statistics(x, np.zeros(2, int), np.ones(2), n_classes=1)
    after = prior.complete(rows).posterior(rows)
    assert after.variance_rows[0, 0] == 2 * 3 + 5
    np.testing.assert_allclose(after.mean, [[4 / 3, 6 / 3, 5 / 2]])
    # 2 cells of variance 2 each row, squares within, and the pull: n / (n + 1) times the mean^2
    squares = 2 * 3 * 2 + (2.0 + 2.0) + 2 / 3 * (2**2 + 3**2) + 1 / 2 * 5**2
    np.testing.assert_allclose(after.variance_rows * after.variance, squares)


@pytest.mark.parametrize("spread", SPREADS)
def test_one_column_is_the_normal_family(rng, spread):
    x, y = lengths(rng, gaps=0.1)
    guess = {"mean": 0.3, "mean_rows": 0.7, "variance": 1.5, "variance_rows": 3, "spread": spread}
    one, other = (updated(family(**guess), x[:, :1], y) for family in (SphericalNormal, Normal))
    fresh = lengths(rng, 9)[0][:, :1]
    np.testing.assert_allclose(one.log_predictive(fresh), other.log_predictive(fresh), rtol=1e-12)
    np.testing.assert_allclose(one.mode()["variance"], other.mode()["variance"])
    own = rng.integers(K, size=(7, 9))
    drawn = [
        part.log_density_draws_given_row(np.random.default_rng(1), 7)(fresh, own)
        for part in (one, other)
    ]
    np.testing.assert_allclose(*drawn, rtol=1e-12)


@pytest.mark.parametrize("spread", SPREADS)
def test_reference_prior_is_the_classical_t(rng, spread):
    """p(mu, sigma2) ~ 1 / sigma2: as many degrees as cells less means."""
    x, y = lengths(rng)
    after = updated(SphericalNormal(spread=spread, prior="reference"), x, y)
    count = np.bincount(y)
    squares = np.array([((x[y == k] - x[y == k].mean(axis=0)) ** 2).sum() for k in range(K)])
    degrees = P * (count - 1)
    if spread == "shared":
        squares, degrees = squares.sum(keepdims=True), degrees.sum(keepdims=True)
    np.testing.assert_allclose(after.variance_rows[:, 0], degrees)
    np.testing.assert_allclose(after.variance[:, 0], squares / degrees)
    np.testing.assert_allclose(after.mean_rows, np.broadcast_to(count[:, None], (K, P)))
    with pytest.raises(InvalidArgument, match="at least 2 distinct complete rows"):
        updated(SphericalNormal(prior="reference"), x[:3], np.arange(3))


@pytest.mark.parametrize("bias_corrected", [False, True])
def test_maximum_likelihood_pools_columns(rng, bias_corrected):
    x, y = lengths(rng)
    count = np.bincount(y) - bias_corrected
    squares = np.array([((x[y == k] - x[y == k].mean(axis=0)) ** 2).sum() for k in range(K)])
    for spread, expected in (
        ("per_class", squares / (P * count)),
        ("shared", squares.sum(keepdims=True) / (P * count.sum())),
    ):
        part = SphericalNormal(spread=spread)
        rows = statistics_of(part, x, y)
        best, findings = part.complete(rows).maximum_likelihood(rows, bias_corrected=bias_corrected)
        assert not findings
        np.testing.assert_allclose(best["variance"][:, 0], expected, rtol=1e-12)


def test_what_says_nothing(rng):
    """A column without a cell is left out; a constant one has the unit of the others."""
    x, y = lengths(rng)
    x[:, 1], x[:, 2] = np.nan, 7.0
    part = SphericalNormal()
    done = part.complete(statistics_of(part, x, y))
    np.testing.assert_array_equal(done.uninformative(), [False, True, False])
    np.testing.assert_array_equal(done.variance_rows, 2 * 8.0)
    without = part.complete(statistics_of(part, x[:, [0, 2]], y))
    kept = done.take("feature", np.array([0, 2]))
    for name, value in without.arrays().items():
        np.testing.assert_allclose(getattr(kept, name), value)
    constant = part.complete(statistics_of(part, np.full_like(x, 3.0), y))
    assert constant.uninformative().all()
    stated = SphericalNormal(mean=0.0, variance=1.0)
    assert not stated.complete(statistics_of(stated, x, y)).uninformative().any()


def test_classes_that_do_not_vary_or_have_no_cell(rng):
    x, y = lengths(rng)
    x[y == 1] = [1.0, 2.0, 3.0]
    x[y == 2, 0] = np.nan
    rows = statistics_of(SphericalNormal(), x, y)
    part = SphericalNormal().complete(rows)
    best, findings = part.maximum_likelihood(rows, variance_floor=1e-6)
    assert findings == [Repair("pooled", 2, 0), Repair("floored", 1, None)]
    assert best["variance"][1] == 1e-6 * part.initial_params(rows)["variance"][0]
    np.testing.assert_allclose(best["mean"][2, 0], np.nanmean(x[:, 0]))


def penguins():
    X, y = bg.datasets.load_penguins()
    X = X.select_dtypes("number").iloc[::3]
    # one unit: standard deviations
    return (X - X.mean()) / X.std(), y.iloc[::3]


def test_through_the_estimator():
    """Exact with missing values at fit and at predict; only a change of all units is none."""
    X, y = penguins()
    assert X.isna().to_numpy().any()
    clf = bg.GenerativeClassifier(bg.MultivariateNormal("spherical"), random_state=0).fit(X, y)
    assert clf.inference_ == "exact"
    probs = clf.predict_proba(X)
    moved = 25.4 * X + 3
    again = bg.GenerativeClassifier(bg.MultivariateNormal("spherical")).fit(moved, y)
    np.testing.assert_allclose(again.predict_proba(moved), probs, atol=1e-12)
    one = X * np.array([25.4] + [1.0] * (X.shape[1] - 1))
    assert np.abs(clf.fit(one, y).predict_proba(one) - probs).max() > 0.01


def test_the_warning_names_the_columns(rng):
    X = pd.DataFrame(lengths(rng)[0], columns=["length", "width", "depth"])
    y = np.where(np.arange(len(X)) < 20, "wild", "still")
    X.loc[y == "still"] = [1.0, 2.0, 3.0]
    with pytest.warns(
        DegenerateEstimate,
        match="the columns 'length', 'width', 'depth' do not vary within class 'still'",
    ):
        bg.GenerativeClassifier(bg.MultivariateNormal("spherical"), inference="mle").fit(X, y)
