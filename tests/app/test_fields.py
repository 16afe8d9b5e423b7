"""A cell is read as a person types it, or as JSON states it, or refused in one sentence."""

import math

import numpy as np
import pandas as pd
import pytest
from clients import served

import bayesgen as bg
from bayesgen.errors import InvalidArgument, InvalidData

pytestmark = pytest.mark.filterwarnings("ignore::bayesgen.errors.SuspiciousColumn")


@pytest.fixture(scope="module")
def fields():
    rows = pd.DataFrame(
        {
            "age": np.arange(40.0),
            "share": [f"{n} %" for n in range(40)],
            "ward": ["a", "b", "c", "d"] * 10,
            "grade": pd.Categorical([1, 2] * 20),
            "smoker": [True, False] * 20,
        }
    )
    model = served(bg.NaiveBayes().fit(rows, [0, 1] * 20))
    return {field.name: field for field in model.fields}


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ("3", 3.0),
        (" 3,5 ", 3.5),
        ("3.5", 3.5),
        (".5", 0.5),
        ("0,125", 0.125),
        ("-1e3", -1000.0),
        ("\N{MINUS SIGN}2", -2.0),
        ("1.234", 1.234),
        ("", None),
        ("  ", None),
    ],
)
def test_numbers_are_read_with_either_decimal_mark(fields, text, cell):
    assert fields["age"].typed(text) == cell


@pytest.mark.parametrize(
    "text",
    ["1,234", "1,234,567", "1.234.567", "1.234,5", "abc", "nan", "inf", "1e999", "1_0", "3 4"],
)
def test_what_may_be_two_numbers_or_is_none_is_refused(fields, text):
    with pytest.raises(InvalidData, match=r"^age: ") as refused:
        fields["age"].typed(text)
    assert str(refused.value).count("\n") == 0


@pytest.mark.parametrize(
    ("name", "text", "cell"),
    [
        ("share", "12 %", "12 %"),
        ("share", "12", 12.0),
        ("ward", "a", "a"),
        ("ward", "z", "z"),
        ("grade", "2", 2),
        ("smoker", "True", True),
    ],
)
def test_levels_and_decorated_numbers_are_read(fields, name, text, cell):
    found = fields[name].typed(text)
    assert found == cell and type(found) is type(cell)


@pytest.mark.parametrize(
    ("name", "cell"),
    [
        ("age", "3"),
        ("age", True),
        ("age", [3]),
        ("age", {"a": 1}),
        pytest.param("age", 10**400, id="age-huge"),
        ("age", math.inf),
        ("age", math.nan),
        ("ward", 1),
        ("ward", None.__class__),
        ("grade", "1"),
        ("smoker", "True"),
        ("smoker", 1),
    ],
)
def test_json_of_another_type_is_refused(fields, name, cell):
    with pytest.raises(InvalidData, match=f"^{name}: .* is not "):
        fields[name].stated(cell)


def test_json_of_the_right_type_is_kept(fields):
    for name, cell in (("age", 3), ("age", 3.5), ("ward", "z"), ("grade", 1.0), ("smoker", False)):
        assert fields[name].stated(cell) == cell
    assert all(field.stated(None) is None for field in fields.values())


def test_odd_cells_are_named(fields):
    assert (
        fields["age"].remark(39.0) == fields["age"].remark(None) == fields["ward"].remark("a") == ""
    )
    assert fields["age"].remark(40) == (
        "age 40 is outside of what was seen, 0 to 39 in rows of the fit."
    )
    assert fields["ward"].remark("z") == "ward 'z' was never seen, and counts as not measured."


def test_hints_and_choices(fields):
    assert fields["age"].hint == "1.95 to 37.05"
    assert fields["share"].hint.endswith(fields["share"].form) and fields["share"].form
    assert list(fields["ward"].choices) == ["a", "b", "c", "d"] and fields["ward"].is_short


def test_costs_of_no_column_and_forms_that_nobody_reads_are_refused(titanic):
    for name, cost in (("agee", 1.0), ("age", -1.0), ("age", math.nan), ("age", math.inf)):
        with pytest.raises(InvalidArgument, match=f"cost_of: '{name}'=.* of one of 'sex', 'age'"):
            served(titanic, cost_of={name: cost})
    wide = np.random.default_rng(0).normal(size=(20, 501))
    with pytest.raises(InvalidArgument, match="1 to 500 fields"):
        served(bg.NaiveBayes(inference="mle").fit(wide, [0, 1] * 10))
