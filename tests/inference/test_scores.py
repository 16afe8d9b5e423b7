"""What parts of a model say of a row, apart from how frequent the classes are."""

import numpy as np
import pytest
from agree import agree

import bayesgen as bg
from bayesgen.inference.scores import Scores, contrasts, likelihood_of

SHARES = np.array([0.7, 0.25, 0.05])
MODELS = {
    "closed form": bg.NaiveBayes,
    "importance": lambda: bg.LDA(inference="expected"),
    "point estimate": lambda: bg.QDA(inference="map"),
}


def flowers():
    """Return flowers of uneven classes."""
    X, y = bg.datasets.load_iris()
    at = np.r_[0:50, 50:75, 100:110]
    return X.iloc[at], y.iloc[at]


def evenly(clf, X):
    """Return log class probabilities under even classes, relative to their mean."""
    logs = clf.with_class_prior("uniform").predict_log_proba(X)
    return logs - logs.mean(axis=1, keepdims=True)


def read(clf, X):
    rows = clf._read_rows(X)
    return rows.posterior.components.scores(rows.encoded, rows.n_rows)


@pytest.mark.parametrize("name", MODELS)
def test_parts_are_log_odds_under_even_classes(name):
    X, y = flowers()
    clf = MODELS[name]().fit(X, y)
    parts = read(clf, X[::4]).parts.sum(axis=1)
    expected = evenly(clf, X[::4])
    agree(parts - parts.mean(axis=1, keepdims=True), expected, what="log odds", atol=1e-8)


def test_parts_of_a_stack_are_those_of_its_members():
    X, y = flowers()
    members = {"naive": bg.NaiveBayes(), "LDA": bg.LDA()}
    stack = bg.StackedClassifier(members, random_state=0).fit(X, y)
    parts = contrasts(read(stack, X[::4]).parts)
    for m, clf in enumerate(members.values()):
        expected = np.maximum(evenly(clf.fit(X, y), X[::4]), -1e9)
        near = (expected.max(axis=1) - expected.min(axis=1)) < 45  # nothing is ruled out
        assert near.sum() > 5
        agree(parts[near, :, m], expected[near], what=f"member {m}", atol=1e-6)


def test_other_classes_change_the_joint_by_their_odds():
    rng = np.random.default_rng(0)
    density, later = rng.normal(size=(5, 3)), np.log([0.2, 0.3, 0.5])
    scores = Scores(density + np.log(SHARES), np.log(SHARES), density[:, None])
    agree(likelihood_of(scores.joint, np.log(SHARES)), density, what="log density")
    agree(scores.under_classes(later).joint, density + later, what="log joint")
    agree(likelihood_of(np.zeros(2), np.array([0.0, -np.inf])), [0.0, -np.inf], axes=("class",))
