"""A program of the user's own in a file: its draws and its import path, not its code."""

import sys
import types
import zipfile

import numpy as np
import pandas as pd
import pytest
import user_programs
from user_programs import X, Y

import bayesgen as bg
from bayesgen import errors
from bayesgen.estimators.saving import import_path


def flowers(**parameters):
    return bg.NaiveBayes().fit(*bg.datasets.load_iris()).set_params(**parameters)


def keyed(x, y=None, *, n_classes, **sizes):
    """Take a dict of arrays."""
    return user_programs.bells(x and x["x"], y, n_classes=n_classes, **sizes)


@pytest.mark.parametrize(
    ("program", "container"),
    [
        (user_programs.bells, pd.DataFrame),
        pytest.param(keyed, lambda X: {"x": X}, marks=pytest.mark.slow),
    ],
)
def test_draws_of_a_program_are_kept_and_its_import_path(program, container, tmp_path):
    path = tmp_path / "model.bgm"
    rows, name = container(X), f"{program.__module__}:{program.__qualname__}"
    clf = bg.GenerativeClassifier(story=program, inference="map", random_state=2)
    clf.fit(rows, Y).save(path)
    found = bg.load(path, story=program)
    assert (repr(found), found.report_) == (repr(clf), clf.report_)
    np.testing.assert_array_equal(found.predict_proba(rows), clf.predict_proba(rows))
    if program is user_programs.bells:
        drawn = (fit.sample(3, random_state=0)[0] for fit in (found, clf))
        np.testing.assert_array_equal(*drawn)
    # the program is named, and neither its code nor the rows are in the file
    with zipfile.ZipFile(path) as file:
        assert f'"{name}"'.encode() in file.read("model.json")
        assert all(len(file.read(member)) < 400 for member in file.namelist()[1:])
    with pytest.raises(errors.InvalidFile, match=rf"program '{name}'.*Pass .*story="):
        bg.load(path)
    with pytest.raises(
        errors.InvalidFile, match=rf"'{name}' without its code, and story= is 'user_programs:no_la"
    ):
        bg.load(path, story=user_programs.no_label)


SCRIPT = {"__spec__": None, "__file__": "/there/fits_crabs.py"}
MODULE = {"__spec__": types.SimpleNamespace(name="crabs.fit"), "__file__": "/there/crabs/fit.py"}


@pytest.mark.parametrize(
    ("main", "module"), [(SCRIPT, "fits_crabs"), (MODULE, "crabs.fit"), ({}, "__main__")]
)
def test_a_program_of_a_script_is_named_as_one_imports_it(main, module, monkeypatch):
    def program(x, y=None, *, n_classes):
        raise NotImplementedError

    program.__module__, program.__qualname__ = "__main__", "program"
    monkeypatch.setitem(sys.modules, "__main__", types.SimpleNamespace(**main))
    assert import_path(program) == f"{module}:program"


def test_a_program_without_an_import_path_is_not_saved(tmp_path):
    clf, path = flowers(), tmp_path / "model.bgm"
    clf.get_params = lambda deep: {"story": lambda x: x}
    clf.__getstate__ = dict
    with pytest.raises(errors.InvalidFile, match=r"has no import path, .* Define it by def, at"):
        clf.save(path)
    flowers().save(path)
    with pytest.raises(errors.InvalidFile, match=r"is not a program of your own. Leave"):
        bg.load(path, story=user_programs.bells)


def test_a_file_holds_one_program_at_most(tmp_path):
    one, other, none = (
        bg.GenerativeClassifier(story=story) for story in (user_programs.bells, keyed, None)
    )
    clf = flowers(unseen=[one, none, bg.LDA()])
    clf.save(path := tmp_path / "model.bgm")
    assert repr(bg.load(path, story=user_programs.bells).unseen) == repr(clf.unseen)
    with pytest.raises(
        errors.InvalidFile,
        match=r"read back .*program 'user_programs:bells' without its code, and story= is '.*keyed",
    ):
        flowers(unseen=[one, other]).save(path)
