"""One correlation matrix for all classes: its maximum, its prior, its draws."""

import jax
import numpy as np
import pytest
from case import N_CLASSES
from cases_normal import JOINT, NORMALS, VARIANCE, some_params, some_rows
from incomplete_rows import row_log_likelihood
from laws import story_density

from bayesgen.classes import ClassPrior
from bayesgen.inference import MLE, NUTS
from bayesgen.likelihoods import MultivariateNormal, SharedCorrelationNormal
from bayesgen.model import model_statistics
from bayesgen.problem import Problem

CLASSES = ClassPrior(np.array([0.2, 0.3, 0.5]), 6.0)


def alike(rng, n=150, gaps=0.0):
    """Three columns whose correlations are the same in all classes, and whose spreads are not."""
    x, y = some_rows(rng, n)
    return np.where(rng.random(x.shape) < gaps, np.nan, x), y


def covariances(params):
    factor = params["deviation"][..., None] * params["correlation_cholesky"][..., None, :, :]
    return factor @ np.swapaxes(factor, -1, -2)


@pytest.fixture(scope="module")
def maximum():
    """Maximum likelihood of a complete and an incomplete table: one model, compiled once."""
    whole, y = alike(np.random.default_rng(1))
    tables = {"whole": whole, "holed": alike(np.random.default_rng(1), gaps=0.2)[0]}
    weight = np.random.default_rng(2).integers(1, 3, len(y)).astype(float)
    blocks = {name: SharedCorrelationNormal() for name in tables}
    sizes = {"n_classes": N_CLASSES, "n_levels": dict.fromkeys(tables, ())}
    built = Problem.of(CLASSES, blocks, model_statistics(blocks, tables, y, weight, **sizes))
    fit = MLE().infer(built, seed=0)
    params = {n: {k: v[0, 0] for k, v in fit.params[n].items()} for n in tables}
    return fit, params, tables, y, weight, built


@pytest.mark.slow
def test_maximum_likelihood_solves_its_equations(maximum):
    """diag(R^-1 D^-1 S D^-1) = 1 in every class, R the mean of D^-1 S D^-1."""
    fit, params, tables, y, weight, _ = maximum
    assert fit.report.converged
    best, x = params["whole"], tables["whole"]
    correlation = best["correlation_cholesky"] @ best["correlation_cholesky"].T
    scaled = []
    for k in range(N_CLASSES):
        matrix = np.cov(x[y == k].T, aweights=weight[y == k], bias=True)
        mean = np.average(x[y == k], axis=0, weights=weight[y == k])
        np.testing.assert_allclose(best["mean"][k], mean, rtol=1e-6)
        scaled.append(matrix / best["deviation"][k][:, None] / best["deviation"][k])
        diagonal = np.diag(np.linalg.solve(correlation, scaled[-1]))
        np.testing.assert_allclose(diagonal, 1, atol=1e-5)
    total = np.bincount(y, weight)
    expected = np.average(scaled, axis=0, weights=total)
    np.testing.assert_allclose(correlation, expected, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["whole", "holed"])
def test_nothing_near_the_maximum_is_higher(maximum, name):
    """The likelihood row by row, another program; a thousandth of a width away."""
    _, params, tables, y, weight, _ = maximum
    rng, best, x = np.random.default_rng(3), params[name], tables[name]

    def height(params):
        return row_log_likelihood(x, y, weight, params["mean"], covariances(params))

    top = height(best)
    for _ in range(20):
        unit = best["correlation_cholesky"] + np.tril(rng.normal(0, 1e-3, (3, 3)))
        near = {
            "mean": best["mean"] + best["deviation"] * rng.normal(0, 1e-3, (3, 3)),
            "deviation": best["deviation"] * np.exp(rng.normal(0, 1e-3, (3, 3))),
            "correlation_cholesky": unit / np.sqrt((unit**2).sum(axis=1, keepdims=True)),
        }
        assert height(near) <= top + 1e-7


@pytest.mark.slow
def test_coordinates_sit_at_the_maximum(maximum):
    """The flip-flop of moments is the maximum of complete rows, and near that of others."""
    _, params, _, _, _, problem = maximum
    model, statistics = problem.model, problem.statistics
    for name, most in (("whole", 0.05), ("holed", 4.0)):
        centre, width = model.blocks[name].whitening(statistics.blocks[name])["deviation"]
        away = np.log(params[name]["deviation"]) - centre
        assert np.abs(np.linalg.solve(width, away[..., None])).max() < most


def test_one_class_is_the_lkj_prior_of_a_full_covariance():
    """Prior, measure and likelihood, told in deviations and correlations."""
    rng = np.random.default_rng(4)
    x = alike(rng, 20, gaps=0.2)[0]
    args = (x, np.zeros(20, int), np.ones(20))
    guess = {"mean": JOINT["mean"][:1], "mean_rows": 0.7}
    direct = MultivariateNormal(**guess, scale=VARIANCE[0], prior="lkj", concentration=2.0)
    part = SharedCorrelationNormal(**guess, variance=VARIANCE[:1], concentration=2.0)
    rows = part.statistics(*args, n_classes=1)
    direct, part = direct.complete(rows), part.complete(rows)
    params = some_params(part, rng, 5)
    joined = {"mean": params["mean"], "cholesky": np.linalg.cholesky(covariances(params))}
    np.testing.assert_allclose(
        part.log_likelihood(params, rows), direct.log_likelihood(joined, rows), rtol=1e-10
    )
    # dL = prod s_i^i / c_ii ds dc, row by row
    logs = np.log(np.diagonal(params["correlation_cholesky"], axis1=1, axis2=2))
    jacobian = (np.arange(3) * np.log(params["deviation"][:, 0]) - logs).sum(axis=1)
    densities = story_density(part, params), story_density(direct, joined) + jacobian
    np.testing.assert_allclose(*densities, rtol=1e-10)
    measures = [
        part.log_scale_free_jacobian({k: v[i] for k, v in params.items()})
        - direct.log_scale_free_jacobian({k: v[i] for k, v in joined.items()})
        for i in range(5)
    ]
    np.testing.assert_allclose(measures, -jacobian, rtol=1e-10, atol=1e-10)


def test_one_column_has_no_correlations():
    """What is left of a table may be one column: sampled, scored and transformed."""
    part = MultivariateNormal("shared_correlation", mean=0.0, scale=1.0).equivalent_family()
    x, y = alike(np.random.default_rng(5), 12)
    rows = part.statistics(x[:, :1], y, np.ones(12), n_classes=N_CLASSES)
    prior = part.complete(rows)
    params = {"mean": np.zeros((1, 3, 1)), "deviation": np.ones((1, 3, 1))}
    params["correlation_cholesky"] = np.ones((1, 1, 1))
    assert np.isfinite(story_density(prior, params)).all()
    with jax.enable_x64(True):
        centre, width = prior.whitening(rows)["correlation_cholesky"]
        to_factor = prior.bijector("correlation_cholesky", centre, width)
        np.testing.assert_array_equal(to_factor(np.zeros(0)), np.ones((1, 1)))
        assert to_factor.inverse_shape((1, 1)) == (0,)
        np.testing.assert_array_equal(to_factor.log_abs_det_jacobian(np.zeros(0), np.eye(1)), 0)


def test_simulated_rows_have_the_moments():
    part = NORMALS["SharedCorrelationNormal"].prior
    rows = part.statistics(np.zeros((0, 3)), np.zeros(0, int), np.zeros(0), n_classes=3)
    rng = np.random.default_rng(6)
    one = {k: v[0] for k, v in some_params(part.complete(rows), rng, 1).items()}
    y = np.repeat(np.arange(3), 4000)
    x = part.simulate(one, y, rng)
    for k in range(3):
        expected = covariances(one)[k]
        size = np.sqrt(np.diag(expected))
        error = np.sqrt((np.outer(size, size) ** 2 + expected**2) / 4000)
        assert (np.abs(np.cov(x[y == k].T) - expected) < 5 * error).all()
        assert (np.abs(x[y == k].mean(0) - one["mean"][k]) < 5 * size / np.sqrt(4000)).all()


# --- slow -------------------------------------------------------------------------------------


@pytest.mark.nightly
def test_nuts_with_one_class_agrees_with_lkj():
    """The same posterior in other coordinates: means of covariances within 5 standard errors."""
    from arviz_stats.base import array_stats

    x = alike(np.random.default_rng(7), 60, gaps=0.1)[0]
    guess = {"mean": 0.0, "mean_rows": 0.1, "scale": VARIANCE[0], "concentration": 2.0}
    found = []
    for part in (
        MultivariateNormal(prior="lkj", **guess),
        MultivariateNormal("shared_correlation", **guess).equivalent_family(),
    ):
        blocks, y = {"b": part}, np.zeros(60, int)
        sizes = {"n_classes": 1, "n_levels": {"b": ()}}
        rows = model_statistics(blocks, {"b": x}, y, np.ones(60), **sizes)
        built = Problem.of(ClassPrior(np.ones(1), np.inf), blocks, rows)
        fit = NUTS(draws=1000, warmup=600, target_accept=0.9).infer(built, seed=1)
        assert fit.report.converged, fit.report
        params = fit.params["b"]
        factor = params.get("cholesky")
        matrices = covariances(params) if factor is None else factor @ np.swapaxes(factor, -1, -2)
        values = np.concatenate([matrices.reshape(4, 1000, -1), params["mean"][..., 0, :]], axis=2)
        size = array_stats.ess(values, chain_axis=0, draw_axis=1, method="mean")
        found.append((values.mean(axis=(0, 1)), values.var(axis=(0, 1)) / size))
    (a, error_a), (b, error_b) = found
    assert (np.abs(a - b) <= 5 * np.sqrt(error_a + error_b)).all()
