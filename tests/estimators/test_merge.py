"""a.merge(b): the fit to both tables, whatever the split, the order and the number of parts."""

import copy
import functools
from functools import partial

import numpy as np
import pandas as pd
import pytest

import bayesgen as bg
from bayesgen.errors import InvalidData, UnsupportedOperation

pytestmark = pytest.mark.filterwarnings("ignore::bayesgen.errors.SuspiciousColumn")
CLOSED = {
    "naive": bg.NaiveBayes,
    "quadratic map": partial(bg.QDA, inference="map"),
    "tempered": partial(bg.LDA, temper=0.5),
    "kernels": partial(bg.NaiveBayes, bg.KernelDensity()),
}
FROM_ROWS = {
    "power transform": partial(bg.NaiveBayes, power_transform=True),
    "bins": partial(bg.NaiveBayes, bg.Categorical(), bins=5),
    "learned temper": partial(bg.NaiveBayes, temper="learn"),
    "stack": partial(bg.StackedClassifier, [bg.LDA(), bg.NaiveBayes()], progress=False),
}


@pytest.fixture(scope="module")
def iris():
    X, y = bg.datasets.load_iris()
    return X + 1e4, y


def fits(make, X, y, parts):
    """Return a classifier for each part of the rows, which may have one class."""
    return [make().partial_fit(X.iloc[rows], y.iloc[rows]) for rows in parts]


def merged(classifiers):
    return functools.reduce(lambda a, b: a.merge(b), classifiers)


def same(found, expected, X, rtol=1e-12):
    assert found.classes_.tolist() == expected.classes_.tolist()
    one, other = (clf.predict_joint_log_proba(X) for clf in (found, expected))
    # a log density near 0 is a sum of terms of size 1 and more, whose rounding stays
    np.testing.assert_allclose(one, other, rtol=rtol, atol=rtol)


@pytest.mark.parametrize("name", CLOSED)
def test_any_split_in_any_order_is_the_whole(name, iris, rng):
    X, y = iris
    make, parts = CLOSED[name], np.array_split(rng.permutation(len(X)), 5)
    whole = make().fit(X, y)
    classifiers = fits(make, X, y, parts)
    same(merged(classifiers), whole, X)
    same(merged(classifiers[::-1]), whole, X)
    if hasattr(whole, "log_evidence_"):
        assert merged(classifiers).log_evidence_ == pytest.approx(whole.log_evidence_, rel=1e-12)


@pytest.mark.parametrize("name", CLOSED)
def test_classes_that_one_alone_has_seen(name, iris):
    X, y = iris
    parts = [np.flatnonzero(y == k) for k in ("virginica", "setosa", "versicolor")]
    same(merged(fits(CLOSED[name], X, y, parts)), CLOSED[name]().fit(X, y), X)


def test_mixed_columns_with_levels_that_one_alone_has_seen(passengers):
    X, y = passengers
    parts = np.split(np.argsort(X["passengerClass"].to_numpy(), kind="stable"), [50, 120])
    classifiers = fits(bg.NaiveBayes, X.astype({"passengerClass": object}), y, parts)
    whole = bg.NaiveBayes().fit(X, y)
    for order in (classifiers, classifiers[::-1]):
        same(merged(order), whole, X)


def test_joint_tables_with_levels_in_another_order_and_missing_cells(rng):
    X = pd.DataFrame({"a": rng.choice(list("uvw"), 60), "b": rng.choice(list("xyz"), 60)})
    X, y = X.mask(rng.random(X.shape) < 0.1), pd.Series(rng.choice(["no", "yes"], 60))
    make = partial(bg.JointTable, inference="map")
    parts = [np.flatnonzero(X["a"] == level) for level in ("w", "v")]
    parts.append(np.setdiff1d(np.arange(60), np.concatenate(parts)))
    same(merged(fits(make, X, y, parts)), make().fit(X, y), X, rtol=1e-6)


def test_a_column_that_one_never_observed(iris):
    X, y = iris
    gone = X.assign(sepal_width=np.nan)
    for make in (bg.NaiveBayes, partial(bg.QDA, inference="map")):
        blank, full = make().fit(gone[::2], y[::2]), make().fit(X[1::2], y[1::2])
        whole = make().fit(X.assign(sepal_width=X["sepal_width"].where(np.arange(150) % 2 == 1)), y)
        same(blank.merge(full), whole, X, rtol=1e-6)
        same(full.merge(blank), whole, X, rtol=1e-6)


@pytest.mark.parametrize(("make", "inference"), [(bg.LDA, "expected"), (bg.QDA, "map")])
def test_missing_patterns(make, inference, iris, rng):
    X, y = iris
    X = X.mask(rng.random(X.shape) < 0.1)
    parts = np.array_split(rng.permutation(len(X)), 3)
    make = partial(make, inference=inference)
    same(merged(fits(make, X, y, parts)), make().fit(X, y), X, rtol=1e-6)


@pytest.mark.slow
def test_draws_are_made_anew_from_merged_statistics(iris, rng):
    X, y = iris
    X = X.mask(rng.random(X.shape) < 0.05)
    make = partial(bg.QDA, inference=bg.Augmentation(draws=200, warmup=50), random_state=0)
    a, b = (make().fit(X[i::2], y[i::2]) for i in (0, 1))
    found, whole = a.merge(b), make().fit(X, y)
    assert found.inference_ == "augmentation"
    # chains magnify the rounding of statistics; of 800 draws 200 are about independent
    error = whole.predict_draws(X).std("draw").to_numpy() / np.sqrt(200)
    gap = np.abs(found.predict_proba(X) - whole.predict_proba(X))
    assert (gap <= 5 * np.sqrt(2) * error + 1e-6).all()


@pytest.mark.parametrize("name", FROM_ROWS)
def test_what_is_learned_from_rows_is_learned_from_those_of_both(name, iris):
    X, y = iris
    make = partial(FROM_ROWS[name], random_state=0)
    a, b = (make().fit(X[i::2], y[i::2]) for i in (0, 1))
    expected = copy.copy(a)
    expected._training = a._training
    expected.partial_fit(X[1::2], y[1::2])
    np.testing.assert_allclose(a.merge(b).predict_proba(X), expected.predict_proba(X), atol=1e-12)
    for one, other in ((copy.copy(a), b), (a, copy.copy(b))):
        with pytest.raises(UnsupportedOperation, match=r"learned from the rows of both|keeps none"):
            one.merge(other)


def test_rows_without_a_label_in_one_of_them(iris):
    X, y = iris
    some = y.astype(object).where(np.arange(150) % 5 > 0, None)
    make = partial(bg.NaiveBayes, random_state=0)
    a, b = make().fit(X[::2], y[::2]), make().fit(X[1::2], some[1::2])
    whole = make().fit(X, y.where(np.arange(150) % 2 == 0, some))
    for found in (a.merge(b), b.merge(a)):
        np.testing.assert_allclose(found.predict_proba(X), whole.predict_proba(X), atol=1e-9)
        assert found.unlabelled_weight_ == pytest.approx(whole.unlabelled_weight_)
    with pytest.raises(UnsupportedOperation, match="unlabelled='learn'"):
        a.merge(copy.copy(b))


def test_neither_of_the_two_changes_and_files_merge_as_fits_do(iris, tmp_path):
    X, y = iris
    a, b = (bg.QDA(random_state=i).fit(X[i::2], y[i::2]) for i in (0, 1))
    before = [clf.predict_proba(X) for clf in (a, b)]
    for i, clf in enumerate((a, b)):
        clf.save(tmp_path / f"{i}.bgm")
    loaded = bg.load(tmp_path / "0.bgm").merge(bg.load(tmp_path / "1.bgm"))
    found = a.merge(b)
    np.testing.assert_array_equal(found.predict_proba(X), loaded.predict_proba(X))
    for clf, proba in zip((a, b), before, strict=True):
        np.testing.assert_array_equal(clf.predict_proba(X), proba)
        assert len(clf.loo()) == 75
    with pytest.raises(UnsupportedOperation, match="merged, copied or loaded"):
        found.loo()
    assert len(found.loo(X, y)) == 150
    found.partial_fit(X[:5], y[:5])


def test_different_models_are_refused(iris):
    X, y = iris
    clf, passing = bg.NaiveBayes().fit(X, y), bg.NaiveBayes(bg.Categorical())
    text = X.assign(petal_width=(X.petal_width > 1e4 + 1).map({True: "wide", False: "thin"}))
    for other, sentence in (
        (bg.LDA().fit(X, y), "of type NaiveBayes and the other of type LDA"),
        (bg.NaiveBayes(temper=0.5).fit(X, y), "temper= is None in one classifier and 0.5"),
        (bg.NaiveBayes(bg.Normal(mean_rows=2)).fit(X, y), "column 'sepal_length' is read by"),
        (bg.NaiveBayes().fit(text, y), "column 'petal_width' is read by Normal"),
        (
            bg.NaiveBayes().fit(X.iloc[:, :3], y),
            "only one of the classifiers reads the column 'petal_width'",
        ),
        (bg.NaiveBayes().fit(X.iloc[:, ::-1], y), "in different orders"),
    ):
        with pytest.raises(UnsupportedOperation, match=sentence):
            clf.merge(other)
    with pytest.raises(InvalidData, match=r"the classes are 'setosa'.* and False, True"):
        clf.merge(bg.NaiveBayes().fit(X, y == "setosa"))
    whole = passing.fit(pd.DataFrame({"a": [1, 2, 1, 2]}), [0, 0, 1, 1])
    words = bg.NaiveBayes(bg.Categorical()).fit(pd.DataFrame({"a": list("uvuv")}), [0, 0, 1, 1])
    with pytest.raises(InvalidData, match="column 'a' holds the levels"):
        whole.merge(words)


def test_missing_cells_as_evidence(iris):
    X, y = iris
    make = partial(bg.NaiveBayes, missing="informative")
    gaps = X.mask(np.arange(600).reshape(150, 4) % 7 == 0)
    both = pd.concat([gaps, X[::2]]), pd.concat([y, y[::2]])
    found, whole = make().fit(gaps, y).merge(make().fit(X[::2], y[::2])), make().fit(*both)
    same(found, whole, gaps)
    same(found.forget(gaps, y), make().fit(X[::2], y[::2]), gaps)


def test_programs_do_not_merge():
    clf = bg.GenerativeClassifier(story=print)
    with pytest.raises(UnsupportedOperation, match="merge needs additive statistics"):
        clf.merge(clf)
    with pytest.raises(UnsupportedOperation, match="forget needs additive statistics"):
        clf.forget([[1.0]], [0])


# --- discount -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [*CLOSED, *FROM_ROWS])
def test_discount_multiplies_the_weights_of_earlier_rows(name, iris):
    X, y = iris
    make = partial((CLOSED | FROM_ROWS)[name], random_state=0)
    faded = make().partial_fit(X[::2], y[::2]).partial_fit(X[1::2], y[1::2], discount=0.5)
    weighted = make().partial_fit(X[::2], y[::2], sample_weight=np.full(75, 0.5))
    weighted.partial_fit(X[1::2], y[1::2])
    np.testing.assert_allclose(faded.predict_proba(X), weighted.predict_proba(X), atol=1e-9)


def test_batches_at_a_discount_count_as_many_as_the_docstring_says(iris):
    X, y = iris
    clf = bg.NaiveBayes()
    for _ in range(60):
        clf.partial_fit(X, y, discount=0.8)
    assert clf.state_.statistics.count.sum() == pytest.approx(150 / (1 - 0.8), rel=1e-5)


@pytest.mark.parametrize("make", [partial(bg.NaiveBayes, columns="average"), bg.NaiveBayes])
def test_levels_that_one_alone_has_seen_under_an_average_over_columns(make, passengers):
    X, y = passengers
    X = X.drop(columns="age").astype(object)
    parts = np.split(np.argsort(X["passengerClass"].to_numpy(), kind="stable"), [50, 120])
    classifiers, whole = fits(make, X, y, parts), make().fit(X, y)
    for order in (classifiers, classifiers[::-1]):
        same(merged(order), whole, X)
