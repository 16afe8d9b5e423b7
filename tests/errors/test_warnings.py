"""Bad input that has a right answer: it is given, with a warning where a person should know."""

import numpy as np
import pandas as pd
import pytest

import bayesgen as bg
from bayesgen import errors

Y = ["sick", "sick", "sick", "well", "well", "well"]
NUMBERS = pd.DataFrame({"a": [1.0, 2.0, 4.0, 7.0, 5.0, 6.0], "b": [2.0, 1.0, 5.0, 4.0, 9.0, 7.0]})
COLOURS = pd.DataFrame({"colour": ["red", "red", "blue", "blue", "red", "blue"]})


def test_an_unseen_level_is_a_missing_one():
    clf = bg.NaiveBayes().fit(COLOURS, Y)
    with pytest.warns(errors.CountsAsMissing):
        found = clf.predict_proba(pd.DataFrame({"colour": ["teal", "red"]}))
    np.testing.assert_allclose(found[0], 0.5, rtol=1e-12)
    expected = clf.predict_proba(pd.DataFrame({"colour": [None, "red"]}))
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("make", [bg.NaiveBayes, bg.LDA, bg.QDA, bg.GenerativeClassifier])
@pytest.mark.parametrize("method", ["exact", "map"])
def test_one_row_in_each_class(make, method):
    clf = make(inference=method).fit(NUMBERS.iloc[[0, 5]], [Y[0], Y[5]])
    proba = clf.predict_proba(NUMBERS)
    assert ((proba > 0) & (proba < 1)).all()
    assert clf.predict(NUMBERS.iloc[[0, 5]]).tolist() == ["sick", "well"]


@pytest.mark.parametrize("make", [bg.LDA, bg.QDA])
def test_duplicated_columns_under_a_proper_prior(make):
    # a copy of a column says again what it said: no exception, no NaN, no warning
    double = NUMBERS.assign(c=NUMBERS["a"], d=NUMBERS["b"])
    proba = make().fit(double, Y).predict_proba(double)
    single = make().fit(NUMBERS, Y).predict_proba(NUMBERS)
    np.testing.assert_array_equal(proba.argmax(axis=1), single.argmax(axis=1))


def test_more_columns_than_rows_under_a_proper_prior(rng):
    y = np.arange(20) % 2
    X = rng.standard_normal((20, 200)) + 0.5 * y[:, None]
    new = rng.standard_normal((200, 200)) + 0.5 * (np.arange(200) % 2)[:, None]
    for make in (bg.NaiveBayes, bg.LDA, bg.QDA):
        accuracy = make().fit(X, y).score(new, np.arange(200) % 2)
        assert accuracy > 0.8


@pytest.mark.parametrize("members", [["naive"], [bg.NaiveBayes(), bg.LDA()]])
def test_a_warning_of_a_member_points_at_the_call_of_the_user(members):
    X = pd.DataFrame({"a": [1.0, 2.0, 4.0, 7.0] * 8, "b": [*range(30), 40, 50]})
    with pytest.warns(errors.SuspiciousColumn, match="'b' holds integers that rise") as caught:
        bg.StackedClassifier(members, progress=False).fit(X, ["sick", "well"] * 16)
    assert {warning.filename for warning in caught} == {__file__}
