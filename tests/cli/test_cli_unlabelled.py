"""`bayesgen fit` and `compare` learn from rows without a class as the library does."""

import json

import numpy as np
import pytest

import bayesgen as bg
from bayesgen.cli import main

X, SPECIES = bg.datasets.load_iris()
X, SPECIES = X[::3], SPECIES[::3]
BLANK = np.arange(50) % 5 > 0
FEW = np.where(BLANK, None, np.asarray(SPECIES, dtype=object))
CODES = np.unique(SPECIES, return_inverse=True)[1]
LDA = ("--target", "species", "--model", "lda")


@pytest.fixture
def write(tmp_path):
    """Write rows with some labels, and return arguments: the file and the model to save."""

    def written(labels):
        path = tmp_path / "rows.csv"
        X.assign(species=labels).to_csv(path, index=False)
        return str(path), ("--out", str(tmp_path / "m.bgm"))

    return written


@pytest.mark.parametrize(("weight", "batch"), [("learn", ()), ("0.1", ("--batch", "7"))])
def test_fit_is_that_of_the_library(write, weight, batch, capsys):
    path, out = write(FEW)
    inference = ("--inference", "map") if weight == "0.1" else ()
    arguments = ("fit", path, *LDA, *out, *batch, *inference, "--unlabelled", weight, "--json")
    assert main(list(arguments)) == 0
    stated = {"unlabelled": 0.1, "inference": "map"} if weight == "0.1" else {}
    expected = bg.LDA(**stated, random_state=0).fit(X, FEW)
    np.testing.assert_array_equal(bg.load(out[1]).predict_proba(X), expected.predict_proba(X))
    facts = json.loads(capsys.readouterr().out)
    assert facts["rows"] == 50
    assert facts["rows_without_class"] == 40
    assert facts["unlabelled_weight"] == pytest.approx(expected.unlabelled_weight_)
    assert sum(facts["classes"].values()) == 10


@pytest.mark.filterwarnings("default")
def test_facts_and_notes_say_how_many_there_are(write, capsys):
    path, out = write(np.where(BLANK, -1, CODES))
    # beside two classes of the file, though not of every batch
    assert main(["fit", path, *LDA, *out, "--batch", "10"]) == 0
    printed = capsys.readouterr()
    assert "no class  40 rows, read as rows without a label" in printed.out
    assert "no class  mean weight 0." in printed.out
    assert "the column of classes holds -1 in 40 of 50 rows, beside 0, 1, 2" in printed.err
    assert bg.load(out[1]).classes_.tolist() == [0, 1, 2]


def test_minus_one_beside_one_class_is_another(write, capsys):
    path, out = write(np.where(CODES == 0, -1, 1))
    assert main(["fit", path, *LDA, *out, "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["classes"] == {"-1": 17, "1": 33}
    assert facts["rows_without_class"] == 0


@pytest.mark.parametrize("labels", [FEW, np.where(BLANK, -1, CODES)])
def test_none_refuses_them(write, labels, capsys):
    path, out = write(labels)
    for command in (["fit", *out], ["compare", "--methods", "exact"]):
        assert main([command[0], path, *LDA, *command[1:], "--unlabelled", "none"]) == 1
        printed = capsys.readouterr()
        assert printed.out == ""
        assert "Or leave --unlabelled none out" in printed.err


def test_a_method_that_learns_no_weight_needs_one(write, capsys):
    path, out = write(FEW)
    assert main(["fit", path, *LDA, *out, "--inference", "mle"]) == 1
    assert "State it, such as --unlabelled 0.1" in capsys.readouterr().err
    assert main(["fit", path, *LDA, *out, "--inference", "mle", "--unlabelled", "0.1"]) == 0
    assert main(["fit", path, *LDA, *out, "--inference", "nuts", "--unlabelled", "0.1"]) == 1
    assert "Use --inference auto" in capsys.readouterr().err


@pytest.mark.parametrize("weight", ["-1", "nan", "inf", "much"])
def test_weights_are_numbers_of_at_least_0(write, weight, capsys):
    path, out = write(FEW)
    assert main(["fit", path, *LDA, *out, "--unlabelled", weight]) == 2
    assert "is not learn, none or a weight" in " ".join(
        capsys.readouterr().err.replace("│", "").split()
    )


ALONE = ("--rivals", "none", "--train-rows", "all", "--json")


def test_compare_is_that_of_the_library(write, capsys):
    path, _ = write(FEW)
    columns = ["petal_length", "petal_width"]
    arguments = ["--columns", ",".join(columns), "--methods", "mle,exact", "--cv", "2", *ALONE]
    assert main(["compare", path, *LDA, *arguments]) == 0
    printed = json.loads(capsys.readouterr().out)
    rivals = {"MLE": bg.LDA(inference="mle", unlabelled=None), "Bayes": bg.LDA(random_state=0)}
    found = bg.compare(rivals, X[columns], FEW, cv=2, random_state=0, progress=False)
    assert {row["classifier"] for row in printed["classifiers"]} == {*rivals}
    for row in printed["classifiers"]:
        assert row["log_loss"] == pytest.approx(found.table.loc[row["classifier"], "log_loss"])
    assert printed["rows_without_class"] == 40
    assert "MLE is fitted without the rows that have no class" in printed["notes"][0]


def test_a_report_needs_the_class_of_every_row(write, tmp_path, capsys):
    path, _ = write(FEW)
    assert main(["report", path, *LDA, "--html", str(tmp_path / "page.html")]) == 1
    printed = capsys.readouterr().err
    assert "column 'species' is missing in 40 of 50 rows; every row needs a class" in printed
    assert "--unlabelled" not in printed
