"""Sentences about rows without a label, for `cures`."""

import copy
import warnings

import numpy as np
import pandas as pd

import bayesgen as bg

X, SPECIES = bg.datasets.load_iris()
CODES = np.unique(SPECIES, return_inverse=True)[1]
BLANK = np.arange(150) % 5 > 0
FEW = np.where(BLANK, None, np.asarray(SPECIES, dtype=object))
MARKED = np.where(BLANK, -1, CODES)


def quiet(y, **params):
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


ALL, START, REST = slice(None), slice(100), slice(100, None)
ONE = np.where((np.cumsum(CODES == 0) > 1) & (CODES == 0), None, FEW)


CURES = """
bg.NaiveBayes(unlabelled=None).fit(X, FEW)
    keep = pandas.notna(y); fit(X[keep], y[keep])
    bg.NaiveBayes().fit(X[pd.notna(FEW)], FEW[pd.notna(FEW)])
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
bg.NaiveBayes(inference="exact").fit(X, FEW)
    inference='auto'
    quiet(FEW, inference="auto")
"""
