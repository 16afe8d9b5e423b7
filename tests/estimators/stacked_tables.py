"""Tables, and stacks fitted to them, for the tests of what stacks answer."""

from functools import cache

import numpy as np

import bayesgen as bg


def passengers(step=8):
    X, y = bg.datasets.load_titanic_passengers()
    X, y = X[X["age"].notna()], y[X["age"].notna()]
    X, y = X[::step].reset_index(drop=True), y[::step].reset_index(drop=True)
    return X.astype({"sex": "category", "passengerClass": "category"}), y


def iris(step=3):
    X, y = bg.datasets.load_iris()
    return X[::step].reset_index(drop=True), y[::step].reset_index(drop=True)


def holed(X, share=0.3, seed=0):
    gaps = np.random.default_rng(seed).random(X.shape) < share
    gaps[0] = True
    return X.mask(gaps).astype(X.dtypes), gaps


@cache
def mixed_stack():
    """Return a stack of levels and numbers, and its rows."""
    X, y = passengers()
    return bg.StackedClassifier(random_state=0).fit(X, y), X, y


@cache
def flower_stack():
    """Return a stack of three members, one of them tempered, and its rows."""
    X, y = iris()
    members = {"naive": bg.NaiveBayes(), "QDA": bg.QDA(), "LDA": bg.LDA(temper=0.7)}
    return bg.StackedClassifier(members, random_state=0).fit(X, y), X, y
