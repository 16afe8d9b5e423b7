"""Scikit-learn's own conformance suite for bags of words: what it cannot ask of counts, and why."""

import pytest
from excused import conforms
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
pytestmark = [
    pytest.mark.filterwarnings("ignore::bayesgen.errors.SuspiciousColumn"),
    pytest.mark.filterwarnings("ignore::bayesgen.errors.BayesgenWarning"),
    pytest.mark.filterwarnings("ignore::bayesgen.errors.DegenerateEstimate"),
]
EXACT = bg.Exact(draws=100)


@parametrize_with_checks([bg.BagOfWords(inference=EXACT)])
def test_conformance(estimator, check):
    conforms(estimator, check, excused(estimator))


@pytest.mark.slow
@parametrize_with_checks(
    [
        bg.BagOfWords(inference="mle"),
        bg.BagOfWords(binary=True, inference=EXACT),
    ]
)
def test_conformance_by_other_methods(estimator, check):
    conforms(estimator, check, excused(estimator))
