"""The forest: rows down its trees, rows left out, order, weights and units."""

import numpy as np
import pytest

from bayesgen.interactions import Cell, Forest, growing
from bayesgen.interactions.forest import features, row_positions
from bayesgen.interactions.growing import LEAF_ROWS

CELLS = (Cell("u", 0, 0), Cell("v", 0, 0), Cell("w", 0, 3), Cell("z", 0, 2))


def table(seed=0, n=80, gaps=0.2):
    """Return rows, some cells missing, labels and whole weights."""
    rng = np.random.default_rng(seed)
    u, v = rng.normal(size=(2, n, 1))
    w, z = rng.integers(0, 3, (n, 1)), rng.integers(0, 2, (n, 1))
    y = ((u * v)[:, 0] > 0).astype(int) + (w[:, 0] == 2)
    encoded = {"u": u, "v": v, "w": w, "z": z}
    for name, x in encoded.items():
        lost = rng.random((n, 1)) < gaps
        encoded[name] = np.where(lost, np.nan if x.dtype.kind == "f" else -1, x)
    return encoded, y, np.ones(n)


def at(encoded, where):
    return {name: x[where] for name, x in encoded.items()}


def grown(encoded, y, weight):
    return Forest.grown(CELLS, encoded, y, weight, 3)


def down(forest, node, x, share=1.0):
    """Yield the leaves that a row reaches, and its share in each."""
    column = forest.column[node]
    if column < 0:
        yield node, share
        return
    left, child = forest.left[node], forest.child[node]
    if np.isnan(x[column]):
        yield from down(forest, child, x, share * left)
        yield from down(forest, child + 1, x, share * (1 - left))
    else:
        yield from down(forest, child + (x[column] > forest.threshold[node]), x, share)


def by_definition(forest, x, rows, bags, pi):
    """Return p(y = k given x) / pi_k by a walk down each tree; bags: trees that speak."""
    proba = np.zeros(3)
    for tree in bags:
        inside: dict[int, np.ndarray] = {}
        for entry, row in enumerate(rows):
            for leaf, share in down(forest, forest.root[tree], row):
                count = inside.setdefault(leaf, np.zeros(3))
                count[forest.y[entry]] += share * forest.bag[tree, entry]
        for leaf, share in down(forest, forest.root[tree], x):
            count = inside.get(leaf, np.zeros(3))
            proba += share * (count + LEAF_ROWS * pi) / (count.sum() + LEAF_ROWS)
    return proba / len(bags) / pi


def entries(forest, encoded, y):
    """Return the distinct rows in the order of the forest, and the entry of each row."""
    x = features(CELLS, encoded)
    entry = row_positions(forest.key, x, y)
    rows = np.empty((len(forest.y), x.shape[1]))
    rows[entry] = x
    return rows, entry


def test_density_is_that_of_a_walk_down_each_tree():
    encoded, y, weight = table()
    forest = grown(encoded, y, weight)
    rows, _ = entries(forest, encoded, y)
    fresh = table(seed=1, n=6)[0]
    density, count = forest.log_density(fresh), np.bincount(y, minlength=3) + 1
    for x, row in zip(features(CELLS, fresh), density, strict=True):
        wanted = by_definition(forest, x, rows, range(len(forest.root)), count / count.sum())
        np.testing.assert_allclose(np.exp(row), wanted, rtol=1e-10)


def require_out_of_bag():
    encoded, y, weight = table()
    forest = grown(encoded, y, weight)
    rows, entry = entries(forest, encoded, y)
    left_out = forest.left_out(encoded, y, weight)
    for i in range(5):
        bags = np.flatnonzero(forest.bag[:, entry[i]] == 0)
        count = np.bincount(np.delete(y, i), minlength=3) + 1
        x = features(CELLS, at(encoded, [i]))[0]
        wanted = by_definition(forest, x, rows, bags, count / count.sum())
        np.testing.assert_allclose(np.exp(left_out[i]), wanted, rtol=1e-10)


def test_a_row_left_out_is_predicted_by_the_trees_without_it():
    require_out_of_bag()


def test_fault_is_caught_a_row_that_trees_have_seen(monkeypatch):
    monkeypatch.setattr(
        Forest, "left_out", lambda self, encoded, y, away: self.log_density(encoded)
    )
    with pytest.raises(AssertionError):
        require_out_of_bag()


def test_rows_of_no_fit_are_not_left_out():
    encoded, y, weight = table()
    forest, (fresh, labels, one) = grown(encoded, y, weight), table(seed=1, n=6)
    left_out, density = forest.left_out(fresh, labels, one), forest.log_density(fresh)
    np.testing.assert_allclose(left_out, density, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("gaps", [0.0, 0.1])
def test_rows_go_down_together_as_they_do_alone(gaps):
    """Rows that have every cell go down by a quicker way than others."""
    forest, (fresh, *_) = grown(*table(gaps=gaps)), table(seed=1, n=40, gaps=gaps)
    x = features(forest.cells, fresh)
    row, tree, leaf, share = forest.leaves_of(x)
    for i, t in np.ndindex(len(x), len(forest.root)):
        here = (row == i) & (tree == t)
        there = dict(zip(leaf[here].tolist(), share[here].tolist(), strict=True))
        assert there == pytest.approx(dict(down(forest, forest.root[t], x[i])))


def test_the_order_of_rows_changes_nothing():
    encoded, y, weight = table()
    order = np.random.default_rng(0).permutation(len(y))
    again = grown(at(encoded, order), y[order], weight[order])
    density = grown(encoded, y, weight).log_density(encoded)
    np.testing.assert_array_equal(again.log_density(encoded), density)


def test_a_weight_of_two_is_the_row_twice():
    encoded, y, weight = table()
    twice = np.append(np.arange(len(y)), np.arange(30))
    weight[:30] = 2.0
    one = grown(encoded, y, weight)
    other = grown(at(encoded, twice), y[twice], np.ones(len(twice)))
    np.testing.assert_array_equal(one.log_density(encoded), other.log_density(encoded))
    away = np.ones(len(y))
    np.testing.assert_array_equal(one.left_out(encoded, y, away), other.left_out(encoded, y, away))


def test_a_part_of_a_weight_is_out_of_the_bag_by_its_chance():
    """Of a row of weight 2 in c of a bag's rows, one copy is out of the bag with chance 2^-c."""
    encoded, y, weight = table(gaps=0.0)
    weight[:] = 2.0
    forest = grown(encoded, y, weight)
    rows, entry = entries(forest, encoded, y)
    count = np.bincount(y, weight, minlength=3) + 1
    count[y[0]] -= 1
    pi = count / count.sum()
    x = features(CELLS, at(encoded, [0]))[0]
    each = np.stack(
        [by_definition(forest, x, rows, [tree], pi) for tree in range(len(forest.root))]
    )
    chance = 0.5 ** forest.bag[:, entry[0]]
    wanted = chance @ each / chance.sum()
    left_out = forest.left_out(at(encoded, [0]), y[:1], np.ones(1))
    np.testing.assert_allclose(np.exp(left_out[0]), wanted, rtol=1e-10)


def test_units_and_columns_that_say_nothing_change_nothing():
    encoded, y, weight = table()
    density = grown(encoded, y, weight).log_density(encoded)
    scaled = encoded | {"u": 1000 * encoded["u"] + 7, "v": 1e-3 * encoded["v"]}
    np.testing.assert_allclose(
        grown(scaled, y, weight).log_density(scaled), density, rtol=0, atol=1e-12
    )
    more = encoded | {"never": np.full((len(y), 1), np.nan), "same": np.ones((len(y), 1))}
    cells = (Cell("never", 0, 0), *CELLS, Cell("same", 0, 0))
    forest = Forest.grown(cells, more, y, weight, 3)
    np.testing.assert_array_equal(forest.log_density(more), density)


def test_draws_are_spread_around_the_density():
    encoded, y, weight = table()
    forest, fresh = grown(encoded, y, weight), table(seed=1, n=30)[0]
    draws = forest.draws(np.random.default_rng(0), 400)(fresh)
    sd = draws.std(axis=2)
    assert (np.abs(draws.mean(axis=2) - forest.log_density(fresh)) < sd).mean() > 0.95
    assert sd.mean() > 0.05


def test_a_row_without_cells_says_nothing():
    encoded, y, weight = table()
    forest = grown(encoded, y, weight)
    empty = {
        n: np.full_like(x[:2], np.nan if x.dtype.kind == "f" else -1) for n, x in encoded.items()
    }
    assert (forest.log_density(empty) == 0).all()
    assert (forest.draws(np.random.default_rng(0), 5)(empty) == 0).all()


def test_shifted_rows_go_the_same_way():
    encoded, y, weight = table()
    forest, origin = grown(encoded, y, weight), {"u": np.array([5.0])}
    moved = encoded | {"u": encoded["u"] + 5.0}
    density = forest.shifted(origin).log_density(moved)
    np.testing.assert_allclose(density, forest.log_density(encoded), rtol=0, atol=1e-12)


def test_a_tree_whose_bag_is_empty_says_nothing():
    encoded, _, weight = table(n=2, gaps=0.0)
    forest = Forest.grown(CELLS, encoded, np.array([0, 1]), weight, 2)
    assert (forest.bag.sum(axis=1) == 0).any()
    assert np.isfinite(forest.log_density(encoded)).all()
    assert np.isfinite(forest.left_out(encoded, np.array([0, 1]), weight)).all()


def test_rows_without_an_observed_cell_grow_no_tree():
    encoded, y, weight = table(n=20, gaps=1.0)
    assert not grown(encoded, y, weight).splits


def require_one_way_for_values_halfway():
    rng = np.random.default_rng(0)
    cells, x = (Cell("u", 0, 0), Cell("u", 1, 0)), rng.integers(0, 6, (60, 2)).astype(float)
    y = (x.sum(axis=1) + rng.integers(0, 3, 60) > 5).astype(int)
    between = np.stack(np.meshgrid(np.arange(5), np.arange(5)), axis=-1).reshape(-1, 2) + 0.5
    first = Forest.grown(cells, {"u": x}, y, np.ones(60), 2).log_density({"u": between})
    # in other units halves are rounded
    for unit in (np.array([-1.0, 1.0]), np.array([0.1, -0.7])):
        again = Forest.grown(cells, {"u": x * unit}, y, np.ones(60), 2)
        density = again.log_density({"u": between * unit})
        np.testing.assert_allclose(density, first, rtol=0, atol=1e-12)


def test_a_value_halfway_between_two_goes_one_way_in_every_direction():
    require_one_way_for_values_halfway()


def test_fault_is_caught_thresholds_at_values_that_a_row_may_have(monkeypatch):
    monkeypatch.setattr(growing, "HALFWAY", 0.5)
    with pytest.raises(AssertionError):
        require_one_way_for_values_halfway()
