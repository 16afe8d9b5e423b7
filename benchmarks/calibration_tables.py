"""Real tables for the calibration benchmark: a folder's, scikit-learn's and the bundled ones."""

import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from bayesgen import datasets

FEWEST_ROWS = 100
"""A bundled table with fewer rows leaves too few to score."""
SCIKIT_LEARN = ("wine", "breast_cancer", "digits")


@dataclasses.dataclass(frozen=True, eq=False)
class Benchmark:
    """One table: its columns that are no numbers are categories with all their levels declared.

    origin: "open" (the folder's tables, whose means are reported) or "extra".
    """

    name: str
    X: pd.DataFrame
    y: np.ndarray
    classes: np.ndarray
    origin: str = "open"

    @property
    def levels(self) -> list:
        """Return the names of the columns that are no numbers."""
        return [c for c in self.X if isinstance(self.X[c].dtype, pd.CategoricalDtype)]

    @property
    def numbers(self) -> list:
        """Return the names of the columns of numbers."""
        return [c for c in self.X if c not in self.levels]


def load(folder: Path | None, names: list[str]) -> list[Benchmark]:
    """Return the tables of a folder with a schema.json, then scikit-learn's and the bundled ones.

    A name that came before is not taken again: scikit-learn's wine is the open table of that name.

    Args:
        folder: holds NAME.csv and schema.json; None for scikit-learn's and bundled tables alone.
        names: the tables wanted; empty for all.
    """
    found: dict[str, Benchmark] = {}
    for table in (*(_folder(folder) if folder else ()), *_bundled(), *_scikit_learn()):
        found.setdefault(table.name, table)
    if unknown := set(names) - set(found):
        raise SystemExit(f"no table {', '.join(sorted(unknown))}")
    return [table for table in found.values() if not names or table.name in names]


def halves(tables: list[Benchmark]) -> dict[str, str]:
    """Return "A" or "B" for each table, in turn; tables of one origin (pima_*) stay together."""
    origins = list(dict.fromkeys(table.name.split("_")[0] for table in tables))
    return {table.name: "AB"[origins.index(table.name.split("_")[0]) % 2] for table in tables}


def _folder(folder: Path) -> Iterator[Benchmark]:
    schema = json.loads((folder / "schema.json").read_text(encoding="utf-8"))
    for name, about in schema.items():
        X = pd.read_csv(folder / f"{name}.csv")
        levels = [column for column, kind in about["features"].items() if kind != "numeric"]
        yield _benchmark(name, X, X.pop("class"), levels, "open")


def _bundled() -> Iterator[Benchmark]:
    for name in datasets.names():
        X = pd.read_csv(datasets.path(name))
        y = X.pop(datasets.target(name))
        levels = [c for c in X if not pd.api.types.is_numeric_dtype(X[c]) or X[c].dtype == bool]
        if len(y) >= FEWEST_ROWS:
            yield _benchmark(name, X, y, levels, "extra")


def _scikit_learn() -> Iterator[Benchmark]:
    import sklearn.datasets

    for name in SCIKIT_LEARN:
        X, y = getattr(sklearn.datasets, f"load_{name}")(return_X_y=True, as_frame=True)
        yield _benchmark(name, X, y, [], "extra")


def _benchmark(name: str, X: pd.DataFrame, y: pd.Series, levels: list, origin: str) -> Benchmark:
    X[levels] = X[levels].astype("str").where(X[levels].notna()).astype("category")
    classes, codes = np.unique(y.astype(str), return_inverse=True)
    return Benchmark(name, X, codes, classes, origin)
