"""A fitted classifier under class probabilities of 0 and 1: every answer, without a warning."""

import numpy as np
import pandas as pd
import pytest

import bayesgen as bg
from bayesgen import errors

MADE = {
    "naive": lambda: bg.NaiveBayes(random_state=0),
    "mle": lambda: bg.NaiveBayes(inference="mle"),
    "learned": lambda: bg.NaiveBayes(bg.Normal(variance_rows="learn"), random_state=0),
    "tempered": lambda: bg.NaiveBayes(temper="learn", random_state=0),
    "draws": lambda: bg.QDA(inference=bg.Augmentation(400, chains=4), random_state=0),
    # draws are those of its members, which have seeds of their own
    "stack": lambda: bg.StackedClassifier(
        [bg.LDA(random_state=0), bg.NaiveBayes(random_state=0)], random_state=0
    ),
}
pytestmark = pytest.mark.filterwarnings("ignore::bayesgen.errors.NotConverged")


def rows():
    rng = np.random.default_rng(5)
    y = np.repeat(["a", "b", "c"], 12)
    X = pd.DataFrame(rng.standard_normal((36, 2)) + 1.5 * (y == "b")[:, None], columns=["u", "v"])
    return X, y


CERTAIN, TWO_LEFT = {"a": 1, "b": 0, "c": 0}, {"a": 0.3, "b": 0.7, "c": 0}


@pytest.mark.parametrize(
    ("name", "prior"),
    [("naive", CERTAIN), ("draws", CERTAIN), *((name, TWO_LEFT) for name in MADE)],
)
def test_with_class_prior_rules_classes_out(name, prior):
    X, y = rows()
    clf = MADE[name]().fit(X, y)
    other = clf.with_class_prior(prior)
    wanted = np.array(list(prior.values()), dtype=float)
    proba = other.predict_proba(X)
    assert (proba[:, wanted == 0] == 0).all()
    np.testing.assert_allclose(proba.sum(axis=1), 1, atol=1e-12)
    if name not in ("tempered", "stack"):
        # Bayes' rule by hand, from densities under another prior
        density = np.exp(clf.with_class_prior("uniform").predict_joint_log_proba(X)) * 3 * wanted
        np.testing.assert_allclose(proba, density / density.sum(axis=1)[:, None], atol=1e-10)
        np.testing.assert_allclose(np.exp(other.score_samples(X)), density.sum(axis=1), rtol=1e-9)
    odds = other.decision_function(X)
    assert not np.isnan(odds).any() and (odds[:, wanted == 0] == -np.inf).all()
    assert (odds[:, wanted == 1] == np.inf).all()
    assert set(other.predict(X)) <= set(np.array(list(prior))[wanted > 0])
    assert set(other.decide(X, reject=0.5)) <= {"a", "b", "reject"}
    assert set(other.sample(20, random_state=0)[1]) <= set(np.array(list(prior))[wanted > 0])
    assert ((other.typicality(X, draws=20) >= 0) & (other.typicality(X, draws=20) <= 1)).all()
    if name != "mle":
        interval = other.predict_interval(X)
        assert (interval[:, wanted == 0] == 0).all() and np.isfinite(interval).all()
        assert (interval[:, wanted == 1] == 1).all()
        draws = other.predict_draws(X)
        np.testing.assert_allclose((draws * draws["weight"]).sum("draw"), proba, atol=0.05)


@pytest.mark.parametrize("name", MADE)
def test_with_class_prior_of_one_of_two_classes(name):
    X, y = rows()
    two = y != "c"
    clf = MADE[name]().fit(X[two], y[two]).with_class_prior({"a": 0, "b": 1})
    assert (clf.predict_proba(X) == [0, 1]).all()
    assert (clf.decision_function(X) == np.inf).all()
    assert (clf.predict_log_proba(X) == [-np.inf, 0]).all()
    assert np.isfinite(clf.impute(X[:2].assign(u=np.nan), random_state=0)).all(axis=None)


def test_evidence_and_loo_under_a_prior_that_rules_a_class_out():
    """Rows of a class that cannot be are impossible, the others are not."""
    X, y = rows()
    clf = bg.LDA().fit(X, y).with_class_prior([0.5, 0.5, 0])
    assert clf.log_evidence_ == -np.inf
    out = clf.loo(X, y)
    assert (np.isneginf(out["log_proba"]) == (y == "c")).all()


@pytest.mark.parametrize("prior", [{"a": 1, "b": 0, "c": 0}, [0.5, 0.5, 0.0]])
def test_fit_refuses_to_rule_out_a_class_that_has_rows(prior):
    X, y = rows()
    with pytest.raises(
        errors.InvalidArgument, match=r"y has rows of class(es)? .*'c'.*with_class_prior"
    ):
        bg.NaiveBayes(class_prior=prior).fit(X, y)


@pytest.mark.parametrize("prior", [[1.5, -0.5, 0], [0.5, 0.4, 0], [np.nan, 1, 0], {"a": 1, "b": 0}])
def test_with_class_prior_still_refuses_what_is_no_probability(prior):
    with pytest.raises(errors.InvalidArgument, match=r"^class_prior"):
        bg.LDA().fit(*rows()).with_class_prior(prior)
