"""Rows simulated for a class, from the prior, and under stated parameters."""

import numpy as np
import pytest
from cases import CASES
from explained import cells, fitted
from scipy import stats

import bayesgen as bg
from bayesgen.errors import InvalidArgument, UnsupportedOperation

ERRORS = 5.0
MADE_OF_ROWS = ("KernelDensity", "KernelDensity learned", "KernelDiscriminant")


def iris():
    return bg.datasets.load_iris()


# -- of a class ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["Normal", "Multinomial", "KernelDensity"])
def test_rows_of_a_class_have_its_label_and_form(name):
    clf = fitted(name, "exact")
    rows, labels = clf.sample(5, y=1, random_state=0)
    assert np.shape(rows) == (5, cells(CASES[name], 40, seed=3)[0].shape[1])
    assert labels.tolist() == [1] * 5


@pytest.mark.parametrize(
    "make", [bg.QDA, lambda: bg.StackedClassifier([bg.LDA(), bg.NaiveBayes()])]
)
def test_rows_of_a_class_are_those_of_all_classes_with_this_label(make):
    clf = make().fit(*iris())
    every, labels = clf.sample(3000, random_state=0)
    every = every[labels == "virginica"].to_numpy()
    own = clf.sample(1000, y="virginica", random_state=1)[0].to_numpy()
    error = np.sqrt(every.var(axis=0) / len(every) + own.var(axis=0) / len(own))
    assert (abs(every.mean(axis=0) - own.mean(axis=0)) < ERRORS * error).all()
    np.testing.assert_allclose(own.std(axis=0), every.std(axis=0), rtol=0.15)


@pytest.mark.parametrize("value", ["rose", 0, np.nan, ["setosa"], np.array(["setosa"] * 2), b"x"])
def test_what_is_no_class_is_refused_by_name(value):
    clf = bg.StackedClassifier([bg.LDA()]).fit(*iris())
    with pytest.raises(InvalidArgument, match=r"^y is .*'virginica'. Pass y='setosa'"):
        clf.sample(2, y=value)


# -- from the prior --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", [n for n in CASES if CASES[n].prior.conjugate and not n.startswith(MADE_OF_ROWS)]
)
def test_draws_from_the_prior(name):
    X, y = cells(CASES[name], 40, seed=3)
    prior = bg.GenerativeClassifier(CASES[name].vague).sample_prior(7, X, y, random_state=0)
    assert np.shape(prior.X) == (7, X.shape[1]) and prior.y.shape == (7,)
    assert set(prior.y) <= set(y)
    for parameter, value in prior.parameters.items():
        assert value.shape == (7, *map(len, prior.axes[parameter]))
        assert np.isfinite(value).all()
    assert "7 draws of class.probs" in repr(prior)


def test_the_prior_is_the_stated_one():
    """X given the prior is a Student-t: its distribution function is uniform."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 1)), np.arange(20) % 2
    stated = bg.Normal(mean=3.0, mean_rows=2, variance=4.0, variance_rows=5)
    prior = bg.NaiveBayes(stated).sample_prior(4000, X, y, random_state=0)
    at = stats.t(5, 3.0, np.sqrt(4.0 * 1.5)).cdf(prior.X[:, 0])
    assert stats.kstest(at, "uniform").pvalue > 1e-3
    precision = 1 / prior.parameters["normal.variance"][:, 0, 0]
    assert abs(precision.mean() - 1 / 4) < ERRORS * precision.std() / np.sqrt(4000)


def test_a_draw_from_the_prior_fits_nothing():
    clf = bg.LDA()
    clf.sample_prior(2, *iris())
    assert not hasattr(clf, "state_")
    whole = bg.LDA().fit(*iris())
    before = whole.predict_proba(iris()[0])
    whole.sample_prior(2, *iris())
    np.testing.assert_array_equal(before, whole.predict_proba(iris()[0]))


@pytest.mark.parametrize(
    ("clf", "words"),
    [
        (bg.StackedClassifier(), "^the prior of a stack"),
        (bg.QDA(prior="reference"), "improper prior"),
        (bg.NaiveBayes(bg.KernelDensity()), "made of the rows themselves"),
    ],
)
def test_priors_that_cannot_be_drawn_from(clf, words):
    with pytest.raises(UnsupportedOperation, match=words):
        clf.sample_prior(2, *iris())


def test_plot_of_the_prior():
    X, y = bg.datasets.load_titanic_passengers()
    display = bg.NaiveBayes().plot_prior(X, y, n=50)
    assert [ax.get_xlabel() for ax in display.axes_] == list(X)
    sex, age, _ = display.axes_
    assert [tick.get_text() for tick in sex.get_xticklabels()] == ["female", "male"]
    assert [text.get_text() for text in sex.figure.legends[0].get_texts()] == ["prior", "observed"]
    for label in ("prior", "observed"):
        bars = [p for p in age.patches if p.get_label() == label or label == "prior"]
        assert bars
    only = bg.NaiveBayes().plot_prior(X, y, n=50, features=["age"])
    assert [ax.get_xlabel() for ax in only.axes_] == ["age"]


# -- stated parameters -----------------------------------------------------------------------------

PROBS = [0.2, 0.3, 0.5]


def stated(rng):
    """Return means and covariances of three classes in four columns."""
    root = rng.normal(size=(3, 4, 4))
    return rng.normal(size=(3, 4)) + 4, root @ root.mT + np.eye(4)


def test_stated_normals_are_the_bayes_rule(rng):
    X, y = iris()
    mean, covariance = stated(rng)
    truth = {"class.probs": PROBS, "normal.mean": mean, "normal.covariance": covariance}
    clf = bg.QDA().fit(X, y).with_parameters(truth)
    parts = [
        stats.multivariate_normal(m, c).logpdf(X) for m, c in zip(mean, covariance, strict=True)
    ]
    joint = np.log(PROBS) + np.stack(parts, axis=1)
    expected = np.exp(joint - np.logaddexp.reduce(joint, axis=1, keepdims=True))
    np.testing.assert_allclose(clf.predict_proba(X), expected, rtol=0, atol=1e-12)
    np.testing.assert_allclose(clf.score_samples(X), np.logaddexp.reduce(joint, axis=1))
    assert clf.inference_ == "stated"


def test_stated_levels_and_mixed_columns_are_the_bayes_rule():
    X, y = bg.datasets.load_titanic_passengers()
    clf = bg.NaiveBayes().fit(X, y)
    prior = clf.sample_prior(1, X, y, random_state=0)
    truth = {name: value[0] for name, value in prior.parameters.items()}
    found = clf.with_parameters(truth).predict_proba(X[:1])
    row, names = X.iloc[0], list(prior.axes["categorical.probs"][1])
    at = [names.index(f"{c}={row[c]}") for c in ("sex", "passengerClass")]
    joint = truth["class.probs"] * truth["categorical.probs"][:, at].prod(axis=1)
    spread = np.sqrt(truth["normal.variance"][:, 0])
    joint = joint * stats.norm(truth["normal.mean"][:, 0], spread).pdf(row["age"])
    np.testing.assert_allclose(found[0], joint / joint.sum(), rtol=0, atol=1e-12)


def test_the_fit_is_left_alone_and_its_rows_do_not_matter(rng):
    X, y = iris()
    mean, covariance = stated(rng)
    truth = {"class.probs": PROBS, "normal.mean": mean, "normal.covariance": covariance[0]}
    clf, half = bg.LDA().fit(X, y), bg.LDA().fit(X[::3], y[::3])
    before = clf.predict_proba(X)
    one, other = (c.with_parameters(truth).predict_proba(X) for c in (clf, half))
    np.testing.assert_allclose(one, other, atol=1e-9)
    np.testing.assert_array_equal(before, clf.predict_proba(X))


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"normal.mean": None}, "^the shape of parameters"),
        ({"normal.mean": "a"}, "^the shape of parameters"),
        ({"normal.mean": np.zeros((2, 4))}, r"allowed: \(3, 4\), that is \(class, feature\)"),
        ({"normal.mean": np.full((3, 4), np.nan)}, "^an entry of .* is nan"),
        ({"class.probs": [0.2, 0.3, 0.6]}, "^a sum of probabilities"),
        ({"class.probs": [-0.2, 0.7, 0.5]}, "^an entry of .* is -0.2"),
        ({"normal.covariance": -np.eye(4) + np.zeros((3, 1, 1))}, "^the smallest eigenvalue"),
        ({"normal.covariance": np.tri(4) + np.zeros((3, 1, 1))}, "^the largest difference"),
        ({"normal.variance": 1.0}, "^parameters is"),
    ],
)
def test_impossible_parameters_are_refused(changed, words, rng):
    mean, covariance = stated(rng)
    truth = {"class.probs": PROBS, "normal.mean": mean, "normal.covariance": covariance}
    with pytest.raises(InvalidArgument, match=words):
        bg.QDA().fit(*iris()).with_parameters(truth | changed)


@pytest.mark.parametrize("found", [{}, None, [1, 2]])
def test_parameters_are_a_mapping_of_all_names(found):
    with pytest.raises(InvalidArgument, match=r"class.probs, normal.mean, normal.covariance"):
        bg.QDA().fit(*iris()).with_parameters(found)


def test_a_stack_has_no_single_set_of_parameters():
    with pytest.raises(UnsupportedOperation, match=r"^with_parameters\(\)"):
        bg.StackedClassifier([bg.LDA()]).fit(*iris()).with_parameters({})
