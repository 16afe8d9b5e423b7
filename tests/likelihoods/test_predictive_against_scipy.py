"""The predictive of every closed form is a distribution of scipy, by the numbers it is known by.

Word counts have theirs in test_multinomial, joint normals where they are tested; families without
a closed form are compared given their parameters.
"""

import numpy as np
import pytest
from cases import CASES
from laws import fitted
from scipy import stats


def posterior(name):
    """Return a family updated by 30 rows, and 12 other rows."""
    case = CASES[name]
    after = fitted(case, case.prior)[1]
    return after, case.table(np.random.default_rng(5), 12)[0]


def by_class(after, x, log_density):
    found = after.log_predictive(x)
    expected = np.stack([log_density(k) for k in range(found.shape[1])], axis=1)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", ["Normal", "Normal shared"])
def test_normal_is_a_student_t_in_each_column(name):
    after, x = posterior(name)
    rows, size = (np.broadcast_to(a, (3, 3)) for a in (after.variance_rows, after.variance))
    scale = np.sqrt(size * (1 + 1 / after.mean_rows))
    by_class(after, x, lambda k: stats.t(rows[k], after.mean[k], scale[k]).logpdf(x).sum(axis=1))


def test_poisson_is_a_negative_binomial():
    after, x = posterior("Poisson")
    a, b = after.rate * after.rows, after.rows
    by_class(after, x, lambda k: stats.nbinom(a[k], b[k] / (b[k] + 1)).logpmf(x).sum(axis=1))


def test_bernoulli_is_a_beta_binomial_of_one():
    after, x = posterior("Bernoulli")
    a, b = after.prob * after.rows, (1 - after.prob) * after.rows
    by_class(after, x, lambda k: stats.betabinom(1, a[k], b[k]).logpmf(x).sum(axis=1))


@pytest.mark.parametrize("name", ["Categorical", "Categorical laplace"])
def test_categorical_is_a_dirichlet_multinomial_of_one(name):
    after, x = posterior(name)
    sizes = CASES[name].n_levels
    strength = np.repeat(np.broadcast_to(after.rows, (3, 3)), sizes, axis=1)
    parts = np.split(strength * after.probs, np.cumsum(sizes)[:-1], axis=1)

    def log_density(k):
        return sum(
            stats.dirichlet_multinomial(part[k], 1).logpmf(np.eye(size, dtype=int)[x[:, j]])
            for j, (part, size) in enumerate(zip(parts, sizes, strict=True))
        )

    by_class(after, x, log_density)


@pytest.mark.parametrize("name", ["JointCategorical", "JointCategorical laplace"])
def test_joint_table_is_a_dirichlet_multinomial_of_one_over_its_cells(name):
    after, x = posterior(name)
    sizes = CASES[name].n_levels
    cells = np.ravel_multi_index(tuple(x.T), sizes)
    strength = np.broadcast_to(np.asarray(after.rows).reshape(-1, 1), (3, 1))
    counts = strength * np.asarray(after.probs).reshape(3, -1)
    one = np.eye(counts.shape[1], dtype=int)
    by_class(after, x, lambda k: stats.dirichlet_multinomial(counts[k], 1).logpmf(one[cells]))


def test_kernel_density_is_a_mean_of_normals():
    case = CASES["KernelDensity"]
    after, x = posterior("KernelDensity")
    rows, y = case.rows(np.random.default_rng(1), 30)
    width = np.broadcast_to(case.prior.bandwidth, (3, 3))

    def log_density(k):
        kernels = stats.norm(rows[y == k], width[k]).pdf(x[:, None])
        return np.log(kernels.mean(axis=1)).sum(axis=1)

    by_class(after, x, log_density)


def given(name):
    """Return parameters of a family without a closed form, and what it says of 12 rows."""
    case, rng = CASES[name], np.random.default_rng(6)
    prior, x = fitted(case, case.prior)[0], case.table(rng, 12)[0]
    params = {key: value[0] for key, value in case.params(prior, rng, 1).items()}
    return params, x, prior.log_density_fn(params)(x)


def test_lkj_normal_given_its_parameters():
    params, x, found = given("MultivariateNormal lkj")
    for k, (mean, factor) in enumerate(zip(params["mean"], params["cholesky"], strict=True)):
        expected = stats.multivariate_normal(mean, factor @ factor.T).logpdf(x)
        np.testing.assert_allclose(found[:, k], expected, rtol=1e-9)


def test_gamma_family_given_its_parameters():
    params, x, found = given("Family gamma")
    for k in range(3):
        shape, rate = params["concentration"][k], params["rate"][k]
        expected = stats.gamma(shape, scale=1 / rate).logpdf(x).sum(axis=1)
        np.testing.assert_allclose(found[:, k], expected, rtol=1e-9)
