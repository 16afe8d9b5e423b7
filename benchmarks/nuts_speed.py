"""NUTS: what 200,000 rows cost beside 500, and a second fit beside numpyro's own MCMC.

Rows: the seconds of sampling, without reading the table and compiling. Second fit: the whole of
`fit` to new rows of shapes that were fitted before, against `numpyro.infer.MCMC` on the same
program over the same statistics with the same draws, warm-up and (vectorized) chains, in float64.
MCMC runs that program as it stands and compiles it at every run; bayesgen samples it in whitened
coordinates by a compiled driver that it keeps. Both figures count wall-clock time, not effective
draws.
"""

import time
from collections.abc import Callable
from functools import partial

import numpy as np
from measure import Options, compared, main, ratio, seconds
from numpyro_mcmc import numpyro_mcmc
from results import Result
from tables import normal_rows

import bayesgen as bg
from bayesgen.classes import class_prior
from bayesgen.model import model_statistics
from bayesgen.problem import Problem
from bayesgen.program import program

MODELS = (
    ("QDA p=10 K=3", bg.QDA, bg.MultivariateNormal, 10),
    ("naive Bayes p=20 K=3", bg.NaiveBayes, bg.Normal, 20),
)
N_CLASSES = 3


def measure(options: Options) -> list[Result]:
    """Return the cost of rows and the gain over numpyro's MCMC."""
    draws, chains = options.size(1000, 50), options.size(4, 2)
    results = []
    for name, model, likelihood, p in MODELS[1:] if options.quick else MODELS:
        sampler = bg.NUTS(draws=draws, warmup=draws, chains=chains, progress=False)
        classifier = model(inference=sampler, random_state=0)
        results.append(_rows(name, classifier, p, options))
        results.append(_second_fit(name, classifier, likelihood(), p, options))
    return results


def _rows(name: str, classifier: object, p: int, options: Options) -> Result:
    many, few = options.size(200_000, 2_000), 500
    tables = [normal_rows(n, p, N_CLASSES) for n in (many, few)]
    for X, y in tables:
        classifier.fit(X, y)
    pairs, steps = np.empty((options.repeats, 2)), np.empty((options.repeats, 2))
    for i in range(options.repeats):
        for side, (X, y) in enumerate(tables):
            details = classifier.fit(X, y).report_.details
            pairs[i, side], steps[i, side] = details["sampling_seconds"], details["steps"]
    work = f"NUTS {name}: sampling {many:,} rows over {few}"
    return compared(work, "<= 1.1", ratio(pairs, faster=False), _leapfrogs(steps))


def _second_fit(
    name: str, classifier: object, likelihood: object, p: int, options: Options
) -> Result:
    n, sampler = 2_000, classifier.inference
    first = seconds(partial(classifier.fit, *normal_rows(n, p, N_CLASSES, seed=100)))
    pairs, steps = np.empty((options.repeats, 2)), np.empty((options.repeats, 2))
    for i in range(options.repeats):
        X, y = normal_rows(n, p, N_CLASSES, seed=i)
        pairs[i, 0] = seconds(partial(classifier.fit, X, y))
        began = time.perf_counter()
        mcmc = numpyro_mcmc(_story(likelihood, X, y), sampler, seed=i)
        pairs[i, 1] = time.perf_counter() - began
        theirs = np.asarray(mcmc.get_extra_fields()["num_steps"]).sum()
        steps[i] = classifier.report_.details["steps"], theirs
    note = f"{_leapfrogs(steps)}; the fit before took {first:.3g} s"
    work = f"NUTS {name}: second fit, times as fast as numpyro MCMC"
    return compared(work, ">= 8", ratio(pairs, faster=True), note)


def _leapfrogs(steps: np.ndarray) -> str:
    ours, theirs = steps.mean(axis=0)
    return f"leapfrog steps of the kept draws {ours:,.0f} and {theirs:,.0f}"


def _story(likelihood: object, X: np.ndarray, y: np.ndarray) -> Callable:
    blocks, encoded = {"normal": likelihood}, {"normal": X}
    rows = model_statistics(
        blocks, encoded, y, np.ones(len(y)), n_classes=N_CLASSES, n_levels={"normal": ()}
    )
    classes = class_prior(1.0, np.arange(N_CLASSES), rows.count, frequencies=False)
    problem = Problem.of(classes, blocks, rows)
    return program(problem.model, problem.statistics)


if __name__ == "__main__":
    # threads of BLAS play no part: XLA does the work
    main(__file__, __doc__, measure, threads=("default",))
