"""Rows without a label: against optimizers, mixtures and refits."""

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from scipy.stats import norm
from sklearn.mixture import GaussianMixture
from unlabelled_cases import EXPECTED, FEW, LABELLED_ALONE, NEW, READ, TABLE, fitted, harmless

import bayesgen as bg
from bayesgen.classes import ClassPrior
from bayesgen.inference import MAP, MLE, draws, unlabelled_rows
from bayesgen.inference.unlabelled_rows import UnlabelledRows, maximize
from bayesgen.likelihoods import Normal
from bayesgen.model import model_statistics
from bayesgen.problem import Problem


def test_labelled_rows_alone_and_expected_labels():
    alone = bg.GenerativeClassifier(READ).fit(TABLE[:4], FEW[:4])
    np.testing.assert_allclose(alone.predict_proba(NEW)[:, 0], LABELLED_ALONE, atol=1e-6)
    clf = fitted(inference="expected", unlabelled=1)
    np.testing.assert_allclose(clf.predict_proba(NEW)[:, 0], EXPECTED, atol=1e-6)
    assert clf.inference_ == "expected"
    assert "intervals are too narrow" in clf.report_.verdict
    mode = fitted(inference="map", unlabelled=1).predict_proba(TABLE[4:])
    np.testing.assert_allclose(clf.label_distributions_[4:], mode, atol=1e-6)


@harmless
def test_rows_without_a_label_count_for_their_classes():
    x = np.array([0.0, 40.0, *6 * [40.0]])[:, None] + np.linspace(0, 1, 8)[:, None]
    clf = bg.NaiveBayes(bg.Normal(mean=20, variance=1.0), unlabelled=1)
    clf.fit(x, [0, 1, *6 * [None]])
    # labels are certain, so Beta(1 + 7, 1 + 1)
    np.testing.assert_allclose(np.exp(clf.fitted_.posterior.log_classes()), [0.2, 0.8], atol=1e-9)


def test_labels_are_averaged_over_every_draw_a_few_rows_at_once(monkeypatch):
    clf = fitted([0, 0, 1, 1] * 3, inference=bg.Augmentation(draws=50, warmup=0))
    read = clf._read_rows(TABLE[4:])
    posterior, encoded, n_rows = read.posterior, read.encoded, read.n_rows
    n_draws = int(np.prod(posterior.components.shape))
    monkeypatch.setattr(draws, "DENSITY_FLOATS", 3 * n_draws * 2)
    parts = posterior.components.joint_draws(encoded, n_rows)
    assert [len(rows) for rows, _ in parts] == [3, 3, 2]
    labels = unlabelled_rows.mean_labels(posterior.components, encoded, n_rows)
    # by the definition, of the draws themselves
    params = clf.posterior_.components.params
    density = params["class"]["probs"].reshape(n_draws, 2)[:, None, :].copy()
    a, b = params["a"], params["b"]["probs"].reshape(n_draws, 2, 3)
    mean, variance = (a[name].reshape(n_draws, 1, 2) for name in ("mean", "variance"))
    x, levels = TABLE["a"].to_numpy()[4:], TABLE["b"].map("uvw".index).to_numpy()[4:]
    density = density * norm.pdf(x[None, :, None], mean, np.sqrt(variance))
    density = density * np.moveaxis(b[:, :, levels], 1, 2)
    expected = (density / density.sum(axis=2, keepdims=True)).mean(axis=0)
    np.testing.assert_allclose(labels, expected, rtol=0, atol=1e-12)


# -- expectation-maximization ----------------------------------------------------------------------


def normal_mixture(seed=0, n=60):
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < 0.6).astype(int)
    x = np.where(y, rng.normal(2.2, 1.2, n), rng.normal(-0.5, 0.6, n))[:, None]
    return x, np.array([*y[:6], *(n - 6) * [None]], dtype=object)


def objective(free, x, y, weight):
    """Minus the log likelihood of labeled and unlabeled rows of a mixture of two normals."""
    mean, sd = free[:2], np.exp(free[2:4])
    logs = norm.logpdf(x, mean, sd) + np.stack(
        [-np.logaddexp(0, free[4]), -np.logaddexp(0, -free[4])]
    )
    known = np.array([label is not None for label in y])
    own = logs[known, y[known].astype(int)].sum()
    return -own - weight * np.logaddexp.reduce(logs[~known], axis=1).sum()


@pytest.mark.parametrize("weight", [1.0, 0.1])
def test_em_ends_where_a_quasi_newton_descent_does(weight):
    x, y = normal_mixture()
    assert len(set(y[:6])) == 2
    clf = bg.NaiveBayes(inference="mle", unlabelled=weight).fit(x, y)
    params = clf.posterior_.components.point_params()
    own = [*params["normal"]["mean"][:, 0], *np.log(params["normal"]["variance"][:, 0]) / 2]
    start = np.array([*own, np.log(params["class"]["probs"][1] / params["class"]["probs"][0])])
    # the class prior of maximum likelihood is the frequency of all rows, by weight
    options = {"gtol": 1e-10}
    found = minimize(objective, start + 0.05, (x, y, weight), method="BFGS", options=options)
    np.testing.assert_allclose(start, found.x, atol=2e-6)
    assert clf.report_.details["log_likelihood"] == pytest.approx(-found.fun, abs=1e-8)
    assert clf.unlabelled_weight_ == weight


def test_a_class_of_one_labelled_row_counts_in_the_height():
    x, y = normal_mixture()
    y[:6] = [0, 0, 0, 0, 0, 1]
    clf = bg.NaiveBayes(inference="mle", unlabelled=1.0).fit(x, y)
    params = clf.posterior_.components.point_params()
    mean, variance = (params["normal"][name][:, 0] for name in ("mean", "variance"))
    odds = np.log(params["class"]["probs"][1] / params["class"]["probs"][0])
    height = -objective(np.array([*mean, *np.log(variance) / 2, odds]), x, y, 1.0)
    assert clf.report_.details["log_likelihood"] == pytest.approx(height, abs=1e-6)


def mixture_parts(x, size=2):
    rows = UnlabelledRows({"x": x}, np.ones(len(x)), size, {"x": ()})
    nothing = model_statistics(
        {"x": Normal()},
        {"x": x[:0]},
        np.zeros(0, int),
        np.zeros(0),
        n_classes=size,
        n_levels={"x": ()},
    )
    prior = ClassPrior(np.full(size, 1 / size), float(size))
    whole = rows.statistics({"x": Normal()}, np.full((len(x), size), 1 / size))
    return Problem.of(prior, {"x": Normal()}, whole).given(nothing), rows


def test_em_without_labelled_rows_is_a_gaussian_mixture():
    rng = np.random.default_rng(1)
    x = np.concatenate([rng.normal(-2, 1, (80, 2)), rng.normal(1.5, [0.5, 2], (60, 2))])
    shares = rng.dirichlet([1, 1], len(x))
    problem, rows = mixture_parts(x)
    found = maximize(MLE(variance_floor=0.0), problem, rows, shares)
    assert found.converged
    resp = found.shares
    start = {
        "weights_init": resp.mean(axis=0),
        "means_init": (resp.T @ x) / resp.sum(axis=0)[:, None],
    }
    start["precisions_init"] = 1 / found.params["x"]["variance"]
    theirs = GaussianMixture(
        2, covariance_type="diag", reg_covar=0, tol=1e-14, max_iter=5000, **start
    ).fit(x)
    np.testing.assert_allclose(found.params["x"]["mean"], theirs.means_, atol=2e-6)
    np.testing.assert_allclose(found.params["x"]["variance"], theirs.covariances_, atol=2e-6)


def test_the_observed_likelihood_never_falls():
    rng = np.random.default_rng(2)
    x = np.concatenate([rng.normal(-1, 1, (50, 2)), rng.normal(1.5, [0.5, 2], (40, 2))])
    x[rng.random(x.shape) < 0.1] = np.nan
    problem, rows = mixture_parts(x, 3)
    found = maximize(MLE(), problem, rows, rng.dirichlet([1, 1, 1], len(x)))
    steps = np.diff(found.heights)
    assert len(steps) > 10
    assert (steps > -1e-9).all()


def test_the_observed_posterior_never_falls():
    rng = np.random.default_rng(3)
    x = np.concatenate([rng.normal(-1, 1, (50, 1)), rng.normal(1.5, 0.5, (40, 1))])
    problem, rows = mixture_parts(x)
    prior, heights = problem.model.blocks["x"], []
    shares = rng.dirichlet([1, 1], len(x))
    for _ in range(30):
        found = maximize(MAP(), problem, rows, shares, tolerance=2.0)
        mean, variance = (found.params["x"][name] for name in ("mean", "variance"))
        degrees = prior.variance_rows
        # log density of (mean, log variance)
        density = (
            norm.logpdf(mean, prior.mean, np.sqrt(variance / prior.mean_rows)).sum()
            - (degrees / 2 * (np.log(variance) + prior.variance / variance)).sum()
        )
        density += np.log(found.params["class"]["probs"]).sum()
        heights.append(found.heights[-1] + density)
        shares = found.shares
    assert (np.diff(heights) > -1e-9).all()
    assert heights[-1] > heights[0] + 0.1


def test_responsibilities_of_the_first_step_are_not_kept(monkeypatch):
    again = unlabelled_rows.maximize

    def one_step(*args, **options):
        return again(*args, **{**options, "tolerance": 2.0})

    monkeypatch.setattr(unlabelled_rows, "maximize", one_step)
    clf = fitted(inference="expected", unlabelled=1)
    assert np.abs(clf.predict_proba(NEW)[:, 0] - EXPECTED).max() > 0.004


# -- weights ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["expected", "map", "mle"])
def test_weight_2_counts_a_row_twice(method):
    twice = pd.concat([TABLE, TABLE[4:]], ignore_index=True)
    stated = fitted(inference=method, unlabelled=2)
    rows = fitted([*FEW, *FEW[4:]], twice, inference=method, unlabelled=1)
    weighted = fitted(weight=[1.0] * 4 + [2.0] * 8, inference=method, unlabelled=1)
    np.testing.assert_allclose(stated.predict_proba(NEW), rows.predict_proba(NEW), atol=1e-7)
    np.testing.assert_allclose(weighted.predict_proba(NEW), rows.predict_proba(NEW), atol=1e-7)


def test_weight_0_completes_guesses_alone():
    X, y = bg.datasets.load_iris()
    some = np.where(np.arange(150) % 10 == 0, y, None)
    none = bg.NaiveBayes(unlabelled=0).fit(X, some)
    alone = bg.NaiveBayes(unlabelled=None).fit(X[::10], y[::10])
    assert np.abs(none.predict_proba(X) - alone.predict_proba(X)).max() > 1e-3
    stated = {"mean": 5.0, "variance": 2.0}
    none = bg.NaiveBayes(bg.Normal(**stated), unlabelled=0).fit(X, some)
    alone = bg.NaiveBayes(bg.Normal(**stated)).fit(X[::10], y[::10])
    np.testing.assert_allclose(none.predict_proba(X), alone.predict_proba(X), atol=1e-12)
    assert none.unlabelled_weight_ == 0.0


@harmless
@pytest.mark.parametrize("weight", [0.5, 2])
def test_labels_are_expected_at_any_stated_weight(weight):
    auto, expected = fitted(unlabelled=weight), fitted(unlabelled=weight, inference="expected")
    assert auto.inference_ == "expected"
    np.testing.assert_array_equal(auto.predict_proba(NEW), expected.predict_proba(NEW))
    weighed = fitted(weight=[1.0] * 4 + [weight] * 8, unlabelled=1)
    np.testing.assert_allclose(weighed.predict_proba(NEW), auto.predict_proba(NEW), atol=1e-12)
