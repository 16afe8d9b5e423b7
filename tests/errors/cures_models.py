"""Sentences about priors, decisions, estimates, families, words and inference, for `cures`."""

from functools import partial

import numpy as np
import numpyro.distributions as dist
import pandas as pd
from cures_tables import (
    COUNTS,
    GAPS,
    NUMBERS,
    TEXTS,
    Y,
    fitted,
    general,
    incomplete,
    iris,
    lda,
    naive,
    qda,
    quietly,
    stack,
    table,
    words,
)
from scipy.sparse import csr_array
from sklearn.feature_extraction.text import CountVectorizer

import bayesgen as bg

WARDS = pd.DataFrame(
    {"ward": np.repeat(["a", "b"], 40), "dose": np.random.default_rng(0).normal(size=80)}
)

PRIORS = {
    "InvalidPrior.outside": (
        lambda: naive(NUMBERS, likelihood=bg.Normal(mean_rows=0)),
        "inference='mle'",
        lambda: naive(NUMBERS, likelihood=bg.Normal(), inference="mle"),
    ),
    "InvalidPrior.outside numbers": (
        lambda: lda(mean=np.full(2, np.nan)),
        "Pass mean=None",
        lambda: lda(mean=None),
    ),
    "InvalidPrior.outside probabilities": (
        lambda: bg.Bernoulli(prob=1.5),
        "Pass prob=None",
        lambda: bg.Bernoulli(prob=None),
    ),
    "InvalidPrior.outside levels": (
        lambda: bg.Categorical(probs=[2.0, 3.0]),
        "Divide positive numbers by their sum",
        lambda: bg.Categorical(probs=[2.0 / 5.0, 3.0 / 5.0]),
    ),
    "InvalidPrior.outside correlations": (
        lambda: bg.MultivariateNormal(correlation=1.5),
        "Pass correlation=0.0",
        lambda: bg.MultivariateNormal(correlation=0.0),
    ),
    "InvalidPrior.impossible_class": (
        lambda: naive(class_prior=[1.0, 0.0]),
        "class_prior='empirical'",
        lambda: naive(class_prior="empirical").with_class_prior([1.0, 0.0]).predict(table()),
    ),
    "InvalidPrior.does_not_sum_to_one": (
        lambda: naive(class_prior=[0.5, 0.6]),
        "Divide them by their sum",
        lambda: naive(class_prior=np.array([0.5, 0.6]) / 1.1),
    ),
    "InvalidPrior.wrong_shape": (
        lambda: qda(scale=np.eye(3)),
        "(2, 2, 2)",
        lambda: qda(scale=np.eye(2)),
    ),
    "InvalidPrior.not_a_number": (
        lambda: general(bg.KernelDiscriminant(base_rows=[1.0, 2.0])),
        "Pass a single number",
        lambda: general(bg.KernelDiscriminant(base_rows=1.0)),
    ),
    "InvalidPrior.not_a_sequence": (
        lambda: bg.Multinomial(length=0.0),
        "length=[10, 20]",
        lambda: bg.Multinomial(length=[10, 20]),
    ),
    "InvalidPrior.wrong_classes": (
        lambda: naive(class_prior={"sick": 0.5, "dead": 0.5}),
        "'sick', 'well'",
        lambda: naive(class_prior={"sick": 0.5, "well": 0.5}),
    ),
    "InvalidPrior.prevalence": (
        lambda: naive().estimate_prevalence(table(), prior=[1.0, -1.0]),
        "prior=1.0",
        lambda: naive().estimate_prevalence(table(), prior=1.0),
    ),
    "InvalidPrior.unknown_class_prior": (
        lambda: naive(class_prior="balanced"),
        "class_prior='uniform'",
        lambda: naive(class_prior="uniform"),
    ),
    "InvalidPrior.not_positive_definite": (
        lambda: qda(scale=np.ones((2, 2))),
        "scale + 1e-6 * numpy.diag(scale.diagonal())",
        lambda: qda(scale=np.ones((2, 2)) + 1e-6 * np.diag(np.ones((2, 2)).diagonal())),
    ),
    "InvalidPrior.not_diagonal": (
        lambda: general(bg.MultivariateNormal("diagonal", scale=[[2.0, 1.0], [1.0, 2.0]])),
        "scale=None",
        lambda: general(bg.MultivariateNormal("diagonal", scale=None)),
    ),
    "InvalidPrior.reference_needs_rows": (
        lambda: qda(NUMBERS.assign(c=1.5 * NUMBERS["a"] ** 2), prior="reference"),
        "QDA()",
        lambda: qda(NUMBERS.assign(c=1.5 * NUMBERS["a"] ** 2)),
    ),
}
DECISIONS = {
    "InvalidLoss.wrong_shape": (
        lambda: fitted().decide(table(), loss=np.ones((3, 3))),
        "(2, 2)",
        lambda: fitted().decide(table(), loss=1 - np.eye(2)),
    ),
    "InvalidLoss.not_finite": (
        lambda: fitted().decide(table(), loss=[[0, np.inf], [1, 0]]),
        "a large cost",
        lambda: fitted().decide(table(), loss=[[0, 1e9], [1, 0]]),
    ),
    "InvalidLoss.of_rejecting": (
        lambda: fitted().decide(table(), reject=-1),
        "reject=0.1",
        lambda: fitted().decide(table(), reject=0.1),
    ),
    "InvalidLoss.unknown_class": (
        lambda: fitted().decide(table(), loss={("ill", "well"): 1}),
        "(true, decided)",
        lambda: fitted().decide(table(), loss={("sick", "well"): 1, ("well", "sick"): 1}),
    ),
    "InvalidLoss.pairs_left_out": (
        lambda: fitted().decide(table(), loss={("sick", "well"): 1}),
        "0 where nothing is lost",
        lambda: fitted().decide(table(), loss={("sick", "well"): 1, ("well", "sick"): 0}),
    ),
    "InvalidLoss.label_taken": (
        lambda: fitted().decide(table(), reject=0.1, reject_label="sick"),
        "reject_label='undecided'",
        lambda: fitted().decide(table(), reject=0.1, reject_label="undecided"),
    ),
    "InvalidLoss.empty": (
        lambda: fitted().decide(table(), loss={}),
        "None",
        lambda: fitted().decide(table(), loss=None),
    ),
}
CONSTANT = table(dose=[1.0, 1.0, 1.0, 4.0, 5.5, 6.5])
UNOBSERVED = table(dose=[np.nan, np.nan, np.nan, 4.0, 5.5, 6.5])
COPIES = pd.DataFrame({f"copy {i}": [1.0, 5.0, 2.0, 4.0, 3.0, 1.5] * 5 for i in range(20)})
SPHERICAL = bg.SphericalNormal()
ESTIMATES = {
    "DegenerateVariance.floored": (
        lambda: naive(CONSTANT, inference="mle"),
        "inference='exact'",
        lambda: naive(CONSTANT, inference="exact"),
    ),
    "DegenerateVariance.floored_block": (
        lambda: general(SPHERICAL, NUMBERS.assign(a=Y_CODES, b=Y_CODES), inference="mle"),
        "inference='exact'",
        lambda: general(SPHERICAL, NUMBERS.assign(a=Y_CODES, b=Y_CODES), inference="exact"),
    ),
    "PooledEstimate.pooled": (
        lambda: naive(UNOBSERVED, inference="mle"),
        "inference='exact'",
        lambda: naive(UNOBSERVED, inference="exact"),
    ),
    "SingularCovariance.mended": (
        lambda: qda(NUMBERS.assign(c=NUMBERS["a"]), inference="mle"),
        "inference='exact'",
        lambda: qda(NUMBERS.assign(c=NUMBERS["a"]), inference="exact"),
    ),
    "InformativePattern.at_fit": (
        lambda: naive(table(dose=[1.0, 2.0, None, None, None, None]), missing="informative"),
        "missing='ignorable'",
        lambda: naive(table(dose=[1.0, 2.0, None, None, None, None]), missing="ignorable"),
    ),
    "WorseThanFrequencies.at_fit": (
        lambda: naive(COPIES, Y * 5),
        "bg.StackedClassifier()",
        lambda: stack("auto", COPIES, Y * 5),
    ),
    "WorseThanFrequencies.at_fit columns": (
        lambda: naive(COPIES, Y * 5),
        "NaiveBayes(temper='columns')",
        lambda: naive(COPIES, Y * 5, temper="columns"),
    ),
    "LabelShiftRejected.found": (
        lambda: naive(WARDS, np.resize(["sick", "well"], 80)).estimate_prevalence(WARDS[:40]),
        "X.drop(columns='ward')",
        lambda: naive(
            WARDS.drop(columns="ward"), np.resize(["sick", "well"], 80)
        ).estimate_prevalence(WARDS[:40].drop(columns="ward")),
    ),
    "UninformativeColumn.column": (
        lambda: naive(table(dose=1.0)),
        "X.drop(columns='dose')",
        lambda: naive(table(dose=1.0).drop(columns="dose")),
    ),
    "UninformativeColumn.columns": (
        lambda: lda(wide()),
        "Leave them out",
        lambda: lda(wide()[["a", "b"]]),
    ),
}
Y_CODES = [0.0, 0.0, 0.0, 1.0, 1.0, 1.0]


def wide():
    return NUMBERS.assign(**{f"c{i}": 1.0 for i in range(30)})


GAMMA = bg.Family(dist.Gamma)
FAMILIES = {
    "InvalidDistribution.not_a_class": (
        lambda: bg.Family(dist.Gamma(1.0, 1.0)),
        "Family(dist.Gamma)",
        lambda: bg.Family(dist.Gamma),
    ),
    "InvalidDistribution.must_be_fixed": (
        lambda: bg.Family(dist.BinomialProbs),
        "fixed={'total_count': ...}",
        lambda: bg.Family(dist.BinomialProbs, fixed={"total_count": 5}),
    ),
    "InvalidDistribution.moving_support": (
        lambda: bg.Family(dist.Pareto),
        "fixed={'scale': ...}",
        lambda: bg.Family(dist.Pareto, fixed={"scale": 1.0}),
    ),
    "InvalidDistribution.unknown_parameter": (
        lambda: bg.Family(dist.Gamma, fixed={"shape": 1.0}),
        "'concentration'",
        lambda: bg.Family(dist.Gamma, fixed={"concentration": 1.0}),
    ),
    "InvalidDistribution.fixed_value": (
        lambda: bg.Family(dist.Gamma, fixed={"rate": -1.0}),
        "leave 'rate' out",
        lambda: bg.Family(dist.Gamma),
    ),
    "InvalidDistribution.nothing_free": (
        lambda: bg.Family(dist.Gamma, fixed={"rate": 1.0, "concentration": 1.0}),
        "Leave one out of fixed=",
        lambda: bg.Family(dist.Gamma, fixed={"rate": 1.0}),
    ),
    "InvalidDistribution.not_a_prior": (
        lambda: bg.Family(dist.Gamma, priors={"rate": 1.0}),
        "priors={'rate': dist.LogNormal(0, 1)}",
        lambda: bg.Family(dist.Gamma, priors={"rate": dist.LogNormal(0, 1)}),
    ),
    "InvalidDistribution.prior_support": (
        lambda: bg.Family(dist.Gamma, priors={"rate": dist.Normal(0, 1)}),
        "a prior on such numbers",
        lambda: bg.Family(dist.Gamma, priors={"rate": dist.LogNormal(0, 1)}),
    ),
    "OutOfSupport.cell": (
        lambda: naive(
            table(dose=[-1, 2, 3, 4, 5, 6]), likelihood={"dose": GAMMA, **DOSE_AS_LEVELS}
        ),
        "likelihood={'dose': bg.Normal()}",
        lambda: naive(
            table(dose=[-1, 2, 3, 4, 5, 6]), likelihood={"dose": bg.Normal()}, remainder="auto"
        ),
    ),
}
DOSE_AS_LEVELS = {("colour", "smoker"): bg.Categorical()}
WORDS = {
    "InvalidTexts.one_text": (
        lambda: words("good film"),
        "[X]",
        lambda: fit_words().predict(["good film"]),
    ),
    "InvalidTexts.missing": (
        lambda: words(pd.Series(["good", None, "bad", "film"])),
        'X.fillna("")',
        lambda: words(pd.Series(["good", None, "bad", "film"]).fillna("")),
    ),
    "InvalidTexts.mixed": (
        lambda: words(["good", 3, "bad", "film"]),
        "[str(text) for text in X]",
        lambda: words([str(text) for text in ["good", 30, "bad", "film"]]),
    ),
    "InvalidTexts.column": (
        lambda: words(pd.DataFrame({"text": TEXTS})),
        "X['text']",
        lambda: words(pd.DataFrame({"text": TEXTS})["text"]),
    ),
    "InvalidTexts.fitted_to_counts": (
        lambda: words(COUNTS).predict(TEXTS),
        "Fit it to texts",
        lambda: words(TEXTS).predict(TEXTS),
    ),
    "InvalidTexts.no_words": (
        lambda: words(list("abab")),
        'BagOfWords(vectorizer=CountVectorizer(token_pattern=r"\\S+"))',
        lambda: words(list("abab"), vectorizer=CountVectorizer(token_pattern=r"\S+")),
    ),
    "EmptyDocuments.presence": (
        lambda: words(binary=True).predict(["zebra"]),
        "binary=False",
        lambda: quietly(words(binary=False).predict, ["zebra"]),
    ),
}


def fit_words():
    return words()


INFERENCE = {
    "UnsupportedInference.unknown": (
        lambda: naive(inference="gibbs"),
        "inference='auto'",
        lambda: naive(inference="auto"),
    ),
    "UnsupportedInference.not_an_instance": (
        lambda: naive(inference=bg.Exact),
        "inference=bg.Exact()",
        lambda: naive(inference=bg.Exact()),
    ),
    "UnsupportedInference.loses_no_row": (
        lambda: incomplete().loo(),
        "inference='expected'",
        lambda: qda(GAPS, inference="expected").loo(),
    ),
    "NoPosterior.point_estimate": (
        lambda: naive(inference="mle").predict_interval(table()),
        "inference='auto'",
        lambda: naive(inference="auto").predict_interval(table()),
    ),
    "NoAttribute.not_linear": (
        lambda: lda().coef_,
        "LDA(inference='mle')",
        lambda: lda(inference="mle").coef_,
    ),
    "NoAttribute.counts": (
        lambda: words(COUNTS).vectorizer_,
        "Fit texts",
        lambda: words(TEXTS).vectorizer_,
    ),
    "NoEvidence.improper": (
        lambda: qda(prior="reference").log_evidence_,
        "prior='conjugate'",
        lambda: qda(prior="conjugate").log_evidence_,
    ),
    "NoEvidence.missing_values": (
        lambda: incomplete().log_evidence_,
        "bg.compare({'one': ..., 'other': ...}, X, y)",
        lambda: bg.compare({"one": bg.LDA(), "other": bg.QDA()}, *iris(), cv=2, progress=False),
    ),
    "NoEvidence.not_exact": (
        lambda: qda(inference="mle").log_evidence_,
        "inference='exact'",
        lambda: qda(inference="exact").log_evidence_,
    ),
    "ImpossibleRows.found": (
        lambda: impossible("mle"),
        "inference='map'",
        lambda: impossible("map"),
    ),
    "NoEvidence.plug_in": (
        lambda: naive(NUMBERS, likelihood=bg.KernelDensity(), inference="exact").log_evidence_,
        "bg.compare(",
        lambda: bg.compare({"k": bg.NaiveBayes(bg.KernelDensity())}, *iris(), cv=2, progress=False),
    ),
    "LeftOut.member": (
        lambda: stack([bg.LDA(), bg.NaiveBayes()]),
        "Leave it out of members=",
        lambda: stack([bg.NaiveBayes()]),
    ),
    "LeftOut.too_wide": (
        lambda: stack(X=many()),
        "members={'linear': bg.LDA(), ...}",
        lambda: stack({"linear": bg.LDA()}, X=many()),
    ),
    "LeftOut.too_many_levels": (
        lambda: stack(X=wordy()),
        "members={'linear': bg.LDA(levels='indicators'), ...}",
        lambda: stack({"linear": bg.LDA(levels="indicators")}, X=wordy()),
    ),
}


def wordy():
    """Return six rows of 21 columns of six levels each, 105 indicators."""
    levels = pd.Categorical(list("abcdef"))
    return pd.DataFrame({f"c{i}": levels for i in range(21)})


def many():
    rng = np.random.default_rng(0)
    return pd.DataFrame(rng.standard_normal((6, 101)), columns=[f"c{i}" for i in range(101)])


def impossible(inference):
    X = pd.DataFrame({"a": list("xxyyzz"), "b": list("uvuvww")})
    return naive(X, list("AABBCC"), inference=inference).predict_proba(
        pd.DataFrame({"a": ["x"], "b": ["w"]})
    )


BECAUSE = {
    "UnsupportedInference.because a divisor has no optimum": (
        lambda: bg.MLE(bias_corrected=True, solver="svi"),
        "MLE(bias_corrected=True)",
        lambda: bg.MLE(bias_corrected=True),
    ),
    "UnsupportedInference.because a reference prior is improper": (
        lambda: qda(prior="reference", inference="nuts"),
        "inference='exact'",
        lambda: qda(prior="reference", inference="exact"),
    ),
    "UnsupportedInference.because two powers are learned": (
        lambda: naive(missing="learn", temper="learn"),
        "temper='columns'",
        lambda: naive(missing="learn", temper="columns"),
    ),
    "UnsupportedInference.because columns depend": (
        lambda: naive(NUMBERS, likelihood=bg.MultivariateNormal()),
        "bg.QDA()",
        lambda: bg.QDA().fit(NUMBERS, Y),
    ),
    "UnsupportedInference.because a kernel has an end": (
        lambda: bg.KernelDensity(kernel="uniform", bandwidth="posterior"),
        "kernel='gaussian'",
        lambda: bg.KernelDensity(kernel="gaussian", bandwidth="posterior"),
    ),
    "UnsupportedInference.because a structure has no such prior": (
        lambda: general(bg.MultivariateNormal("spherical", prior="lkj")),
        "Leave out prior='lkj'",
        lambda: general(bg.MultivariateNormal("spherical")),
    ),
    "UnsupportedInference.because kernels have no program": (
        lambda: general(bg.KernelDiscriminant(), inference="nuts"),
        "inference='exact'",
        lambda: general(bg.KernelDiscriminant(), inference="exact"),
    ),
    "UnsupportedInference.because words are too many": (
        lambda: words(csr_array(np.arange(24000).reshape(4, 6000) % 3 + 1), inference="nuts"),
        "inference='exact'",
        lambda: quietly(words, csr_array(np.arange(24000).reshape(4, 6000) % 3 + 1)),
    ),
    "UnsupportedInference.because words cannot be drawn": (
        lambda: general(bg.Multinomial(), DICE).impute(pd.DataFrame({"a": [1.0], "b": [np.nan]})),
        "bg.Poisson()",
        lambda: general(bg.Poisson(), DICE).impute(pd.DataFrame({"a": [1.0], "b": [np.nan]})),
    ),
    "UnsupportedInference.because indicators draw no level": (
        lambda: levelled(bg.LDA(levels="indicators")),
        "NaiveBayes()",
        lambda: levelled(bg.NaiveBayes()),
    ),
    "UnsupportedInference.loses_no_row under a temperature": (
        lambda: quietly(partial(qda, GAPS, temper="learn")),
        "inference='expected'",
        lambda: qda(GAPS, temper="learn", inference="expected"),
    ),
    "UnsupportedInference.loses_no_row of a table": (
        lambda: tabled("auto").loo(),
        "inference='expected'",
        lambda: tabled("expected").loo(),
    ),
    "UnsupportedInference.loses_no_row of a mode": (
        lambda: qda(inference="map").loo(),
        "inference='expected'",
        lambda: qda(inference="expected").loo(),
    ),
}
DICE = pd.DataFrame({"a": [1.0, 2, 3, 1, 0, 2], "b": [0.0, 1, 0, 3, 2, 4]})


def levelled(clf):
    return clf.fit(table(), Y).impute(table(colour=[None] * 6), random_state=0)


def tabled(inference):
    """Return a joint table fitted to rows with a missing cell."""
    X = table()[["colour", "smoker"]].assign(colour=[None, *"rrbrb"])
    return quietly(bg.JointTable(inference=inference, random_state=0).fit, X, Y)


MORE = {
    "NoClosedForm.missing_cells": (
        lambda: qda(GAPS, inference=bg.Exact(draws=50)),
        "inference='auto'",
        lambda: quietly(partial(qda, GAPS, inference="auto")),
    ),
    "InvalidTarget.wrong_length": (
        lambda: naive(y=Y[:4]),
        "the same rows",
        lambda: naive(table(), Y),
    ),
    "InvalidPrior.not_used": (
        lambda: bg.MultivariateNormal(prior="lkj", covariance_rows=3.0),
        "leave out covariance_rows",
        lambda: bg.MultivariateNormal(prior="lkj", concentration=3.0),
    ),
    "InvalidDistribution.many_numbers": (
        lambda: bg.Family(dist.MultivariateNormal),
        "bg.MultivariateNormal()",
        lambda: general(bg.MultivariateNormal()),
    ),
    "PooledEstimate.pooled_block": (
        lambda: qda(UNSEEN, inference="mle"),
        "inference='exact'",
        lambda: quietly(partial(qda, UNSEEN, inference="exact")),
    ),
    "UnknownDataset.named": (
        lambda: bg.datasets.path("irises"),
        "'iris'",
        lambda: bg.datasets.path("iris"),
    ),
}
UNSEEN = NUMBERS.assign(a=[np.nan] * 3 + [7.0, 5.0, 6.0], b=[np.nan] * 3 + [4.0, 9.0, 7.0])
