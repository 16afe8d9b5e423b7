"""What hostile tables found about rounding, one small table for each."""

import dataclasses
import functools

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from scipy.special import gammaln
from scipy.stats import poisson

import bayesgen as bg
from bayesgen import errors
from bayesgen.likelihoods.kernels import rule_of_thumb
from bayesgen.likelihoods.special_functions import log_factorial


def test_a_point_estimate_keeps_its_digits_far_from_the_origin():
    """A floored variance, 1e-13 of the squared distance to the first cell: squares cancelled."""
    X, y = pd.DataFrame({"a": [5.0, 6, 2, 3, 2, 3, 2, 2]}), np.array(list("xwzyxwzw"))
    weight = np.array([1.0, 1.01, 1.01, 1001, 1e4, 1e5, 1, 1e-9])
    with pytest.warns(errors.DegenerateEstimate):
        found = bg.NaiveBayes(inference="mle").fit(X, y, sample_weight=weight)
        other = bg.NaiveBayes(inference="mle").fit(X[::-1], y[::-1], sample_weight=weight[::-1])
    np.testing.assert_allclose(found.predict_proba(X), other.predict_proba(X), rtol=1e-9)


def test_log_probabilities_keep_their_digits_far_out():
    """Log densities of -1e9, of a floored variance, have an error of 1e-7 each, not their gaps."""
    X, y = pd.DataFrame({"a": [3, 3, 1]}), ["y", "x", "z"]
    with pytest.warns(errors.DegenerateEstimate):
        clf = bg.NaiveBayes(inference="mle").fit(X, y, sample_weight=[1.0, 1.001, 1.1])
    new = pd.DataFrame({"a": [5, 2]})
    np.testing.assert_allclose(np.exp(clf.predict_log_proba(new)), clf.predict_proba(new), 1e-14)


def test_light_rows_stay_among_the_values_of_a_kernel_density():
    """Values of less than 1e-9 of the largest weight were taken for rounding."""
    x, y = np.array([[1.5], [2.25], [2.0], [2.25]]), np.array([1, 1, 1, 0])
    weight = np.array([1e-6, 1e6, 1e-5, 1.0])
    whole = bg.KernelDensity().statistics(x, y, weight, n_classes=2)
    first, second = (
        bg.KernelDensity().statistics(x[rows], y[rows], weight[rows], n_classes=2)
        for rows in (slice(2), slice(2, 4))
    )
    for values in (whole, first + second, whole.take("feature", np.array([0]))):
        np.testing.assert_array_equal(values.group(1, 0), [[1.5, 2.0, 2.25], [1e-6, 1e-5, 1e6]])
    np.testing.assert_array_equal((whole - second).group(1, 0), first.group(1, 0))


def test_counts_of_heavy_rows_keep_their_digits():
    """A difference of two log Gammas at 1e8 is off by 1e-7."""
    x, y = np.array([[2.0], [3.0], [1.0], [4.0]]), np.array([0, 0, 1, 1])
    heavy = bg.Poisson(rate=2.0, rows=1e-3)
    sums = heavy.statistics(x, y, np.array([3e8, 1e8, 2e8, 2e8]), n_classes=2)
    after = heavy.complete(sums).posterior(sums)
    # so many rows leave nothing unknown: Poisson of the rate, up to (x - rate)^2 / rows
    given = poisson.logpmf(x, after.rate[:, 0])
    np.testing.assert_allclose(after.predictive()(x), given, atol=2e-8)
    np.testing.assert_allclose(after.predictive()(csr_array(x)), given, atol=2e-8)
    each = dataclasses.replace(
        after, rate=np.repeat(after.rate[None], 4, 0), rows=np.repeat(after.rows[None], 4, 0)
    )
    np.testing.assert_allclose(each.log_predictive_paired(x), given, atol=2e-8)


@pytest.mark.parametrize("covariance", ["per_class", "shared"])
def test_evidence_of_joint_normals_in_any_unit(covariance):
    """A determinant by pivots lost digits of columns beside two of 1e70: 6 nats."""
    random, y = np.random.default_rng(6), (np.arange(40) < 2).astype(int)
    x = random.standard_normal((40, 4))
    x[:, :2] = random.integers(0, 6, (40, 2))
    x[:, 1] = np.where(random.random(40) < 0.9, x[:, 0], x[:, 1])
    unit, found = np.array([1.0, 1.0, 1e70, 1e70]), []
    for rows in (x, x * unit):
        prior = bg.MultivariateNormal(covariance)
        sums = prior.statistics(rows, y, np.ones(40), n_classes=2)
        found.append(prior.complete(sums).log_evidence(sums))
    assert found[1] + 40 * np.log(unit).sum() == pytest.approx(found[0], rel=1e-11)


def test_quantiles_of_weights_are_the_same_from_above():
    """Weights that are no integers had other quartiles where the column was turned around."""
    value, weight = np.array([-1.0, 0.5, 3.0, 7.0]), np.array([1.4, 1.4, 2.0, 1.6])
    assert rule_of_thumb.spread(value, weight) == pytest.approx(
        rule_of_thumb.spread(-value[::-1], weight[::-1]), rel=1e-12
    )
    repeated = np.repeat(value, [1, 4, 2, 3])
    quartiles = np.quantile(repeated, [0.25, 0.75])
    found = [rule_of_thumb._quantile(value, np.array([1.0, 4, 2, 3]), q) for q in (0.25, 0.75)]
    np.testing.assert_allclose(found, quartiles, rtol=1e-12)


@pytest.mark.parametrize("family", [bg.Bernoulli, bg.Poisson])
def test_sparse_columns_keep_the_digits_of_light_cells(family):
    """Heavy rows were subtracted from all: .6 % of a cell of weight 1e-7 was rounding."""
    X = np.array([[1, np.nan], [0, 1], [0, 0], [1, 1], [1, np.nan], [np.nan, 0]])
    y, weight = np.array([0, 0, 0, 1, 1, 1]), np.array([1e7 + 0.1, 1e-5, 1e-7, 1e7, 0.3, 1e-7])
    for learned in ("exact", "mle"):
        make = functools.partial(bg.GenerativeClassifier, family(), inference=learned)
        dense = make().fit(X, y, weight).predict_proba(X)
        sparse = make().fit(csr_array(X), y, weight).predict_proba(csr_array(X))
        np.testing.assert_allclose(sparse, dense, rtol=0, atol=1e-9)


@pytest.mark.parametrize("form", [np.asarray, csr_array])
def test_what_is_nearly_always_so_may_still_not_be(form):
    """A probability of a one that rounds to 1 made a zero impossible: 1 - prob keeps its digits."""
    x, y = np.array([[1.0], [0.0], [1.0]]), np.array([0, 0, 1])
    weight = np.array([1e8, 1e-9, 1e7])
    prior = bg.Bernoulli()
    statistics = prior.statistics(form(x), y, weight, n_classes=2)
    after = prior.complete(statistics).posterior(statistics)
    guess = 1e-9 / 1.1e8
    zeros = np.array([4 * guess + 1e-9, 4 * guess]) / (4 + np.array([1e8, 1e7]))
    zero = form(np.zeros((1, 1)))
    np.testing.assert_allclose(after.predictive()(zero), np.log(zeros)[None], rtol=1e-14)
    np.testing.assert_allclose(after.log_predictive_paired(np.zeros((1, 1))), np.log(zeros)[None])
    drawn = after.log_density_draws_given_row(np.random.default_rng(0), 50)(
        zero, np.zeros((50, 1), int)
    )
    assert np.isfinite(drawn[..., 0]).all()
    clf = bg.NaiveBayes(prior).fit(x, y, sample_weight=weight)
    assert np.isfinite(clf.predict_interval(x)).all()
    assert np.isfinite(clf.loo().to_numpy()).all()


def test_counts_that_no_64_bit_integer_holds():
    """A count of 1e19 became a negative integer, with a warning of NumPy's."""
    x, y = np.array([[3.0, 1e19], [1e140, 2.0], [1.0, 4.0]]), np.array([0, 1, 1])
    np.testing.assert_array_equal(log_factorial(x[0]), gammaln(x[0] + 1))
    for clf in (bg.BagOfWords(), bg.GenerativeClassifier(bg.Poisson())):
        assert np.isfinite(clf.fit(x, y).predict_proba(csr_array(x))).all()
