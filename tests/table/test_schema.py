"""What fitting saw decides how later rows are read; encode and decode are inverse."""

import dataclasses

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bayesgen import errors
from bayesgen.schema import BlockSpec, Schema
from bayesgen.table import read_table

TEXT = ["b", "a", None, "b"]
SIZES = pd.Categorical(["big", "small", None, "big"], categories=["small", "big"])
FRAME = pd.DataFrame(
    {
        "x": [10.0, np.nan, 12.0, 11.0],
        "t": TEXT,
        "z": [np.nan, 5.0, 7.0, 5.0],
        "f": pd.array([True, False, None, True], dtype="boolean"),
        "s": SIZES,
        "c": [0, 3, 1, 2],
        "k": [2, 1, 2, 1],
    }
)
BLOCKS = {
    "normal": BlockSpec("numbers", ("x", "z"), centred=True),
    "raw": BlockSpec("numbers", ("c",)),
    "text": BlockSpec("levels", ("t", "k", "f")),
    "flags": BlockSpec("binary", ("f", "s")),
    "counts": BlockSpec("counts", ("c",)),
}
ENCODED = {
    "normal": [[-2, np.nan], [np.nan, -2], [0, 0], [-1, -2]],
    "raw": [[0], [3], [1], [2]],
    "text": [[1, 1, 1], [0, 0, 0], [-1, 1, -1], [1, 0, 1]],
    "flags": [[1, 1], [0, 0], [np.nan, np.nan], [1, 1]],
    "counts": [[0], [3], [1], [2]],
}


def polars_frame() -> pl.DataFrame:
    cells = FRAME.astype(object).where(FRAME.notna(), None)
    sizes = pl.Enum(["small", "big"])
    return pl.DataFrame({n: cells[n].tolist() for n in cells}).with_columns(pl.col("s").cast(sizes))


CONTAINERS = {
    "pandas": FRAME,
    "polars": polars_frame(),
    "pyarrow": pa.Table.from_pandas(FRAME),
    "objects": FRAME.astype(object),
}


def learn(X: object, kind: str, *names: object, centred: bool = False) -> Schema:
    return Schema.learn(read_table(X), {"b": BlockSpec(kind, names, centred)})


def code(schema: Schema, X: object, unseen: str = "missing") -> list:
    return schema.encode(read_table(X), unseen)["b"].T.tolist()


@pytest.mark.parametrize("name", CONTAINERS)
def test_every_container_is_encoded_alike(name):
    # Objects declare no categories: their two sizes are no binary column.
    blocks = BLOCKS | ({"flags": BlockSpec("binary", ("f",))} if name == "objects" else {})
    table = read_table(CONTAINERS[name])
    schema = Schema.learn(table, blocks)
    encoded = schema.encode(table)
    for block, expected in ENCODED.items():
        wanted = np.array(expected)[:, : len(blocks[block].names)]
        np.testing.assert_array_equal(encoded[block], wanted)
        assert encoded[block].dtype == (np.int64 if block == "text" else np.float64)
    assert schema.n_levels("text") == (2, 2, 2)
    assert schema.n_levels("normal") == ()
    assert [c.declared for c in schema.blocks["text"]] == [False, False, True]
    np.testing.assert_array_equal(schema.origin("normal"), [12, 7])
    np.testing.assert_array_equal(schema.origin("raw"), [0])


def test_arrays_are_sliced_and_the_origin_is_the_first_complete_row():
    X = np.array([[np.nan, 1.0, 8.0], [4.0, 2.0, 9.0], [5.0, 3.0, 9.5]])
    table = read_table(X)
    blocks = {
        "all": BlockSpec("numbers", ("x0", "x1", "x2"), centred=True),
        "some": BlockSpec("numbers", ("x2", "x0"), centred=True),
        "raw": BlockSpec("numbers", ("x1", "x2")),
    }
    schema = Schema.learn(table, blocks)
    encoded = schema.encode(table)
    np.testing.assert_array_equal(encoded["all"], X - X[1])
    np.testing.assert_array_equal(encoded["some"], (X - X[1])[:, [2, 0]])
    np.testing.assert_array_equal(encoded["raw"], X[:, 1:])
    assert np.shares_memory(encoded["raw"], X)
    with pytest.raises(errors.InvalidData, match="X has 2 features, but QDA is expecting 3 feat"):
        schema.encode(read_table(X[:, 1:]), estimator="QDA")


def test_origin_without_a_complete_row_is_the_first_observed_value():
    rows = np.full((200, 2), np.nan)
    rows[150, 0], rows[160, 1] = 3.0, 4.0
    np.testing.assert_array_equal(
        learn(rows, "numbers", "x0", "x1", centred=True).origin("b"), [3, 4]
    )
    rows[170] = 5.0, 6.0
    np.testing.assert_array_equal(
        learn(rows, "numbers", "x0", "x1", centred=True).origin("b"), [5, 6]
    )


def test_later_batches_bring_levels_and_first_origins():
    first = pd.DataFrame({"t": ["b", "b"], "x": [np.nan, np.nan], "z": [1.0, 2.0]})
    second = pd.DataFrame({"t": ["a", "b"], "x": [7.0, 8.0], "z": [3.0, 4.0]})
    blocks = {"b": BlockSpec("levels", ("t",)), "n": BlockSpec("numbers", ("x", "z"), centred=True)}
    schema = Schema.learn(read_table(first), blocks)
    np.testing.assert_array_equal(schema.encode(read_table(first))["n"], [[np.nan, 0], [np.nan, 1]])
    later = schema.merge(read_table(second))
    assert later.blocks["b"][0].levels == ("b", "a")
    np.testing.assert_array_equal(later.origin("n"), [7, 1])
    np.testing.assert_array_equal(later.encode(read_table(second))["n"], [[0, 2], [1, 3]])
    np.testing.assert_array_equal(schema.level_index(later, "b"), [0])
    assert later.merge(read_table(first)) == later
    without = schema.merge(read_table(second[["t", "z"]]))
    assert without.merge(read_table(second[["x"]])) == later


def test_level_index_is_flat_over_grown_columns():
    first = read_table(pd.DataFrame({"a": ["p", "q"], "b": ["u", "u"]}))
    second = read_table(pd.DataFrame({"a": ["r", "q"], "b": ["u", "v"]}))
    schema = Schema.learn(first, {"b": BlockSpec("levels", ("a", "b"))})
    index = schema.level_index(schema.merge(second), "b")
    np.testing.assert_array_equal(index, [0, 1, 3])


def test_declared_levels_grow_only_by_declared_ones():
    def category(*levels: str) -> pd.DataFrame:
        return pd.DataFrame({"s": pd.Categorical(levels[:1], categories=levels)})

    schema = learn(category("a", "b"), "levels", "s")
    assert schema.merge(read_table(category("c", "a"))).blocks["b"][0].levels == ("a", "b", "c")
    assert schema.merge(read_table(pd.DataFrame({"s": ["c"]}))) == schema


def test_levels_and_numbers_match_by_value():
    schema = learn(pd.DataFrame({"t": [30, 10, 20]}), "levels", "t")
    assert code(schema, pd.DataFrame({"t": [20.0, np.nan, 30.0]})) == [[1, -1, 2]]
    assert code(schema, pd.DataFrame({"t": pd.Categorical([10, 30])})) == [[0, 2]]
    flags = learn(pd.DataFrame({"t": [True, False]}), "levels", "t")
    assert code(flags, pd.DataFrame({"t": [0, 1, 1]})) == [[0, 1, 1]]
    binary = learn(pd.DataFrame({"t": [0, 1]}), "binary", "t")
    assert code(binary, pd.DataFrame({"t": [True, False]})) == [[1, 0]]
    order = learn(pd.DataFrame({"t": pd.Categorical([1], categories=[1, 0])}), "binary", "t")
    assert code(order, pd.DataFrame({"t": [0, 1]})) == [[0, 1]]


def test_declared_categories_without_rows_are_not_reported():
    schema = learn(pd.DataFrame({"t": ["a", "b"]}), "levels", "t")
    rows = pd.DataFrame({"t": pd.Categorical(["b"], categories=["z", "b"])})
    assert code(schema, rows) == [[1]]


def test_absent_columns_are_missing():
    schema = Schema.learn(read_table(FRAME), BLOCKS)
    encoded = schema.encode(read_table(FRAME[["x", "t", "s", "k"]]))
    np.testing.assert_array_equal(encoded["normal"][:, 1], [np.nan] * 4)
    np.testing.assert_array_equal(encoded["text"][:, 2], [-1] * 4)
    np.testing.assert_array_equal(encoded["flags"][:, 0], [np.nan] * 4)
    np.testing.assert_array_equal(encoded["counts"], [[np.nan]] * 4)
    assert schema.merge(read_table(FRAME[["x", "t", "s", "k"]])) == schema


def test_absent_columns_of_a_frame_of_one_array():
    numbers = np.arange(20.0).reshape(4, 5)
    frame = pd.DataFrame(numbers, columns=list("abcde"), copy=False)
    schema = learn(frame, "numbers", *"abcde", centred=True)
    np.testing.assert_array_equal(code(schema, frame), (numbers - numbers[0]).T)
    partial = read_table(frame[["b", "c", "e"]])
    encoded = schema.encode(partial)["b"]
    np.testing.assert_array_equal(encoded[:, [1, 2, 4]], (numbers - numbers[0])[:, [1, 2, 4]])
    assert np.isnan(encoded[:, [0, 3]]).all()


def test_columns_without_a_cell_suit_every_block():
    schema = Schema.learn(read_table(FRAME), BLOCKS)
    for empty in (np.nan, None, pd.array([None] * 4, dtype="string")):
        encoded = schema.encode(read_table(FRAME.assign(x=empty, t=empty, s=empty, c=empty)))
        np.testing.assert_array_equal(encoded["normal"][:, 0], [np.nan] * 4)
        np.testing.assert_array_equal(encoded["text"][:, 0], [-1] * 4)
        np.testing.assert_array_equal(encoded["flags"][:, 1], [np.nan] * 4)


def test_arrays_and_frames_are_matched_by_position():
    schema = learn(pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0]}), "numbers", "b")
    assert code(schema, np.array([[5.0, 6.0]])) == [[6.0]]
    schema = learn(np.array([[1.0, 2.0]]), "levels", "x1")
    assert code(schema, pd.DataFrame({"p": [1], "q": [2]})) == [[0]]


@pytest.mark.parametrize("name", ["pandas", "polars", "pyarrow"])
def test_decode_gives_back_the_frame_that_came(name):
    table = read_table(CONTAINERS[name])
    schema = Schema.learn(table, BLOCKS)
    back = read_table(schema.decode(schema.encode(table), table.n_rows))
    assert (back.container, back.names) == (name, table.names)
    for old, new in zip(table.columns, back.columns, strict=True):
        np.testing.assert_array_equal(old.values, new.values)
        assert (old.kind, old.levels, old.declared) == (new.kind, new.levels, new.declared)


number = st.floats(-1e100, 1e100) | st.just(float("nan"))
text = st.none() | st.text(min_size=1, max_size=3)
row = st.tuples(number, text, st.none() | st.booleans(), st.integers(-3, 3))


# of texts that differ only by case
@pytest.mark.filterwarnings("ignore::bayesgen.errors.SuspiciousColumn")
@settings(deadline=None, max_examples=60)
@given(st.lists(row, min_size=1, max_size=20), st.sampled_from(["pandas", "polars", "pyarrow"]))
@example([(0.0, "Ç", None, 0), (0.0, "ç", None, -3)], "pandas")
def test_decode_undoes_encode(rows, container):
    n, t, f, k = (list(column) for column in zip(*rows, strict=True))
    n = [round(value) / 2 if abs(value) < 1e15 else value for value in n]
    frame = pa.table(
        {"n": pa.array(n), "t": pa.array(t, pa.string()), "f": pa.array(f, pa.bool_()), "k": k}
    )
    X = {
        "pandas": frame.to_pandas,
        "polars": lambda: pl.from_arrow(frame),
        "pyarrow": lambda: frame,
    }
    table = read_table(X[container]())
    # A pandas column of objects that are all None is one of numbers.
    blocks = {
        str(c.name): BlockSpec(
            "levels" if c.kind == "level" or c.name == "k" else "numbers", (c.name,)
        )
        for c in table.columns
    }
    schema = Schema.learn(table, blocks)
    back = read_table(schema.decode(schema.encode(table), len(rows)))
    for old, new in zip(table.columns, back.columns, strict=True):
        if not old.is_missing:
            np.testing.assert_array_equal(old.values, new.values)
            assert (old.kind, old.levels) == (new.kind, new.levels)


def test_schema_is_a_value():
    schema = Schema.learn(read_table(FRAME), BLOCKS)
    assert dataclasses.replace(schema) == schema
