"""Marks of rows without a label: how y is read, in every container and every method."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from paces import fast_only

import bayesgen as bg
from bayesgen.cli import main
from bayesgen.errors import BayesgenWarning, InvalidArgument, InvalidData, UnsupportedOperation

X, SPECIES = bg.datasets.load_iris()
Y = np.unique(SPECIES, return_inverse=True)[1]
BLANK = np.arange(150) % 5 == 0
MARKED = np.where(BLANK, -1, Y)
WORDS = np.where(BLANK, None, np.asarray(SPECIES, dtype=object))
MARKS = {
    "int": MARKED,
    "float": MARKED.astype(float),
    "list": MARKED.tolist(),
    "objects": MARKED.astype(object),
    "nullable": pd.Series(MARKED, dtype="Int64"),
    "polars": pl.Series(MARKED),
    "float32 column": MARKED.astype(np.float32)[:, None],
}
MISSING = {
    "None": WORDS,
    "list": WORDS.tolist(),
    "NaN": np.where(BLANK, np.nan, Y),
    "NaN among words": np.where(BLANK, np.nan, np.asarray(SPECIES, dtype=object)),
    "NA": pd.Series(np.where(BLANK, pd.NA, Y), dtype="Int64"),
    "NaT": np.where(BLANK, pd.NaT, np.asarray(SPECIES, dtype=object)),
    "category": pd.Series(WORDS, dtype="category"),
    "string": pd.Series(WORDS, dtype="string"),
    "boolean": pd.Series(np.where(BLANK, pd.NA, Y > 0), dtype="boolean"),
    "polars": pl.Series(WORDS.tolist()),
    "arrow": pa.array(WORDS.tolist()),
    "masked": np.ma.MaskedArray(Y, mask=BLANK),
    "column": np.where(BLANK, np.nan, Y)[:, None],
    "-1 among words": np.where(BLANK, -1, np.asarray(SPECIES, dtype=object)),
    "-1 and None among words": [-1 if i % 10 == 0 else w for i, w in enumerate(WORDS)],
}
MAKERS = {
    "naive": bg.NaiveBayes,
    "joint": bg.QDA,
    "stack": lambda **options: bg.StackedClassifier([bg.NaiveBayes(), bg.LDA()], **options),
}
column_vector = pytest.mark.filterwarnings("ignore:A column-vector y")


@column_vector
@pytest.mark.parametrize("kind", MARKS)
def test_minus_one_beside_two_labels_is_a_mark_with_a_warning(kind):
    with pytest.warns(BayesgenWarning, match=r"-1 in 30 of 150 rows, beside 0(\.0)?, 1(\.0)?, 2"):
        clf = bg.NaiveBayes(unlabelled=0).fit(X, MARKS[kind])
    assert clf.classes_.tolist() == [0, 1, 2]
    alone = bg.NaiveBayes().fit(X[~BLANK], np.asarray(MARKS[kind])[~BLANK])
    assert clf.classes_.dtype == alone.classes_.dtype
    assert clf.label_distributions_[~BLANK].max(axis=1).min() == 1.0
    assert (clf.transduction_[~BLANK] == Y[~BLANK]).all()


@column_vector
@pytest.mark.parametrize("kind", MISSING)
def test_missing_labels_are_marks_without_a_warning(kind):
    y = MISSING[kind]
    clf = bg.NaiveBayes(unlabelled=0).fit(X, y)
    assert clf.report_.details["unlabelled.rows"] == 30
    known = y.to_pylist() if isinstance(y, pa.Array) else y
    alone = bg.NaiveBayes().fit(
        X[~BLANK], [v for v, out in zip(known, BLANK, strict=True) if not out]
    )
    assert clf.classes_.tolist() == alone.classes_.tolist()


@pytest.mark.parametrize("other", [0, 1, 7])
def test_two_classes_may_be_called_minus_one_and_another_number(other):
    y = np.where(Y == 0, -1, other)
    clf = bg.NaiveBayes().fit(X, y)
    assert clf.classes_.tolist() == [-1, other]
    assert clf.score(X, y) == 1.0


def test_minus_one_is_a_class_among_negative_numbers_declared_or_on_request():
    assert bg.NaiveBayes().fit(X, Y - 2).classes_.tolist() == [-2, -1, 0]
    assert bg.NaiveBayes().fit(X, np.where(BLANK, -2, MARKED)).classes_.tolist() == [-2, 0, 1, 2]
    four = [-1, 0, 1, 2]
    clf = bg.NaiveBayes().partial_fit(X, MARKED, classes=four)
    assert clf.classes_.tolist() == four
    assert clf.partial_fit(X, MARKED).classes_.tolist() == four
    assert bg.NaiveBayes(unlabelled=None).fit(X, MARKED).classes_.tolist() == four
    assert bg.NaiveBayes().fit(X, MARKED.astype(str)).classes_.tolist() == ["-1", "0", "1", "2"]
    assert bg.NaiveBayes().fit(X, MARKED < 0).classes_.tolist() == [False, True]
    words = ["-", "?", "nan"]
    assert bg.NaiveBayes().fit(X, np.array(words)[Y]).classes_.tolist() == words


def test_minus_one_that_came_first_clashes_with_two_other_labels():
    clf = bg.NaiveBayes().partial_fit(X[:100], np.where(Y[:100] == 0, -1, 1))
    before = clf.predict_proba(X)
    with pytest.raises(InvalidData, match=r"an earlier call read -1 in y as a class.*Pass None"):
        clf.partial_fit(X[100:], np.zeros(50, dtype=int))
    np.testing.assert_array_equal(clf.predict_proba(X), before)


def test_a_batch_of_marks_alone_after_known_classes():
    clf = bg.NaiveBayes(unlabelled=0).partial_fit(X, Y)
    with pytest.warns(BayesgenWarning):
        clf.partial_fit(X[:2], [-1, 0])
    assert clf.classes_.tolist() == [0, 1, 2]
    learns = bg.NaiveBayes().partial_fit(X, Y)
    with pytest.raises(UnsupportedOperation, match="kept no rows, because all of them had labels"):
        learns.partial_fit(X[:2], [None, 0])


@pytest.mark.parametrize("name", MAKERS)
def test_none_refuses_missing_labels(name):
    with pytest.raises(InvalidData, match=r"y is missing .* in 30 of 150 rows"):
        MAKERS[name](unlabelled=None).fit(X, WORDS)


@pytest.mark.parametrize("weight", [-2, "all", float("nan"), float("inf"), True])
def test_a_weight_is_learned_or_at_least_0(weight):
    with pytest.raises(
        InvalidArgument, match=r"unlabelled is .*; allowed: 'learn', None or a weight of at least 0"
    ):
        bg.NaiveBayes(unlabelled=weight).fit(X, Y)


@pytest.mark.parametrize("name", MAKERS)
def test_labels_are_needed(name):
    with pytest.raises(
        InvalidData, match="y has no label in any of 150 rows; labels of at least two"
    ):
        MAKERS[name]().fit(X, np.full(150, np.nan))
    with pytest.raises(InvalidData, match="1 class, 'a'; 149 of 150 rows are unlabeled;"):
        MAKERS[name]().fit(X, ["a"] + 149 * [None])
    with pytest.raises(UnsupportedOperation, match="y has no label in any of 150 rows"):
        MAKERS[name]().fit(X, SPECIES).score(X, np.full(150, None))


@pytest.mark.parametrize("name", MAKERS)
def test_rows_without_a_label_are_not_scored(name):
    clf = MAKERS[name]().fit(X, WORDS)
    weight = np.arange(150.0)
    there = ~BLANK
    assert clf.score(X, WORDS) == clf.score(X[there], SPECIES[there])
    own = clf.score(X, WORDS, sample_weight=weight)
    assert own == clf.score(X[there], SPECIES[there], sample_weight=weight[there])
    assert len(clf.loo()) == 120
    assert clf.loo(X, WORDS).equals(clf.loo())


def test_rows_without_weight_are_absent():
    clf = bg.NaiveBayes().fit(X, MARKED, sample_weight=(~BLANK).astype(float))
    assert clf.classes_.tolist() == [0, 1, 2]
    alone = bg.NaiveBayes().fit(X[~BLANK], Y[~BLANK])
    np.testing.assert_array_equal(clf.predict_proba(X), alone.predict_proba(X))
    assert len(clf.label_distributions_) == 120
    assert clf.unlabelled_weight_ == 0.0


def test_the_warning_names_two_cures_that_work():
    with pytest.warns(BayesgenWarning) as caught:
        bg.NaiveBayes().fit(X, MARKED)
    sentence = str(caught[0].message)
    assert "numpy.asarray(y).astype(str)" in sentence
    assert "unlabelled=None" in sentence
    assert "pass None in place of -1" in sentence
    bg.NaiveBayes().fit(X, np.where(BLANK, None, MARKED))


def test_pictures_of_rows_without_a_label():
    clf = bg.NaiveBayes().fit(X, WORDS)
    for y in (WORDS, np.where(BLANK, np.nan, 0)):
        shown = clf.plot_regions(X, y, points=10)
        assert "no label" in [text.get_text() for text in shown.figure_.legends[0].get_texts()]
    clf.plot_features(X, WORDS)
    clf.plot_densities(X, WORDS, points=10)
    some = clf.plot_reliability(X, WORDS, resamples=5)
    alone = clf.plot_reliability(X[~BLANK], SPECIES[~BLANK], resamples=5)
    assert str(some.curves) == str(alone.curves)


@pytest.mark.parametrize("command", fast_only(["fit"], ["compare", "fit", "report"]))
def test_the_command_line_names_the_column(command, tmp_path, capsys):
    path = str(tmp_path / "rows.csv")
    X.assign(mood=np.where(Y == 2, -1, Y)).sort_values("mood", ascending=False).to_csv(
        path, index=False
    )
    options = {
        "compare": ["--methods", "exact", "--unlabelled", "none"],
        "fit": ["--out", str(tmp_path / "m.bgm"), "--batch", "60", "--unlabelled", "none"],
        "report": ["--html", str(tmp_path / "page.html")],
    }
    assert main([command, path, "--target", "mood", *options[command]]) == 1
    reported = capsys.readouterr().err
    assert "column 'mood' holds -1 beside 0, 1: -1 marks a row without a class" in reported
    words = pd.read_csv(path).replace({"mood": {-1: "bad", 0: "so-so", 1: "good"}})
    words.to_csv(path, index=False)
    assert command == "report" or main([command, path, "--target", "mood", *options[command]]) == 0
