"""Sentences about classifiers that do not merge and rows that are not forgotten, for `cures`."""

import copy

import numpy as np
import pandas as pd
import sklearn.base
from cures_tables import NUMBERS, Y

import bayesgen as bg

TEXT = NUMBERS.assign(b=list("uvuvuv"))
QUESTION = NUMBERS.assign(b=pd.Categorical(list("uvuvuv"), ["u", "v"]))
TURNED = NUMBERS.assign(b=pd.Categorical(list("uvuvuv"), ["v", "u"]))
ANSWERS = {"a": bg.Normal(), "b": bg.Bernoulli()}
STATED = {"a": bg.Normal(), "b": bg.Categorical(probs=np.array([0.4, 0.6]))}
MORE = pd.concat([NUMBERS, NUMBERS + 3])
NAMED = pd.DataFrame({"a": np.arange(30.0) % 7, "name": [f"n{i}" for i in range(30)]})
UNNAMED = NAMED.drop(columns=["name"])


def fit(X=NUMBERS, y=Y, likelihood="auto", **options):
    return bg.NaiveBayes(likelihood, **options).fit(X, y)


def stack():
    return bg.StackedClassifier([bg.LDA()], progress=False).fit(MORE, Y * 2)


def merge(one, other):
    return one.merge(other)


def forget(X, y, **options):
    return fit(MORE, Y * 2, **options).forget(X, y)


def words(text, vectorizer=None):
    return bg.BagOfWords(vectorizer=vectorizer).fit([text, "proof"], ["history", "science"])


def one_vocabulary(one, other):
    """Return a vectorizer with the words of two classifiers, as the sentence makes it."""
    vocabulary = sorted(
        {*one.vectorizer_.get_feature_names_out(), *other.vectorizer_.get_feature_names_out()}
    )
    return sklearn.base.clone(one.vectorizer_).set_params(vocabulary=vocabulary)


BOTH = one_vocabulary(words("king food"), words("king sun"))
TOGETHER = {("a", "b"): bg.Normal()}
SICK = np.array(Y * 2) == "sick"


def declared(levels):
    return pd.Categorical(levels, ["u", "v"])


def weighted():
    return bg.NaiveBayes().fit(MORE, Y * 2, np.append(1e-7, np.full(11, 0.1)))


CURES = """
merge(fit(), bg.LDA().fit(NUMBERS, Y))
    Fit both as NaiveBayes
merge(fit(class_prior=1.0), fit(class_prior="uniform"))
    Fit both with class_prior=1.0
    merge(fit(class_prior=1.0), fit(class_prior=1.0))
merge(fit(), fit(NUMBERS[["a"]]))
    with missing values (NaN) where it is unknown
    merge(fit(), fit(NUMBERS.assign(b=[np.nan, 1.0, 3.0, np.nan, 2.0, 4.0])))
merge(fit(NAMED, Y * 5), fit(NAMED[:12], Y * 2))
    X.drop(columns=['name'])
    merge(fit(UNNAMED, Y * 5), fit(UNNAMED[:12], Y * 2))
merge(words("king food"), words("king sun"))
    bg.BagOfWords(vectorizer=sklearn.base.clone(one.vectorizer_).set_params(vocabulary=words))
    merge(words("king food", BOTH), words("king sun", BOTH))
merge(fit(), fit(NUMBERS[["b", "a"]]))
    Fit both to X[['a', 'b']]
    merge(fit(), fit(NUMBERS[["b", "a"]][["a", "b"]]))
merge(fit(TEXT), fit())
    likelihood={'b': Categorical(), ...}
    merge(*(fit(X, likelihood={"b": bg.Categorical(), "a": bg.Normal()}) for X in (TEXT, TEXT)))
merge(fit(likelihood=TOGETHER), fit(likelihood={"a": bg.Normal(), "b": bg.Normal()}))
    State the same likelihood= in both
    merge(fit(likelihood=TOGETHER), fit(likelihood=TOGETHER))
merge(*(fit(X, likelihood=ANSWERS) for X in (QUESTION, TURNED)))
    pandas.CategoricalDtype(['u', 'v'])
    merge(*(fit(X.assign(b=declared(X["b"])), likelihood=ANSWERS) for X in (QUESTION, TURNED)))
merge(*(fit(X, likelihood=STATED) for X in (QUESTION, TURNED)))
    pandas.CategoricalDtype(levels)
    merge(*(fit(X.assign(b=declared(X["b"])), likelihood=STATED) for X in (QUESTION, TURNED)))
merge(fit(y=[0, 0, 0, 1, 1, 1]), fit(y=Y))
    Pass y.astype(str)
    merge(fit(y=np.array([0, 0, 0, 1, 1, 1]).astype(str)), fit(y=Y))
merge(stack(), copy.copy(stack()))
    fit with all rows
forget(NUMBERS[:1], ["strange"])
    Pass rows of the fit
forget(pd.concat([NUMBERS[:1]] * 9), Y[:1] * 9)
    each once and with the weight it had there
forget(NUMBERS[:2], ["sick", None])
    forget(X[keep], numpy.asarray(y)[keep])
    forget(NUMBERS[:2][[True, False]], ["sick"])
fit(TEXT).forget(TEXT[:1].assign(b="q"), Y[:1])
    Pass rows of the fit
forget(NUMBERS[:1] + 90, Y[:1])
    each once and with the weight it had there
fit().forget(NUMBERS[:2], Y[:2])
    clf.fit(X[rest], y[rest])
    fit(MORE[2:], (Y * 2)[2:])
weighted().forget(MORE[SICK][1:], ["sick"] * 5, np.full(5, 0.1))
    clf.fit(X[rest], y[rest])
    fit(MORE[3:], (Y * 2)[3:])
forget(NUMBERS[:1], Y[:1], power_transform=True)
    clf.fit(X[rest], y[rest])
    fit(MORE[1:], (Y * 2)[1:], power_transform=True)
stack().forget(NUMBERS[:1] + 90, Y[:1])
    each once and with the cells, label and weight it had there
copy.copy(stack()).partial_fit(NUMBERS, Y)
    clf.save(path, rows=True)
    stack().partial_fit(NUMBERS, Y)
fit(power_transform=True).state_.schema.union(fit(NUMBERS ** 3, power_transform=True).state_.schema)
    without power_transform=True
    fit().state_.schema.union(fit(NUMBERS ** 3).state_.schema)
"""
