"""A stack on the command line: compared, fitted, asked, reported on."""

import json

import numpy as np
import pandas as pd
import pytest

import bayesgen as bg
from bayesgen.cli import main


def run(*arguments):
    return main([str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    """Return a CSV file of numbers, levels and holes."""
    X, y = bg.datasets.load_titanic_passengers()
    path = tmp_path_factory.mktemp("rows") / "rows.csv"
    X.assign(survived=y)[::12].to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def fitted(rows):
    path = rows.parent / "stack.nc"
    assert run("fit", rows, "--target", "survived", "--model", "stacked", "--out", path) == 0
    return path


def test_the_saved_stack_is_that_of_the_library(rows, fitted, capsys):
    out = fitted.parent / "again.nc"
    arguments = ("fit", rows, "--target", "survived", "--model", "stacked", "--batch", 40)
    assert run(*arguments, "--out", out, "--json") == 0
    told = json.loads(capsys.readouterr().out)
    frame = pd.read_csv(rows)
    X, y = frame.drop(columns="survived"), frame["survived"]
    expected = bg.StackedClassifier(random_state=0).fit(X, y)
    found = bg.load(out)
    np.testing.assert_allclose(found.predict_proba(X), expected.predict_proba(X), rtol=1e-9)
    assert told["classes"] == {k: int((y == k).sum()) for k in ("no", "yes")}
    assert (told["inference"], told["converged"], told["rows"]) == ("stacked", True, len(y))
    assert told["model"].startswith("stack of ") and "log_evidence" not in told
    assert all(name in told["model"] for name in found.members_)


def test_answers_of_a_saved_stack(rows, fitted, capsys):
    out = fitted.parent / "answers.csv"
    assert run("predict", fitted, rows, "--out", out, "--keep", "survived") == 0
    found, stack = pd.read_csv(out), bg.load(fitted)
    X = pd.read_csv(rows).drop(columns="survived")
    np.testing.assert_allclose(found["probability_yes"], stack.predict_proba(X)[:, 1], atol=1e-12)
    np.testing.assert_allclose(found["log_density"], stack.score_samples(X), rtol=1e-9)
    assert (found["lower_yes"] <= found["upper_yes"]).all()
    assert "StackedClassifier, stacked" in " ".join(capsys.readouterr().out.split())


@pytest.mark.filterwarnings("default")
def test_columns_may_stand_in_any_order_or_be_absent(rows, fitted, capsys):
    frame = pd.read_csv(rows)
    path = fitted.parent / "other.csv"
    frame[["passengerClass", "sex"]].to_csv(path, index=False)
    assert run("predict", fitted, path, "--json") == 0
    told = capsys.readouterr()
    assert told.err.count("lacks 1 of the 3 fitted columns, the column 'age'") == 1
    found = [json.loads(line)["probability_yes"] for line in told.out.splitlines()]
    wanted = bg.load(fitted).predict_proba(frame.drop(columns="survived").assign(age=np.nan))[:, 1]
    np.testing.assert_allclose(found, wanted, atol=1e-12)


def test_a_model_over_indicators_reads_the_levels_of_a_file(rows, tmp_path, capsys):
    frame = pd.read_csv(rows).dropna()
    X, y = frame.drop(columns="survived"), frame["survived"]
    clf = bg.LDA(levels="indicators").fit(X, y)
    clf.save(tmp_path / "lda.nc")
    X.to_csv(tmp_path / "X.csv", index=False)
    assert run("predict", tmp_path / "lda.nc", tmp_path / "X.csv", "--json") == 0
    told = capsys.readouterr()
    found = [json.loads(line)["probability_yes"] for line in told.out.splitlines()]
    np.testing.assert_allclose(found, clf.predict_proba(X)[:, 1], atol=1e-12)


def test_a_stack_is_compared(rows, capsys):
    arguments = ("compare", rows, "--target", "survived", "--cv", "2", "--json")
    assert run(*arguments, "--methods", "stacked,exact") == 0
    found = json.loads(capsys.readouterr().out)
    assert [c["classifier"] for c in found["classifiers"]] == ["stack", "exact Bayes"]
    assert found["model"].startswith("naive Bayes: ")
    assert 0 < found["classifiers"][0]["log_loss"] < 0.7


@pytest.mark.slow
def test_a_page_about_a_saved_stack(rows, fitted, capsys):
    page = fitted.parent / "page.html"
    arguments = ("report", rows, "--target", "survived", "--html", page)
    assert run(*arguments, "--fitted", fitted) == 0
    text = page.read_text(encoding="utf-8")
    assert "Who is trusted" in text and "A point estimate" not in text
    assert all(name in text for name in bg.load(fitted).members_)


@pytest.mark.slow
def test_a_page_with_a_comparison(rows, capsys):
    page = rows.parent / "compared.html"
    arguments = ("report", rows, "--target", "survived", "--html", page, "--cv", "2")
    assert run(*arguments, "--model", "stacked") == 0
    text = page.read_text(encoding="utf-8")
    assert "Reliability of stack, out of fold" in text and "exact Bayes" in text


def test_what_makes_no_sense_is_refused(rows, tmp_path, capsys):
    out = tmp_path / "m.nc"
    arguments = ("fit", rows, "--target", "survived", "--model", "stacked", "--out", out)
    assert run(*arguments, "--inference", "map") == 1
    assert "--inference is 'map'; a stack is made of closed forms" in capsys.readouterr().err
    page = ("report", rows, "--target", "survived", "--model", "stacked", "--html", out)
    assert run(*page, "--inference", "nuts") == 1
    assert run("compare", rows, "--target", "survived", "--model", "stacked") == 2
    assert not out.exists()
