"""The discriminant in the space of the rows: equal to that of the columns, rows left out, laws."""

import numpy as np
import pytest

from bayesgen.interactions import Cell, Discriminant
from bayesgen.interactions.discriminant import STRENGTHS
from bayesgen.likelihoods import MultivariateNormal

CELLS = (*(Cell("x", j, 0) for j in range(12)), Cell("w", 0, 3))


def table(seed=0, n=9, gaps=0.0):
    """Return rows of more features than rows, labels, and weights of 1 to 3."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    x = rng.standard_normal((n, 12)) @ rng.standard_normal((12, 12)) + y[:, None]
    x[rng.random(x.shape) < gaps] = np.nan
    return {"x": x, "w": rng.integers(0, 3, (n, 1))}, y, rng.integers(1, 4, n).astype(float)


def at(encoded, where):
    return {name: x[where] for name, x in encoded.items()}


def of(encoded, y, weight):
    return Discriminant.of(CELLS, encoded, y, weight, 3)


def by_columns(prior, rows, y, weight, new):
    """Return the log ratio of a normal over the columns, whose matrices are p x p."""
    family = MultivariateNormal(
        "shared", mean=0.0, mean_rows=prior[1], scale=1.0, covariance_rows=prior[0]
    )
    statistics = family.statistics(rows, y, weight, n_classes=3)
    log_density = family.complete(statistics).posterior(statistics).log_predictive(new)
    count = np.bincount(y, weight, minlength=3) + 1
    joint = log_density + np.log(count / count.sum())
    return log_density - np.logaddexp.reduce(joint, axis=1, keepdims=True)


def test_equals_a_normal_over_the_columns():
    encoded, y, weight = table()
    rows = of(encoded, y, weight)
    new = rows.standardized(table(seed=1)[0])
    log_ratio = rows.without(new, np.zeros(9, dtype=int), np.zeros(9))
    for prior, wanted in zip(STRENGTHS, log_ratio, strict=True):
        expected = by_columns(prior, rows.x, rows.y, rows.weight, new)
        np.testing.assert_allclose(wanted, expected, rtol=0, atol=1e-9)


def require_left_out():
    encoded, y, weight = table()
    rows, every, away = of(encoded, y, weight), np.arange(9), np.linspace(0.5, 1, 9)
    new = rows.standardized(encoded)
    entry = np.abs(new[:, None] - rows.x).sum(axis=2).argmin(axis=1)
    for lost in (away, rows.weight[entry]):  # parts of rows, and whole ones
        log_proba = rows.without(new, entry, lost)
        for i in every:
            left = rows.weight.copy()
            left[entry[i]] -= lost[i]
            stay = left > 0
            x = rows.x[entry[i]][None]
            for prior, wanted in zip(STRENGTHS, log_proba[:, i], strict=True):
                expected = by_columns(prior, rows.x[stay], rows.y[stay], left[stay], x)[0]
                np.testing.assert_allclose(wanted, expected, rtol=0, atol=1e-9)


def test_a_row_left_out_is_predicted_by_the_fit_without_it():
    require_left_out()


def test_fault_is_caught_a_covariance_that_has_seen_the_row(monkeypatch):
    correct = Discriminant.log_ratio
    monkeypatch.setattr(Discriminant, "log_ratio", lambda self, *rows: correct(self, *rows[:4]))
    with pytest.raises(AssertionError):
        require_left_out()


def test_rows_of_no_fit_are_not_left_out():
    encoded, y, weight = table()
    fresh, labels, lost = table(seed=1)
    rows = of(encoded, y, weight)
    np.testing.assert_array_equal(rows.left_out(fresh, labels, lost), rows.log_density(fresh))


def test_order_weights_units_and_origins_change_nothing():
    encoded, y, weight = table(gaps=0.1)
    rows, away = of(encoded, y, weight), np.minimum(weight, 1.0)
    order = np.repeat(np.arange(9), weight.astype(int))[::-1]
    twice = of(at(encoded, order), y[order], np.ones(len(order)))
    units = {"x": encoded["x"] * np.geomspace(1e-6, 1e6, 12) + 5.0, "w": encoded["w"]}
    moved = rows.shifted({"x": np.arange(12.0)})
    wanted = rows.log_density(encoded), rows.left_out(encoded, y, away)
    for other, x in ((twice, encoded), (of(units, y, weight), units)):
        np.testing.assert_allclose(other.log_density(x), wanted[0], rtol=0, atol=1e-9)
        np.testing.assert_allclose(other.left_out(x, y, away), wanted[1], rtol=0, atol=1e-9)
    shifted = moved.log_density({"x": encoded["x"] + np.arange(12.0), "w": encoded["w"]})
    np.testing.assert_allclose(shifted, wanted[0], rtol=0, atol=1e-9)


def test_rows_without_cells_and_columns_without_spread_say_nothing():
    encoded, y, weight = table()
    empty = {"x": np.full((1, 12), np.nan), "w": np.array([[-1]])}
    rows = of(encoded, y, weight)
    np.testing.assert_allclose(rows.log_density(empty), 0.0, rtol=0, atol=1e-12)
    same = {"x": np.full((9, 12), 0.1), "w": np.zeros((9, 1), dtype=int)}
    alike = of(same, y, weight)
    assert not alike.splits
    assert np.isfinite(alike.log_density(encoded)).all()


def test_draws_surround_the_density():
    encoded, y, weight = table()
    rows = of(encoded, y, weight)
    draws = rows.draws(np.random.default_rng(0), 200)(encoded)
    low, high = np.quantile(draws, [0.005, 0.995], axis=2)
    assert (low < high).all()
    inside = (low <= rows.log_density(encoded)) & (rows.log_density(encoded) <= high)
    assert inside.mean() > 0.8
