"""partial_fit: any split of the rows, in any order, gives the fit of the whole."""

import numpy as np
import pandas as pd
import pytest

import bayesgen as bg


def in_batches(make, X, y, rng, sizes, weight=None):
    clf = make()
    for rows in np.split(rng.permutation(len(X)), np.cumsum(sizes)[:-1]):
        extra = {} if weight is None else {"sample_weight": weight[rows]}
        clf.partial_fit(X.iloc[rows], y.iloc[rows], **extra)
    return clf


def test_mixed_columns_with_missing_values_and_weights_in_batches(passengers, rng):
    X, y = passengers
    weight = rng.integers(0, 4, len(y)).astype(float)
    whole = bg.NaiveBayes().fit(X, y, sample_weight=weight)
    parts = in_batches(bg.NaiveBayes, X, y, rng, [40] * 4 + [len(y) - 160], weight)
    np.testing.assert_allclose(parts.predict_proba(X), whole.predict_proba(X), rtol=0, atol=1e-9)


def test_classes_declared_at_first(iris):
    X, y = iris
    first = y == "setosa"
    names = ["setosa", "versicolor", "virginica"]
    clf = bg.NaiveBayes().partial_fit(X[first], y[first], classes=names)
    assert clf.classes_.tolist() == names
    whole = bg.NaiveBayes().fit(X, y).predict_proba(X)
    clf.partial_fit(X[~first], y[~first])
    np.testing.assert_allclose(clf.predict_proba(X), whole, rtol=0, atol=1e-9)
    with pytest.raises(bg.errors.InvalidData, match="'virginica'"):
        bg.NaiveBayes().partial_fit(X, y, classes=names[:2])


def test_levels_arriving_late():
    X = pd.DataFrame({"colour": list("abcabcddd"), "size": [1.0, 2, 3, 4, 5, 6, 7, 8, 9]})
    y = pd.Series(list("uuvvuvuvu"))
    for likelihood in ("auto", {"colour": bg.Categorical.laplace(1), "size": bg.Normal()}):
        whole = bg.NaiveBayes(likelihood).fit(X, y)
        parts = bg.NaiveBayes(likelihood)
        for rows in (slice(6, 9), slice(0, 4), slice(4, 6)):
            parts.partial_fit(X[rows], y[rows])
        np.testing.assert_allclose(
            parts.predict_proba(X), whole.predict_proba(X), rtol=0, atol=1e-9
        )


def test_partial_fit_goes_on_from_fit(iris):
    X, y = iris
    clf = bg.LDA().fit(X[::2], y[::2]).partial_fit(X[1::2], y[1::2])
    np.testing.assert_allclose(
        clf.predict_proba(X), bg.LDA().fit(X, y).predict_proba(X), rtol=0, atol=1e-9
    )


def test_training_states_add_and_subtract(passengers):
    """First + (both - first) == both, where later rows brought levels and a class."""
    X, y = passengers
    X, order = X.astype({"sex": object}), np.argsort(y.to_numpy() == "yes", kind="stable")
    clf, states = bg.NaiveBayes(), []
    for rows in np.split(order, [len(y) // 2]):
        states.append(clf.partial_fit(X.iloc[rows], y.iloc[rows]).state_)
    first, both = states
    assert len(first.classes) < len(both.classes)
    again = (first + (both - first)).statistics
    np.testing.assert_allclose(again.count, both.statistics.count)
    for name, part in both.statistics.blocks.items():
        for key, value in part.arrays().items():
            np.testing.assert_allclose(again.blocks[name].arrays()[key], value, rtol=1e-9)
