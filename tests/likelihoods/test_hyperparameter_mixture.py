"""Learned prior strengths: a family averaged over a grid of priors obeys the laws of the family."""

import dataclasses

import laws
import numpy as np
import pytest
from agree import agree
from cases import CASES
from paces import fast_only
from scipy.special import logsumexp

import bayesgen as bg
from bayesgen.errors import InvalidArgument, UnsupportedOperation
from bayesgen.likelihoods.hyperparameter_mixture import (
    HyperparameterMixture,
    averaged,
    resolve_family,
)

LEARNED = {
    "Normal": {"mean_rows": (0.3, 3.0), "variance_rows": (1.0, 16.0)},
    "Normal shared": {"variance_rows": (2.0, 32.0)},
    "MultivariateNormal": {"covariance_rows": (1.0, 30.0)},
    "MultivariateNormal shared": {"mean_rows": (0.1, 1.0), "covariance_rows": (3.0, 100.0)},
    "Categorical": {"rows": (1.0, 10.0)},
    "Bernoulli": {"rows": (0.5, 8.0)},
    "Poisson": {"rows": (0.3, 5.0)},
}
OBEYED = [
    *(laws.law_addition, laws.law_weight, laws.law_sequence, laws.law_story, laws.law_average),
    *(laws.law_update, laws.law_total, laws.law_units, laws.law_marginal),
]


def case_of(name: str):
    """Return the family's case with prior strengths learned instead of stated."""
    case, grids = CASES[name], LEARNED[name]

    def other(x, prior):
        members = [case.other(x, member) for member in prior.members]
        return members[0][0], dataclasses.replace(prior, members=tuple(m for _, m in members))

    prior, vague = (averaged(part, grids) for part in (case.prior, case.vague))
    return dataclasses.replace(case, prior=prior, vague=vague, other=other)


@pytest.mark.parametrize("law", OBEYED, ids=lambda law: law.__name__)
@pytest.mark.parametrize(
    "name", fast_only(["Normal", "MultivariateNormal shared", "Categorical"], LEARNED)
)
def test_law(law, name):
    case = case_of(name)
    law(case, case.prior)


@pytest.mark.parametrize("name", LEARNED)
def test_the_evidence_is_that_of_one_step_at_a_time(name):
    case = case_of(name)
    prior, after, rows, x, y = laws.fitted(case, case.prior, 14, gaps=True)
    steps = 0.0
    for i, k in enumerate(y):
        before = prior.posterior(laws.statistics(case, prior, x[:i], y[:i]))
        steps += before.log_predictive(x[i : i + 1])[0, k]
    agree(steps, prior.log_evidence(rows))
    each = [member.log_evidence(rows) for member in prior.members]
    agree(prior.log_evidence(rows), logsumexp(each) - np.log(len(each)))
    agree(np.exp(after.log_weight), np.exp(each - logsumexp(each)))


def test_a_fault_is_caught(monkeypatch):
    """Members weighed evenly, whatever the rows say: the sequence of updates shows it."""
    monkeypatch.setattr(
        HyperparameterMixture, "_evidences", lambda self, statistics: self.log_weight
    )
    with pytest.raises(AssertionError):
        test_the_evidence_is_that_of_one_step_at_a_time("Normal")


def test_learn_is_the_product_of_the_grids():
    prior = resolve_family(bg.Normal(mean_rows="learn", variance_rows="learn"))
    assert len(prior.members) == 6 * 7
    assert {m.variance_rows for m in prior.members} == set(
        bg.Normal.hyperparameter_grid["variance_rows"]
    )
    assert resolve_family(bg.Normal()) == bg.Normal() or isinstance(
        resolve_family(bg.Normal()), bg.Normal
    )
    slides = resolve_family(bg.MultivariateNormal(scale="learn"))
    assert [m.correlation for m in slides.members] == [0.0, 0.5, 0.9, 0.99]


def test_naive_bayes_and_lda_are_corners_of_the_sliding_scale():
    """Worth infinitely many rows, a diagonal guess is naive Bayes, the pooled one LDA."""
    X, y = bg.datasets.load_iris()
    firm = {"covariance_rows": 1e9, "mean_rows": 1e-6}
    naive = bg.NaiveBayes(bg.Normal(spread="shared", variance_rows=1e9, mean_rows=1e-6)).fit(X, y)
    diagonal = bg.GenerativeClassifier(bg.MultivariateNormal(**firm)).fit(X, y)
    np.testing.assert_allclose(diagonal.predict_proba(X), naive.predict_proba(X), atol=1e-5)
    pooled = bg.GenerativeClassifier(bg.MultivariateNormal(correlation=1 - 1e-9, **firm)).fit(X, y)
    within = np.cov((X - X.groupby(y.to_numpy()).transform("mean")).T, bias=True)
    linear = bg.LDA(scale=within, **firm).fit(X, y)
    np.testing.assert_allclose(pooled.predict_proba(X), linear.predict_proba(X), atol=1e-5)


def test_learned_strengths_are_saved_and_loaded(tmp_path):
    X, y = bg.datasets.load_titanic_passengers()
    likelihood = {
        "age": bg.Normal(variance_rows="learn"),
        ("sex", "passengerClass"): bg.Categorical(rows="learn"),
    }
    clf = bg.GenerativeClassifier(likelihood, random_state=0).fit(X, y)
    clf.save(tmp_path / "m.bgm")
    again = bg.load(tmp_path / "m.bgm")
    np.testing.assert_array_equal(again.predict_proba(X), clf.predict_proba(X))
    again.partial_fit(X[:50], y[:50])
    both = bg.GenerativeClassifier(likelihood).partial_fit(X, y).partial_fit(X[:50], y[:50])
    np.testing.assert_allclose(again.predict_proba(X), both.predict_proba(X), rtol=1e-12)


def test_what_cannot_be_learned():
    with pytest.raises(InvalidArgument, match="variance"):
        bg.Normal(variance="learn")
    X, y = bg.datasets.load_iris()
    with pytest.raises(UnsupportedOperation, match="learned prior strengths"):
        bg.NaiveBayes(bg.Normal(mean_rows="learn"), inference=bg.MAP(solver="svi")).fit(X, y)


def test_discriminant_axes_are_those_under_the_prior_of_largest_weight():
    X, y = bg.datasets.load_iris()
    learned = bg.LDA(covariance_rows="learn").fit(X, y)
    rows = learned.posterior_.families["normal"].heaviest().covariance_rows
    block = learned.posterior_.families["normal"]
    at = next(i for i, member in enumerate(block.members) if member.covariance_rows is rows)
    assert at == int(np.argmax(block.log_weight))
    stated = bg.LDA(
        covariance_rows=bg.MultivariateNormal.hyperparameter_grid["covariance_rows"][at]
    )
    np.testing.assert_allclose(learned.transform(X), stated.fit(X, y).transform(X), rtol=1e-9)
