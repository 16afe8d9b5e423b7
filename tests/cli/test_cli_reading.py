"""How the command line reads files: dialects of CSV, columns to leave out, and other formats."""

import pytest

from bayesgen import load
from bayesgen.cli import main
from bayesgen.cli.data import open_data
from bayesgen.cli.options import CsvFormat

LINES = ["id;alter;größe;ill", *(f"{i};{i % 7},5;1,{70 + i};{'ny'[i % 2]}" for i in range(20))]

STATED = CsvFormat(sep=";", decimal=",")


@pytest.fixture
def semicolons(tmp_path):
    """The path of a file with semicolons and decimal commas."""
    path = tmp_path / "rows.csv"
    path.write_text("\n".join(LINES), encoding="utf-8")
    return str(path)


def columns(path, csv):
    (part,) = open_data(path, csv).parts()
    return {name: part.frame.column(name).to_pylist()[:2] for name in part.frame.column_names}


def test_stated_separators_and_decimal_marks_are_used(semicolons):
    found = columns(semicolons, STATED)
    assert found == {"id": [0, 1], "alter": [0.5, 1.5], "größe": [1.7, 1.71], "ill": ["n", "y"]}
    assert columns(semicolons, CsvFormat(sep=";"))["alter"] == [0.5, 1.5]
    assert columns(semicolons, CsvFormat(decimal="."))["alter"] == ["0,5", "1,5"]


def test_what_is_recognized_is_said(semicolons, capsys):
    assert columns(semicolons, CsvFormat()) == columns(semicolons, STATED)
    said = capsys.readouterr().err
    assert "are separated by semicolons" in said and "follow a comma" in said


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
    arguments += ["--sep", ";", "--decimal", ","]
    assert main([*arguments, "--out", str(out)]) == 0
    assert load(out).feature_names_in_.tolist() == left


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"PK\x03\x04 and so on", "as a table: it begins as a zip archive and is none"),
        (
            b"\xd0\xcf\x11\xe0 and so on",
            "Type: pip install python-calamine, or save the sheet as CSV",
        ),
        (b"\x89HDF\r\n\x1a\n\0\0\0\0", "is no text: it begins with 89 48 44 46"),
    ],
)
def test_files_that_are_no_csv_are_refused_with_a_cure(content, sentence, tmp_path, capsys):
    path = tmp_path / "rows.csv"
    path.write_bytes(content)
    assert main(["compare", str(path), "--target", "y"]) == 1
    error = capsys.readouterr().err
    assert sentence in error and error.count("\n") == 1
