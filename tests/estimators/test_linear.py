"""Linear discriminants: coordinates, coefficients and intercepts."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

import bayesgen as bg

METHODS = ("exact", "mle", "map")


def test_coordinates_meet_scikit_learn(iris):
    X, y = iris
    theirs = LinearDiscriminantAnalysis(solver="eigen").fit(X, y)
    expected = theirs.transform(X)
    found = bg.LDA(inference="mle").fit(X, y).transform(X)
    expected = expected - expected.mean(axis=0)
    found = found - found.mean(axis=0)
    sign = np.sign((expected * found).sum(axis=0))
    np.testing.assert_allclose(found * sign, expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_coordinates_have_unit_variance_within_classes(method, iris):
    X, y = iris
    # a guess worth next to nothing: otherwise its uncorrelated columns widen the narrow directions
    lda = bg.LDA(inference=method, covariance_rows=1e-9, mean_rows=1e-9)
    coordinates = pd.DataFrame(lda.fit(X, y).transform(X))
    within = coordinates - coordinates.groupby(y).transform("mean")
    covariance = within.T @ within / len(X)
    np.testing.assert_allclose(covariance, np.eye(2), rtol=0, atol=0.06)
    np.testing.assert_allclose(coordinates.mean(), 0, rtol=0, atol=1e-6)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(
    "clf",
    [
        bg.LDA(inference="mle"),
        bg.LDA(inference="map"),
        bg.NaiveBayes(bg.Normal(spread="shared"), inference="mle"),
        bg.NaiveBayes(bg.Normal(spread="shared"), inference="map"),
    ],
)
def test_coefficients_make_the_decision(clf, classes, iris):
    X, y = iris
    keep = np.isin(y, sorted(set(y))[-classes:])
    X, y = X[keep], y[keep]
    clf.fit(X, y)
    linear = X.to_numpy() @ clf.coef_.T + clf.intercept_
    if classes == 2:
        assert clf.coef_.shape == (1, 4)
        np.testing.assert_allclose(clf.decision_function(X), linear[:, 0], rtol=1e-9)
        np.testing.assert_allclose(clf.predict_proba(X)[:, 1], expit(linear[:, 0]), atol=1e-9)
    else:
        assert clf.coef_.shape == (3, 4)
        odds = np.exp(linear - linear.max(axis=1, keepdims=True))
        np.testing.assert_allclose(
            clf.predict_proba(X), odds / odds.sum(axis=1, keepdims=True), atol=1e-9
        )


@pytest.mark.parametrize("clf", [bg.LDA(), bg.QDA(inference="mle"), bg.NaiveBayes(inference="mle")])
def test_no_coefficients_where_none_exist(clf, iris):
    clf.fit(*iris)
    assert not hasattr(clf, "coef_")
    with pytest.raises(AttributeError, match="LDA\\(inference='mle'\\)"):
        _ = clf.intercept_
