"""Simulation-based calibration (law 11): a true parameter is exchangeable with its posterior draws.

Parameters come from the prior, rows from the parameters, draws from the posterior of the rows. The
rank of the parameter among the draws is then uniform (Talts, Betancourt, Simpson, Vehtari and
Gelman 2018). Ranks are held against it by chi-square in ten bins; with FALSE_ALARM for each
parameter a right sampler fails one run in a thousand, and the seeds are fixed.
"""

import numpy as np
import pytest
from scipy.stats import chisquare

from bayesgen.classes import ClassPrior
from bayesgen.inference import NUTS, Exact
from bayesgen.likelihoods import Bernoulli, Categorical, MultivariateNormal, Normal
from bayesgen.model import ModelStatistics, complete_model, model_statistics

BLOCKS = {
    "own": Normal(mean=1.0, mean_rows=2.0, variance=2.0, variance_rows=5.0),
    "same": Normal(mean=0.0, mean_rows=1.0, variance=1.0, variance_rows=4.0, spread="shared"),
    "quadratic": MultivariateNormal(mean=0.0, scale=1.0, covariance_rows=4.0),
    "linear": MultivariateNormal("shared", mean=0.0, scale=2.0, covariance_rows=3.0),
    "levels": Categorical(probs="uniform", rows=5.0),
    "answers": Bernoulli(prob=0.3, rows=4.0),
}
WIDTH = {"own": 1, "same": 1, "quadratic": 2, "linear": 2, "levels": 1, "answers": 1}
N_ROWS, N_CLASSES, N_LEVELS = 24, 2, {"levels": (3,)}
BINS, FALSE_ALARM = 10, 1e-4


def statistics_of(rows, y) -> ModelStatistics:
    n_levels = {name: N_LEVELS.get(name, ()) for name in BLOCKS}
    ones = np.ones(len(y))
    return model_statistics(BLOCKS, rows, y, ones, n_classes=N_CLASSES, n_levels=n_levels)


NO_ROWS = {n: np.zeros((0, w), int if n == "levels" else float) for n, w in WIDTH.items()}
CLASSES = ClassPrior(np.array([0.4, 0.6]), 6.0)
PRIOR, _, READER = complete_model(CLASSES, BLOCKS, statistics_of(NO_ROWS, np.zeros(0, int)))


def watched(params) -> np.ndarray:
    """Return some parameters of every family, shape (draw, parameter)."""
    columns = [params["class"]["probs"][:, 0], params["levels"]["probs"][:, 1, 2]]
    columns += [params["answers"]["prob"][:, 0, 0]]
    for name in ("own", "same"):
        columns += [params[name]["mean"][:, 1, 0], params[name]["variance"][:, 0, 0]]
    for name in ("quadratic", "linear"):
        factor = params[name]["cholesky"]
        columns += [params[name]["mean"][:, 1, 1], factor[:, 0, 0, 0], factor[:, 0, 1, 0]]
    return np.stack(columns, axis=1)


def ranks(rng, draw_posterior, replicates) -> np.ndarray:
    """Return ranks of true parameters among posterior draws as fractions."""
    out = []
    for _ in range(replicates):
        truth = {name: part.draw(rng, 1) for name, part in PRIOR.blocks.items()}
        truth["class"] = PRIOR.classes.draw(rng, 1)
        y = (rng.random(N_ROWS) > truth["class"]["probs"][0, 0]).astype(int)
        rows = {
            name: part.simulate({k: v[0] for k, v in truth[name].items()}, y, rng)
            for name, part in PRIOR.blocks.items()
        }
        draws = watched(draw_posterior(rng, statistics_of(rows, y)))
        below = (draws < watched(truth)).sum(axis=0)
        # ranks 0 ... n spread over [0, 1)
        out.append((below + rng.random(below.shape)) / (len(draws) + 1))
    return np.array(out)


def p_values(fractions) -> np.ndarray:
    counts = [np.bincount((f * BINS).astype(int), minlength=BINS) for f in fractions.T]
    return np.array([chisquare(c).pvalue for c in counts])


def exact_draws(rng, statistics):
    return Exact().infer(PRIOR, statistics, READER, 0).parameters(rng, 99)


def nuts_draws(rng, statistics):
    sampler = NUTS(draws=400, warmup=300, chains=1, progress=False)
    posterior = sampler.infer(PRIOR, statistics, READER, int(rng.integers(2**31)))
    # every eighth draw: neighbours in a chain are not exchangeable
    return {o: {k: v[0, ::8] for k, v in p.items()} for o, p in posterior.params.items()}


def rows_counted_twice(rng, statistics):
    return exact_draws(rng, statistics + statistics)


def test_exact_ranks_are_uniform(rng):
    assert p_values(ranks(rng, exact_draws, 300)).min() > FALSE_ALARM


def test_planted_fault_is_caught(rng):
    assert (p_values(ranks(rng, rows_counted_twice, 300)) < FALSE_ALARM).mean() > 0.5


@pytest.mark.slow
def test_nuts_ranks_are_uniform(rng):
    assert p_values(ranks(rng, nuts_draws, 150)).min() > FALSE_ALARM
