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


def fit(X=NUMBERS, y=Y, likelihood="auto", **options):
    return bg.NaiveBayes(likelihood, **options).fit(X, y)


def stack():
    return bg.StackedClassifier([bg.LDA()], progress=False).fit(MORE, Y * 2)


def words(text, vectorizer=None):
    return bg.BagOfWords(vectorizer=vectorizer).fit([text, "proof"], ["history", "science"])


def one_vocabulary(one, other):
    """Return a vectorizer with the words of two classifiers, as the sentence makes it."""
    vocabulary = sorted(
        {*one.vectorizer_.get_feature_names_out(), *other.vectorizer_.get_feature_names_out()}
    )
    return sklearn.base.clone(one.vectorizer_).set_params(vocabulary=vocabulary)


BOTH = one_vocabulary(words("king food"), words("king sun"))


def merge(one, other):
    return one.merge(other)


def forget(X, y, **options):
    return fit(MORE, Y * 2, **options).forget(X, y)


MERGING = {
    "DifferentModels.estimators": (
        lambda: merge(fit(), bg.LDA().fit(NUMBERS, Y)),
        "Fit both as NaiveBayes",
        lambda: merge(fit(), fit()),
    ),
    "DifferentModels.argument": (
        lambda: merge(fit(class_prior=1.0), fit(class_prior="uniform")),
        "Fit both with class_prior=1.0",
        lambda: merge(fit(class_prior=1.0), fit(class_prior=1.0)),
    ),
    "DifferentModels.columns": (
        lambda: merge(fit(), fit(NUMBERS[["a"]])),
        "with missing values (NaN) where it is unknown",
        lambda: merge(fit(), fit(NUMBERS.assign(b=[np.nan, 1.0, 3.0, np.nan, 2.0, 4.0]))),
    ),
    "DifferentModels.vocabulary": (
        lambda: merge(words("king food"), words("king sun")),
        "bg.BagOfWords(vectorizer=sklearn.base.clone(one.vectorizer_).set_params(vocabulary=words))",
        lambda: merge(words("king food", BOTH), words("king sun", BOTH)),
    ),
    "DifferentModels.order": (
        lambda: merge(fit(), fit(NUMBERS[["b", "a"]])),
        "Fit both to X[['a', 'b']]",
        lambda: merge(fit(), fit(NUMBERS[["b", "a"]][["a", "b"]])),
    ),
    "DifferentModels.likelihood": (
        lambda: merge(fit(TEXT), fit()),
        "likelihood={'b': Categorical(), ...}",
        lambda: merge(
            *(fit(X, likelihood={"b": bg.Categorical(), "a": bg.Normal()}) for X in (TEXT, TEXT))
        ),
    ),
    "DifferentModels.blocks": (
        lambda: merge(
            fit(likelihood={("a", "b"): bg.Normal()}),
            fit(likelihood={"a": bg.Normal(), "b": bg.Normal()}),
        ),
        "State the same likelihood= in both",
        lambda: merge(*(fit(likelihood={("a", "b"): bg.Normal()}) for _ in range(2))),
    ),
    "DifferentModels.binary": (
        lambda: merge(*(fit(X, likelihood=ANSWERS) for X in (QUESTION, TURNED))),
        "pandas.Categorical(X['b'], ['u', 'v'])",
        lambda: merge(
            fit(QUESTION, likelihood=ANSWERS),
            fit(
                TURNED.assign(b=pd.Categorical(TURNED["b"], ["u", "v"])),
                likelihood=ANSWERS,
            ),
        ),
    ),
    "DifferentModels.levels": (
        lambda: merge(*(fit(X, likelihood=STATED) for X in (QUESTION, TURNED))),
        "pandas.Categorical(X['b'], ['u', 'v'])",
        lambda: merge(
            fit(QUESTION, likelihood=STATED),
            fit(
                TURNED.assign(b=pd.Categorical(TURNED["b"], ["u", "v"])),
                likelihood=STATED,
            ),
        ),
    ),
    "DifferentModels.classes": (
        lambda: merge(fit(y=[0, 0, 0, 1, 1, 1]), fit(y=Y)),
        "Fit both to y.astype(str)",
        lambda: merge(fit(y=np.array([0, 0, 0, 1, 1, 1]).astype(str)), fit(y=Y)),
    ),
    "NoRows.to_merge": (
        lambda: merge(stack(), copy.copy(stack())),
        "fit with all rows",
        lambda: bg.StackedClassifier([bg.LDA()], progress=False).fit(pd.concat([MORE] * 2), Y * 4),
    ),
    "CannotForget.classes": (
        lambda: forget(NUMBERS[:1], ["strange"]),
        "Pass rows of the fit",
        lambda: forget(NUMBERS[:1], Y[:1]),
    ),
    "CannotForget.rows": (
        lambda: forget(pd.concat([NUMBERS[:1]] * 9), Y[:1] * 9),
        "each once and with the weight it had there",
        lambda: forget(NUMBERS[:1], Y[:1]),
    ),
    "CannotForget.unlabelled": (
        lambda: forget(NUMBERS[:2], ["sick", None]),
        "forget(X[keep], y[keep])",
        lambda: forget(NUMBERS[:2][[True, False]], ["sick"]),
    ),
    "CannotForget.level": (
        lambda: fit(TEXT).forget(TEXT[:1].assign(b="q"), Y[:1]),
        "Pass rows of the fit",
        lambda: fit(TEXT).forget(TEXT[:1], Y[:1]),
    ),
    "CannotForget.foreign": (
        lambda: forget(NUMBERS[:1] + 90, Y[:1]),
        "each once and with the weight it had there",
        lambda: forget(NUMBERS[:1], Y[:1]),
    ),
    "CannotForget.digits": (
        lambda: fit().forget(NUMBERS[:2], Y[:2]),
        "clf.fit(X[rest], y[rest])",
        lambda: fit(MORE[2:], (Y * 2)[2:]),
    ),
    "CannotForget.weights": (
        lambda: (
            bg.NaiveBayes()
            .fit(MORE, Y * 2, np.full(12, 0.1))
            .forget(MORE[np.array(Y * 2) == "sick"], ["sick"] * 6, np.full(6, 0.1))
        ),
        "clf.fit(X[rest], y[rest])",
        lambda: fit(MORE[3:], (Y * 2)[3:]),
    ),
    "CannotForget.learned": (
        lambda: forget(NUMBERS[:1], Y[:1], power_transform=True),
        "clf.fit(X[rest], y[rest])",
        lambda: fit(MORE[1:], (Y * 2)[1:], power_transform=True),
    ),
    "CannotForget.stack": (
        lambda: stack().forget(NUMBERS[:1], Y[:1]),
        "clf.fit(X[rest], y[rest])",
        lambda: bg.StackedClassifier([bg.LDA()], progress=False).fit(MORE[1:], (Y * 2)[1:]),
    ),
    "DifferentModels.learned": (
        lambda: fit(power_transform=True).state_.schema.union(
            fit(NUMBERS**3, power_transform=True).state_.schema
        ),
        "without power_transform=True",
        lambda: fit().state_.schema.union(fit(NUMBERS**3).state_.schema),
    ),
}
