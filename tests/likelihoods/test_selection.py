"""What a model reads of a block is restored among all columns, in their places."""

import numpy as np
import pandas as pd
import pytest

import bayesgen as bg
from bayesgen.likelihoods.selection import Selection


def test_columns_are_restored_in_their_places():
    selection, x = Selection(np.array([1, 3])), np.arange(8.0).reshape(2, 4)
    read = selection.read(x)
    np.testing.assert_array_equal(read, x[:, [1, 3]])
    np.testing.assert_array_equal(
        selection.restored(read, 4), np.where([False, True, False, True], x, np.nan)
    )
    np.testing.assert_array_equal(selection.positions("feature", 4), [1, 3])
    assert [selection.codes(j, 2).tolist() for j in range(4)] == [[], [0, 1], [], [0, 1]]


def test_levels_are_restored_to_their_codes():
    """Of a column of three levels the first is left out, of one of two levels both."""
    selection, x = Selection(np.array([1, 2]), (3, 2)), np.array([[0, 1], [2, 0], [1, -1]])
    read = selection.read(x)
    np.testing.assert_array_equal(read, [[-1, -1], [1, -1], [0, -1]])
    np.testing.assert_array_equal(selection.restored(read, 2), [[-1, -1], [2, -1], [1, -1]])
    assert [selection.codes(j, n).tolist() for j, n in enumerate((3, 2))] == [[1, 2], []]
    np.testing.assert_array_equal(selection.positions("feature", 2), [0, 1])
    np.testing.assert_array_equal(selection.positions("level", 5), [1, 2])


@pytest.mark.parametrize("mask", [[True, False, False], [False, True, True], [False] * 3])
def test_other_positions_are_noticed(mask):
    selection, masks = Selection(np.array([1, 2])), np.array([[True, False, False], mask])
    np.testing.assert_array_equal(selection.leaves_out(masks), [True, mask[0]])


def test_words_that_nobody_used_are_simulated_as_zeros():
    X = pd.DataFrame({"a": [3, 0, 2, 1], "nobody": [0] * 4, "b": [0, 2, 1, 4]})
    clf = bg.GenerativeClassifier({tuple(X): bg.Multinomial()}, random_state=0)
    rows, _ = clf.fit(X, [0, 1, 0, 1]).sample(30, random_state=0)
    assert (rows["nobody"] == 0).all()
    assert rows["a"].sum() and rows["b"].sum()
