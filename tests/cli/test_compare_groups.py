"""Comparisons of rows in groups, of classifiers with infinite loss, and with many warnings."""

import json
import re
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.model_selection import (
    GroupKFold,
    LeaveOneGroupOut,
    StratifiedGroupKFold,
    cross_val_score,
)
from sklearn.naive_bayes import GaussianNB

import bayesgen as bg
from bayesgen.cli import main
from bayesgen.compare.folds import copies_together
from bayesgen.errors import InvalidArgument, InvalidData
from bayesgen.table import read_table

X, Y = bg.datasets.load_iris()
PATIENT = np.arange(150) % 12


class Certain(ClassifierMixin, BaseEstimator):
    """Says that the first class is certain, or, now and then only, impossible."""

    def __init__(self, now_and_then=False):
        self.now_and_then = now_and_then

    def fit(self, X, y):
        self.classes_, self.first_ = np.unique(y), X.iloc[0, 0]
        return self

    def predict_proba(self, X):
        size = len(self.classes_)
        if self.now_and_then and X.index[0] != 0:
            return np.full((len(X), size), 1 / size)
        return np.tile(np.arange(size) == 0, (len(X), 1)).astype(float)


@pytest.mark.parametrize(
    ("cv", "of"),
    [(GroupKFold(4), list), (LeaveOneGroupOut(), np.asarray), (StratifiedGroupKFold(3), pd.Series)],
)
def test_splitters_get_groups_and_scores_are_those_of_scikit_learn(cv, of):
    found = bg.compare({"GNB": GaussianNB()}, X, Y, cv=cv, groups=of(PATIENT))
    theirs = cross_val_score(GaussianNB(), X, Y, cv=cv, groups=PATIENT)
    mine = [
        (found.probabilities["GNB"].argmax(axis=1) == found.y)[found.fold == f].mean()
        for f in range(found.folds)
    ]
    np.testing.assert_allclose(mine, theirs, rtol=1e-12)


@pytest.mark.parametrize("names", ["numbers", "words"])
def test_a_number_of_folds_keeps_groups_together(names):
    groups = PATIENT if names == "numbers" else np.array([f"patient {i}" for i in PATIENT])
    found = bg.compare({"GNB": GaussianNB()}, X, Y, cv=4, groups=groups, train_sizes=[0.5])
    assert found.folds == 4
    for group in np.unique(PATIENT):
        assert len(set(found.fold[PATIENT[found.rows] == group])) == 1


def test_folds_are_lowered_to_the_groups_of_the_smallest_class():
    groups = np.where(Y == "setosa", PATIENT % 3, PATIENT)
    found = bg.compare({"GNB": GaussianNB()}, X, Y, cv=5, groups=groups)
    assert found.folds == 3
    assert found.notes[0].startswith("class 'setosa' has only 3 groups, so there are 3 folds inste")
    with pytest.raises(InvalidData, match=r"class 'setosa' has 1 group; .* Leave the group out"):
        bg.compare({"GNB": GaussianNB()}, X, Y, groups=np.where(Y == "setosa", 99, PATIENT))


@pytest.mark.parametrize(
    ("groups", "sentence"),
    [
        (None, r"cv is GroupKFold\(.*which needs the group of each row.*groups=X\['patient'\]"),
        (PATIENT[:9], r"groups has the shape \(9,\), and X has 150 rows"),
        (PATIENT[:, None], r"groups has the shape \(150, 1\)"),
        ([None, *PATIENT[1:]], "groups is missing in 1 of 150 rows"),
        (np.where(PATIENT == 3, np.nan, PATIENT), "groups is missing in 13 of 150 rows"),
    ],
)
def test_groups_that_cannot_be_used_are_refused(groups, sentence):
    with pytest.raises(InvalidArgument, match=sentence):
        bg.compare({"GNB": GaussianNB()}, X, Y, cv=GroupKFold(3), groups=groups)


@pytest.mark.parametrize("now_and_then", [False, True])
@pytest.mark.parametrize("first", ["certain", "Bayes"])
def test_infinite_log_loss_is_shown_as_such_beside_healthy_rows(first, now_and_then):
    classifiers = {"Bayes": bg.LDA(), "certain": Certain(now_and_then), "GNB": GaussianNB()}
    classifiers = {first: classifiers.pop(first), **classifiers, "again": Certain(now_and_then)}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = bg.compare(classifiers, X, Y, cv=3, train_sizes=[0.5])
        text, html = repr(found), found._repr_html_()
    table = found.table
    assert (table.loc[["certain", "again"], "log_loss"] == np.inf).all()
    healthy = table.loc[["Bayes", "GNB"]]
    assert np.isfinite(healthy[["log_loss", "log_loss_se", "brier_se", "auc_se"]]).all(axis=None)
    assert "nan" not in text.lower() and "nan" not in html.lower()
    lines = {line.split()[0]: line.split()[1:3] for line in text.splitlines()[3:7]}
    assert lines["again"][0] == "inf"
    if first == "Bayes":
        assert lines["certain"] == ["inf", "+inf"]
        assert re.search(r"^GNB +0\.\d+±\.\d+ +[+-]\.\d+ \[", text, re.MULTILINE)
    else:
        assert lines["Bayes"][1] == "-inf"


def test_folds_of_one_class_have_no_area_and_print_none():
    groups = np.unique(Y, return_inverse=True)[1] * 2 + np.arange(150) % 2
    found = bg.compare({"GNB": GaussianNB()}, X, Y, cv=LeaveOneGroupOut(), groups=groups)
    assert np.isnan(found.table.loc["GNB", "auc"])
    assert "nan" not in repr(found)


def test_the_command_line_takes_groups_from_a_column(tmp_path, capsys):
    path = str(tmp_path / "rows.csv")
    groups = np.where(Y == "setosa", PATIENT % 3, PATIENT)
    X.assign(patient=groups, species=Y).to_csv(path, index=False)
    arguments = ["compare", path, "--target", "species", "--methods", "exact"]
    assert main([*arguments, "--groups", "patient", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    expected = bg.compare({"a": bg.NaiveBayes()}, X, Y, groups=groups).table.loc["a", "log_loss"]
    assert printed["folds"] == 3 and printed["columns"]["numeric"] == 4
    assert printed["classifiers"][0]["log_loss"] == pytest.approx(expected, rel=1e-9)
    assert main([*arguments, "--groups", "patients"]) == 1
    assert "has no column 'patients' (did you mean 'patient'?)" in capsys.readouterr().err


# --- notes ----------------------------------------------------------------------------------------


def flat():
    """Return rows of which three columns do not vary within two of three classes."""
    rows = X.copy()
    for name in ("sepal_length", "sepal_width", "petal_length"):
        rows.loc[Y == "setosa", name] = 1.0
        rows.loc[Y == "virginica", name] = 2.0
    return rows


def test_warnings_are_merged_over_columns_and_classes():
    classifiers = {"MLE": bg.NaiveBayes(inference="mle"), "Bayes": bg.NaiveBayes()}
    found = bg.compare(classifiers, flat(), Y, cv=2)
    assert len(found.warnings["MLE"]) == 6
    printed = [line for line in repr(found).splitlines() if line.startswith("MLE: ")]
    assert len(printed) == 1
    assert "column 'sepal_length' does not vary within class 'setosa'" in printed[0]
    assert printed[0].endswith("(and 5 more like it: 3 columns, 2 classes)")
    assert found._repr_html_().count("does not vary") == 1


def test_warnings_of_blocks_are_merged_over_classes():
    classifiers = {"MLE": bg.QDA(inference="mle"), "MAP": bg.QDA(inference="mle")}
    found = bg.compare(classifiers, flat(), Y, cv=2)
    printed = [line for line in repr(found).splitlines() if "singular" in line]
    assert len(printed) == 1
    assert printed[0].startswith(
        "MLE, MAP: the covariance of class 'setosa' of the columns 'sepal_l"
    )
    assert printed[0].endswith("(and 1 more like it: 2 classes)")


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_the_command_line_merges_them_too(tmp_path, capsys):
    path = str(tmp_path / "rows.csv")
    flat().assign(species=Y).to_csv(path, index=False)
    arguments = [path, "--target", "species"]
    assert main(["compare", *arguments, "--methods", "mle", "--train-rows", "all"]) == 0
    notes = capsys.readouterr().err.splitlines()
    assert len(notes) == 1 and notes[0].endswith("(and 5 more like it: 3 columns, 2 classes)")
    out = ["--model", "naive-bayes", "--inference", "mle", "--out", str(tmp_path / "m.bgm")]
    assert main(["fit", *arguments, *out]) == 0
    notes = capsys.readouterr().err.splitlines()
    assert len(notes) == 1 and notes[0].endswith("(and 5 more like it: 3 columns, 2 classes)")
    assert main(["compare", *arguments, "--methods", "mle", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["warnings"]["MLE"]) == 6


def test_copies_of_rows_are_in_one_fold():
    """A forest that meets the copies of the rows it scores would look twice as good."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(40, 3)), columns=list("abc"))
    y = np.where(rng.random(40) < 1 / (1 + np.exp(-X.a)), "u", "v")
    twice, labels = pd.concat([X, X], ignore_index=True), np.tile(y, 2)
    for rows, own in ((X, y), (twice, labels)):
        groups, notes = copies_together(read_table(rows), (own == "v").astype(int))
        assert (groups is None) == (len(rows) == 40) == (not notes)
    assert (groups[:40] == groups[40:]).all() and len(np.unique(groups)) == 40
    assert "80 of 80 rows are copies" in str(
        bg.compare({"nb": bg.NaiveBayes()}, twice, labels, cv=2)
    )
    levels = pd.DataFrame({"g": rng.choice(list("uv"), 80), "h": rng.choice(list("xy"), 80)})
    assert copies_together(read_table(levels), np.arange(80) % 2)[0] is None
