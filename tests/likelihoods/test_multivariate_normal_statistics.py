"""Scatter matrices of blocks of rows, against two passes in extended precision."""

import numpy as np
import pytest

from bayesgen.likelihoods import MultivariateNormal
from bayesgen.likelihoods.multivariate_normal import statistics
from bayesgen.likelihoods.multivariate_normal.likelihood import correlations

K, P = 3, 4


def slow(x, y, weight, k):
    """Count, mean and scatter of the complete rows of one class."""
    mine = (y == k) & ~np.isnan(x).any(axis=1)
    rows, w = x[mine].astype(np.longdouble), weight[mine].astype(np.longdouble)
    mean = w @ rows / w.sum()
    return w.sum(), mean, (w[:, None] * (rows - mean)).T @ (rows - mean)


def rows_of(kind, rng, n=400):
    y = rng.integers(K, size=n)
    factor = np.eye(P) + 0.9 * np.ones((P, P))
    x = rng.standard_normal((n, P)) @ factor + 3 * y[:, None]
    if kind == "far":
        x += 1e8
    elif kind == "drift":  # later rows lie far from earlier ones of their class
        x += 1e6 * (np.arange(n)[:, None] // 100)
    elif kind == "outlier":
        x[0] = 1e9
    elif kind == "tiny":
        x *= 1e-140
    return x, y


@pytest.mark.parametrize("kind", ["near", "far", "drift", "outlier", "tiny"])
@pytest.mark.parametrize(("weighted", "size"), [(True, 7), (False, 64), (True, 1000)])
def test_blocks_give_the_moments_of_two_passes(rng, monkeypatch, kind, weighted, size):
    monkeypatch.setattr(statistics, "SCATTER_ROWS", size)
    x, y = rows_of(kind, rng)
    weight = rng.integers(1, 4, len(y)).astype(float) if weighted else np.ones(len(y))
    found = statistics.gather(x, y, weight, K)
    for k in range(K):
        count, mean, squares = slow(x, y, weight, k)
        assert found.count[k] == count
        # a sum of n deviations, in any order, is off by at most n ulp of the sum of their sizes
        sizes = np.abs(x[y == k] - mean).astype(float).mean(axis=0) * weight[y == k].max()
        rounding = (y == k).sum() * np.finfo(float).eps * sizes
        off = np.abs(found.mean[k] - mean.astype(float))
        assert (off < 4e-15 * np.abs(mean.astype(float)) + rounding).all()
        sd = np.sqrt(np.diagonal(squares))
        gap = (found.scatter[k] - squares) / (sd[:, None] * sd)
        # means are kept to their last digit, and merged by their differences
        digit = np.finfo(float).eps * np.abs(x).max() / (sd / np.sqrt(count)).min()
        assert np.abs(gap).max() < 1e-14 + digit


def test_rows_far_from_the_earlier_ones_that_are_centred_once_lose_digits(rng, monkeypatch):
    """The fault that the second centring prevents: squares around the mean of earlier rows."""
    x, y = rows_of("near", rng)
    x[200:] += 1e6
    ones = np.ones(len(y))
    exact = [slow(x[200:], y[200:], ones[200:], k)[2] for k in range(K)]
    order = np.argsort(y[200:], kind="stable")
    given = statistics.gather(x[:200], y[:200], ones[:200], K)
    moments = (given.count, given.mean, given.scatter)
    sizes = np.bincount(y[200:], minlength=K)

    def worst():
        found = statistics.group_moments(x[200:][order], sizes, None, moments)[2]
        return max(np.abs(f / e - 1).max() for f, e in zip(found, exact, strict=True))

    assert worst() < 1e-14
    monkeypatch.setattr(statistics.np, "flatnonzero", lambda found: once_only(found))
    assert worst() > 1e-10


def once_only(found):
    """Say of no group that it is centered again, and of all others what NumPy says."""
    return np.arange(0) if found.dtype == bool else found.nonzero()[0]


@pytest.mark.parametrize("gaps", [0.0, 0.2])
def test_equal_rows_have_scatter_zero_to_the_last_bit(rng, monkeypatch, gaps):
    monkeypatch.setattr(statistics, "SCATTER_ROWS", 16)
    y = rng.integers(K, size=100)
    x = np.array([0.1, 1e8 / 3, -1 / 7])[y][:, None] * np.ones(P)
    x[rng.random(x.shape) < gaps] = np.nan
    found = statistics.gather(x, y, np.ones(100), K)
    assert not found.scatter.any()
    assert not found.cell_scatter.any()


def test_a_sum_of_statistics_is_that_of_cells_one_by_one(rng):
    """Two ways to add: classes at once, and, where rows have missing values, cell by cell."""
    x, y = rows_of("far", rng)
    y[:200] = np.minimum(y[:200], 1)  # a class that only the second part has
    ones = np.ones(200)
    a, b = (statistics.gather(x[r], y[r], ones, K) for r in (slice(200), slice(200, 400)))
    slowly = statistics.collect(K, *statistics.all_cells(a, b))
    for name, array in (a + b).arrays().items():
        np.testing.assert_allclose(array, getattr(slowly, name), rtol=1e-14, err_msg=name)


@pytest.mark.parametrize("p", [1, statistics.FEW_COLUMNS, statistics.FEW_COLUMNS + 1])
def test_products_are_symmetric_and_alike_on_both_ways(rng, p):
    x = rng.standard_normal((50, p))
    found = statistics._squares(x, None)
    np.testing.assert_allclose(found, x.T @ x, rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(found, statistics._squares(x, np.ones(50)), rtol=1e-13, atol=1e-13)


def test_pooled_scatter_of_incomplete_rows_has_missing_cells_at_the_means_of_classes(rng):
    x, y = rows_of("near", rng)
    x[rng.random(x.shape) < 0.3] = np.nan
    weight = rng.integers(1, 4, len(y)).astype(float)
    found = statistics.gather(x, y, weight, K).pooled_observed_scatter
    expected = np.zeros((P, P))
    for k in range(K):
        own, w = x[y == k], weight[y == k]
        seen = ~np.isnan(own)
        mean = (w[:, None] * np.where(seen, own, 0.0)).sum(axis=0) / (w[:, None] * seen).sum(axis=0)
        centered = np.where(seen, own - mean, 0.0)
        expected += (w[:, None] * centered).T @ centered
    np.testing.assert_allclose(found[0], expected, rtol=0, atol=1e-12 * np.trace(expected))
    assert (np.linalg.eigvalsh(found) > 0).all()


def test_guessed_correlations_do_not_rest_on_a_few_complete_rows(rng):
    """Of 20 columns one row in eight is complete: correlations of these are nearly singular."""
    y = rng.integers(K, size=200)
    x = rng.standard_normal((200, 20))
    x[rng.random(x.shape) < 0.1] = np.nan
    found = statistics.gather(x, y, np.ones(200), K)

    def narrowest(scatter):
        sd = np.sqrt(np.diagonal(scatter[0]))
        return np.linalg.eigvalsh(scatter[0] / sd / sd[:, None])[0]

    assert narrowest(found.pooled_scatter) < 0.02
    scale = MultivariateNormal(correlation=0.99).complete(found).scale
    assert narrowest(scale[:1]) > 0.2


def test_guessed_correlations_of_incomplete_rows_are_expected_ones(rng):
    """Within .01 of those of the same rows when complete; missing cells at means lose .1."""
    y = rng.integers(K, size=2000)
    x = rng.standard_normal((2000, 1)) + 0.3 * rng.standard_normal((2000, P)) + y[:, None]
    x[:, 2] = 5.0
    complete = statistics.gather(x.copy(), y, np.ones(2000), K)
    x[rng.random(x.shape) < 0.2] = np.nan
    found = statistics.gather(x, y, np.ones(2000), K)
    assert found.has_missing
    truth, guess = correlations(1.0, complete), correlations(1.0, found)
    np.testing.assert_allclose(guess, truth, atol=0.01)
    assert (guess[0, 2] == np.eye(P)[2]).all()
    observed = found.pooled_observed_scatter[0]
    assert truth[0, 0, 1] - observed[0, 1] / np.sqrt(observed[0, 0] * observed[1, 1]) > 0.1
