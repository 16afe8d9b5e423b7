"""Sampling that is stopped goes on where it was, and says so where it cannot."""

import dataclasses
import json
import os
import warnings
from pathlib import Path

import numpy as np
import pytest
from checkpoints import apart, same, uninterrupted
from interrupted import classifier, draws, rows

import bayesgen as bg
from bayesgen.errors import InvalidCheckpoint, NotConverged
from bayesgen.inference import checkpoint, nuts
from bayesgen.inference.compiled_nuts import CompiledNUTS

pytestmark = pytest.mark.filterwarnings("ignore::bayesgen.errors.NotConverged")


@pytest.fixture(scope="module")
def whole():
    return uninterrupted()


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "run.nc")


@pytest.fixture(scope="module", name="apart")
def runs_apart(tmp_path_factory):
    return apart(tmp_path_factory.mktemp("compiled"))


def stop_after(monkeypatch, steps):
    """Let Ctrl-C come after so many looks at the keyboard, and then no more."""
    taken, left = CompiledNUTS.taken, iter([*[False] * steps, True])

    def stopped(self, *arguments, **options):
        if (arguments[2] or not steps) and next(left, False):
            raise KeyboardInterrupt
        return taken(self, *arguments, **options)

    monkeypatch.setattr(CompiledNUTS, "taken", stopped)


# --- stopped and taken up again -----------------------------------------------------------------


@pytest.mark.parametrize("pause", [0.0, 1e9], ids=["written always", "written on Ctrl-C"])
@pytest.mark.parametrize("steps", [0, 2, 4, 5, 10])
def test_ctrl_c_and_again_is_bitwise_the_whole(monkeypatch, path, whole, steps, pause):
    monkeypatch.setattr(checkpoint, "PAUSE", pause)
    monkeypatch.setattr(checkpoint, "SHARE", np.inf)
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt) as stop:
        stop_after(patched, steps)
        classifier(path).fit(*rows())
    # 170 steps of warm-up are four pieces
    had = {0: "none", 2: "none", 4: "none", 5: 50, 10: 300}[steps]
    assert f"had {had} of 330 draws of each of 2 chains. '{path}' holds" in stop.value.__notes__[0]
    taken, calls = CompiledNUTS.taken, []
    monkeypatch.setattr(CompiledNUTS, "taken", lambda *a, **k: calls.append(a[3]) or taken(*a, **k))
    same(draws(classifier(path).fit(*rows())), whole)
    # nothing is sampled twice
    assert len([n for n in calls if n]) == 11 - steps


def test_a_finished_run_gives_its_draws_without_sampling(monkeypatch, path, whole):
    first = classifier(path).fit(*rows())
    monkeypatch.setattr(CompiledNUTS, "taken", lambda *_: pytest.fail("it samples again"))
    again = classifier(path).fit(*rows())
    same(draws(again), whole)
    same(draws(first), whole)
    assert again.report_ == first.report_
    assert os.listdir(Path(path).parent) == ["run.nc"]


def test_without_random_state_the_seed_of_the_file_is_used(path):
    first = classifier(path).set_params(random_state=None).fit(*rows())
    again = classifier(path).set_params(random_state=None).fit(*rows())
    same(draws(again), draws(first))
    with pytest.raises(InvalidCheckpoint, match=r"seed is .* or random_state=None"):
        classifier(path).fit(*rows())


def kills(apart, path, whole, seconds):
    """Kill processes so long after the first step, one taking over from the other; compare."""
    for how in [*(f"kill:{s}" for s in seconds), "never"]:
        done = apart(path, how)
        assert done.returncode in (0, -9), done.stderr
        if done.returncode == 0:
            same(dict(np.load(f"{path}.npz")), whole)
            assert not list(path.parent.glob(".run.nc.*"))
            path.unlink()
    assert how == "never" and done.returncode == 0


@pytest.mark.slow
def test_killed_twenty_times(apart, tmp_path, whole, rng):
    kills(apart, tmp_path / "run.nc", whole, rng.uniform(0, 0.4, 20))


# --- other runs -----------------------------------------------------------------------------------

X, Y = rows()


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """Return the path of a finished run."""
    path = str(tmp_path_factory.mktemp("kept") / "run.nc")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConverged)
        classifier(path).fit(X, Y)
    return path


OTHER = {
    "draws": ({"draws": 331}, "draws is 330 there and 331 here"),
    "warmup": ({"warmup": 171}, "warmup is 170 there and 171 here"),
    "chains": ({"chains": 3}, "chains is 2 there and 3 here"),
    "target": ({"target_accept": 0.9}, "target_accept is 0.8 there and 0.9 here"),
}


@pytest.mark.parametrize("name", OTHER)
def test_other_arguments_are_refused_by_name(kept, name):
    changed, words = OTHER[name]
    before = Path(kept).read_bytes()
    with pytest.raises(InvalidCheckpoint, match=words):
        classifier(kept, **changed).fit(X, Y)
    assert Path(kept).read_bytes() == before


def test_another_seed_data_prior_or_model_is_refused(kept):
    clf = classifier(kept)
    other = X.copy()
    other[3, 1] = 1 - other[3, 1]
    with pytest.raises(InvalidCheckpoint, match="seed"):
        classifier(kept).set_params(random_state=8).fit(X, Y)
    with pytest.raises(InvalidCheckpoint, match="the data"):
        clf.fit(other, Y)
    with pytest.raises(InvalidCheckpoint, match="the data"):
        clf.fit(X, Y, sample_weight=np.where(np.arange(40) == 5, 1.001, 1.0))
    with pytest.raises(InvalidCheckpoint, match="the data"):
        classifier(kept).set_params(likelihood=bg.Bernoulli(prob=0.4)).fit(X, Y)
    with pytest.raises(InvalidCheckpoint, match="the data"):
        classifier(kept).set_params(likelihood=bg.Normal()).fit(X, Y)


def test_other_versions_are_refused(kept, monkeypatch):
    monkeypatch.setattr(nuts, "version", lambda name: f"{name} 99")
    with pytest.raises(
        InvalidCheckpoint, match=r"the version of jax is .* there and 'jax 99' here"
    ):
        classifier(kept).fit(X, Y)


@pytest.mark.parametrize("damage", ["cut", "bit", "text", "empty", "folder", "model"])
def test_a_damaged_file_is_refused(kept, path, damage):
    content = Path(kept).read_bytes()
    if damage == "folder":
        Path(path).mkdir()
    elif damage == "model":
        bg.NaiveBayes().fit(X, Y).save(path)
    else:
        flipped = bytes([content[9000] ^ 1])
        broken = {"cut": content[:9000], "text": b"hello", "empty": b""}
        Path(path).write_bytes(broken.get(damage, content[:9000] + flipped + content[9001:]))
    with pytest.raises(InvalidCheckpoint, match=r"damaged, or no checkpoint.*delete the file"):
        classifier(path).fit(X, Y)


def test_statistics_that_differ_by_rounding_go_on_from_those_in_the_file(path, whole, monkeypatch):
    """Another number of threads adds in another order; the run in the file stays one run."""
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        stop_after(patched, 3)
        classifier(path).fit(X, Y)
    # 1e-13 of every statistic: far below what any cell could change
    off = np.full(len(Y), 1 + 1e-13)
    same(draws(classifier(path).fit(X, Y, sample_weight=off)), whole)


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
    told = bg.GenerativeClassifier(story=program, inference=sampler, random_state=0)
    wanted = draws(told.fit(x, Y[:30]))
    Path(path).unlink()
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        stop_after(patched, 3)
        told.fit(x, Y[:30])
    # what was fitted before is as it was
    same(draws(told), wanted)
    with pytest.raises(InvalidCheckpoint, match="the model there is not that of this call"):
        bg.GenerativeClassifier(story=wider, inference=sampler, random_state=0).fit(x, Y[:30])
    with pytest.raises(InvalidCheckpoint, match="the data"):
        told.fit(x + 1e-6, Y[:30])
    same(draws(told.fit(x, Y[:30])), wanted)


# --- Ctrl-C ---------------------------------------------------------------------------------------


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
        stop_after(patched, 0)
        # other columns: their number has been noted by then
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
def test_the_signal_itself(apart, tmp_path):
    done = apart(tmp_path / "run.nc", "int:0.1")
    assert done.returncode == 0, done.stderr
    if "notes" not in done.stdout:  # a fast machine had all draws before
        pytest.skip("the fit was over before the signal came")
    told = json.loads(done.stdout)
    assert "of 330 draws of each of 2 chains" in told["notes"][0]
    assert "classes_" not in told["attributes"]


def test_the_path_may_be_a_path(tmp_path):
    sampler = bg.NUTS(checkpoint=tmp_path / "run.nc")
    assert dataclasses.replace(sampler, draws=2).checkpoint == str(tmp_path / "run.nc")


def test_the_verdict_doubles_the_warm_up_that_was_asked_for():
    apart = np.arange(2.0)[:, None, None] + np.random.default_rng(0).random((2, 20, 1))
    nothing = {"diverging": np.zeros((2, 20), bool), "n_steps": np.ones((2, 20))}
    assert "(draws=1000, warmup=1400)" in nuts._report({"u": apart}, nothing, 1.0, 700).verdict
