"""-1 beside other labels marks rows without one: refused everywhere, until they are supported."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

import bayesgen as bg
from bayesgen.cli import main
from bayesgen.errors import MissingLabels, UnlabelledRows

X, SPECIES = bg.datasets.load_iris()
Y = np.unique(SPECIES, return_inverse=True)[1]
MARKED = np.where(np.arange(150) % 5 == 0, -1, Y)
KINDS = {
    "int": MARKED,
    "float": MARKED.astype(float),
    "int8": MARKED.astype(np.int8),
    "list": MARKED.tolist(),
    "objects": MARKED.astype(object),
    "pandas": pd.Series(MARKED),
    "nullable": pd.Series(MARKED, dtype="Int64"),
    "polars": pl.Series(MARKED),
    "column": MARKED[:, None],
}
MAKERS = {
    "naive": bg.NaiveBayes,
    "joint": bg.QDA,
    "stack": lambda: bg.StackedClassifier([bg.NaiveBayes(), bg.LDA()]),
}
refused = pytest.raises(UnlabelledRows, match=r"y holds -1 beside the labels 0(\.0)?, 1(\.0)?")


@pytest.mark.filterwarnings("ignore:A column-vector y")
@pytest.mark.parametrize("kind", KINDS)
def test_fit_refuses_minus_one_beside_two_labels(kind):
    with refused:
        bg.NaiveBayes().fit(X, KINDS[kind])


@pytest.mark.parametrize("name", MAKERS)
def test_every_way_in_refuses_it(name):
    make = MAKERS[name]
    with refused:
        make().fit(X, MARKED)
    with refused:
        make().partial_fit(X, MARKED)
    clf = make().partial_fit(X, Y)
    before = clf.predict_proba(X)
    with refused:  # in a later batch, which leaves no trace
        clf.partial_fit(X[:2], [-1, 0])
    np.testing.assert_array_equal(clf.predict_proba(X), before)
    with refused:
        clf.score(X, MARKED)
    with refused:
        clf.plot_reliability(X, MARKED)
    with refused:
        bg.compare({"clf": make()}, X, MARKED)


def test_a_declared_minus_one_is_refused_too():
    with refused:
        bg.NaiveBayes().partial_fit(X, Y, classes=[-1, 0, 1, 2])


def test_minus_one_that_came_first_is_refused_once_two_other_labels_are_there():
    clf = bg.NaiveBayes().partial_fit(X[:100], np.where(Y[:100] == 0, -1, 1))
    with refused:
        clf.partial_fit(X[100:], np.zeros(50, dtype=int))


def test_rows_of_the_fit_are_not_found_among_unlabelled_ones():
    clf = bg.NaiveBayes().fit(X, Y)
    with refused:
        clf.loo(X, MARKED)
    with refused:
        clf.to_datatree(X, MARKED)


@pytest.mark.parametrize("other", [0, 1, 7])
def test_two_classes_may_be_called_minus_one_and_another_number(other):
    y = np.where(Y == 0, -1, other)
    clf = bg.NaiveBayes().fit(X, y)
    assert clf.classes_.tolist() == [-1, other]
    assert clf.score(X, y) == 1.0
    negative = bg.NaiveBayes().fit(X, Y - 2)
    assert negative.classes_.tolist() == [-2, -1, 0]


def test_rows_without_weight_are_absent_and_words_are_words():
    clf = bg.NaiveBayes().fit(X, MARKED, sample_weight=(MARKED >= 0).astype(float))
    assert clf.classes_.tolist() == [0, 1, 2]
    clf = bg.NaiveBayes().fit(X, MARKED.astype(str))
    assert clf.classes_.tolist() == ["-1", "0", "1", "2"]
    assert bg.NaiveBayes().fit(X, MARKED < 0).classes_.tolist() == [False, True]


@pytest.mark.parametrize("kind", ["int", "float", "objects", "pandas", "nullable"])
def test_both_cures_run_when_typed(kind):
    y = KINDS[kind]
    with pytest.raises(MissingLabels) as caught:
        bg.NaiveBayes().fit(X, y)
    lines = str(caught.value)
    for line in ("keep = numpy.asarray(y) != -1", "fit(X[keep], y[keep])"):
        assert line in lines
    keep = np.asarray(y) != -1
    assert len(bg.NaiveBayes().fit(X[keep], y[keep]).classes_) == 3
    assert "numpy.asarray(y).astype(str)" in lines
    assert len(bg.NaiveBayes().fit(X, np.asarray(y).astype(str)).classes_) == 4


@pytest.mark.parametrize("command", ["compare", "fit", "report"])
def test_the_command_line_names_the_column(command, tmp_path, capsys):
    path = str(tmp_path / "rows.csv")
    X.assign(mood=np.where(Y == 2, -1, Y)).sort_values("mood", ascending=False).to_csv(
        path, index=False
    )
    options = {
        "compare": ["--methods", "exact"],
        "fit": ["--out", str(tmp_path / "m.bgm"), "--batch", "60"],
        "report": ["--html", str(tmp_path / "page.html")],
    }
    assert main([command, path, "--target", "mood", *options[command]]) == 1
    reported = capsys.readouterr().err
    assert "column 'mood' holds -1 beside 0, 1: -1 marks a row without a class" in reported
    words = pd.read_csv(path).replace({"mood": {-1: "bad", 0: "so-so", 1: "good"}})
    words.to_csv(path, index=False)
    assert command == "report" or main([command, path, "--target", "mood", *options[command]]) == 0
