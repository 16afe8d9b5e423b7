"""Labeled tables and populations with other class frequencies, and references for estimates."""

import numpy as np
import pandas as pd
from scipy import stats

import bayesgen as bg

CLASSES = np.array(["a", "b", "c"])


def table(n, seed=0, frequencies=(1 / 3, 1 / 3, 1 / 3), classes=CLASSES):
    """Return a table of two numbers and a level with missing cells, and labels."""
    rng = np.random.default_rng(seed)
    codes = rng.choice(len(classes), n, p=frequencies)
    codes[: len(classes)] = np.arange(len(classes))
    X = rng.normal(1.5 * codes[:, None] * np.array([1.0, 0.4]), 1.0)
    level = np.array(["u", "v", "w"])[(codes + rng.integers(0, 2, n)) % 3].astype(object)
    frame = pd.DataFrame({"x": X[:, 0], "z": X[:, 1], "level": level})
    for name in frame:
        frame.loc[rng.random(n) < 0.1, name] = None
    return frame, classes[codes]


def normal_pair(n=20, seed=3):
    """Return one column of two overlapping normal classes, and labels 0 and 1."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    return rng.normal(1.2 * y, 1.0)[:, None], y


PRIOR = {"mean": 0.5, "mean_rows": 1.0, "variance": 1.0, "variance_rows": 4.0}


def naive(**options):
    return bg.NaiveBayes(bg.Normal(**PRIOR), random_state=0, **options)


def cut_by_quadrature(X, y, x_new, alpha, draws=4000, seed=7, cells=200):
    """Return mean and quantiles (.05, .95) of pi_1 under the cut posterior, by a grid of pi.

    Parameters are drawn from Normal-inverse-chi-squared posteriors written out here (Gelman et al.,
    Bayesian Data Analysis, section 3.3).
    """
    rng, grid = np.random.default_rng(seed), (np.arange(cells) + 0.5) / cells
    logs = np.empty((draws, 2, len(x_new)))
    for k in (0, 1):
        x, n = X[y == k, 0], (y == k).sum()
        rows, degrees = PRIOR["mean_rows"] + n, PRIOR["variance_rows"] + n
        mean = (PRIOR["mean_rows"] * PRIOR["mean"] + x.sum()) / rows
        squares = PRIOR["variance_rows"] * PRIOR["variance"] + ((x - x.mean()) ** 2).sum()
        squares += PRIOR["mean_rows"] * n / rows * (x.mean() - PRIOR["mean"]) ** 2
        variance = squares / rng.chisquare(degrees, draws)
        place = mean + np.sqrt(variance / rows) * rng.standard_normal(draws)
        logs[:, k] = stats.norm.logpdf(x_new[:, 0], place[:, None], np.sqrt(variance)[:, None])
    density = np.exp(logs - logs.max(axis=1, keepdims=True))
    total = np.zeros(len(grid))
    for one in density:
        log = stats.beta.logpdf(grid, alpha[1], alpha[0])
        log += np.log(one[0, :, None] * (1 - grid) + one[1, :, None] * grid).sum(axis=0)
        weight = np.exp(log - log.max())
        total += weight / weight.sum() / draws
    # the mass up to the end of a cell
    return total @ grid, *np.interp([0.05, 0.95], total.cumsum(), grid + 0.5 / cells)
