"""Replicates of new rows, and the adjusted prevalence in which label shift cancels."""

import numpy as np
import pytest
from replicates import replicated

CODES = np.repeat([0, 1, 2], [10, 20, 40])
DRAWS = np.random.default_rng(1).dirichlet([8.0, 6.0, 6.0], 500)


def probabilities(sharpness=1.0):
    rng = np.random.default_rng(0)
    odds = np.exp(rng.normal(sharpness * np.eye(3)[CODES], 1.0))
    return odds / odds.sum(axis=1, keepdims=True)


def made(proba, new, draws=DRAWS, weight=None):
    weight = np.ones(70) if weight is None else weight
    return replicated(CODES, weight, proba, new, draws, np.random.default_rng(0))


def test_a_mixture_of_labelled_rows_has_its_prevalence_whatever_was_estimated():
    """0.2, 0.2 and 0.6 of the classes, each labeled row as often as any other of its class."""
    proba = probabilities()
    times = np.repeat([4, 2, 3], [10, 20, 40])
    found = made(proba, np.repeat(proba, times, axis=0))
    np.testing.assert_allclose(found.here, [0.2, 0.2, 0.6], atol=1e-12)
    np.testing.assert_allclose(found.prevalence, DRAWS.mean(axis=0))


def test_replicates_are_rows_of_the_estimated_prevalence():
    proba = probabilities()
    found = made(proba, proba[:50])
    assert (found.rows.sum(axis=1) + found.unseen.sum(axis=1) == 50).all()
    counts = np.stack([found.rows[:, k == CODES].sum(axis=1) for k in range(3)], axis=1)
    share = (counts + found.unseen) / 50
    pi = DRAWS.mean(axis=0)
    error = share.std(axis=0) / np.sqrt(len(share))
    # the draws of a finite number have a mean that replicates approach
    assert (np.abs(share.mean(axis=0) - pi) < 5 * error).all()
    # an unbiased adjustment varies about the same mean
    error = found.there.std(axis=0) / np.sqrt(len(share))
    assert (np.abs(found.there.mean(axis=0) - pi) < 5 * error).all()


def test_means_vary_as_those_of_the_dirichlet_distribution():
    """The sum of a_i x_i^2 / (A (A + 1)); a_i = 16 / 20, A = 17 with the unseen row."""
    many, x = np.ones((5000, 1)), np.random.default_rng(3).normal(size=20)
    x -= x.mean()
    parts = np.zeros(20, int), np.ones(20), None, many, np.ones((500, 1))
    found = replicated(*parts, np.random.default_rng(0))
    means = found.rows @ x / len(many)
    expected = 0.8 * (x**2).sum() / (17 * 18) * (1 + 17 / len(many))
    assert means.var() / expected == pytest.approx(1, abs=5 * np.sqrt(3 / len(means)))


def test_excluded_classes_stay_so():
    draws = DRAWS * [1, 1, 0]
    found = made(probabilities(), probabilities()[:30], draws / draws.sum(axis=1, keepdims=True))
    assert found.here[2] == 0
    assert (found.there[:, 2] == 0).all() and not found.rows[:, CODES == 2].any()


def test_nothing_adjusts_without_probabilities_or_where_they_tell_nothing():
    new = probabilities()[:30]
    for proba in (None, np.full((70, 3), 1 / 3)):
        found = made(proba, new if proba is None else np.full((30, 3), 1 / 3))
        np.testing.assert_allclose(found.here, DRAWS.mean(axis=0))
        np.testing.assert_allclose(found.there, np.tile(found.here, (len(found.there), 1)))


def test_rows_count_by_their_weight():
    weight = np.where(np.arange(70) % 2, 2.0, 1.0)
    found = made(probabilities(), probabilities()[:50], weight=weight)
    twice = found.rows[:, (CODES == 2) & (weight == 2)].sum()
    assert twice / found.rows[:, CODES == 2].sum() == pytest.approx(2 / 3, abs=0.02)
