"""Sentences about rows without a label, for `cures`."""

import copy
import warnings

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression

import bayesgen as bg

X, SPECIES = bg.datasets.load_iris()
CODES = np.unique(SPECIES, return_inverse=True)[1]
BLANK = np.arange(150) % 5 > 0
FEW = np.where(BLANK, None, np.asarray(SPECIES, dtype=object))
MARKED = np.where(BLANK, -1, CODES)


def quiet(y, X=X, **params):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return bg.NaiveBayes(**params).fit(X, y)


def batches(*parts, **params):
    clf = bg.NaiveBayes(**params)
    for at, y, *classes in parts:
        clf.partial_fit(X[at], y, *classes)
    return clf


def harmed(**params):
    """Rows whose two columns tell of something else than the class."""
    rng = np.random.default_rng(1)
    hidden, y = rng.integers(0, 2, (2, 400))
    both = 6.0 * hidden[:, None] + rng.normal(0, 1, (400, 2))
    rows = np.column_stack([both, 1.5 * y + rng.normal(0, 1, 400)])
    marked = np.where(np.arange(400) < 60, y, None)
    return bg.NaiveBayes(inference="expected", **params).fit(rows, marked)


P = pd.DataFrame(0.8 * np.eye(3)[CODES] + 0.2 / 3, columns=["a", "b", "c"])
UNNAMED, TWICE = P.set_axis(["a", "b", None], axis=1), P.set_axis(["a", "b", "a"], axis=1)
ZERO = P.mask(np.repeat(BLANK[:, None], 3, axis=1), 0.0)


def spoiled(factor):
    return P.where(np.arange(150)[:, None] + np.zeros(3) != 7, factor * P)


def kept_rows(keep, y, **params):
    return quiet(y[keep], X=X[keep], **params)


ALL, START, REST = slice(None), slice(100), slice(100, None)
ONE = np.where((np.cumsum(CODES == 0) > 1) & (CODES == 0), None, FEW)


CURES = """
bg.NaiveBayes(unlabelled=None).fit(X, FEW)
    keep = pandas.notna(y); fit(X[keep], y[keep])
    bg.NaiveBayes().fit(X[pd.notna(FEW)], FEW[pd.notna(FEW)])
bg.LDA().fit(X, spoiled(-1))
    y holds -0.866667 for class 'a' in row 7
bg.LDA().fit(X, spoiled(-1))
    keep = numpy.arange(len(y)) != 7; fit(X[keep], y[keep])
    kept_rows(np.arange(150) != 7, spoiled(-1), temper="learn")
bg.LDA().fit(X, spoiled(np.inf))
    y holds inf for class 'a' in row 7
bg.LDA().fit(X, spoiled(0.9))
    y sums to 0.9 in row 7
bg.LDA().fit(X, spoiled(0.9))
    y.div(y.sum(axis=1), axis=0)
    bg.LDA().fit(X, spoiled(0.9).div(spoiled(0.9).sum(axis=1), axis=0))
bg.LDA().fit(X, spoiled(0.9).to_numpy())
    y / y.sum(axis=1, keepdims=True)
    bg.LDA().fit(X, spoiled(1).to_numpy() / spoiled(1).to_numpy().sum(axis=1, keepdims=True))
bg.LDA().fit(X, UNNAMED)
    y.columns = [...]
    bg.LDA().fit(X, UNNAMED.set_axis(["a", "b", "c"], axis=1))
bg.LDA().fit(X, TWICE)
    the columns of y are named 'a', 'a'
bg.LDA(unlabelled=None).fit(X, ZERO)
    keep = numpy.nansum(y, axis=1) > 0; fit(X[keep], y[keep])
    kept_rows(np.nansum(ZERO, axis=1) > 0, ZERO, temper="learn", unlabelled=None)
bg.LDA().fit(X, P.assign(a=1.0, b=0.0, c=0.0))
    y has 1 class, 'a'
bg.compare({"logistic": LogisticRegression()}, X, P)
    pass y.idxmax(axis=1)
    bg.compare({"logistic": LogisticRegression(max_iter=1000)}, X, P.idxmax(axis=1), cv=2)
bg.compare({"lda": bg.LDA()}, X, P, cv=2).confusion("lda")
    Compare by y.idxmax(axis=1)
    bg.compare({"lda": bg.LDA()}, X, P.idxmax(axis=1), cv=2).confusion("lda")
bg.compare({"lda": bg.LDA()}, X, P, by="sepal_length")
    pass y.idxmax(axis=1)
    bg.compare({"lda": bg.LDA()}, X, P.idxmax(axis=1), cv=2, by=X.sepal_length > 6)
bg.LDA().fit(X, P).to_datatree()
    y.idxmax(axis=1)
    bg.LDA().fit(X, P).to_datatree(X, P.idxmax(axis=1), draws=10, replicates=2)
bg.NaiveBayes().fit(X, MARKED)
    pass None in place of -1
harmed(unlabelled=1)
    unlabelled='learn'
    harmed(unlabelled="learn")
bg.NaiveBayes().fit(X, ONE)
    unlabelled=0.1
    quiet(ONE, unlabelled=0.1, inference="expected")
batches((START, np.where(CODES[START] == 0, -1, 1)), (REST, np.zeros(50, int)))
    partial_fit(X, y, classes=[...])
    batches((START, np.where(CODES[START] == 0, -1, 1), [-1, 0, 1]), (REST, np.zeros(50, int)))
batches((ALL, SPECIES), (ALL, FEW))
    unlabelled=0.1
    batches((ALL, SPECIES), (ALL, FEW), unlabelled=0.1, inference="expected")
quiet(SPECIES).score(X, np.full(150, None))
    Pass rows with labels
copy.deepcopy(quiet(FEW)).transduction_
    Call fit with all rows
bg.NaiveBayes().fit(X, FEW).log_evidence_
    bg.compare({'one': ..., 'other': ...}, X, y)
    bg.compare({"one": bg.LDA(), "other": bg.QDA()}, X, SPECIES, cv=2, progress=False)
bg.NaiveBayes(inference=bg.Augmentation()).fit(X, FEW)
    inference='auto'
    quiet(FEW, inference="auto")
bg.NaiveBayes(inference="exact").fit(X, FEW)
    inference='auto'
    quiet(FEW, inference="auto")
"""
