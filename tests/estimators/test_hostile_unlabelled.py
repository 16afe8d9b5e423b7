"""Any table, some labels of which are missing: probabilities that obey the laws, or a sentence."""

import warnings

import hypothesis
import numpy as np
import pytest
from hostile import tables
from hostile_laws import check_probabilities, check_sentence
from hypothesis import strategies as st

import bayesgen as bg

MODELS = {
    "naive": (lambda **o: bg.NaiveBayes(**o), "any"),
    "naive mle": (lambda **o: bg.NaiveBayes(inference="mle", **{"unlabelled": 1} | o), "any"),
    "naive map": (lambda **o: bg.NaiveBayes(inference="map", **{"unlabelled": 0.5} | o), "any"),
    "naive weighed": (lambda **o: bg.NaiveBayes(**{"unlabelled": 1} | o), "any"),
    "naive tempered": (lambda **o: bg.NaiveBayes(temper="learn", **o), "any"),
    "naive pattern": (lambda **o: bg.NaiveBayes(missing="learn", **o), "any"),
    "linear": (lambda **o: bg.LDA(inference="expected", **o), "joint numbers"),
    "quadratic": (lambda **o: bg.QDA(inference="expected", **o), "joint numbers"),
    "quadratic weighed": (lambda **o: bg.QDA(**{"unlabelled": 2} | o), "joint numbers"),
    "indicators": (lambda **o: bg.LDA(levels="indicators", inference="expected", **o), "any"),
    "joint table": (lambda **o: bg.JointTable(inference="expected", **o), "levels"),
}
SAME_EACH_TIME = hypothesis.settings(
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=list(hypothesis.HealthCheck),
)


def blanked(y, rng, share):
    """Labels as objects, some of them None; at least one stays."""
    out = np.asarray(y, dtype=object).copy()
    gone = rng.random(len(out)) < share
    gone[rng.integers(len(out))] = False
    out[gone] = None
    return out, gone


def check(make, table, rng, share):
    try:
        y, gone = blanked(table.y, rng, share)
    except (TypeError, ValueError):
        return  # labels of several columns and the like are refused without marks too
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            clf = make(random_state=0).fit(table.frame, y, table.weight)
            proba = clf.predict_proba(table.new)
        except bg.errors.BayesgenError as error:
            check_sentence(error, list(table.frame))
            return
        check_probabilities(proba, len(table.new))
        kept = np.ones(len(y), bool) if table.weight is None else np.asarray(table.weight) > 0
        found = clf.label_distributions_
        check_probabilities(found, int(kept.sum()))
        assert (found[~gone[kept]].max(axis=1) == 1).all()
        assert 0 <= clf.unlabelled_weight_ <= 2
        again = make(random_state=0).fit(table.frame, y, table.weight)
        np.testing.assert_array_equal(proba, again.predict_proba(table.new))


def run(name, settings):
    make, suits = MODELS[name]

    @settings
    @hypothesis.given(tables(suits), st.integers(0, 1000), st.sampled_from([0.1, 0.5, 0.9]))
    def each(table, seed, share):
        check(make, table, np.random.default_rng(seed), share)

    each()


@pytest.mark.parametrize("name", MODELS)
def test_hostile_tables_without_some_labels(name):
    run(name, hypothesis.settings(SAME_EACH_TIME, max_examples=4))


@pytest.mark.nightly
@pytest.mark.parametrize("name", MODELS)
def test_more_hostile_tables_without_some_labels(name):
    run(name, hypothesis.settings(SAME_EACH_TIME, max_examples=60))
