"""Tables and targets that cannot be read are refused by name; targets that can are arrays."""

import datetime
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse

from bayesgen import errors
from bayesgen.table import read_table, read_target

UNREADABLE = {
    "no rows": (np.empty((0, 3)), errors.InvalidData, r"0 sample\(s\) \(shape=\(0, 3\)\)"),
    "empty": (pd.DataFrame({"a": []}), errors.InvalidData, r"0 sample\(s\) \(shape=\(0, 1\)\)"),
    "no columns": (np.empty((3, 0)), errors.InvalidData, r"0 feature\(s\) \(shape=\(3, 0\)\)"),
    "twice": (
        pd.DataFrame([[1, 2]], columns=["a", "a"]),
        errors.InvalidData,
        r"one column named 'a'; .* X.columns = \['a', 'a.1'\]",
    ),
    "twice in arrow": (
        pa.table([pa.array([1]), pa.array([2])], names=["a", "a"]),
        errors.InvalidData,
        r"more than one column named 'a'; .* X.columns = \['a', 'a.1'\]",
    ),
    "tuple name": (
        pd.DataFrame({("a", 1): [1]}),
        errors.InvalidData,
        "named by a tuple; text",
    ),
    "sparse": (
        scipy.sparse.csr_array(np.eye(2)),
        errors.InvalidData,
        "which is not supported here",
    ),
    "ragged": ([[1], [1, 2]], errors.InvalidData, "X is a list of rows of different lengths"),
    "infinite": (
        np.array([[1.0], [np.inf]]),
        errors.InvalidData,
        "column 'x0' holds infinity .* 1 row",
    ),
    "large": (
        pd.DataFrame({"a": [1e151]}),
        errors.InvalidData,
        "column 'a' holds 1e.151; .* 1e150",
    ),
    "large and missing values": (np.array([[np.nan, -1e200]]), errors.InvalidData, "column 'x1'"),
    "huge integer": (np.array([[10**400]], dtype=object), errors.InvalidData, "infinity"),
    "complex object": (np.array([[1j]], dtype=object), errors.InvalidData, "Complex data"),
    "date": (
        pd.DataFrame({"d": pd.to_datetime(["2020"])}),
        errors.InvalidData,
        "'d' holds dates;",
    ),
    "durations": (
        pd.DataFrame({"d": pd.to_timedelta([1], unit="D")}),
        errors.InvalidData,
        "'d' holds durations;",
    ),
    "times": (pl.DataFrame({"d": [datetime.time(9)]}), errors.InvalidData, "'d' holds times;"),
    "polars date": (
        pl.DataFrame({"d": [datetime.date(2020, 1, 1)]}),
        errors.InvalidData,
        "dates",
    ),
    "object date": (np.array([[datetime.date(2020, 1, 1)]]), errors.InvalidData, "dates"),
    "numpy date": (
        np.array([["2020"]], dtype="M8[D]"),
        errors.InvalidData,
        "'x0' holds dates",
    ),
    "nested": (
        pl.DataFrame({"l": [[1], [2]]}),
        errors.InvalidData,
        "'l' holds values of type List",
    ),
    "nested object": (
        pd.DataFrame({"l": [{}, 1.0]}),
        errors.InvalidData,
        "type dict, float; every argument must be a string or a number",
    ),
    "mixed": (
        pd.DataFrame({"m": [1, "a"]}),
        errors.InvalidData,
        "'m' mixes .* types int, str .'a' in row 1.;",
    ),
    "flags and text": (
        pd.DataFrame({"m": [True, "a"]}),
        errors.InvalidData,
        "types bool, str",
    ),
    "text of numbers": (
        np.array([["a", 1.5], ["b", 2]]),
        errors.InvalidData,
        "column 'x1' of an array of text holds '1.5', '2'.*dtype=object",
    ),
    "text of a missing value": (
        np.array([["a"], [np.nan]]),
        errors.InvalidData,
        "holds 'nan'",
    ),
    "bytes": (np.array([[b"a"]]), errors.InvalidData, "'x0' holds values of type"),
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_what_cannot_be_read_is_named(name):
    X, error, sentence = UNREADABLE[name]
    with pytest.raises(error, match=sentence):
        read_table(X)


TARGETS = {
    "list of text": (["b", "a"], ["b", "a"], "U"),
    "list of numbers": ([1, 0], [1, 0], "i"),
    "series of text": (pd.Series(["b", "a"]), ["b", "a"], "O"),
    "categories": (pd.Series(["b", "a"], dtype="category"), ["b", "a"], "O"),
    "nullable": (pd.Series([1, 0], dtype="Int64"), [1, 0], "i"),
    "nullable flags": (pd.Series([True, False], dtype="boolean"), [True, False], "b"),
    "objects": (np.array([1, 2.5], dtype=object), [1, 2.5], "f"),
    "polars": (pl.Series(["b", "a"]), ["b", "a"], "OU"),
    "enum": (pl.Series(["b", "a"], dtype=pl.Enum(["a", "b"])), ["b", "a"], "O"),
    "arrow": (pa.chunked_array([[1], [0]]), [1, 0], "i"),
    "column": (np.array([[1], [0]]), [1, 0], "i"),
    "frame": (pd.DataFrame({"y": [1, 0]}), [1, 0], "i"),
}


@pytest.mark.parametrize("name", TARGETS)
def test_targets(name):
    y, labels, kind = TARGETS[name]
    target = read_target(y)
    assert target.labels.tolist() == labels
    assert target.classes.dtype.kind in kind


@pytest.mark.parametrize(
    "y",
    [
        ["a", None, "b", np.nan],
        [1.0, np.nan, 2.0, None],
        pd.Series([1, None, 2, None], dtype="Int64"),
        pl.Series(["a", None, "b", None]),
        np.ma.masked_array([1, 2, 3, 4], mask=[0, 1, 0, 1]),
    ],
)
def test_missing_labels_are_counted(y):
    with pytest.raises(errors.InvalidData, match=r"y is missing .* in 2 of 4 rows; .*X\[keep\]"):
        read_target(y, marks=False)


@pytest.mark.parametrize(
    ("y", "sentence"),
    [
        (None, "requires y to be passed, but the target y is None"),
        (np.zeros((3, 2)), r"y should be a 1d array, got an array of shape \(3, 2\) instead"),
        ("yes", r"y should be a 1d array, got an array of shape \(\) instead"),
        ([[1], [1, 2]], "y should be a 1d array, got lists of different lengths"),
        (["a", 1], "Unknown label type: y holds labels of the types int, str"),
    ],
)
def test_targets_that_are_no_labels(y, sentence):
    with pytest.raises(errors.InvalidData, match=sentence):
        read_target(y)


def test_errors_are_value_or_type_errors_and_warnings_warn():
    classes = [value for value in vars(errors).values() if isinstance(value, type)]
    kinds = [kind for kind in classes if issubclass(kind, Exception)]
    for kind in kinds:
        assert issubclass(kind, errors.BayesgenError | errors.BayesgenWarning)
        assert issubclass(kind, ValueError | TypeError | ImportError | errors.BayesgenWarning) or (
            kind is errors.BayesgenError
        )
    with pytest.warns(errors.DegenerateEstimate, match="1,000 rows") as caught:
        errors.warn(errors.DegenerateEstimate("{count:rows}", count=1000))
    # It points at the caller, not into the library.
    assert Path(errors.__file__).parents[1] not in Path(caught[0].filename).parents
