"""Saved and loaded: the same bits, and everything goes on from there; and the file itself."""

import copy
import dataclasses
import io
import json
import os
import sys
import zipfile

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
import skops.io
from case import N_CLASSES
from cases import CASES
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.preprocessing import StandardScaler

import bayesgen as bg
from bayesgen import errors, persist
from bayesgen.estimators import column_blocks
from bayesgen.likelihoods import Likelihood, Statistics
from bayesgen.likelihoods.kernels.fitted import FittedKernels
from bayesgen.likelihoods.kernels.plug_in import PlugInKernels

# -- what the tests share --------------------------------------------------------------------------


def require_same(found, expected, where="it"):
    """Fail where two values differ in type, bits, or the order of their bits in memory."""
    assert type(found) is type(expected), where
    if isinstance(expected, np.ndarray) and expected.dtype != object:
        assert (found.dtype, found.shape) == (expected.dtype, expected.shape), where
        assert found.tobytes() == expected.tobytes(), where
        if expected.size and all(expected.strides):
            for flag in ("C_CONTIGUOUS", "F_CONTIGUOUS"):
                assert found.flags[flag] >= expected.flags[flag], where
    elif isinstance(expected, tuple | list):
        assert len(found) == len(expected), where
        for i, pair in enumerate(zip(found, expected, strict=True)):
            require_same(*pair, f"{where}[{i}]")
    elif isinstance(expected, dict):
        assert list(found) == list(expected), where
        for key in expected:
            require_same(found[key], expected[key], f"{where}[{key!r}]")
    elif (parts := parts_of(expected)) is not None:
        require_same(parts_of(found), parts, where)
    else:
        assert found == expected or (found != found and expected != expected), where


def parts_of(value):
    """Return what an object is made of; None where it is compared as it is."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if dataclasses.is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, BaseEstimator):
        return dict(sorted(value.__getstate__().items()))
    if isinstance(value, np.random.RandomState):
        return value.get_state(legacy=False)
    if isinstance(value, sparse.csr_array):
        return [value.data, value.indices, value.indptr, value.shape]
    return None


def saved_and_loaded(clf, tmp_path, **options):
    """Return what comes back from a file: the same parameters, statistics, posterior."""
    clf.save(tmp_path / "model.bgm")
    found = bg.load(tmp_path / "model.bgm", **options)
    require_same(found, clf)
    return found


def answers(clf, X):
    """Return everything a classifier says of rows."""
    out = {
        "proba": clf.predict_proba(X),
        "label": clf.predict(X),
        "density": clf.score_samples(X),
        "sample": clf.sample(3, random_state=0)[1],
    }
    if clf.inference_ in ("exact", "importance", "augmentation", "nuts"):
        out["interval"] = clf.predict_interval(X[:5])
        out["draws"] = clf.predict_draws(X[:2]).values
    return out


def passengers(n=200):
    X, y = bg.datasets.load_titanic_passengers()
    return X.iloc[:n].reset_index(drop=True), y.iloc[:n].reset_index(drop=True)


def texts(rng, n=40):
    """Return texts of some words, and which of two kinds each is."""
    words = np.array(["king", "food", "proof", "lemma", "the", "ate"])
    y = np.arange(n) % 2
    share = np.array([[3, 3, 1, 1, 2, 2], [1, 1, 3, 3, 2, 1]]) / np.array([[12], [11]])
    return np.array([" ".join(rng.choice(words, 9, p=share[k])) for k in y], object), y


def iris_with_missing(rng):
    X, y = bg.datasets.load_iris()
    return X.mask(rng.random(X.shape) < 0.05), y


def levels(rng):
    return (part.iloc[::20].reset_index(drop=True) for part in bg.datasets.load_titanic())


def iris(rng):
    return bg.datasets.load_iris()


MODELS = {
    "NaiveBayes": (bg.NaiveBayes, lambda rng: passengers()),
    "LDA": (bg.LDA, iris),
    "QDA": (bg.QDA, iris),
    "QDA with missing values": (bg.QDA, iris_with_missing),
    "JointTable": (bg.JointTable, levels),
    "BagOfWords": (bg.BagOfWords, texts),
}


# -- classifiers -----------------------------------------------------------------------------------

FITS = [(name, "exact") for name in MODELS]
FITS += [("NaiveBayes", "map"), ("QDA with missing values", "map"), ("JointTable", "mle")]


@pytest.mark.parametrize(("name", "method"), FITS)
@pytest.mark.filterwarnings("ignore::bayesgen.errors.NotConverged")  # few draws will do
@pytest.mark.filterwarnings("ignore::bayesgen.errors.DegenerateEstimate")  # cells without a row
def test_a_loaded_classifier_answers_with_the_same_bits_and_goes_on(name, method, tmp_path, rng):
    make, data = MODELS[name]
    if name == "QDA with missing values" and method == "exact":
        method = bg.Augmentation(draws=80, warmup=20, chains=2)
    X, y = data(rng)
    half = rng.permutation(len(X)) < len(X) // 2
    clf = make(inference=method, random_state=5).fit(X[half], y[half])
    found = saved_and_loaded(clf, tmp_path)
    require_same(answers(found, X[:40]), answers(clf, X[:40]))
    require_same(found.posterior_, clf.posterior_)
    for going_on in (found, clf):
        going_on.partial_fit(X[~half], y[~half])
    require_same(answers(found, X[:40]), answers(clf, X[:40]))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The chains do not agree yet")
@pytest.mark.filterwarnings("ignore::bayesgen.errors.LowSampleSize")
def test_draws_of_nuts(tmp_path, rng):
    X, y = iris_with_missing(rng)
    method = bg.NUTS(draws=50, warmup=50, chains=2, progress=False)
    clf = bg.QDA(inference=method, random_state=1).fit(X, y)
    found = saved_and_loaded(clf, tmp_path)
    assert found.posterior_.components.shape == (2, 50)
    require_same(answers(found, X[:20]), answers(clf, X[:20]))


def mixed(rng, n=80):
    """Return columns of every type of level, with missing values, and four integer classes."""
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
    prior = {0: 0.1, 1: 0.2, 2: 0.3, 3: 0.4}
    return bg.GenerativeClassifier(spec, class_prior=prior).fit(X, rng.integers(0, 4, n)), X


def numbered(rng):
    X, y = bg.datasets.load_iris()
    X = X.set_axis([3, 1, 0, 2], axis=1)
    return bg.NaiveBayes({3: bg.Normal(), (1, 0, 2): bg.Normal()}).fit(X, y), X


def uninformative(rng):
    X, y = passengers()
    X = X.assign(constant=1.0, nothing=np.nan, late=pd.Categorical(["a"] * len(X), ["a", "b"]))
    with pytest.warns(errors.SuspiciousColumn):
        return bg.NaiveBayes().fit(X, y), X


def in_container(container):
    X, y = bg.datasets.load_iris()
    return bg.LDA().fit(container(X), np.asarray(y)), container(X)


def reweighed(rng):
    X, y = bg.datasets.load_iris()
    return bg.QDA().fit(X, y).with_class_prior("uniform"), X


UNUSUAL = {
    "columns of every type": mixed,
    "columns named by numbers": numbered,
    "uninformative columns": uninformative,
    "another class prior": reweighed,
    "polars": lambda rng: in_container(pl.DataFrame),
    "numpy": lambda rng: in_container(np.asarray),
}


@pytest.mark.parametrize("name", UNUSUAL)
def test_an_unusual_fit_comes_back(name, tmp_path, rng):
    clf, X = UNUSUAL[name](rng)
    found = saved_and_loaded(clf, tmp_path)
    require_same(answers(found, X), answers(clf, X))
    rows, expected = (fit.sample(4, random_state=1)[0] for fit in (found, clf))
    assert type(rows) is type(expected)
    pd.testing.assert_frame_equal(pd.DataFrame(rows), pd.DataFrame(expected))


@pytest.mark.parametrize(
    "labels",
    [
        np.array(["b", "a" * 100]),
        np.array(["b", "a"], dtype=object),
        np.array([3, 1], dtype=np.uint8),
        np.array([True, False]),
        np.array([2.0, 1.0], dtype=np.float32),
        pd.Series(["b", "a"], dtype="string"),
    ],
    ids=lambda labels: str(labels.dtype),
)
def test_classes_keep_their_types(labels, tmp_path, rng):
    y = labels[np.arange(20) % 2]
    clf = bg.NaiveBayes().fit(rng.normal(size=(20, 2)), y)
    found = saved_and_loaded(clf, tmp_path)
    require_same(found.predict(np.eye(2)), clf.predict(np.eye(2)))


def test_parameters_come_back_as_they_were_given(tmp_path):
    X, y = bg.datasets.load_iris()
    guesses = {"petal_width": bg.Normal(variance=np.array([0.3]))}
    parameters = {
        "class_prior": np.float64(2.0),
        "inference": bg.NUTS(draws=10, progress=False),
        "likelihood": {0: bg.Normal(mean_rows=np.float64(2)), (1, "width", 3): bg.Normal()},
        "random_state": np.random.RandomState(8),
        "unseen": [
            *(np.zeros((0, 3)), np.float16(2.5), np.array("text"), np.str_("text")),
            *(float("-inf"), True, 3, None, ("a", b"a".decode()), np.dtype(bool), np.int8),
            np.asfortranarray(np.eye(3)[:, :2]),
            np.arange(24.0).reshape(2, 3, 4).transpose(2, 0, 1),
            *([0.5, 0.25], np.array([[None, "a"], [1, 2.5]]), bg.MLE(bias_corrected=True), guesses),
            sparse.csr_array(np.eye(3)),
        ],
    }
    saved_and_loaded(bg.GenerativeClassifier().fit(X, y).set_params(**parameters), tmp_path)


def test_one_class_so_far(tmp_path):
    X, y = bg.datasets.load_iris()
    clf = bg.LDA().partial_fit(X[:20], y[:20])
    found = saved_and_loaded(clf, tmp_path)
    with pytest.raises(errors.NoAttribute):
        found.predict(X)
    for going_on in (found, clf):
        going_on.partial_fit(X[20:], y[20:])
    require_same(answers(found, X), answers(clf, X))


# -- families --------------------------------------------------------------------------------------


FAMILIES = {type(case.prior): name for name, case in reversed(CASES.items())}
"""The first case of each type."""
COMPILED = [
    pytest.param(name, marks=pytest.mark.slow) if name.startswith("Family") else name
    for name in FAMILIES.values()
]
"""A family of NumPyro compiles a program before its prior is complete."""


@pytest.mark.parametrize("name", COMPILED)
def test_families_and_statistics_come_back(name, tmp_path, rng):
    case = CASES[name]
    x, y = case.rows(rng, 40, gaps=case.prior.allows_missing_at_fit)
    weight = rng.integers(0, 3, 40).astype(float)
    shape = {"n_classes": N_CLASSES, "n_levels": case.n_levels}
    value = {}
    for word, prior in (("stated", case.prior), ("vague", case.vague)):
        statistics = prior.statistics(x, y, weight, **shape)
        value[word] = (prior, prior.complete(statistics), statistics)
    kinds = {
        "likelihood": (Likelihood,),
        "statistics": (Statistics,),
        "value": (FittedKernels, PlugInKernels),
    }
    registry = persist.Registry(kinds)
    persist.write_model(tmp_path / "part.bgm", value, registry)
    found = persist.read_model(tmp_path / "part.bgm", registry)
    require_same(found, value)
    more = case.prior.statistics(*case.rows(rng, 20), np.ones(20), **shape)
    require_same(found["stated"][2] + more, value["stated"][2] + more)


# -- what cannot be saved --------------------------------------------------------------------------


def fitted(**parameters):
    X, y = bg.datasets.load_iris()
    return bg.NaiveBayes().fit(X, y).set_params(**parameters)


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"random_state": lambda: 0}, r"parameters.random_state is of type builtins.function; num"),
        ({"likelihood": {"petal_width": object()}}, r"likelihood.petal_width is of type builtins"),
        (
            {"unseen": np.array([1j])},
            r"parameters.unseen is of type numpy.ndarray of complex128; .*\.astype",
        ),
        ({"unseen": np.array(["2020"], dtype="M8[s]")}, r"numpy.ndarray of datetime64\[s\]"),
        ({"unseen": {1, 2}}, r"parameters.unseen is of type builtins.set"),
        ({"unseen": StandardScaler()}, r"StandardScaler; numbers, text, arrays"),
        ({"unseen": sys.version_info}, r"parameters.unseen is of type sys.version_info"),
    ],
    ids=["function", "object", "complex", "date", "set", "stranger", "tuple of its own"],
)
def test_what_is_no_data_is_refused(parameters, sentence, tmp_path):
    with pytest.raises(errors.InvalidFile, match=sentence):
        fitted(**parameters).save(tmp_path / "model.bgm")
    assert list(tmp_path.iterdir()) == []


def test_an_unfitted_classifier_is_not_saved(tmp_path):
    with pytest.raises(NotFittedError):
        bg.NaiveBayes().save(tmp_path / "model.bgm")


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Rarer(bg.Poisson):
    """A family of the user's own."""

    share: float = 0.5


class Mine(bg.NaiveBayes):
    """A classifier of the user's own."""


def test_classes_of_the_users_own_are_named_to_load(tmp_path, rng):
    X, y = rng.poisson(3.0, (30, 2)).astype(float), np.arange(30) % 2
    clf = Mine(Rarer(rows=2.0, share=0.25)).fit(X, y)
    found = saved_and_loaded(clf, tmp_path, classes=[Rarer, Mine])
    require_same(answers(found, X), answers(clf, X))
    for classes in ([], [Rarer], [Mine]):
        with pytest.raises(errors.InvalidFile, match=r"refers to 'yours.*classes=\[...\]"):
            bg.load(tmp_path / "model.bgm", classes=classes)


def test_a_class_that_was_defined_twice_is_saved_as_the_one_that_is_used(tmp_path):
    """As by a cell of a notebook that ran twice; the later class has another constructor."""
    X, y = np.arange(20.0).reshape(10, 2), np.arange(10) % 2
    first, _second = (
        type("Twice", (bg.NaiveBayes,), {"__init__": make, "__module__": __name__})
        for make in (bg.NaiveBayes.__init__, lambda self, *, strength=1.0: None)
    )
    found = saved_and_loaded(first().fit(X, y), tmp_path, classes=[first])
    assert type(found) is first


# -- the file --------------------------------------------------------------------------------------


def test_the_file_can_be_read_by_numpy_and_zipfile(tmp_path):
    clf = fitted()
    clf.save(tmp_path / "model.bgm")
    with np.load(tmp_path / "model.bgm", allow_pickle=False) as file:
        mean = file["fitted/fitted/state/statistics/blocks/normal/mean"]
        assert mean.shape == (3, 4)
    with zipfile.ZipFile(tmp_path / "model.bgm") as file:
        assert file.testzip() is None
        assert json.loads(file.read("model.json"))["format"] == 1


def test_the_path_is_taken_as_it_is_and_nothing_lies_beside_it(tmp_path):
    names = ["model", "model.bgm", "my model.txt", "ü.nc"]
    for name in names:
        fitted().save(str(tmp_path / name))
        bg.load(str(tmp_path / name))
        bg.load(tmp_path / name)
    assert sorted(os.listdir(tmp_path)) == names


def test_the_same_model_is_the_same_file(tmp_path):
    clf = fitted()
    for name in ("a.bgm", "b.bgm"):
        clf.save(tmp_path / name)
    bg.load(tmp_path / "a.bgm").save(tmp_path / "c.bgm")
    bytes_ = {(tmp_path / name).read_bytes() for name in ("a.bgm", "b.bgm", "c.bgm")}
    assert len(bytes_) == 1


def test_an_older_file_stays_whole_until_the_new_one_is(tmp_path, monkeypatch):
    path = tmp_path / "model.bgm"
    clf = fitted()
    clf.save(path)
    before = path.read_bytes()
    monkeypatch.setattr(os, "fsync", lambda handle: (_ for _ in ()).throw(OSError(28, "disk full")))
    with pytest.raises(
        errors.InvalidFile, match=r"model.bgm': No space left.*\. Choose a path in .* with space"
    ):
        clf.set_params(unseen="error").save(path)
    assert [p.name for p in tmp_path.iterdir()] == ["model.bgm"]
    assert path.read_bytes() == before


def test_a_link_goes_on_pointing_and_permissions_are_the_usual_ones(tmp_path):
    (tmp_path / "real").mkdir()
    link = tmp_path / "link.bgm"
    link.symlink_to(tmp_path / "real" / "model.bgm")
    fitted().save(link)
    assert link.is_symlink()
    direct = tmp_path / "plain"
    direct.touch()
    assert (tmp_path / "real" / "model.bgm").stat().st_mode == direct.stat().st_mode


@pytest.mark.parametrize("where", [".", "nowhere/model.bgm"])
def test_a_place_that_takes_no_file(where, tmp_path):
    with pytest.raises(errors.InvalidFile, match=r"cannot write .* an existing folder"):
        fitted().save(tmp_path / where)
    assert list(tmp_path.iterdir()) == []


# -- other ways to keep a classifier ---------------------------------------------------------------


def by_joblib(clf):
    joblib.dump(clf, file := io.BytesIO())
    file.seek(0)
    return joblib.load(file)


def by_skops(clf):
    content = skops.io.dumps(clf)
    return skops.io.loads(content, trusted=skops.io.get_untrusted_types(data=content))


@pytest.mark.parametrize("again", [copy.deepcopy, by_joblib, by_skops])
def test_other_ways_keep_the_bits_too(again):
    X, y = passengers()
    clf = bg.NaiveBayes().fit(X, y)
    found = again(clf)
    require_same(found, clf)
    for going_on in (found, clf):
        going_on.partial_fit(X, y)
    require_same(answers(found, X), answers(clf, X))


def of_several_columns():
    X, y = bg.datasets.load_iris()
    pairs = {("petal_length", "petal_width"): bg.MultivariateNormal(), "sepal_length": bg.Normal()}
    return bg.GenerativeClassifier(pairs, remainder="drop").fit(X, y), X


@pytest.mark.parametrize("again", [copy.deepcopy, by_joblib, by_skops])
def test_likelihoods_of_several_columns_are_kept_under_the_same_keys(again):
    clf, X = of_several_columns()
    found = again(clf)
    assert list(found.likelihood) == list(clf.likelihood) and isinstance(found.likelihood, dict)
    require_same(answers(found, X), answers(clf, X))
    assert repr(found) == repr(clf)


@pytest.mark.parametrize("again", [by_joblib, by_skops])
def test_an_automatic_stack_is_kept(again):
    """Its members have likelihoods of several columns."""
    X, y = bg.datasets.load_iris()
    clf = bg.StackedClassifier(["naive", "linear", "bins"], random_state=0).fit(X, y)
    found = again(clf)
    assert any(isinstance(key, tuple) for key in found.members_["linear"].likelihood)
    np.testing.assert_array_equal(found.predict_proba(X), clf.predict_proba(X))


def test_a_copy_that_holds_tuples_as_keys_is_refused_by_skops(monkeypatch):
    clf, _ = of_several_columns()
    monkeypatch.setattr(column_blocks.Pairs, "of", staticmethod(lambda argument: argument))
    with pytest.raises(TypeError, match="not tuple"):
        by_skops(clf)
