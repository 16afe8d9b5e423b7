"""Class probabilities, exact and from 1,000 draws, against scikit-learn and vmap over log_prob.

Exact: one predict_proba call, table reading and checks included, against one of scikit-learn's QDA.
Draws: the same 1,000 draws, averaged over joint densities by a jitted jax.vmap over numpyro's
log_prob in float64, both sides in seconds a row. The vmap's memory grows with rows times draws: at
200 rows it already is its slow self, at 10 rows it stays in cache, which a loop of one's own could
arrange. Peak memory is taken in a process of its own that never loads JAX.
"""

import pickle
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from measure import Options, Result, assert_close, compared, in_turn, main, ratio
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
from tables import normal_rows

import bayesgen as bg

N_CLASSES, N_FEATURES = 5, 20


def measure(options: Options) -> list[Result]:
    """Return what exact prediction costs, what draws gain, and the memory of draws."""
    return [*exact(options), *draws(options)]


def exact(options: Options) -> list[Result]:
    """Return the cost of exact predictions in calls of scikit-learn's QDA."""
    n = options.size(100_000, 2_000)
    X, y = normal_rows(n, N_FEATURES, N_CLASSES)
    peer = QuadraticDiscriminantAnalysis().fit(X, y)
    results = []
    for name, ours in (("naive Bayes", bg.NaiveBayes()), ("QDA", bg.QDA())):
        ours.fit(X, y)
        work = f"exact predict_proba {n:,} x {N_FEATURES}, {name}: calls of scikit-learn's QDA"
        calls = partial(ours.predict_proba, X), partial(peer.predict_proba, X)
        results.append(
            compared(work, "<= 1.2", ratio(in_turn(*calls, options.repeats), faster=False))
        )
    return results


def draws(options: Options) -> list[Result]:
    """Return how many times as fast as a vmap draws are predicted, and their memory."""
    n_draws, n = options.size(1000, 400), options.size(20_000, 200)
    memory_rows = options.size(100_000, 1_000)
    X, y = normal_rows(5_000, N_FEATURES, N_CLASSES)
    rows, _ = normal_rows(n, N_FEATURES, N_CLASSES, seed=1)
    results = []
    for name, model in (("naive Bayes", bg.NaiveBayes), ("QDA", bg.QDA)):
        # on complete rows these are independent draws of the exact posterior
        sampler = bg.Augmentation(draws=n_draws // 4, chains=4)
        ours = model(inference=sampler, random_state=0).fit(X, y)
        memory = peak_megabytes(ours, memory_rows)
        title = f"{n_draws:,} draws, predict_proba, {name}"
        for n_theirs, goal in ((200, ">= 20"), (10, None)):
            work = f"{title}: times as fast as vmap over log_prob, {n_theirs} rows"
            some = rows[:n_theirs]
            theirs = naive(ours.posterior_.params, some)
            assert_close(ours.predict_proba(some), theirs(), 1e-8, work)
            pairs = in_turn(partial(ours.predict_proba, rows), theirs, min(options.repeats, 3))
            found = ratio(pairs / (n, n_theirs), faster=True)
            results.append(compared(work, goal, found, "seconds are a row's"))
        work = f"{title}: memory over the data, {memory_rows:,} rows"
        results.append(Result(work, "<= 500", memory, "MB"))
    return results


def naive(params: dict, rows: np.ndarray) -> Callable[[], np.ndarray]:
    """Return a jitted vmap over draws of numpyro's log_prob, joints averaged, then normalised."""
    import jax
    import jax.numpy as jnp
    import numpyro.distributions as dist
    from jax.scipy.special import logsumexp

    normal = params["normal"]
    joint = "cholesky" in normal
    flat = {k: v.reshape(-1, *v.shape[2:]) for k, v in (normal | params["class"]).items()}

    def log_joint(draw: dict, x: object) -> object:
        if joint:
            density = dist.MultivariateNormal(draw["mean"], scale_tril=draw["cholesky"])
        else:
            density = dist.Normal(draw["mean"], jnp.sqrt(draw["variance"])).to_event(1)
        return density.log_prob(x[:, None]) + jnp.log(draw["probs"])

    @jax.jit
    def proba(flat: dict, x: object) -> object:
        total = logsumexp(jax.vmap(log_joint, in_axes=(0, None))(flat, x), axis=0)
        return jnp.exp(total - logsumexp(total, axis=1, keepdims=True))

    with jax.enable_x64(True):
        arguments = jax.tree.map(jnp.asarray, (flat, rows))

    def call() -> np.ndarray:
        with jax.enable_x64(True):
            return jax.device_get(proba(*arguments))

    return call


def peak_megabytes(fitted: object, n_rows: int) -> float:
    """Return how much a prediction adds to the memory of a fresh process, in MB."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "classifier.pickle"
        path.write_bytes(pickle.dumps(fitted))
        script = Path(__file__).with_name("peak_memory.py")
        command = [sys.executable, str(script), str(path), str(n_rows)]
        run = subprocess.run(command, check=True, capture_output=True, text=True)
    return float(run.stdout)


if __name__ == "__main__":
    main(__file__, __doc__, measure)
