"""Tables, and stacks fitted to them, for the tests of what stacks answer."""

from functools import cache

import numpy as np
import pandas as pd

import bayesgen as bg


def passengers(step=8):
    X, y = bg.datasets.load_titanic_passengers()
    X, y = X[X["age"].notna()], y[X["age"].notna()]
    X, y = X[::step].reset_index(drop=True), y[::step].reset_index(drop=True)
    return X.astype({"sex": "category", "passengerClass": "category"}), y


def iris(step=3):
    """Return flowers of uneven classes, which a class prior taken away twice would show."""
    X, y = bg.datasets.load_iris()
    number = np.arange(len(y))
    rare = (y == "virginica") & (number % 2 == 1) | (y == "setosa") & (number % 5 == 4)
    X, y = X[~rare], y[~rare]
    return X[::step].reset_index(drop=True), y[::step].reset_index(drop=True)


def holed(X, share=0.3, seed=0):
    gaps = np.random.default_rng(seed).random(X.shape) < share
    gaps[0] = True
    return X.mask(gaps).astype(X.dtypes), gaps


def interacting(n=160, seed=3):
    """Return rows whose class rests on whether two levels agree, and on the sign of a product."""
    rng = np.random.default_rng(seed)
    levels = rng.integers(0, 3, (n, 4)).astype(str)
    X = pd.DataFrame(levels, columns=[*"abcd"]).assign(u=rng.normal(size=n), v=rng.normal(size=n))
    odds = 1.6 * np.where(X.a == X.b, 1, -1) + 1.6 * np.sign(X.u * X.v)
    return X, np.where(rng.random(n) < 1 / (1 + np.exp(-odds)), "yes", "no")


@cache
def interacting_stack():
    """Return a stack that a forest and a pair of columns joined, and its rows."""
    X, y = interacting()
    return bg.StackedClassifier(random_state=0).fit(X, y), X, y


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
