"""`bayesgen fit` and `bayesgen predict`: the library's answers, in batches, and refusals."""

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
from bayesgen.cli import main

NAIVE = ("--model", "naive-bayes")


def run(*arguments):
    """Return the exit code of the command line."""
    return main([str(argument) for argument in arguments])


@pytest.fixture
def iris(tmp_path):
    """Return the path of a model of iris."""
    path = tmp_path / "iris.bgm"
    X, y = bg.datasets.load_iris()
    bg.NaiveBayes(inference="map", random_state=0).fit(X, y).save(path)
    return path


def passengers(rng, n=300):
    """Return rows of text, booleans, whole numbers and numbers, with missing cells, and a key."""
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


def test_fit_saves_the_model_of_the_library(tmp_path, capsys):
    path = tmp_path / "iris.bgm"
    assert run("fit", "iris", *NAIVE, "--out", path, "--json") == 0
    X, y = bg.datasets.load_iris()
    expected = bg.NaiveBayes(random_state=0).fit(X, y)
    found = bg.load(path)
    np.testing.assert_array_equal(found.predict_proba(X), expected.predict_proba(X))
    np.testing.assert_array_equal(found.predict_interval(X), expected.predict_interval(X))
    printed = json.loads(capsys.readouterr().out)
    assert printed["classes"] == {"setosa": 50, "versicolor": 50, "virginica": 50}
    assert (printed["inference"], printed["converged"], printed["rows"]) == ("exact", True, 150)
    assert printed["log_evidence"] == expected.log_evidence_
    assert printed["out"] == {"path": str(path), "bytes": path.stat().st_size}


def test_fit_prints_data_target_model_and_verdict(tmp_path, capsys):
    out = tmp_path / "t.bgm"
    arguments = (*NAIVE, "--out", out, "--inference", "map")
    assert run("fit", "titanic_passengers", *arguments) == 0
    output = capsys.readouterr()
    for line in (
        r"data      titanic_passengers: 1,309 rows, 3 columns \(1 numeric, 2 categorical\)",
        r"target    survived: no 809, yes 500",
        r"model     naive Bayes: Normal for age; Categorical for sex, passengerClass",
        r"fit       map: Closed form\.",
        r"out       .*",
    ):
        assert re.search(f"^{line}$", output.out, re.MULTILINE), line
    assert output.err == ""


@pytest.mark.parametrize(("suffix", "inference"), [("csv", "exact"), ("parquet", "mle")])
def test_batches_give_the_same_model_and_the_same_answers(suffix, inference, tmp_path, rng, capsys):
    frame, data = passengers(rng), tmp_path / f"rows.{suffix}"
    # a class and a level that come late
    frame.loc[290:, "class"], frame.loc[280:, "deck"] = "3rd", "z"
    table = pa.Table.from_pandas(frame.drop(columns="key"), preserve_index=False)
    (csv.write_csv if suffix == "csv" else parquet.write_table)(table, data)
    for name, batch in (("whole", 1000), ("parts", 37)):
        arguments = ("--target", "class", *NAIVE, "--inference", inference, "--batch", batch)
        assert run("fit", data, "--out", tmp_path / f"{name}.bgm", *arguments) == 0
        answers = ["--out", tmp_path / f"{name}.parquet", "--batch", batch]
        answers += ["--interval", 0.9] if inference == "exact" else []
        assert run("predict", tmp_path / "whole.bgm", data, *answers) == 0
    capsys.readouterr()
    X, y = frame.drop(columns=["key", "class"]), frame["class"]
    expected = bg.NaiveBayes(inference=inference, random_state=0).fit(X, y)
    for name in ("whole", "parts"):
        found = bg.load(tmp_path / f"{name}.bgm")
        assert found.classes_.tolist() == ["1st", "2nd", "3rd"]
        np.testing.assert_allclose(found.predict_proba(X), expected.predict_proba(X), atol=1e-12)
        answers = parquet.read_table(tmp_path / f"{name}.parquet").to_pandas()
        proba = answers[[f"probability_{k}" for k in found.classes_]]
        np.testing.assert_array_equal(proba, expected.predict_proba(X))
        np.testing.assert_array_equal(answers["log_density"], expected.score_samples(X))
        assert answers["predicted"].tolist() == expected.predict(X).tolist()
        assert ("lower_1st" in answers) == (inference == "exact")


def test_predict_writes_intervals_and_kept_columns(tmp_path, rng, capsys):
    frame = passengers(rng)
    data, model, out = tmp_path / "rows.csv", tmp_path / "m.bgm", tmp_path / "answers.csv"
    frame.to_csv(data, index=False)
    frame.drop(columns="key").to_csv(tmp_path / "fit.csv", index=False)
    assert run("fit", tmp_path / "fit.csv", "--target", "class", *NAIVE, "--out", model) == 0
    arguments = ("--out", out, "--interval", 0.5, "--keep", "key", "--keep", "fare", "--batch", 99)
    assert run("predict", model, data, *arguments) == 0
    answers = pd.read_csv(out, dtype={"key": str})
    assert answers["key"].tolist() == frame["key"].tolist()
    clf = bg.load(model)
    X = frame.drop(columns=["key", "class"])
    ends = answers[["lower_1st", "upper_1st"]].to_numpy()
    np.testing.assert_allclose(ends, clf.predict_interval(X, 0.5)[:, 0], rtol=1e-12)
    assert list(answers)[:4] == ["key", "fare", "predicted", "probability_1st"]
    printed = " ".join(capsys.readouterr().out.split())
    assert re.search(r": 300 rows predicted 1st \d+, 2nd \d+", printed)


def test_predict_prints_csv_and_json(iris, capsysbinary):
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
def test_predict_ends_quietly_when_its_reader_stops(iris, tmp_path):
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


@pytest.mark.parametrize("model", ["qda", "joint-table", "bag-of-words"])
def test_fit_and_predict_of_every_model(model, tmp_path, rng, capsys):
    data, out = tmp_path / "rows.csv", tmp_path / "m.bgm"
    X = pd.DataFrame(rng.poisson(1.5, (60, 3)), columns=list("abc")).clip(1, 3)
    y = np.arange(60) % 2
    X.assign(y=y).to_csv(data, index=False)
    assert run("fit", data, "--target", "y", "--model", model, "--out", out) == 0
    assert run("predict", out, data, "--out", tmp_path / "p.parquet") == 0
    kinds = {
        "qda": bg.QDA,
        "joint-table": bg.JointTable,
        "bag-of-words": bg.BagOfWords,
    }
    expected = kinds[model]().fit(X, y).predict_proba(X)
    found = parquet.read_table(tmp_path / "p.parquet").to_pandas()
    np.testing.assert_allclose(found[["probability_0", "probability_1"]], expected, atol=1e-12)
    assert found["predicted"].dtype == np.int64


@pytest.mark.nightly
def test_fit_by_sampling(tmp_path, capsys):
    out = tmp_path / "m.bgm"
    assert run("fit", "iris", "--model", "lda", "--inference", "nuts", "--out", out, "--json") == 0
    assert json.loads(capsys.readouterr().out)["inference"] == "nuts"
    assert bg.load(out).inference_ == "nuts"


@pytest.mark.filterwarnings("default")
def test_predict_notes_new_levels_once(tmp_path, rng, capsys):
    frame = passengers(rng).drop(columns="key")
    frame.to_csv(tmp_path / "rows.csv", index=False)
    out = tmp_path / "m.bgm"
    assert run("fit", tmp_path / "rows.csv", "--target", "class", *NAIVE, "--out", out) == 0
    frame.assign(deck="new").to_csv(tmp_path / "new.csv", index=False)
    capsys.readouterr()
    arguments = ("--out", tmp_path / "p.csv", "--batch", 100)
    assert run("predict", out, tmp_path / "new.csv", *arguments) == 0
    notes = [line for line in capsys.readouterr().err.splitlines() if "'deck'" in line]
    assert len(notes) == 1
    assert "'new'" in notes[0]


def test_output_of_predict_is_whole_or_absent(iris, tmp_path, capsys, monkeypatch):
    X, _ = bg.datasets.load_iris()
    bad = X.assign(petal_width=[*X["petal_width"][:-1], np.inf])
    parquet.write_table(pa.Table.from_pandas(bad), tmp_path / "rows.parquet")
    arguments = ("predict", iris, tmp_path / "rows.parquet", "--batch", 40)
    printed = refused(capsys, *arguments, "--out", tmp_path / "p.parquet")
    assert re.search(
        r"rows\.parquet', rows 120 to 149: column 'petal_width' holds infinity", printed
    )

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(parquet.ParquetWriter, "write_table", full)
    printed = refused(capsys, "predict", iris, "iris", "--out", tmp_path / "p.parquet")
    assert "cannot write" in printed and "No space left on device" in printed
    assert not (tmp_path / "p.parquet").exists()
    assert not list(tmp_path.glob(".p.parquet*"))


def test_predict_writes_draws_as_lists(tmp_path, capsys):
    path = tmp_path / "iris.bgm"
    X, y = bg.datasets.load_iris()
    clf = bg.NaiveBayes(random_state=0).fit(X, y)
    clf.save(path)
    X[::30].to_csv(tmp_path / "rows.csv", index=False)
    arguments = ("predict", path, tmp_path / "rows.csv", "--draws")
    assert "which CSV cannot hold. Add --out answers.parquet" in refused(capsys, *arguments)
    assert run(*arguments, "--out", tmp_path / "p.parquet") == 0
    found = parquet.read_table(tmp_path / "p.parquet")
    expected = clf.predict_draws(X[::30]).sel({"class": "virginica"}).values.T
    np.testing.assert_allclose(np.stack(found["draws_virginica"].to_numpy()), expected, atol=1e-12)


def refused(capsys, *arguments, code=1):
    capsys.readouterr()
    assert run(*arguments) == code
    output = capsys.readouterr()
    # what was read may stand before the refusal
    assert not {"model", "out"} & {line.split(" ")[0] for line in output.out.splitlines()}
    return output.err


def test_fit_and_predict_wrong_usage_exits_with_2(iris, tmp_path, capsys):
    for arguments in (
        ("fit", "iris"),
        ("fit", "iris", "--out", tmp_path / "m.bgm", "--model", "forest"),
        ("fit", "iris", "--out", tmp_path / "m.bgm", "--inference", "magic"),
        ("predict", iris),
        ("predict", iris, "iris", "--out", tmp_path / "p.xlsx"),
        ("predict", iris, "iris", "--interval", 1.5),
        ("predict", iris, "iris", "--batch", 0),
    ):
        assert "Error" in refused(capsys, *arguments, code=2)
    for command in ("fit", "predict"):
        assert run(command, "--help") == 0
        assert f"bayesgen {command} " in capsys.readouterr().out.split("Examples:")[1]


def test_predict_refuses_data_that_the_model_cannot_read(iris, tmp_path, capsys):
    path = tmp_path / "rows.csv"
    path.write_text("sepal_length,sepal_width,petal_length,petal_width\n5.1,3.5,long,0.2\n")
    printed = refused(capsys, "predict", iris, path)
    assert "column 'petal_length'" in printed
    assert "If it means missing, add --missing long" in printed
    assert run("predict", iris, path, "--missing", "long", "--out", tmp_path / "p.csv") == 0
    printed = refused(capsys, "predict", iris, "titanic")
    assert "'titanic' has none of the columns that the model reads, 'sepal_length'" in printed
    printed = refused(capsys, "predict", iris, "iris", "--keep", "id")
    assert "'iris' has no column 'id'; its columns are 'sepal_length'" in printed
    path.write_text("sepal_length,sepal_width,petal_length,petal_width\n")
    assert "has column names but no rows" in refused(capsys, "predict", iris, path)
    bg.datasets.load_iris()[0].assign(predicted=1).to_csv(path, index=False)
    assert "Rename it in the file" in refused(capsys, "predict", iris, path, "--keep", "predicted")


def test_fit_refuses_rows_in_one_sentence(tmp_path, capsys):
    out, path = tmp_path / "m.bgm", tmp_path / "rows.csv"
    for text, arguments, sentence in (
        ("a,y\n1,u\n2,u\n", ("--target", "y"), "the column of classes has 1 class, 'u'"),
        ("a,y\n1,u\n2,\n", ("--target", "y"), "the column of classes has 1 class, 'u'"),
        ("a,y\n1,\n2,\n", ("--target", "y"), "the column of classes has no label in any of 2 rows"),
        ("a,y\n", ("--target", "y"), "has column names but no rows"),
        ("a,a,y\n1,2,u\n", ("--target", "y"), "more than one column named"),
    ):
        path.write_text(text)
        printed = refused(capsys, "fit", path, "--out", out, *arguments)
        assert re.search(re.escape(sentence).replace(r"\.\*", ".*"), printed), printed
    assert not out.exists()
    printed = refused(capsys, "fit", "iris", "--out", tmp_path / "nowhere" / "m.bgm")
    assert "cannot write" in printed


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    """Return a CSV file of numbers, levels and missing cells."""
    X, y = bg.datasets.load_titanic_passengers()
    path = tmp_path_factory.mktemp("rows") / "rows.csv"
    X.assign(survived=y)[::12].to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def fitted(rows):
    path = rows.parent / "stack.bgm"
    assert run("fit", rows, "--target", "survived", "--out", path) == 0
    return path


def test_fit_saves_the_stack_of_the_library(rows, fitted, capsys):
    out = fitted.parent / "again.bgm"
    arguments = ("fit", rows, "--target", "survived", "--model", "stacked", "--batch", 40)
    assert run(*arguments, "--out", out, "--json") == 0
    printed = json.loads(capsys.readouterr().out)
    frame = pd.read_csv(rows)
    X, y = frame.drop(columns="survived"), frame["survived"]
    expected = bg.StackedClassifier(random_state=0).fit(X, y)
    found = bg.load(out)
    np.testing.assert_allclose(found.predict_proba(X), expected.predict_proba(X), rtol=1e-9)
    assert printed["classes"] == {k: int((y == k).sum()) for k in ("no", "yes")}
    assert (printed["inference"], printed["converged"], printed["rows"]) == (
        "stacked",
        True,
        len(y),
    )
    assert printed["model"].startswith("stack of ") and "log_evidence" not in printed
    assert all(name in printed["model"] for name in found.members_)
    table = expected.members_table()
    assert [row["member"] for row in printed["members"]] == list(table.index)
    np.testing.assert_allclose([row["weight"] for row in printed["members"]], table["weight"])
    assert printed["pool_share"] == pytest.approx(expected.pool_share_)
    loss = expected.report_.details["leave-one-out log loss"]
    assert printed["leave_one_out_log_loss"] == pytest.approx(loss)
    assert run("fit", rows, "--target", "survived", "--columns", "age", "--out", out) == 0
    text = capsys.readouterr().out
    assert re.search(r"^ +log loss +evidence +linear +log-lin\.$", text, re.MULTILINE)
    share = bg.load(out).pool_share_
    assert f"{1 - share:.0%} linear, {share:.0%} log-linear" in text
    loss = bg.load(out).report_.details["leave-one-out log loss"]
    assert re.search(rf"^left out +log loss {loss:.3f} ", text, re.MULTILINE)


def test_predict_answers_from_a_saved_stack(rows, fitted, capsys):
    out = fitted.parent / "answers.csv"
    answers = ("--out", out, "--keep", "survived", "--interval", 0.9)
    assert run("predict", fitted, rows, *answers) == 0
    found, stack = pd.read_csv(out), bg.load(fitted)
    X = pd.read_csv(rows).drop(columns="survived")
    np.testing.assert_allclose(found["probability_yes"], stack.predict_proba(X)[:, 1], atol=1e-12)
    np.testing.assert_allclose(found["log_density"], stack.score_samples(X), rtol=1e-9)
    assert (found["lower_yes"] <= found["upper_yes"]).all()
    assert "StackedClassifier, stacked" in " ".join(capsys.readouterr().out.split())


@pytest.mark.filterwarnings("default")
def test_predict_of_a_stack_takes_columns_in_any_order_or_absent(rows, fitted, capsys):
    frame = pd.read_csv(rows)
    path = fitted.parent / "other.csv"
    frame[["passengerClass", "sex"]].to_csv(path, index=False)
    assert run("predict", fitted, path, "--json") == 0
    printed = capsys.readouterr()
    assert printed.err.count("lacks 1 of the 3 fitted columns, the column 'age'") == 1
    found = [json.loads(line)["probability_yes"] for line in printed.out.splitlines()]
    # absent, not missing: which ages of the fit were missing says nothing about these rows
    wanted = bg.load(fitted).predict_proba(frame[["passengerClass", "sex"]])[:, 1]
    np.testing.assert_allclose(found, wanted, atol=1e-12)


def test_predict_reads_levels_for_a_model_of_indicators(rows, tmp_path, capsys):
    frame = pd.read_csv(rows).dropna()
    X, y = frame.drop(columns="survived"), frame["survived"]
    clf = bg.LDA(levels="indicators").fit(X, y)
    clf.save(tmp_path / "lda.bgm")
    X.to_csv(tmp_path / "X.csv", index=False)
    assert run("predict", tmp_path / "lda.bgm", tmp_path / "X.csv", "--json") == 0
    printed = capsys.readouterr()
    found = [json.loads(line)["probability_yes"] for line in printed.out.splitlines()]
    np.testing.assert_allclose(found, clf.predict_proba(X)[:, 1], atol=1e-12)


@pytest.mark.slow
def test_report_of_a_saved_stack(rows, fitted, capsys):
    page = fitted.parent / "page.html"
    arguments = ("report", rows, "--target", "survived", "--html", page)
    assert run(*arguments, "--fitted", fitted, "--cv", 2) == 0
    text = page.read_text(encoding="utf-8")
    assert "<h2>Verdict</h2>" in text and "A point estimate" not in text
    assert all(name in text for name in bg.load(fitted).members_)


@pytest.mark.slow
def test_report_of_a_stack_with_comparison(rows, capsys):
    page = rows.parent / "compared.html"
    arguments = ("report", rows, "--target", "survived", "--html", page, "--cv", "2")
    assert run(*arguments) == 0
    text = page.read_text(encoding="utf-8")
    assert "<h2>Calibration</h2>" in text and "class frequencies" in text


def test_stack_refuses_other_inference(rows, tmp_path, capsys):
    out = tmp_path / "m.bgm"
    arguments = ("fit", rows, "--target", "survived", "--inference", "map", "--out", out)
    assert run(*arguments) == 1
    printed = capsys.readouterr().err
    assert "--inference is 'map'; a stack consists of closed forms" in printed
    assert "add --model naive-bayes" in printed
    page = ("report", rows, "--target", "survived", "--model", "stacked", "--html", out)
    assert run(*page, "--inference", "nuts") == 1
    assert run("compare", rows, "--target", "survived", "--model", "stacked") == 2
    assert not out.exists()


def test_merge_joins_files(tmp_path, capsys):
    X, y = bg.datasets.load_iris()
    paths = [tmp_path / f"{i}.bgm" for i in range(3)]
    for i, path in enumerate(paths):
        bg.QDA(random_state=0).fit(X[i::3], y[i::3]).save(path)
    out = tmp_path / "all.bgm"
    assert run("merge", *paths, "-o", out, "--json") == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["classes"] == {"setosa": 50, "versicolor": 50, "virginica": 50}
    assert printed["models"] == [str(path) for path in paths]
    whole = bg.QDA(random_state=0).fit(X, y)
    assert printed["log_evidence"] == pytest.approx(whole.log_evidence_)
    np.testing.assert_allclose(bg.load(out).predict_proba(X), whole.predict_proba(X), atol=1e-12)
    assert run("merge", *paths[:2], "--out", out) == 0
    assert "100: setosa 34, versicolor 33, virginica 33" in capsys.readouterr().out


def test_merge_joins_stacks_that_were_saved_with_rows(tmp_path, capsys):
    X, y = bg.datasets.load_iris()
    paths = [tmp_path / f"{i}.bgm" for i in range(2)]
    members, out = [bg.LDA(), bg.NaiveBayes()], tmp_path / "all.bgm"
    for i, path in enumerate(paths):
        bg.StackedClassifier(members).fit(X[i::2], y[i::2]).save(path, rows=True)
    assert run("merge", *paths, "-o", out, "--json") == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["classes"] == {"setosa": 50, "versicolor": 50, "virginica": 50}
    expected = bg.StackedClassifier(members).fit(X, y).predict_proba(X)
    np.testing.assert_allclose(bg.load(out).predict_proba(X), expected, rtol=0, atol=1e-9)
    assert run("merge", out, paths[0], "-o", tmp_path / "none.bgm") == 1
    assert "keeps none" in capsys.readouterr().err


def test_merge_notes_a_file_that_is_named_twice(tmp_path, iris, capsys):
    assert run("merge", iris, iris, "-o", tmp_path / "twice.bgm") == 0
    assert f"{iris.name} is merged 2 times" in capsys.readouterr().err


def test_a_column_that_is_kept_twice_is_kept_once(tmp_path, iris):
    out = tmp_path / "answers.csv"
    assert run("predict", iris, "iris", "--keep", "species", "--keep", "species", "-o", out) == 0
    assert pd.read_csv(out).columns[:2].tolist() == ["species", "predicted"]


def test_texts_are_refused_in_words_of_the_command_line(tmp_path, capsys):
    path = tmp_path / "texts.csv"
    path.write_text("text,label\ncheap pills,s\nsee you,h\n")
    fit = ("fit", path, "--target", "label", "--model", "bag-of-words", "-o", tmp_path / "t.bgm")
    printed = refused(capsys, *fit)
    assert "the file's only column, 'text', holds texts" in printed
    assert "X[" not in printed


def test_merge_names_the_files_that_differ(tmp_path, iris, capsys):
    X, y = bg.datasets.load_iris()
    other, out = tmp_path / "lda.bgm", tmp_path / "none.bgm"
    bg.LDA().fit(X, y).save(other)
    assert run("merge", iris, other, "-o", out) == 1
    error = capsys.readouterr().err
    assert str(iris) in error
    assert str(other) in error
    assert "of type LDA" in error
    assert not out.exists()
