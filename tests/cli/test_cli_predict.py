"""`bayesgen predict`: scores, stated class probabilities, and disks that are full."""

import inspect
import json
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import bayesgen as bg
from bayesgen.calibrate import brier, log_loss
from bayesgen.cli import main, predict
from bayesgen.sources import ANSWERS

FULL = Path("/dev/full")


def run(*arguments):
    return main([str(argument) for argument in arguments])


@pytest.fixture
def model(tmp_path):
    """The path of a model of iris."""
    X, y = bg.datasets.load_iris()
    bg.NaiveBayes().fit(X, y).save(tmp_path / "iris.bgm")
    return tmp_path / "iris.bgm"


@pytest.fixture
def rows(tmp_path):
    """The path of the rows of iris, with their classes."""
    X, y = bg.datasets.load_iris()
    X.assign(species=y).to_csv(tmp_path / "rows.csv", index=False)
    return tmp_path / "rows.csv"


def test_options_that_ask_for_an_answer_state_an_argument_of_its_verb():
    options = inspect.signature(predict.predict_rows).parameters
    asked = [columns for columns in ANSWERS.values() if columns.option]
    assert {columns.option for columns in asked} <= options.keys()
    for columns in asked:
        verb = inspect.signature(getattr(bg.NaiveBayes, columns.verb)).parameters
        assert columns.argument in ("", *verb)
        assert options[columns.option].default == (None if columns.argument else False)


def test_a_file_with_classes_is_scored(model, rows, tmp_path, capsys):
    target = ("--target", "species")
    out = ("--out", tmp_path / "a.csv", "--json", "--batch", 40)
    assert run("predict", model, rows, *out, *target) == 0
    found = json.loads(capsys.readouterr().out)
    X, y = bg.datasets.load_iris()
    clf = bg.load(model)
    proba = clf.predict_proba(X)
    scores = found["scores"]
    assert (scores["target"], scores["rows"], scores["without_class"]) == ("species", 150, 0)
    assert scores["log_loss"] == pytest.approx(log_loss(y, proba, clf.classes_))
    assert scores["brier"] == pytest.approx(brier(y, proba, clf.classes_))
    assert scores["accuracy"] == pytest.approx(clf.score(X, y))
    assert "species" not in found["columns"] and scores["rows_of_the_fit"]
    assert run("predict", model, rows, *target) == 0
    assert "note: scored against column 'species'" in capsys.readouterr().err


@pytest.mark.parametrize("batch", [40, 1000])
@pytest.mark.parametrize("kind", ["naive", "stack"])
def test_rows_of_the_fit_are_scored_with_a_note(kind, batch, rows, tmp_path, capsys):
    X, y = bg.datasets.load_iris()
    members = [bg.LDA(), bg.NaiveBayes()]
    clf = bg.NaiveBayes() if kind == "naive" else bg.StackedClassifier(members, random_state=0)
    X = X.assign(constant=1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        clf.fit(X, y).save(tmp_path / "m.bgm")
    out = ("--target", "species", "--out", tmp_path / "a.csv", "--batch", batch)

    def note(frame):
        frame.to_csv(rows, index=False)
        assert run("predict", tmp_path / "m.bgm", rows, *out) == 0
        return [line for line in capsys.readouterr().err.splitlines() if "rows of the fit" in line]

    own = X.assign(species=y)
    (sentence,) = note(own)
    loss = clf.report_.details["leave-one-out log loss"]
    assert f"they have a log loss of {loss:.3f}" in sentence
    assert note(own.assign(petal_width=own.petal_width + 0.01)) == []
    assert note(own[:-1]) == []


def test_rows_without_a_class_of_the_model_are_not_scored(model, rows, tmp_path, capsys):
    frame = pd.read_csv(rows)
    frame["kind"] = frame.pop("species")
    frame.loc[:2, "kind"] = [None, "virginica ", "rosa"]
    frame.to_csv(rows, index=False)
    out = ("--out", tmp_path / "a.csv", "--json")
    assert run("predict", model, rows, *out) == 0
    assert "scores" not in json.loads(capsys.readouterr().out)
    assert run("predict", model, rows, *out, "--target", "kind") == 0
    scores = json.loads(capsys.readouterr().out)["scores"]
    assert (scores["rows"], scores["without_class"]) == (148, 2)


def test_stated_class_probabilities_are_those_of_the_library(model, rows, tmp_path):
    prior = {"setosa": 0.1, "versicolor": 0.2, "virginica": 0.7}
    typed = ",".join(f"{name}={share}" for name, share in prior.items())
    assert run("predict", model, rows, "--prior", typed, "--out", tmp_path / "a.parquet") == 0
    found = pd.read_parquet(tmp_path / "a.parquet").filter(like="probability_")
    expected = bg.load(model).with_class_prior(prior).predict_proba(bg.datasets.load_iris()[0])
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.skipif(not FULL.exists(), reason="a device of Linux")
@pytest.mark.parametrize("json", [(), ("--json",)])
def test_full_disk_below_stdout_is_one_sentence(json, model, rows, monkeypatch, capsys):
    with FULL.open("w") as full, monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", full)
        assert run("predict", model, rows, *json) == 1
    last = capsys.readouterr().err.splitlines()[-1]
    assert last == "bayesgen: cannot write the output: No space left on device."


def test_full_disk_leaves_no_output(model, rows, tmp_path, capsys):
    resource = pytest.importorskip("resource")
    arguments = ("predict", model, rows, "--out", tmp_path / "a.csv", "--batch", 40)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2_000, before[1]))
    try:
        assert run(*arguments) == 1
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    error = capsys.readouterr().err
    assert "a.csv': File too large. Choose a path in an existing folder, on a disk" in error
    assert sorted(path.name for path in tmp_path.iterdir()) == ["iris.bgm", "rows.csv"]
