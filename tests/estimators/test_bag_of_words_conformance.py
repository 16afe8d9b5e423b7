"""Scikit-learn's own conformance suite for bags of words: what it cannot ask of counts, and why."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import bayesgen as bg

FRACTIONS = "the check fits fractions, which are no counts"
EXCUSED = {
    "check_sample_weight_equivalence_on_dense_data": FRACTIONS,
    "check_sample_weight_equivalence_on_sparse_data": FRACTIONS,
    "check_decision_proba_consistency": FRACTIONS,
}
COUNTS = {"check_estimators_nan_inf": "the suite makes a whole number of NaN before the fit"}
PRESENCE = {"check_classifiers_one_label_sample_weights": FRACTIONS}


def excused(estimator):
    return EXCUSED | (PRESENCE if estimator.binary else COUNTS)


# the suite fits constant columns and predicts rows that are impossible or empty
@pytest.mark.filterwarnings("ignore::bayesgen.errors.UninformativeColumn")
@pytest.mark.filterwarnings("ignore::bayesgen.errors.EmptyDocuments")
@pytest.mark.filterwarnings("ignore::bayesgen.errors.ImpossibleRows")
@parametrize_with_checks(
    [
        bg.BagOfWords(binary=binary, inference=method)
        for binary in (False, True)
        for method in (bg.Exact(draws=100), "mle", "map")
    ],
    expected_failed_checks=excused,
)
def test_conformance(estimator, check):
    check(estimator)
