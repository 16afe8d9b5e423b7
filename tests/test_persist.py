"""Saved and loaded: the same bits, and everything goes on from there."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import xarray as xr
from case import N_CLASSES
from cases import CASES
from persisted import (
    MODELS,
    answers,
    passengers,
    require_same,
    require_same_array,
    saved_and_loaded,
    through_file,
)

import bayesgen as bg
from bayesgen import errors


def mixed(rng, n=80):
    """Return columns of every type of level, all with holes, and four classes of integers."""
    X = pd.DataFrame(
        {
            "size": rng.normal(1e6, 1.0, n),
            "colour": rng.choice(["red", "blue", "a/b, ü \n"], n),
            "smoker": pd.array(rng.choice([True, False], n), dtype="boolean"),
            "grade": pd.Categorical(rng.choice([1.5, 2.5], n), categories=[2.5, 1.5, 9.0]),
            "7": pd.array(rng.integers(-3, 3, n), dtype="Int64"),
            "visits": rng.poisson(2.0, n).astype(float),
        }
    )
    X = X.mask(rng.random(X.shape) < 0.1)
    spec = {
        "size": bg.Normal(mean=1e6, mean_rows=0.5),
        ("colour", "smoker", "grade", "7"): bg.Categorical(),
        "visits": bg.Poisson(),
    }
    return X, rng.integers(0, 4, n), spec


FITS = [(name, method) for name in MODELS for method in ("exact", "mle")]
FITS += [("NaiveBayes", "map"), ("QDA with holes", "map")]


# -- classifiers -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "method"), FITS)
@pytest.mark.filterwarnings("ignore::bayesgen.errors.NotConverged")  # few draws will do
@pytest.mark.filterwarnings("ignore::bayesgen.errors.ImpossibleRows")  # cells without a row
def test_a_loaded_classifier_answers_with_the_same_bits(name, method, tmp_path, rng):
    make, data = MODELS[name]
    if name == "QDA with holes" and method == "exact":
        method = bg.Augmentation(draws=80, warmup=20, chains=2)
    X, y = data(rng)
    half = rng.permutation(len(X)) < len(X) // 2
    clf = make(inference=method, random_state=5).fit(X[half], y[half])
    found = saved_and_loaded(clf, tmp_path)
    assert repr(found) == repr(clf)
    require_same(found._state_, clf._state_)
    require_same(found._posterior, clf._posterior)
    require_same(found.posterior_, clf.posterior_)
    require_same(found.report_, clf.report_)
    require_same(answers(found, X[:40]), answers(clf, X[:40]))
    assert (found.inference_, found._seed) == (clf.inference_, clf._seed)
    if found.inference_ == "exact":
        assert found.log_evidence_ == clf.log_evidence_
    # and it goes on
    for going_on in (found, clf):
        going_on.partial_fit(X[~half], y[~half])
    require_same(answers(found, X[:40]), answers(clf, X[:40]))


def test_columns_named_by_numbers(tmp_path):
    X, y = bg.datasets.load_iris()
    X = X.set_axis([3, 1, 0, 2], axis=1)
    clf = bg.NaiveBayes({3: bg.Normal(), (1, 0, 2): bg.Normal()}).fit(X, y)
    found = saved_and_loaded(clf, tmp_path)
    assert found.sample(1)[0].columns.tolist() == [3, 1, 0, 2]
    require_same(answers(found, X), answers(clf, X))


def test_every_type_of_level_and_integer_classes(tmp_path, rng):
    X, y, spec = mixed(rng)
    clf = bg.GenerativeClassifier(spec, class_prior={0: 0.1, 1: 0.2, 2: 0.3, 3: 0.4}).fit(X, y)
    found = saved_and_loaded(clf, tmp_path)
    require_same(found._state_.schema, clf._state_.schema)
    require_same(found.get_params(deep=False), clf.get_params(deep=False))
    levels = {c.name: c.levels for c in found._state_.schema.blocks["colour_smoker_grade_7"]}
    assert [type(level) for level in levels["smoker"]] == [bool, bool]
    assert levels["grade"] == (2.5, 1.5, 9.0)
    assert {type(level) for level in levels["7"]} == {int}
    require_same(answers(found, X), answers(clf, X))
    rows, _ = found.sample(4, random_state=1)
    pd.testing.assert_frame_equal(rows, clf.sample(4, random_state=1)[0])
    more = pd.DataFrame({**{name: [None] for name in X}, "colour": ["green"]})
    for going_on in (found, clf):
        going_on.partial_fit(more, [3])
    require_same(answers(found, X), answers(clf, X))


@pytest.mark.parametrize(
    "labels",
    [
        np.array(["b", "a"]),
        np.array(["b", "a" * 100]),
        np.array(["b", "a"], dtype=object),
        np.array([3, -1]),
        np.array([3, 1], dtype=np.uint8),
        np.array([True, False]),
        np.array([2.0, 1.0]),
        np.array([2.0, 1.0], dtype=np.float32),
        pd.Series(["b", "a"], dtype="string"),
        pd.Series(["b", "a"], dtype="category"),
        pl.Series(["b", "a"]),
    ],
    ids=lambda labels: str(labels.dtype),
)
def test_classes_keep_their_types(labels, tmp_path, rng):
    y = labels[np.arange(20) % 2] if not isinstance(labels, pl.Series) else labels[[0, 1] * 10]
    clf = bg.NaiveBayes().fit(rng.normal(size=(20, 2)), y)
    found = saved_and_loaded(clf, tmp_path)
    require_same_array(found.classes_, clf.classes_)
    require_same_array(found.predict(np.eye(2)), clf.predict(np.eye(2)))


@pytest.mark.parametrize("container", [pd.DataFrame, pl.DataFrame, np.asarray])
def test_the_kind_of_table_is_remembered(container, tmp_path):
    X, y = bg.datasets.load_iris()
    clf = bg.LDA().fit(container(X), np.asarray(y))
    found = saved_and_loaded(clf, tmp_path)
    assert type(found.sample(2, random_state=0)[0]) is type(clf.sample(2, random_state=0)[0])
    assert hasattr(found, "feature_names_in_") == (container is not np.asarray)
    require_same(found.predict_proba(container(X)), clf.predict_proba(container(X)))


@pytest.mark.parametrize(
    "parameters",
    [
        {"class_prior": "empirical"},
        {"class_prior": [0.5, 0.25, 0.25]},
        {"class_prior": np.array([0.5, 0.25, 0.25])},
        {"class_prior": np.float64(2.0)},
        {"inference": bg.MLE(bias_corrected=True)},
        {"inference": bg.Exact(draws=17)},
        {"inference": bg.NUTS(draws=10, progress=False)},
        {"unseen": "error"},
        {
            "likelihood": {
                0: bg.Normal(mean_rows=np.float64(2)),
                (1, "petal_length", 3): bg.Normal(),
            }
        },
        {"remainder": "auto", "likelihood": {"petal_width": bg.Normal(variance=np.array([0.3]))}},
    ],
    ids=str,
)
def test_parameters_come_back_as_they_were_given(parameters, tmp_path):
    X, y = bg.datasets.load_iris()
    clf = bg.GenerativeClassifier().fit(X, y)
    clf.set_params(**parameters)
    found = saved_and_loaded(clf, tmp_path).get_params(deep=False)
    require_same(found, clf.get_params(deep=False))


def test_a_generator_of_random_numbers_goes_on_where_it_stopped(tmp_path):
    X, y = bg.datasets.load_iris()
    state = np.random.RandomState(8)
    state.normal()
    clf = bg.NaiveBayes(random_state=state).fit(X, y)
    found = saved_and_loaded(clf, tmp_path)
    assert found.random_state.normal() == state.normal()
    assert found.random_state.randint(2**31) == state.randint(2**31)


def test_another_class_prior_stays(tmp_path):
    X, y = bg.datasets.load_iris()
    clf = bg.QDA().fit(X, y).with_class_prior("uniform")
    found = saved_and_loaded(clf, tmp_path)
    require_same(answers(found, X), answers(clf, X))


def test_one_class_so_far(tmp_path):
    X, y = bg.datasets.load_iris()
    clf = bg.LDA().partial_fit(X[:20], y[:20])
    found = saved_and_loaded(clf, tmp_path)
    with pytest.raises(errors.TooFewClasses):
        found.predict(X)
    found.partial_fit(X[20:], y[20:])
    clf.partial_fit(X[20:], y[20:])
    require_same(answers(found, X), answers(clf, X))


def test_columns_that_say_nothing(tmp_path, rng):
    X, y = passengers()
    X = X.assign(constant=1.0, nothing=np.nan, late=pd.Categorical(["a"] * len(X), ["a", "b"]))
    with pytest.warns(errors.UninformativeColumn):
        clf = bg.NaiveBayes().fit(X, y)
    found = saved_and_loaded(clf, tmp_path)
    require_same(answers(found, X), answers(clf, X))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The chains do not agree yet")
@pytest.mark.filterwarnings("ignore::bayesgen.errors.LowSampleSize")
@pytest.mark.parametrize("name", ["NaiveBayes", "QDA", "QDA with holes"])
def test_draws_of_nuts(name, tmp_path, rng):
    make, data = MODELS[name]
    X, y = data(rng)
    method = bg.NUTS(draws=150, warmup=150, chains=2, progress=False)
    clf = make(inference=method, random_state=1).fit(X, y)
    found = saved_and_loaded(clf, tmp_path)
    require_same(found._posterior, clf._posterior)
    assert found._posterior.shape == (2, 150)
    require_same(answers(found, X[:20]), answers(clf, X[:20]))
    file = xr.open_datatree(tmp_path / "model.nc")
    assert dict(file["posterior"].sizes)["chain"] == 2
    assert {"diverging", "energy"} <= {name.split(".")[-1] for name in file["posterior"]}


# -- families --------------------------------------------------------------------------------------


COMPILED = [
    pytest.param(name, marks=pytest.mark.slow) if name.startswith("Family") else name
    for name in CASES
]
"""A family of NumPyro compiles a program before its prior is complete."""


@pytest.mark.parametrize("name", COMPILED)
def test_every_family_and_its_statistics_come_back(name, tmp_path, rng):
    case = CASES[name]
    x, y = case.rows(rng, 40, holes=case.prior.allows_missing_at_fit)
    weight = rng.integers(0, 3, 40).astype(float)
    shape = {"n_classes": N_CLASSES, "n_levels": case.n_levels}
    value = {}
    for word, prior in (("stated", case.prior), ("vague", case.vague)):
        statistics = prior.statistics(x, y, weight, **shape)
        value[word] = (prior, prior.complete(statistics), statistics)
    found = through_file(value, tmp_path / "part.nc")
    require_same(found, value)
    more = case.prior.statistics(*case.rows(rng, 20), np.ones(20), **shape)
    require_same(found["stated"][2] + more, value["stated"][2] + more)
