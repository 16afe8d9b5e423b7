"""`bayesgen predict`: scores, stated class probabilities, and outputs that are resumed."""

import json
import shutil
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from pyarrow import parquet

import bayesgen as bg
from bayesgen.calibrate import brier, log_loss
from bayesgen.cli import main, partial_output
from bayesgen.cli.commands import predict

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


def test_a_file_with_classes_is_scored(model, rows, tmp_path, capsys):
    assert run("predict", model, rows, "--out", tmp_path / "a.csv", "--json", "--batch", 40) == 0
    found = json.loads(capsys.readouterr().out)
    X, y = bg.datasets.load_iris()
    clf = bg.load(model)
    proba, codes = clf.predict_proba(X), np.searchsorted(clf.classes_, y)
    scores = found["scores"]
    assert (scores["target"], scores["rows"], scores["without_class"]) == ("species", 150, 0)
    assert scores["log_loss"] == pytest.approx(log_loss(codes, proba))
    assert scores["brier"] == pytest.approx(brier(codes, proba))
    assert scores["accuracy"] == pytest.approx(clf.score(X, y))
    assert "species" not in found["columns"]
    assert run("predict", model, rows) == 0
    assert "note: scored against column 'species'" in capsys.readouterr().err


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


def test_progress_counts_rows_of_the_total(model, rows, tmp_path, monkeypatch, capsys):
    frame = pd.read_csv(rows)
    frame.to_parquet(tmp_path / "rows.parquet")
    terminal = {"FORCE_COLOR": "1", "TTY_COMPATIBLE": "1", "TERM": "xterm"}
    for name, value in terminal.items():
        monkeypatch.setenv(name, value)
    out = ("--out", tmp_path / "a.parquet")
    assert run("predict", model, tmp_path / "rows.parquet", *out) == 0
    error = capsys.readouterr().err
    assert "of 150 rows answered" in error
    assert "of 150 rows written" in error


def test_full_disk_leaves_no_output_and_is_resumed(model, rows, tmp_path, monkeypatch, capsys):
    resource = pytest.importorskip("resource")
    monkeypatch.setattr(partial_output, "PART_ROWS", 40)
    arguments = ("predict", model, rows, "--out", tmp_path / "a.csv", "--batch", 40)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    # bytes of a file: a part has fewer, the output more
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, before[1]))
    try:
        assert run(*arguments) == 1
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    error = capsys.readouterr().err
    assert "a.csv': File too large. Free some space, or choose another path. [150 rows" in error
    assert not (tmp_path / "a.csv").exists()
    assert run(*arguments) == 0
    found = pd.read_csv(tmp_path / "a.csv").filter(like="probability_")
    expected = bg.load(model).predict_proba(bg.datasets.load_iris()[0])
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.csv", "iris.bgm", "rows.csv"]


@pytest.mark.skipif(not FULL.exists(), reason="a device of Linux")
@pytest.mark.parametrize("json", [(), ("--json",)])
def test_full_disk_below_stdout_is_one_sentence(json, model, rows, monkeypatch, capsys):
    with FULL.open("w") as full, monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", full)
        assert run("predict", model, rows, *json) == 1
    last = capsys.readouterr().err.splitlines()[-1]
    assert last == "bayesgen: cannot write the output: No space left on device."


@pytest.fixture
def interrupted(model, rows, tmp_path, monkeypatch, capsys):
    """Stop a run after two parts of 40 rows, and return its arguments."""
    monkeypatch.setattr(partial_output, "PART_ROWS", 40)
    arguments = ("predict", model, rows, "--out", tmp_path / "a.parquet", "--batch", 40)
    real, calls = predict.printing.show_progress, []

    def stops(batches, words, *counts, **total):
        for batch in real(batches, words, *counts, **total):
            calls.append(words)
            if len(calls) == 3:
                raise KeyboardInterrupt
            yield batch

    monkeypatch.setattr(predict.printing, "show_progress", stops)
    assert run(*arguments) == 130
    monkeypatch.setattr(predict.printing, "show_progress", real)
    message = capsys.readouterr().err.splitlines()[-1]
    assert message.startswith("interrupted; 80 rows are kept in ")
    assert message.endswith("; the same command resumes there")
    assert not (tmp_path / "a.parquet").exists()
    return arguments


def test_an_interrupted_output_is_resumed(interrupted, model, rows, tmp_path, capsys):
    assert run(*interrupted) == 0
    assert "note: resumed at row 81" in capsys.readouterr().err
    found = parquet.read_table(tmp_path / "a.parquet").to_pandas()
    X, _ = bg.datasets.load_iris()
    expected = bg.load(model).predict_proba(X)
    np.testing.assert_array_equal(found.filter(like="probability_"), expected)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.parquet", "iris.bgm", "rows.csv"]


@pytest.mark.parametrize("change", ["model", "input", "options"])
def test_parts_of_another_run_are_not_mixed_in(change, interrupted, model, rows, tmp_path, capsys):
    more = ()
    X, y = bg.datasets.load_iris()
    if change == "model":
        bg.LDA().fit(X, y).save(model)
    elif change == "input":
        (X + 1).assign(species=y).to_csv(rows, index=False)
    else:
        more = ("--prior", "setosa=0.2,versicolor=0.2,virginica=0.6")
    assert run(*interrupted, *more) == 0
    error = capsys.readouterr().err
    assert "was of another model, input or command; all rows are answered anew" in error
    found = pd.read_parquet(tmp_path / "a.parquet").filter(like="probability_")
    assert run("predict", model, rows, "--out", tmp_path / "b.parquet", *more) == 0
    whole = pd.read_parquet(tmp_path / "b.parquet").filter(like="probability_")
    np.testing.assert_array_equal(found, whole)


def test_only_parts_that_follow_each_other_count(interrupted, tmp_path, capsys):
    folder = tmp_path / "a.parquet.partial"
    first, second = sorted(folder.glob("*.arrow"))
    shutil.move(first, tmp_path / "elsewhere")
    assert second.exists()
    assert run(*interrupted) == 0
    assert "resumed" not in capsys.readouterr().err
    assert parquet.read_table(tmp_path / "a.parquet").num_rows == 150


def test_a_finished_part_that_was_all_is_written(interrupted, rows, tmp_path, monkeypatch):
    writer = predict.printing.table_writer

    def fails(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(predict.printing, "table_writer", fails)
    assert run(*interrupted) == 130
    monkeypatch.setattr(predict.printing, "table_writer", writer)
    assert run(*interrupted) == 0
    assert parquet.read_table(tmp_path / "a.parquet").num_rows == 150
