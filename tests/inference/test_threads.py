"""Fits in two threads of one process, and a program of the caller's in single precision beside."""

import threading

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest

import bayesgen as bg
from bayesgen import program as model_program
from bayesgen.inference.nuts import compiled

SHORT = {"draws": 60, "warmup": 60, "chains": 2}


def reported(x, y=None, *, n_classes, n_features=None):
    probs = numpyro.sample("probs", dist.Dirichlet(jnp.ones(n_classes)))
    with numpyro.plate("class", n_classes):
        mean = numpyro.sample("mean", dist.Normal(0.0, 9.0))
    with numpyro.plate("row", len(x)):
        y = numpyro.sample("y", dist.Categorical(probs), obs=y)
        numpyro.sample("x", dist.Normal(mean[y], 1.0), obs=x[:, 0])


def fits():
    """Return functions that fit and answer, no two of them with one compiled program."""
    X, y = bg.datasets.load_iris()
    sampler, seed = bg.NUTS(**SHORT), {"random_state": 0}
    return {
        "normals by NUTS": lambda: (
            bg.NaiveBayes(inference=sampler, **seed).fit(X, y).predict_proba(X)
        ),
        "a program": lambda: (
            bg.GenerativeClassifier(story=reported, inference=sampler, **seed)
            .fit(X.to_numpy(), y)
            .predict_proba(X.to_numpy())
        ),
        "exact": lambda: bg.QDA(**seed).fit(X, y).predict_interval(X),
    }


def together(functions):
    """Run functions in threads that start at once; return what they returned or raised."""
    barrier, out = threading.Barrier(len(functions)), {}

    def run(name, function):
        barrier.wait()
        try:
            out[name] = function()
        except BaseException as error:
            out[name] = error

    threads = [threading.Thread(target=run, args=pair) for pair in functions.items()]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return out


def single_precision():
    """Return sums in single precision, compiled again and again beside the fits."""
    sums = []
    for size in range(3, 40):
        x = jnp.linspace(0, 1, size)
        sums.append(jax.jit(lambda x: jnp.sin(x).sum())(x))
    assert all(found.dtype == jnp.float32 for found in sums)
    return np.array(sums)


@pytest.mark.nightly
@pytest.mark.filterwarnings("ignore")
def test_fits_side_by_side_answer_as_they_do_alone():
    # nothing is compiled yet, so that all programs are traced side by side
    compiled.cache_clear()
    jax.clear_caches()
    found = together(fits() | {"float32": single_precision})
    for name, fit in (fits() | {"float32": single_precision}).items():
        assert not isinstance(found[name], BaseException), (name, found[name])
        np.testing.assert_array_equal(found[name], fit())
    assert not jax.config.jax_enable_x64
    assert jnp.ones(2).dtype == np.float32


def test_programs_of_two_threads_meet_without_turns(monkeypatch):
    """The fault that the lock prevents: NumPyro's handlers of two threads stand on one stack.

    The stack is one of this test alone: a handler that the fault leaves there would join the
    programs of whatever test comes next.
    """
    monkeypatch.setattr(numpyro.primitives, "_PYRO_STACK", [])
    seen = {}

    def program(name, first, second):
        with model_program.ONE_PROGRAM, numpyro.handlers.trace() as trace:
            first.set()
            second.wait(0.2)
            numpyro.sample(name, dist.Normal(), rng_key=jax.random.key(0))
        seen[name] = set(trace)

    for turns in (True, False):
        lock = threading.RLock() if turns else _Open()
        monkeypatch.setattr(model_program, "ONE_PROGRAM", lock)
        events = threading.Event(), threading.Event()
        together(
            {
                "a": lambda e=events: program("a", *e),
                "b": lambda e=events: program("b", *e[::-1]),
            }
        )
        assert (seen == {"a": {"a"}, "b": {"b"}}) == turns


class _Open:
    """A lock that lets everybody in."""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return False
