"""A second NUTS fit against PyMC on the row-wise model, effective draws a second.

2,000 rows, three classes; shapes that were fitted before. Ours: the whole of `fit`, by sufficient
statistics. PyMC: the model as one writes it, rows as `pm.Data`, by its own sampler and by nutpie,
one process for each chain where the cores allow. Its default compiles at every call and is timed
whole; nutpie's compiled model is given the new rows, and only its sampling is timed, which is the
best it can do. Effective draws are those of the worst mean or variance. PyMC is no dependency:
where it is not installed, that is said, and nothing else.
"""

import importlib.util
import logging
import time
from collections.abc import Callable
from functools import partial

import numpy as np
from measure import Options, compared, main, ratio, seconds
from results import Result
from tables import normal_rows

import bayesgen as bg

N_CLASSES = 3
MODELS = (("naive Bayes p=20 K=3", 20), ("QDA with LKJ p=10 K=3", 10))
SAMPLERS = ("pymc", "nutpie")
GOALS = {("naive Bayes p=20 K=3", "pymc"): ">= 30", ("naive Bayes p=20 K=3", "nutpie"): ">= 10"}
"""Of other pairs: >= 20."""
TUNE = 1000
"""Warm-up of PyMC's default."""


def measure(options: Options) -> list[Result]:
    """Return effective draws a second in those of PyMC."""
    logging.getLogger("pymc").setLevel(logging.ERROR)
    return [
        against(name, p, sampler, options)
        for name, p in MODELS[: options.size(2, 1)]
        for sampler in SAMPLERS
    ]


def against(name: str, p: int, sampler: str, options: Options) -> Result:
    """Return the ratio of effective draws a second for one model and one sampler."""
    title = {"pymc": "PyMC's default sampler", "nutpie": "PyMC by nutpie"}[sampler]
    work = f"NUTS {name}: effective draws a second, second fit, over {title}"
    goal = GOALS.get((name, sampler), ">= 20")
    if any(importlib.util.find_spec(needed) is None for needed in {"pymc", sampler}):
        return Result(work, goal, None, note="not installed")
    n, draws = options.size(2_000, 100), options.size(1_000, 30)
    ours, theirs = our_fit(p, draws, options), their_fit(p, sampler, draws, n, options)
    repeats = min(options.repeats, 3)
    ours(*normal_rows(n, p, N_CLASSES, seed=100)), theirs(*normal_rows(n, p, N_CLASSES, seed=100))
    pairs, effective = np.empty((repeats, 2)), np.empty((repeats, 2))
    for i in range(repeats):
        rows = normal_rows(n, p, N_CLASSES, seed=i)
        for side, fit in enumerate((ours, theirs)):
            pairs[i, side], effective[i, side] = fit(*rows)
    had, took = np.median(effective, axis=0), np.median(pairs, axis=0)
    note = (
        f"fits of {took[0]:.2g} and {took[1]:.3g} s, {had[0]:,.0f} and {had[1]:,.0f} effective "
        "draws; the seconds are those of one draw"
    )
    return compared(work, goal, ratio(pairs / effective, faster=True), note)


Fit = Callable[[np.ndarray, np.ndarray], tuple[float, float]]


def our_fit(p: int, draws: int, options: Options) -> Fit:
    """Return (X, y) -> seconds and effective draws of our fit."""
    sampler = bg.NUTS(draws=draws, warmup=options.size(1_000, 60), progress=False)
    model = bg.QDA(prior="lkj") if p == 10 else bg.NaiveBayes()
    classifier = model.set_params(inference=sampler, random_state=0)

    def fit(X: np.ndarray, y: np.ndarray) -> tuple[float, float]:
        took = seconds(partial(classifier.fit, X, y))
        params = classifier.posterior_.components.params["normal"]
        factor = params.get("cholesky")
        variance = params["variance"] if factor is None else (factor**2).sum(axis=-1)
        return took, worst(params["mean"], variance)

    return fit


def their_fit(p: int, sampler: str, draws: int, n: int, options: Options) -> Fit:
    """Return (X, y) -> seconds and effective draws of PyMC's fit."""
    import pymc as pm

    story = pymc_story(p, n)
    settings = {"draws": draws, "tune": options.size(TUNE, 60), "chains": 4}
    if sampler == "nutpie":
        import nutpie

        compiled = nutpie.compile_pymc_model(story)

    def fit(X: np.ndarray, y: np.ndarray) -> tuple[float, float]:
        if sampler == "nutpie":
            given = compiled.with_data(x=X, y=y)
            run = partial(nutpie.sample, given, seed=0, progress_bar=False, **settings)
        else:
            story.set_data("x", X)
            story.set_data("y", y)
            quiet = {"progressbar": False, "compute_convergence_checks": False}
            whole = settings | quiet | {"nuts_sampler": "pymc", "model": story}
            run = partial(pm.sample, random_seed=0, **whole)
        began = time.perf_counter()
        posterior = run().posterior
        took = time.perf_counter() - began
        return took, worst(posterior["mean"].to_numpy(), posterior["variance"].to_numpy())

    return fit


def pymc_story(p: int, n: int) -> object:
    """Return the row-wise model: shares, means and variances or covariances of three classes."""
    import pymc as pm
    import pytensor.tensor as pt

    X, y = normal_rows(n, p, N_CLASSES)
    with pm.Model() as model:
        x, label = pm.Data("x", X), pm.Data("y", y)
        probs = pm.Dirichlet("probs", np.ones(N_CLASSES))
        pm.Categorical("label", probs, observed=label)
        if p == 20:
            variance = pm.InverseGamma("variance", 4, 4, shape=(N_CLASSES, p))
            mean = pm.Normal("mean", 0, pt.sqrt(variance), shape=(N_CLASSES, p))
            pm.Normal("row", mean[label], pt.sqrt(variance[label]), observed=x)
            return model
        means, variances = [], []
        for k in range(N_CLASSES):
            factor, _, deviation = pm.LKJCholeskyCov(
                f"factor{k}", n=p, eta=1, sd_dist=pm.HalfNormal.dist(np.sqrt(np.pi / 2), shape=p)
            )
            means.append(pm.MvNormal(f"mean{k}", np.zeros(p), chol=factor))
            variances.append(deviation**2)
            pm.MvNormal(f"rows{k}", means[k], chol=factor, observed=x[pt.eq(label, k).nonzero()])
        pm.Deterministic("mean", pt.stack(means))
        pm.Deterministic("variance", pt.stack(variances))
    return model


def worst(*parameters: np.ndarray) -> float:
    """Return the effective draws of the worst entry; axes (chain, draw, ...)."""
    from numpyro.diagnostics import effective_sample_size

    return min(float(np.min(effective_sample_size(np.asarray(part)))) for part in parameters)


if __name__ == "__main__":
    # chains spread over cores by themselves
    main(__file__, __doc__, measure, threads=("default",))
