"""What people pass as X by mistake: one sentence, and what it says to type makes a table of it."""

import re
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import bayesgen as bg
from bayesgen import errors

pytestmark = pytest.mark.usefixtures("no_type_checks")


@cache
def iris():
    """Return ten rows of each class."""
    X, y = bg.datasets.load_iris()
    return X[::5].reset_index(drop=True), y[::5].reset_index(drop=True)


def stacked():
    return bg.StackedClassifier([bg.LDA()], random_state=0)


ESTIMATORS = (bg.NaiveBayes, bg.QDA, bg.BagOfWords, stacked, bg.GenerativeClassifier)


def counts(X):
    """Return a table of whole numbers, which every estimator takes."""
    return X.round().astype(int)


def not_tables(tmp_path):
    """Return what is passed by mistake -> what the sentence begins with, and what cures it."""
    X = counts(iris()[0])
    file = tmp_path / "iris.csv"
    X.to_csv(file, index=False)
    array = X.to_numpy()
    return {
        "three axes": (array[:, :, None], "Expected 2D array, got 3D"),
        "lists of three axes": (array[:, :, None].tolist(), "Expected 2D array, got 3D"),
        "one axis": (array[:, 0], "Expected 2D array, got 1D"),
        "complex": (array + 1j * array[::-1], "Complex data not supported: X holds"),
        "dict": (X.to_dict("list"), "X is a dict of columns"),
        "dict of dicts": (X.to_dict(), "X is a dict of columns"),
        "a pandas Series": (X["petal_width"], "Expected 2D array, got 1D .* X is a Series"),
        "a polars Series": (pl.Series("a", array[:, 0]), "Expected 2D .* X is a Series"),
        "a pyarrow array": (pa.chunked_array([array[:, 0]]), "Expected 2D .* X is a ChunkedArray"),
        "a LazyFrame": (pl.from_pandas(X).lazy(), "X is a LazyFrame, a query"),
        "a path": (file, "X is the path"),
        "the name of a file": (str(file), "X is the path"),
        "a generator": ((row for row in array), "X is of type generator"),
        "nothing": (None, "X is of type NoneType"),
        "a number": (3, "X is of type int"),
    }


MODULES = {"numpy": np, "pandas": pd, "pyarrow": pa}
NAMES = list(not_tables(Path("/tmp")))
UNCURED = ("nothing", "a number")


# one function reads the tables of all estimators
PAIRS = [*((bg.NaiveBayes, name) for name in NAMES), *((make, "one axis") for make in ESTIMATORS)]


@pytest.mark.parametrize(("make", "name"), dict.fromkeys(PAIRS))
def test_what_is_no_table_is_refused_and_cured(make, name, tmp_path):
    X, sentence = not_tables(tmp_path)[name]
    y = iris()[1]
    with pytest.raises(errors.BayesgenError, match=f"^{sentence}") as caught:
        make().fit(X, y)
    reported = str(caught.value)
    assert isinstance(caught.value, ValueError | TypeError)
    assert "\n" not in reported and len(reported.replace(str(tmp_path), "")) < 400
    if name not in UNCURED:
        cure = re.search(
            r"X\.\w+\(\)|(?:numpy|pandas|pyarrow)\.\w+\(.*\)", reported.split(" if ")[0]
        )
        assert cure, reported
        make().fit(eval(cure[0], {**MODULES, "X": X}), y)


@pytest.mark.parametrize("name", ["three axes", "dict", "a LazyFrame", "a path", "nothing"])
def test_what_is_no_table_is_refused_everywhere(name, tmp_path):
    """At predict, in a comparison, and by a program of the user's own."""
    y = iris()[1]
    clf = bg.NaiveBayes().fit(counts(iris()[0]), y)
    for call in (clf.score_samples, clf.impute):
        X, sentence = not_tables(tmp_path)[name]
        with pytest.raises(errors.BayesgenError, match=f"^{sentence}"):
            call(X)
    X, sentence = not_tables(tmp_path)[name]
    with pytest.raises(errors.BayesgenError, match=f"^{sentence}"):
        bg.compare({"lda": bg.LDA()}, X, y, progress=False)
