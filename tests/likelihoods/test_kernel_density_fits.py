"""Classifiers of kernel densities: exact, learned, hostile columns, and draws."""

import numpy as np
import pandas as pd
import pytest

import bayesgen as bg
from bayesgen.errors import (
    InvalidArgument,
    NoAttribute,
    SuspiciousColumn,
)
from bayesgen.inference.leave_one_out import Block, LabelledRows
from bayesgen.likelihoods import KernelDensity
from bayesgen.likelihoods.selection import Selection


def test_a_given_bandwidth_is_exact(iris):
    """No parameter: one density for all, intervals from the class prior alone, no evidence."""
    X, y = iris
    clf = bg.NaiveBayes(KernelDensity()).fit(X, y)
    assert clf.inference_ == "exact"
    assert (clf.predict(X) == y).mean() == 0.96
    given = bg.NaiveBayes(KernelDensity(), class_prior="uniform").fit(X, y)
    ends = given.predict_interval(X[:5])
    np.testing.assert_allclose(ends[..., 0], ends[..., 1], rtol=1e-9)
    np.testing.assert_allclose(ends[..., 0], given.predict_proba(X[:5]), rtol=1e-9)
    for method in ("mle", "map"):
        other = bg.NaiveBayes(KernelDensity(), class_prior="uniform", inference=method).fit(X, y)
        np.testing.assert_allclose(other.predict_proba(X), given.predict_proba(X), rtol=1e-12)
    with pytest.raises(NoAttribute, match=r"bg\.compare"):
        _ = clf.log_evidence_


@pytest.mark.parametrize("bandwidth", ["nrd0", 0.5])
@pytest.mark.parametrize("seed", range(5))
def test_leave_one_out_of_hostile_columns_is_refitting(bandwidth, seed):
    """Ties, weights of several rows and of half of one, missing cells, classes that do not vary."""
    rng, n = np.random.default_rng(seed), 8 + 6 * seed
    y, x = rng.integers(0, 3, n), np.round(rng.normal(size=(n, 4)), 1) * [1, 100, 1e-3, 1]
    x[rng.random(x.shape) < 0.2] = np.nan
    if seed < 3:
        x[y == 1, 0], x[y == 2, 1] = [(np.nan, 7.0), (0.5, np.nan), (2.0, 7.0)][seed]
    weight = rng.integers(1, 4, n) * rng.choice([1.0, 0.5], n)
    away, prior = np.minimum(weight, 1.0), KernelDensity(bandwidth=bandwidth)
    sums = prior.statistics(x, y, weight, n_classes=3)
    full = prior.complete(sums)
    block = Block(prior, full, Selection(), sums, x, LabelledRows({}, y, weight, away), 3)
    expected, found = block.one_by_one(np.arange(n)), block.scores()
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
    direct = full.leave_one_out(sums, x, y, weight, away)
    alone = ~np.isnan(direct).any(axis=1)
    np.testing.assert_allclose(direct[alone], expected[alone], rtol=1e-9, atol=1e-9)


@pytest.mark.slow
def test_a_small_bandwidth_overfits(iris):
    """Training accuracy prefers the smallest bandwidth, leave-one-out one in between."""
    X, y = iris
    training, left_out, log_proba = [], [], []
    for bandwidth in (0.01, 0.2, 2.0):
        clf = bg.NaiveBayes(KernelDensity(bandwidth=bandwidth)).fit(X, y)
        honest = clf.loo()["log_proba"]
        training.append((clf.predict(X) == y).mean())
        # given more than half of the probability
        left_out.append((honest > np.log(0.5)).mean())
        log_proba.append(honest.mean())
    assert training[0] >= training[1] > training[2]
    assert left_out[0] < left_out[1] > left_out[2]
    assert training[0] - left_out[0] > 0.03 > training[1] - left_out[1]
    assert log_proba[0] < -20 and log_proba[1] > -0.2


@pytest.mark.slow
@pytest.mark.parametrize("bandwidth", ["nrd0", "learn"])
def test_hostile_columns(bandwidth):
    """A class without a value, one with a single one, ties, missing values, an empty column."""
    rng = np.random.default_rng(8)
    y = np.arange(60) % 3
    X = pd.DataFrame(
        {
            "missing": np.where(y == 1, np.nan, rng.normal(size=60)),
            "single": np.where((y == 1) & (np.arange(60) > 1), np.nan, rng.normal(size=60)),
            "ties": np.where(y == 1, 2.0, np.round(rng.normal(size=60))),
            "far": np.append(rng.normal(size=59), 1e9),
            "large": rng.normal(size=60) * 1e140,
            "flat": 3.0,
            "nothing": np.nan,
        }
    )
    clf = bg.NaiveBayes(KernelDensity(bandwidth=bandwidth), inference="map")
    with pytest.warns(SuspiciousColumn) as reported:
        clf.fit(X, y)
    assert sorted(str(w.message)[:13] for w in reported) == ["column 'flat'", "column 'nothi"]
    probs = clf.predict_proba(X)
    assert np.isfinite(probs).all()
    np.testing.assert_allclose(probs.sum(axis=1), 1, rtol=1e-12)
    new, _ = clf.sample(5, random_state=0)
    assert np.isfinite(new.drop(columns=["flat", "nothing"])).all(axis=None)


def test_a_learned_bandwidth_is_averaged_over(iris):
    """A closed form by itself, and beside a block that is sampled or optimized."""
    X, y = iris
    clf = bg.NaiveBayes(KernelDensity(bandwidth="learn")).fit(X, y)
    assert clf.inference_ == "exact"
    assert (clf.predict(X) == y).mean() > 0.95
    for method in ("mle", "map"):
        other = bg.NaiveBayes(KernelDensity(bandwidth="learn"), inference=method).fit(X, y)
        np.testing.assert_allclose(other.predict_proba(X), clf.predict_proba(X), rtol=1e-9)


def test_what_makes_no_kernel_density_is_refused():
    for options, stated in (
        ({"bandwidth": "sj"}, "'nrd0', 'learn'"),
        ({"bandwidth": 0.0}, "bandwidth is 0.0"),
    ):
        with pytest.raises(InvalidArgument) as caught:
            KernelDensity(**options)
        assert stated in str(caught.value)


@pytest.mark.parametrize("bandwidth", ["nrd0", "learn"])
def test_weights_that_sum_to_one_leave_a_column_its_spread(bandwidth):
    """They warned that the column is constant, and ignored it."""
    x, y = np.random.default_rng(0).normal(size=(30, 2)), np.arange(30) % 2
    x[:, 0] += y
    clf = bg.NaiveBayes(KernelDensity(bandwidth), class_prior="uniform")
    clf.fit(x, y, sample_weight=np.full(30, 1 / 30))
    assert abs(clf.predict_proba(x) - 0.5).max() > 0.1
    assert np.isfinite(clf.loo().log_proba).all()
