"""Bad input that has a right answer: it is given, with a warning where a person should know."""

import re
import warnings

import numpy as np
import pandas as pd
import pytest

import bayesgen as bg
from bayesgen import errors

Y = ["sick", "sick", "sick", "well", "well", "well"]
NUMBERS = pd.DataFrame({"a": [1.0, 2.0, 4.0, 7.0, 5.0, 6.0], "b": [2.0, 1.0, 5.0, 4.0, 9.0, 7.0]})
COLOURS = pd.DataFrame({"colour": ["red", "red", "blue", "blue", "red", "blue"]})

WARNED = [
    # name, call, warning class, sentence
    (
        "an unseen level counts as missing",
        lambda: bg.NaiveBayes().fit(COLOURS, Y).predict_proba(pd.DataFrame({"colour": ["teal"]})),
        errors.CountsAsMissing,
        "column 'colour' has the level 'teal' in 1 of 1 row; the fit had 'blue', 'red'",
    ),
    (
        "a constant column",
        lambda: bg.NaiveBayes().fit(NUMBERS.assign(c=2.0), Y).predict_proba(NUMBERS.assign(c=3.0)),
        errors.SuspiciousColumn,
        "column 'c' is constant or never observed",
    ),
    (
        "a column without a cell",
        lambda: bg.QDA().fit(NUMBERS.assign(c=np.nan), Y).predict_proba(NUMBERS.assign(c=3.0)),
        errors.SuspiciousColumn,
        "column 'c' is constant or never observed",
    ),
    (
        "no spread within a class",
        lambda: (
            bg.NaiveBayes(inference="mle")
            .fit(NUMBERS.assign(a=[1.0, 1, 1, 2, 3, 4]), Y)
            .predict_proba(NUMBERS)
        ),
        errors.DegenerateEstimate,
        "column 'a' does not vary within class 'sick'; .*inference='exact'",
    ),
    (
        "a column never observed in one class",
        lambda: (
            bg.NaiveBayes(inference="mle")
            .fit(NUMBERS.assign(a=[np.nan] * 3 + [2, 3, 4]), Y)
            .predict_proba(NUMBERS)
        ),
        errors.DegenerateEstimate,
        "column 'a' is never observed in class 'sick'",
    ),
    (
        "duplicated columns",
        lambda: (
            bg.QDA(inference="mle")
            .fit(NUMBERS.assign(c=NUMBERS["a"]), Y)
            .predict_proba(NUMBERS.assign(c=NUMBERS["a"]))
        ),
        errors.DegenerateEstimate,
        "covariance of class 'sick' of the columns 'a', 'b', 'c' is singular.*inference='exact'",
    ),
    (
        "more columns than rows",
        lambda: (
            bg.LDA(inference="mle")
            .fit(np.random.default_rng(0).standard_normal((6, 9)), Y)
            .predict_proba(np.zeros((1, 9)))
        ),
        errors.DegenerateEstimate,
        "the shared covariance of the columns 'x0', .*is singular",
    ),
    (
        "rows that no class allows",
        lambda: (
            bg.NaiveBayes(inference="mle")
            .fit(pd.DataFrame({"a": list("xxxyyy"), "b": list("uuuvvv")}), Y)
            .predict_proba(pd.DataFrame({"a": ["x", "x"], "b": ["v", "u"]}))
        ),
        errors.DegenerateEstimate,
        "1 of 2 rows are impossible under every class",
    ),
    (
        "an identifier",
        lambda: (
            bg.NaiveBayes()
            .fit(pd.DataFrame({"id": [f"p{i}" for i in range(30)]}), np.arange(30) % 2)
            .predict_proba(pd.DataFrame({"id": ["p1"]}))
        ),
        errors.SuspiciousColumn,
        "column 'id' has 30 levels in 30 rows",
    ),
]


@pytest.mark.parametrize(
    ("call", "kind", "sentence"), [case[1:] for case in WARNED], ids=[case[0] for case in WARNED]
)
def test_answered_with_a_warning(call, kind, sentence):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        proba = call()
    assert {w.category for w in caught} == {kind}
    assert any(re.search(sentence, str(w.message)) for w in caught)
    np.testing.assert_allclose(proba.sum(axis=1), 1, rtol=0, atol=1e-12)


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


def test_names_of_two_columns_alike():
    X = pd.DataFrame(np.ones((6, 2)), columns=["a", "a"])
    with pytest.raises(errors.InvalidData, match="more than one column named 'a'"):
        bg.NaiveBayes().fit(X, Y)
