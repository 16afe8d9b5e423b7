"""Structured covariances: the formulas of mclust, and the families that stand for them."""

import numpy as np
import pytest
from case import N_CLASSES
from cases import JOINT, MEAN, SCALE, some_numbers
from references import table
from scipy.stats import multivariate_normal

import bayesgen as bg
from bayesgen.errors import InvalidArgument, UnsupportedOperation
from bayesgen.likelihoods import MultivariateNormal, Normal

# Celeux and Govaert (1995), Gaussian parsimonious clustering models, table 1, with the classes
# known: W_k the scatter of class k, W their sum. Names are mclust's.
FORMULAS = {
    "per_class": ("VVV", lambda w, n: w / n[:, None, None]),
    "shared": ("EEE", lambda w, n: w.sum(0) / n.sum()),
    "diagonal": ("VVI", lambda w, n: w * np.eye(5) / n[:, None, None]),
    "shared_diagonal": ("EEI", lambda w, n: w.sum(0) * np.eye(5) / n.sum()),
}


@pytest.mark.parametrize("structure", FORMULAS)
def test_maximum_likelihood_meets_the_formulas_of_mclust(structure):
    X, y = table("crabs4class")
    clf = bg.GenerativeClassifier(bg.MultivariateNormal(structure), inference="mle").fit(X, y)
    parts = [X[y == c].to_numpy() for c in clf.classes_]
    count = np.array([len(part) for part in parts])
    scatter = np.array([(part - part.mean(0)).T @ (part - part.mean(0)) for part in parts])
    covariance = np.broadcast_to(FORMULAS[structure][1](scatter, count), scatter.shape)
    joint = [
        multivariate_normal(part.mean(0), matrix).logpdf(X) + np.log(len(part) / len(X))
        for part, matrix in zip(parts, covariance, strict=True)
    ]
    np.testing.assert_allclose(clf.predict_joint_log_proba(X), np.array(joint).T, rtol=1e-9)


@pytest.mark.parametrize(
    ("structure", "spread"), [("diagonal", "per_class"), ("shared_diagonal", "shared")]
)
def test_the_family_that_stands_for_a_structure(structure, spread):
    """Guesses and prior strengths go over; a covariance that is no matrix may be told as one."""
    mean_rows, variance = np.array([0.5, 1.0, 2.0]), np.diag(SCALE)
    named = MultivariateNormal(
        structure, mean=MEAN, mean_rows=mean_rows, scale=np.diag(variance), covariance_rows=3
    ).equivalent_family()
    strength = mean_rows[:, None]
    direct = Normal(MEAN, strength, variance, variance_rows=3, spread=spread)
    assert isinstance(named, Normal) and named.spread == spread
    x, y = some_numbers(np.random.default_rng(1), 30)
    rows = direct.statistics(x, y, np.ones(30), n_classes=N_CLASSES)
    for name, value in direct.complete(rows).arrays().items():
        np.testing.assert_array_equal(getattr(named.complete(rows), name), value)
    default = MultivariateNormal(structure, prior="reference").equivalent_family()
    assert repr(default) == repr(Normal(prior="reference", spread=spread))


def test_a_diagonal_guess_has_the_marginals_of_a_full_one():
    """Every column of the normal-inverse-Wishart by itself is the prior of the diagonal."""
    guess = {**JOINT, "scale": np.diag(SCALE), "covariance_rows": 3.0}
    x = some_numbers(np.random.default_rng(1), 6)[0]
    none = (np.zeros((0, 3)), np.zeros(0, int), np.zeros(0))
    full, naive = (
        part.complete(part.statistics(*none, n_classes=N_CLASSES))
        for part in (
            MultivariateNormal(**guess),
            MultivariateNormal("diagonal", **guess).equivalent_family(),
        )
    )
    for j in range(3):
        one = np.where(np.arange(3) == j, x, np.nan)
        np.testing.assert_allclose(naive.log_predictive(one), full.log_predictive(one), rtol=1e-10)


@pytest.mark.parametrize("structure", ["diagonal", "shared_diagonal"])
def test_missing_values_leave_the_closed_form(structure):
    X, y = bg.datasets.load_penguins()
    X = X.select_dtypes("number")
    clf = bg.GenerativeClassifier(bg.MultivariateNormal(structure)).fit(X, y)
    assert clf.inference_ == "exact"
    naive = bg.NaiveBayes(bg.MultivariateNormal(structure)).fit(X, y)
    np.testing.assert_array_equal(naive.predict_proba(X), clf.predict_proba(X))
    (part,) = clf.posterior_.families.values()
    assert type(part) is Normal and repr(part).startswith("Normal")


FULL = np.array([[1.0, 0.1], [0.1, 1.0]])
REFUSED = [
    (
        {"covariance": "diagonal", "scale": FULL},
        InvalidArgument,
        "scale is a matrix .*not diagonal",
    ),
    ({"covariance": "shared_diagonal", "prior": "lkj"}, UnsupportedOperation, "no correlations"),
]


@pytest.mark.parametrize(("settings", "error", "sentence"), REFUSED)
def test_refused(settings, error, sentence):
    with pytest.raises(error, match=sentence):
        MultivariateNormal(**settings).equivalent_family()


@pytest.mark.parametrize("name", ["covariance", "prior"])
@pytest.mark.parametrize("word", ["digonal", "spherical"])
def test_words_that_mean_nothing(name, word):
    typo = MultivariateNormal().with_arrays({name: word})
    with pytest.raises(InvalidArgument, match=f"{name} is '{word}'; allowed"):
        typo.__post_init__()


def test_structures_are_reported_before_rows_are_read():
    part = MultivariateNormal("diagonal")
    rows = part.statistics(np.ones((2, 2)), np.zeros(2, int), np.ones(2), n_classes=1)
    with pytest.raises(UnsupportedOperation, match="another family stands for this structure"):
        part.complete(rows)


def test_a_strength_without_meaning_is_refused():
    with pytest.raises(
        InvalidArgument, match=r"prior=.lkj.. has no covariance_rows.*concentration"
    ):
        bg.MultivariateNormal(prior="lkj", covariance_rows=4.0)
    with pytest.raises(InvalidArgument, match="has no covariance_rows"):
        bg.MultivariateNormal(prior="lkj", covariance_rows="learn")
