"""Comparisons of classifiers on tables in which some rows have no label."""

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB

import bayesgen as bg

X, SPECIES = bg.datasets.load_iris()
BLANK = np.arange(150) % 3 > 0
FEW = np.where(BLANK, None, np.asarray(SPECIES, dtype=object))
RIVALS = {
    "learned": bg.LDA(),
    "alone": bg.LDA(unlabelled=None),
    "theirs": GaussianNB(),
}


def test_rows_without_a_label_are_fitted_in_every_fold_and_never_scored():
    found = bg.compare(RIVALS, X, FEW, progress=False)
    assert sorted(found.rows.tolist()) == np.flatnonzero(~BLANK).tolist()
    assert found.table.loc["learned", "method"] == "expected"
    labelled = bg.compare(RIVALS, X[~BLANK], SPECIES[~BLANK], progress=False)
    for name in ("alone", "theirs"):
        np.testing.assert_allclose(found.probabilities[name], labelled.probabilities[name])
    assert np.abs(found.probabilities["learned"] - labelled.probabilities["learned"]).max() > 1e-3


def test_complete_labels_are_compared_as_before():
    found = bg.compare({"one": bg.NaiveBayes()}, X, SPECIES, progress=False)
    none = bg.compare({"one": bg.NaiveBayes(unlabelled=None)}, X, SPECIES, progress=False)
    np.testing.assert_array_equal(found.probabilities["one"], none.probabilities["one"])


def test_groups_are_those_of_all_rows():
    groups = np.arange(150) // 5
    found = bg.compare({"one": bg.NaiveBayes()}, X, FEW, groups=groups, progress=False)
    folds = {}
    for row, fold in zip(found.rows, found.fold, strict=True):
        folds.setdefault(groups[row], set()).add(fold)
    assert {len(own) for own in folds.values()} == {1}


def test_minus_one_is_a_mark_with_a_warning():
    codes = np.where(BLANK, -1, np.unique(SPECIES, return_inverse=True)[1])
    with pytest.warns(bg.errors.BayesgenWarning):
        found = bg.compare({"one": bg.NaiveBayes()}, X, codes, progress=False)
    assert found.classes.tolist() == [0, 1, 2]
