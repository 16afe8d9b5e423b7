"""Quantiles of weighed draws: against the definition, whatever the weights and number of draws."""

import numpy as np
import pytest

from bayesgen.inference.weighted_quantiles import evenly, quantiles

LEVELS = (0.0, 0.001, 0.05, 0.3, 0.5, 0.7, 0.95, 0.999, 1.0)


def by_definition(values, weight, level):
    """Return the smallest value whose weight, with that of all smaller ones, reaches a level."""
    order = np.argsort(values, axis=0)
    steps = np.take_along_axis(weight, order, axis=0).cumsum(axis=0)
    place = (steps < level - 1e-12).sum(axis=0).clip(max=len(values) - 1)
    return np.take_along_axis(values, np.take_along_axis(order, place[None], axis=0), axis=0)[0]


def weights(how, values, rng):
    """Return weights of draws that sum to one for each row."""
    size, n = values.shape[:2]
    if how == "even":
        return np.full((size, n), 1 / size)
    if how == "by value":  # hardly any weight lies at one end, so that most draws are beyond
        one = np.exp(-10 * values[..., 0])
    elif how == "of one draw":
        one = np.full((size, n), 1e-9)
        one[rng.integers(size, size=n), np.arange(n)] = 1.0
    else:
        one = rng.gamma(0.3, size=(size, n))
    return one / one.sum(axis=0)


@pytest.mark.parametrize(
    ("how", "size"),
    [
        ("even", 1),
        ("uneven", 7),
        ("even", 256),
        ("by value", 256),
        ("uneven", 257),
        ("even", 1000),
        ("by value", 1001),
        ("of one draw", 1001),
    ],
)
def test_quantiles_are_those_of_the_definition(how, size, rng):
    values = rng.random((size, 60, 2)) ** np.array([1.0, 40.0])
    weight = weights(how, values, rng)
    found = quantiles(values, weight, LEVELS)
    for level, ends in zip(LEVELS, np.moveaxis(found, -1, 0), strict=True):
        for k in range(2):
            np.testing.assert_array_equal(ends[:, k], by_definition(values[..., k], weight, level))


def test_equal_numbers_are_their_own_quantiles():
    values = np.repeat([0.0, 1.0], [3, 997])[:, None, None]
    found = quantiles(values, np.full((1000, 1), 1e-3), (0.002, 0.003, 0.0031, 0.5, 1.0))
    np.testing.assert_array_equal(found[0, 0], [0, 0, 1, 1, 1])


def test_even_draws_are_quantiles_of_a_score(rng):
    score, weight = rng.random((60, 7)), rng.dirichlet(np.ones(60), 7).T
    at = evenly(score, weight, 25)
    assert at.shape == (7, 25)
    levels = tuple((np.arange(25) + 0.5) / 25)
    expected = quantiles(score[..., None], weight, levels)[:, 0]
    np.testing.assert_array_equal(np.take_along_axis(score.T, at, axis=1), expected)
