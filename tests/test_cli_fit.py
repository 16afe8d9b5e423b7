"""`bayesgen fit` and `bayesgen predict`: the same answers as the library's, in batches."""

import json
import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

import bayesgen as bg
from bayesgen import datasets
from bayesgen.cli import main, streams
from bayesgen.cli.entry import each_once


def run(*arguments):
    return main([str(argument) for argument in arguments])


@pytest.fixture
def iris(tmp_path):
    """Return the path of a model of iris."""
    path = tmp_path / "iris.nc"
    X, y = bg.datasets.load_iris()
    bg.NaiveBayes(inference="map", random_state=0).fit(X, y).save(path)
    return path


def passengers(rng, n=300):
    """Return rows of text, booleans, whole numbers and numbers, with holes, and a key."""
    frame = pd.DataFrame(
        {
            "key": [f"{i:05d}" for i in range(n)],
            "fare": rng.normal(30.0, 5.0, n).round(2),
            "berths": rng.integers(1, 4, n),
            "deck": rng.choice(["a", "b", "c"], n),
            "insured": rng.choice([True, False], n),
            "class": rng.choice(["1st", "2nd"], n),
        }
    )
    frame.loc[frame.index[::7], "fare"] = np.nan
    frame.loc[frame.index[::11], "deck"] = None
    return frame


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


# -- columns ---------------------------------------------------------------------------------------


def test_absent_columns_are_missing_and_others_are_ignored(iris, tmp_path, capsys):
    X, _ = bg.datasets.load_iris()
    X.drop(columns="petal_width").assign(extra="x").to_csv(tmp_path / "rows.csv", index=False)
    capsys.readouterr()
    assert run("predict", iris, tmp_path / "rows.csv", "--out", tmp_path / "p.parquet") == 0
    output = capsys.readouterr()
    assert "lacks columns of the model, which count as missing: 'petal_width'." in output.err
    found = parquet.read_table(tmp_path / "p.parquet").to_pandas()
    expected = bg.load(iris).predict_proba(X.assign(petal_width=np.nan))
    np.testing.assert_array_equal(found.filter(like="probability_"), expected)


@pytest.mark.parametrize("container", ["array", "frame of numbers"])
def test_models_of_arrays_and_of_columns_without_text_names(container, tmp_path, rng, capsys):
    X = rng.normal(size=(40, 3))
    frame = X if container == "array" else pd.DataFrame(X)
    clf = bg.NaiveBayes().fit(frame, np.arange(40) % 2)
    clf.save(tmp_path / "m.nc")
    names = ["p", "q", "r"] if container == "array" else ["0", "1", "2"]
    pd.DataFrame(X, columns=names).to_csv(tmp_path / "rows.csv", index=False)
    assert (
        run("predict", tmp_path / "m.nc", tmp_path / "rows.csv", "--out", tmp_path / "p.csv") == 0
    )
    found = csv.read_csv(tmp_path / "p.csv").to_pandas()
    np.testing.assert_allclose(found["probability_1"], clf.predict_proba(frame)[:, 1], rtol=1e-12)


def test_types_hold_for_the_whole_file(tmp_path, monkeypatch):
    monkeypatch.setattr(streams, "BLOCK_BYTES", 64)
    path = tmp_path / "rows.csv"
    rows = ["1,x,,true", "NA,y,,false"] * 10 + ["1.5,NA,,true", "2,z,4,false", "2,z,0.5,x"]
    path.write_text("\n".join(["a,b,c,d", *rows]) + "\n")
    types = streams.column_types(path)
    assert {k: str(v) for k, v in types.items()} == {
        "a": "double",
        "b": "string",
        "c": "double",
        "d": "string",
    }
    parts = list(streams.batches(path, ["d", "a"], types, rows=3))
    assert max(map(len, parts)) == 3
    whole = pa.concat_tables(parts).to_pydict()
    assert whole["a"] == [1.0, None] * 10 + [1.5, 2.0, 2.0]
    assert set(whole["d"]) == {"true", "false", "x"}


def test_repeated_notes_are_told_once():
    notes = [f"column 'c{c}' has 'q' in {n} of 99 rows" for c, n in ((1, 3), (1, 20), (2, 3))]
    assert each_once(notes) == [f"{notes[0]} (and 1 more like it)", notes[2]]


@pytest.mark.filterwarnings("default")
def test_new_levels_are_noted(tmp_path, rng, capsys):
    frame = passengers(rng).drop(columns="key")
    frame.to_csv(tmp_path / "rows.csv", index=False)
    out = tmp_path / "m.nc"
    assert run("fit", tmp_path / "rows.csv", "--target", "class", "--out", out) == 0
    frame.assign(deck="new").to_csv(tmp_path / "new.csv", index=False)
    capsys.readouterr()
    arguments = ("--out", tmp_path / "p.csv", "--batch", 100)
    assert run("predict", out, tmp_path / "new.csv", *arguments) == 0
    notes = [line for line in capsys.readouterr().err.splitlines() if "'deck'" in line]
    assert len(notes) == 1
    assert "'new'" in notes[0]


# -- refused ---------------------------------------------------------------------------------------


def refused(capsys, *arguments, code=1):
    capsys.readouterr()
    assert run(*arguments) == code
    output = capsys.readouterr()
    assert output.out == ""
    return output.err


def test_usage(iris, tmp_path, capsys):
    for arguments in (
        ("fit", "iris"),
        ("fit", "iris", "--out", tmp_path / "m.nc", "--model", "forest"),
        ("fit", "iris", "--out", tmp_path / "m.nc", "--inference", "magic"),
        ("predict", iris),
        ("predict", iris, "iris", "--out", tmp_path / "p.xlsx"),
        ("predict", iris, "iris", "--interval", 1.5),
        ("predict", iris, "iris", "--batch", 0),
    ):
        assert "Error" in refused(capsys, *arguments, code=2)
    for command in ("fit", "predict"):
        assert run(command, "--help") == 0
        assert f"bayesgen {command} " in capsys.readouterr().out.split("Examples:")[1]


def test_files_that_hold_no_model(tmp_path, capsys):
    (tmp_path / "rows.csv").write_text("a,b\n1,2\n")
    told = refused(capsys, "predict", tmp_path / "rows.csv", "iris")
    assert "is a text file, no model that bayesgen saved; nothing in it was run" in told
    assert "there is no such file" in refused(capsys, "predict", tmp_path / "no.nc", "iris")


def test_data_that_a_model_cannot_read(iris, tmp_path, capsys):
    path = tmp_path / "rows.csv"
    path.write_text("sepal_length,sepal_width,petal_length,petal_width\n5.1,3.5,long,0.2\n")
    told = refused(capsys, "predict", iris, path)
    assert "column 'petal_length'" in told
    assert "holds 'long', where the model was fitted to numbers. If it means missing, add" in told
    assert run("predict", iris, path, "--missing", "long", "--out", tmp_path / "p.csv") == 0
    told = refused(capsys, "predict", iris, "titanic")
    assert "'titanic' has none of the columns that the model reads, 'sepal_length'" in told
    told = refused(capsys, "predict", iris, "iris", "--keep", "id")
    assert "'iris' has no column 'id'; its columns are 'sepal_length'" in told
    path.write_text("sepal_length,sepal_width,petal_length,petal_width\n")
    assert "X has no rows" in refused(capsys, "predict", iris, path)
    bg.datasets.load_iris()[0].assign(predicted=1).to_csv(path, index=False)
    assert "Rename it in the file" in refused(capsys, "predict", iris, path, "--keep", "predicted")


def test_rows_that_cannot_be_fitted(tmp_path, capsys):
    out, path = tmp_path / "m.nc", tmp_path / "rows.csv"
    for text, arguments, sentence in (
        ("a,y\n1,u\n2,v\n", (), "which column of .* holds the classes? Add --target"),
        ("a,y\n1,u\n2,v\n", ("--target", "z"), "has no column 'z'"),
        ("a,y\n1,u\n2,u\n", ("--target", "y"), "y has 1 class, 'u'"),
        ("a,y\n1,u\n2,\n", ("--target", "y"), "column 'y' is missing in 1 of 2 rows"),
        ("a,y\n", ("--target", "y"), "X has no rows"),
        ("", ("--target", "y"), "cannot read .* as a table: Empty CSV file"),
        ("a,a,y\n1,2,u\n", ("--target", "y"), "more than one column named 'a'"),
        ("a,y\nx,u\nz,v\n", ("--target", "y", "--model", "qda"), "QDA needs numbers"),
        ("a,y\n1.5,u\n2,v\n", ("--target", "y", "--model", "joint-table"), "column 'a'"),
    ):
        path.write_text(text)
        told = refused(capsys, "fit", path, "--out", out, *arguments)
        assert re.search(re.escape(sentence).replace(r"\.\*", ".*"), told), told
    assert not out.exists()
    told = refused(capsys, "fit", "iris", "--out", tmp_path / "nowhere" / "m.nc")
    assert "cannot write" in told


def test_bundled_data_that_is_compressed_can_be_streamed():
    assert streams.column_names(datasets.path("spam"))[:2] == ["make", "address"]
