"""Columns that differ from what fitting saw, or do not suit their block, are named."""

import numpy as np
import pandas as pd
import pytest

from bayesgen import errors
from bayesgen.schema import BlockSpec, Schema
from bayesgen.table import read_table


def learn(X: object, kind: str, *names: object) -> Schema:
    return Schema.learn(read_table(X), {"b": BlockSpec(kind, names)})


def code(schema: Schema, X: object, unseen: str = "missing") -> list:
    return schema.encode(read_table(X), unseen)["b"].T.tolist()


def test_unseen_levels_warn_once_per_column_or_raise():
    schema = learn(pd.DataFrame({"colour": ["red", "blue"]}), "levels", "colour")
    rows = pd.DataFrame({"colour": ["teal", "red", "teal", None]})
    sentence = "column 'colour' has the level 'teal' in 2 of 4 rows; the fit had 'blue', 'red'"
    with pytest.warns(errors.CountsAsMissing, match=sentence) as caught:
        assert code(schema, rows) == [[-1, 1, -1, -1]]
    assert len(caught) == 1
    with pytest.raises(errors.InvalidData, match=f'{sentence}.*or pass unseen="missing"'):
        code(schema, rows, "error")
    with pytest.raises(errors.InvalidArgument, match="unseen is 'ignore'; allowed: 'missing'"):
        code(schema, rows, "ignore")
    with pytest.warns(errors.CountsAsMissing, match="the levels 1, 2.5 in 2 of 3 rows"):
        assert code(schema, pd.DataFrame({"colour": [1, 2.5, np.nan]})) == [[-1, -1, -1]]
    sizes = learn(
        pd.DataFrame({"s": pd.Categorical(["big"], categories=["small", "big"])}), "binary", "s"
    )
    with pytest.warns(errors.CountsAsMissing, match="column 's' has the level 'huge' in 1 of 2"):
        assert code(sizes, pd.DataFrame({"s": ["huge", "big"]})) == [
            [pytest.approx(np.nan, nan_ok=True), 1]
        ]


def test_types_of_levels_do_not_change_between_batches():
    schema = learn(pd.DataFrame({"t": ["a"]}), "levels", "t")
    with pytest.raises(errors.InvalidData, match="'t' holds the levels 3, and held 'a' in earlier"):
        schema.merge(read_table(pd.DataFrame({"t": [3]})))


UNSUITED = {
    "categories as counts": (
        pd.DataFrame({"a": pd.Categorical([1])}),
        "counts",
        errors.InvalidData,
        "'a'",
    ),
    "negative counts": (
        np.array([[1, -2]]),
        "counts",
        errors.InvalidData,
        "'x1' holds -2.0; .*0, 1, 2",
    ),
    "three categories": (
        pd.DataFrame({"a": pd.Categorical(["u"], categories=["u", "v", "w"])}),
        "binary",
        errors.InvalidData,
        "'a' holds 3 levels",
    ),
}


@pytest.mark.parametrize("name", UNSUITED)
def test_columns_that_do_not_suit_are_named(name):
    X, kind, error, sentence = UNSUITED[name]
    table = read_table(X)
    with pytest.raises(error, match=sentence):
        Schema.learn(table, {"b": BlockSpec(kind, table.names)}).encode(table)


def test_numbers_that_turn_into_text_are_refused_at_predict():
    schema = learn(pd.DataFrame({"a": [1.0]}), "numbers", "a")
    with pytest.raises(
        errors.InvalidData, match="column 'a' holds numbers that are written as text"
    ):
        code(schema, pd.DataFrame({"a": ["1"]}))
    assert code(schema, pd.DataFrame({"a": [1e-170]})) == [[1e-170]]


def test_unknown_names_are_refused():
    with pytest.raises(errors.InvalidData, match="X has no column 'b'; it has 'a'"):
        learn(pd.DataFrame({"a": [1.0]}), "numbers", "b")


def test_identifiers_are_pointed_out():
    names = [f"n{i}" for i in range(21)]
    with pytest.warns(errors.SuspiciousColumn, match="column 'a' has 21 levels in 21 rows; .*drop"):
        learn(pd.DataFrame({"a": names}), "levels", "a")
    learn(pd.DataFrame({"a": names[:20]}), "levels", "a")
    learn(pd.DataFrame({"a": pd.Categorical(names)}), "levels", "a")
    learn(pd.DataFrame({"a": names + names}), "levels", "a")
