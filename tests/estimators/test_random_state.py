"""random_state=None of a method is the random_state of the classifier."""

import inspect

import numpy as np
import pandas as pd
import pytest

import bayesgen as bg

RNG = np.random.default_rng(0)
Y = np.repeat([0, 1], 30)
X = pd.DataFrame(RNG.normal(size=(60, 9)) + Y[:, None], columns=list("abcdefghi"))
GAPS = X[:3].mask(np.eye(3, 9, dtype=bool))
CALLS = {
    "sample": lambda clf, **seed: clf.sample(3, **seed)[0],
    "sample_prior": lambda clf, **seed: clf.sample_prior(3, X, Y, **seed).X,
    "plot_prior": lambda clf, **seed: clf.plot_prior(X, Y, n=3, **seed).prior.X,
    "impute": lambda clf, **seed: clf.impute(GAPS, **seed),
    "estimate_prevalence": lambda clf, **seed: clf.estimate_prevalence(X[:9], **seed).draws,
    "evidence": lambda clf, **seed: clf.evidence(X[:2], **seed),
    "evidence_table": lambda clf, **seed: clf.evidence_table(X[:2], **seed)["values"],
    "relevance": lambda clf, **seed: clf.relevance(X[:2], **seed),
    "conditional": lambda clf, **seed: clf.conditional(GAPS, **seed)["mean"],
    "feature_value": lambda clf, **seed: clf.feature_value(GAPS, **seed),
    "summary": lambda clf, **seed: clf.summary(kind="stats", draws=9, **seed),
    "to_datatree": lambda clf, **seed: clf.to_datatree(
        X, Y, draws=9, replicates=2, **seed
    ).posterior["class.probs"],
}
"""Each method that takes random_state, and what it returns."""
DRAWN = ("sample", "sample_prior", "impute", "estimate_prevalence")
"""Methods of which it is None unless stated."""


def seeds(cls):
    """Return the methods of a class that take random_state, with its default."""
    methods = inspect.getmembers(cls, inspect.isfunction)
    found = {n: inspect.signature(m).parameters for n, m in methods if not n.startswith("_")}
    return {n: p["random_state"].default for n, p in found.items() if "random_state" in p}


def test_no_method_is_forgotten():
    found = seeds(bg.NaiveBayes)
    assert set(found) == set(CALLS)
    assert {name: None if name in DRAWN else 0 for name in CALLS} == found


@pytest.fixture(scope="module")
def fitted():
    """Return fits that differ in their random_state alone; LDA has columns that share it."""
    return {seed: bg.LDA(random_state=seed).fit(X, Y) for seed in (None, 0, 1)}


def values(found):
    return np.asarray(found, dtype=float)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", CALLS)
def test_the_seed_of_the_classifier_is_that_of_its_methods(name, fitted):
    ask = CALLS[name]
    first = values(ask(fitted[0], random_state=None))
    np.testing.assert_array_equal(values(ask(fitted[0], random_state=0)), first)
    if name in DRAWN:
        np.testing.assert_array_equal(values(ask(fitted[0])), first)
        assert not np.array_equal(values(ask(fitted[1])), first)
        assert not np.array_equal(values(ask(fitted[None])), values(ask(fitted[None])))


@pytest.mark.parametrize("name", ["sample", "impute", "estimate_prevalence"])
def test_the_seed_of_a_stack_is_that_of_its_methods(name):
    stack = bg.StackedClassifier(["naive", "linear"], random_state=0).fit(X, Y)
    found = [values(CALLS[name](stack)) for _ in range(2)]
    np.testing.assert_array_equal(*found)
    np.testing.assert_array_equal(values(CALLS[name](stack, random_state=0)), found[0])


def test_predictions_draw_with_the_seed_of_the_fit(fitted):
    clf = fitted[None]
    for ask in (clf.predict_interval, clf.predict_draws, clf.predict_proba):
        np.testing.assert_array_equal(ask(X[:3]), ask(X[:3]))
