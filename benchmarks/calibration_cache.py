"""Log probabilities of the calibration benchmark, one small file for each fit, and their making."""

import dataclasses
import os
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from calibration_regimes import REGIMES, Regime
from calibration_rivals import Rival
from calibration_tables import Benchmark
from sklearn.base import BaseEstimator
from threadpoolctl import threadpool_limits
from tqdm import tqdm

from bayesgen.compare.folds import Fold

SLOW = 10.0
"""Seconds of a fit above which a rival's cross-validation has one seed."""


@dataclasses.dataclass(frozen=True, eq=False)
class Answers:
    """What one classifier answered for the rows to score of one split.

    rows: their positions in the table. y: class codes. log_p: log P(class), shape (row, class),
    -inf for a class that the fit never saw. seconds: of the processor, for fit and prediction.
    failed: the error that the fit raised, with no log_p; else empty. origin: of the table.
    """

    rows: np.ndarray
    y: np.ndarray
    log_p: np.ndarray
    seconds: float
    failed: str
    origin: str

    def write(self, path: Path) -> None:
        """Write the file at once or not at all, so that processes can share a folder."""
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f"{path.stem}.{os.getpid()}.part")
        with part.open("wb") as file:
            np.savez(file, **dataclasses.asdict(self))
        part.replace(path)

    @classmethod
    def read(cls, path: Path) -> "Answers":
        """Read the file."""
        with np.load(path) as found:
            arrays = {name: found[name] for name in ("rows", "y", "log_p")}
            scalars = {name: found[name].item() for name in ("seconds", "failed", "origin")}
        return cls(**arrays, **scalars)


@dataclasses.dataclass(frozen=True)
class Cache:
    """A folder: regime / table / classifier / version / split.npz."""

    folder: Path

    def path(self, regime: str, table: str, name: str, version: str, split: int) -> Path:
        """Return the file of one fit."""
        return self.folder / regime / table / name / version / f"{split}.npz"

    def newest(self, name: str) -> str:
        """Return the version of a classifier's newest folder, empty without one."""
        folders = self.folder.glob(f"*/*/{name}/*")
        return max(folders, key=lambda f: f.stat().st_mtime, default=Path()).name

    def answers(self, regime: str, columns: dict[str, tuple[str, str]]) -> Iterator[tuple]:
        """Yield (table, column, split, answers) of a regime.

        Args:
            regime: its name.
            columns: (classifier, version) of each column of a report.
        """
        for folder in sorted((self.folder / regime).glob("*")):
            for column, (name, version) in columns.items():
                for path in sorted((folder / name / version).glob("*.npz")):
                    yield folder.name, column, int(path.stem), Answers.read(path)


def fill(
    cache: Cache,
    tables: list[Benchmark],
    regimes: list[str],
    rivals: dict[str, Rival],
    ours: str,
    most: int | None = None,
) -> None:
    """Fit what the cache does not hold: every table, regime and classifier.

    Args:
        cache: where the log probabilities go.
        tables: all of them; a regime takes those that suit it.
        regimes: names of REGIMES.
        rivals: classifiers by name.
        ours: version of this library's own.
        most: splits of a regime, the first ones; all without it.
    """
    work = [
        (regime, name, table)
        for regime in regimes
        for name, rival in rivals.items()
        for table in tables
        if REGIMES[regime].suits(table) and regime.startswith(rival.regimes)
    ]
    bar = tqdm(work, file=sys.stderr, unit="table")
    for regime, name, table in bar:
        bar.set_description(f"{regime}, {name}, {table.name}")
        paths = _paths(cache, regime, table, name, rivals[name].version(ours), most)
        if not all(path.exists() for path, _ in paths):
            _fill_one(paths, rivals[name], table, REGIMES[regime])


def _paths(
    cache: Cache, regime: str, table: Benchmark, name: str, version: str, most: int | None
) -> list[tuple[Path, Fold]]:
    folds = REGIMES[regime].splits(table)[:most]
    paths = [cache.path(regime, table.name, name, version, s) for s in range(len(folds))]
    return list(zip(paths, folds, strict=True))


def _fill_one(
    paths: list[tuple[Path, Fold]], rival: Rival, table: Benchmark, regime: Regime
) -> None:
    X, seconds = regime.cells(table), []
    for number, (path, fold) in enumerate(paths):
        one_seed = rival.package != "bayesgen" and regime.folds and np.median(seconds or 0) > SLOW
        if one_seed and number >= regime.folds:
            return
        if not path.exists():
            # one core, so that seconds compare and several processes do not stand in line
            with threadpool_limits(1):
                _answer(rival.make(table), X, table, fold).write(path)
        seconds.append(Answers.read(path).seconds)


def _answer(clf: BaseEstimator, X: pd.DataFrame, table: Benchmark, fold: Fold) -> Answers:
    fit, scored = fold
    log_p, failed = np.full((len(scored), len(table.classes)), -np.inf), ""
    start = time.process_time()
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            clf.fit(X.iloc[fit], table.y[fit])
            log_p[:, clf.classes_] = log_probability(clf, X.iloc[scored])
        except Exception as error:
            # any error of any rival is a line of the report
            log_p, failed = np.empty((0, len(table.classes))), f"{type(error).__name__}: {error}"
    seconds = time.process_time() - start
    return Answers(scored, table.y[scored], log_p, seconds, failed, table.origin)


def log_probability(clf: BaseEstimator, X: pd.DataFrame) -> np.ndarray:
    """Return log P(class), shape (row, class); several rivals have no logarithms of their own."""
    if hasattr(clf, "predict_log_proba"):
        return np.asarray(clf.predict_log_proba(X))
    return np.log(clf.predict_proba(X))
