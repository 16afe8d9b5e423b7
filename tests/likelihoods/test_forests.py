"""Sums over forests, draws from them and the heaviest: against every forest one by one."""

import numpy as np
import pytest
from rooted_forests import log_weights_of, rooted_forests

from bayesgen.likelihoods.trees import forest_sums

SCALES = (1.0, 50.0, 400.0, 6000.0)


def weights(q: int, scale: float, lanes: int = 4) -> np.ndarray:
    out = np.random.default_rng(q).normal(size=(lanes, q, q)) * scale
    if q > 2:
        out[0, 0, 1] = -np.inf  # an edge that is forbidden
    return out


def by_hand(log_weight: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return all forests, their probabilities (forest, lane) and the log of the sum."""
    every = rooted_forests(log_weight.shape[-1])
    each = log_weights_of(every, log_weight)
    total = np.logaddexp.reduce(each, axis=0)
    return every, np.exp(each - total), total


@pytest.mark.parametrize("q", [1, 2, 3, 4])
@pytest.mark.parametrize("scale", SCALES)
def test_the_sum_is_that_over_all_forests(q, scale):
    log_weight = weights(q, scale)
    expected = by_hand(log_weight)[2]
    found = forest_sums.log_partition(log_weight)
    np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-12)


@pytest.mark.parametrize("q", [1, 2, 3, 4])
@pytest.mark.parametrize("scale", SCALES)
def test_edges_have_their_probability(q, scale):
    log_weight = weights(q, scale)
    every, probs, _ = by_hand(log_weight)
    expected = np.zeros_like(log_weight)
    for parent, prob in zip(every, probs, strict=True):
        child = np.flatnonzero(parent != np.arange(q))
        expected[:, child, parent[child]] += prob[:, None]
    np.testing.assert_allclose(forest_sums.edge_probs(log_weight), expected, atol=1e-11)


@pytest.mark.parametrize("q", [1, 2, 3, 4])
@pytest.mark.parametrize("scale", [0.0, 1.0, 400.0])
def test_forests_are_drawn_by_weight(q, scale):
    """Every forest: 5 standard errors; of some 500 numbers one is off with p < 1e-3."""
    log_weight, n = weights(q, scale, lanes=2), 20_000
    every, probs, _ = by_hand(log_weight)
    lane = np.tile([0, 1], n)
    drawn = forest_sums.Stages(log_weight).draw(np.random.default_rng(1), lane)
    for k in (0, 1):
        same = (drawn[lane == k][:, None] == every).all(axis=-1)
        assert (same.sum(axis=1) == 1).all()
        error = np.sqrt(probs[:, k] * (1 - probs[:, k]) / n)
        assert (np.abs(same.mean(axis=0) - probs[:, k]) <= 5 * error + 1e-6).all()


def test_an_elimination_without_subtraction_keeps_what_a_determinant_loses():
    """Two columns that repeat each other, and a third that hangs on by a little."""
    log_weight = np.full((3, 3), -1.0)
    log_weight[0, 1] = log_weight[1, 0] = 1000.0
    small = np.exp(-1.0)
    # the pair as one node of root weight 2, linked to the third by 2 small: 2 + 4 small + 2 small
    expected = 1000.0 + np.log(2 + 6 * small)
    np.testing.assert_allclose(forest_sums.log_partition(log_weight), expected, rtol=1e-15)
    drawn = forest_sums.Stages(log_weight[None]).draw(
        np.random.default_rng(0), np.zeros(9, dtype=int)
    )
    assert ((drawn[:, 0] == 1) != (drawn[:, 1] == 0)).all()


@pytest.mark.parametrize("q", [1, 2, 3, 4, 20])
@pytest.mark.parametrize("scale", SCALES)
def test_mutual_edges_are_read_below_the_diagonal_only(q, scale):
    rng = np.random.default_rng(2)
    below = np.tril(rng.normal(size=(5, q, q)) * scale, -1)
    below[rng.random(below.shape) < 0.2] = -np.inf
    both = np.where(np.tri(q, dtype=bool), below, np.swapaxes(below, 1, 2))
    nonsense = np.where(np.tri(q, k=-1, dtype=bool), below, 7.0)
    expected = forest_sums.log_partition(both)
    found = forest_sums.log_partition(nonsense, mutual=True)
    np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-12)


def test_many_lanes_agree_with_one_at_a_time():
    log_weight = np.random.default_rng(0).normal(size=(7, 3, 30, 30)) * [[[[1.0]], [[30]], [[300]]]]
    found = forest_sums.log_partition(log_weight)
    one = [[forest_sums.log_partition(w) for w in some] for some in log_weight]
    np.testing.assert_allclose(found, one, rtol=1e-13)
    one = np.array(forest_sums.edge_probs(log_weight[0])[1])
    np.testing.assert_allclose(one, forest_sums.edge_probs(log_weight[0, 1]), atol=1e-12)


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("q", [1, 2, 3, 4])
def test_the_heaviest_forest(q, whole):
    log_weight = np.random.default_rng(q).normal(size=(20, q, q))
    log_weight = log_weight + np.swapaxes(log_weight, 1, 2)
    every = rooted_forests(q)
    if whole:
        every = every[(every == np.arange(q)).sum(axis=1) == 1]
    found = forest_sums.heaviest(log_weight, whole=whole)
    best = log_weights_of(every, log_weight).max(axis=0)
    reached = [log_weights_of(f[None], w)[0] for f, w in zip(found, log_weight, strict=True)]
    assert (found[:, None] == every).all(axis=-1).any(axis=1).all()
    np.testing.assert_allclose(reached, best, rtol=1e-12)


def test_parents_come_first():
    every = rooted_forests(4)
    order = forest_sums.downwards(every)
    place = np.argsort(order, axis=1)
    above = np.take_along_axis(place, every, axis=1)
    assert ((above < place) | (every == np.arange(4))).all()
