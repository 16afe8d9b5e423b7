"""The bundled tables: sizes, kinds of column, holes and classes as their sources state them."""

import csv

import numpy as np
import pandas as pd
import pytest

from bayesgen import datasets
from bayesgen.errors import BayesgenError

# name: rows, text columns, number columns, missing cells, rows of each class
FACTS = {
    "crabs": (200, 0, 5, 0, {"BF": 50, "BM": 50, "OF": 50, "OM": 50}),
    "iris": (150, 0, 4, 0, {"setosa": 50, "versicolor": 50, "virginica": 50}),
    "penguins": (344, 2, 4, 19, {"Adelie": 152, "Chinstrap": 68, "Gentoo": 124}),
    "play_tennis": (14, 4, 0, 0, {"No": 5, "Yes": 9}),
    "titanic": (2201, 3, 0, 0, {"No": 1490, "Yes": 711}),
    "titanic_passengers": (1309, 2, 1, 263, {"no": 809, "yes": 500}),
}


def load(name):
    return getattr(datasets, f"load_{name}")()


def test_names_lists_every_loader():
    loaders = {n.removeprefix("load_") for n in dir(datasets) if n.startswith("load_")}
    assert set(datasets.names()) == loaders == set(FACTS)


@pytest.mark.parametrize("name", FACTS)
def test_table_is_as_its_source_states(name):
    rows, texts, numbers, holes, classes = FACTS[name]
    X, y = load(name)
    assert (len(X), len(y)) == (rows, rows)
    assert X.select_dtypes("number").shape[1] == numbers
    assert sum(pd.api.types.is_string_dtype(X[c].dropna()) for c in X) == texts
    assert X.isna().sum().sum() == holes
    assert y.value_counts().to_dict() == classes
    assert y.name == datasets.target(name)
    assert y.name not in X


@pytest.mark.parametrize("name", FACTS)
def test_path_holds_the_same_table_with_its_target(name):
    X, y = load(name)
    with datasets.path(name).open(newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    assert set(header) == {*X, y.name}
    assert len(rows) == len(X)


def test_two_loads_share_nothing():
    first, _ = datasets.load_iris()
    first.iloc[0, 0] = -1.0
    assert datasets.load_iris()[0].iloc[0, 0] == 5.1


@pytest.mark.parametrize("ask", [datasets.path, datasets.target])
def test_unknown_name_is_refused_and_the_known_ones_are_listed(ask):
    with pytest.raises(BayesgenError, match=r"titanik.*titanic_passengers") as caught:
        ask("titanik")
    assert isinstance(caught.value, ValueError)


def test_iris_is_fishers():
    from sklearn.datasets import load_iris

    X, y = datasets.load_iris()
    fisher = load_iris()
    np.testing.assert_array_equal(X.to_numpy(), fisher.data)
    assert y.to_list() == [fisher.target_names[code] for code in fisher.target]
