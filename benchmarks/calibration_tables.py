"""Real tables for the calibration benchmark, and the rows that each of its fits sees."""

import dataclasses
import json
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.model_selection import StratifiedKFold

from bayesgen import datasets
from bayesgen.compare.folds import Fold, subset

SMALL_ROWS, SMALL_DRAWS, FOLDS = 24, 20, 10
FEWEST_ROWS = 100
"""A bundled table with fewer rows leaves too few to score."""


@dataclasses.dataclass(frozen=True, eq=False)
class Benchmark:
    """One table: its columns that are no numbers are categories with all their levels declared."""

    name: str
    X: pd.DataFrame
    y: np.ndarray
    classes: np.ndarray

    @property
    def levels(self) -> list:
        """Return the names of the columns that are no numbers."""
        return [c for c in self.X if isinstance(self.X[c].dtype, pd.CategoricalDtype)]

    @property
    def numbers(self) -> list:
        """Return the names of the columns of numbers."""
        return [c for c in self.X if c not in self.levels]

    def small(self, draws: int, first: int = 0) -> Iterator[Fold]:
        """Yield random training sets of 24 rows, and all other rows to score.

        Rows come from the classes in proportion, at least two from each; where that is more than
        24, as in soybean with 19 classes, the set has two rows of each class.
        """
        size = max(SMALL_ROWS, 2 * len(self.classes))
        every = np.arange(len(self.y))
        for seed in range(first, first + draws):
            fit = every[subset(self.y, size, np.random.default_rng(seed))]
            yield fit, np.setdiff1d(every, fit)

    def folds(self, seeds: int, first: int = 0) -> Iterator[Fold]:
        """Yield the splits of stratified 10-fold cross-validation, once for each seed."""
        for seed in range(first, first + seeds):
            splitter = StratifiedKFold(FOLDS, shuffle=True, random_state=seed)
            with warnings.catch_warnings():
                # a class of fewer than ten rows is missing in some folds' rows to score
                warnings.simplefilter("ignore")
                yield from list(splitter.split(self.y, self.y))


def load(folder: Path | None, names: list[str]) -> list[Benchmark]:
    """Return the tables of a folder with a schema.json, or the bundled ones without it."""
    found = _bundled() if folder is None else _folder(folder)
    unknown = set(names) - {table.name for table in found}
    if unknown:
        raise SystemExit(f"no table {', '.join(sorted(unknown))}")
    return [table for table in found if not names or table.name in names]


def halves(tables: list[Benchmark]) -> dict[str, str]:
    """Return "A" or "B" for each table, in turn; tables of one origin (pima_*) stay together."""
    origins = list(dict.fromkeys(table.name.split("_")[0] for table in tables))
    return {table.name: "AB"[origins.index(table.name.split("_")[0]) % 2] for table in tables}


def _folder(folder: Path) -> list[Benchmark]:
    schema = json.loads((folder / "schema.json").read_text(encoding="utf-8"))
    tables = []
    for name, about in schema.items():
        X = pd.read_csv(folder / f"{name}.csv")
        y = X.pop("class")
        levels = [column for column, kind in about["features"].items() if kind != "numeric"]
        tables.append(_benchmark(name, X, y, levels))
    return tables


def _bundled() -> list[Benchmark]:
    tables = []
    for name in datasets.names():
        X = pd.read_csv(datasets.path(name))
        y = X.pop(datasets.target(name))
        levels = [c for c in X if not pd.api.types.is_numeric_dtype(X[c]) or X[c].dtype == bool]
        if len(y) >= FEWEST_ROWS:
            tables.append(_benchmark(name, X, y, levels))
    return tables


def _benchmark(name: str, X: pd.DataFrame, y: pd.Series, levels: list) -> Benchmark:
    X[levels] = X[levels].astype("str").where(X[levels].notna()).astype("category")
    classes, codes = np.unique(y.astype(str), return_inverse=True)
    return Benchmark(name, X, codes, classes)
