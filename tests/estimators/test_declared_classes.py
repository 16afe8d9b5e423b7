"""Declared classes of which one has rows: the others are predicted from their priors."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import t

import bayesgen as bg
from bayesgen.errors import InvalidData, NoAttribute

RNG = np.random.default_rng(0)
NUMBERS = pd.DataFrame({"a": RNG.normal(size=12), "b": RNG.normal(size=12)})
LEVELS = pd.DataFrame({"u": list("aabbabababba"), "v": list("xyxyxxyyxyxx")})
COUNTS = pd.DataFrame(RNG.poisson(2, (12, 3)), columns=list("pqr"))
GAPS = NUMBERS.mask(RNG.random((12, 2)) < 0.2)
MODELS = {
    "numbers": (bg.NaiveBayes, NUMBERS),
    "levels": (bg.NaiveBayes, LEVELS),
    "counts": (lambda: bg.NaiveBayes(bg.Poisson()), COUNTS),
    "average": (lambda: bg.NaiveBayes(columns="average"), NUMBERS),
    "powers": (lambda: bg.NaiveBayes(temper="columns"), NUMBERS),
    "transforms": (lambda: bg.NaiveBayes(power_transform=True), NUMBERS),
    "bins": (lambda: bg.NaiveBayes(bg.Categorical(), bins=3), NUMBERS),
    "pattern": (lambda: bg.NaiveBayes(missing="learn"), GAPS),
    "kernels": (lambda: bg.NaiveBayes(bg.KernelDensity()), NUMBERS),
    "joint kernels": (lambda: bg.GenerativeClassifier(bg.KernelDiscriminant()), NUMBERS),
    "LDA": (bg.LDA, NUMBERS),
    "QDA": (bg.QDA, NUMBERS),
    "learned": (lambda: bg.QDA(scale="learn", covariance_rows="learn"), NUMBERS),
    "gaps": (lambda: bg.LDA(inference="expected"), GAPS),
    "mode": (lambda: bg.QDA(inference="map"), NUMBERS),
    "table": (bg.JointTable, LEVELS),
    "words": (bg.BagOfWords, COUNTS),
    "groups": (lambda: bg.NaiveBayes(groups="site"), NUMBERS.assign(site=list("rs") * 6)),
}


@pytest.mark.parametrize("name", MODELS)
def test_a_stream_that_begins_with_one_class_predicts_the_others(name):
    make, X = MODELS[name]
    proba = make().partial_fit(X, ["calm"] * 12, classes=["calm", "ill"]).predict_proba(X)
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    assert (proba > 0).all()
    assert proba[:, 0].mean() > 0.5


def test_a_class_without_rows_is_predicted_from_its_prior():
    """Student's t of the prior and of the posterior of four rows, Bayesian Data Analysis 3.3."""
    prior = bg.Normal(mean=0.0, mean_rows=1.0, variance=1.0, variance_rows=2.0)
    x, new = np.array([0.5, 1.0, 1.5, 3.0]), 0.7
    clf = bg.NaiveBayes(prior).partial_fit(x[:, None], [0] * 4, classes=[0, 1])
    sum_of_squares = 2 * 1.0 + ((x - x.mean()) ** 2).sum() + 4 / 5 * x.mean() ** 2
    of_rows = t(6, x.sum() / 5, np.sqrt(sum_of_squares / 6 * (1 + 1 / 5)))
    odds = 5 * of_rows.pdf(new) / (1 * t(2, 0, np.sqrt(2)).pdf(new))
    np.testing.assert_allclose(clf.predict_proba([[new]])[0, 0], odds / (1 + odds))


def test_what_is_left_of_a_fit_may_be_rows_of_one_class_beside_a_declared_one():
    y = [0] * 6 + [1] * 6
    clf = bg.QDA().partial_fit(NUMBERS, y, classes=[0, 1, 2]).forget(NUMBERS[6:], y[6:])
    rest = bg.QDA().partial_fit(NUMBERS[:6], y[:6], classes=[0, 2])
    assert clf.classes_.tolist() == [0, 2]
    np.testing.assert_allclose(clf.predict_proba(NUMBERS), rest.predict_proba(NUMBERS))
    for make in (bg.QDA, lambda: bg.StackedClassifier(["naive"])):
        with pytest.raises(InvalidData, match=r"^what would remain has 1 class, 0; at least two"):
            make().fit(NUMBERS, y).forget(NUMBERS[6:], y[6:])


def test_rows_of_one_class_and_no_declared_one_predict_nothing():
    for clf in (bg.LDA().partial_fit(NUMBERS, [3] * 12), bg.NaiveBayes(temper="learn")):
        clf.partial_fit(NUMBERS, [3] * 12)
        with pytest.raises(NoAttribute, match=r"^y has 1 class, 3; at least two are needed"):
            clf.predict(NUMBERS)
    clf = bg.LDA().partial_fit(NUMBERS, [None] * 12, classes=[0, 1])
    with pytest.raises(NoAttribute, match=r"^y has no label in any row; labels of at least two"):
        clf.predict(NUMBERS)


def test_a_stack_says_that_it_needs_rows_of_two_classes():
    with pytest.raises(InvalidData, match=r"1 class, 0; .* use bg\.NaiveBayes\(\)\.partial_fit"):
        bg.StackedClassifier().partial_fit(NUMBERS, [0] * 12, classes=[0, 1])
