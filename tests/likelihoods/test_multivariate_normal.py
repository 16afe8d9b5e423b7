"""The multivariate normal against scipy, its statistics against rows; every missing pattern."""

import numpy as np
import pytest
from joint_normal import COVARIANCES, PATTERNS, SCALE, K, P, fitted, of, stated, table, with_pattern
from scipy.linalg import solve_triangular
from scipy.stats import multivariate_t

from bayesgen.likelihoods import MultivariateNormal, Normal
from bayesgen.likelihoods.multivariate_normal.density import whitened


@pytest.mark.parametrize("covariance", COVARIANCES)
@pytest.mark.parametrize("seen", PATTERNS)
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


@pytest.mark.parametrize("covariance", COVARIANCES)
def test_predictive_integrates_to_one(covariance):
    prior = MultivariateNormal(covariance=covariance, mean=0.0, scale=1.0, covariance_rows=3.0)
    prior = prior.complete(
        prior.statistics(np.zeros((0, 2)), np.zeros(0, int), np.zeros(0), n_classes=1)
    )
    # x = tan(angle) in both columns maps the plane to a square
    angle, step = np.linspace(-np.pi / 2, np.pi / 2, 802, retstep=True)
    angle = angle[1:-1]
    grid = np.stack(np.meshgrid(np.tan(angle), np.tan(angle)), axis=-1).reshape(-1, 2)
    density = np.exp(prior.log_predictive(grid)[:, 0]) * np.prod(1 + grid**2, axis=1)
    assert density.sum() * step**2 == pytest.approx(1.0, abs=1e-5)


@pytest.mark.parametrize("covariance", COVARIANCES)
def test_evidence_is_the_sum_of_one_step_ahead_predictives(rng, covariance):
    x, y, _ = table(rng, n=15)
    weight = np.ones(len(y))
    prior = stated(covariance)
    prior = prior.complete(prior.statistics(x, y, weight, n_classes=K))
    total, now = 0.0, prior
    for row, label in zip(x, y, strict=True):
        total += now.log_predictive(row[None])[0, label]
        one = prior.statistics(row[None], np.array([label]), np.ones(1), n_classes=K)
        now = now.posterior(one)
    together = prior.statistics(x, y, weight, n_classes=K)
    assert prior.log_evidence(together) == pytest.approx(total, rel=1e-12)


@pytest.mark.parametrize("covariance", COVARIANCES)
def test_updating_in_turn_is_updating_at_once(rng, covariance):
    x, y, weight = table(rng)
    prior = stated(covariance)
    first = prior.statistics(x[:11], y[:11], weight[:11], n_classes=K)
    second = prior.statistics(x[11:], y[11:], weight[11:], n_classes=K)
    prior = prior.complete(first)
    in_turn, at_once = prior.posterior(first).posterior(second), prior.posterior(first + second)
    for name, value in at_once.arrays().items():
        np.testing.assert_allclose(getattr(in_turn, name), value, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("column", range(P))
def test_every_column_by_itself_is_the_normal_family(rng, column):
    x, y, weight = table(rng)
    prior = stated("per_class")
    statistics = prior.statistics(x, y, weight, n_classes=K)
    joint = prior.complete(statistics).posterior(statistics)
    one = Normal(
        mean=prior.mean[:, [column]],
        mean_rows=prior.mean_rows[:, None],
        variance=SCALE[column, column],
        variance_rows=3.0,
    )
    s = one.statistics(x[:, [column]], y, weight, n_classes=K)
    rows = with_pattern(rng.standard_normal((5, P)), np.arange(P) == column)
    alone = one.complete(s).posterior(s).log_predictive(rows[:, [column]])
    np.testing.assert_allclose(joint.log_predictive(rows), alone, rtol=1e-11)


def assert_same(a, b, rtol=1e-9):
    for name, value in a.arrays().items():
        scale = max(1.0, np.abs(value).max(initial=0.0))
        np.testing.assert_allclose(
            getattr(b, name), value, rtol=rtol, atol=rtol * scale, err_msg=name
        )


@pytest.mark.parametrize("seed", range(8))
def test_statistics_add_over_any_split(seed):
    rng = np.random.default_rng(seed)
    x, y, weight = table(rng, n=40, gaps=0.3)
    x, weight = x + rng.choice([0.0, 1e6]), weight * rng.choice([1.0, 0.37])
    prior = MultivariateNormal()

    def of_rows(rows):
        return prior.statistics(x[rows], y[rows], weight[rows], n_classes=K)

    order = rng.permutation(len(y))
    parts = np.split(order, np.sort(rng.integers(0, len(y) + 1, size=3)))
    total = of_rows(parts[0])
    for part in parts[1:]:
        total = total + of_rows(part)
    assert_same(of_rows(np.arange(len(y))), total)


def test_weight_two_is_the_row_twice_and_weight_none_is_no_row(rng):
    x, y, weight = table(rng, gaps=0.3)
    prior, times = MultivariateNormal(), weight.astype(int)
    often = prior.statistics(
        np.repeat(x, times, axis=0), np.repeat(y, times), np.ones(times.sum()), n_classes=K
    )
    assert_same(prior.statistics(x, y, weight, n_classes=K), often)


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


def test_each_row_is_subtracted_from_its_own_class(rng):
    x, y, weight = rng.standard_normal((7, P)), np.array([0, 1, 2, 2, 0, 1, 0]), np.ones(7)
    weight[3] = 2.0
    prior = MultivariateNormal()
    whole = prior.statistics(x, y, weight, n_classes=K)
    rest = whole.without_each(prior.statistics_per_row(x, weight), y)
    for i in range(7):
        others = np.arange(7) != i
        expected = prior.statistics(x[others], y[others], weight[others], n_classes=K)
        for name in ("count", "mean", "scatter"):
            np.testing.assert_allclose(
                getattr(rest, name)[i], getattr(expected, name), rtol=1e-9, atol=1e-9
            )
