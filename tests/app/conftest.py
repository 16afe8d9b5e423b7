"""Models that pages serve."""

import warnings

import pytest
from clients import Client

import bayesgen as bg


@pytest.fixture(scope="session")
def titanic():
    """Naive Bayes of the passengers, which keeps its rows."""
    return bg.NaiveBayes().fit(*bg.datasets.load_titanic_passengers())


@pytest.fixture(scope="session")
def penguins():
    """A stack of two members, of three classes."""
    X, y = bg.datasets.load_penguins()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return bg.StackedClassifier(["naive", "linear"], random_state=0, progress=False).fit(X, y)


@pytest.fixture(scope="session")
def client(titanic):
    """A client of the passengers."""
    return Client(titanic)
