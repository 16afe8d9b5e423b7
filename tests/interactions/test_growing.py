"""Trees of two kinds: how they split, what they say of rows out of the bag, how many there are."""

import copy

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from bayesgen.interactions.growing import FEWEST, KINDS, LEAF_ROWS, MOST, PILOT, Growing, Kind, Tree
from bayesgen.likelihoods.distinct_rows import gather


def start(sign, n=300, p=8, seed=0):
    """Return the start of a forest of rows whose log-odds are twice a sign of their columns."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, p))
    y = (rng.random(n) < 1 / (1 + np.exp(-2 * sign(x.T)))).astype(int)
    return Growing.of((), gather(x, y, np.ones(n), 2), 0)


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


def scored(monkeypatch, second):
    """Return numbers of both kinds of 100 trees whose log scores, of ten rows, differ by these."""
    growth = start(two_interact, n=10)
    count, first = np.zeros(10, int), np.full(10, 0.5)
    trees = [Tree(count, None, first), Tree(count, None, first * np.exp(second))]
    monkeypatch.setattr(Growing, "pilots", [[tree] for tree in trees])
    return growth.wanted(100)


@pytest.mark.parametrize(
    ("difference", "wanted"),
    [
        (0.1 * np.ones(10), [0, 100]),
        (-0.1 * np.ones(10), [100, 0]),
        (0.5 * np.resize([1, -0.9], 10), [50, 50]),  # less than its standard error
    ],
)
def test_a_forest_is_of_the_kind_that_predicts_better(monkeypatch, difference, wanted):
    assert scored(monkeypatch, difference) == wanted


def test_trees_that_try_many_columns_find_what_interacts():
    assert start(two_interact).wanted(100) == [0, 100]


def test_the_trees_of_a_forest_are_the_pilots_and_no_more_than_are_wanted(monkeypatch):
    grown = []

    def noted(self, kind, tree=Growing.tree):
        grown.append(kind)
        return tree(self, kind)

    monkeypatch.setattr(Growing, "tree", noted)
    monkeypatch.setattr(Growing, "wanted", lambda self, size: [10, size - 10])
    growth = start(two_interact, n=60)
    few, trees = growth.few(), growth.all()
    assert trees[:10] == few[:10]
    assert trees[10 : 10 + PILOT] == few[PILOT:]
    assert [grown.count(kind) for kind in KINDS] == [PILOT, len(trees) - 10]


@pytest.mark.parametrize(("rows", "trees"), [(60, MOST), (800, 150), (1500, FEWEST)])
def test_trees_are_more_where_rows_are_few(rows, trees):
    assert len(start(two_interact, n=rows, p=2).all()) == trees


@pytest.mark.parametrize(("columns", "few", "many"), [(1, 1, 1), (8, 2, 8), (60, 7, 12)])
def test_columns_tried(columns, few, many):
    assert [kind.columns(columns) for kind in KINDS] == [few, many]
    assert Kind(1, 1).columns(columns) == few
