"""Posterior draws of incomplete joint tables, against enumeration and a closed form.

Monte Carlo averages may be 5 standard errors off; some 100 numbers are compared, so a right program
fails with a probability below 1e-4; seeds are fixed.
"""

import dataclasses
import itertools

import numpy as np
import pytest
from arviz_stats.base import array_stats
from incomplete_tables import CELLS, CODES, LEVELS, K, completed, fitting
from scipy.special import gammaln, softmax

from bayesgen.classes import ClassPrior
from bayesgen.inference import NUTS, incomplete_table
from bayesgen.inference.data_augmentation import augment
from bayesgen.inference.missing import missing_cells
from bayesgen.likelihoods.selection import Selection
from bayesgen.model import Model, ModelStatistics, Reader
from bayesgen.problem import Problem

ERRORS = 5.0


def by_enumeration(x, y, prior):
    """Return posterior mean and sd of every cell: a mixture over all ways to fill the rows."""
    mean, square = np.empty((K, CELLS)), np.empty((K, CELLS))
    for k in range(K):
        options = [np.flatnonzero(f) for f in fitting(x[y == k])]
        ways = np.array(list(itertools.product(*options)))
        counts = (ways[:, :, None] == np.arange(CELLS)).sum(axis=1)
        after = counts + prior.rows[k] * prior.probs[k]
        share = softmax(gammaln(after).sum(axis=1))
        total = after.sum(axis=1, keepdims=True)
        mean[k] = share @ (after / total)
        square[k] = share @ (after * (after + 1) / (total * (total + 1)))
    return mean, np.sqrt(square - mean**2)


def few_rows(rng):
    x, y = CODES[rng.integers(CELLS, size=20)], np.arange(20) % K
    x[:6, 0], x[6:11, 1], x[11] = -1, -1, -1
    return x, y


def deviates(draws, mean):
    """Return how many Monte Carlo errors the averages of draws (chain, draw, ...) are off."""
    flat = draws.reshape(*draws.shape[:2], -1)
    size = array_stats.ess(flat, chain_axis=0, draw_axis=1, method="mean")
    error = flat.std(axis=(0, 1)) / np.sqrt(size)
    return np.abs(flat.mean(axis=(0, 1)) - mean.ravel()) / error


def off_the_enumeration(rng):
    x, y = few_rows(rng)
    prior, statistics = completed(x, y, np.ones(len(y)))
    params, report = augment(missing_cells(prior, statistics), rng, draws=1500, warmup=50, chains=4)
    mean, sd = by_enumeration(x, y, prior)
    probs = params["probs"]
    assert probs.shape == (4, 1500, K, CELLS)
    squares = (probs - mean) ** 2
    return max(deviates(probs, mean).max(), deviates(squares, sd**2).max()), report


def test_augmentation_averages_over_all_ways_to_fill_the_missing_values(rng):
    worst, report = off_the_enumeration(rng)
    assert worst < ERRORS
    assert report["r_hat"] < 1.01
    assert report["ess"] > 1000


def grouped(rng, weight):
    """Return posterior draws of rows that show the first column only, and the exact mean.

    The shares of the groups are then Dirichlet, and so are the cells within each, apart from them:
    also for weights that are no integers (Ng, Tian and Tang 2011, chapter 3).
    """
    x = np.concatenate([CODES, CODES[[0, 0, 2]], np.array([[0, -1], [1, -1], [0, -1]])])
    y = np.zeros(len(x), dtype=int)
    prior, statistics = completed(x, y, weight)
    params, _ = augment(missing_cells(prior, statistics), rng, draws=3000, warmup=50, chains=4)
    whole = prior.concentration()[0] + weight[:9] @ (fitting(x[:9]) * 1.0)
    groups = whole.reshape(LEVELS)
    shown = np.array([weight[9] + weight[11], weight[10]])
    share = (groups.sum(axis=1) + shown) / (whole.sum() + shown.sum())
    mean = share[:, None] * groups / groups.sum(axis=1, keepdims=True)
    return params["probs"][:, :, 0], mean.ravel()


@pytest.mark.parametrize("size", [1.0, 0.13, 3.7])
def test_weights_of_any_size_give_the_closed_form(rng, size):
    weight = size * rng.uniform(0.2, 2.0, 12)
    assert deviates(*grouped(rng, weight)).max() < ERRORS


def spreads_evenly(right):
    return lambda logs, gap, rng: right(np.zeros_like(logs), gap, rng)


def keeps_the_first_filling(right):
    fills = {}
    return lambda logs, gap, rng: fills.setdefault(id(gap), right(logs, gap, rng))


@pytest.mark.parametrize("fault", [spreads_evenly, keeps_the_first_filling])
def test_wrong_filling_is_found(rng, monkeypatch, fault):
    monkeypatch.setattr(incomplete_table, "_spread", fault(incomplete_table._spread))
    assert off_the_enumeration(rng)[0] > ERRORS


def test_rounding_weights_up_is_found(rng, monkeypatch):
    right = incomplete_table._gaps

    def rounded(statistics):
        gaps = right(statistics)
        return [dataclasses.replace(gap, uneven=np.zeros_like(gap.uneven)) for gap in gaps]

    monkeypatch.setattr(incomplete_table, "_gaps", rounded)
    weight = np.r_[np.ones(9), 5.3, 0.1, 0.1]
    assert deviates(*grouped(rng, weight)).max() > ERRORS


@pytest.mark.slow
def test_nuts_averages_over_all_ways_to_fill_the_missing_values(rng):
    x, y = few_rows(rng)
    prior, statistics = completed(x, y, np.ones(len(y)))
    model = Model(ClassPrior(np.array([0.4, 0.6]), 5.0), {"t": prior})
    rows = ModelStatistics(np.bincount(y).astype(float), {"t": statistics})
    problem = Problem(model, rows, Reader({"t": Selection()}))
    fit = NUTS(progress=False).infer(problem, 0)
    assert fit.report.converged
    mean, sd = by_enumeration(x, y, prior)
    probs = fit.params["t"]["probs"]
    assert deviates(probs, mean).max() < ERRORS
    assert deviates((probs - mean) ** 2, sd**2).max() < ERRORS
