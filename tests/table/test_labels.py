"""Labels: which there are, which class each is, and which nobody declared; against NumPy's own."""

import numpy as np
import pytest

import bayesgen as bg
from bayesgen.estimators.validation import weights_of
from bayesgen.schema.blocks import FIRST_ROWS, TOGETHER, less
from bayesgen.table import check_declared, codes_of, distinct


@pytest.mark.parametrize(
    "labels",
    [
        [3, -2, 3, 7, 7],
        np.array([200, 3, 200], dtype=np.uint8),
        np.array([-128, 127], dtype=np.int8),
        np.arange(-128, 128).astype(np.int8),
        [5, 4, 6, 5],
        np.array([2**63, 2**63 + 4], dtype=np.uint64),
        [2**62, -(2**62)],
        [0.0, 2.0, 2.0],
        ["b", "a", "b"],
        [True, False],
    ],
)
def test_distinct_labels_and_codes_are_those_of_numpy(labels):
    labels = np.repeat(np.asarray(labels), 300)
    found, given = distinct(labels), np.unique(labels)
    assert found.dtype == given.dtype
    np.testing.assert_array_equal(found, given)
    for classes in (given, given[:1].astype(given.dtype), np.union1d(given, given[:1])):
        mine = labels[np.isin(labels, classes)]
        codes = codes_of(mine, classes)
        assert codes.dtype == np.int64
        np.testing.assert_array_equal(codes, np.searchsorted(classes, mine))


@pytest.mark.parametrize("declared", [[0, 1], ["a", "b"], [0.0, 1.0], [True, False], [5]])
def test_labels_of_another_type_are_undeclared_unless_equal(declared):
    declared = np.unique(np.asarray(declared))
    check_declared(declared[[0, -1, 0]], declared)
    with pytest.raises(bg.errors.InvalidTarget):
        check_declared(np.array([0, 1, 2, 3]), declared)
    with pytest.raises(bg.errors.InvalidTarget):
        check_declared(np.array(["a", "c"]), declared)


def test_weights_of_nobody_are_those_of_one():
    np.testing.assert_array_equal(weights_of(None, 3), weights_of(1.0, 3))


@pytest.mark.parametrize("n", [3, FIRST_ROWS * TOGETHER, FIRST_ROWS * TOGETHER + 5])
@pytest.mark.parametrize("order", ["C", "F"])
def test_origins_are_subtracted_alike_however_rows_lie(rng, n, order):
    """Rows taken together, and one by one."""
    matrix = np.array(rng.standard_normal((n, 3)), order=order)
    matrix[rng.random(matrix.shape) < 0.1] = np.nan
    origin = np.array([1.0, 2.0, 1e8])
    np.testing.assert_array_equal(less(matrix, origin), matrix - origin)
    whole = rng.integers(-9, 9, (n, 3))
    np.testing.assert_array_equal(less(whole, origin), whole - origin)
    part = less(matrix[:, 1:], origin[1:])
    np.testing.assert_array_equal(part, matrix[:, 1:] - origin[1:])
