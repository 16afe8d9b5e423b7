"""Keys of rows by content: neither order nor columns that are never observed matter."""

import numpy as np
import pandas as pd

from bayesgen.table import read_table, row_keys


def test_keys_follow_rows_and_not_columns(rng):
    X = pd.DataFrame({"a": rng.normal(size=50), "b": rng.integers(0, 3, 50), "c": ["u", "v"] * 25})
    order, _ = row_keys(read_table(X))
    np.testing.assert_array_equal(row_keys(read_table(X[["c", "a", "b"]]))[0], order)
    np.testing.assert_array_equal(row_keys(read_table(X.assign(z=np.nan)))[0], order)
    turned = rng.permutation(50)
    np.testing.assert_array_equal(row_keys(read_table(X.iloc[turned]))[0], order[turned])
    assert len(np.unique(order)) == 50


def test_zero_is_a_value_and_a_missing_cell_none():
    table = read_table(pd.DataFrame({"a": [0.0, -0.0, np.nan]}))
    zero, minus, missing = row_keys(table)[1].tolist()
    assert zero == minus != missing == 0


def test_fractions_of_arrays_have_no_order_of_columns(rng):
    X = rng.normal(size=(40, 3))
    order, identity = row_keys(read_table(X))
    other, changed = row_keys(read_table(X[:, [2, 0, 1]]))
    np.testing.assert_array_equal(other, order)
    assert (changed != identity).all()
