"""Draws of the multivariate normal, as they are and updated by the row they are asked about.

Monte Carlo comparisons are within 5 standard errors (false alarm 5.7e-7 each, a few hundred of
them); seeds are fixed.
"""

import itertools

import numpy as np
import pytest
from joint_normal import (
    COVARIANCES,
    FEW_PATTERNS,
    PATTERNS,
    K,
    P,
    fitted,
    stated,
    table,
    with_pattern,
)
from scipy.special import softmax
from scipy.stats import invwishart, multivariate_normal

from bayesgen.likelihoods import MultivariateNormal
from bayesgen.likelihoods.multivariate_normal.lkj_and_wishart import divided


@pytest.mark.parametrize("covariance", COVARIANCES)
@pytest.mark.parametrize("seen", FEW_PATTERNS)
def test_density_is_that_of_scipy(rng, covariance, seen):
    posterior, seen = fitted(covariance, rng), np.array(seen)
    params = posterior.draw(rng, 4)
    x = 3 * rng.standard_normal((5, P))
    found = posterior.log_density_fn(params)(with_pattern(x, seen))
    assert found.shape == (5, 4, K)
    if not seen.any():
        np.testing.assert_array_equal(found, 0.0)
        return
    for d, k in itertools.product(range(4), range(K)):
        factor = params["cholesky"][d, min(k, params["cholesky"].shape[1] - 1)]
        part = (factor @ factor.T)[np.ix_(seen, seen)]
        law = multivariate_normal(params["mean"][d, k][seen], part)
        np.testing.assert_allclose(found[:, d, k], law.logpdf(x[:, seen]), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("covariance", COVARIANCES)
def test_draws_have_the_moments_of_the_normal_inverse_wishart(rng, covariance):
    posterior = fitted(covariance, rng)
    params = posterior.draw(rng, 20_000)
    covariances = params["cholesky"] @ np.swapaxes(params["cholesky"], -1, -2)
    for k in range(len(posterior.scale)):
        matrix = posterior.covariance_rows[k] * posterior.scale[k]
        degrees = posterior.degrees[k]
        drawn, law = covariances[:, k], invwishart(degrees, matrix)
        error = np.sqrt(law.var() / len(drawn))
        assert (np.abs(drawn.mean(0) - law.mean()) < 5 * error).all()
        log_det = np.linalg.slogdet(drawn)[1]
        other = np.linalg.slogdet(law.rvs(20_000, rng))[1]
        error = np.sqrt((log_det.var() + other.var()) / len(drawn))
        assert abs(log_det.mean() - other.mean()) < 5 * error
    # (mu - mean) sqrt(rows), whitened by the draw's own factor, is standard normal
    off = (params["mean"] - posterior.mean) * np.sqrt(posterior.mean_rows)[:, None]
    factor = np.broadcast_to(params["cholesky"], (*off.shape, P))
    white = np.linalg.solve(factor, off[..., None])[..., 0]
    assert (np.abs(white.mean(0)) < 5 / np.sqrt(len(white))).all()
    assert (np.abs((white**2).mean(0) - 1) < 5 * np.sqrt(2 / len(white))).all()


@pytest.mark.parametrize(("p", "wide", "n"), [(1, 2, 3), (2, 3, 50), (7, 2, 900), (40, 1, 60)])
def test_division_by_triangular_factors_is_the_inverse_and_the_product(rng, p, wide, n):
    """More draws than are divided at once, and fewer."""
    root = np.linalg.cholesky(np.eye(p) + np.ones((wide, p, p)))
    below = rng.standard_normal((n, wide, p * (p - 1) // 2))
    diagonal = np.sqrt(rng.chisquare(2 + np.arange(p), (n, wide, p)))
    found = divided(root, below, diagonal)
    assert not np.triu(found, 1).any()
    for d, k in itertools.product(range(n), range(wide)):
        whole = np.diag(diagonal[d, k])
        whole[np.tril_indices(p, -1)] = below[d, k]
        size = np.abs(found[d, k]).max()
        np.testing.assert_allclose(
            found[d, k], root[k] @ np.linalg.inv(whole), rtol=1e-9, atol=1e-13 * size
        )
        np.testing.assert_allclose(found[d, k] @ whole, root[k], atol=1e-12 * size)


def mixture_deviates(posterior, x, rng, n=8_000):
    """Mean of normalized densities over the mixture minus class probabilities, in errors."""
    log_joint = posterior.log_predictive(x) + np.log([0.3, 0.7])
    probabilities = softmax(log_joint, axis=1)
    own = (rng.random((n, len(x), 1)) > np.cumsum(probabilities, axis=1)[:, :-1]).sum(axis=-1)
    log_density = posterior.log_density_draws_given_row(rng, n)(x, own)
    answers = softmax(log_density + np.log([0.3, 0.7]), axis=2)
    error = answers.std(axis=0) / np.sqrt(n)
    return np.abs(answers.mean(axis=0) - probabilities) / (error + 1e-12)


def rows_to_ask(rng):
    """Every pattern, near the classes and far from them."""
    near, far = rng.standard_normal((len(PATTERNS), P)), 8 * rng.standard_normal((len(PATTERNS), P))
    return np.concatenate([with_pattern(x, np.array(PATTERNS)) for x in (near, far)])


def few_rows(covariance, rng):
    """A posterior wide enough for a row's own update to matter."""
    x, y, _ = table(rng, n=6)
    prior = stated(covariance)
    statistics = prior.statistics(x, y, np.ones(6), n_classes=K)
    return prior.complete(statistics).posterior(statistics)


@pytest.mark.parametrize("covariance", COVARIANCES)
def test_mean_over_the_mixture_is_the_class_probability(rng, covariance):
    posterior = few_rows(covariance, rng)
    assert mixture_deviates(posterior, rows_to_ask(rng), rng).max() < 5


@pytest.mark.parametrize("covariance", COVARIANCES)
def test_mixture_without_the_update_is_found(rng, covariance, monkeypatch):
    """The fault: theta from the plain posterior, whatever class the row is given to."""

    def not_updated(posterior, rng, n):
        density = posterior.log_density_fn(posterior.draw(rng, n))
        return lambda x, own: np.swapaxes(density(x), 0, 1)

    posterior, x = few_rows(covariance, rng), rows_to_ask(rng)
    monkeypatch.setattr(MultivariateNormal, "log_density_draws_given_row", not_updated)
    assert mixture_deviates(posterior, x, rng).max() > 5


@pytest.mark.parametrize("covariance", COVARIANCES)
def test_updated_densities_are_those_of_the_updated_posterior(rng, covariance):
    """Mean and variance of each class's log density against draws from the posterior of row x."""
    posterior, n = few_rows(covariance, rng), 8_000
    x = rows_to_ask(rng)[[-1, -2, 5, 1]]
    for c in range(K):
        found = posterior.log_density_draws_given_row(rng, n)(x, np.full((n, len(x)), c))
        for r, row in enumerate(x):
            # a row that shows only some columns updates the model of those columns
            seen = np.flatnonzero(~np.isnan(row))
            part = posterior.take("feature", seen)
            one = part.statistics(row[None, seen], np.array([c]), np.ones(1), n_classes=K)
            after = part.posterior(one)
            direct = after.log_density_fn(after.draw(rng, n))(row[None, seen])[0]
            for power in (1, 2):
                a, b = found[:, r] ** power, direct**power
                error = np.sqrt((a.var(0) + b.var(0)) / n)
                assert (np.abs(a.mean(0) - b.mean(0)) < 5 * error).all()


def test_a_row_is_answered_alike_alone_and_in_company(rng):
    posterior, x = few_rows("shared", rng), rows_to_ask(rng)
    own = rng.integers(K, size=(50, len(x)))
    together = posterior.log_density_draws_given_row(np.random.default_rng(1), 50)(x, own)
    for r in range(len(x)):
        alone = posterior.log_density_draws_given_row(np.random.default_rng(1), 50)(
            x[[r]], own[:, [r]]
        )
        np.testing.assert_allclose(alone[:, 0], together[:, r], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("covariance", ["per_class", "shared"])
def test_lkj_is_whitened_by_the_rows_alone_where_they_are_many(rng, covariance):
    """Columns that are almost one: a guess worth rows would hide how near to one they are."""
    x, y = almost_one(rng, 40)
    prior, rows = lkj(covariance, x, y)
    factor = prior.whitening(rows)["cholesky"][0]
    scatter = rows.pooled_scatter / 80 if covariance == "shared" else rows.scatter / 40
    inverse = np.linalg.inv(np.linalg.cholesky(scatter))
    # a guess worth three rows would make it 270
    np.testing.assert_allclose(np.linalg.svd(inverse @ factor)[1], 1, rtol=0.02)


@pytest.mark.parametrize("covariance", ["per_class", "shared"])
def test_lkj_is_whitened_by_the_guess_too_where_rows_are_few(rng, covariance):
    x, y = almost_one(rng, 2)
    prior, rows = lkj(covariance, x, y)
    twin = MultivariateNormal(covariance, **prior.arrays()).posterior(rows)
    found = prior.whitening(rows)["cholesky"][0]
    np.testing.assert_allclose(found, np.linalg.cholesky(twin.scale), rtol=1e-12)


@pytest.mark.parametrize("weight", [1.0, 1e9, 1e14])
def test_lkj_has_coordinates_where_a_column_comes_twice(rng, weight):
    """The guess keeps the matrix from being singular at any weight of the rows."""
    x, y = almost_one(rng, 40)
    prior, rows = lkj("per_class", x[:, [0, 1, 1]], y, weight)
    assert np.isfinite(prior.whitening(rows)["cholesky"][0]).all()


def almost_one(rng, n):
    """Return n rows of each of two classes, and their codes."""
    x = rng.standard_normal((2 * n, 1)) + 1e-3 * rng.standard_normal((2 * n, 3))
    return x, np.repeat(np.arange(2), n)


def lkj(covariance, x, y, weight=1.0):
    """Return the completed prior, and statistics."""
    prior = MultivariateNormal(covariance, prior="lkj", mean_rows=1e-6)
    rows = prior.statistics(x, y, np.full(len(y), weight), n_classes=2)
    return prior.complete(rows), rows
