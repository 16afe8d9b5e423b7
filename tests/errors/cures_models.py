"""Sentences about priors, decisions, estimates, families, words and inference, for `cures`."""

import copy
from functools import partial

import numpy as np
import numpyro.distributions as dist
import pandas as pd
import polars as pl
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
from sklearn.calibration import CalibratedClassifierCV
from sklearn.feature_extraction.text import CountVectorizer

import bayesgen as bg

REVIEWS = [f"a very {text} of the year" for text in TEXTS]
WARDS = pd.DataFrame(
    {"ward": np.repeat(["a", "b"], 40), "dose": np.random.default_rng(0).normal(size=80)}
)
PROBA = np.full((len(Y), 2), 0.5)
"""Probabilities of six rows under a fit that knows as much as the class frequencies."""
TITLES = [f"a short text with number {i}" for i in range(80)]
Y80 = np.tile(["ill", "well"], 40)
ROOMS = WARDS.assign(ward=np.repeat([1, 2], 40))
UNKNOWN_WARD = WARDS.assign(ward=[None, *WARDS["ward"][1:]])


def calibrated(inference):
    """Compare a classifier that calibrates log-odds; a level occurs in one class alone."""
    X = pd.DataFrame({"mark": ["u", "v", "w"] * 16, "dose": np.arange(48.0)})
    y = np.where(X["mark"] == "w", "ill", np.resize(["ill", "well"], 48))
    clf = CalibratedClassifierCV(bg.NaiveBayes(inference=inference), cv=2)
    # scikit-learn divides infinite log-odds
    with np.errstate(invalid="warn"):
        return bg.compare({"calibrated": clf}, X, y, cv=2, progress=False)


def stack_of_wards():
    clf = bg.StackedClassifier({"naive": bg.NaiveBayes()}, groups="ward", progress=False)
    return clf.fit(WARDS, np.tile(["ill", "well"], 40))


def more_of_wards(groups):
    clf, y = of_wards(WARDS, groups="ward"), np.tile(["ill", "well"], 40)
    return clf.set_params(groups=groups).partial_fit(WARDS, y)


def of_wards(X, **params):
    return bg.NaiveBayes(**params).fit(X, np.tile(["ill", "well"], 40))


CONSTANT = table(dose=[1.0, 1.0, 1.0, 4.0, 5.5, 6.5])
UNOBSERVED = table(dose=[np.nan, np.nan, np.nan, 4.0, 5.5, 6.5])
FEW_ROWS = pd.DataFrame({"a": [1.0, 2.0, 5.0, 4.0, 3.5, 6.0], "b": [3.0, 1.0, 2.0, 2.5, 0.0, 1.5]})
ROWS = [x + 0.01 * i for i in range(5) for x in (1.0, 5.0, 2.0, 4.0, 3.0, 1.5)]
COPIES = pd.DataFrame({f"copy {i}": ROWS for i in range(20)})


def parts():
    return naive(NUMBERS).partial_fit(NUMBERS, Y)


def wide():
    return NUMBERS.assign(**{f"c{i}": 1.0 for i in range(30)})


GAMMA = bg.Family(dist.Gamma)
DOSE_AS_LEVELS = {("colour", "smoker"): bg.Categorical()}


def fit_words():
    return words()


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


MANY_WORDS = [" ".join(f"w{i}" for i in range(60)), "w1 w2"]
VERY_MANY_WORDS = [" ".join(f"w{i}" for i in range(501)), "w1 w2"]
DICE = pd.DataFrame({"a": [1.0, 2, 3, 1, 0, 2], "b": [0.0, 1, 0, 3, 2, 4]})


def levelled(clf):
    return clf.fit(table(), Y).impute(table(colour=[None] * 6), random_state=0)


def tabled(inference):
    """Return a joint table fitted to rows with a missing cell."""
    X = table()[["colour", "smoker"]].assign(colour=[None, *"rrbrb"])
    return quietly(bg.JointTable(inference=inference, random_state=0).fit, X, Y)


UNSEEN = NUMBERS.assign(a=[np.nan] * 3 + [7.0, 5.0, 6.0], b=[np.nan] * 3 + [4.0, 9.0, 7.0])


def fitted_wards():
    return quietly(naive, WARDS, np.resize(["sick", "well"], 80))


def prevalence_in(X):
    return naive(X, np.resize(["sick", "well"], 80)).estimate_prevalence(X[:40])


CURES = r"""
naive(NUMBERS, likelihood=bg.Normal(mean_rows=0))
    inference='mle'
    naive(NUMBERS, likelihood=bg.Normal(), inference="mle")
lda(mean=np.full(2, np.nan))
    Pass mean=None
    lda(mean=None)
general(bg.KernelDiscriminant(base_rows=[1.0, 2.0]))
    has the shape (2,); one number for all classes and columns is needed. Pass a single number
    general(bg.KernelDiscriminant(base_rows=1.0))
bg.Multinomial(length=0.0)
    length=[10, 20]
    bg.Multinomial(length=[10, 20])
bg.Poisson(rows=None)
    Poisson: rows is None; finite numbers above 0
bg.Bernoulli(prob=10**400)
    probabilities above 0 and below 1
bg.Normal(spread=np.array([1.0, 2.0]))
    'per_class'
bg.Bernoulli(prob=1.5)
    Pass prob=None
    bg.Bernoulli(prob=None)
bg.Categorical(probs=[2.0, 3.0])
    Divide positive numbers by their sum
naive(NUMBERS.assign(c=1.0), likelihood=bg.Normal(mean=[3.0, 5.0]))
    numpy.reshape(mean, (2, 1))
    naive(NUMBERS.assign(c=NUMBERS.a**2), likelihood=bg.Normal(mean=np.reshape([3.0, 5.0], (2, 1))))
bg.MultivariateNormal(correlation=1.5)
    Pass correlation=0.0
    bg.MultivariateNormal(correlation=0.0)
naive(class_prior=[1.0, 0.0])
    class_prior='empirical'
    naive(class_prior="empirical").with_class_prior([1.0, 0.0]).predict(table())
naive(class_prior=[0.5, 0.6])
    Divide them by their sum
qda(scale=np.eye(3))
    (2, 2, 2)
    qda(scale=np.eye(2))
naive(class_prior={"sick": 0.5, "dead": 0.5})
    'sick', 'well'
naive().estimate_prevalence(table(), prior=[1.0, -1.0])
    prior=1.0
    naive().estimate_prevalence(table(), prior=1.0)
naive(class_prior="balanced")
    class_prior='uniform'
    naive(class_prior="uniform")
qda(scale=np.ones((2, 2)))
    scale + 1e-6 * numpy.diag(scale.diagonal())
    qda(scale=np.ones((2, 2)) + 1e-06 * np.diag(np.ones((2, 2)).diagonal()))
general(bg.MultivariateNormal("diagonal", scale=[[2.0, 1.0], [1.0, 2.0]]))
    scale=None
    general(bg.MultivariateNormal("diagonal", scale=None))
qda(NUMBERS.assign(c=1.5 * NUMBERS["a"] ** 2), prior="reference")
    QDA()
    qda(NUMBERS.assign(c=1.5 * NUMBERS["a"] ** 2))
fitted().decide(table(), loss=np.ones((3, 3)))
    (2, 2)
    fitted().decide(table(), loss=1 - np.eye(2))
fitted().decide(table(), loss=[[0, np.inf], [1, 0]])
    a large cost
fitted().decide(table(), reject=-1)
    reject=0.1
    fitted().decide(table(), reject=0.1)
fitted().decide(table(), loss={("ill", "well"): 1})
    (true, decided)
    fitted().decide(table(), loss={("sick", "well"): 1, ("well", "sick"): 1})
fitted().decide(table(), loss={("sick", "well"): 1})
    0 where nothing is lost
fitted().decide(table(), reject=0.1, reject_label="sick")
    reject_label='undecided'
    fitted().decide(table(), reject=0.1, reject_label="undecided")
fitted().decide(table(), loss={})
    None
fitted().decide(table(), loss="0-1")
    loss=None
    fitted().decide(table(), loss=None)
fitted().decide(table(), loss={"sick": {"well": 1}})
    {(true, decided): number}
    fitted().decide(table(), loss={("sick", "well"): 1, ("well", "sick"): 1})
fitted().decide(table(), loss={("sick", "well"): "high"})
    {(true, decided): number}
fitted().decide(table(), loss=pd.DataFrame([[0, 5], [1, 0]]))
    loss.to_numpy()
    fitted().decide(table(), loss=pd.DataFrame([[0, 5], [1, 0]]).to_numpy())
naive(class_prior=pd.Series([0.3, 0.7]))
    .to_numpy()
    naive(class_prior=pd.Series([0.3, 0.7]).to_numpy())
naive(class_prior=pd.Series([0.3, 0.7], index=["sick", "sick"]))
    Pass class_prior as a dict
    naive(class_prior={"sick": 0.3, "well": 0.7})
naive(CONSTANT, inference="mle")
    inference='exact'
    naive(CONSTANT, inference="exact")
naive(NUMBERS, likelihood=bg.Normal(mean=[[1.0], [2.0]]), columns="average")
    columns='all'
    naive(NUMBERS, likelihood=bg.Normal(mean=[[1.0], [2.0]]), columns="all")
parts().relevance()
    relevance(X)
    parts().relevance(NUMBERS)
naive(UNOBSERVED, inference="mle")
    inference='exact'
    naive(UNOBSERVED, inference="exact")
qda(NUMBERS.assign(c=NUMBERS["a"]), inference="mle")
    inference='exact'
    qda(NUMBERS.assign(c=NUMBERS["a"]), inference="exact")
naive(table(dose=[1.0, 2.0, None, None, None, None]), missing="informative")
    missing='ignorable'
    naive(table(dose=[1.0, 2.0, None, None, None, None]), missing="ignorable")
naive(COPIES, Y * 5)
    NaiveBayes(temper='columns')
    naive(COPIES, Y * 5, temper="columns")
naive(FEW_ROWS, temper="columns").loo()
    temper='learn'
    naive(FEW_ROWS, temper="learn").loo()
prevalence_in(WARDS)
    X.drop(columns='ward')
    prevalence_in(WARDS.drop(columns="ward"))
naive(table(dose=1.0))
    X.drop(columns='dose')
    naive(table(dose=1.0).drop(columns="dose"))
lda(wide())
    Leave them out
bg.Family(dist.Gamma(1.0, 1.0))
    Family(dist.Gamma)
    bg.Family(dist.Gamma)
bg.Family(dist.BinomialProbs)
    fixed={'total_count': ...}
    bg.Family(dist.BinomialProbs, fixed={"total_count": 5})
bg.Family(dist.Pareto)
    fixed={'scale': ...}
    bg.Family(dist.Pareto, fixed={"scale": 1.0})
bg.Family(dist.Gamma, fixed={"shape": 1.0})
    'concentration'
bg.Family(dist.Gamma, fixed={"rate": -1.0})
    leave 'rate' out
bg.Family(dist.Gamma, fixed={"rate": 1.0, "concentration": 1.0})
    Leave one out of fixed=
    bg.Family(dist.Gamma, fixed={"rate": 1.0})
bg.Family(dist.Gamma, priors={"rate": 1.0})
    priors={'rate': dist.LogNormal(0, 1)}
    bg.Family(dist.Gamma, priors={"rate": dist.LogNormal(0, 1)})
bg.Family(dist.Gamma, priors={"rate": dist.Normal(0, 1)})
    a prior on such numbers
naive(table(dose=[-1, 2, 3, 4, 5, 6]), likelihood={"dose": GAMMA, **DOSE_AS_LEVELS})
    likelihood={'dose': bg.Normal(), ...}
    naive(table(dose=[-1, 2, 3, 4, 5, 6]), likelihood={"dose": bg.Normal()}, remainder="auto")
of_wards(WARDS.assign(text=TITLES))
    bg.BagOfWords().fit(X['text'], y)
    bg.BagOfWords().fit(WARDS.assign(text=TITLES)["text"], Y80)
of_wards(pd.DataFrame({"text": TITLES}))
    Fit the texts: bg.BagOfWords().fit(X['text'], y)
    bg.BagOfWords().fit(pd.DataFrame({"text": TITLES})["text"], Y80)
of_wards(WARDS.assign(name=[f"n{i}" for i in range(80)]))
    X.drop(columns='name')
    of_wards(WARDS.assign(name=[f"n{i}" for i in range(80)]).drop(columns="name"))
of_wards(WARDS, groups="site")
    groups= names the column 'site', which X does not have
of_wards(WARDS, groups="site")
    X.assign(**{'site': ...})
    of_wards(WARDS.assign(site=WARDS["ward"]), groups="site")
of_wards(WARDS, groups="ward").program()
    a model with groups has no program as text, because the prior of a group
of_wards(WARDS, groups=WARDS["ward"])
    X.assign(group=...), and pass groups='group'
    of_wards(WARDS.assign(group=WARDS["ward"]), groups="group")
of_wards(WARDS[["dose"]].to_numpy(), groups=3)
    which X does not have; it has 'x0'
of_wards(ROOMS.to_numpy(), groups=0)
    Columns of an array are named x0, x1, ...: pass groups='x0'
    of_wards(ROOMS.to_numpy(), groups="x0")
of_wards(pl.from_pandas(WARDS), groups="site")
    Name one of these, add it, or leave out groups=.
of_wards(WARDS[["ward"]], groups="ward")
    leave out groups=
    of_wards(WARDS[["ward"]])
of_wards(WARDS, likelihood={"ward": bg.Categorical(), "dose": bg.Normal()}, groups="ward")
    Leave it out of likelihood=
    of_wards(WARDS, likelihood={"dose": bg.Normal()}, groups="ward")
of_wards(UNKNOWN_WARD, groups="ward")
    a group of their own, such as 'unknown'
    of_wards(UNKNOWN_WARD.fillna({"ward": "unknown"}), groups="ward")
of_wards(WARDS, groups="dose")
    X['dose'] = pandas.cut(X['dose'], 5)
    of_wards(WARDS.assign(dose=pd.cut(WARDS["dose"], 5)), groups="dose")
of_wards(WARDS.assign(row=np.arange(80)[::-1] % 77), groups="row")
    leave out groups=
    of_wards(WARDS.assign(row=np.arange(80)[::-1] % 77))
of_wards(ROOMS, groups="ward").predict_proba(ROOMS.astype({"ward": str}))
    X.astype({'ward': int})
    of_wards(ROOMS, groups="ward").predict_proba(ROOMS.astype({"ward": str}).astype({"ward": int}))
of_wards(WARDS, groups="ward").estimate_prevalence(WARDS, method="left_out")
    Pass method='density'
    of_wards(WARDS, groups="ward").estimate_prevalence(WARDS, method="density")
more_of_wards(groups=None)
    set_params(groups='ward')
    more_of_wards(groups="ward")
stack_of_wards().group_summary()
    stack.members_['naive'].group_summary()
    stack_of_wards().members_["naive"].group_summary()
stack_of_wards().summary(kind="stats")
    summary(member='naive', kind=...)
    stack_of_wards().summary(member="naive", kind="stats")
of_wards(WARDS).group_summary()
    bg.NaiveBayes(groups='site')
    of_wards(WARDS, groups="ward").group_summary()
fitted().predict_set(table(), by="age")
    Pass by=None
    fitted().predict_set(table(), 0.5, by=None)
bg.NaiveBayes(temper="learn").fit(NUMBERS, Y).predict_set(NUMBERS, 0.5, method="full")
    method='left_out'
    bg.NaiveBayes(temper="learn").fit(NUMBERS, Y).predict_set(NUMBERS, 0.5, method="left_out")
fitted_wards().predict_set(WARDS, 0.5, by="dose")
    Pass by=None
    fitted_wards().predict_set(WARDS, 0.5, by=None)
fitted_wards().predict_set(WARDS, 0.999, by="ward")
    Pass by=None
    fitted_wards().predict_set(WARDS, 0.9, by=None)
copy.copy(fitted()).predict_set(table(), 0.5)
    X_fit=X, y_fit=y
    copy.copy(fitted()).predict_set(table(), 0.5, X_fit=table(), y_fit=Y)
fitted().predict_set(table(), 0.5, X_fit=table())
    X_fit=X, y_fit=y
    fitted().predict_set(table(), 0.5, X_fit=table(), y_fit=Y)
words("good film")
    [X]
    fit_words().predict(["good film"])
words(pd.Series(["good", None, "bad", "film"]))
    pandas.Series(X).fillna("")
    words(pd.Series(["good", None, "bad", "film"]).fillna(""))
words(["good", 3, "bad", "film"])
    [str(text) for text in X]
    words([str(text) for text in ["good", 30, "bad", "film"]])
words(pd.DataFrame({"text": REVIEWS, "length": 1.0}))
    X['text']
    words(pd.DataFrame({"text": REVIEWS})["text"])
words(COUNTS).predict(TEXTS)
    Fit it to texts
words(list("abab"))
    BagOfWords(vectorizer=CountVectorizer(token_pattern=r"\S+"))
    words(list("abab"), vectorizer=CountVectorizer(token_pattern='\\S+'))
words(binary=True).predict(["zebra"])
    binary=False
    quietly(words(binary=False).predict, ["zebra"])
general(bg.KernelDiscriminant()).program()
    its kernels are the rows of the fit. Fit bg.NaiveBayes()
    naive(NUMBERS).program()
naive(NUMBERS, likelihood=bg.Normal(prior="reference")).program()
    an improper prior draws no parameters. Pass prior='conjugate'
    naive(NUMBERS, likelihood=bg.Normal(prior="conjugate")).program()
words(VERY_MANY_WORDS, [0, 1]).relevance()
    CountVectorizer(max_features=500)
    words(VERY_MANY_WORDS, [0, 1], vectorizer=CountVectorizer(max_features=500)).relevance()
words(MANY_WORDS, [0, 1]).program()
    Count fewer: vectorizer=CountVectorizer(max_features=50)
    words(MANY_WORDS, [0, 1], vectorizer=CountVectorizer(max_features=50)).program()
naive(NUMBERS, inference="Exakt")
    Pass inference='exact'.
    naive(NUMBERS, inference="exact")
naive(inference="gibbs")
    inference='auto'
    naive(inference="auto")
naive(inference=bg.Exact)
    inference=bg.Exact()
    naive(inference=bg.Exact())
incomplete().loo()
    inference='expected'
    qda(GAPS, inference="expected").loo()
naive(inference="mle").predict_interval(table())
    inference='auto'
    naive(inference="auto").predict_interval(table())
lda().coef_
    LDA(inference='mle')
    lda(inference="mle").coef_
words(COUNTS).vectorizer_
    Fit texts
qda(prior="reference").log_evidence_
    prior='conjugate'
    qda(prior="conjugate").log_evidence_
bg.calibrate.log_loss(Y, PROBA[:-1], fitted().classes_)
    proba=clf.predict_proba(X)
    bg.calibrate.log_loss(Y, PROBA, fitted().classes_)
bg.calibrate.log_loss(Y, np.ones((len(Y), 3)) / 3)
    classes=clf.classes_
    bg.calibrate.log_loss(Y, PROBA, classes=fitted().classes_)
bg.calibrate.log_loss(["unknown", *Y[1:]], PROBA, fitted().classes_)
    classes=clf.classes_
    bg.calibrate.log_loss(Y, PROBA, classes=fitted().classes_)
calibrated("mle")
    Leave it out; where it calibrates log-odds that are infinite
    calibrated("exact")
incomplete().log_evidence_
    bg.compare({'one': ..., 'other': ...}, X, y)
    bg.compare({"one": bg.LDA(), "other": bg.QDA()}, *iris(), cv=2, progress=False)
qda(inference="mle").log_evidence_
    inference='exact'
    qda(inference="exact").log_evidence_
impossible("mle")
    inference='map'
    impossible("map")
naive(NUMBERS, likelihood=bg.KernelDensity(), inference="exact").log_evidence_
    bg.compare(
    bg.compare({"k": bg.NaiveBayes(bg.KernelDensity())}, *iris(), cv=2, progress=False)
stack([bg.LDA(), bg.NaiveBayes()])
    Leave it out of members=
    stack([bg.NaiveBayes()])
stack(X=wordy())
    members={'linear': bg.LDA(levels='indicators'), ...}
    stack({"linear": bg.LDA(levels="indicators")}, X=wordy())
bg.MLE(bias_corrected=True, solver="svi")
    MLE(bias_corrected=True)
    bg.MLE(bias_corrected=True)
qda(prior="reference", inference="nuts")
    inference='exact'
    qda(prior="reference", inference="exact")
naive(missing="learn", temper="learn")
    temper='columns'
    naive(missing="learn", temper="columns")
naive(NUMBERS, likelihood=bg.MultivariateNormal())
    bg.QDA()
    bg.QDA().fit(NUMBERS, Y)
general(bg.MultivariateNormal("diagonal", prior="lkj"))
    Leave out prior='lkj'
    general(bg.MultivariateNormal("diagonal"))
general(bg.KernelDiscriminant(), inference="nuts")
    inference='exact'
    general(bg.KernelDiscriminant(), inference="exact")
words(csr_array(np.arange(24000).reshape(4, 6000) % 3 + 1), inference="nuts")
    inference='exact'
    quietly(words, csr_array(np.arange(24000).reshape(4, 6000) % 3 + 1))
general(bg.Multinomial(), DICE).impute(pd.DataFrame({"a": [1.0], "b": [np.nan]}))
    bg.Poisson()
    general(bg.Poisson(), DICE).impute(pd.DataFrame({"a": [1.0], "b": [np.nan]}))
levelled(bg.LDA(levels="indicators"))
    NaiveBayes()
    levelled(bg.NaiveBayes())
naive(y=Y[:4])
    the same rows
bg.MultivariateNormal(prior="lkj", covariance_rows=3.0)
    leave out covariance_rows
bg.Family(dist.MultivariateNormal)
    bg.MultivariateNormal()
    general(bg.MultivariateNormal())
qda(UNSEEN, inference="mle")
    inference='exact'
    quietly(partial(qda, UNSEEN, inference="exact"))
bg.datasets.path("irises")
    'iris'
stack([bg.LDA(), "naive"], NUMBERS)
    members=[bg.LDA(), bg.NaiveBayes()]
    stack([bg.LDA(), bg.NaiveBayes()], NUMBERS)
stack(["nb"], NUMBERS)
    Pass members=['naive'
    stack(["naive"], NUMBERS)
stack([bg.LDA], NUMBERS)
    members=[bg.LDA()]
    stack([bg.LDA()], NUMBERS)
bg.KernelDiscriminant(bandwidth=1e-200)
    bandwidth is 1e-200; finite numbers above 0 (1e-150 to 1e150)
lda(scale=np.array([1.0, -2.0]))
    LDA: scale has the entry -2.0; finite numbers above 0
bg.Normal(mean="high")
    Normal: mean is 'high'; finite numbers
naive(class_prior=-1.0)
    class_prior: rows per class is -1.0; finite numbers above 0
naive(class_prior=[0.2, 0.3, 0.5])
    class_prior holds 3 numbers
fitted().predict(table(dose=[1, 2, np.inf, 4, 5, 6]))
    column 'dose' holds infinity (inf or -inf) in 1 row;
naive(weight=[1, 1, 1, 0, 0, 0])
    y has 1 class, 'sick'; at least two are needed
"""
