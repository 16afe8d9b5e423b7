"""A fitted model stays as it is when the caller edits what was passed to it."""

import dataclasses
import functools

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import bayesgen as bg

RNG = np.random.default_rng(0)
Y = np.repeat([0, 1, 2], 12)
NUMBERS = pd.DataFrame({"a": RNG.normal(size=36) + Y, "b": RNG.normal(size=36)})
MIXED = NUMBERS.assign(g=RNG.choice(list("uvw"), 36))
LEVELS = pd.DataFrame({"u": RNG.choice(list("abc"), 36), "v": RNG.choice(list("de"), 36)})
COUNTS = pd.DataFrame(RNG.poisson(2, (36, 3)), columns=list("pqr"))


def probs():
    return np.array([0.2, 0.3, 0.5])


CASES = {
    "class prior": (lambda: bg.NaiveBayes(class_prior=probs()), NUMBERS),
    "list": (lambda: bg.QDA(class_prior=probs().tolist()), NUMBERS),
    "dict": (lambda: bg.LDA(class_prior=dict(enumerate(probs()))), NUMBERS),
    "Series": (lambda: bg.NaiveBayes(class_prior=pd.Series(probs())), NUMBERS),
    "LDA": (
        lambda: bg.LDA(
            mean=np.array([[0.0, 1.0], [1.0, 2.0], [2.0, 3.5]]),
            mean_rows=np.array([1.0, 2.0, 3.0]),
            scale=np.array([[1.0, 0.2], [0.2, 2.0]]),
        ),
        NUMBERS,
    ),
    "QDA by its mode": (
        lambda: bg.QDA(mean=np.array([0.0, 1.0]), scale=np.array([1.0, 2.0]), inference="map"),
        NUMBERS,
    ),
    "Normal": (
        lambda: bg.NaiveBayes(bg.Normal(mean=np.array([0.0, 1.0]), variance=np.array([1.0, 3.0]))),
        NUMBERS,
    ),
    "likelihoods by column": (
        lambda: bg.NaiveBayes(
            {
                "a": bg.Normal(mean=np.array([[0.0], [1.0], [2.0]])),
                "b": bg.Normal(variance=3.0),
                "g": bg.Categorical(probs=np.array([probs()] * 3)),
            }
        ),
        MIXED,
    ),
    "Multinomial": (
        lambda: bg.GenerativeClassifier(bg.Multinomial(probs=probs(), rows=10.0)),
        COUNTS,
    ),
    "BagOfWords": (lambda: bg.BagOfWords(probs=probs(), rows=10.0), COUNTS),
    "Poisson": (lambda: bg.NaiveBayes(bg.Poisson(rate=np.array([1.0, 2.0, 3.0]))), COUNTS),
    "Bernoulli": (lambda: bg.NaiveBayes(bg.Bernoulli(prob=probs())), (COUNTS > 2).astype(int)),
    "JointTable": (
        lambda: bg.JointTable(probs=np.arange(1.0, 7).reshape(3, 2) / 21, rows=5.0),
        LEVELS,
    ),
    "KernelDensity": (
        lambda: bg.NaiveBayes(bg.KernelDensity(bandwidth=np.array([0.3, 0.7]))),
        NUMBERS,
    ),
    "stack": (lambda: bg.StackedClassifier(["naive", "linear"], class_prior=probs()), NUMBERS),
    "stack of a dict": (
        lambda: bg.StackedClassifier({"u": bg.LDA(class_prior=probs()), "v": bg.NaiveBayes()}),
        NUMBERS,
    ),
}


def editable(value):
    """Yield arrays, Series, lists and dicts among the arguments of an object, however deep."""
    if isinstance(value, np.ndarray | pd.Series | list | dict):
        yield value
    if isinstance(value, list | tuple):
        parts = value
    elif isinstance(value, dict):
        parts = list(value.values())
    else:
        parts = value.get_params(deep=False).values() if hasattr(value, "get_params") else ()
    for part in parts:
        yield from editable(part)


def edit(value):
    """Reverse an array, or a list or the values of a dict, in place."""
    if isinstance(value, dict):
        value.update(zip(list(value), list(value.values())[::-1], strict=True))
    elif isinstance(value, list):
        value.reverse()
    else:
        cells = value if isinstance(value, np.ndarray) else value.iloc
        cells[:] = np.flip(np.array(value))


def answers(clf, X):
    """Return what a fitted model says: of rows, of rows left out, and of its rows as a whole."""
    found = [clf.predict_proba(X)]
    for ask in (lambda: clf.loo(X, Y)["log_proba"], lambda: clf.log_evidence_):
        try:
            found.append(np.asarray(ask()))
        except (bg.errors.UnsupportedOperation, AttributeError):
            continue
    return found


def assert_not_moved(clf, X, passed):
    before = answers(clf, X)
    for value in passed:
        edit(value)
    for old, new in zip(before, answers(clf, X), strict=True):
        np.testing.assert_array_equal(new, old)


@pytest.mark.parametrize("name", CASES)
def test_arguments_edited_after_the_fit_move_nothing(name):
    make, X = CASES[name]
    clf = make()
    passed = list(editable(clf))
    assert passed
    assert_not_moved(clf.fit(X, Y), X, passed)


class Careless(bg.NaiveBayes):
    """A fault: the prior of the fit is the array of the caller."""

    def fit(self, X, y, sample_weight=None):
        super().fit(X, y, sample_weight)
        self.fitted_ = dataclasses.replace(self.fitted_, class_prior=self.class_prior)
        return self


def test_the_law_catches_a_model_that_keeps_what_it_was_passed():
    clf = Careless(class_prior=probs())
    with pytest.raises(AssertionError):
        assert_not_moved(clf.fit(NUMBERS, Y), NUMBERS, list(editable(clf)))


@pytest.mark.parametrize("name", ["class prior", "LDA", "likelihoods by column"])
def test_inference_that_waits_takes_the_arguments_of_the_last_call(name):
    make, X = CASES[name]
    clf, whole = make(), make().fit(X, Y)
    passed = list(editable(clf))
    for part in (slice(None, None, 2), slice(1, None, 2)):
        clf.partial_fit(X[part], Y[part])
    for value in passed:
        edit(value)
    np.testing.assert_allclose(clf.predict_proba(X), whole.predict_proba(X), rtol=1e-9)


@pytest.mark.parametrize("spec", [probs(), dict(enumerate(probs())), pd.Series(probs())], ids=type)
@pytest.mark.parametrize("make", [bg.QDA, lambda: bg.StackedClassifier(["naive", "linear"])])
def test_a_prior_stated_later_is_copied(make, spec):
    clf = make().fit(NUMBERS, Y).with_class_prior(spec)
    assert_not_moved(clf, NUMBERS, [spec])


def test_rows_labels_weights_and_declared_classes_move_no_prediction():
    X, y, weight, classes = NUMBERS.to_numpy().copy(), Y.copy(), np.ones(36), np.array([0, 1, 2])
    for make in (bg.NaiveBayes, bg.LDA, lambda: bg.NaiveBayes(bg.KernelDensity())):
        clf = make().partial_fit(X, y, classes=classes, sample_weight=weight)
        before = clf.predict_proba(NUMBERS.to_numpy())
        for value in (X, y, weight, classes):
            edit(value)
        np.testing.assert_array_equal(clf.predict_proba(NUMBERS.to_numpy()), before)


def test_arguments_stay_the_objects_that_were_passed():
    clf = bg.NaiveBayes(class_prior=(prior := probs())).fit(NUMBERS, Y)
    assert clf.get_params()["class_prior"] is prior
    assert clone(clf).class_prior is not prior


@pytest.mark.slow
def test_arrays_bound_to_a_program_are_copied():
    import jax.numpy as jnp
    import numpyro
    import numpyro.distributions as dist

    def story(x, y=None, *, n_classes, center):
        probs = numpyro.sample("probs", dist.Dirichlet(jnp.ones(n_classes)))
        with numpyro.plate("class", n_classes):
            mean = numpyro.sample("mean", dist.Normal(0.0, 3.0))
        with numpyro.plate("row", len(x)):
            y = numpyro.sample("y", dist.Categorical(probs), obs=y)
            numpyro.sample("x", dist.Normal(mean[y] + center[0], 1.0), obs=x[:, 0])

    center = np.array([0.5])
    program = functools.partial(story, center=center)
    clf = bg.GenerativeClassifier(story=program, inference="map").fit(NUMBERS, Y)
    before = clf.predict_proba(NUMBERS)
    center[:] = 5.0  # another number of rows is compiled anew
    np.testing.assert_allclose(clf.predict_proba(NUMBERS[:7]), before[:7])
