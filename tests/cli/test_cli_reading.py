"""How the command line reads files: dialects of CSV, columns to leave out, and other formats."""

import pytest

from bayesgen import load
from bayesgen.cli import main
from bayesgen.cli.data import open_data
from bayesgen.cli.options import AS_SHOWN, CsvFormat

LINES = ["id;alter;größe;ill", *(f"{i};{i % 7},5;1,{70 + i};{'ny'[i % 2]}" for i in range(20))]


@pytest.fixture
def semicolons(tmp_path):
    """The path of a file with semicolons and decimal commas."""
    path = tmp_path / "rows.csv"
    path.write_text("\n".join(LINES), encoding="utf-8")
    return str(path)


def columns(path, csv=AS_SHOWN):
    (part,) = open_data(path, csv).parts()
    return {name: part.frame.column(name).to_pylist()[:2] for name in part.frame.column_names}


@pytest.mark.parametrize("stated", [CsvFormat(), CsvFormat(sep=";", decimal=",")])
def test_semicolons_and_decimal_commas_are_numbers(semicolons, stated):
    found = columns(semicolons, stated)
    assert found == {"id": [0, 1], "alter": [0.5, 1.5], "größe": [1.7, 1.71], "ill": ["n", "y"]}


def test_what_is_stated_goes_before_what_is_recognized(semicolons):
    assert columns(semicolons, CsvFormat(decimal="."))["alter"] == ["0,5", "1,5"]
    assert len(columns(semicolons, CsvFormat(sep="|"))) == 1


@pytest.mark.parametrize(
    ("text", "cells"),
    [
        ("a;b\n1,5;2\n", {"a": [1.5], "b": [2]}),
        ("a;b\n1.5;2\n", {"a": [1.5], "b": [2]}),
        ("a;b\n1,5;2.5\n", {"a": ["1,5"], "b": [2.5]}),
        ('a,b\n"1,234",2\n', {"a": ["1,234"], "b": [2]}),
        ("a\tb\n1,5\t2\n", {"a": [1.5], "b": [2]}),
        ("a|b\nx, y|2\n", {"a": ["x, y"], "b": [2]}),
    ],
)
def test_dialects_are_recognized(text, cells, tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text(text, encoding="utf-8")
    assert columns(str(path)) == cells


def test_one_line_says_what_was_recognized(semicolons, tmp_path, capsys):
    arguments = ["fit", semicolons, "--target", "ill", "--model", "naive-bayes"]
    out = ["--out", str(tmp_path / "m.bgm")]
    assert main([*arguments, *out, "--drop", "id"]) == 0
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    assert "cells separated by semicolons and decimal commas" in lines[0]
    assert "--sep ';' --decimal , makes sure of it" in lines[0]
    assert main([*arguments, *out, "--drop", "id", "--sep", ";", "--decimal", ","]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("options", "left"),
    [
        (("--drop", "id,alter"), ["größe"]),
        (("--drop", "id", "--drop", "größe"), ["alter"]),
        (("--columns", "größe, alter"), ["alter", "größe"]),
        (("--columns", "größe,alter", "--drop", "alter"), ["größe"]),
    ],
)
def test_columns_can_be_left_out(semicolons, tmp_path, options, left):
    out = tmp_path / "m.bgm"
    arguments = ["fit", semicolons, "--target", "ill", "--model", "naive-bayes", *options]
    assert main([*arguments, "--out", str(out)]) == 0
    assert load(out).feature_names_in_.tolist() == left


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("x,y\n1,a\n2,b\n".encode("utf-16"), "is text in UTF-16"),
        (b"PK\x03\x04 and so on", "is an Excel workbook"),
        (b"\xd0\xcf\x11\xe0 and so on", "is an Excel workbook"),
    ],
)
def test_files_that_are_no_csv_are_refused_with_a_cure(content, words, tmp_path, capsys):
    path = tmp_path / "rows.csv"
    path.write_bytes(content)
    assert main(["compare", str(path), "--target", "y"]) == 1
    error = capsys.readouterr().err
    assert words in error and error.count("\n") == 1
    assert "iconv -f utf-16 -t utf-8" in error or "Save its sheet as CSV" in error
