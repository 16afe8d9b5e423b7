"""Simulated tables with cells missing for different reasons, and the log loss of `missing=`."""

import warnings

import numpy as np
import pandas as pd
from scipy.special import expit

import bayesgen as bg

NAMES = list("abcde")
MECHANISMS = {
    "completely at random": lambda x, y: np.full(x.shape, 0.3),
    "at random given column a": lambda x, y: expit(1.5 * x[:, :1] - 1) * (np.arange(5) > 0),
    "at random given the class": lambda x, y: np.where(y, 0.4, 0.15)[:, None] * np.ones(5),
    "not at random: the larger the value": lambda x, y: expit(1.5 * x - 1),
}
"""Probability that each cell is missing: (values, class codes) -> (row, column)."""
SETTINGS = ("ignorable", "informative", "learn")
NEW_ROWS = 4000


def table(mechanism: str, n: int, rng: np.random.Generator) -> tuple[pd.DataFrame, np.ndarray]:
    """Return rows of five numbers, normal given each of two classes half a deviation apart."""
    y = rng.integers(0, 2, n)
    x = rng.normal(size=(n, 5)) + 0.5 * y[:, None]
    gone = rng.random(x.shape) < MECHANISMS[mechanism](x, y)
    return pd.DataFrame(np.where(gone, np.nan, x), columns=NAMES), np.where(y, "ill", "well")


def log_losses(
    make: type, mechanism: str, n: int, tables: int, later: str | None = None
) -> np.ndarray:
    """Return the log loss of new rows under every setting, shape (table, setting).

    later: the mechanism of the new rows; None: the same.
    """
    out = np.empty((tables, len(SETTINGS)))
    for seed in range(tables):
        rng = np.random.default_rng(seed)
        X, y = table(mechanism, n, rng)
        new, labels = table(later or mechanism, NEW_ROWS, rng)
        for j, missing in enumerate(SETTINGS):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", bg.errors.InformativePattern)
                clf = make(missing=missing, random_state=0).fit(X, y)
            logs = clf.predict_log_proba(new)
            own = np.searchsorted(clf.classes_, labels)
            out[seed, j] = -logs[np.arange(NEW_ROWS), own].mean()
    return out
