"""Sampling goes on where its checkpoint cannot be written, and says so once."""

import errno
import json
import os
from pathlib import Path

import numpy as np
import pytest
from checkpoints import apart, same, uninterrupted
from interrupted import classifier, draws, rows

from bayesgen.errors import CheckpointNotWritten
from bayesgen.inference import checkpoint
from bayesgen.sealed import atomic

pytestmark = pytest.mark.filterwarnings("ignore::bayesgen.errors.NotConverged")
X, Y = rows()


@pytest.fixture(scope="module")
def whole():
    return uninterrupted()


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "run.nc")


@pytest.fixture(scope="module", name="apart")
def runs_apart(tmp_path_factory):
    return apart(tmp_path_factory.mktemp("compiled"))


def full(*_):
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("where", ["fsync", "replace", "hdf5", "folder"])
def test_sampling_goes_on_where_nothing_can_be_written(path, whole, monkeypatch, where):
    monkeypatch.setattr(checkpoint, "PAUSE", 0.0)
    monkeypatch.setattr(checkpoint, "SHARE", np.inf)
    if where == "fsync":
        monkeypatch.setattr(atomic.os, "fsync", full)
    elif where == "replace":
        monkeypatch.setattr(Path, "replace", full)
    elif where == "hdf5":
        monkeypatch.setattr(checkpoint, "put", lambda *_: (_ for _ in ()).throw(RuntimeError("no")))
    else:
        path = str(Path(path).parent / "nowhere" / "run.nc")
    with pytest.warns(CheckpointNotWritten) as caught:
        fitted = classifier(path).fit(X, Y)
    assert len([w for w in caught if w.category is CheckpointNotWritten]) == 1
    same(draws(fitted), whole)
    if where != "folder":
        assert os.listdir(Path(path).parent) == []


@pytest.mark.slow
def test_a_file_that_can_grow_no_more(apart, tmp_path, whole):
    """Really, and not by a stand-in: HDF5 would end the process here (see `put`)."""
    done = apart(tmp_path / "run.nc", "full:9000")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["warnings"].count("CheckpointNotWritten") == 1
    same(dict(np.load(tmp_path / "run.nc.npz")), whole)
    # what was written while there was room
    assert 0 < checkpoint.found(str(tmp_path / "run.nc")).steps < 500
    assert sorted(os.listdir(tmp_path)) == ["run.nc", "run.nc.npz"]


def test_a_disk_that_is_free_again_is_used_again(path, monkeypatch):
    monkeypatch.setattr(checkpoint, "PAUSE", 0.0)
    monkeypatch.setattr(checkpoint, "SHARE", np.inf)
    settle, calls = atomic._settle, []

    def once(file):
        calls.append(file)
        return full() if len(calls) == 1 else settle(file)

    monkeypatch.setattr(atomic, "_settle", once)
    with pytest.warns(CheckpointNotWritten, match="No space left"):
        classifier(path).fit(X, Y)
    assert checkpoint.found(path).steps == 500


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write")
def test_read_only_folder(tmp_path, whole):
    tmp_path.chmod(0o500)
    with pytest.warns(CheckpointNotWritten, match="ermission"):
        fitted = classifier(str(tmp_path / "run.nc")).fit(X, Y)
    same(draws(fitted), whole)
