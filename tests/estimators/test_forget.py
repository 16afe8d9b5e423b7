"""clf.forget(X, y): the fit to the other rows, or a refusal."""

from functools import partial

import hostile
import numpy as np
import pandas as pd
import pytest
from paces import fast_only

import bayesgen as bg
from bayesgen.errors import InvalidData, UnsupportedOperation

MAKERS = {
    "naive": bg.NaiveBayes,
    "linear": partial(bg.LDA, inference="expected"),
    "quadratic": partial(bg.QDA, inference="expected"),
    "quadratic map": partial(bg.QDA, inference="map"),
    "kernels": partial(bg.NaiveBayes, bg.KernelDensity()),
    "counts": partial(bg.NaiveBayes, bg.Poisson()),
    "table": partial(bg.JointTable, inference="map"),
}
LARGE = ("wide", "one class 99.9 %", "thirty classes")
HARD = ("separated by all digits", "weights from 1e-9 to 1e9", "magnitudes from 1e-100 to 1e100")
TABLES = [(n, t) for n in MAKERS for t in hostile.NAMED if t not in LARGE]
SLOW = [(n, t) for n, t in TABLES if t in HARD]
HOSTILE = [(n, t) for n, t in SLOW if n in ("naive", "quadratic")]
pytestmark = pytest.mark.filterwarnings("ignore::bayesgen.errors.BayesgenWarning")


def same(found, expected, X):
    assert found.classes_.tolist() == expected.classes_.tolist()
    np.testing.assert_allclose(found.predict_proba(X), expected.predict_proba(X), rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", [name for name in MAKERS if name != "table"])
def test_forget_inverts_partial_fit(name, iris, rng):
    X, y = iris
    X = X.round() if name == "counts" else X
    X = X.mask(rng.random(X.shape) < 0.1)
    clf = MAKERS[name]().fit(X[::2], y[::2])
    before = clf.predict_proba(X)
    clf.partial_fit(X[1::2], y[1::2])
    assert clf.forget(X[1::2], y[1::2]) is clf
    np.testing.assert_allclose(clf.predict_proba(X), before, rtol=0, atol=1e-9)
    assert clf.state_.statistics.count.sum() == 75


@pytest.mark.parametrize("tried", fast_only(HOSTILE, TABLES, slow=SLOW), ids=": ".join)
def test_hostile_tables_equal_the_refit_or_are_refused(tried):
    name, table = tried
    rows, make = hostile.NAMED[table](), MAKERS[name]
    n = len(rows.frame)
    weight = np.ones(n) if rows.weight is None else rows.weight
    for away in (np.arange(n) == n // 2, np.arange(n) % 4 < 2, np.arange(n) >= 6):
        kept = ~away
        if not (weight[away].any() and weight[kept].any()):
            continue
        y = np.asarray(rows.y)
        try:
            clf = make().fit(rows.frame, y, weight)
            rest = make().fit(rows.frame[kept], y[kept], weight[kept])
        except bg.errors.BayesgenError:
            continue  # no such model of these rows
        try:
            clf.forget(rows.frame[away], y[away], weight[away])
        except UnsupportedOperation as error:
            assert "rounding error would dominate" in str(error)
            continue
        same(clf, rest, rows.frame[kept])


def test_weights_and_levels_and_classes(rng):
    X, y = bg.datasets.load_titanic_passengers()
    weight, away = rng.integers(0, 4, len(y)).astype(float), rng.random(len(y)) < 0.3
    clf = bg.NaiveBayes().fit(X, y, weight).forget(X[away], y[away], weight[away])
    same(clf, bg.NaiveBayes().fit(X[~away], y[~away], weight[~away]), X)


AVERAGE = partial(bg.NaiveBayes, columns="average")


@pytest.mark.parametrize("make", [bg.NaiveBayes, AVERAGE, MAKERS["table"], MAKERS["quadratic map"]])
def test_classes_and_levels_without_rows_go(make, rng):
    X = pd.DataFrame({"a": rng.choice(list("uvw"), 90), "b": rng.choice(list("xyz"), 90)})
    X["b"] = pd.Categorical(X["b"], list("xyz"))
    y = pd.Series(np.arange(90) % 3).map({0: "no", 1: "some", 2: "yes"})
    if "QDA" in str(make):
        X = pd.DataFrame(rng.normal(size=(90, 3)))
        X.columns = list("abc")
        X = X.mask(rng.random(X.shape) < 0.1)
        away = y == "some"
    else:
        X["a"] = X["a"].mask(np.arange(90) % 11 == 0)
        away = (y == "some") | (X["a"] == "v") | (X["b"] == "z")
    clf, rest = make().fit(X, y).forget(X[away], y[away]), make().fit(X[~away], y[~away])
    same(clf, rest, X[~away])
    assert clf.classes_.tolist() == ["no", "yes"]
    if "QDA" not in str(make):
        columns = {c.name: c.levels for part in clf.state_.schema.blocks.values() for c in part}
        assert sorted(columns["a"]) == ["u", "w"]
        assert columns["b"] == ("x", "y", "z")  # which was declared
    clf.partial_fit(X[away], y[away])
    same(clf, make().fit(X, y), X)


@pytest.mark.parametrize("binary", [False, True])
def test_a_word_without_texts_stays_and_changes_nothing(binary):
    texts, y = ["red apple", "green pear", "red pear", "rare apple"], ["p", "q", "q", "p"]
    clf = bg.BagOfWords(binary=binary).fit(texts, y).forget(texts[3:], y[3:])
    rest = bg.BagOfWords(binary=binary).fit(texts[:3], y[:3])
    same(clf, rest, texts[:3])
    assert "rare" in clf.vectorizer_.vocabulary_
    assert "rare" not in rest.vectorizer_.vocabulary_


def test_a_refused_call_changes_nothing(iris):
    X, y = iris
    clf = bg.QDA().fit(X, y)
    before = clf.predict_proba(X)
    for rows, labels, sentence in (
        (X[:3] + 9, y[:3], "cannot have been in the fit.*class 'setosa'"),
        (X[:3], ["rosa"] * 3, "y has the class 'rosa'"),
        (pd.concat([X, X[:1]]), pd.concat([y, y[:1]]), "class 'setosa' has 51 rows here.*had 50"),
        (X[1:50], y[1:50], "rounding error would dominate"),
        (X[:2], ["setosa", None], "y has no label in 1 row"),
    ):
        with pytest.raises(UnsupportedOperation, match=sentence):
            clf.forget(rows, labels)
    with pytest.raises(InvalidData):
        clf.forget(X[50:], y[50:])
    np.testing.assert_array_equal(clf.predict_proba(X), before)
    assert len(clf.loo()) == 150


def test_the_column_of_strange_rows_is_named(iris):
    X, y = iris
    clf = bg.NaiveBayes().fit(X, y)
    with pytest.raises(
        UnsupportedOperation, match=r"of the column 'petal_width' in class 'setosa'"
    ):
        clf.forget(X[:3].assign(petal_width=9.0), y[:3])


def test_more_rows_of_a_level_than_there_were():
    X, y = pd.DataFrame({"a": list("uvuv"), "b": [1.0, 2.0, 4.0, 8.0]}), [0, 0, 1, 1]
    clf = bg.NaiveBayes().fit(X, y)
    with pytest.raises(UnsupportedOperation, match="the column 'a' in class 0"):
        clf.forget(X[:1].assign(a="v").loc[[0, 0]].assign(b=[1.0, 2.0]), [0, 0])
    with pytest.raises(UnsupportedOperation, match="column 'a' has the level 'q'"):
        clf.forget(X[:1].assign(a="q"), [0])


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (partial(bg.NaiveBayes, power_transform=True), "power_transform=True is learned"),
        (partial(bg.NaiveBayes, temper="learn"), "temper='learn' is learned"),
    ],
)
def test_what_rests_on_single_rows_does_not_forget(make, sentence, iris):
    X, y = iris
    with pytest.raises(UnsupportedOperation, match=sentence):
        make().fit(X, y).forget(X[:3], y[:3])


@pytest.mark.parametrize("name", ["naive", "linear", "quadratic", "counts"])
def test_levels_and_classes_of_fractional_weight_go(name):
    """Shares of .9, .8, .7 and so on sum to a little more than their parts."""
    shares = pd.DataFrame({"a": [0.9, 0.8, 0.7, 0.3, 0.2, 0.1], "c": [0, 0, 0, 0, 0.3, 0.7]})
    shares.insert(1, "b", 1 - shares.sum(axis=1))
    X = pd.DataFrame({"s": list("xxxxyy"), "n": [1.0, 2, 3, 4, 5, 6], "m": [2.0, 1, 4, 3, 6, 6]})
    X = X if name == "naive" else X[["n", "m"]]
    for soft, kept in ((shares, shares[["a", "b"]]), (shares[["b", "a"]], None)):
        y = soft.div(soft.sum(axis=1), axis=0)
        rest = (y if kept is None else y[kept.columns])[:4]
        found = MAKERS[name]().fit(X, y).forget(X[4:], y[4:])
        same(found, MAKERS[name]().fit(X[:4], rest), X)
