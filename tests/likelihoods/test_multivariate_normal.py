"""The multivariate normal against scipy, its statistics against rows; every missing pattern."""

import numpy as np
import pytest
from joint_normal import (
    COVARIANCES,
    FEW_PATTERNS,
    PATTERNS,
    K,
    P,
    fitted,
    of,
    table,
    with_pattern,
)
from scipy.linalg import solve_triangular
from scipy.stats import multivariate_t

from bayesgen.likelihoods import MultivariateNormal, Normal
from bayesgen.likelihoods.multivariate_normal.density import whitened


@pytest.mark.parametrize("covariance", COVARIANCES)
@pytest.mark.parametrize("seen", FEW_PATTERNS)
def test_predictive_is_the_multivariate_t_of_what_is_seen(rng, covariance, seen):
    posterior, seen = fitted(covariance, rng), np.array(seen)
    x = 3 * rng.standard_normal((6, P))
    found = posterior.log_predictive(with_pattern(x, seen))
    if not seen.any():
        np.testing.assert_array_equal(found, 0.0)
        return
    for k in range(K):
        stretch = 1 + 1 / posterior.mean_rows[k]
        shape = of(posterior, "scale", k)[np.ix_(seen, seen)] * stretch
        law = multivariate_t(posterior.mean[k][seen], shape, of(posterior, "covariance_rows", k))
        np.testing.assert_allclose(found[:, k], law.logpdf(x[:, seen]), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("covariance", COVARIANCES)
def test_rows_of_all_patterns_together_are_scored_as_alone(rng, covariance):
    posterior = fitted(covariance, rng)
    x = np.stack([with_pattern(rng.standard_normal(P), np.array(seen)) for seen in PATTERNS] * 2)
    alone = np.concatenate([posterior.log_predictive(row[None]) for row in x])
    np.testing.assert_allclose(posterior.log_predictive(x), alone, rtol=1e-12, atol=1e-12)


def assert_same(a, b, rtol=1e-9):
    for name, value in a.arrays().items():
        scale = max(1.0, np.abs(value).max(initial=0.0))
        np.testing.assert_allclose(
            getattr(b, name), value, rtol=rtol, atol=rtol * scale, err_msg=name
        )


def test_a_cell_whose_rows_all_weigh_nothing_is_absent(rng):
    x, y, weight = table(rng, gaps=0.3)
    x[0], weight[0] = [np.nan, 1.0, np.nan], 0.0
    x[np.isnan(x[:, [0, 2]]).all(axis=1), 0] = 1.0
    x[0, 0] = np.nan
    weight[(y == 1) & ~np.isnan(x).any(axis=1)] = 0.0
    kept = weight > 0
    prior = MultivariateNormal()
    without = prior.statistics(x[kept], y[kept], weight[kept], n_classes=K)
    assert_same(without, prior.statistics(x, y, weight, n_classes=K))


def test_a_row_with_nothing_observed_changes_nothing(rng):
    x, y, weight = table(rng, gaps=0.3)
    prior = MultivariateNormal()
    more = np.concatenate([x, np.full((2, P), np.nan)]), np.r_[y, 0, 1], np.r_[weight, 3.0, 1.0]
    assert_same(prior.statistics(x, y, weight, n_classes=K), prior.statistics(*more, n_classes=K))


def test_taking_columns_is_reading_those_columns(rng):
    x, y, weight = table(rng, gaps=0.3)
    prior, columns = MultivariateNormal(), np.array([2, 0])
    taken = prior.statistics(x, y, weight, n_classes=K).take("feature", columns)
    assert_same(prior.statistics(x[:, columns], y, weight, n_classes=K), taken)


def test_spreading_classes_is_reading_with_other_codes(rng):
    x, y, weight = table(rng, gaps=0.3)
    prior, index = MultivariateNormal(), np.array([2, 0])
    spread = prior.statistics(x, y, weight, n_classes=K).reindex("class", index, 3)
    other = prior.statistics(x, index[y], weight, n_classes=3)
    # cells come in order of class in one and in old order in the other; adding nothing sorts them
    nothing = prior.statistics(x[:0], y[:0], weight[:0], n_classes=3)
    assert_same(other, spread + nothing)


def test_marginal_is_the_statistics_of_each_column(rng):
    x, y, weight = table(rng, gaps=0.3)
    marginal = MultivariateNormal().statistics(x, y, weight, n_classes=K).marginal()
    assert_same(Normal().statistics(x, y, weight, n_classes=K), marginal)


@pytest.mark.parametrize("units", [(1.0, 1.0, 1.0), (1e-70, 1.0, 1e70)])
def test_vectors_are_whitened_by_the_factorization_itself(rng, units):
    root = rng.standard_normal((4, 2, 3, 3)) * np.array(units)
    matrices, vectors = root.mT @ root, rng.standard_normal((4, 2, 2, 3)) * np.array(units)
    white, log_det = whitened(matrices, vectors)
    for i, j in np.ndindex(4, 2):
        factor = np.linalg.cholesky(matrices[i, j])
        expected = solve_triangular(factor, vectors[i, j].T, lower=True).T
        np.testing.assert_allclose(white[i, j], expected, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(log_det[i, j], 2 * np.log(np.diagonal(factor)).sum())
