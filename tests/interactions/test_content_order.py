"""The order by content: the same table, however its rows, columns and classes are placed."""

import numpy as np

from bayesgen.interactions.content_order import ContentOrder


def some_rows(seed=0, n=30, p=4):
    """Return ranks, some cells missing, classes of equal size, and weights."""
    rng = np.random.default_rng(seed)
    ranks = np.stack([rng.integers(0, size, n) for size in (2, 2, 5, 9)[:p]], axis=1)
    ranks[rng.random(ranks.shape) < 0.15] = -1
    return ranks, np.resize([0, 1, 2], n), rng.choice([1.0, 0.3], n)


def in_order(ranks, y, weight):
    """Return the rows of a table as the order by content tells them."""
    top = ranks.max(axis=0)
    order = ContentOrder.of(ranks, top, y, weight, 3)
    ranks = np.where(order.reflected & (ranks >= 0), top - ranks, ranks)
    at = order.rows
    return ranks[np.ix_(at, order.columns)], np.argsort(order.classes)[y[at]], weight[at]


def test_places_and_directions_do_not_matter():
    ranks, y, weight = some_rows()
    first = in_order(ranks, y, weight)
    for seed in range(5):
        rng = np.random.default_rng(seed)
        rows, columns, classes = (rng.permutation(size) for size in (*ranks.shape, 3))
        turned = ranks[np.ix_(rows, columns)]
        down = rng.random(len(columns)) < 0.5
        turned = np.where(down & (turned >= 0), turned.max(axis=0) - turned, turned)
        # sums of weights in another order
        other = in_order(turned, classes[y[rows]], weight[rows] * (1 + 1e-15))
        for one, again in zip(first[:2], other[:2], strict=True):
            np.testing.assert_array_equal(again, one)


def test_content_that_differs_in_one_cell_is_told_apart():
    ranks, y, weight = some_rows()
    again = ranks.copy()
    again[7, 3] = again[7, 3] % 8 + 1
    assert any(
        (one != other).any()
        for one, other in zip(
            in_order(ranks, y, weight)[:1], in_order(again, y, weight)[:1], strict=True
        )
    )
