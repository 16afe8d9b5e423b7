"""Which rows, and which of their cells, every classifier of the calibration benchmark sees."""

import dataclasses
import warnings
import zlib
from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
from calibration_tables import Benchmark
from sklearn.model_selection import StratifiedKFold

from bayesgen.compare.folds import Fold, subset

FOLDS = 10
SHARES = (0, 20, 40, 60)
"""Percent of cells removed completely at random; 0 leaves the tables as they are."""
CUT_TABLES = ("iris", "wine", "glass", "biopsy", "pima_te", "penguins", "heart_cleveland")
CUT_TABLES = (*CUT_TABLES, "birthwt")
LEVEL_TABLES = ("soybean", "zoo", "housevotes84", "breast_cancer_lj")
"""Many categorical columns; a training set of 60 rows has fewer than three or four a column."""


@dataclasses.dataclass(frozen=True)
class Regime:
    """How a table is split, and what is removed from it.

    words: for the report. splits: the rows to fit and to score of a table, always the same ones.
    suits: whether a table takes part. cells: the table's columns, with what is removed missing.
    folds: splits of one seed that score every row once; 0 for random draws.
    """

    words: str
    splits: Callable[[Benchmark], list[Fold]]
    suits: Callable[[Benchmark], bool] = lambda table: True
    cells: Callable[[Benchmark], pd.DataFrame] = lambda table: table.X
    folds: int = 0


def draws(table: Benchmark, rows: int, seeds: Sequence[int]) -> list[Fold]:
    """Return random training sets, one a seed, each with all other rows to score.

    Rows come from the classes in proportion, at least two from each, even where that is more than
    `rows`, as for 24 rows of soybean's 19 classes.
    """
    every, size = np.arange(len(table.y)), max(rows, 2 * len(table.classes))
    fits = [every[subset(table.y, size, np.random.default_rng(seed))] for seed in seeds]
    return [(fit, np.setdiff1d(every, fit)) for fit in fits]


def cross_validation(table: Benchmark, folds: int, seeds: Sequence[int]) -> list[Fold]:
    """Return the splits of stratified cross-validation, those of the first seed first."""
    with warnings.catch_warnings():
        # a class of fewer than ten rows is missing in some folds' rows to score
        warnings.simplefilter("ignore")
        return [
            fold
            for seed in seeds
            for fold in StratifiedKFold(folds, shuffle=True, random_state=seed).split(
                table.y, table.y
            )
        ]


def remove_at_random(table: Benchmark, share: float) -> pd.DataFrame:
    """Return the columns with a share of all cells missing completely at random.

    The cells removed at a smaller share are among those removed at a larger one.
    """
    return table.X.mask(_uniform(table) < share)


def remove_given_others(table: Benchmark, share: float) -> pd.DataFrame:
    """Return the columns with cells missing at random given the first column without missing cells.

    With r the row's rank in that column, from 0 to 1, a cell of another column is missing with
    probability 2 share r, or 2 share (1 - r) for a column in two, drawn at random: `share` of them
    on average. The column that decides stays as it is.
    """
    decides = next(c for c in table.X if table.X[c].notna().all())
    column = table.X[decides]
    values = column.cat.codes if decides in table.levels else column
    rank = (values.rank() - 0.5).to_numpy()[:, None] / len(values)
    uniform = _uniform(table)
    turned = np.random.default_rng(zlib.crc32(table.name.encode()) + 1).random(len(table.X.T)) < 0.5
    removed = uniform < 2 * share * np.where(turned, 1 - rank, rank)
    removed[:, list(table.X).index(decides)] = False
    return table.X.mask(removed)


def _uniform(table: Benchmark) -> np.ndarray:
    return np.random.default_rng(zlib.crc32(table.name.encode())).random(table.X.shape)


def _cut(words: str, cells: Callable[[Benchmark], pd.DataFrame]) -> Regime:
    return Regime(
        f"{words} at fit and at prediction, 4-fold cross-validation",
        lambda table: cross_validation(table, 4, [0]),
        lambda table: table.name in CUT_TABLES,
        cells,
        folds=4,
    )


REGIMES = {
    "small": Regime(
        "24 training rows (two of each class where that is more), 20 random draws",
        lambda table: draws(table, 24, range(20)),
    ),
    "few-rows": Regime(
        "60 training rows of many categorical columns, 10 random draws",
        lambda table: draws(table, 60, range(10)),
        lambda table: table.name in LEVEL_TABLES,
    ),
    "middle": Regime(
        "100 training rows, 10 random draws (tables of at least 160 rows)",
        lambda table: draws(table, 100, range(10)),
        lambda table: len(table.y) >= 160,
    ),
    "full": Regime(
        "10-fold cross-validation, 3 seeds (one where a rival's fit takes over 10 s)",
        lambda table: cross_validation(table, FOLDS, range(3)),
        folds=FOLDS,
    ),
    "tuned": Regime(
        "5-fold cross-validation, one seed",
        lambda table: cross_validation(table, 5, [0]),
        folds=5,
    ),
    **{
        f"missing-{share}": _cut(
            f"{share} % of all cells removed completely at random",
            lambda table, share=share: remove_at_random(table, share / 100),
        )
        for share in SHARES
    },
    "missing-mar": _cut(
        "40 % of cells removed at random given another column",
        lambda t: remove_given_others(t, 0.4),
    ),
}
"""The regimes in the order of the report."""
