"""Kernel densities: R's rule, scikit-learn's sums, the plain program."""

import runpy
from pathlib import Path

import jax
import numpy as np
import pytest
from numpyro.infer.util import log_density as program_density
from scipy import stats
from sklearn import neighbors

from bayesgen.likelihoods import KernelDensity
from bayesgen.likelihoods.distinct_rows import distinct_values
from bayesgen.likelihoods.kernels.column_bandwidth import leave_one_out, rule_of_thumb
from bayesgen.likelihoods.kernels.sums import bandwidth_grid, log_densities

PROGRAM = Path(__file__).parents[2] / "models" / "kernel_density_naive_bayes.py"


def log_density(x, center, weight, bandwidth):
    return log_densities(x, center, weight, bandwidth)[:, 0]


def rule(x, weight=None, y=None):
    x = np.asarray(x, float)
    y = np.zeros(len(x), int) if y is None else y
    weight = np.ones(len(x)) if weight is None else np.asarray(weight, float)
    return rule_of_thumb(distinct_values(x[:, None], y, weight, int(y.max()) + 1))[:, 0]


# -- bandwidths ------------------------------------------------------------------------------------


def by_hand(x):
    """R's bw.nrd0 in numpy: quantile's default is R's type 7."""
    low, high = np.quantile(x, [0.25, 0.75])
    spread = min(x.std(ddof=1), (high - low) / 1.34) or x.std(ddof=1)
    return 0.9 * spread * len(x) ** -0.2


def test_the_rule_is_that_of_r(iris):
    np.testing.assert_allclose(rule(iris[0]["sepal_length"]), 0.2735831, rtol=1e-6)
    for column in iris[0]:
        np.testing.assert_allclose(rule(iris[0][column]), by_hand(iris[0][column]), rtol=1e-13)
    for n in range(2, 12):
        x = np.random.default_rng(n).normal(size=n)
        np.testing.assert_allclose(rule(x), by_hand(x), rtol=1e-13)


def test_the_rule_counts_weights_as_rows():
    rng = np.random.default_rng(1)
    x, times = rng.normal(size=20), rng.integers(0, 4, 20)
    np.testing.assert_allclose(rule(x, times), rule(x.repeat(times)), rtol=1e-13)
    assert np.isfinite(rule(x, 0.3 * times)).all()


def test_the_rule_falls_back():
    """An IQR of 0: the deviation. A class that does not vary: all classes. A flat column: none."""
    many_ties = np.array([0.0] * 9 + [1.0])
    np.testing.assert_allclose(rule(many_ties), 0.9 * many_ties.std(ddof=1) * 10**-0.2)
    x, y = np.array([1.0, 2.0, 4.0, 7.0, 7.0]), np.array([0, 0, 0, 1, 1])
    whole = by_hand(x) * 5**0.2
    np.testing.assert_allclose(rule(x, y=y), [by_hand(x[:3]), whole * 2**-0.2], rtol=1e-13)
    assert np.isnan(rule(np.full(5, 3.0))).all()


# -- densities -------------------------------------------------------------------------------------


def test_sums_are_those_of_sklearn():
    rng = np.random.default_rng(2)
    centre, weight, x = (
        rng.normal(size=30),
        rng.integers(1, 4, 30).astype(float),
        rng.normal(size=9),
    )
    theirs = neighbors.KernelDensity(bandwidth=0.4).fit(centre[:, None], sample_weight=weight)
    # sklearn's tree stops at a relative error of 1e-8
    expected = theirs.score_samples(x[:, None])
    np.testing.assert_allclose(log_density(x, centre, weight, 0.4), expected, rtol=1e-7)


def test_far_out_the_nearest_bump_decides():
    """40 deviations and more away, where every density underflows (pitfall 5)."""
    x = np.array([-1e4, -45.0, 75.0, 1e4, 1e160])
    near = log_density(x, np.array([0.0, 1.0]), np.ones(2), 1.0)
    far = log_density(x, np.array([30.0, 31.0]), np.ones(2), 1.0)
    odds = near[:4] - far[:4]
    expected = (x[:4, None] - [0.0, 1.0]) ** 2, (x[:4, None] - [30.0, 31.0]) ** 2
    expected = [np.logaddexp.reduce(-square / 2, axis=1) for square in expected]
    np.testing.assert_allclose(odds, expected[0] - expected[1], rtol=1e-12)
    assert near[4] == far[4] == -np.inf


@pytest.mark.parametrize("series", [1, 4])
def test_many_bandwidths_are_one_by_one(series):
    rng = np.random.default_rng(4)
    centre, weight = np.sort(rng.normal(size=40)), rng.integers(1, 4, 40).astype(float)
    x = np.append(rng.normal(size=50) * 3, [40.0, -200.0])
    bandwidth = bandwidth_grid(5.0, 70, series)
    found = log_densities(x, centre, weight, 5.0, bandwidth / 5.0)
    one = [log_density(x, centre, weight, h) for h in bandwidth]
    np.testing.assert_allclose(found, np.stack(one, axis=1), rtol=1e-12, atol=1e-12)


# -- the leave-one-out likelihood ------------------------------------------------------------------


def one_by_one(x, h):
    """Return the sum over rows of the log mean of the other rows' kernels."""
    logs = stats.norm.logpdf(x[:, None], x, h) + np.where(np.eye(len(x)), -np.inf, 0.0)
    return (np.logaddexp.reduce(logs, axis=1) - np.log(len(x) - 1)).sum()


@pytest.mark.parametrize("x", [np.array([0.0, 0.2, 1.0, 1.0, 1.0, 5.0]), np.array([0.0, 1.0])])
def test_leave_one_out_by_hand(x):
    value, times = np.unique(x, return_counts=True)
    sides = (value, times.astype(float)) * 2
    for series in (1, 3):
        bandwidth = bandwidth_grid(7.0, 30, series)
        expected = [one_by_one(x, h) for h in bandwidth]
        np.testing.assert_allclose(leave_one_out(*sides, bandwidth), expected, rtol=1e-11)


def test_a_value_alone_has_no_likelihood():
    """A weight below one is less than a row: no copy of it is left to look at."""
    one, t = np.ones(1), bandwidth_grid(1.0, 2, 1)
    assert (leave_one_out(one, one, one, one, t) == 0).all()
    assert (leave_one_out(one[:0], one[:0], one, one, t) == 0).all()
    two, half = np.array([0.0, 1.0]), np.array([0.5, 0.5])
    expected = stats.norm.logpdf(1.0)
    np.testing.assert_allclose(leave_one_out(two, half, two, half, t)[0], expected)


@pytest.mark.parametrize(("digits", "far"), [(15, 0.0), (1, 0.0), (15, 1e4)])
def test_the_average_is_an_integral_over_bandwidths(digits, far):
    """By a grid ten times as fine, summed by hand; one value far away widens the steps."""
    x = np.append(np.round(np.random.default_rng(5).normal(size=59), digits), far)
    rows = distinct_values(x[:, None], np.zeros(60, int), np.ones(60), 1)
    prior = KernelDensity("posterior").complete(rows)
    guess, new = float(rule(x)[0]), np.array([-1.0, 0.3, 2.5, 6.0])
    t = np.log(prior.grid[0, 0])
    t = np.linspace(t.min(), t.max(), 10 * len(t))
    logs = np.array([one_by_one(x, h) for h in np.exp(t)])
    logs -= 10 * t + 5 * (guess / np.exp(t)) ** 2
    weight = np.exp(logs - np.logaddexp.reduce(logs))
    density = stats.norm.pdf(new[:, None, None], x, np.exp(t)[:, None]).mean(axis=2)
    expected = np.log(density @ weight)
    found = prior.log_predictive(new[:, None])[:, 0]
    np.testing.assert_allclose(found, expected, atol=1e-2 if far else 1e-4)


def test_a_row_left_out_takes_its_own_factor_from_the_weights():
    rng = np.random.default_rng(7)
    x, y = rng.normal(size=(30, 2)), np.repeat([0, 1], 15)
    prior = KernelDensity("posterior", bandwidth_guess=0.5)
    rows = prior.statistics(x, y, np.ones(30), n_classes=2)
    prior = prior.complete(rows)
    found = prior.leave_one_out(rows, x, y, np.ones(30), np.ones(30))
    for i, k in ((3, 0), (3, 1), (20, 1)):
        expected = 0.0
        for j in range(2):
            centre = np.delete(x[:, j], i)[np.delete(y, i) == k]
            bandwidth, logs = prior.grid[k, j], prior.log_weight[k, j]
            density = stats.norm.logpdf(x[i, j], centre[:, None], bandwidth)
            density = np.logaddexp.reduce(density, axis=0) - np.log(len(centre))
            logs = logs - density if y[i] == k else logs
            logs = logs - np.logaddexp.reduce(logs)
            expected += np.logaddexp.reduce(logs + density)
        np.testing.assert_allclose(found[i, k], expected, rtol=1e-6)


def test_agrees_with_the_direct_program():
    """Log weights of bandwidths, and densities of new rows, incomplete and single ones included."""
    rng = np.random.default_rng(6)
    y = np.append(0, rng.integers(1, 3, 39))
    x = rng.normal(size=(40, 3)) * [1, 5, 0.1] + y[:, None]
    x[rng.random((40, 3)) < 0.2] = np.nan
    x[0, 1], x[1:3, 0] = 2.0, 0.5
    guess, new = np.array([0.5, 2.0, 0.05]), np.where(np.eye(3), np.nan, [0.3, 1.0, 1.5])
    part = KernelDensity("posterior", bandwidth_guess=guess, bandwidth_rows=3.0)
    rows = part.statistics(x, y, np.ones(40), n_classes=3)
    part = part.complete(rows)
    place = part.log_weight.argmax(axis=-1) + rng.integers(-4, 5, (4, 3, 3))
    at = (np.arange(3)[:, None], np.arange(3), place)
    h = part.grid[at]
    # site "variance": the square of a bandwidth, whose density is over the square and not its log
    mine = (part.log_weight[at] - 2 * np.log(h)).sum(axis=(1, 2))
    reported = {"centres": x, "centre_classes": y, "bandwidth": guess, "n_classes": 3}
    model = runpy.run_path(str(PROGRAM))["model"]

    def density(params, value, own, classes):
        rows = {"value": value, "own": own}
        return program_density(model, (rows, classes), reported, params)[0]

    with jax.enable_x64(True):
        probs = {"class_probs": np.full(3, 1 / 3)}
        over = jax.jit(jax.vmap(lambda v: density({"variance": v} | probs, x, np.arange(40), y)))
        fitted = jax.device_get(over(h**2))
        alone = jax.jit(
            jax.vmap(
                lambda row, k: density(
                    {"variance": h[0] ** 2} | probs, row[None], -np.ones(1, int), k[None]
                )
            )
        )
        pairs = np.repeat(np.vstack([new, np.full(3, np.nan)]), 3, axis=0), np.tile(range(3), 4)
        scored = jax.device_get(alone(*pairs)).reshape(4, 3)
    np.testing.assert_allclose(np.ptp(fitted - mine), 0, atol=1e-6)
    one = part.with_arrays({"grid": h[0][..., None], "log_weight": np.zeros((3, 3, 1))})
    found = one.log_predictive(new)
    np.testing.assert_allclose(found, scored[:3] - scored[3], atol=1e-9)
