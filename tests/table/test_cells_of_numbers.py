"""Cells that mean numbers: blanks around them, marks, units, and a code among them."""

import re
import shlex
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet

import bayesgen as bg
from bayesgen.cli import main
from bayesgen.errors import BayesgenWarning, InvalidData, SuspiciousColumn, UnsupportedOperation
from bayesgen.schema import reads_as_numbers
from bayesgen.schema.number_forms import NumberForm, learned
from bayesgen.table import read_table

N = 120
RNG = np.random.default_rng(0)
Y = pd.Series(np.where(np.arange(N) % 2, "no", "yes"), name="y")
X = pd.DataFrame(
    {
        "x": np.round(1500 + 300 * RNG.normal(size=N) + 350 * (Y == "yes")),
        "z": RNG.normal(size=N),
    }
)
ODD = 17


def at_odd(text):
    """Return the numbers as text, one of them as another."""
    return [text(f"{x:g}") if i == ODD else f"{x:g}" for i, x in enumerate(X["x"])]


def written(text):
    return list(map(text, X["x"]))


def swapped(text):
    return text.translate(str.maketrans(".,", ",."))


SHAPES = {
    "a tab": at_odd("{}\t".format),
    "a no-break space": at_odd("\u00a0{}".format),
    "a blank of no width": at_odd("\ufeff{}".format),
    "one blank": at_odd(lambda _: " "),
    "one no-break space": at_odd(lambda _: "\u00a0"),
    "percent": written("{:g}%".format),
    "money": written("${:,.2f}".format),
    "euros": written(lambda x: swapped(f"{x:,.2f} €")),
    "thousands": written("{:,.0f}".format),
    "blanks": written(lambda x: f"{x:,.0f}".replace(",", " ")),
    "decimal comma": written(lambda x: swapped(f"{x:,.1f}")),
    "unit": written("{:g} mg/dL".format),
    "years": written("{:g} years".format),
    "minus": written(lambda x: f"{x:g}".replace("-", "\u2212") if x else "\u22120"),
}
PLAIN = {"a tab", "a no-break space", "a blank of no width", "one blank", "one no-break space"}
NO_MARK = {"minus"}  # where no number is below 0 the form is that of programs


def numbers(shape):
    gone = shape in ("one blank", "one no-break space")
    return X.assign(x=X["x"].mask(X.index == ODD)) if gone else X


def fitted(rows, y=Y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BayesgenWarning)
        return bg.NaiveBayes(random_state=0).fit(rows, y)


@pytest.mark.filterwarnings("ignore::bayesgen.errors.BayesgenWarning")
@pytest.mark.parametrize(
    "door", ["pandas", "objects", "polars", "pyarrow", "csv", "parquet", "parts"]
)
@pytest.mark.parametrize("shape", [name for name in SHAPES if name not in NO_MARK])
def test_a_column_is_read_as_its_numbers_by_every_door(shape, door, tmp_path):
    T, expected = X.assign(x=SHAPES[shape]), fitted(numbers(shape))
    # pyarrow reads numbers with a tab, or a blank cell, as such
    rows = X if door == "csv" and shape in ("a tab", "one blank") else T
    whole, y = T.assign(y=Y), "y"
    match door:
        case "pandas":
            source, y = T, Y
        case "objects":
            source, y = T.astype({"x": object}), Y
        case "polars":
            source, y = pl.from_pandas(T), Y
        case "pyarrow":
            source, y = pa.Table.from_pandas(T), Y
        case "csv":
            source = str(tmp_path / "rows.csv")
            whole.to_csv(source, index=False)
        case "parquet":
            source = str(tmp_path / "rows.parquet")
            parquet.write_table(pa.Table.from_pandas(whole), source)
        case "parts":
            source = [whole[:50], whole[50:]]
    clf = fitted(source, y)
    known = X if rows is X else numbers(shape)
    np.testing.assert_allclose(clf.predict_proba(rows), expected.predict_proba(known), rtol=1e-9)
    # new rows: one, and numbers as such
    np.testing.assert_allclose(
        clf.predict_proba(rows[3:4]), expected.predict_proba(X[3:4]), rtol=1e-9
    )
    np.testing.assert_allclose(clf.predict_proba(X), expected.predict_proba(X), rtol=1e-9)
    if door == "csv":
        answers = clf.predict_proba(source)
        found = np.concatenate([np.asarray(part, dtype=float) for part in answers])
        np.testing.assert_allclose(found, expected.predict_proba(numbers(shape)), rtol=1e-9)


@pytest.mark.parametrize("shape", [name for name in SHAPES if name not in NO_MARK])
def test_one_note_names_the_column_and_a_cell(shape):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        bg.NaiveBayes().fit(X.assign(x=SHAPES[shape]), Y)
    (said,) = [str(w.message) for w in caught if w.category is SuspiciousColumn]
    if shape in PLAIN:
        assert "its texts are numbers but for blanks" in said
    else:
        assert f"{SHAPES[shape][0]!r} in row 0 is {X['x'][0]:g}. " in said or "such as" in said
    cure = re.search(r"X\.astype\(.*?\)", said)[0]
    text = eval(cure, {"X": X.assign(x=SHAPES[shape])})
    assert not reads_as_numbers(read_table(text).columns[0])


def test_a_decorated_column_is_imputed_in_its_own_form():
    T = X.assign(x=pd.Series(SHAPES["money"], dtype="str").mask(X.index % 5 == 0))
    for frame in (T, pl.from_pandas(T), pa.Table.from_pandas(T)):
        cells = pa.table({"x": fitted(frame).impute(frame, random_state=0)["x"]})["x"].to_pylist()
        assert all(re.fullmatch(r"-?\$\d{1,3}(,\d{3})*\.\d\d\d*", cell) for cell in cells)
        kept = [cell for i, cell in enumerate(cells) if i % 5]
        assert kept == [cell for i, cell in enumerate(SHAPES["money"]) if i % 5]


@pytest.mark.parametrize(
    ("cell", "form"),
    [
        ("few", "money"),
        ("1.234,5 €", "money"),
        ("5 %", "money"),
        ("12,5", "years"),
        ("3 months", "years"),
    ],
)
def test_a_cell_of_another_form_is_refused_with_its_row(cell, form):
    clf = fitted(X.assign(x=SHAPES[form]))
    words = {"money": r"\$1,234\.50", "years": "12 years"}[form]
    message = (
        rf"column 'x' holds '{re.escape(cell)}' in row 2, and was read as numbers such as '{words}'"
    )
    rows = X.assign(x=SHAPES[form])[:5]
    rows.loc[2, "x"] = cell
    with pytest.raises(InvalidData, match=message):
        clf.predict_proba(rows)
    # None in its place is what the sentence says
    rows.loc[2, "x"] = None
    assert clf.predict_proba(rows).shape == (5, 2)


def test_two_forms_are_not_merged():
    one, other = (fitted(X.assign(x=SHAPES[form])) for form in ("money", "euros"))
    sentence = r"'x' is written as numbers such as '\$1,234\.50' in one table and as numbers such"
    with pytest.raises(UnsupportedOperation, match=sentence):
        one.merge(other)


# -- codes -----------------------------------------------------------------------------------------

CODES = ["?", "-", ".", "unknown", "--", "99 or more"]


def with_code(code, text="{:g}".format, share=2):
    return X.assign(x=[code if i % share == 0 else text(x) for i, x in enumerate(X["x"])])


@pytest.mark.filterwarnings("ignore:the class frequencies", "ignore:NaiveBayes")
@pytest.mark.parametrize("share", [2, 40])
@pytest.mark.parametrize("text", ["{:g}", "${:,.0f}"])
@pytest.mark.parametrize("code", CODES)
def test_a_code_is_named_and_its_cures_work_when_typed(code, text, share, tmp_path, capsys):
    T = with_code(code, text.format, share)
    path, model = str(tmp_path / "rows.csv"), str(tmp_path / "m.bgm")
    T.assign(y=Y).to_csv(path, index=False)
    known = X.assign(x=X["x"].where(X.index % share > 0))
    expected = fitted(known).predict_proba(known)
    with pytest.warns(SuspiciousColumn, match="column 'x' is read as text, because") as caught:
        bg.NaiveBayes().fit(T, Y)
    (said,) = [str(w.message) for w in caught if "column 'x'" in str(w.message)]
    assert "identifier" not in said
    assert f"{code!r} in row 0" in said
    scope = {"X": T.copy(), "pandas": pd}
    exec(re.search(r"X\['x'\] = .*?(?=; on)", said)[0], scope)
    np.testing.assert_allclose(fitted(scope["X"]).predict_proba(scope["X"]), expected, rtol=1e-9)
    fit = ["fit", path, "--target", "y", "--model", "naive-bayes", "--out", model]
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        assert main(fit) == 0
    error = capsys.readouterr().err
    typed = re.search(r"If they mean missing, add (.*?) to the command\.", error)[1]
    assert typed in said
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        assert main([*fit, *shlex.split(typed)]) == 0
    assert "Normal for x, z" in capsys.readouterr().out
    found = bg.load(model).predict_proba(known)
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_the_command_line_says_how_a_strange_new_cell_becomes_missing(tmp_path, capsys):
    path, model, new = (str(tmp_path / name) for name in ("rows.csv", "m.bgm", "new.csv"))
    X.assign(x=SHAPES["money"], y=Y).to_csv(path, index=False)
    with_code(".", "${:,.2f}".format, 7).to_csv(new, index=False)
    fit = ["fit", path, "--target", "y", "--model", "naive-bayes", "--out", model]
    predict = ["predict", model, new, "--out", str(tmp_path / "out.csv")]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert main(fit) == 0
        capsys.readouterr()
        assert main(predict) != 0
        error = " ".join(capsys.readouterr().err.split())
        assert "column 'x' holds '.' in row 0" in error
        typed = re.search(r"means missing, add (.*?) to the command", error)[1]
        assert main([*predict, *shlex.split(typed)]) == 0


# -- what stays levels -----------------------------------------------------------------------------

LEVELS = {
    "clean codes": [f"{i % 12}" for i in range(N)],
    "bounds among few levels": ["0", "1", "2", "3+"] * 30,
    "stages": [f"stage {i % 4}" for i in range(N)],
    "quarters": [f"Q{i % 4}" for i in range(N)],
    "answers": ["1,2", "1,3", "2,3", "1"] * 30,
    "ordinals": [f"{4 + i % 5}th" for i in range(N)],
    "units": [f"{1 + i % 9} {('m', 'ms')[i % 2]}" for i in range(N)],
    "a few months": [*(f"{i % 8}" for i in range(N - 5)), *["8 months"] * 5],
    "half of them months": [f"{1 + i % 8}" + " months" * (i % 2) for i in range(N)],
    "or more": [f"{1 + i % 8} or more" for i in range(N)],
    "to 7": [f"{1 + i % 8} to 9" for i in range(N)],
    "dates": [f"{1 + i % 9}.05.2020" for i in range(N)],
    "times": [f"{1 + i % 9}:30" for i in range(N)],
    "ordered words": ["low", "medium", "high"] * 40,
    "ambiguous": [f"{1 + i % 3},234" if i % 2 else f"{i % 3}2345" for i in range(N)],
}


@pytest.mark.parametrize("name", LEVELS)
def test_other_texts_stay_levels(name):
    column = read_table(pd.DataFrame({"x": LEVELS[name]})).columns[0]
    assert not reads_as_numbers(column)
    assert not any(column.values < 0)


def test_ranges_and_bounds_stay_levels_with_a_note_whose_cure_works():
    ranges = X.assign(x=[f"{int(x) // 50 * 50}-{int(x) // 50 * 50 + 49}" for x in X["x"]])
    bounds = X.assign(x=["< 1000" if x < 1200 else f"{x:g}" for x in X["x"]])
    for T, middle, sentence in (
        (ranges, [int(x) // 50 * 50 + 24.5 for x in X["x"]], "holds ranges of numbers, such as '"),
        (bounds, np.where(X["x"] < 1200, 1000, X["x"]), "is read as text, because"),
    ):
        with pytest.warns(SuspiciousColumn, match=f"column 'x' {sentence}") as caught:
            bg.NaiveBayes(temper="columns").fit(T, Y)
        said = next(str(w.message) for w in caught if "column 'x'" in str(w.message))
        scope = {"X": T.copy()}
        exec(re.search(r"X\['x'\] = .*?\)(?=\. If)", said)[0], scope)
        np.testing.assert_array_equal(scope["X"]["x"], middle)


def test_few_decimal_commas_are_numbers_where_a_likelihood_needs_them_by_a_cure_that_works():
    T = X.assign(x=[("1,5", "2,25", "3,0")[i % 3] for i in range(N)])
    with pytest.raises(InvalidData, match="holds numbers that are written as text") as caught:
        bg.LDA().fit(T, Y)
    cure = re.search(r"Make them numbers: (.*)\.$", str(caught.value))[1]
    exec(cure, {"X": T})
    assert T["x"].tolist()[:3] == [1.5, 2.25, 3.0]


def test_a_code_among_numbers_has_a_cure_where_a_likelihood_needs_these():
    T = with_code("?", "${:,.0f}".format, 3)
    with pytest.raises(InvalidData, match=r"'x' holds '\?' in row 0, '\?' in row 3") as caught:
        bg.LDA().fit(T, Y)
    scope = {"X": T.copy()}
    exec(re.search(r"X\['x'\] = .*?(?=; on)", str(caught.value))[0], scope)
    assert reads_as_numbers(read_table(scope["X"]).columns[0])


def test_a_zero_needs_no_unit():
    cells = ["0" if i % 2 else f"{i} %" for i in range(N)]
    assert reads_as_numbers(read_table(pd.DataFrame({"x": cells})).columns[0])


def test_plain_decimals_with_a_point_stay_what_they_are():
    form, fits = learned(["1.234", "12.5", "0.125"], [1, 1, 1])
    assert form.is_bare and all(fits)
    assert form.read("1.234") == 1.234
    assert not reads_as_numbers(read_table(pd.DataFrame({"x": ["1.234", "2.345"]})).columns[0])


def test_a_mark_that_may_be_two_things_is_read_as_other_cells_show():
    for texts, values in (
        (["1.234 €", "950,5 €"], [1234, 950.5]),
        (["1.234 €", "950.5 €"], [1.234, 950.5]),
        (["$1,234", "$12.5"], [1234, 12.5]),
        (["1,234 kg", "0,125 kg"], [1.234, 0.125]),
        (["1.234.567 kg", "1.234 kg"], [1234567, 1234]),
    ):
        form, fits = learned(texts, [1] * len(texts))
        assert all(fits)
        assert [form.read(text) for text in texts] == values
    known = NumberForm(after=" €", decimal=",")
    form, _ = learned(["1.234 €"], [1], known)
    assert form.read("1.234 €") == 1234


@pytest.mark.parametrize("number", [0.0, 1.0, -1.0, 0.1, 1234.5, -98765.4321, 1e-7, 12345678901.25])
@pytest.mark.parametrize(
    "form",
    [
        NumberForm("$", thousands=",", least=2, most=2),
        NumberForm(after=" kg", thousands=".", decimal=",", most=4),
        NumberForm(after=" years", one=" year", most=1),
        NumberForm(thousands="\u202f", decimal=",", minus="\u2212", most=2),
    ],
)
def test_what_is_written_is_read_back(form, number):
    number = round(number, 7)
    assert form.read(form.written(number)) == pytest.approx(number, rel=1e-8)


# -- blanks around levels and labels ---------------------------------------------------------------


def test_blanks_around_levels_are_no_part_of_them():
    sex = np.where(RNG.random(N) < 0.5 + 0.3 * (Y == "yes"), "f", "m").astype(object)
    T, padded = X.assign(sex=sex), X.assign(sex=sex)
    padded.loc[::3, "sex"] = [f"\t{s}\u00a0" for s in padded["sex"][::3]]
    expected = fitted(T).predict_proba(T)
    with warnings.catch_warnings():
        warnings.simplefilter("error", SuspiciousColumn)
        clf = bg.NaiveBayes().fit(padded, Y)
    np.testing.assert_array_equal(clf.predict_proba(T), expected)
    np.testing.assert_array_equal(fitted(T).predict_proba(padded), expected)
    # a declared level is what its declaration says
    declared = read_table(padded.astype({"sex": "category"})).columns[2]
    assert "\tf\u00a0" in declared.levels


def test_labels_that_differ_by_blanks_are_one_and_keep_a_name_of_rows():
    padded = Y.where(Y.index % 3 > 0, Y + "\t")
    clf = fitted(X, padded)
    assert clf.classes_.tolist() == ["no", "yes"]
    np.testing.assert_array_equal(clf.predict_proba(X), fitted(X).predict_proba(X))
    assert fitted(X, Y + " ").classes_.tolist() == ["no ", "yes "]
    clf = bg.NaiveBayes().partial_fit(X[:60], Y[:60] + " ").partial_fit(X[60:], Y[60:] + "\t")
    assert clf.classes_.tolist() == ["no ", "yes "]
    percent = Y.map({"no": "5 %", "yes": "7 %"})
    assert fitted(X, percent).classes_.tolist() == ["5 %", "7 %"]


@pytest.mark.parametrize("other", ["{:g} g", "{:g}"])
def test_numbers_in_several_units_are_told_so_and_stay_levels(other):
    cells = [(f"{i + 1} kg" if i % 4 else other.format(1000 * i + 1)) for i in range(N)]
    T = X.assign(x=cells)
    with pytest.warns(SuspiciousColumn) as caught:
        clf = bg.NaiveBayes().fit(T, Y)
    (said,) = {str(warning.message) for warning in caught if "'x'" in str(warning.message)}
    assert "numbers in several units" in said and "'2 kg'" in said and "identifier" not in said
    assert not reads_as_numbers(read_table(T).columns[list(T).index("x")])
    assert "x" in clf.state_.schema.used()
