"""Levels that are whole numbers in one array, and their counts, against one column at a time."""

import dataclasses

import numpy as np
import pytest

from bayesgen.likelihoods import Categorical, categorical
from bayesgen.schema import BlockSpec
from bayesgen.schema.matching import matched
from bayesgen.schema.readings import Levels
from bayesgen.schema.readings import levels as level_codes
from bayesgen.table import read_table

TABLES = {
    "from 0": lambda rng: rng.integers(0, 6, (500, 4)),
    "from 1": lambda rng: rng.integers(1, 7, (500, 4)),
    "one column from elsewhere": lambda rng: np.add(rng.integers(0, 6, (500, 4)), [0, 3, 0, -2]),
    "gaps": lambda rng: rng.integers(0, 6, (500, 4)) * [1, 2, 3, 1],
    "other widths": lambda rng: rng.integers(0, [2, 3, 63, 5], (500, 4)),
    "62": lambda rng: rng.choice([0, 1, 62], (500, 4)),
    "63": lambda rng: rng.choice([0, 1, 63], (500, 4)),
    "64": lambda rng: rng.choice([0, 1, 64], (500, 4)),
    "negative": lambda rng: rng.integers(-3, 3, (500, 4)),
    "far": lambda rng: rng.integers(0, 3, (500, 4)) + 2**50,
    "one row": lambda rng: rng.integers(0, 6, (1, 4)),
}


def learned(rows, spec):
    found = [rows.column(name) for name in spec.names]
    return [column for (column,) in Levels.learn_columns(found, rows, spec)]


@pytest.mark.parametrize("name", TABLES)
def test_levels_and_codes_are_those_of_single_columns(rng, name, monkeypatch):
    monkeypatch.setattr(level_codes, "CHUNK_ROWS", 64)
    X = np.asarray(TABLES[name](rng))
    kept, table = X.copy(), read_table(X)
    spec = BlockSpec("levels", table.names)
    rows = matched(table.names, "numpy", table, "Classifier")
    by_column = dataclasses.replace(rows, table=dataclasses.replace(table, matrix=None))
    at_once, one_by_one = (learned(each, spec) for each in (rows, by_column))
    assert at_once == one_by_one
    assert [column.levels for column in at_once] == [tuple(np.unique(x).tolist()) for x in X.T]
    found, slow = (Levels.encode_columns(at_once, each, "error") for each in (rows, by_column))
    np.testing.assert_array_equal(found, slow)
    np.testing.assert_array_equal(X, kept)


@pytest.mark.parametrize("strange", [-1, 6, 2**40, -(2**63)])
def test_a_level_that_was_not_seen_is_not_taken_for_a_code(rng, strange):
    X = rng.integers(0, 6, (500, 4))
    X[:, 2] = np.minimum(X[:, 2], 3)
    table = read_table(X)
    rows = matched(table.names, "numpy", table, "Classifier")
    columns = learned(rows, BlockSpec("levels", table.names))
    levels = [column.levels for column in columns]
    for j in range(4):
        other = X.copy()
        other[7, j] = strange
        assert level_codes.integer_codes(levels, other) is None
    other = X.copy()
    other[7, 2] = 4  # a level of its neighbors
    assert level_codes.integer_codes(levels, other) is None
    np.testing.assert_array_equal(level_codes.integer_codes(levels, X), X)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("gaps", [0.0, 0.3])
def test_cross_tables_are_counts_of_one_column_and_class_at_a_time(
    rng, monkeypatch, weighted, gaps
):
    monkeypatch.setattr(categorical, "COUNTED_ROWS", 64)
    n_levels = (2, 1, 5, 3)
    codes = np.stack([rng.integers(0, size, 300) for size in n_levels], axis=1)
    codes[rng.random(codes.shape) < gaps] = -1
    y, weight = rng.integers(3, size=300), np.ones(300)
    if weighted:
        weight = rng.integers(1, 4, 300).astype(float)
    expected = [
        [
            weight[(y == k) & (codes[:, j] == level)].sum()
            for j, size in enumerate(n_levels)
            for level in range(size)
        ]
        for k in range(3)
    ]
    kept = codes.copy()
    found = Categorical().statistics(codes, y, weight, n_classes=3, n_levels=n_levels)
    np.testing.assert_array_equal(found.count, expected)
    np.testing.assert_array_equal(codes, kept)
