"""Modes where weights lie nine orders apart and half of the cells are missing; on any CPU."""

import numpy as np
import pytest
from incomplete_rows import K, P, around, prior_of
from scipy.optimize import minimize

import bayesgen as bg


def uneven(seed):
    """Half of the cells missing, and weights of 1e-4 to 1e5: EM would take millions of steps."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(24, P)), np.arange(24) % K
    X[:, 1] += 2 * X[:, 0]
    X[:, 2] -= X[:, 1]
    X[rng.random(X.shape) < 0.5] = np.nan
    return X, y, 10.0 ** rng.integers(-4, 6, len(X))


def fitted_mode(make, seed):
    """Return rows, a stated prior, a fitted classifier, its means and its covariances."""
    rows = uneven(seed)
    prior = prior_of("shared" if make is bg.LDA else "per_class")
    stated = {"mean": 0.5, "mean_rows": 2.0, "scale": prior.scale, "covariance_rows": 5.0}
    clf = make(inference="map", **stated).fit(*rows)
    found = clf.to_datatree()["posterior"].dataset.isel(chain=0, draw=0)
    mean, covariance = found["normal.mean"].to_numpy(), found["normal.covariance"].to_numpy()
    statistics = prior.statistics(*rows, n_classes=K)
    return rows, prior.complete(statistics), clf, mean, covariance.reshape(-1, P, P)


@pytest.mark.slow
@pytest.mark.parametrize("make", [bg.LDA, bg.QDA])
@pytest.mark.parametrize("seed", range(1, 9))
def test_mode_under_uneven_weights_has_no_gradient(make, seed):
    rows, prior, clf, mean, covariance = fitted_mode(make, seed)
    assert clf.report_.converged
    objective, moves = around(*rows, prior, mean, np.linalg.cholesky(covariance))
    # five points: the error is of order h^4, and rounding (of log densities by solving with
    # the covariance) is divided by h; per row, as the coordinates are
    h, n = 1e-3, rows[2].sum()
    gradient = [
        8 * (objective(h * m) - objective(-h * m)) - objective(2 * h * m) + objective(-2 * h * m)
        for m in moves
    ]
    rounding = np.finfo(float).eps * np.linalg.cond(covariance).max() / h
    assert np.linalg.norm(gradient) / (12 * h * n) < 10 * (h**4 + rounding)


@pytest.mark.slow
@pytest.mark.parametrize("make", [bg.LDA, bg.QDA])
def test_an_optimiser_finds_nothing_above_the_mode_under_uneven_weights(make):
    rows, prior, _, mean, covariance = fitted_mode(make, 1)
    objective, moves = around(*rows, prior, mean, np.linalg.cholesky(covariance))
    n, here = rows[2].sum(), objective(0 * moves[0])
    higher = minimize(lambda move: (here - objective(move)) / n, 0 * moves[0], method="BFGS")
    assert -higher.fun < 10 * np.finfo(float).eps * np.linalg.cond(covariance).max()


@pytest.mark.filterwarnings("ignore::bayesgen.errors.DegenerateEstimate")
def test_a_class_without_spread_leaves_the_maximum_of_the_other(rng):
    """A column is constant within class 0: its deviation stays at the floor, and Newton goes on."""
    X, y = rng.normal(size=(60, 3)), np.arange(60) % 2
    X[:, 1] += X[:, 0]
    X[rng.random(X.shape) < 0.2] = np.nan
    X[y == 0, 2] = 3.0
    both = bg.QDA(inference="mle").fit(X, y)
    assert both.report_.converged
    X[y == 0, 2] = rng.normal(size=30)
    apart = bg.QDA(inference="mle").fit(X, y)
    found, expected = (clf.to_datatree()["posterior"].dataset for clf in (both, apart))
    for name in ("normal.mean", "normal.covariance"):
        of_class = [part[name].isel({"class": 1}).to_numpy() for part in (found, expected)]
        # where the promised gain is rounding, 1e-13 of the terms: a distance of its square root
        np.testing.assert_allclose(*of_class, rtol=1e-6, atol=1e-6)
