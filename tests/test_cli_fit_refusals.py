"""`bayesgen fit` and `bayesgen predict`: what they refuse, in which sentence, with which code."""

import re

import pytest
from cli_runs import run, saved_iris

import bayesgen as bg


@pytest.fixture
def iris(tmp_path):
    return saved_iris(tmp_path)


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
