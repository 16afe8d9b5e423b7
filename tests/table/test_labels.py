"""Labels: which there are, which class each is, and which nobody declared; against NumPy's own."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import bayesgen as bg
from bayesgen.errors import InvalidData
from bayesgen.estimators.validation import weights_of
from bayesgen.likelihoods.normal_statistics import class_moments
from bayesgen.schema.readings.numbers import FIRST_ROWS, TOGETHER, less
from bayesgen.table import check_declared, read_target


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
        np.array(["b", "a", "ab"], dtype=object),
        [True, False],
    ],
)
def test_distinct_labels_and_codes_are_those_of_numpy(labels):
    labels = np.repeat(np.asarray(labels), 300)
    target = read_target(labels, marks=False)
    classes, codes = np.unique(labels, return_inverse=True)
    assert target.classes.dtype == classes.dtype and target.codes.dtype == np.int64
    np.testing.assert_array_equal(target.classes, classes)
    np.testing.assert_array_equal(target.codes, codes)


@pytest.mark.parametrize("declared", [[0, 1], ["a", "b"], [0.0, 1.0], [True, False], [5]])
def test_labels_of_another_type_are_undeclared_unless_equal(declared):
    declared = np.unique(np.asarray(declared))
    check_declared(declared[[0, -1, 0]], declared)
    with pytest.raises(bg.errors.InvalidData):
        check_declared(np.array([0, 1, 2, 3]), declared)
    with pytest.raises(bg.errors.InvalidData):
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


@pytest.mark.parametrize("counted", [None, np.array([5, 0, 1])])
@pytest.mark.parametrize(
    "column",
    [
        pa.array,
        lambda y: pa.chunked_array([y[:2], y[2:]]),
        pl.Series,
        pd.Series,
        lambda y: pd.Series(y, dtype="str"),
        lambda y: np.array(y, dtype=object),
    ],
)
def test_text_is_the_same_labels_from_every_container(column, counted):
    """From the dictionary of Arrow as from objects, with rows that have none or do not count."""
    labels = ["b", None, "a", "é", "a", "b"]
    found = read_target(column(labels), counted=counted)
    some = labels if counted is None else [labels[i] for i in counted]
    assert found.labels.tolist() == [label for label in some if label is not None]
    assert found.classes.tolist() == sorted({*found.labels})
    assert found.there.tolist() == [label is not None for label in some]
    with pytest.raises(bg.errors.InvalidData):
        read_target(column(labels), marks=False)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_moments_are_those_of_each_class_however_rows_lie(rng, order, missing):
    x = np.asarray(rng.normal([0.0, 1e6, -5.0], 1.0, (300, 3)), order=order)
    x[rng.random(x.shape) < missing] = np.nan
    y, weight = rng.integers(0, 4, 300), rng.integers(0, 3, 300) * 1.0
    count, mean, squares = class_moments(x, y, weight, 5)
    for k in range(4):
        rows = np.repeat(x[y == k], weight[y == k].astype(int), axis=0)
        np.testing.assert_allclose(count[k], (~np.isnan(rows)).sum(axis=0))
        np.testing.assert_allclose(mean[k], np.nanmean(rows, axis=0), rtol=1e-12)
        np.testing.assert_allclose(squares[k], np.nanvar(rows, axis=0) * count[k], rtol=1e-9)
    assert not count[4].any()


DAYS = pd.Series(pd.to_datetime(["2020-01-01", "2020-01-02"] * 3))


@pytest.mark.parametrize(
    "labels",
    [
        DAYS,
        DAYS.to_numpy(),
        DAYS.dt.tz_localize("UTC"),
        DAYS - DAYS[0],
        pl.Series(DAYS.to_numpy()),
        pa.array(DAYS),
        np.array([b"a", b"b"]),
        np.array([1j, 2j]),
    ],
)
def test_dates_and_other_kinds_are_no_labels(labels):
    """They cannot be saved, nor written as cells of any container."""
    with pytest.raises(bg.errors.InvalidData, match="text, numbers or booleans are allowed"):
        read_target(labels)


def test_missing_dates_mark_rows_without_a_label():
    assert read_target(np.array(["NaT"] * 2, dtype="datetime64[D]")).n_missing == 2


@pytest.mark.parametrize("weight", [1e18, 1e19, 1e150, 1e300, 1e-310])
@pytest.mark.parametrize("make", [bg.NaiveBayes, bg.LDA, lambda: bg.StackedClassifier(["naive"])])
def test_weights_that_are_no_counts_are_refused_by_all_and_the_cure_works(make, weight):
    X, y = pd.DataFrame({"a": np.arange(12.0) % 5}), np.arange(12) % 2
    sample_weight = np.full(12, weight)
    with pytest.raises(InvalidData, match=r"sums to .*sample_weight / numpy\.max\(sample_w"):
        make().fit(X, y, sample_weight=sample_weight)
    make().fit(X, y, sample_weight=sample_weight / np.max(sample_weight))


@pytest.mark.parametrize("make", [bg.NaiveBayes, bg.LDA, bg.StackedClassifier])
def test_columns_that_vary_too_little_are_refused_by_all_in_one_sentence(make):
    X, y = pd.DataFrame({"a": np.arange(12.0) % 5, "b": np.arange(12.0)}), np.arange(12) % 2
    with pytest.raises(InvalidData, match="column 'a' varies by only 4e-300 over its rows"):
        make().fit(1e-300 * X, y)
