"""Fits of the multivariate t: its maximum against EM, rows that went astray, and NUTS."""

import runpy
from pathlib import Path

import jax
import numpy as np
import pytest
from case import N_CLASSES
from cases_normal import UNITS, some_rows
from scipy.special import softmax

import bayesgen as bg
from bayesgen.classes import ClassPrior
from bayesgen.inference import MAP, MLE, NUTS
from bayesgen.likelihoods import MultivariateStudentT
from bayesgen.model import model_statistics
from bayesgen.problem import Problem

CLASSES = ClassPrior(np.array([0.2, 0.3, 0.5]), 6.0)
PROGRAM = Path(__file__).parents[2] / "models" / "robust_student_t.py"


def astray(rng, n=40, gaps=0.0):
    x, y = some_rows(rng, n)
    return np.where(rng.random(x.shape) < gaps, np.nan, x), y


# --- maximum likelihood -----------------------------------------------------------------------


@pytest.fixture(scope="module")
def maximum():
    """Maximum likelihood of three settings at once: one model, compiled once."""
    rng = np.random.default_rng(1)
    x, y = astray(rng, 120)
    blocks = {
        "given": MultivariateStudentT(degrees=4),
        "shared": MultivariateStudentT("shared", degrees=4),
        "learned": MultivariateStudentT(),
    }
    tables = {"given": x, "shared": x, "learned": astray(np.random.default_rng(1), 120, 0.2)[0]}
    weight = rng.integers(1, 3, len(y)).astype(float)
    sizes = {"n_classes": N_CLASSES, "n_levels": dict.fromkeys(blocks, ())}
    built = Problem.of(CLASSES, blocks, model_statistics(blocks, tables, y, weight, **sizes))
    fit = MLE().infer(built, seed=0)
    params = {n: {k: v[0, 0] for k, v in fit.params[n].items()} for n in blocks}
    return fit, params, x, y, weight, built


def em(x, y, weight, degrees, *, shared):
    """Maximum likelihood with known degrees, one row at a time in the formulas' own words."""
    mean = np.array([np.median(x[y == k], axis=0) for k in range(N_CLASSES)])
    scale = np.array([np.cov(x.T)] * N_CLASSES)
    for _ in range(3000):
        off = x - mean[y]
        squares = np.array([d @ np.linalg.solve(scale[k], d) for d, k in zip(off, y, strict=True)])
        count = weight * (degrees + 3) / (degrees + squares)
        mean = np.array([np.average(x[y == k], axis=0, weights=count[y == k]) for k in range(3)])
        off = x - mean[y]
        outer = count[:, None, None] * off[:, :, None] * off[:, None]
        rows = [y >= 0] * 3 if shared else [y == k for k in range(3)]
        new = np.array([outer[at].sum(axis=0) / weight[at].sum() for at in rows])
        done, scale = np.abs(new / scale - 1).max() < 1e-12, new
        if done:
            break
    return mean, scale


@pytest.mark.slow
@pytest.mark.parametrize("name", ["given", "shared"])
def test_maximum_likelihood_meets_em(maximum, name):
    fit, params, x, y, weight, _ = maximum
    assert fit.report.converged
    mean, scale = em(x, y, weight, 4.0, shared=name == "shared")
    found, factor = params[name]["mean"], params[name]["cholesky"]
    assert set(params[name]) == {"mean", "cholesky"}
    np.testing.assert_allclose((found - mean) / UNITS, 0, atol=1e-5)
    shape = (factor @ np.swapaxes(factor, -1, -2)) / UNITS[:, None] / UNITS
    np.testing.assert_allclose(shape, (scale / UNITS[:, None] / UNITS)[: len(shape)], atol=1e-5)


@pytest.mark.slow
def test_nothing_near_the_maximum_is_higher(maximum):
    """Degrees learned, a fifth of the cells missing."""
    _, params, _, _, _, problem = maximum
    model, statistics = problem.model, problem.statistics
    rng, best = np.random.default_rng(2), params["learned"]
    near = {
        "mean": best["mean"] + UNITS * rng.normal(0, 1e-3, (60, 3, 3)),
        "cholesky": best["cholesky"] @ (np.eye(3) + np.tril(rng.normal(0, 1e-3, (60, 3, 3, 3)))),
        "degrees": best["degrees"] * np.exp(rng.normal(0, 1e-3, 60)),
    }
    both = {k: np.concatenate([best[k][None], v]) for k, v in near.items()}
    height = model.blocks["learned"].log_likelihood(both, statistics.blocks["learned"])
    assert (height <= height[0] + 1e-7).all()
    assert 1 < best["degrees"] < 30


@pytest.mark.slow
def test_coordinates_sit_near_the_maximum(maximum):
    _, params, _, _, _, problem = maximum
    model, statistics = problem.model, problem.statistics
    for name in params:
        centre = model.blocks[name].whitening(statistics.blocks[name])
        mean, width = centre["mean"]
        away = np.linalg.solve(width, (params[name]["mean"] - mean)[..., None])
        assert np.abs(away).max() < 3
        factor = np.linalg.solve(centre["cholesky"][0], params[name]["cholesky"])
        assert np.abs(np.log(np.diagonal(factor, axis1=1, axis2=2))).max() < 0.5


# --- rows that went astray --------------------------------------------------------------------


@pytest.fixture(scope="module")
def reported():
    """Class probabilities of iris by the mode, before and after a row went 1e6 deviations out.

    Both degrees, known and learned, are in one model that is compiled once; two rows have missing
    values.
    """
    X, y = bg.datasets.load_iris()
    x, labels = X.to_numpy(), np.unique(y, return_inverse=True)[1]
    x[60, 1] = x[61, 2] = np.nan
    wild = x.copy()
    wild[60] += 1e6 * np.array([1.0, -1.0, 1.0, 0.5])
    blocks = {"given": MultivariateStudentT("shared", degrees=4)}
    blocks["learned"] = MultivariateStudentT("shared")
    sizes = {"n_classes": N_CLASSES, "n_levels": dict.fromkeys(blocks, ())}
    out: dict = {name: [] for name in (*blocks, "normal", "degrees")}
    for table in (x, wild):
        rows = model_statistics(blocks, dict.fromkeys(blocks, table), labels, np.ones(150), **sizes)
        problem = Problem.of(CLASSES, blocks, rows)
        model = problem.model
        fit = MAP().infer(problem, seed=0)
        assert fit.report.converged
        for name, part in model.blocks.items():
            params = {k: v[0, 0] for k, v in fit.params[name].items()}
            joint = part.log_density_fn(params)(np.delete(x, [60, 61], axis=0))
            out[name].append(softmax(joint, axis=1))
        out["degrees"].append(float(fit.params["learned"]["degrees"][0, 0]))
        normal = bg.LDA(inference="map").fit(table, y)
        out["normal"].append(normal.predict_proba(np.delete(x, [60, 61], axis=0)))
    return out


@pytest.mark.slow
def test_a_row_astray_leaves_the_answers(reported):
    """One row of doubtful class moves by .03, half of them by less than .001."""
    before, after = reported["given"]
    change = np.abs(after - before).max(axis=1)
    assert change.max() < 0.05 and np.median(change) < 0.001
    before, after = reported["normal"]
    assert np.abs(after - before).max() > 0.5


@pytest.mark.slow
def test_a_row_astray_is_a_reason_to_doubt(reported):
    """Degrees learned: tails grow and answers are less sure, but the class is the same."""
    before, after = reported["learned"]
    assert (before.argmax(axis=1) != after.argmax(axis=1)).sum() <= 1
    assert np.median(np.abs(after - before).max(axis=1)) < 0.02
    assert reported["degrees"][0] > 10 and reported["degrees"][1] < 6


# --- slow -------------------------------------------------------------------------------------


@pytest.mark.nightly
def test_nuts_agrees_with_the_direct_program():
    """One column: rows against plates, whitened coordinates against plain ones."""
    from arviz_stats.base import array_stats
    from numpyro.infer import MCMC
    from numpyro.infer import NUTS as PlainNUTS

    x, y = astray(np.random.default_rng(3), 60, gaps=0.1)
    x = x[:, 1:2]
    guess = {"mean": np.array([4.0]), "mean_rows": 0.7}
    blocks = {"b": MultivariateStudentT(**guess, scale=4.0, covariance_rows=3.0)}
    sizes = {"n_classes": N_CLASSES, "n_levels": {"b": ()}}
    rows = model_statistics(blocks, {"b": x}, y, np.ones(60), **sizes)
    fit = NUTS(draws=1000, warmup=600).infer(Problem.of(CLASSES, blocks, rows), seed=1)
    assert fit.report.converged, fit.report
    model = runpy.run_path(str(PROGRAM))["model"]
    settings = guess | {"variance": np.array([4.0]), "variance_rows": 3.0, "n_classes": 3}
    with jax.enable_x64(True):
        mcmc = MCMC(
            PlainNUTS(model),
            num_warmup=600,
            num_samples=1000,
            num_chains=4,
            chain_method="vectorized",
            progress_bar=False,
        )
        mcmc.run(jax.random.key(2), x, y, **settings)
        direct = jax.device_get(mcmc.get_samples(group_by_chain=True))
    ours, found = fit.params["b"], []
    for mean, variance, degrees in (
        (ours["mean"], ours["cholesky"][..., 0] ** 2, ours["degrees"][..., None]),
        (direct["mean"], direct["variance"], direct["degrees"]),
    ):
        values = [mean[..., 0], np.log(variance[..., 0]), np.log(degrees)]
        values = np.concatenate(values, axis=2)
        size = array_stats.ess(values, chain_axis=0, draw_axis=1, method="mean")
        found.append((values.mean(axis=(0, 1)), values.var(axis=(0, 1)) / size))
    (a, error_a), (b, error_b) = found
    assert (np.abs(a - b) <= 5 * np.sqrt(error_a + error_b)).all()


@pytest.mark.nightly
def test_nuts_through_the_estimator():
    """Three incomplete columns and a wild row: chains agree, and the answers are the mode's."""
    X, y = bg.datasets.load_iris()
    X = X.iloc[::2].copy()
    X.iloc[5, 0] = 1e6
    X.iloc[::9, 1] = np.nan
    clf = bg.GenerativeClassifier(
        bg.MultivariateStudentT("shared"), inference=NUTS(draws=500, warmup=500), random_state=1
    ).fit(X, y[::2])
    assert clf.report_.converged, clf.report_
    probs = clf.predict_proba(X.drop(index=X.index[5]))
    assert (clf.classes_[probs.argmax(axis=1)] == np.delete(y[::2].to_numpy(), 5)).mean() > 0.95
