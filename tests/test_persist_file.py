"""The file that a classifier is saved in, what is refused, and other ways to keep a classifier."""

import copy
import dataclasses
import io
import json
import os
import pickle

import joblib
import numpy as np
import pytest
import xarray as xr
from persisted import MODELS, answers, require_same, saved_and_loaded
from sklearn.exceptions import NotFittedError
from sklearn.preprocessing import StandardScaler

import bayesgen as bg
from bayesgen import errors

# -- what cannot be saved --------------------------------------------------------------------------


def fitted(**parameters):
    X, y = bg.datasets.load_iris()
    return bg.NaiveBayes().fit(X, y).set_params(**parameters)


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"random_state": lambda: 0}, r"parameters.random_state is of type builtins.function; num"),
        ({"likelihood": {"petal_width": object()}}, r"likelihood.petal_width is of type builtins"),
        ({"unseen": np.array([1j])}, r"parameters.unseen is an array of complex128; .*\.astype"),
        ({"unseen": np.array(["2020"], dtype="M8[s]")}, r"is an array of datetime64\[s\]"),
        ({"unseen": {1, 2}}, r"parameters.unseen is of type builtins.set"),
        ({"unseen": StandardScaler()}, r"StandardScaler; numbers, text, arrays"),
    ],
    ids=["function", "object", "complex", "date", "set", "stranger"],
)
def test_what_is_no_data_is_refused(parameters, sentence, tmp_path):
    with pytest.raises(errors.UnsavableModel, match=sentence):
        fitted(**parameters).save(tmp_path / "model.nc")
    assert list(tmp_path.iterdir()) == []


def test_an_unfitted_classifier_is_not_saved(tmp_path):
    with pytest.raises(NotFittedError):
        bg.NaiveBayes().save(tmp_path / "model.nc")


def test_a_program_of_the_users_own_is_refused_with_the_cure(tmp_path):
    clf = fitted()
    clf.story = lambda x: x
    clf.get_params = lambda deep: {"story": clf.story}
    with pytest.raises(errors.UnsavableModel, match=r"holds no code. Save its draws: .*datatree"):
        clf.save(tmp_path / "model.nc")


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
    assert (type(found), found.likelihood.share) == (Mine, 0.25)
    require_same(answers(found, X), answers(clf, X))
    for classes in ([], [Rarer], [Mine]):
        with pytest.raises(errors.InvalidModelFile, match=r"asks for 'yours.*classes=\[...\]"):
            bg.load(tmp_path / "model.nc", classes=classes)


# -- the file --------------------------------------------------------------------------------------


def test_the_file_is_netcdf_with_the_words_of_the_axes(tmp_path):
    X, y = bg.datasets.load_titanic_passengers()
    bg.NaiveBayes().fit(X, y).save(tmp_path / "model.nc")
    for options in ({}, {"engine": "h5netcdf"}):
        with xr.open_datatree(tmp_path / "model.nc", **options) as file:
            assert sorted(file.children) == ["posterior", "state"]
            found = file["state"]["statistics.blocks.normal.mean"]
            assert found.dims == ("class", "feature")
            assert list(file.attrs) == ["bayesgen"]
            assert json.loads(file.attrs["bayesgen"])["format"] == 1


def test_the_path_is_taken_as_it_is_and_nothing_lies_beside_it(tmp_path):
    for name in ("model", "model.nc", "my model.txt", "ü.nc"):
        path = tmp_path / name
        fitted().save(str(path))
        bg.load(str(path))
        bg.load(path)
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        "model",
        "model.nc",
        "my model.txt",
        "ü.nc",
    ]


def test_the_same_model_is_the_same_file(tmp_path):
    clf = fitted()
    for name in ("a.nc", "b.nc"):
        clf.save(tmp_path / name)
    bg.load(tmp_path / "a.nc").save(tmp_path / "c.nc")
    bytes_ = {(tmp_path / name).read_bytes() for name in ("a.nc", "b.nc", "c.nc")}
    assert len(bytes_) == 1


def test_an_older_file_stays_whole_until_the_new_one_is(tmp_path, monkeypatch):
    path = tmp_path / "model.nc"
    clf = fitted()
    clf.save(path)
    before = path.read_bytes()
    monkeypatch.setattr(os, "fsync", lambda handle: (_ for _ in ()).throw(OSError(28, "disk full")))
    with pytest.raises(errors.UnwritableFile, match=r"model.nc': disk full; .* another path"):
        clf.set_params(unseen="error").save(path)
    assert [p.name for p in tmp_path.iterdir()] == ["model.nc"]
    assert path.read_bytes() == before


def test_a_link_goes_on_pointing_and_permissions_are_the_usual_ones(tmp_path):
    (tmp_path / "real").mkdir()
    link = tmp_path / "link.nc"
    link.symlink_to(tmp_path / "real" / "model.nc")
    fitted().save(link)
    assert link.is_symlink()
    plain = tmp_path / "plain"
    plain.touch()
    assert (tmp_path / "real" / "model.nc").stat().st_mode == plain.stat().st_mode


@pytest.mark.parametrize("where", [".", "nowhere/model.nc"])
def test_a_place_that_takes_no_file(where, tmp_path):
    with pytest.raises(errors.UnwritableFile, match=r"cannot write .* an existing folder"):
        fitted().save(tmp_path / where)
    assert list(tmp_path.iterdir()) == []


# -- other ways to keep a classifier ---------------------------------------------------------------


def by_joblib(clf):
    file = io.BytesIO()
    joblib.dump(clf, file)
    file.seek(0)
    return joblib.load(file)


def by_skops(clf):
    import skops.io

    content = skops.io.dumps(clf)
    return skops.io.loads(content, trusted=skops.io.get_untrusted_types(data=content))


@pytest.mark.parametrize(
    "way",
    [copy.deepcopy, lambda clf: pickle.loads(pickle.dumps(clf)), by_joblib, by_skops],
    ids=["deepcopy", "pickle", "joblib", "skops"],
)
@pytest.mark.parametrize(("name", "method"), [("NaiveBayes", "exact"), ("QDA", "map")])
def test_other_ways_keep_the_bits_too(way, name, method, rng):
    make, data = MODELS[name]
    X, y = data(rng)
    clf = make(inference=method).fit(X, y)
    expected = answers(clf, X)
    found = way(clf)
    require_same(answers(found, X), expected)
    for going_on in (found, clf):
        going_on.partial_fit(X, y)
    require_same(answers(found, X), answers(clf, X))
