"""Kernel densities: R's rule, scikit-learn's sums, discriminants of one column, the program."""

import runpy
from pathlib import Path

import jax
import numpy as np
import pytest
from numpyro.infer.util import log_density as program_density
from sklearn import neighbors

from bayesgen.likelihoods import KernelDensity, KernelDiscriminant
from bayesgen.likelihoods.distinct_rows import distinct_values
from bayesgen.likelihoods.kernels.rule_of_thumb import rule_of_thumb
from bayesgen.likelihoods.kernels.sums import log_densities

PROGRAM = Path(__file__).parents[2] / "models" / "kernel_density_naive_bayes.py"


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
    np.testing.assert_allclose(log_densities(x, centre, weight, 0.4), expected, rtol=1e-7)


def test_far_out_the_nearest_bump_decides():
    """40 deviations and more away, where every density underflows (pitfall 5)."""
    x = np.array([-1e4, -45.0, 75.0, 1e4, 1e160])
    near = log_densities(x, np.array([0.0, 1.0]), np.ones(2), 1.0)
    far = log_densities(x, np.array([30.0, 31.0]), np.ones(2), 1.0)
    odds = near[:4] - far[:4]
    expected = (x[:4, None] - [0.0, 1.0]) ** 2, (x[:4, None] - [30.0, 31.0]) ** 2
    expected = [np.logaddexp.reduce(-square / 2, axis=1) for square in expected]
    np.testing.assert_allclose(odds, expected[0] - expected[1], rtol=1e-12)
    assert near[4] == far[4] == -np.inf


# -- learned bandwidths ----------------------------------------------------------------------------


def rounded(seed, digits):
    """Return rounded columns of different units, some cells missing, classes and weights."""
    rng = np.random.default_rng(seed)
    y = np.append([0, 0, 1, 1, 2, 2], rng.integers(0, 3, 34))
    x = np.round(rng.normal(size=(40, 3)) + y[:, None], digits) * [1, 100, 1e-3]
    x[rng.random(x.shape) < 0.2] = np.nan
    return x, y, rng.choice([0.5, 1.0, 2.0], 40)


@pytest.mark.parametrize("digits", [15, 0])
def test_a_learned_density_is_a_kernel_discriminant_of_each_column(digits):
    """Of all rows, and of the others of each row: the values of a column leave alike, whole."""
    x, y, weight = rounded(3, digits)
    prior = KernelDensity("learn")
    rows = prior.statistics(x, y, weight, n_classes=3)
    full = prior.complete(rows)
    expected, without = np.zeros((40, 3)), np.zeros((40, 3))
    for j in range(3):
        cells = x[:, [j]]
        alone = KernelDiscriminant()
        values = alone.statistics(cells, y, weight, n_classes=3)
        alone = alone.complete(values)
        seen = ~np.isnan(cells[:, 0])
        expected[seen] += alone.posterior(values).log_predictive(cells[seen])
        without[seen] += alone.leave_one_out(values, cells, y, weight, weight)[seen]
    np.testing.assert_allclose(full.log_predictive(x), expected, rtol=1e-9, atol=1e-9)
    found = full.leave_one_out(rows, x, y, weight, weight)
    np.testing.assert_allclose(found, without, rtol=1e-9, atol=1e-9)


def test_copies_do_not_narrow_a_learned_bandwidth():
    """Every row ten times: kernels of as many values, and no narrower."""
    x, y, _ = rounded(4, 15)
    once = KernelDensity("learn")
    once, often = (
        once.complete(once.statistics(x, y, np.full(40, n), n_classes=3)) for n in (1.0, 10.0)
    )
    for a, b in zip(once.columns, often.columns, strict=True):
        spread = [np.exp(part.log_weight) @ part.grid for part in (a, b)]
        assert abs(spread[1] - spread[0]) < 0.1


def test_values_beyond_two_thousand_are_stated():
    x = np.random.default_rng(5).normal(size=(2100, 1))
    prior = KernelDensity("learn")
    full = prior.complete(prior.statistics(x, np.arange(2100) % 2, np.ones(2100), n_classes=2))
    assert "2,000 distinct values" in full.caveat
    assert full.columns[0].center.sum() == 2000


# -- the plain program -----------------------------------------------------------------------------


def test_agrees_with_the_direct_program():
    """Densities of new rows at stated bandwidths, incomplete and single ones included."""
    rng = np.random.default_rng(6)
    y = np.append(0, rng.integers(1, 3, 39))
    x = rng.normal(size=(40, 3)) * [1, 5, 0.1] + y[:, None]
    x[rng.random((40, 3)) < 0.2] = np.nan
    x[0, 1], x[1:3, 0] = 2.0, 0.5
    new = np.where(np.eye(3), np.nan, [0.3, 1.0, 1.5])
    h = np.array([0.5, 2.0, 0.05]) * rng.choice([0.5, 1.0, 3.0], (3, 3))
    part = KernelDensity(h)
    part = part.complete(part.statistics(x, y, np.ones(40), n_classes=3))
    given = {"centres": x, "centre_classes": y, "n_classes": 3}
    model = runpy.run_path(str(PROGRAM))["model"]
    params = {"variance": h**2, "class_probs": np.full(3, 1 / 3)}

    def density(row, k):
        rows = {"value": row[None], "own": -np.ones(1, int)}
        return program_density(model, (rows, k[None]), given, params)[0]

    with jax.enable_x64(True):
        pairs = np.repeat(np.vstack([new, np.full(3, np.nan)]), 3, axis=0), np.tile(range(3), 4)
        scored = jax.device_get(jax.jit(jax.vmap(density))(*pairs)).reshape(4, 3)
    np.testing.assert_allclose(part.log_predictive(new), scored[:3] - scored[3], atol=1e-9)
