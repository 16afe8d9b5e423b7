"""Draws: how many a second a closed form gives, and what class probabilities from 1,000 cost.

The draws are averaged over joint densities. Beside them: the bare matrix product of the same shape
(features of rows times parameters of all draws and classes), in blocks of as many rows, and a
jitted jax.vmap over numpyro's log_prob in float64, both sides in seconds a row. The vmap's memory
grows with rows times draws: at 200 rows it already is its slow self, at 10 rows it stays in cache,
which a loop of one's own could arrange. Peak memory is taken in a process of its own that never
loads JAX.
"""

import pickle
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from measure import Options, assert_close, compared, in_turn, main, ratio, seconds
from results import Result
from tables import normal_rows

import bayesgen as bg
from bayesgen.inference.components import DENSITY_FLOATS

N_CLASSES, N_FEATURES = 5, 20
GOALS = {"QDA": ">= .8", "naive Bayes": ">= .6"}
"""Shares of the rate of the bare product."""


def measure(options: Options) -> list[Result]:
    """Return draws a second, what prediction from draws costs and gains, memory, and intervals."""
    results = [drawing(options)]
    for name, model in (("naive Bayes", bg.NaiveBayes), ("LDA", bg.LDA), ("QDA", bg.QDA)):
        results += intervals(name, model, options)
    for name, model in (("QDA", bg.QDA), ("naive Bayes", bg.NaiveBayes)):
        results += predicting(name, model, options)
    return results


def drawing(options: Options) -> Result:
    """Return how many independent draws of all parameters a second QDA's posterior gives."""
    p, k, n = 10, 3, options.size(20_000, 200)
    X, y = normal_rows(1_000, p, k)
    fitted = bg.QDA().fit(X, y).posterior_
    draw = partial(fitted.parameters, np.random.default_rng(0), n)
    draw()
    rates = [n / seconds(draw) for _ in range(options.repeats)]
    work = f"exact posterior draws a second, QDA p={p} K={k}"
    return Result(work, ">= 100000", float(np.median(rates)), "a second", min(rates), max(rates))


def predicting(name: str, model: type, options: Options) -> list[Result]:
    """Return the cost of draws beside a matrix product and a vmap, and their memory."""
    n_draws, n = options.size(1000, 400), options.size(20_000, 200)
    X, y = normal_rows(5_000, N_FEATURES, N_CLASSES)
    rows, _ = normal_rows(n, N_FEATURES, N_CLASSES, seed=1)
    # on complete rows these are independent draws of the exact posterior
    sampler = bg.Augmentation(draws=n_draws // 4, chains=4)
    ours = model(inference=sampler, random_state=0).fit(X, y)
    memory_rows = options.size(100_000, 1_000)
    memory = highest_megabytes(ours, memory_rows)
    title = f"{n_draws:,} draws, predict_proba, {name} p={N_FEATURES} K={N_CLASSES}"
    call = partial(ours.predict_proba, rows)
    product, width = gemm(ours, rows)
    least, _ = gemm(ours, rows, summed=True)
    share = ratio(in_turn(call, product, options.repeats), faster=True)
    most = ratio(in_turn(least, product, options.repeats), faster=True)
    note = f"the product is {n:,} x {width} by {width} x {n_draws * N_CLASSES:,}"
    work = f"{title}: share of the bare matrix product's rate"
    results = [
        compared(work, GOALS[name], share, note),
        compared(f"{work}, by product, exponentials and sums alone", None, most),
    ]
    for n_theirs, goal in ((200, ">= 20"), (10, None)):
        work = f"{title}: times as fast as vmap over log_prob, {n_theirs} rows"
        some = rows[:n_theirs]
        theirs = naive(ours.posterior_.components.params, some)
        assert_close(ours.predict_proba(some), theirs(), 1e-8, work)
        pairs = in_turn(call, theirs, min(options.repeats, 3))
        found = ratio(pairs / (n, n_theirs), faster=True)
        results.append(compared(work, goal, found, "seconds are a row's"))
    work = f"{title}: memory over the data, {memory_rows:,} rows"
    return [*results, Result(work, "<= 200", memory, "MB")]


def intervals(name: str, model: type, options: Options) -> list[Result]:
    """Return what intervals of the closed form cost beside predictions from as many draws."""
    n_draws, n, n_classes = options.size(1000, 400), options.size(100_000, 200), 3
    X, y = normal_rows(5_000, N_FEATURES, n_classes)
    rows, _ = normal_rows(n, N_FEATURES, n_classes, seed=1)
    sampler = bg.Augmentation(draws=n_draws // 4, chains=4)
    drawn = model(inference=sampler, random_state=0).fit(X, y)
    closed = model(inference=bg.Exact(draws=n_draws), random_state=0).fit(X, y)
    calls = partial(closed.predict_interval, rows), partial(drawn.predict_proba, rows)
    found = ratio(in_turn(*calls, min(options.repeats, 3)), faster=False)
    work = f"{n_draws:,} draws, predict_interval, {name} p={N_FEATURES} K={n_classes}, {n:,} rows"
    goal = "<= 40" if model is bg.NaiveBayes else None
    return [
        compared(f"{work}: over predict_proba", "<= 1.5", found),
        Result(f"{work}: a row", goal, float(found.ours) / n * 1e6, "microseconds"),
    ]


def gemm(
    fitted: object, rows: np.ndarray, *, summed: bool = False
) -> tuple[Callable[[], None], int]:
    """Return the bare product of rows' features with all draws' parameters, and its width.

    That of naive Bayes has a constant for every column; predictions add them up beforehand.

    summed: whether densities are added up over the draws: the least that any mean needs.
    """
    family = fitted.posterior_.families["normal"]
    weights = family.natural(fitted.posterior_.components.params["normal"])
    # draws side by side, as in predictions
    weights = np.moveaxis(weights.reshape(-1, *weights.shape[-2:]), 0, 1)
    weights = np.ascontiguousarray(weights.reshape(-1, weights.shape[-1]).T)
    features = family.features(rows)
    size = DENSITY_FLOATS // weights.shape[1]
    out = np.empty((size, weights.shape[1]))

    def call() -> None:
        for start in range(0, len(rows), size):
            block = features[start : start + size]
            found = np.matmul(block, weights, out=out[: len(block)])
            if summed:
                np.exp(found, out=found)
                found.reshape(len(block), N_CLASSES, -1).sum(axis=-1)

    return call, len(weights)


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


def highest_megabytes(fitted: object, n_rows: int) -> float:
    """Return how much a prediction adds to the memory of a fresh process, in MB."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "classifier.pickle"
        path.write_bytes(pickle.dumps(fitted))
        script = Path(__file__).with_name("memory.py")
        command = [sys.executable, str(script), str(path), str(n_rows)]
        run = subprocess.run(command, check=True, capture_output=True, text=True)
    return float(run.stdout)


if __name__ == "__main__":
    main(__file__, __doc__, measure)
