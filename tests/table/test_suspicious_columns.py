"""Columns that look like something other than a feature: numbers written as text, row numbers."""

import re
import shlex

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import bayesgen as bg
from bayesgen.cli import main
from bayesgen.errors import InvalidData, SuspiciousColumn

IRIS, SPECIES = bg.datasets.load_iris()
CONTAINERS = {"pandas": lambda X: X, "polars": pl.from_pandas, "pyarrow": pa.Table.from_pandas}


def spoiled(cells=None):
    """Return iris with one column as text, some cells of which are no numbers."""
    text = IRIS["petal_length"].astype(str).to_numpy(dtype=object)
    for row, cell in ({17: "12,5"} if cells is None else cells).items():
        text[row] = cell
    return IRIS.assign(petal_length=text)


@pytest.mark.parametrize("container", CONTAINERS)
def test_cells_that_are_no_numbers_are_named_with_their_rows(container):
    X = CONTAINERS[container](spoiled())
    sentence = "column 'petal_length' is read as text, because 1 of its 150 cells is not a number: "
    with pytest.warns(SuspiciousColumn, match=f"{sentence}'12,5' in row 17") as caught:
        bg.NaiveBayes().fit(X, SPECIES)
    assert len(caught) == 1
    with pytest.raises(InvalidData, match="'petal_length' holds '12,5' in row 17; its likelihood"):
        bg.QDA().fit(X, SPECIES)
    clf = bg.QDA().fit(CONTAINERS[container](IRIS), SPECIES)
    with pytest.raises(InvalidData, match="'petal_length' holds '12,5' in row 17; its likelihood"):
        clf.predict(X)


def test_its_cures_run_when_typed(tmp_path, capsys):

    X = spoiled({17: "12,5", 20: "?", 21: "?"})
    with pytest.warns(
        SuspiciousColumn, match=r"'12,5' in row 17, '\?' in row 20, '\?' in row 21"
    ) as reported:
        bg.NaiveBayes().fit(X, SPECIES)
    text = str(reported[0].message)
    bg.NaiveBayes().fit(eval(re.search(r"X\.astype\(.*?\)", text)[0]), SPECIES)
    exec(re.search(r"X\['petal_length'\] = .*?\)", text)[0], {"X": X, "pandas": pd})
    assert X["petal_length"].isna().sum() == 3
    clf = bg.QDA(inference="map").fit(X, SPECIES)
    assert clf.score(IRIS, SPECIES) > 0.95
    path = str(tmp_path / "rows.csv")
    spoiled({17: "12,5", 20: "?", 21: "?"}).assign(species=SPECIES).to_csv(path, index=False)
    options = shlex.split(re.search(r"on the command line (.*?) makes them so\. ", text)[1])
    assert options == ["--missing", "12,5", "--missing", "?"]
    out = ["--model", "naive-bayes", "--out", str(tmp_path / "m.bgm")]
    arguments = ["fit", path, "--target", "species", *out]
    assert main([*arguments, *options]) == 0
    assert "Normal for sepal_length, sepal_width, petal_length" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_the_command_line_names_the_cells_too(tmp_path, capsys):
    path = str(tmp_path / "rows.csv")
    spoiled().assign(species=SPECIES).to_csv(path, index=False)
    assert main(["compare", path, "--target", "species", "--methods", "exact"]) == 0
    assert capsys.readouterr().err.count("'12,5' in row 17") == 1
    assert main(["fit", path, "--target", "species", "--out", str(tmp_path / "m.bgm")]) == 0
    assert capsys.readouterr().err.count("'12,5' in row 17") == 1


@pytest.mark.parametrize(
    "column",
    [
        ["0", "1", "2", "3+"] * 30,
        [f"code {i % 12}" for i in range(120)],
        [f"{i % 12}" for i in range(120)],
        pd.Categorical([*(f"{i % 12}" for i in range(119)), "?"]),
    ],
    ids=["levels", "names", "all numbers", "declared"],
)
def test_levels_are_not_taken_for_numbers(column):
    bg.NaiveBayes().fit(pd.DataFrame({"a": column}), np.arange(120) % 2)


def test_numbers_that_are_all_text_and_mixtures_of_types_have_cures_that_run():
    X = spoiled({})
    with pytest.raises(InvalidData, match="numbers that are written as text") as caught:
        bg.QDA().fit(X, SPECIES)
    cure = re.search(r"X\.astype\(.*\)", str(caught.value))[0]
    bg.QDA().fit(eval(cure), SPECIES)
    X = IRIS.astype({"petal_length": object})
    X.loc[17, "petal_length"] = "12,5"
    with pytest.raises(InvalidData, match=r"types float, str \('12,5' in row 17\)") as caught:
        bg.QDA().fit(X, SPECIES)
    import pandas  # noqa: F401

    exec(re.search(r"numbers (X.*?\)),", str(caught.value))[1], {"X": X, "pandas": pd})
    assert X["petal_length"].isna().sum() == 1


# --- row numbers ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "container"),
    [("", "polars"), ("Unnamed: 0", "pandas"), ("__index_level_0__", "pyarrow")],
)
def test_an_index_without_a_name_is_pointed_out(name, container, rng):
    X = IRIS.copy()
    X.insert(0, name, rng.permutation(150))
    X = CONTAINERS[container](X)
    with pytest.warns(SuspiciousColumn, match=f"column '{name}' has no name;") as caught:
        bg.NaiveBayes().fit(X, SPECIES)
    assert len(caught) == 1
    without = eval(re.search(r"X\.drop(_columns)?\(.*?\)", str(caught[0].message))[0])
    assert without.equals(CONTAINERS[container](IRIS))
    assert "index_col=0" in str(caught[0].message)


@pytest.mark.parametrize(
    ("ids", "container"),
    [
        (range(150), "pandas"),
        (range(1, 151), "polars"),
        (np.arange(150) ** 2 + 7, "pyarrow"),
    ],
)
def test_integers_that_rise_from_row_to_row_are_pointed_out(ids, container):
    X = CONTAINERS[container](IRIS.assign(id=ids))
    with pytest.warns(SuspiciousColumn, match="column 'id' holds integers that rise") as caught:
        bg.NaiveBayes().fit(X, SPECIES)
    assert len(caught) == 1
    bg.NaiveBayes().fit(eval(re.search(r"X\.drop\w*\(.*?\)", str(caught[0].message))[0]), SPECIES)
    with pytest.warns(SuspiciousColumn) as caught:
        bg.StackedClassifier([bg.NaiveBayes(), bg.LDA()]).fit(X, SPECIES)
    assert len(caught) == 1


HONEST = {
    "floats": np.arange(150.0),
    "years with repeats": 1900 + np.arange(150) // 3,
    "sorted": np.sort(np.arange(150) % 90),
    "shuffled": np.random.default_rng(0).permutation(150),
    "falling": np.arange(150)[::-1],
    "missing": pd.array([*range(149), None], dtype="Int64"),
}


@pytest.mark.parametrize("name", HONEST)
def test_other_columns_are_not_pointed_out(name):
    bg.NaiveBayes().fit(IRIS.assign(a=HONEST[name]), SPECIES)


def test_neither_arrays_nor_few_rows_nor_later_rows_are_pointed_out():
    bg.NaiveBayes().fit(np.arange(150)[:, None], SPECIES)
    few = pd.DataFrame({"a": range(20)})
    clf = bg.NaiveBayes().fit(few, np.arange(20) % 2)
    clf.predict(pd.DataFrame({"a": range(100)}))
    dropped = bg.NaiveBayes({"petal_width": bg.Normal()}, remainder="drop")
    dropped.fit(IRIS.assign(id=range(150)), SPECIES)


def test_a_comparison_says_it_once():
    X = IRIS.assign(id=range(150))
    found = bg.compare({"a": bg.NaiveBayes(), "b": bg.LDA()}, X, SPECIES, cv=2)
    assert repr(found).count("integers that rise from every row") == 1
    assert len(found.notes) == 1
