"""Groups of rows: log loss beside one model of all rows and one of each group, and new groups.

Simulated sites of two classes with independent normal columns of unit variance, in which the class
means are a unit apart. The means of every class differ between sites by a normal spread. Known
sites: mean log loss of 200 new rows a site, with the standard error over tables of the difference
from the better of the two. New sites: log loss beside that of one model, and how often intervals of
90 % hold the true P(y given x), in all rows and in those where it is between .1 and .9, with the
standard error over tables. Beside ours stand intervals of an oracle, which knows the center of the
class means, their spread between sites, the variance and the prevalence: it is right in nine of ten
rows, and more often where the truth is between .1 and .9, because rows picked by the truth are
rarely those it misses.

    python benchmarks/groups.py [--tables 40] [--rows 20] [--sites 8] [--columns 3] [--moved 3]

--moved: the number of columns whose means differ between sites, all by default.
"""

import argparse
import warnings
from typing import NamedTuple

import numpy as np
import pandas as pd

import bayesgen as bg

SPREADS = (0.0, 0.5, 1.0, 2.0)
"""Standard deviations of the class means between sites."""
NEW_SITES, NEW_ROWS = 5, 200
CENTERS = np.array([[-0.5], [0.5]])
"""Of the means of each class over sites, the same in every column."""
DRAWS = 1000
"""Draws of the parameters of a new site behind an interval of the oracle."""


class Table(NamedTuple):
    """Rows of sites. probs: the true P(y = 1 given x). site is a column of X."""

    X: pd.DataFrame
    y: np.ndarray
    probs: np.ndarray

    @property
    def cells(self) -> pd.DataFrame:
        """The rows without their site."""
        return self.X.drop(columns="site")


def simulated(mean: np.ndarray, rows: int, rng: np.random.Generator) -> Table:
    """Return rows of every site; mean: of each site, class and column."""
    site = np.repeat(np.arange(len(mean)), rows)
    y = rng.integers(0, 2, len(site))
    y[::rows], y[1::rows] = 0, 1  # both classes in every site
    x = mean[site, y] + rng.standard_normal((len(site), mean.shape[2]))
    logs = -0.5 * ((x[:, None] - mean[site]) ** 2).sum(axis=2)
    probs = 1 / (1 + np.exp(logs[:, 0] - logs[:, 1]))
    frame = pd.DataFrame(x, columns=[f"x{j}" for j in range(x.shape[1])])
    return Table(frame.assign(site=[f"site {g}" for g in site]), y, probs)


def losses(proba: np.ndarray, y: np.ndarray) -> float:
    """Return the mean log loss."""
    return float(-np.log(np.maximum(proba[np.arange(len(y)), y], 1e-15)).mean())


def apart(fitted: Table, new: Table) -> np.ndarray:
    """Return the probabilities of new rows, each by a classifier of its own site."""
    out = np.empty((len(new.y), 2))
    for site in fitted.X.site.unique():
        rows, asked = (table.X.site == site for table in (fitted, new))
        clf = bg.NaiveBayes().fit(fitted.cells[rows], fitted.y[rows])
        out[asked] = clf.predict_proba(new.cells[asked])
    return out


def intervals_of_oracle(
    x: np.ndarray, spread: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Return the ends of 90 % intervals of P(y = 1 given x) in a new site, hyperparameters known.

    spread: of the class means between sites, by column. The means of the row's own class, which is
    drawn from P(y given x), are updated by the row, as in `Classifier.predict_interval`.
    """
    shape = len(x), DRAWS, len(CENTERS), x.shape[1]
    x, total = x[:, None, None], 1 + spread**2
    logs = -0.5 * ((x - CENTERS) ** 2 / total).sum(axis=3)[:, 0]
    own = rng.random(shape[:2]) < 1 / (1 + np.exp(logs[:, :1] - logs[:, 1:]))
    noise = spread * rng.standard_normal(shape)
    updated = CENTERS + spread**2 / total * (x - CENTERS) + noise / np.sqrt(total)
    mine = np.stack([~own, own], axis=2)[..., None]
    logs = -0.5 * ((x - np.where(mine, updated, CENTERS + noise)) ** 2).sum(axis=3)
    low, high = np.quantile(1 / (1 + np.exp(logs[..., 0] - logs[..., 1])), [0.05, 0.95], axis=1)
    return low, high


def share(inside: np.ndarray, asked: np.ndarray) -> str:
    """Return the share of the rows asked that are inside, and its standard error over tables.

    inside, asked: (table, row).
    """
    hits, rows = (inside & asked).sum(axis=1), asked.sum(axis=1)
    mean = hits.sum() / rows.sum()
    error = np.sqrt(((hits - mean * rows) ** 2).sum()) / rows.sum()
    return f"{mean:.3f} ({error:.3f})"


def main() -> None:
    """Print a line for each spread between sites."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--tables", type=int, default=40)
    parser.add_argument("--rows", type=int, default=20)
    parser.add_argument("--sites", type=int, default=8)
    parser.add_argument("--columns", type=int, default=3)
    parser.add_argument("--moved", type=int)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print(
        f"{options.sites} sites, {options.rows} rows each, {options.columns} columns, mean of "
        f"{options.tables} tables\nspread  groups  pooled  apart   excess        "
        "new site: groups  pooled  excess        coverage       of .1 to .9    "
        "oracle         of .1 to .9"
    )
    moved = options.columns if options.moved is None else options.moved
    for spread in SPREADS:
        known, strange, covered, middle, oracle = [], [], [], [], []
        of_column = spread * (np.arange(options.columns) < moved)
        for seed in range(options.tables):
            rng = np.random.default_rng(seed)
            shape = options.sites + NEW_SITES, 2, options.columns
            mean = CENTERS + of_column * rng.standard_normal(shape)
            fitted = simulated(mean[: options.sites], options.rows, rng)
            rows = simulated(mean[: options.sites], NEW_ROWS, rng)
            new = simulated(mean[options.sites :], NEW_ROWS, rng)
            groups = bg.NaiveBayes(groups="site", random_state=0).fit(fitted.X, fitted.y)
            pooled = bg.NaiveBayes().fit(fitted.cells, fitted.y)
            answers = groups.predict_proba(rows.X), pooled.predict_proba(rows.cells)
            known.append([losses(p, rows.y) for p in (*answers, apart(fitted, rows))])
            X = new.X.assign(site="unknown")
            answers = groups.predict_proba(X), pooled.predict_proba(new.cells)
            strange.append([losses(p, new.y) for p in answers])
            low, high = groups.predict_interval(X)[:, 1].T
            covered.append((low <= new.probs) & (new.probs <= high))
            middle.append((new.probs > 0.1) & (new.probs < 0.9))
            low, high = intervals_of_oracle(new.cells.to_numpy(), of_column, rng)
            oracle.append((low <= new.probs) & (new.probs <= high))
        loss, new_loss = np.array(known), np.array(strange)
        best = loss[:, 1:].mean(axis=0).argmin() + 1
        gaps = loss[:, 0] - loss[:, best], new_loss[:, 0] - new_loss[:, 1]
        excess, beyond = (f"{g.mean():+.4f} ({g.std() / len(g) ** 0.5:.4f})" for g in gaps)
        means = "  ".join(f"{value:.4f}" for value in loss.mean(axis=0))
        both = "  ".join(f"{value:.4f}" for value in new_loss.mean(axis=0))
        every = np.ones_like(middle)
        shares = [
            share(np.array(inside), np.array(asked))
            for inside in (covered, oracle)
            for asked in (every, middle)
        ]
        print(
            f"{spread:6.1f}  {means}  {excess}        {both}  {beyond}  {'  '.join(shares)}",
            flush=True,
        )


if __name__ == "__main__":
    main()
