"""Tables whose last rows hold what the first ones lack, and what a cluster must make of them."""

import numpy as np
from test_fit_source import SHAPES

HEAD = 50
"""Rows that decide on blocks and origins in these tests."""


def uneven(shape, rng):
    """Return a table and a classifier; classes and levels that come late come after the head."""
    frame, clf = SHAPES[shape](rng)
    return frame.assign(w=rng.integers(0, 3, len(frame)).astype(float)), clf


def fitted(clf, frame, *, weighted):
    """Return the probabilities of the fit to the whole table."""
    X = frame.drop(columns=["y", "w"])
    weight = frame["w"] if weighted else None
    return clf.fit(X, frame["y"], weight).predict_proba(X)


def as_columns(values):
    """Return an array of shape (row, class, end) as columns: those of one end together."""
    return values.transpose(0, 2, 1).reshape(len(values), -1)


def small(rng, n=40):
    """Return the first rows of numbers, and a classifier that was fitted to all of them."""
    frame, clf = SHAPES["numbers"](rng)
    clf.fit(frame, y="y")
    return frame[:n].set_axis(np.arange(n) * 3 + 7), clf
