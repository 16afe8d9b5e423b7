"""The bundled tables: sizes, kinds, missing values and classes as their sources state them."""

import csv
import gzip

import numpy as np
import pandas as pd
import pytest
from references import table

from bayesgen import datasets
from bayesgen.errors import BayesgenError

# name: rows, text columns, number columns, missing cells, rows of each class
FACTS = {
    "biopsy": (699, 0, 9, 16, {"benign": 458, "malignant": 241}),
    "bow4": (4, 0, 4, 0, {"Science": 3, "History": 1}),
    "crabs": (200, 0, 5, 0, {"BF": 50, "BM": 50, "OF": 50, "OM": 50}),
    "housevotes84": (435, 16, 0, 392, {"democrat": 267, "republican": 168}),
    "iris": (150, 0, 4, 0, {"setosa": 50, "versicolor": 50, "virginica": 50}),
    "penguins": (344, 2, 4, 19, {"Adelie": 152, "Chinstrap": 68, "Gentoo": 124}),
    "play_tennis": (14, 4, 0, 0, {"No": 5, "Yes": 9}),
    "spam": (4601, 0, 57, 0, {"nonspam": 2788, "spam": 1813}),
    "titanic": (2201, 3, 0, 0, {"No": 1490, "Yes": 711}),
    "titanic_passengers": (1309, 2, 1, 263, {"no": 809, "yes": 500}),
    "voters": (8, 2, 1, 0, {"Clinton": 4, "Trump": 3, "Johnson": 1}),
    "voters_missing": (8, 2, 1, 3, {"Clinton": 4, "Trump": 3, "Johnson": 1}),
}


def load(name):
    return getattr(datasets, f"load_{name}")()


def test_names_lists_every_loader():
    loaders = {n.removeprefix("load_") for n in dir(datasets) if n.startswith("load_")}
    assert datasets.names() == tuple(sorted(loaders)) == tuple(FACTS)


def test_every_file_is_small_and_its_source_is_named():
    sources = (datasets.path("iris").parent / "SOURCES.md").read_text(encoding="utf-8")
    for name in datasets.names():
        path = datasets.path(name)
        assert path.stat().st_size < 150_000
        assert path.name in sources


def test_spam_is_that_of_the_repository():
    X, y = datasets.load_spam()
    # what spambase.names prints: mean of the last column, share of spam, largest of column 52
    assert X["capitalTotal"].mean() == pytest.approx(283.29, abs=0.005)
    assert (y == "spam").mean() == pytest.approx(0.394, abs=5e-5)
    assert X["charExclamation"].max() == pytest.approx(32.478, abs=1e-12)


def test_complete_biopsies_are_the_683_of_the_lectures():
    X, y = datasets.load_biopsy()
    complete = X.notna().all(axis=1)
    rows, labels = table("biopsy_complete")
    np.testing.assert_array_equal(X[complete].to_numpy(), rows.to_numpy())
    assert y[complete].to_list() == labels.to_list()


def test_house_votes_are_those_of_the_reference_answers():
    X, y = datasets.load_housevotes84()
    rows, labels = table("housevotes84")
    assert X.equals(rows) and y.equals(labels)


@pytest.mark.parametrize("name", FACTS)
def test_table_is_as_its_source_states(name):
    rows, texts, numbers, gaps, classes = FACTS[name]
    X, y = load(name)
    assert (len(X), len(y)) == (rows, rows)
    assert X.select_dtypes("number").shape[1] == numbers
    assert sum(pd.api.types.is_string_dtype(X[c].dropna()) for c in X) == texts
    assert X.isna().sum().sum() == gaps
    assert y.value_counts().to_dict() == classes
    assert y.name == datasets.target(name)
    assert y.name not in X
    path = datasets.path(name)
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", newline="", encoding="utf-8") as file:
        header, *lines = csv.reader(file)
    assert set(header) == {*X, y.name}
    assert len(lines) == rows


def test_two_loads_share_nothing():
    first, _ = datasets.load_iris()
    first.iloc[0, 0] = -1.0
    assert datasets.load_iris()[0].iloc[0, 0] == 5.1


@pytest.mark.parametrize("ask", [datasets.path, datasets.target])
def test_unknown_name_is_refused_and_the_given_ones_are_listed(ask):
    with pytest.raises(BayesgenError, match=r"titanik.*titanic_passengers") as caught:
        ask("titanik")
    assert isinstance(caught.value, ValueError)


def test_iris_is_fishers():
    from sklearn.datasets import load_iris

    X, y = datasets.load_iris()
    fisher = load_iris()
    np.testing.assert_array_equal(X.to_numpy(), fisher.data)
    assert y.to_list() == [fisher.target_names[code] for code in fisher.target]
