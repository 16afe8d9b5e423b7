"""Normals: numbers of other programs and of closed forms, met through the public estimators.

Those of R's MASS and the lectures are in test_lectures.py.
"""

import numpy as np
import pytest
from references import INVERSE_WISHART, TABLES, assert_meets, standardised_crabs, table
from scipy import stats
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.naive_bayes import GaussianNB

import bayesgen as bg

# -- maximum likelihood: normals ---------------------------------------------------------------


def test_naive_bayes_meets_mclust():
    X, y = table("crabs4class")
    assert_meets(bg.NaiveBayes(inference="mle").fit(X, y), X, "crabs4_mclust_EDDA_VVI", 1e-9)


@pytest.mark.parametrize("data", TABLES)
def test_maximum_likelihood_meets_scikit_learn(data):
    X, y = table(TABLES[data])
    pairs = [
        (bg.NaiveBayes(inference="mle"), GaussianNB(var_smoothing=0)),
        (bg.LDA(inference="mle"), LinearDiscriminantAnalysis(solver="lsqr")),
        (bg.LDA(inference="mle"), LinearDiscriminantAnalysis(solver="svd")),
        (bg.QDA(inference="mle"), QuadraticDiscriminantAnalysis(tol=1e-8)),
    ]
    for ours, theirs in pairs:
        expected = theirs.fit(X, y).predict_proba(X)
        np.testing.assert_allclose(
            ours.fit(X, y).predict_proba(X), expected, rtol=0, atol=1e-9, err_msg=repr(ours)
        )


# -- exact Bayes -------------------------------------------------------------------------------


# inverse-gamma(a, b) is a guess of b/a prior strength 2a rows
INVERSE_GAMMA = bg.Normal(mean=0.0, mean_rows=0.5, variance=1 / 2, variance_rows=4)


@pytest.mark.parametrize(
    ("model", "name"),
    [
        (bg.LDA(**INVERSE_WISHART), "lda_niw_k0.5_nup2_I"),
        (bg.QDA(**INVERSE_WISHART), "qda_niw_k0.5_nup2_I"),
        (bg.NaiveBayes(INVERSE_GAMMA), "nb_nig_0_0.5_2_1"),
    ],
)
@pytest.mark.parametrize("size", ["small", "full"])
def test_exact_meets_closed_form(model, name, size):
    X, y, small = standardised_crabs()
    rows = small if size == "small" else np.arange(len(X))
    clf = model.fit(X.iloc[rows], y.iloc[rows])
    assert clf.inference_ == "exact"
    assert_meets(clf, X, f"crabs4_{size}_{name}", 1e-9)


def test_exact_meets_bayesian_quadratic_discriminant_analysis():
    # Srivastava, Gupta and Frigyik (2007): flat means, inverse-Wishart(B) with q = 8; that leaves
    # a Student-t of n + q - p + 1 degrees: covariance_rows = q - p + 1 = 4, scale = B / 4
    X, y, _ = standardised_crabs()
    centred = X - X.groupby(y).transform("mean")
    variance = (centred.to_numpy() ** 2).sum() / len(X) / (5 * 8) / 4
    clf = bg.QDA(mean=0.0, mean_rows=1e-13, scale=variance, covariance_rows=4).fit(X, y)
    assert_meets(clf, X, "crabs4_full_qda_bda_q8_trpooled_over_dq", 1e-9)


@pytest.mark.parametrize("data", ["crabs4", "biopsy"])
def test_reference_prior_of_lda(data):
    X, y = table(TABLES[data])
    clf = bg.LDA(prior="reference", class_prior="empirical").fit(X, y)
    assert clf.inference_ == "exact"
    assert_meets(clf, X, f"{data}_lda_bayes_reference_exact", 1e-8)


def test_reference_prior_of_lda_on_fgl5():
    # no file for this pair: the Student-t with n - K - p + 1 degrees of freedom, written out
    X, y = table("fgl5")
    clf = bg.LDA(prior="reference", class_prior="empirical").fit(X, y)
    groups = [X[y == c].to_numpy() for c in clf.classes_]
    scatter = sum((g - g.mean(0)).T @ (g - g.mean(0)) for g in groups)
    df = len(X) - len(groups) - X.shape[1] + 1
    joint = np.stack(
        [
            stats.multivariate_t(g.mean(0), scatter / df * (1 + 1 / len(g)), df).logpdf(X)
            + np.log(len(g) / len(X))
            for g in groups
        ],
        axis=1,
    )
    expected = np.exp(joint - np.logaddexp.reduce(joint, axis=1, keepdims=True))
    np.testing.assert_allclose(clf.predict_proba(X), expected, rtol=0, atol=1e-8)
