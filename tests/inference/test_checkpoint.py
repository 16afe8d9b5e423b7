"""Sampling that is stopped goes on where it was, and says so where it cannot."""

import dataclasses
import errno
import json
import os
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from forged import forged, members, npy, rewritten, with_value
from interrupted import classifier, draws, rows

import bayesgen as bg
from bayesgen.errors import InvalidFile, NotConverged
from bayesgen.inference import checkpoint, nuts
from bayesgen.inference.nuts import CompiledNUTS
from bayesgen.persist import container

pytestmark = pytest.mark.filterwarnings("ignore::bayesgen.errors.NotConverged")
X, Y = rows()


def same(found, wanted):
    assert set(found) == set(wanted)
    for name, value in wanted.items():
        np.testing.assert_array_equal(found[name], value)


@pytest.fixture(scope="module")
def apart(tmp_path_factory):
    """Return a function that fits in a process of its own; they share what is compiled."""
    folder = tmp_path_factory.mktemp("compiled")
    compiled = {"JAX_COMPILATION_CACHE_DIR": str(folder)}
    compiled["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"
    script = str(Path(__file__).with_name("interrupted.py"))

    def run(path, how):
        command = [sys.executable, script, str(path), how]
        return subprocess.run(
            command, env=os.environ | compiled, capture_output=True, check=False, text=True
        )

    return run


@pytest.fixture(scope="module")
def whole():
    """Return the draws of a fit that nothing stopped."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConverged)
        return draws(classifier().fit(X, Y))


@pytest.fixture
def path(tmp_path):
    """Return a path without a suffix: it is taken as it is."""
    return str(tmp_path / "run")


def stop_after(monkeypatch, steps):
    """Let Ctrl-C come after so many looks at the keyboard, and then no more."""
    taken, left = CompiledNUTS.taken, iter([*[False] * steps, True])

    def stopped(self, *arguments, **options):
        if (arguments[2] or not steps) and next(left, False):
            raise KeyboardInterrupt
        return taken(self, *arguments, **options)

    monkeypatch.setattr(CompiledNUTS, "taken", stopped)


# --- stopped and taken up again -----------------------------------------------------------------


@pytest.mark.slow
# written always, or on Ctrl-C alone; 170 steps of warm-up are four pieces
@pytest.mark.parametrize(("steps", "pause"), [(0, 0.0), (4, 0.0), (5, 1e9), (10, 0.0)])
def test_ctrl_c_and_again_is_bitwise_the_whole(monkeypatch, path, whole, steps, pause):
    monkeypatch.setattr(checkpoint, "PAUSE", pause)
    monkeypatch.setattr(checkpoint, "SHARE", np.inf)
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt) as stop:
        stop_after(patched, steps)
        classifier(path).fit(X, Y)
    had = {0: "none", 4: "none", 5: 50, 10: 300}[steps]
    assert f"had {had} of 330 draws of each of 2 chains. '{path}' holds" in stop.value.__notes__[0]
    taken, calls = CompiledNUTS.taken, []
    monkeypatch.setattr(CompiledNUTS, "taken", lambda *a, **k: calls.append(a[3]) or taken(*a, **k))
    same(draws(classifier(path).fit(X, Y)), whole)
    # nothing is sampled twice
    assert len([n for n in calls if n]) == 11 - steps


@pytest.mark.slow
def test_a_finished_run_gives_its_draws_without_sampling(monkeypatch, path, whole):
    first = classifier(path).fit(X, Y)
    monkeypatch.setattr(CompiledNUTS, "taken", lambda *_: pytest.fail("it samples again"))
    again = classifier(path).fit(X, Y)
    same(draws(again), whole)
    same(draws(first), whole)
    # a fit reports its own time, and that of the sampling before it
    seconds = again.report_.seconds
    assert again.report_ == dataclasses.replace(first.report_, seconds=seconds)
    assert os.listdir(Path(path).parent) == ["run"]


def test_without_random_state_the_seed_of_the_file_is_used(path):
    first = classifier(path).set_params(random_state=None).fit(X, Y)
    again = classifier(path).set_params(random_state=None).fit(X, Y)
    same(draws(again), draws(first))
    with pytest.raises(InvalidFile, match=r"seed is .* random_state=None"):
        classifier(path).fit(X, Y)


@pytest.mark.nightly
def test_killed_twenty_times(apart, tmp_path, whole, rng):
    """Each process is killed so long after its first step, and the next takes over from it."""
    path = tmp_path / "run.bgm"
    for how in [*(f"kill:{seconds}" for seconds in rng.uniform(0, 0.4, 20)), "never"]:
        done = apart(path, how)
        assert done.returncode in (0, -9), done.stderr
        if done.returncode == 0:
            same(dict(np.load(f"{path}.npz")), whole)
            assert not list(path.parent.glob(".run.bgm.*"))
            path.unlink()
    assert how == "never" and done.returncode == 0


# --- other runs -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """Return the path of a finished run."""
    path = str(tmp_path_factory.mktemp("kept") / "run.bgm")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConverged)
        classifier(path).fit(X, Y)
    return path


OTHER = [
    ({"draws": 331}, "its draws is 330, and that of this call 331"),
    ({"warmup": 171}, "its warmup is 170, and that of this call 171"),
    ({"chains": 3}, "its chains is 2, and that of this call 3"),
    ({"target_accept": 0.9}, "its target_accept is 0.8, and that of this call 0.9"),
]


@pytest.mark.slow
def test_other_arguments_are_refused_by_name(kept):
    before = Path(kept).read_bytes()
    for changed, words in OTHER:
        with pytest.raises(InvalidFile, match=words):
            classifier(kept, **changed).fit(X, Y)
    assert Path(kept).read_bytes() == before


@pytest.mark.slow
def test_another_seed_data_prior_or_model_is_refused(kept):
    clf = classifier(kept)
    other = X.copy()
    other[3, 1] = 1 - other[3, 1]
    with pytest.raises(InvalidFile, match="seed"):
        classifier(kept).set_params(random_state=8).fit(X, Y)
    with pytest.raises(InvalidFile, match="digest of data and model"):
        clf.fit(other, Y)
    with pytest.raises(InvalidFile, match="digest of data and model"):
        clf.fit(X, Y, sample_weight=np.where(np.arange(40) == 5, 1.001, 1.0))
    with pytest.raises(InvalidFile, match="digest of data and model"):
        classifier(kept).set_params(likelihood=bg.Bernoulli(prob=0.4)).fit(X, Y)
    with pytest.raises(InvalidFile, match="digest of data and model"):
        classifier(kept).set_params(likelihood=bg.Normal()).fit(X, Y)


def test_other_versions_are_refused(kept, monkeypatch):
    monkeypatch.setattr(nuts, "version", lambda name: f"{name} 99")
    with pytest.raises(
        InvalidFile, match=r"its version of jax is .*, and that of this call 'jax 99'"
    ):
        classifier(kept).fit(X, Y)


DAMAGED = {
    "cut": lambda content: content[: len(content) // 2],
    "steps": lambda content: forged(content, with_value("steps", "many")),
    "no state": lambda content: forged(content, with_value("state", 3)),
    "words": lambda content: forged(content, rewritten('"steps"', '"stops"')),
}
"""Others are those of a model's file, which the same functions read."""


@pytest.mark.parametrize("damage", [*DAMAGED, "folder", "model"])
def test_a_damaged_file_is_refused(kept, path, damage):
    if damage == "folder":
        Path(path).mkdir()
    elif damage == "model":
        bg.NaiveBayes().fit(X, Y).save(path)
    else:
        Path(path).write_bytes(DAMAGED[damage](Path(kept).read_bytes()))
    with pytest.raises(InvalidFile, match=r"damaged, or not a checkpoint.*delete the file"):
        classifier(path).fit(X, Y)


def test_arrays_of_other_shapes_are_refused(kept, path):
    content = Path(kept).read_bytes()
    first = next(name for name in members(content) if name.startswith("state/"))
    Path(path).write_bytes(forged(content, arrays={first: npy(np.zeros((7, 7)))}))
    with pytest.raises(InvalidFile, match="its model differs"):
        classifier(path).fit(X, Y)


# --- programs of users ----------------------------------------------------------------------------


def program(x, y=None, *, n_classes, n_features=None, scale=1.0):
    import jax.numpy as jnp
    import numpyro
    import numpyro.distributions as dist

    probs = numpyro.sample("probs", dist.Dirichlet(jnp.ones(n_classes)))
    with numpyro.plate("class", n_classes):
        mean = numpyro.sample("mean", dist.Normal(0.0, scale))
    with numpyro.plate("row", len(x)):
        y = numpyro.sample("y", dist.Categorical(probs), obs=y)
        numpyro.sample("x", dist.Normal(mean[y], 1.0), obs=x[:, 0])


def wider(x, y=None, *, n_classes):
    return program(x, y, n_classes=n_classes, scale=2.0)


@pytest.mark.slow
def test_a_program_goes_on_and_another_is_refused(path, monkeypatch):
    x = np.random.default_rng(0).standard_normal((30, 1)) + Y[:30, None]
    sampler = bg.NUTS(draws=60, warmup=60, chains=2, checkpoint=path)
    reported = bg.GenerativeClassifier(story=program, inference=sampler, random_state=0)
    wanted = draws(reported.fit(x, Y[:30]))
    Path(path).unlink()
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        stop_after(patched, 3)
        reported.fit(x, Y[:30])
    # what was fitted before is as it was
    same(draws(reported), wanted)
    with pytest.raises(InvalidFile, match="its digest of data and model"):
        bg.GenerativeClassifier(story=wider, inference=sampler, random_state=0).fit(x, Y[:30])
    with pytest.raises(InvalidFile, match="digest of data and model"):
        reported.fit(x + 1e-6, Y[:30])
    same(draws(reported.fit(x, Y[:30])), wanted)


# --- Ctrl-C ---------------------------------------------------------------------------------------


def stopped(*_):
    raise KeyboardInterrupt


def test_ctrl_c_leaves_the_estimator_as_it_was(monkeypatch):
    clf = classifier().fit(X, Y)
    before, proba = dict(vars(clf)), clf.predict_proba(X)
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt) as stop:
        stop_after(patched, 6)
        clf.partial_fit(X, Y)
    note = "NUTS had 100 of 330 draws of each of 2 chains. They are lost; NUTS(checkpoint="
    assert stop.value.__notes__[0].startswith(note)
    assert vars(clf) == before
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        # other columns, whose number has been noted by then; before anything is compiled
        patched.setattr(nuts.NUTS, "_begun", stopped)
        clf.fit(np.c_[X, X[:, :1]], Y)
    assert vars(clf) == before
    np.testing.assert_array_equal(clf.predict_proba(X), proba)


def test_a_refused_fit_leaves_the_estimator_as_it_was():
    clf = bg.NaiveBayes().fit(X, Y)
    before = dict(vars(clf))
    with pytest.raises(ValueError, match="class"):
        clf.fit(np.c_[X, X], np.zeros(len(Y)))
    assert vars(clf) == before


@pytest.mark.slow
@pytest.mark.usefixtures("ctrl_c_is_heard")
def test_the_signal_itself(apart, tmp_path):
    done = apart(tmp_path / "run.bgm", "int:0.02")
    assert done.returncode == 0, done.stderr
    if "notes" not in done.stdout:  # a fast machine had all draws before
        pytest.skip("the fit was over before the signal came")
    reported = json.loads(done.stdout)
    assert "of 330 draws of each of 2 chains" in reported["notes"][0]
    assert "classes_" not in reported["attributes"]


def test_the_path_may_be_a_path(tmp_path):
    sampler = bg.NUTS(checkpoint=tmp_path / "run.bgm")
    assert dataclasses.replace(sampler, draws=2).checkpoint == str(tmp_path / "run.bgm")


def test_the_verdict_doubles_the_warm_up_that_was_asked_for():
    apart = np.arange(2.0)[:, None, None] + np.random.default_rng(0).random((2, 20, 1))
    nothing = {"diverging": np.zeros((2, 20), bool), "n_steps": np.ones((2, 20))}
    assert (
        "(draws=1000, warmup=1400)"
        in nuts._report(bg.NUTS(warmup=700), apart, nothing, 1.0).verdict
    )


# --- a disk that takes no file --------------------------------------------------------------------


def full(*_):
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_path_that_takes_no_file_is_refused(path):
    path = str(Path(path).parent / "nowhere" / "run.bgm")
    with pytest.raises(InvalidFile, match="No such file"):
        classifier(path).fit(X, Y)


def test_a_full_disk_stops_the_fit_and_what_was_written_is_resumed(path, whole, monkeypatch):
    monkeypatch.setattr(checkpoint, "PAUSE", 0.0)
    monkeypatch.setattr(checkpoint, "SHARE", np.inf)
    fsync, calls = os.fsync, []

    def once(handle):
        # a file and its folder, after each of two pieces of the warm-up
        calls.append(handle)
        return full() if len(calls) > 4 else fsync(handle)

    with monkeypatch.context() as patched, pytest.raises(InvalidFile, match="No space left"):
        patched.setattr(container.os, "fsync", once)
        classifier(path).fit(X, Y)
    assert checkpoint.read_run(path).steps == 100
    assert os.listdir(Path(path).parent) == ["run"]
    same(draws(classifier(path).fit(X, Y)), whole)


@pytest.mark.nightly
def test_a_file_that_can_grow_no_more(apart, tmp_path):
    """Really, and not by a stand-in."""
    done = apart(tmp_path / "run.bgm", "full:40000")
    assert "InvalidFile" in done.stderr, done.stdout
    # what was written while there was room
    assert 0 < checkpoint.read_run(str(tmp_path / "run.bgm")).steps < 500
    assert os.listdir(tmp_path) == ["run.bgm"]
