"""What has no closed form is refused by every method that rests on one, and has no evidence."""

import warnings

import numpy as np
import numpyro.distributions as dist
import pandas as pd
import pytest
from paces import fast_only

import bayesgen as bg
from bayesgen.errors import BayesgenWarning, NoAttribute, UnsupportedOperation

METHODS = ["exact", bg.Exact(), "expected", bg.Expected(), bg.Augmentation(draws=20, warmup=5)]

WITHOUT = {
    "MultivariateNormal": lambda: bg.MultivariateNormal(prior="lkj"),
    "MultivariateNormal shared": lambda: bg.MultivariateNormal("shared", prior="lkj"),
    "Family": lambda: bg.Family(dist.Gamma),
}
"""Every likelihood without a closed form."""

RNG = np.random.default_rng(0)
Y = np.arange(24) % 2
X = pd.DataFrame(RNG.gamma(9.0, size=(24, 3)) + 2 * Y[:, None], columns=["a", "b", "c"])
GAPS = X.mask(RNG.random(X.shape) < 0.15)


def test_no_likelihood_is_forgotten():
    public = {name: getattr(bg, name) for name in dir(bg)}
    families = {n for n, kind in public.items() if hasattr(kind, "conjugate")} - {"Family"}
    without = {name for name in families if not public[name]().conjugate}
    assert len(families) > 8
    assert without < set(WITHOUT)


# -- methods that rest on a closed form ------------------------------------------------------------


@pytest.mark.parametrize(
    ("family", "method"),
    [(family, "exact") for family in WITHOUT] + [("Family", method) for method in METHODS[1:]],
    ids=str,
)
def test_fit_without_a_closed_form_is_refused(family, method):
    clf = bg.GenerativeClassifier(WITHOUT[family](), inference=method)
    with pytest.raises(UnsupportedOperation, match=r"no closed form.*inference='map'") as error:
        clf.fit(X, Y)
    assert f"inference={method!r}" in str(error.value)
    assert family.split()[0] in str(error.value) or "shared" in family
    assert not hasattr(clf, "inference_")


def test_fit_of_a_block_without_a_closed_form_is_refused():
    blocks = {("a", "b", "c"): WITHOUT["Family"](), "d": bg.Normal()}
    clf = bg.GenerativeClassifier(blocks, inference="exact")
    with pytest.raises(UnsupportedOperation, match=r"block 'a_b_c', .* has no closed form"):
        clf.fit(X.assign(d=X["a"] ** 2), Y)


@pytest.mark.parametrize(
    ("make", "rows", "method"), [(bg.LDA, X, "exact"), (bg.QDA, GAPS, "expected")]
)
def test_discriminant_under_lkj_is_refused(make, rows, method):
    with pytest.raises(UnsupportedOperation, match=r"MultivariateNormal\(prior='lkj'\), has no"):
        make(prior="lkj", inference=method).fit(rows, Y)


@pytest.mark.parametrize(("family", "method"), [("Family", "exact"), ("Family", "expected")])
def test_stack_leaves_out_a_member_without_a_closed_form(family, method):
    member = bg.GenerativeClassifier(WITHOUT[family](), inference=method)
    with pytest.warns(BayesgenWarning, match="has no closed form"):
        stack = bg.StackedClassifier({"odd": member, "even": bg.NaiveBayes()}).fit(X, Y)
    assert list(stack.members_) == ["even"]
    assert "has no closed form" in stack.left_out_["odd"]


@pytest.mark.parametrize("name", ["mean_rows", "scale", "correlation"])
def test_lkj_cannot_be_learned(name):
    clf = bg.QDA(prior="lkj", **{name: "learn"}) if name != "correlation" else None
    clf = clf or bg.GenerativeClassifier(bg.MultivariateNormal(prior="lkj", correlation="learn"))
    with pytest.raises(UnsupportedOperation, match=f"Leave out {name}='learn', or use prior='conj"):
        clf.fit(X, Y)


@pytest.mark.parametrize("covariance", ["per_class", "shared"])
def test_lkj_prior_has_no_closed_update(covariance):
    prior = bg.MultivariateNormal(covariance, prior="lkj")
    statistics = prior.statistics(X.to_numpy(), Y, np.ones(24), n_classes=2)
    ready = prior.complete(statistics)
    for ask in (ready.posterior, ready.log_evidence):
        with pytest.raises((UnsupportedOperation, NoAttribute), match="prior='lkj'"):
            ask(statistics)


@pytest.mark.filterwarnings("ignore::bayesgen.errors.NotConverged")
@pytest.mark.parametrize("cure", ["map", bg.NUTS(draws=10, warmup=10, chains=1)], ids=repr)
@pytest.mark.parametrize(
    "family",
    fast_only([], [name for name in WITHOUT if "shared" not in name], slow=["MultivariateNormal"]),
)
def test_cures_without_a_closed_form_run(family, cure):
    clf = bg.GenerativeClassifier(WITHOUT[family](), inference=cure, random_state=0).fit(X, Y)
    assert clf.inference_ == ("map" if cure == "map" else "nuts")
    with pytest.raises(NoAttribute, match=r"which .* does not have"):
        _ = clf.log_evidence_


# -- evidence of an improper prior ----------------------------------------------------------------

REFERENCE = {
    "NaiveBayes": lambda prior: bg.NaiveBayes(bg.Normal(prior=prior)),
    "NaiveBayes shared": lambda prior: bg.NaiveBayes(bg.Normal(spread="shared", prior=prior)),
    "LDA": lambda prior: bg.LDA(prior=prior),
    "QDA": lambda prior: bg.QDA(prior=prior),
    "block": lambda prior: bg.GenerativeClassifier(
        {("a", "b"): bg.MultivariateNormal(prior=prior), "c": bg.Normal()}
    ),
}


@pytest.mark.parametrize(
    ("name", "method"), [*((name, "exact") for name in REFERENCE), ("LDA", "map")]
)
def test_improper_prior_has_no_evidence(name, method):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        clf = REFERENCE[name]("reference").set_params(inference=method).fit(X, Y)
        with pytest.raises(NoAttribute, match=r"prior='reference'.* improper.*prior='conjugate'"):
            _ = clf.log_evidence_
    assert np.isfinite(REFERENCE[name]("conjugate").fit(X, Y).log_evidence_)


@pytest.mark.parametrize(
    "family",
    [
        bg.Normal(prior="reference"),
        bg.MultivariateNormal(prior="reference"),
        bg.MultivariateNormal("shared", prior="reference"),
    ],
    ids=repr,
)
def test_reference_prior_has_evidence_of_later_rows(family):
    """After first rows it is a proper prior, and what they predict multiplies up."""
    ready, statistics = family, {}
    for name, rows in {"first": slice(12), "then": slice(12, 18), "last": slice(18, 24)}.items():
        n = len(Y[rows])
        statistics[name] = family.statistics(X.to_numpy()[rows], Y[rows], np.ones(n), n_classes=2)
    first, then, last = statistics.values()
    ready = family.complete(first + then + last)
    with pytest.raises(NoAttribute, match="improper"):
        ready.log_evidence(first)
    after = ready.posterior(first)
    steps = after.log_evidence(then) + after.posterior(then).log_evidence(last)
    np.testing.assert_allclose(after.log_evidence(then + last), steps, rtol=1e-10)


@pytest.mark.parametrize("likelihood", ["Normal", "MultivariateNormal"])
def test_improper_prior_cannot_be_learned(likelihood):
    family = getattr(bg, likelihood)(prior="reference", mean_rows="learn")
    with pytest.raises(UnsupportedOperation, match=r"this prior has none\. Leave out mean_rows="):
        bg.GenerativeClassifier(family).fit(X, Y)


def test_stack_weighs_members_with_an_improper_prior():
    """By rows left out, which need no evidence; a stack has none itself."""
    members = {"reference": bg.QDA(prior="reference"), "naive": bg.NaiveBayes()}
    stack = bg.StackedClassifier(members).fit(X, Y)
    assert set(stack.weights_) == set(members)
    assert np.isfinite(stack.predict_log_proba(X)).all()
    assert not hasattr(stack, "log_evidence_")


# -- evidence of other methods ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("inference", "rows", "sentence"),
    [
        ("map", X, "inference='map' keeps a single point. Fit with inference='exact'"),
        (bg.Augmentation(draws=20, warmup=5), X, "'augmentation' draws them.*inference='exact'"),
        (
            bg.Augmentation(draws=20, warmup=5),
            GAPS,
            r"missing values in a joint block. .*bg\.compare",
        ),
        ("expected", GAPS, r"missing values in a joint block. .*bg\.compare"),
    ],
)
@pytest.mark.filterwarnings("ignore::bayesgen.errors.NotConverged")
def test_evidence_says_why_there_is_none(inference, rows, sentence):
    clf = bg.QDA(inference=inference, random_state=0).fit(rows, Y)
    with pytest.raises(NoAttribute, match=sentence):
        _ = clf.log_evidence_


def test_evidence_is_that_of_the_fit_whatever_prior_is_set_afterwards():
    clf = bg.QDA().fit(X, Y)
    before = clf.log_evidence_
    assert clf.set_params(class_prior=[0.5, 0.6]).log_evidence_ == before
