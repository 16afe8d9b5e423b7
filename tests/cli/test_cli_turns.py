"""Files as people have them are read at once, or once the program's own advice is typed."""

import json
import re
import shlex
import sys
from pathlib import Path

import numpy as np
import pytest

import bayesgen as bg
from bayesgen.cli import main

N = 60
RNG = np.random.default_rng(0)
Y = ["p" if i % 2 else "q" for i in range(N)]
X = RNG.normal(size=(N, 4)).round(2) + 2 * (np.arange(N) % 2)[:, None] + 5
ROWS = [[*map(str, x.round(2)), y] for x, y in zip(X, Y, strict=True)]
HEAD = ["a", "b", "c", "d", "class"]
CLASSES = {"p": 30, "q": 30}


def text(rows=ROWS, head=HEAD, separator=","):
    return "".join(f"{separator.join(row)}\n" for row in ([head] if head else []) + rows)


def last(change):
    """Return the rows with the class of each changed by its number and what it was."""
    return [[*row[:-1], change(i, row[-1])] for i, row in enumerate(ROWS)]


WORDS = [
    [["vhigh", "low", "med"][i % 3], "25m"[i % 3], "24"[i // 2 % 2], ["acc", "unacc"][i % 2]]
    for i in range(N)
]
WIDE = [
    [*map(str, row), y] for row, y in zip(RNG.normal(size=(54, 1092)).round(3), Y, strict=False)
]
SISTERS = [
    [*map(str, RNG.normal(size=33).round(2)), *(y, y.upper(), "ab"[i % 3 > 0])]
    for i, y in enumerate(Y)
]
GERMAN = {"p": "größer", "q": "kleiner"}

READ_AT_ONCE = {
    "semicolons with stray blanks": (
        text(
            [[f" {c.replace('.', ',')} " for c in row] for row in ROWS],
            [" a", "b ", *HEAD[2:]],
            ";",
        ),
        "separated by semicolons",
    ),
    "tabs": (text(separator="\t"), "separated by tabs"),
    "trailing comma": (text([[*row, ""] for row in ROWS], [*HEAD, ""]), "column 6 .* ignored"),
    "two unnamed columns": (text(head=["a", "", "", "d", "class"]), "columns 2, 3 .* no name"),
    "two header rows": (
        text([HEAD, *ROWS], ["left", "", "right", "", ""]),
        "two rows of names",
    ),
    "two header rows, neither enough": (
        text([["mean", "sd", "mean", "sd", ""], *ROWS], ["left", "", "right", "", "class"]),
        "names that are in both are joined",
    ),
    "comments": ("# one\n# two\n" + text(), "2 lines above the header .* begin with #"),
    "UTF-16": (text().encode("utf-16"), "is read as UTF-16"),
    "54 x 1,093": (text(WIDE, [*(f"g{i}" for i in range(1092)), "class"]), ""),
}


@pytest.fixture
def typed(tmp_path, monkeypatch, capsys):
    """Return a function that fits rows.csv with words that are typed, and returns its answer."""
    monkeypatch.chdir(tmp_path)

    def fitted(content, *words, target="class", name="rows.csv"):
        if content is not None:
            data = content if isinstance(content, bytes) else content.encode()
            (tmp_path / name).write_bytes(data)
        target = () if target is None or "--target" in words else ("--target", target)
        arguments = ["fit", name, *target, "--model", "naive-bayes", "--out", "m.bgm", *words]
        code = main(arguments)
        output = capsys.readouterr()
        return code, output.out, output.err

    return fitted


@pytest.mark.filterwarnings("always")
@pytest.mark.parametrize("shape", READ_AT_ONCE)
def test_files_are_read_at_once_and_what_is_recognized_is_said(shape, typed):
    content, said = READ_AT_ONCE[shape]
    code, out, err = typed(content)
    assert code == 0, err
    counts = re.search(r"class: p (\d+), q (\d+)", out)
    assert [int(n) for n in counts.groups()] == ([27, 27] if "1,093" in shape else [30, 30])
    assert re.search(said, err), err
    # a saved model reads the same file again
    assert main(["predict", "m.bgm", "rows.csv", "--out", "answers.csv"]) == 0


TWO_TURNS = {
    "no header, numbers": (
        text(last(lambda i, y: str(int(y == "p"))), head=None),
        ["--no-header", "--target x4"],
        {"0": 30, "1": 30},
    ),
    "no header, repeated numbers": (
        text([["3", "3", row[-1]] for row in ROWS], head=None),
        ["--no-header", "--target x2"],
        CLASSES,
    ),
    "no header, words": (
        text(WORDS, head=None),
        ["--no-header", "--target x3"],
        {"acc": 30, "unacc": 30},
    ),
    "stray quotes": (
        text(last(lambda i, y: y)).replace(".", '."', 1)
        + "".join(f'"{i},1,2,3,p\n4,5"6,7,8,q\n' for i in range(17)),
        ["--stray-quotes"],
        {"p": 47, "q": 47},
    ),
    "None is no class": (
        text(last(lambda i, y: "None" if i % 10 == 0 else y)),
        ["--missing None"],
        {"p": 30, "q": 24},
    ),
    "NA is a level": (
        text(last(lambda i, y: "NA" if i % 10 == 0 else y)),
        ["--not-missing NA"],
        {"NA": 6, "p": 30, "q": 24},
    ),
    "two columns of one name": (
        text(head=['"a, in cm"', "b", '"a, in cm"', "d", "class"]),
        ['--names \'"a, in cm",b,"a, in cm.1",d,class\''],
        CLASSES,
    ),
    "a first row that looks like data": (
        text([["1.5", "2.5", "p"]] * 30 + [["2.5", "2.5", "q"]] * 30, head=["1.0", "2.0", "p"]),
        ["--header", "--target p"],
        None,
    ),
}


@pytest.mark.filterwarnings("always")
@pytest.mark.parametrize("shape", TWO_TURNS)
def test_what_is_advised_works_when_typed_as_printed(shape, typed):
    content, advice, classes = TWO_TURNS[shape]
    _, _, err = typed(content)
    for words in advice[:1] if classes is None else advice:
        assert words in err, err
    code, out, err = typed(None, *shlex.split(" ".join(advice)), "--json")
    assert code == 0, err
    if classes is not None:
        assert json.loads(out)["classes"] == classes


@pytest.mark.filterwarnings("always")
def test_latin_letters_and_marks_for_missing(typed):
    rows = [
        ["-" if i % 7 == 0 else row[0], *row[1:]]
        for i, row in enumerate(last(lambda i, y: GERMAN[y]))
    ]
    rows = [[*row[:-1], "Unknown"] if i % 10 == 0 else row for i, row in enumerate(rows)]
    content = text(rows, ["größe", *HEAD[1:]]).encode("latin-1")
    _, _, err = typed(content)
    assert "is not UTF-8; it is read as Windows-1252" in err
    code, out, err = typed(None, "--missing=-", "--missing", "Unknown", "--json")
    assert code == 0 and "word" in err
    facts = json.loads(out)
    assert facts["classes"] == {"größer": 30, "kleiner": 24}
    assert facts["rows_without_class"] == 6
    assert facts["columns"] == {"numeric": 4, "categorical": 0}
    assert "'größe' ('-' 9)" in err and "'class' ('Unknown' 6)" in err
    _, out, _ = typed(None, "--missing=-", "--missing", "Unknown")
    assert "no class  6 rows, read as rows without a label" in out


@pytest.mark.filterwarnings("always")
def test_a_class_called_none_is_one_for_command_path_and_table(typed):
    content = text(last(lambda i, y: "none" if i % 3 else y))
    _, out, err = typed(content, "--json")
    classes = json.loads(out)["classes"]
    assert classes["none"] == 40 and sum(classes.values()) == N and err == ""
    assert bg.NaiveBayes().fit("rows.csv", y="class").classes_.tolist() == ["none", "p", "q"]


@pytest.mark.filterwarnings("always")
def test_a_word_for_missing_that_is_a_class_is_one_for_scores(typed, capsys):
    typed(text(last(lambda i, y: "None" if i % 2 else y)))
    for rows, scored in ((None, 60), (text([*ROWS[:4], ["1", "2", "3", "4", "None"]]), 3)):
        if rows is not None:
            Path("rows.csv").write_text(rows)
        arguments = ["predict", "m.bgm", "rows.csv", "--target", "class", "--out", "p.csv"]
        assert main([*arguments, "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["scores"]["rows"] == scored


@pytest.mark.parametrize("options", [(), ("--target", "klass")])
def test_a_list_of_columns_never_hides_the_target(options, typed):
    names = [*(f"m{i}" for i in range(33)), "grade", "grade 2", "risk"]
    content = text(SISTERS, names)
    code, _, err = typed(content, *options, target=None)
    assert code == 1 and all(repr(name) in err for name in names)
    # of very many columns, those of few values come first
    wide = text(
        [[*row[:500], row[-1], *row[500:-1]] for row in WIDE], [f"m{i}" for i in range(1093)]
    )
    code, _, err = typed(wide, *options, target=None)
    assert code == 1 and re.search("(of|are) 'm500', 'm0'", err)


@pytest.mark.parametrize(("name", "content"), [("rows.xls", b"\xd0\xcf\x11\xe0" + bytes(600))])
def test_a_workbook_names_what_to_install(name, content, typed, monkeypatch):
    for package in ("xlrd", "python_calamine"):
        monkeypatch.setitem(sys.modules, package, None)
    code, _, err = typed(content, name=name)
    assert code == 1 and "Type: pip install python-calamine" in err and err.count("\n") == 1


def test_arff_is_read_at_once(typed):
    lines = ["@relation r", *(f"@attribute {name} numeric" for name in "abcd")]
    content = "\n".join([*lines, "@attribute class {p,q}", "@data", text(head=None)])
    code, out, err = typed(content, name="rows.arff")
    assert code == 0 and "class: p 30, q 30" in out and err == ""


@pytest.mark.filterwarnings("always")
def test_what_was_read_is_printed_before_the_fit(typed, monkeypatch, capsys):
    said = []

    def fit(self, X, y):
        said.append(capsys.readouterr())
        raise bg.errors.InvalidData("not today.")

    monkeypatch.setattr(bg.NaiveBayes, "fit", fit)
    rows = [[f"n{i}", f"{i:04d}", *row] for i, row in enumerate(ROWS)]
    typed(text(rows, ["name", "key", *HEAD], ";"))
    ((out, err),) = said
    assert out.startswith("data      rows.csv: 60 rows, 6 columns (4 numeric, 2 categorical)\n")
    assert "target    class: p 30, q 30" in out
    assert "separated by semicolons" in err and "column 'name' has 60 levels" in err
    assert "--drop name" in err and "--drop key" in err


@pytest.mark.filterwarnings("always")
def test_numbers_that_are_written_as_text_are_said_once_and_are_no_identifiers(typed):
    rows = [[f"{row[0]}%", f"${1000 + i:,}", *row[2:]] for i, row in enumerate(ROWS)]
    code, out, err = typed(text(rows, separator=";"))
    assert code == 0 and "(4 numeric, 0 categorical)" in out
    assert err.count("read as numbers such as") == 2 and "identifier" not in err
