"""The command: what it prints where, its exit codes, and the sentences for data it refuses."""

import json
import re

import pyarrow as pa
import pytest

from bayesgen import LDA, QDA, NaiveBayes, datasets
from bayesgen.cli import main
from bayesgen.cli.data import LabelledData
from bayesgen.cli.facts import model_in_words
from bayesgen.cli.options import CsvFormat
from bayesgen.estimators.compared import classifiers_by_method, default_methods
from bayesgen.sources.defaults import NULLS
from bayesgen.table import read_table

FAST = ("--methods", "mle,exact", "--cv", "3", "--rivals", "none", "--train-rows", "all")


@pytest.fixture
def csv(tmp_path):
    """Write lines to a CSV file and return its path."""

    def write(*lines, name="rows.csv"):
        path = tmp_path / name
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return str(path)

    return write


def read(path, target, missing=()):
    X, y, _ = LabelledData.read(path, target, csv=CsvFormat(missing)).rows()
    return X, y


def test_compare_prints_data_model_and_scores(capsys):
    assert main(["compare", "titanic_passengers", "--target", "survived", *FAST]) == 0
    output = capsys.readouterr()
    for line in (
        "data      titanic_passengers: 1,309 rows, 3 columns (1 numeric, 2 categorical)",
        "target    survived: no 809, yes 500",
        "missing   263 cells in 263 rows (age 263)",
        "model     naive Bayes: Normal for age; Categorical for sex, passengerClass",
    ):
        assert line in output.out.splitlines()
    rest = r"( +\.\d{3}){4} +[\d.]+"
    lines = (
        rf"exact Bayes +0\.\d{{3}}±\.\d{{3}}{rest}",
        rf"MLE +0\.\d{{3}}±\.\d{{3}} +[+-]\.\d{{3}} \[[+-]\.\d{{3}},[+-]\.\d{{3}}\]{rest}",
        "3 folds over 1,309 rows, 263 missing cells in 263 rows",
    )
    for line in lines:
        assert re.search(f"^{line}$", output.out, re.MULTILINE), line
    assert output.err == ""


@pytest.mark.parametrize("arguments", [("compare", "penguins", *FAST), ("datasets",), ()])
def test_piped_output_has_no_color_and_80_columns(capsys, arguments):
    assert main(list(arguments)) == 0
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "…" not in out
    assert max(map(len, out.splitlines())) <= 80


def test_compare_json_holds_the_same_and_more(capsys):
    assert main(["compare", "penguins", "--json", "--seed", "7", *FAST]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["target"] == "species"
    assert found["classes"] == {"Adelie": 152, "Chinstrap": 68, "Gentoo": 124}
    assert (found["missing_cells"], found["rows_with_missing"]) == (19, 11)
    assert (found["seed"], found["folds"]) == (7, 3)
    assert [c["classifier"] for c in found["classifiers"]] == ["exact Bayes", "MLE"]
    assert 0 < found["classifiers"][0]["log_loss"] < 0.2


def test_infinite_log_loss_is_explained_and_is_text_in_json(capsys):
    assert main(["compare", "play_tennis", *FAST]) == 0
    assert "Log loss inf" in " ".join(capsys.readouterr().out.split())
    assert main(["compare", "play_tennis", "--json", *FAST]) == 0
    mle = json.loads(capsys.readouterr().out)["classifiers"][1]
    assert (mle["log_loss"], mle["log_loss_se"]) == ("inf", None)


@pytest.mark.parametrize(
    ("model", "missing", "name", "inference"),
    [
        (NaiveBayes, True, "exact Bayes", "exact"),
        (LDA, False, "exact Bayes", "exact"),
        (QDA, True, "Bayes", "auto"),
    ],
)
def test_exact_bayes_is_promised_only_where_it_exists(model, missing, name, inference):
    table = read_table(pa.table({"x": [1.0, None if missing else 2.0]}))
    ((found, classifier),) = classifiers_by_method(model, ("exact",), table, 0).items()
    assert (found, classifier.inference) == (name, inference)


def test_a_loaded_model_is_named_by_its_class():
    X, y = datasets.load_iris()
    words = model_in_words(LDA().fit(X, y), read_table(X))
    assert words.startswith("LDA: MultivariateNormal(covariance='shared') for sepal_length")


@pytest.mark.slow
def test_joint_normal_with_missing_values_says_which_method_ran(csv, capsys):
    lines = [f"{i % 7},{i % 5},{'ab'[i % 2]}" for i in range(39)]
    path = csv("x,z,y", *lines, ",3,a")
    arguments = ["compare", path, "--target", "y", "--model", "lda", "--cv", "2", "--json"]
    assert main([*arguments, "--methods", "exact"]) == 0
    found = json.loads(capsys.readouterr().out)["classifiers"][0]
    assert found["classifier"] == "Bayes"
    assert "importance" in found["method"]


@pytest.mark.slow
def test_every_method_runs(capsys):
    arguments = ["compare", "iris", "--cv", "2", "--json", "--train-rows", "all"]
    assert main([*arguments, "--methods", "mle,map,exact,nuts,stacked"]) == 0
    found = json.loads(capsys.readouterr().out)
    methods = [c["method"] for c in found["classifiers"]]
    assert methods == ["stacked", "exact", "map", "mle", "nuts", "", ""]
    losses = [c["log_loss"] for c in found["classifiers"]]
    assert losses[4] == pytest.approx(losses[1], abs=0.02)
    # with as many draws as by default, NUTS has converged
    assert not [text for text in found["warnings"].get("NUTS", ()) if "ask for more" in text]


def test_notes_go_to_stderr(csv, capsys):
    path = csv("x,c,y", "1,5,a", "2,5,a", "3,5,a", "4,5,b", "7,5,b", "6,5,b")
    assert main(["compare", path, "--target", "y", "--methods", "exact", "--rivals", "none"]) == 0
    notes = capsys.readouterr().err.splitlines()
    assert notes[0].startswith("note: class 'a' has only 3 rows, so there are 3 folds")
    assert notes[1].startswith("note: exact Bayes: column 'c' is constant")
    assert len(notes) == 2


def test_datasets_lists_them_all(capsys):
    assert main(["datasets"]) == 0
    out = capsys.readouterr().out
    assert all(name in out for name in datasets.names())
    assert main(["datasets", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["titanic_passengers"] == {
        "rows": 1309,
        "columns": {"numeric": 1, "categorical": 2},
        "missing_cells": 263,
        "target": "survived",
        "classes": 2,
    }


def test_help_has_examples(capsys):
    assert main(["--help"]) == 0
    assert "bayesgen compare titanic_passengers --target survived" in capsys.readouterr().out
    assert main(["compare", "--help"]) == 0
    text = " ".join(capsys.readouterr().out.replace("│", " ").split())
    assert all(null in text for null in NULLS)
    assert "--target" in text


@pytest.mark.parametrize(
    "arguments",
    [
        ["compare"],
        ["compare", "iris", "--cv", "1"],
        ["compare", "iris", "--methods", "mle,gibbs"],
        ["compare", "iris", "--model", "svm"],
        ["compare", "iris", "--seed", "-1"],
        ["compare", "iris", "--nonsense"],
        ["nonsense"],
    ],
)
def test_wrong_usage_exits_with_2(arguments, capsys):
    assert main(arguments) == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["titanik"], "'titanik' is neither a file nor a bundled data set (did you mean 'titanic'"),
        (["iris", "--target", "specie"], "no column 'specie' (did you mean 'species'?)"),
        (["{folder}", "--target", "y"], "files of two formats"),
        (["{file}"], "which column of"),
        (["{file}", "--target", "y", "--unlabelled", "none"], "'y' is missing in 2 of 4 rows"),
        (["{file}", "--target", "id"], "class 1 has 1 row"),
        (["{alone}", "--target", "y"], "no column besides 'y'"),
        (["{empty}", "--target", "y"], "as a table: CSV parse error: Empty CSV file"),
        (["{bytes}", "--target", "z"], "has no column 'z'"),
        (["{fake}", "--target", "y"], "as a table: Could not open Parquet"),
    ],
)
def test_refused_data_exits_with_1_and_one_sentence(arguments, sentence, csv, tmp_path, capsys):
    latin = tmp_path / "latin.csv"
    latin.write_bytes(b"x,y\n1,caf\xe9\n2,the\n")
    paths = {
        "folder": str(tmp_path),
        "file": csv("id,x,y", "1,a,", "2,b,NA", "3,a,u", "4,b,u", name="file.csv"),
        "alone": csv("y", "a", "b", name="alone.csv"),
        "empty": str(tmp_path / "empty.csv"),
        "bytes": str(latin),
        "fake": csv("no parquet", name="fake.parquet"),
    }
    (tmp_path / "empty.csv").touch()
    assert main(["compare", *(word.format(**paths) for word in arguments)]) == 1
    output = capsys.readouterr()
    # what was read may stand before it
    assert "model" not in output.out
    *notes, error = output.err.splitlines()
    assert error.startswith("bayesgen: ")
    assert sentence in error
    assert all(line.startswith("note: ") for line in notes)
    assert "Traceback" not in output.err


def test_every_usual_spelling_of_missing_is_read_as_missing(csv):
    lines = [f'"{null}",{null},k' for null in NULLS]
    X, _ = read(csv("text,number,y", *lines, "word,1.5,k", "?,2,k"), "y", ("?",))
    assert X["text"].to_pylist() == [*[None] * len(NULLS), "word", None]
    assert X["number"].to_pylist() == [*[None] * len(NULLS), 1.5, 2.0]


def test_numbers_are_read_to_the_last_digit(csv, rng):
    numbers = rng.normal(size=1000) * 10.0 ** rng.integers(-20, 20, 1000)
    X, _ = read(csv("x,y", *(f"{number!r},a" for number in numbers.tolist())), "y")
    assert X["x"].to_pylist() == numbers.tolist()


def test_a_file_goes_before_a_bundled_name(csv, tmp_path, monkeypatch):
    csv("x,y", "1,a", "2,b", name="iris")
    monkeypatch.chdir(tmp_path)
    assert len(read("iris", "y")[1]) == 2
    monkeypatch.chdir("/")
    assert len(read("iris", None)[1]) == 150


def test_compare_prints_fits_to_few_rows_and_to_all(tmp_path, capsys):
    page = tmp_path / "page.html"
    arguments = ["compare", "iris", "--methods", "exact,mle", "--cv", "3", "--rivals"]
    assert main([*arguments, "frequencies", "--html", str(page)]) == 0
    out = capsys.readouterr().out
    assert "25 folds over 150 rows, 24 rows drawn for each fit, no missing cells" in out
    assert "3 folds over 150 rows, no missing cells" in out
    assert out.count("\nfrequencies ") == 2
    assert "<title>iris: species</title>" in page.read_text(encoding="utf-8")
    arguments[3] = "exact"
    assert main([*arguments, "none", "--json", "--train-rows", "12,all"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert list(found["train_rows"]) == ["12"]
    few, all_rows = found["train_rows"]["12"]["classifiers"][0], found["classifiers"][0]
    assert few["log_loss"] > all_rows["log_loss"]


@pytest.mark.slow
def test_rivals_are_compared(capsys):
    rivals = ("--rivals", "boosting,forest,logistic,frequencies", "--train-rows", "all")
    assert main(["compare", "penguins", "--cv", "2", "--methods", "exact", "--json", *rivals]) == 0
    found = json.loads(capsys.readouterr().out)["classifiers"]
    names = ["exact Bayes", "frequencies", "logistic", "forest", "boosting"]
    assert [c["classifier"] for c in found] == names
    losses = {c["classifier"]: c["log_loss"] for c in found}
    assert all(loss < losses["frequencies"] / 2 for name, loss in losses.items() if name[0] != "f")


def test_nuts_runs_by_default_only_where_nothing_is_exact():
    complete = read_table(pa.table({"x": [1.0, 2.0]}))
    gaps = read_table(pa.table({"x": [1.0, None]}))
    assert "nuts" not in default_methods(NaiveBayes, gaps)
    assert "nuts" not in default_methods(QDA, complete)
    assert "nuts" in default_methods(QDA, gaps)
