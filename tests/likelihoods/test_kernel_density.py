"""Kernel densities: R's rule, scikit-learn's sums, the plain program."""

import runpy
from pathlib import Path

import jax
import numpy as np
import pytest
from numpyro.infer.util import log_density as program_density
from scipy import stats
from sklearn import neighbors

from bayesgen.likelihoods.distinct_rows import distinct_values
from bayesgen.likelihoods.kernels.column_bandwidth import (
    leave_one_out,
    read,
    rule_of_thumb,
    tabled,
)
from bayesgen.likelihoods.kernels.density import LearnedKernelDensity
from bayesgen.likelihoods.kernels.sums import knots, log_densities

PROGRAM = Path(__file__).parents[2] / "models" / "kernel_density_naive_bayes.py"


def log_density(x, center, weight, bandwidth):
    return log_densities(center, weight, np.array([bandwidth]))(x)[:, 0]


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


def test_many_bandwidths_are_one_by_one():
    rng = np.random.default_rng(4)
    centre, weight = np.sort(rng.normal(size=40)), rng.integers(1, 4, 40).astype(float)
    x = np.append(rng.normal(size=50) * 3, [40.0, -200.0])
    for half in (0.1, 0.5, 1.9, 2.5):
        bandwidth = 0.4 * np.exp(rng.uniform(-half, half, 90))
        found = log_densities(centre, weight, bandwidth)(x)
        one = [log_density(x, centre, weight, h) for h in bandwidth]
        np.testing.assert_allclose(found, np.stack(one, axis=1), rtol=1e-9, atol=1e-9)


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
        t = knots(2.0, 30, series)
        expected = [one_by_one(x, np.exp(h)) for h in t]
        np.testing.assert_allclose(leave_one_out(*sides, t, series), expected, rtol=1e-11)


def test_a_value_alone_has_no_likelihood():
    """A weight below one is less than a row: no copy of it is left to look at."""
    one, t = np.ones(1), knots(0.0, 2, 1)
    assert (leave_one_out(one, one, one, one, t, 1) == 0).all()
    assert (leave_one_out(one[:0], one[:0], one, one, t, 1) == 0).all()
    two, half = np.array([0.0, 1.0]), np.array([0.5, 0.5])
    expected = stats.norm.logpdf(1.0)
    np.testing.assert_allclose(leave_one_out(two, half, two, half, t, 1)[0], expected)


@pytest.mark.parametrize(("digits", "far"), [(15, 0.0), (1, 0.0), (15, 1e4)])
def test_the_table_is_the_likelihood(digits, far):
    """Its spline is exact at the knots, a value far away widens its steps."""
    x = np.append(np.round(np.random.default_rng(5).normal(size=59), digits), far)
    value, times = np.unique(x, return_counts=True)
    sides = (value, times.astype(float)) * 2
    guess = float(rule(x)[0])
    found = tabled(*sides, guess, 10.0, guess)
    table, first, step = (found[name] for name in ("table", "first", "step"))
    t = np.linspace(-3, 3, 301) + np.log(guess)
    exact = np.array([one_by_one(x, np.exp(h)) for h in t])
    read_off = read(table[None, None], ((t - first) / step)[:, None, None])[:, 0, 0]
    np.testing.assert_allclose(read_off, exact, rtol=1e-6 if far else 1e-8)
    wide = np.linspace(first, first + step * len(table), 2001)
    exact = np.array([one_by_one(x, np.exp(h)) for h in wide])
    posterior = exact - 10 * wide - 5 * (guess / np.exp(wide)) ** 2
    assert abs(found["log_mode"] - wide[np.argmax(posterior)]) <= wide[1] - wide[0]
    ends = np.array([-1e3, 1e3])[:, None, None]
    assert (read(table[None, None], ends) < posterior.max()).all()
    near = read(
        table[None, None], np.array([-1e-6, 0.0, len(table), len(table) + 1e-6])[:, None, None]
    )
    np.testing.assert_allclose(near[[0, 3], 0, 0], near[[1, 2], 0, 0], rtol=1e-5)


def test_agrees_with_the_direct_program():
    """Log densities of bandwidths and of new rows, incomplete ones and single ones included."""
    rng = np.random.default_rng(6)
    y = np.append(0, rng.integers(1, 3, 39))
    x = rng.normal(size=(40, 3)) * [1, 5, 0.1] + y[:, None]
    x[rng.random((40, 3)) < 0.2] = np.nan
    x[0, 1], x[1:3, 0] = 2.0, 0.5
    guess, new = np.array([0.5, 2.0, 0.05]), np.where(np.eye(3), np.nan, [0.3, 1.0, 1.5])
    part = LearnedKernelDensity(bandwidth_guess=guess, bandwidth_rows=3.0)
    rows = part.statistics(x, y, np.ones(40), n_classes=3)
    part = part.complete(rows)
    h = np.exp(part.log_mode + part.width * rng.normal(size=(4, 3, 3)))
    mine = part.log_likelihood({"bandwidth": h}, rows) - np.log(2 * h).sum(axis=(1, 2))
    # site "variance": the square of a bandwidth; log d square / d bandwidth is log 2 h
    mine += stats.invgamma.logpdf(h**2, 1.5, scale=1.5 * guess**2).sum(axis=(1, 2))
    mine += np.log(2 * h).sum(axis=(1, 2))
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
    found = part.log_density_fn({"bandwidth": h[0]})(new)
    np.testing.assert_allclose(found, scored[:3] - scored[3], atol=1e-9)
