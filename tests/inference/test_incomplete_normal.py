"""Modes of rows with missing values against brute force: rows one by one, a general optimiser."""

from functools import cache

import numpy as np
import pytest
from incomplete_rows import (
    K,
    P,
    agrees,
    around,
    highest_posterior,
    log_prior,
    maximum,
    prior_of,
    row_log_likelihood,
    table,
    table_statistics,
)
from scipy.stats import invwishart, multivariate_normal

from bayesgen import optimize
from bayesgen.inference import incomplete_normal, missing
from bayesgen.inference.incomplete_normal import IncompleteNormal
from bayesgen.likelihoods import MultivariateNormal, Repair
from bayesgen.likelihoods.multivariate_normal import expected_moments


def maximum_likelihood(likelihood, statistics, **options):
    return IncompleteNormal(likelihood, statistics).maximum_likelihood(**options)


def mode(prior, statistics):
    return IncompleteNormal(prior, statistics).mode()


@cache
def incomplete(covariance):
    """Return rows with missing values, their prior and their statistics."""
    x, y, weight = table(np.random.default_rng(20261121))
    prior = prior_of(covariance)
    statistics = prior.statistics(x, y, weight, n_classes=K)
    return x, y, weight, prior.complete(statistics), statistics


@cache
def highest_likelihood(covariance):
    """Return the maximum by an optimiser, which takes a second."""
    x, y, weight, prior, _ = incomplete(covariance)
    return maximum(x, y, weight, prior)


@pytest.fixture(params=["per_class", "shared"])
def covariance(request):
    return request.param


@pytest.fixture
def case(covariance):
    return incomplete(covariance)


def test_maximum_likelihood_is_that_of_an_optimiser_on_rows(case, covariance):
    x, y, weight, prior, statistics = case
    params, findings, report = maximum_likelihood(prior, statistics)
    assert agrees(params, *highest_likelihood(covariance))
    matrix = params["cholesky"] @ np.swapaxes(params["cholesky"], 1, 2)
    by_rows = row_log_likelihood(x, y, weight, params["mean"], matrix)
    assert report.log_likelihood == pytest.approx(by_rows, rel=1e-12)
    assert report.converged
    assert report.gradient_norm < 1e-8
    assert findings == []


def test_mode_is_that_of_an_optimiser_on_rows(case):
    x, y, weight, prior, statistics = case
    params, report = mode(prior, statistics)
    assert agrees(params, *highest_posterior(x, y, weight, prior))
    assert report.converged
    assert report.gradient_norm < 1e-8


def test_prior_of_the_oracle_is_that_of_scipy(rng):
    prior = prior_of("per_class").complete(table_statistics(rng))

    def by_scipy(mean, covariance):
        total = 0.0
        for k, matrix in enumerate(covariance):
            law = invwishart(prior.degrees[k], prior.covariance_rows[k] * prior.scale[k])
            total += law.logpdf(matrix) + (P + 1) / 2 * np.linalg.slogdet(matrix)[1]
            spread = matrix / prior.mean_rows[k]
            total += multivariate_normal(prior.mean[k], spread).logpdf(mean[k])
        return total

    points = [(rng.standard_normal((K, P)), invwishart(6, np.eye(P)).rvs(K, rng)) for _ in range(4)]
    gaps = [by_scipy(*point) - log_prior(prior, *point) for point in points]
    assert np.ptp(gaps) < 1e-9


@pytest.mark.parametrize("gaps", [0.2, 0.6])
def test_em_rests_as_near_to_the_mode_as_it_says(rng, covariance, gaps):
    """Slow steps are short long before the mode: the length of the last one says little."""
    prior = prior_of(covariance)
    statistics = prior.statistics(*table(rng, gaps=gaps), n_classes=K)
    data = IncompleteNormal(prior.complete(statistics), statistics)
    start = data.likelihood.initial_params(statistics)
    params, steps, distance = missing.em(data, start, 1000)
    exact, _ = data.mode(params)
    assert steps < 1000
    assert distance <= missing.STILL
    assert data.change(exact, params) <= 2 * missing.STILL


@pytest.mark.parametrize("gaps", [0.2, 0.6])
def test_accelerated_em_rests_at_the_mode(rng, covariance, gaps):
    """In fewer steps than EM takes to come within 1e-5 of it, in any order of columns."""
    prior = prior_of(covariance)
    x, y, weight = table(rng, gaps=gaps)
    statistics = prior.statistics(x, y, weight, n_classes=K)
    data = IncompleteNormal(prior.complete(statistics), statistics)
    params, report = data.settled(data.start())
    exact, _ = data.mode(params)
    assert data.change(exact, params) < 1e-7
    assert report.converged
    assert report.iterations < missing.em(data, data.start(), 1000)[1]
    order = rng.permutation(P)
    turned = statistics.take("feature", order)
    other = IncompleteNormal(prior.complete(statistics).take("feature", order), turned)
    assert other.settled(other.start())[1].iterations == report.iterations


def heights(data, steps):
    """Return the heights of the mode that is found, and of where steps of EM alone end."""
    params, start = data.settled(data.start())[0], data.start()
    for _ in range(steps):
        start, _, _ = missing.em(data, start, 1)
    return data.point(params).value, data.point(start).value


@pytest.mark.parametrize("gaps", [0.2, 0.6])
def test_the_mode_is_as_high_as_where_em_ends(rng, covariance, gaps):
    prior = prior_of(covariance)
    statistics = prior.statistics(*table(rng, gaps=gaps), n_classes=K)
    found, plain = heights(IncompleteNormal(prior.complete(statistics), statistics), 300)
    assert found >= plain - 1e-9


def two_modes(tilt):
    """Return rows whose correlation has two modes and a saddle point near 0, between them.

    Source: Murray (1977), Journal of the Royal Statistical Society B 39, 27-28. tilt: of a row,
    without which both modes are equally high and EM ends between them.
    """
    x = np.full((12, 2), np.nan)
    x[:4] = [[1 + tilt, 1 + tilt], [1, -1], [-1, 1], [-1, -1]]
    x[4:8, 0] = x[8:, 1] = [2, 2, -2, -2]
    prior = MultivariateNormal(mean_rows=0.1, covariance_rows=0.3)
    statistics = prior.statistics(x, np.zeros(12, dtype=int), np.ones(12), n_classes=1)
    return IncompleteNormal(prior.complete(statistics), statistics)


@pytest.mark.parametrize("tilt", [1e-6, 1e-3, 0.05, -0.05])
def test_a_saddle_point_is_no_mode(tilt):
    found, plain = heights(two_modes(tilt), 1000)
    assert found >= plain - 1e-9


def test_fault_a_rest_at_a_saddle_point_is_found(monkeypatch):
    monkeypatch.setattr(IncompleteNormal, "_beside", lambda *arguments: [])
    found, plain = heights(two_modes(0.05), 1000)
    assert found < plain - 0.1


def test_many_columns_end_after_a_number_of_steps_and_say_so(case, monkeypatch):
    prior, statistics = case[-2:]
    exact, _ = IncompleteNormal(prior, statistics).mode()
    monkeypatch.setattr(incomplete_normal, "WIDE", P - 1)
    for steps, converged in ((3, False), (200, True)):
        monkeypatch.setattr(missing, "STEPS_ALONE", steps)
        data = IncompleteNormal(prior, statistics)
        params, report = data.settled(data.start())
        assert report.converged == converged and report.iterations <= steps
        far = max(np.abs(params[name] - exact[name]).max() for name in exact)
        assert (far < 1e-6) == converged


def test_a_mode_is_searched_once_for_equal_priors(case, monkeypatch):
    """A fit and its leave-one-out complete the same prior, each for itself."""
    *_, prior, statistics = case
    first = IncompleteNormal(prior, statistics).center
    monkeypatch.setattr(missing, "em", None)
    again = IncompleteNormal(prior.with_arrays({}), statistics)
    assert again.center is first


def test_dropping_the_conditional_covariance_is_found(case, covariance, monkeypatch):
    _, _, _, prior, statistics = case

    inverses = expected_moments.inverses

    def without_noise(blocks):
        return 0 * inverses(blocks)

    monkeypatch.setattr(expected_moments, "inverses", without_noise)
    params, _, _ = maximum_likelihood(prior, statistics)
    assert not agrees(params, *highest_likelihood(covariance))


def test_expected_statistics_are_those_of_rows_filled_one_by_one(case, rng):
    x, y, weight, prior, statistics = case
    params = {name: value[0] for name, value in prior.draw(rng, 1).items()}
    found = incomplete_normal.expected(statistics, params)
    assert not found.has_missing
    for k in range(K):
        first, second = np.zeros(P), np.zeros((P, P))
        factor = params["cholesky"][min(k, len(params["cholesky"]) - 1)]
        covariance = factor @ factor.T
        for row, times in zip(x[y == k], weight[y == k], strict=True):
            o, m = ~np.isnan(row), np.isnan(row)
            if not o.any():
                continue
            slope = covariance[np.ix_(m, o)] @ np.linalg.inv(covariance[np.ix_(o, o)])
            filled, blur = row.copy(), np.zeros((P, P))
            filled[m] = params["mean"][k][m] + slope @ (row - params["mean"][k])[o]
            blur[np.ix_(m, m)] = covariance[np.ix_(m, m)] - slope @ covariance[np.ix_(o, m)]
            first += times * filled
            second += times * (np.outer(filled, filled) + blur)
        mean = found.mean[k]
        assert found.count[k] == weight[(y == k) & ~np.isnan(x).all(axis=1)].sum()
        np.testing.assert_allclose(mean * found.count[k], first, rtol=1e-11)
        moment = found.scatter[k] + found.count[k] * np.outer(mean, mean)
        np.testing.assert_allclose(moment, second, rtol=1e-11)


def test_gradient_norm_where_newton_has_not_ended(case, monkeypatch):
    x, y, weight, prior, statistics = case
    monkeypatch.setattr(optimize, "MAX_STEPS", 2)
    params, report = mode(prior, statistics)
    assert not report.converged
    objective, moves = around(x, y, weight, prior, params["mean"], params["cholesky"])
    gradient = [(objective(1e-5 * m) - objective(-1e-5 * m)) / 2e-5 for m in moves]
    n = weight[~np.isnan(x).all(axis=1)].sum()
    assert report.gradient_norm == pytest.approx(np.linalg.norm(gradient) / n, rel=1e-5)


@pytest.mark.parametrize("covariance", ["per_class", "shared"])
@pytest.mark.parametrize("bias_corrected", [False, True])
def test_without_missing_values_em_is_the_closed_form(rng, covariance, bias_corrected):
    x, y, weight = table(rng, gaps=0.0)
    likelihood = MultivariateNormal(covariance=covariance)
    statistics = likelihood.statistics(x, y, weight, n_classes=K)
    params, _, report = maximum_likelihood(likelihood, statistics, bias_corrected=bias_corrected)
    exact, _ = likelihood.maximum_likelihood(statistics, bias_corrected=bias_corrected)
    for name, value in exact.items():
        np.testing.assert_allclose(params[name], value, rtol=1e-10, atol=1e-12)
    assert report.iterations <= 3
    prior = likelihood.complete(statistics)
    for name, value in prior.posterior(statistics).mode().items():
        np.testing.assert_allclose(mode(prior, statistics)[0][name], value, rtol=1e-10, atol=1e-12)


def test_bias_correction_counts_the_observed_cells_of_each_column(rng):
    x, y, weight = table(rng)
    likelihood = MultivariateNormal()
    statistics = likelihood.statistics(x, y, weight, n_classes=K)
    direct, _, _ = maximum_likelihood(likelihood, statistics)
    corrected, _, _ = maximum_likelihood(likelihood, statistics, bias_corrected=True)
    n = statistics.marginal().count
    ratio = (corrected["cholesky"] ** 2).sum(-1) / (direct["cholesky"] ** 2).sum(-1)
    np.testing.assert_allclose(ratio, n / (n - 1), rtol=1e-10)


@pytest.mark.parametrize("covariance", ["per_class", "shared"])
def test_weight_two_is_the_row_twice(rng, covariance):
    x, y, weight = table(rng)
    likelihood = MultivariateNormal(covariance=covariance)
    times = weight.astype(int)
    once = likelihood.statistics(x, y, weight, n_classes=K)
    rows = (np.repeat(x, times, axis=0), np.repeat(y, times), np.ones(times.sum()))
    often = likelihood.statistics(*rows, n_classes=K)
    for fit in (maximum_likelihood, lambda b, s: mode(b.complete(s), s)):
        for name, value in fit(likelihood, once)[0].items():
            np.testing.assert_allclose(fit(likelihood, often)[0][name], value, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("covariance", ["per_class", "shared"])
def test_another_unit_moves_the_answer_along(rng, covariance):
    x, y, weight = table(rng)
    unit, origin = np.array([1e-6, 1.0, 1e5]), np.array([3e-6, -2.0, 4e5])
    likelihood = MultivariateNormal(covariance=covariance)
    here = likelihood.statistics(x, y, weight, n_classes=K)
    there = likelihood.statistics(x * unit + origin, y, weight, n_classes=K)
    for fit in (maximum_likelihood, lambda b, s: mode(b.complete(s), s)):
        mine, theirs = fit(likelihood, here)[0], fit(likelihood, there)[0]
        np.testing.assert_allclose((theirs["mean"] - origin) / unit, mine["mean"], rtol=1e-7)
        factor = theirs["cholesky"] / unit[:, None]
        np.testing.assert_allclose(factor, mine["cholesky"], rtol=1e-7, atol=1e-8)


def corners(rng, *, p=4):
    """Class 0 well observed, class 1 never in column 2, class 2 one row, class 3 nothing."""
    x, y, weight = table(rng, n=60, p=p, n_classes=2, gaps=0.2)
    x[y == 1, 2] = np.nan
    y[5], x[5] = 2, [1.0, np.nan, 0.5, 2.0]
    x[6:8], y[6:8] = np.nan, 3
    return x, y, weight


@pytest.mark.parametrize("covariance", ["per_class", "shared"])
@pytest.mark.parametrize("bias_corrected", [False, True])
def test_empty_classes_and_columns_end_finite_and_are_reported(rng, covariance, bias_corrected):
    likelihood = MultivariateNormal(covariance=covariance)
    statistics = likelihood.statistics(*corners(rng), n_classes=4)
    params, findings, report = maximum_likelihood(
        likelihood, statistics, bias_corrected=bias_corrected
    )
    assert all(np.isfinite(value).all() for value in params.values())
    assert np.isfinite([report.gradient_norm, report.log_likelihood]).all()
    expected = {Repair("pooled", 1, 2), Repair("pooled", 2, 1), Repair("pooled", 3)}
    if covariance == "per_class":
        expected.add(Repair("singular", 2))
    assert set(findings) == expected
    assert len(findings) == len(expected)
    highest, _ = mode(likelihood.complete(statistics), statistics)
    assert all(np.isfinite(value).all() for value in highest.values())


def test_mode_of_a_class_without_rows_is_that_of_its_prior(rng):
    prior = MultivariateNormal(mean=1.0, scale=2.0)
    statistics = prior.statistics(*corners(rng), n_classes=4)
    prior = prior.complete(statistics)
    found, (nothing,) = mode(prior, statistics)[0], [prior.mode()]
    np.testing.assert_allclose(found["mean"][3], nothing["mean"][3])
    np.testing.assert_allclose(found["cholesky"][3], nothing["cholesky"][3])


def test_fewer_rows_than_columns_have_no_maximum_and_say_so(rng, monkeypatch):
    monkeypatch.setattr(optimize, "MAX_STEPS", 200)
    x, y, weight = table(rng, n=12, p=5, n_classes=2, gaps=0.2)
    likelihood = MultivariateNormal()
    statistics = likelihood.statistics(x, y, weight, n_classes=2)
    params, findings, _ = maximum_likelihood(likelihood, statistics)
    assert Repair("singular", 0) in findings
    assert (np.diagonal(params["cholesky"], axis1=1, axis2=2) > 0).all()
