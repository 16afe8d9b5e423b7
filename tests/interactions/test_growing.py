"""Trees of two kinds: how they split, what they say of rows out of the bag, how many there are."""

import copy

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from bayesgen.interactions import growing
from bayesgen.interactions.growing import KINDS, LEAF_ROWS, PILOT, TREES, Growing, Kind
from bayesgen.likelihoods.distinct_rows import gather


def start(sign, n=300, p=8, seed=0):
    """Return the start of a forest of rows whose log-odds are twice a sign of their columns."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, p))
    y = (rng.random(n) < 1 / (1 + np.exp(-2 * sign(x.T)))).astype(int)
    return Growing.of(gather(x, y, np.ones(n), 2), 0)


def two_interact(x):
    return np.sign(x[0] * x[1])


@pytest.mark.parametrize("kind", KINDS)
def test_splits_are_those_of_ginis_criterion(kind):
    growth = start(two_interact)
    again = DecisionTreeClassifier(
        max_features=kind.columns(8),
        random_state=copy.deepcopy(growth.tried),
    )
    tree = growth.tree(kind)
    count = tree.count.astype(float)
    again.min_weight_fraction_leaf = (kind.least - 0.5) / count.sum()
    again.fit(growth.ranks.ranks, growth.ranks.y, sample_weight=count)
    np.testing.assert_array_equal(tree.grown.tree_.feature, again.tree_.feature)
    np.testing.assert_array_equal(tree.grown.tree_.threshold, again.tree_.threshold)


def test_a_tree_says_of_rows_out_of_its_bag_what_is_in_their_leaves():
    growth = start(two_interact)
    tree, y = growth.tree(KINDS[1]), growth.ranks.y
    leaf, outside = tree.grown.apply(growth.ranks.ranks), tree.count == 0
    for i in np.flatnonzero(outside)[:10]:
        inside = tree.count * (leaf == leaf[i])
        rows, own = inside.sum(), inside[y == y[i]].sum()
        prior = LEAF_ROWS * growth.fractions[y[i]]
        assert tree.spoken[i] == pytest.approx((own + prior) / (rows + LEAF_ROWS))
    assert (tree.spoken[~outside] == 0).all()


def test_leaves_of_the_second_kind_have_five_rows_of_the_bag():
    tree = start(two_interact).tree(KINDS[1]).grown.tree_
    assert tree.weighted_n_node_samples.min() >= 5
    assert tree.weighted_n_node_samples.min() < 8


def numbers(growth):
    """Return how many trees of each kind there are, by the rows in their smallest leaves."""
    pilots = [[growth.tree(kind) for _ in range(PILOT)] for kind in KINDS]
    return growth.wanted(pilots)


def test_trees_that_find_what_interacts_are_more():
    first, second = numbers(start(two_interact))
    assert second > 0.75 * TREES
    assert first + second == TREES


def test_trees_stand_evenly_where_rows_tell_nothing():
    assert 0.2 * TREES < numbers(start(lambda x: 0 * x[0], n=40))[0] < 0.8 * TREES


def test_proportions_are_those_of_the_best_score():
    growth = start(lambda x: x[0] + 0.5 * np.sign(x[1] * x[2]), n=200)
    pilots = [[growth.tree(kind) for _ in range(PILOT)] for kind in KINDS]
    told = [
        np.array([tree.spoken for tree in trees]).sum(axis=0)
        / np.array([tree.count == 0 for tree in trees]).sum(axis=0)
        for trees in pilots
    ]
    share = np.linspace(0.005, 0.995, 199)
    score = np.log(np.outer(share, told[0]) + np.outer(1 - share, told[1])).sum(axis=1)
    best = share[(score + growing.PRIOR_ROWS * (np.log(share) + np.log(1 - share))).argmax()]
    assert growth.wanted(pilots)[0] == pytest.approx(100 * best, abs=1.5)


def test_the_trees_of_a_forest_are_the_pilots_and_no_more_than_are_wanted(monkeypatch):
    grown = []

    def noted(self, kind, tree=Growing.tree):
        grown.append(kind)
        return tree(self, kind)

    monkeypatch.setattr(Growing, "tree", noted)
    monkeypatch.setattr(Growing, "wanted", lambda self, pilots: [10, 90])
    trees = start(two_interact, n=60).trees()
    assert len(trees) == TREES
    assert [grown.count(kind) for kind in KINDS] == [PILOT, 90]


@pytest.mark.parametrize(("columns", "few", "many"), [(1, 1, 1), (8, 2, 8), (60, 7, 12)])
def test_columns_tried(columns, few, many):
    assert [kind.columns(columns) for kind in KINDS] == [few, many]
    assert Kind(1, 1).columns(columns) == few
