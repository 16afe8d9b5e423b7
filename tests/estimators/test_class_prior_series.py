"""Class probabilities as a Series: its index names the classes, in whatever order they stand."""

import numpy as np
import pandas as pd
import pytest

import bayesgen as bg
from bayesgen.errors import InvalidArgument

PRIOR = pd.Series({"virginica": 0.7, "setosa": 0.1, "versicolor": 0.2})


@pytest.fixture(scope="module")
def iris():
    return bg.datasets.load_iris()


@pytest.mark.parametrize("make", [bg.NaiveBayes, lambda **k: bg.LDA(inference="mle", **k)])
def test_series_is_the_mapping_of_its_index(iris, make):
    X, y = iris
    own, stated = (make(class_prior=p).fit(X, y) for p in (PRIOR, PRIOR.to_dict()))
    assert (own.predict_proba(X) == stated.predict_proba(X)).all()
    later = make().fit(X, y).with_class_prior(PRIOR)
    assert np.allclose(later.predict_proba(X), own.predict_proba(X))


def test_a_stack_reads_it_too(iris):
    X, y = iris
    stack = bg.StackedClassifier([bg.LDA(), bg.NaiveBayes()], random_state=0).fit(X, y)
    own, stated = (stack.with_class_prior(p) for p in (PRIOR, PRIOR.to_dict()))
    assert (own.predict_proba(X) == stated.predict_proba(X)).all()


def test_frequencies_of_labels_are_a_prior(iris):
    X, y = iris
    few = y[40:110]
    shares = few.value_counts(normalize=True)
    clf = bg.NaiveBayes().fit(X, y).with_class_prior(shares)
    assert clf.class_prior == shares.to_dict()


def test_prior_rows_of_a_prevalence_may_be_a_series(iris):
    X, y = iris
    clf = bg.NaiveBayes().fit(X, y)
    rows = 10 * PRIOR
    own, stated = (
        clf.estimate_prevalence(X[:60], prior=p, random_state=0) for p in (rows, rows.to_dict())
    )
    assert (own.draws == stated.draws).all()
    with pytest.raises(InvalidArgument, match="Dirichlet rows of the classes"):
        clf.estimate_prevalence(X, prior=pd.Series([1.0, 2.0, 3.0]))


def test_labels_that_are_no_classes_are_refused(iris):
    clf = bg.NaiveBayes().fit(*iris)
    with pytest.raises(InvalidArgument, match="names the classes 0, 1, 2"):
        clf.with_class_prior(pd.Series([0.7, 0.2, 0.1]))


def test_a_classifier_with_a_series_is_saved_with_its_mapping(iris, tmp_path):
    X, y = iris
    clf = bg.NaiveBayes(class_prior=PRIOR).fit(X, y)
    clf.save(tmp_path / "clf.bayesgen")
    loaded = bg.load(tmp_path / "clf.bayesgen")
    assert loaded.class_prior == PRIOR.to_dict()
    assert (loaded.predict_proba(X) == clf.predict_proba(X)).all()
