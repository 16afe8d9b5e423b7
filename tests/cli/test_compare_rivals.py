"""Rivals of other packages: the sentence without them, and CatBoost and LightGBM where installed.

To run the latter: uv run --with catboost --with lightgbm pytest -m slow THIS_FILE.
"""

import re
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import bayesgen as bg
from bayesgen.cli import main
from bayesgen.errors import InvalidArgument, MissingPackage

PACKAGES = ("catboost", "lightgbm")


@pytest.fixture
def rows():
    X, y = bg.datasets.load_titanic_passengers()
    X, y = X.iloc[::4].reset_index(drop=True), y.iloc[::4].reset_index(drop=True)
    return X.assign(sex=X.sex.where(X.index % 9 > 0)), y


@pytest.mark.parametrize("name", PACKAGES)
def test_without_the_package_one_sentence_says_what_to_install(rows, name, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingPackage, match=rf"needs the package {name}.*pip install {name}\."):
        bg.compare(*rows, rivals=[name])
    assert main(["compare", "titanic_passengers", "--rivals", name]) == 1
    assert f"pip install {name}" in capsys.readouterr().err


def test_rivals_stand_beside_stated_classifiers(rows):
    found = bg.compare({"LDA": bg.NaiveBayes()}, *rows, cv=2, rivals=["frequencies"])
    assert list(found.table.index) == ["LDA", "frequencies"]
    with pytest.raises(InvalidArgument, match=r"both hold 'frequencies'.*Rename"):
        bg.compare({"frequencies": bg.NaiveBayes()}, *rows, rivals=["frequencies"])


def test_rivals_replace_the_default_ones(rows):
    X, y = rows
    found = bg.compare(X[:80], y[:80], cv=2, rivals=["frequencies"])
    assert list(found.table.index)[-1] == "frequencies" and "logistic" not in found.table.index


@pytest.mark.slow
@pytest.mark.parametrize("name", PACKAGES)
@pytest.mark.parametrize("of", [lambda X: X, pl.from_pandas, pa.Table.from_pandas])
def test_levels_and_missing_cells_go_in_as_they_are(rows, name, of):
    """Every container gives the probabilities of the package itself on pandas categories."""
    package = pytest.importorskip(name)
    X, y = rows
    X = X.rename(columns={"sex": 'se"x:[,]'})
    found = bg.compare({"exact": bg.NaiveBayes()}, of(X), y, cv=2, rivals=[name])
    argument = {"catboost": "cat_features", "lightgbm": "categorical_feature"}[name]
    assert found.table.loc[name, "prepared_by"] == argument and name not in found.warnings
    fit, scored = found.rows[found.fold == 1], found.rows[found.fold == 0]
    if name == "lightgbm":
        cells = pd.DataFrame({f"c{j}": X[c] for j, c in enumerate(X)})
        for column in cells.select_dtypes(exclude="number"):
            cells[column] = cells[column].astype("category")
        clf, named = package.LGBMClassifier(random_state=0, verbose=-1), {}
    else:
        levels = X.select_dtypes(exclude="number").columns.tolist()
        cells = X.assign(**{c: X[c].astype("category").cat.codes.astype(str) for c in levels})
        clf = package.CatBoostClassifier(random_seed=0, verbose=False, allow_writing_files=False)
        named = {"cat_features": levels}
    fit = np.sort(fit)
    clf.fit(cells.iloc[fit], y.iloc[fit], **named)
    proba = clf.predict_proba(cells.iloc[scored])
    np.testing.assert_allclose(found.probabilities[name][found.fold == 0], proba, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("name", PACKAGES)
def test_command_compares_them(name, capsys):
    pytest.importorskip(name)
    command = ["compare", "penguins", "--methods", "exact", "--rivals", name]
    assert main([*command, "--train-rows", "all", "--cv", "2"]) == 0
    assert name in capsys.readouterr().out


def test_one_name_is_one_rival():
    X, y = bg.datasets.load_iris()
    found = bg.compare({"LDA": bg.LDA()}, X, y, rivals="frequencies", cv=2, progress=False)
    assert list(found.table.index) == ["LDA", "frequencies"]


def test_rivals_that_are_typed_wrong_are_refused(capsys):
    assert main(["compare", "iris", "--rivals", "logistik"]) == 2
    printed = " ".join(re.sub("│", "", capsys.readouterr().err).split())
    assert '"none". Did you mean "logistic"?' in printed
    assert main(["compare", "iris", "--rivals", "none,logistic"]) == 1
    assert "Type --rivals none, or --rivals logistic." in capsys.readouterr().err
