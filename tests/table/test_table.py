"""Every container and dtype reads as the same columns, and is built again as it came."""

from decimal import Decimal

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import bayesgen as bg
from bayesgen.table import TableColumn, build_frame, is_frame, read_table

NUMBERS = [1.5, np.nan, -2.0]
TEXT = ["b", None, "a"]
FLAGS = [True, None, False]
SIZES = ["big", None, "small"]
ORDER = ["small", "middle", "big"]
WHOLE = [3, None, 1]

CONTAINERS = {
    "pandas": pd.DataFrame(
        {
            "n": NUMBERS,
            "t": TEXT,
            "f": pd.array(FLAGS, dtype="boolean"),
            "s": pd.Categorical(SIZES, categories=ORDER),
            "w": pd.array(WHOLE, dtype="Int64"),
        }
    ),
    "pandas object": pd.DataFrame(
        {"n": NUMBERS, "t": TEXT, "f": FLAGS, "s": SIZES, "w": WHOLE}, dtype=object
    ).assign(s=pd.Categorical(SIZES, categories=ORDER, ordered=True)),
    "pandas nullable": pd.DataFrame(
        {
            "n": pd.array([1.5, None, -2.0], dtype="Float64"),
            "t": pd.array(TEXT, dtype="string"),
            "f": pd.array(FLAGS, dtype="bool[pyarrow]"),
            "s": pd.Categorical(SIZES, categories=ORDER),
            "w": pd.array(WHOLE, dtype="int8[pyarrow]"),
        }
    ),
    "polars": pl.DataFrame(
        {
            "n": [1.5, None, -2.0],
            "t": pl.Series(TEXT, dtype=pl.Categorical),
            "f": FLAGS,
            "s": pl.Series(SIZES, dtype=pl.Enum(ORDER)),
            "w": pl.Series(WHOLE, dtype=pl.UInt8),
        }
    ),
    "pyarrow": pa.table(
        {
            "n": pa.chunked_array([[1.5, None], [-2.0]]),
            "t": pa.chunked_array([["b"], [None, "a"]]),
            "f": pa.array(FLAGS),
            "s": pa.DictionaryArray.from_arrays(pa.array([2, None, 0]), pa.array(ORDER)),
            "w": pa.array([Decimal(3), None, Decimal(1)]),
        }
    ),
}


def same(column: TableColumn, values: list, **fields: object) -> None:
    np.testing.assert_array_equal(column.values, values)
    allowed = (np.float64, np.int64) if column.kind == "number" else (np.int64,)
    assert column.values.dtype in allowed
    for name, value in fields.items():
        assert getattr(column, name) == value


@pytest.mark.parametrize("name", CONTAINERS)
def test_every_container_gives_the_same_columns(name):
    table = read_table(CONTAINERS[name])
    n, t, f, s, w = table.columns
    same(n, NUMBERS, kind="number", levels=())
    same(t, [1, -1, 0], kind="level", levels=("a", "b"), declared=False)
    same(f, [1, -1, 0], kind="level", levels=(False, True), declared=True)
    same(s, [2, -1, 0], kind="level", levels=tuple(ORDER), declared=True)
    same(w, [3, np.nan, 1], kind="number")
    assert (table.names, table.n_rows) == (("n", "t", "f", "s", "w"), 3)
    assert table.container == name.split()[0]
    taken = table.take(np.array([2, 0]))
    same(taken.columns[3], [0, 2], levels=tuple(ORDER), declared=True)
    assert taken.n_rows == 2
    assert is_frame(CONTAINERS[name])


def test_object_array_reads_like_a_frame():
    array = CONTAINERS["pandas object"].drop(columns="s").to_numpy()
    n, t, f, w = read_table(array).columns
    same(n, NUMBERS, kind="number", name="x0")
    same(t, [1, -1, 0], levels=("a", "b"))
    same(f, [1, -1, 0], levels=(False, True), declared=True)
    same(w, [3, np.nan, 1])


def test_record_batch_stream_and_lists_of_rows():
    batch = pa.record_batch({"t": TEXT})
    same(read_table(batch).columns[0], [1, -1, 0])
    reader = pa.RecordBatchReader.from_batches(batch.schema, [batch, batch])
    same(read_table(reader).columns[0], [1, -1, 0, 1, -1, 0])
    same(read_table([["a", 1.5], ["b", None]]).columns[1], [1.5, np.nan], kind="number")
    same(read_table([[1, 2], [3, 4]]).columns[1], [2, 4], name="x1")
    assert not is_frame([[1, 2]])


def test_arrow_chunks_may_have_dictionaries_of_their_own():
    chunks = [pa.array(["b"]).dictionary_encode(), pa.array(["a", "b"]).dictionary_encode()]
    same(read_table(pa.table({"t": pa.chunked_array(chunks)})).columns[0], [0, 1, 0], declared=True)


@pytest.mark.parametrize(
    "array",
    [
        np.array([[1, 2], [3, 4]], dtype=np.int16),
        np.array([[1, 2], [3, 4]], dtype=">f4"),
        np.asfortranarray([[1.0, 2.0], [3.0, 4.0]]),
        np.array([[1, 9, 2], [3, 9, 4]])[:, ::2],
        np.array([[1.0, 2.0], [3.0, 4.0]], dtype=np.longdouble),
    ],
)
def test_arrays_of_numbers(array):
    table = read_table(array)
    np.testing.assert_array_equal(table.matrix, [[1, 2], [3, 4]])
    same(table.columns[1], [2, 4], name="x1")
    np.testing.assert_array_equal(table.take(slice(1, 2)).matrix, [[3, 4]])


def test_float64_arrays_are_not_copied_even_when_read_only(tmp_path):
    array = np.memmap(tmp_path / "x", dtype=float, mode="w+", shape=(3, 2))
    array[:] = 1.0
    frozen = np.memmap(tmp_path / "x", dtype=float, mode="r", shape=(3, 2))
    table = read_table(frozen)
    assert np.shares_memory(table.matrix, frozen)
    assert np.shares_memory(table.columns[1].values, frozen)


def test_float64_columns_of_frames_are_not_copied():
    numbers = np.arange(6.0).reshape(3, 2)
    for frame in (
        pd.DataFrame(numbers, columns=["a", "b"]),
        pl.DataFrame(numbers, schema=["a", "b"]),
    ):
        native = nw.from_native(frame)["b"].to_numpy()
        assert np.shares_memory(read_table(frame).columns[1].values, native)


def test_pandas_frame_of_one_array_is_read_as_that_array():
    numbers = np.arange(6.0).reshape(3, 2)
    table = read_table(pd.DataFrame(numbers, columns=["a", "b"], copy=False))
    assert np.shares_memory(table.matrix, numbers)
    taken = table.take(np.array([True, False, True]))
    assert (taken.names, taken.container, taken.n_rows) == (("a", "b"), "pandas", 2)
    np.testing.assert_array_equal(taken.matrix, numbers[[0, 2]])


def test_masked_cells_are_missing():
    masked = np.ma.masked_array([[1, 2], [3, 4]], mask=[[False, True], [False, False]])
    np.testing.assert_array_equal(read_table(masked).matrix, [[1, np.nan], [3, 4]])
    rows = np.ma.masked_array(np.arange(12.0).reshape(6, 2), mask=np.eye(6, 2))
    fits = [bg.NaiveBayes().fit(X, list("ababab")) for X in (rows, rows.filled(np.nan))]
    np.testing.assert_array_equal(*(clf.predict_proba(rows) for clf in fits))


def test_boolean_arrays_and_text_arrays_are_levels():
    same(read_table(np.array([[True], [False]])).columns[0], [1, 0], declared=True)
    same(read_table(np.array([["red"], ["blue"]])).columns[0], [1, 0], levels=("blue", "red"))


def test_columns_without_a_cell():
    frame = pd.DataFrame({"o": [None, None], "t": pd.array([None, None], dtype="string")})
    o, t = read_table(frame).columns
    same(o, [np.nan, np.nan], kind="number")
    same(t, [-1, -1], kind="level", levels=())
    assert o.is_missing and t.is_missing
    same(read_table(pl.DataFrame({"n": [None, None]})).columns[0], [np.nan, np.nan], kind="number")
    same(read_table(pa.table({"n": pa.nulls(2)})).columns[0], [np.nan, np.nan], kind="number")


def test_integer_column_names_and_other_dtypes():
    frame = pd.DataFrame({1: [1.0], 0: ["a"], "s": pd.arrays.SparseArray([2.0])})
    table = read_table(frame)
    assert table.names == (1, 0, "s")
    same(table.columns[1], [0], levels=("a",))
    same(table.columns[2], [2.0], kind="number")
    cut = read_table(pd.DataFrame({"c": pd.cut([1, 5, 9], 3)})).columns[0]
    assert [level.left < 9 for level in cut.levels] == [True] * 3


@pytest.mark.parametrize("container", ["pandas", "polars", "pyarrow", "numpy"])
def test_frames_are_built_as_they_came(container):
    columns = {
        "n": np.array(NUMBERS),
        "t": np.array(TEXT, dtype=object),
        "f": np.array(FLAGS, dtype=object),
        "s": np.array(SIZES, dtype=object),
    }
    frame = build_frame(columns, container, declared={"f": (False, True), "s": tuple(ORDER)})
    table = read_table(frame)
    assert table.container == container
    n, t, f, s = table.columns
    same(n, NUMBERS)
    same(t, [1, -1, 0], levels=("a", "b"))
    same(f, [1, -1, 0], levels=(False, True), declared=True)
    if container != "numpy":
        same(s, [2, -1, 0], levels=tuple(ORDER), declared=True)


def test_arrays_are_built_as_narrow_as_they_came():
    flags = {"x0": np.array([True, False], dtype=object)}
    assert build_frame(flags, "numpy", declared={"x0": (False, True)}).dtype == bool
    whole = {"x0": np.array([1, 2], dtype=object), "x1": np.array([0.5, np.nan])}
    assert build_frame(whole, "numpy").dtype == np.float64
