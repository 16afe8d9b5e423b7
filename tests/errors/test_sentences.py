"""A sentence is data: its template, fields, place and cure, written last, in either language."""

import ast
import inspect
import pickle
import re
import string
from pathlib import Path

import pytest

from bayesgen import errors
from bayesgen.cli.main import application
from bayesgen.errors import (
    BayesgenError,
    BayesgenWarning,
    Cure,
    InvalidData,
    Words,
    dialect,
    wording,
)
from bayesgen.errors.notes import merged, merged_by_name, note

PACKAGE = Path(inspect.getfile(errors)).parents[1]
FILES = sorted(PACKAGE.rglob("*.py"))
TREES = {path: ast.parse(path.read_text(encoding="utf-8")) for path in FILES}
KINDS = [kind for kind in vars(errors).values() if isinstance(kind, type)]
KINDS = [kind for kind in KINDS if issubclass(kind, BayesgenError | BayesgenWarning)]
DROP = Cure("Pass X.drop(columns={column!r}).", "Add --drop {column:option}.")


def sentence():
    return InvalidData(
        "{table} has {cells:cells} in column {column!r}{row:in_row}.",
        DROP,
        table=Words("X", "the file"),
        cells=[("low", 2)],
        column="pa tient",
        row=3,
    )


def test_it_is_written_in_the_language_of_its_reader():
    said = "X has 'low' in row 2 in column 'pa tient' in row 3. Pass X.drop(columns='pa tient')."
    typed = "the file has 'low' in row 2 in column 'pa tient' in row 3. Add --drop 'pa tient'."
    assert str(sentence()) == said
    assert sentence().written("shell") == typed


def test_rows_are_counted_on_from_those_of_the_part():
    error = sentence().at(part="file 'b.csv'", rows=range(1000, 1010))
    assert str(error).startswith("file 'b.csv', rows 1,000 to 1,009: X has 'low' in row 1,002 in")
    assert "in row 1,003." in str(error)


def test_the_one_row_to_blame_is_named_once():
    error = sentence().at(part="part 2", rows=range(1000, 1010), row=1003)
    assert str(error).startswith("part 2, row 1,003: X has 'low' in column 'pa tient'. Pass")


def test_place_and_fields_are_added_later():
    error = sentence().at(part="part 2", row=9)
    assert error.at(column="b") is error
    assert str(error).startswith("part 2, row 9: X has 'low' in column 'b'.")


def test_without_fields_a_template_is_the_text():
    assert str(BayesgenError("pass {column: likelihood}.", "Or {}.")) == (
        "pass {column: likelihood}. Or {}."
    )


def test_it_is_pickled_in_both_languages_whatever_its_values_are():
    error = InvalidData("{value} is odd.", Cure("{value}!", "--x"), value=lambda: 0)
    error.add_note("in classifier 'a'")
    copy = pickle.loads(pickle.dumps(error.at(part="part 3")))
    assert type(copy) is InvalidData and copy.__notes__ == ["in classifier 'a'"]
    assert str(copy) == str(error) and copy.written("shell") == error.written("shell")


def test_warnings_that_differ_in_numbers_columns_and_classes_are_merged():
    odd = "column {column!r} has {count:,} odd cells in class {label!r}."
    some = [
        note(BayesgenWarning(odd, DROP, column=c, count=n, label=k))
        for c, n, k in (("a", 3, 0), ("a", 20, 0), ("b", 3, 1))
    ]
    other = note(BayesgenWarning("{estimator} is odd.", estimator="LDA"))
    first, last = merged_by_name({"MLE": [*some, other], "MAP": some[:1]})
    more = " (and 2 more like it: 2 columns, 2 classes)"
    assert str(first).startswith("MLE, MAP: column 'a' has 3 odd cells") and str(first).endswith(
        more
    )
    assert first.text("shell").endswith("Add --drop a." + more)
    assert str(last) == "MLE: LDA is odd."
    again = [*some, pickle.loads(pickle.dumps(some[1])), other]
    assert list(map(str, merged(again))) == [str(first).removeprefix("MLE, MAP: "), "LDA is odd."]
    assert [str(one) for one in merged(map(note, (UserWarning("a 1"), UserWarning("a 2"))))] == [
        "a 1",
        "a 2",
    ]


def test_kinds_are_few():
    assert len(KINDS) == 21
    assert len([kind for kind in KINDS if issubclass(kind, UserWarning)]) == 13


# -- the sentences of the package ------------------------------------------------------------------


def sentences():
    """Yield where a sentence stands, its templates, and the names of its fields."""
    names = {kind.__name__ for kind in KINDS}
    for path, tree in TREES.items():
        for call in ast.walk(tree):
            if isinstance(call, ast.Call) and getattr(call.func, "id", "") in names and call.args:
                words = [part for argument in call.args for part in ast.walk(argument)]
                texts = [n.value for n in words if isinstance(n, ast.Constant)]
                whole = all(
                    isinstance(n, ast.Constant | ast.Call | ast.Name | ast.Load) for n in words
                )
                yield f"{path}:{call.lineno}", texts, whole, [word.arg for word in call.keywords]


def test_every_sentence_is_given_its_fields():
    count = 0
    for where, texts, whole, fields in sentences():
        count += 1
        if not whole or None in fields or not fields:
            continue
        parsed = (field for text in texts for _, field, *_ in string.Formatter().parse(text))
        used = {re.split(r"[.[]", field)[0] for field in parsed if field}
        assert used <= set(fields), where
        assert set(fields) <= used or len(texts) < 2, where
    assert count > 250


def test_formats_of_fields_are_those_of_the_writer():
    words = "|".join(["in_row", "cells", *wording.FORMATS, *dialect.TYPED])
    known = re.compile(rf"(?:{words})\b|[,.\dgf]*$")
    for where, texts, whole, fields in sentences():
        for text in texts if whole and fields and None not in fields else ():
            for _, _, spec, _ in string.Formatter().parse(text):
                assert known.match(spec or ""), where


def options():
    """Return the options of all commands."""
    app = application()
    found = set()
    for name in ("compare", "fit", "merge", "predict", "report", "datasets"):
        for argument in app[name].assemble_argument_collection():
            found.update(argument.names)
    return found


def test_cures_for_the_shell_name_options_of_the_command_line():
    typed = set()
    for tree in TREES.values():
        for call in ast.walk(tree):
            if isinstance(call, ast.Call) and getattr(call.func, "id", "") in ("Cure", "Words"):
                for part in ast.walk(call.args[-1]):
                    if isinstance(part, ast.Constant) and isinstance(part.value, str):
                        typed.update(re.findall(r"--[a-z][a-z-]+", part.value))
    assert len(typed) >= 8
    assert typed <= options()


@pytest.mark.parametrize("room", ["errors", "cli"])
def test_no_pattern_reads_a_sentence(room):
    for path in (PACKAGE / room).rglob("*.py"):
        assert "import re\n" not in path.read_text(encoding="utf-8"), path
