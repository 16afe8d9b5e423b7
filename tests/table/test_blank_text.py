"""Blank text is missing, among levels and among labels; names that differ only by blanks are noted.

A frame is never changed, and the texts of a bag of words may be empty.
"""

import warnings
from functools import cache

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import bayesgen as bg
from bayesgen.errors import BayesgenWarning, CountsAsMissing, InvalidData, SuspiciousColumn

BLANK = r"^\s*$"
# how much rows without a label count is not the question, and takes long to learn
MAKERS = {
    "naive": lambda: bg.NaiveBayes(unlabelled=0),
    "indicators": lambda: bg.LDA(levels="indicators", random_state=0),
    "stack": lambda: bg.StackedClassifier([bg.NaiveBayes()], random_state=0, progress=False),
}
FRAMES = {
    "pandas": lambda X: X,
    "categories": lambda X: X.astype({"sex": "category"}),
    "polars": pl.from_pandas,
    "pyarrow": lambda X: pa.Table.from_pandas(X, preserve_index=False),
    "objects": lambda X: X.to_numpy(dtype=object),
}
LABELS = {
    "a list": lambda y: y.tolist(),
    "objects": lambda y: y.to_numpy(dtype=object),
    "text": lambda y: y.to_numpy(dtype=str),
    "pandas": lambda y: y,
    "categories": lambda y: y.astype("category"),
    "polars": pl.from_pandas,
    "pyarrow": lambda y: pa.array(y),
}


@cache
def rows():
    """Return 60 rows with blank cells and labels."""
    random = np.random.default_rng(0)
    sex = random.choice(["female", "male"], 60).astype(object)
    y = pd.Series(np.where((sex == "male") ^ (random.random(60) < 0.2), "no", "yes"), dtype=object)
    sex[[3, 8, 20]], y[[5, 30]] = ["", "  ", "\t"], ["", " "]
    return pd.DataFrame({"sex": sex, "age": random.normal(size=60)}), y


@cache
def empty():
    """Return the same with missing cells and labels in their place."""
    X, y = rows()
    return X.replace(BLANK, None, regex=True), y.replace(BLANK, None, regex=True)


def cells(X):
    """Return the cells of a table as text."""
    frame = X.to_pandas() if hasattr(X, "to_pandas") else pd.DataFrame(X)
    return frame.astype(str).to_numpy().tolist()


def warned(call):
    """Return the result of a call, and the kinds of its warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        return call(), [type(one.message) for one in caught]


def pairs(containers, indicators, stack):
    """Return every container with naive Bayes, and one with each of the others."""
    return [*(("naive", name) for name in containers), ("indicators", indicators), ("stack", stack)]


@pytest.mark.parametrize(("make", "frame"), pairs(FRAMES, "categories", "polars"))
def test_blank_cells_of_levels_are_missing_with_one_note(make, frame):
    (X, _), (without, y) = rows(), empty()
    X, without = FRAMES[frame](X), FRAMES[frame](without)
    before = cells(X)
    clf, kinds = warned(lambda: MAKERS[make]().fit(X, y))
    assert kinds == [CountsAsMissing]
    probability, kinds = warned(lambda: clf.predict_proba(X))
    assert kinds == [CountsAsMissing]
    expected = MAKERS[make]().fit(without, y).predict_proba(without)
    np.testing.assert_array_equal(probability, expected)
    assert cells(X) == before


@pytest.mark.parametrize(("make", "labels"), pairs(LABELS, "text", "objects"))
def test_blank_labels_mark_rows_without_one_with_one_note(make, labels):
    (_, y), (X, without) = rows(), empty()
    clf, kinds = warned(lambda: MAKERS[make]().fit(X, LABELS[labels](y)))
    assert kinds == [BayesgenWarning]
    expected = MAKERS[make]().fit(X, without)
    assert clf.classes_.tolist() == expected.classes_.tolist() == ["no", "yes"]
    np.testing.assert_array_equal(clf.predict_proba(X), expected.predict_proba(X))
    assert clf.score(X, LABELS[labels](y)) == expected.score(X, without)


def test_blank_labels_are_refused_where_every_row_needs_one():
    y = rows()[1].tolist()
    with pytest.raises(InvalidData, match="y is blank text in 2 of 60 rows"):
        bg.NaiveBayes(unlabelled=None).fit(empty()[0], y)


def test_missing_labels_are_counted_before_blank_ones():
    y = rows()[1].copy()
    y[0] = None
    with pytest.raises(InvalidData, match=r"y is missing .* in 1 of 60 rows"):
        bg.NaiveBayes(unlabelled=None).fit(empty()[0], y)


def test_imputation_fills_blank_cells():
    (X, _), (without, y) = rows(), empty()
    clf = MAKERS["naive"]().fit(without, y)
    expected = clf.impute(without, random_state=0).sex.tolist()
    for frame in (X, pl.from_pandas(X), X.astype({"sex": "category"})):
        with pytest.warns(CountsAsMissing):
            filled = clf.impute(frame, random_state=0)
        assert list(filled["sex"]) == expected


@pytest.mark.parametrize("frame", ["categories", "polars"])
def test_comparisons_read_blank_cells_and_labels_so_too(frame):
    (X, y), (without, known) = rows(), empty()
    options = {"cv": 3, "progress": False, "random_state": 0}
    with pytest.warns(BayesgenWarning):
        compared = bg.compare({"nb": MAKERS["naive"]()}, FRAMES[frame](X), y, **options)
    expected = bg.compare({"nb": MAKERS["naive"]()}, FRAMES[frame](without), known, **options)
    np.testing.assert_array_equal(compared.probabilities["nb"], expected.probabilities["nb"])
    assert [note for note in compared.notes if "blank text" in note]
    assert not compared.warnings


def test_levels_that_differ_by_blanks_or_case_are_noted():
    X, y = empty()
    X = X.assign(sex=X.sex.replace("male", "Male ").where(X.index % 3 > 0, X.sex))
    clf, kinds = warned(lambda: MAKERS["naive"]().fit(X, y))
    assert kinds == [SuspiciousColumn]
    _, kinds = warned(lambda: MAKERS["naive"]().fit(X.astype({"sex": "category"}), y))
    assert not kinds
    # they stay levels of their own, until the user writes them alike
    alike = X.assign(sex=X.sex.str.split().str.join(" ").str.lower())
    expected = MAKERS["naive"]().fit(*empty()).predict_proba(empty()[0])
    assert not np.array_equal(clf.predict_proba(X), expected)
    np.testing.assert_array_equal(MAKERS["naive"]().fit(alike, y).predict_proba(alike), expected)


def test_classes_that_differ_by_blanks_or_case_are_noted_once():
    X, y = empty()
    y = y.replace("no", "No ").where(y.index % 3 > 0, y)
    clf, kinds = warned(lambda: MAKERS["naive"]().fit(X, y))
    assert kinds == [BayesgenWarning] and clf.classes_.tolist() == ["No ", "no", "yes"]
    # a later batch that has no further such class says nothing, and one that has speaks
    _, kinds = warned(lambda: clf.partial_fit(X, y))
    assert BayesgenWarning not in kinds
    _, kinds = warned(lambda: clf.partial_fit(X, y.replace("yes", "YES")))
    assert BayesgenWarning in kinds


def test_notes_are_alike_in_every_fold():
    """Constant text, which Python's filter shows once for a search."""
    X, y = rows()[0], empty()[1].fillna("no")
    texts = set()
    for fold in range(5):
        train = X.index % 5 != fold
        with pytest.warns(CountsAsMissing) as caught:
            MAKERS["naive"]().fit(X[train], y[train])
        texts |= {str(one.message) for one in caught}
    assert len(texts) == 1


def test_documents_may_be_empty():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        clf = bg.BagOfWords().fit(["king", "", "proof"], ["history", "history", "science"])
    with pytest.warns(BayesgenWarning):
        assert clf.predict(["", "king"]).tolist() == ["history", "history"]
