"""`bayesgen fit` and `bayesgen predict`: the same answers as the library's, in batches."""

import json
import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from cli_runs import passengers, run, saved_iris
from pyarrow import csv, parquet

import bayesgen as bg
from bayesgen import datasets
from bayesgen.cli import streams


@pytest.fixture
def iris(tmp_path):
    return saved_iris(tmp_path)


def test_the_saved_model_is_that_of_the_library(tmp_path, capsys):
    path = tmp_path / "iris.nc"
    assert run("fit", "iris", "--out", path, "--json") == 0
    X, y = bg.datasets.load_iris()
    expected = bg.NaiveBayes(random_state=0).fit(X, y)
    found = bg.load(path)
    np.testing.assert_array_equal(found.predict_proba(X), expected.predict_proba(X))
    np.testing.assert_array_equal(found.predict_interval(X), expected.predict_interval(X))
    told = json.loads(capsys.readouterr().out)
    assert told["classes"] == {"setosa": 50, "versicolor": 50, "virginica": 50}
    assert (told["inference"], told["converged"], told["rows"]) == ("exact", True, 150)
    assert told["log_evidence"] == expected.log_evidence_
    assert told["out"] == {"path": str(path), "bytes": path.stat().st_size}


def test_fit_tells_people_what_it_did(tmp_path, capsys):
    out = tmp_path / "t.nc"
    assert run("fit", "titanic_passengers", "--out", out, "--inference", "map") == 0
    output = capsys.readouterr()
    for line in (
        r"data    titanic_passengers: 1,309 rows, 3 columns \(1 numeric, 2 categorical\)",
        r"target  survived: no 809, yes 500",
        r"model   naive Bayes: Normal for age; Categorical for sex, passengerClass",
        r"fit     map: Closed form\.",
        r"out     .*",
    ):
        assert re.search(f"^{line}$", output.out, re.MULTILINE), line
    assert output.err == ""


@pytest.mark.parametrize(("suffix", "inference"), [("csv", "exact"), ("parquet", "mle")])
def test_batches_make_the_same_model_and_the_same_answers(suffix, inference, tmp_path, rng, capsys):
    frame, data = passengers(rng), tmp_path / f"rows.{suffix}"
    # a class and a level that come late
    frame.loc[290:, "class"], frame.loc[280:, "deck"] = "3rd", "z"
    table = pa.Table.from_pandas(frame.drop(columns="key"), preserve_index=False)
    (csv.write_csv if suffix == "csv" else parquet.write_table)(table, data)
    for name, batch in (("whole", 1000), ("parts", 37)):
        arguments = ("--target", "class", "--inference", inference, "--batch", batch)
        assert run("fit", data, "--out", tmp_path / f"{name}.nc", *arguments) == 0
        answers = ("--out", tmp_path / f"{name}.parquet", "--batch", batch)
        assert run("predict", tmp_path / "whole.nc", data, *answers) == 0
    capsys.readouterr()
    X, y = frame.drop(columns=["key", "class"]), frame["class"]
    expected = bg.NaiveBayes(inference=inference, random_state=0).fit(X, y)
    for name in ("whole", "parts"):
        found = bg.load(tmp_path / f"{name}.nc")
        assert found.classes_.tolist() == ["1st", "2nd", "3rd"]
        np.testing.assert_allclose(found.predict_proba(X), expected.predict_proba(X), atol=1e-12)
        answers = parquet.read_table(tmp_path / f"{name}.parquet").to_pandas()
        proba = answers[[f"probability_{k}" for k in found.classes_]]
        np.testing.assert_array_equal(proba, expected.predict_proba(X))
        np.testing.assert_array_equal(answers["log_density"], expected.score_samples(X))
        assert answers["predicted"].tolist() == expected.predict(X).tolist()
        assert ("lower_1st" in answers) == (inference == "exact")


def test_intervals_and_kept_columns(tmp_path, rng, capsys):
    frame = passengers(rng)
    data, model, out = tmp_path / "rows.csv", tmp_path / "m.nc", tmp_path / "answers.csv"
    frame.to_csv(data, index=False)
    frame.drop(columns="key").to_csv(tmp_path / "fit.csv", index=False)
    assert run("fit", tmp_path / "fit.csv", "--target", "class", "--out", model) == 0
    arguments = ("--out", out, "--interval", 0.5, "--keep", "key", "--keep", "fare", "--batch", 99)
    assert run("predict", model, data, *arguments) == 0
    answers = pd.read_csv(out, dtype={"key": str})
    assert answers["key"].tolist() == frame["key"].tolist()
    clf = bg.load(model)
    X = frame.drop(columns=["key", "class"])
    ends = answers[["lower_1st", "upper_1st"]].to_numpy()
    np.testing.assert_allclose(ends, clf.predict_interval(X, 0.5)[:, 0], rtol=1e-12)
    assert list(answers)[:4] == ["key", "fare", "predicted", "probability_1st"]
    told = " ".join(capsys.readouterr().out.split())
    assert re.search(r": 300 rows predicted 1st \d+, 2nd \d+", told)


def test_rows_to_stdout_as_csv_and_as_json(iris, capsysbinary):
    capsysbinary.readouterr()
    assert run("predict", iris, "iris") == 0
    lines = capsysbinary.readouterr().out.decode().splitlines()
    assert len(lines) == 151
    assert lines[0].startswith('"predicted","probability_setosa"')
    assert run("predict", iris, "iris", "--json", "--keep", "species") == 0
    rows = [json.loads(line) for line in capsysbinary.readouterr().out.decode().splitlines()]
    assert len(rows) == 150
    assert rows[0]["predicted"] == rows[0]["species"] == "setosa"


@pytest.mark.slow  # a process of its own
def test_a_reader_that_stops_reading_is_no_error(iris, tmp_path):
    code = "import sys; from bayesgen.cli import main; sys.exit(main())"
    command = [sys.executable, "-c", code, "predict", str(iris), "rows.csv"]
    X, _ = bg.datasets.load_iris()
    pd.concat([X] * 30).to_csv(tmp_path / "rows.csv", index=False)
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path
    )
    process.stdout.readline()
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait() == 0


@pytest.mark.parametrize("model", ["lda", "qda", "joint-table", "bag-of-words"])
def test_other_models(model, tmp_path, rng, capsys):
    data, out = tmp_path / "rows.csv", tmp_path / "m.nc"
    X = pd.DataFrame(rng.poisson(1.5, (60, 3)), columns=list("abc")).clip(1, 3)
    y = np.arange(60) % 2
    X.assign(y=y).to_csv(data, index=False)
    assert run("fit", data, "--target", "y", "--model", model, "--out", out) == 0
    assert run("predict", out, data, "--out", tmp_path / "p.parquet") == 0
    kinds = {
        "lda": bg.LDA,
        "qda": bg.QDA,
        "joint-table": bg.JointTable,
        "bag-of-words": bg.BagOfWords,
    }
    expected = kinds[model]().fit(X, y).predict_proba(X)
    found = parquet.read_table(tmp_path / "p.parquet").to_pandas()
    np.testing.assert_allclose(found[["probability_0", "probability_1"]], expected, atol=1e-12)
    assert found["predicted"].dtype == np.int64


@pytest.mark.slow
def test_fit_by_sampling(tmp_path, capsys):
    out = tmp_path / "m.nc"
    assert run("fit", "iris", "--model", "lda", "--inference", "nuts", "--out", out, "--json") == 0
    assert json.loads(capsys.readouterr().out)["inference"] == "nuts"
    assert bg.load(out).inference_ == "nuts"


def test_bundled_data_that_is_compressed_can_be_streamed():
    assert streams.column_names(datasets.path("spam"))[:2] == ["make", "address"]
