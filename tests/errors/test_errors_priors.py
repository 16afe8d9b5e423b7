"""Priors and methods that cannot be: one sentence that says what was found and what to type."""

import re

import numpy as np
import pandas as pd
import pytest

import bayesgen as bg
from bayesgen import errors


def table():
    return pd.DataFrame(
        {
            "dose": [1.0, 2.0, 3.0, 4.0, 5.5, 6.5],
            "colour": ["red", "red", "blue", "blue", "red", "blue"],
            "smoker": [True, False, True, True, False, False],
        }
    )


Y = ["sick", "sick", "sick", "well", "well", "well"]
NUMBERS = pd.DataFrame({"a": [1.0, 2.0, 4.0, 7.0, 5.0, 6.0], "b": [2.0, 1.0, 5.0, 4.0, 9.0, 7.0]})


def naive(likelihood="auto", **params):
    return bg.NaiveBayes(likelihood, **params)


def after(clf):
    """Return a fitted classifier."""
    return clf.fit(table(), Y)


REFUSED = [
    # name, call, error class, sentence
    (
        "class priors that do not sum to one",
        lambda: after(naive(class_prior=[0.5, 0.6])),
        errors.InvalidPrior,
        "class_prior: the probabilities sum to 1.1; .*Divide them by their sum",
    ),
    (
        "a class prior of zero",
        lambda: after(naive(class_prior=[1.0, 0.0])),
        errors.InvalidPrior,
        "class_prior is .*above 0",
    ),
    (
        "a class prior of other classes",
        lambda: after(naive(class_prior={"sick": 0.5, "dead": 0.5})),
        errors.InvalidPrior,
        "class_prior names the classes 'sick', 'dead'; y has 'sick', 'well'",
    ),
    (
        "a class prior for three of two",
        lambda: after(naive(class_prior=[0.2, 0.3, 0.5])),
        errors.InvalidPrior,
        "class_prior: probabilities has the shape \\(3,\\)",
    ),
    (
        "a class prior of no meaning",
        lambda: after(naive(class_prior="balanced")),
        errors.InvalidPrior,
        "class_prior is 'balanced'; .*class_prior='uniform'",
    ),
    (
        "a negative worth of classes",
        lambda: after(naive(class_prior=-1.0)),
        errors.InvalidPrior,
        "class_prior: rows per class is -1.0; finite numbers above 0",
    ),
    (
        "another class prior that does not sum to one",
        lambda: after(naive()).with_class_prior([0.5, 0.6]),
        errors.InvalidPrior,
        "sum to 1.1",
    ),
    (
        "level guesses that do not sum to one",
        lambda: naive(bg.Categorical(probs=[0.5, 0.6])).fit(table()[["colour"]], Y),
        errors.InvalidPrior,
        "Categorical.probs: the probabilities sum to",
    ),
    (
        "a negative guess of a probability",
        lambda: bg.Categorical(probs=[-0.5, 1.5]),
        errors.InvalidPrior,
        "Categorical: probs has the entry -0.5; probabilities above 0",
    ),
    (
        "a negative worth of a mean",
        lambda: bg.Normal(mean_rows=-1.0),
        errors.InvalidPrior,
        "Normal: mean_rows is -1.0; finite numbers above 0 .*inference='mle'",
    ),
    (
        "a prior strength of zero",
        lambda: bg.Normal(variance_rows=0),
        errors.InvalidPrior,
        "Normal: variance_rows is 0",
    ),
    (
        "a negative worth of levels",
        lambda: bg.Categorical(rows=-2.0),
        errors.InvalidPrior,
        "Categorical: rows is -2.0",
    ),
    (
        "a negative worth of a covariance, told at fit",
        lambda: bg.QDA(covariance_rows=-1.0).fit(NUMBERS, Y),
        errors.InvalidPrior,
        "QDA: covariance_rows is -1.0",
    ),
    (
        "an infinite guess of a mean",
        lambda: bg.Normal(mean=np.inf),
        errors.InvalidPrior,
        "Normal: mean is inf; finite numbers .*mean=None",
    ),
    (
        "guesses of means that are no numbers, told at fit",
        lambda: bg.LDA(mean=np.full(2, np.nan)).fit(NUMBERS, Y),
        errors.InvalidPrior,
        "LDA: mean has the entry nan; finite numbers",
    ),
    (
        "a guess whose squares overflow",
        lambda: bg.Normal(mean=[1.0, -1e200]),
        errors.InvalidPrior,
        "Normal: mean has the entry -1e\\+200; .*1e150",
    ),
    (
        "a negative guess of variances",
        lambda: bg.LDA(scale=np.array([1.0, -2.0])).fit(NUMBERS, Y),
        errors.InvalidPrior,
        "LDA: scale has the entry -2.0; finite numbers above 0",
    ),
    (
        "a guess that is text",
        lambda: bg.Normal(mean="high"),
        errors.InvalidPrior,
        "Normal: mean is 'high'; finite numbers",
    ),
    (
        "no number where a prior strength is needed",
        lambda: bg.Poisson(rows=None),
        errors.InvalidPrior,
        "Poisson: rows is None; finite numbers above 0",
    ),
    (
        "two worths of levels",
        lambda: bg.Categorical(rows_per_level=[1.0, 2.0]),
        errors.InvalidPrior,
        "Categorical: rows_per_level has the shape \\(2,\\); it is one number",
    ),
    (
        "a number beyond floats",
        lambda: bg.Bernoulli(prob=10**400),
        errors.InvalidPrior,
        "Bernoulli: prob is 10*; probabilities above 0 and below 1",
    ),
    (
        "a part of a column",
        lambda: bg.SphericalNormal(columns=0.5),
        errors.InvalidPrior,
        "SphericalNormal: columns is 0.5; whole numbers of at least 1",
    ),
    (
        "a length that is no sequence",
        lambda: bg.Multinomial(length=1e-320),
        errors.InvalidPrior,
        "Multinomial: length has the shape \\(\\); it is a sequence of numbers, one a text",
    ),
    (
        "weights of other lengths",
        lambda: bg.GenerativeClassifier(
            bg.Multinomial(length=[5.0, 9.0], length_weight=[1.0, 2.0, 3.0])
        ).fit(NUMBERS, Y),
        errors.InvalidPrior,
        "Multinomial: length_weight has the shape \\(3,\\)",
    ),
    (
        "an array where a word is needed",
        lambda: bg.KernelDensity(kernel=np.array([1.0, 2.0])),
        errors.InvalidArgument,
        "kernel is array\\(.*'gaussian'",
    ),
    (
        "a bandwidth whose square is 0",
        lambda: bg.KernelDiscriminant(bandwidth=1e-200),
        errors.InvalidPrior,
        "KernelDiscriminant: bandwidth is 1e-200; .*1e-150 to 1e150",
    ),
    (
        "a guess outside (0, 1)",
        lambda: bg.Bernoulli(prob=1.0),
        errors.InvalidPrior,
        "Bernoulli: prob is 1.0",
    ),
    (
        "a singular user covariance",
        lambda: bg.QDA(scale=np.ones((2, 2))).fit(NUMBERS, Y),
        errors.InvalidPrior,
        "QDA: scale is not symmetric and positive definite.*1e-6",
    ),
    (
        "a user covariance that is not symmetric",
        lambda: bg.LDA(scale=np.array([[1.0, 0.5], [0.0, 1.0]])).fit(NUMBERS, Y),
        errors.InvalidPrior,
        "scale is not symmetric",
    ),
    (
        "a user covariance of another size",
        lambda: bg.QDA(scale=np.eye(3)).fit(NUMBERS, Y),
        errors.InvalidPrior,
        "QDA: scale has the shape \\(3, 3\\)",
    ),
    (
        "a guess of another size",
        lambda: naive(bg.Normal(mean=np.zeros(3))).fit(NUMBERS, Y),
        errors.InvalidPrior,
        "Normal: mean has the shape \\(3,\\)",
    ),
    (
        "the reference prior with p > n",
        lambda: bg.QDA(prior="reference").fit(NUMBERS.assign(c=1.5 * NUMBERS["a"] ** 2), Y),
        errors.InvalidPrior,
        "QDA\\(prior='reference'\\) needs at least 4 distinct complete rows .*default prior",
    ),
    (
        "an unknown method",
        lambda: after(naive(inference="gibbs")),
        errors.UnsupportedInference,
        "inference is 'gibbs'; allowed: 'auto', 'exact', 'expected', 'mle', 'map', 'svi', 'nuts'",
    ),
    (
        "an unknown likelihood",
        lambda: after(naive("gaussian")),
        errors.InvalidArgument,
        "likelihood is 'gaussian'; allowed: 'auto'",
    ),
    (
        "an unknown rule for unseen levels",
        lambda: after(naive(unseen="ignore")),
        errors.InvalidArgument,
        "unseen is 'ignore'; allowed: 'missing', 'error'",
    ),
    (
        "a joint likelihood in naive Bayes",
        lambda: naive(bg.MultivariateNormal()).fit(NUMBERS, Y),
        errors.UnsupportedInference,
        "NaiveBayes .*MultivariateNormal.*bg.QDA",
    ),
    (
        "an interval of a point",
        lambda: after(naive(inference="mle")).predict_interval(table()),
        errors.NoPosterior,
        "predict_interval needs a posterior.*inference='auto'",
    ),
]


@pytest.mark.parametrize(
    ("call", "kind", "sentence"), [case[1:] for case in REFUSED], ids=[case[0] for case in REFUSED]
)
def test_refused_with_one_sentence(call, kind, sentence):
    with pytest.raises(kind) as caught:
        call()
    assert isinstance(caught.value, ValueError | TypeError)
    assert isinstance(caught.value, errors.BayesgenError) or kind is ValueError
    assert re.search(sentence, str(caught.value), re.DOTALL), str(caught.value)
