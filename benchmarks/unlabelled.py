"""Log loss with rows that have no label: the labeled rows alone, weight 1, and a learned weight.

Of each table a third is the test; of the rest a few rows of each class have a label and all others
none. Every split is the same for all models. LDA and QDA take tables of numbers alone; classes of
fewer than twice as many rows as have a label leave their table. The last lines are means over
tables. Run with OPENBLAS_NUM_THREADS=1.
"""

import argparse
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from calibration_tables import load
from pandas.api.types import is_numeric_dtype
from sklearn.datasets import load_breast_cancer, load_wine

import bayesgen as bg

Rows = tuple[pd.DataFrame, np.ndarray]
MODELS: dict[str, Callable] = {
    "naive Bayes": bg.NaiveBayes,
    "LDA": bg.LDA,
    "QDA": bg.QDA,
    "stack": bg.StackedClassifier,
}
WAYS = ("labeled only", "weight 1", "learn")
MOST = 1000
"""Rows of a table at most."""


def tables(folder: Path | None) -> dict[str, Rows]:
    """Return the tables by name: rows, and labels as objects.

    folder: of the open tables (see calibration.py); None: four that need no folder.
    """
    if folder is not None:
        open_tables = [table for table in load(folder, []) if table.origin == "open"]
        return {
            table.name: (table.X, table.classes[table.y].astype(object)) for table in open_tables
        }
    wine, cancer = load_wine(as_frame=True), load_breast_cancer(as_frame=True)
    found = {
        "iris": bg.datasets.load_iris(),
        "wine": (wine.data, wine.target),
        "cancer": (cancer.data, cancer.target),
        "titanic": bg.datasets.load_titanic_passengers(),
    }
    return {name: (X, np.asarray(y, dtype=object)) for name, (X, y) in found.items()}


def marked(y: np.ndarray, labels: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return labels with None in place of most, the rows to fit, and those to test."""
    order = np.random.default_rng(seed).permutation(len(y))[:MOST]
    test, rest = np.split(order, [len(order) // 3])
    few = np.concatenate([rest[y[rest] == k][:labels] for k in np.unique(y)])
    out = np.full(len(y), None, dtype=object)
    out[few] = y[few]
    return out, rest, test


def fits(make: Callable, X: pd.DataFrame, y: np.ndarray, rows: np.ndarray) -> Iterator:
    """Yield the fitted classifiers of each way, and their seconds."""
    few = rows[pd.notna(y[rows])]
    options = {} if make is bg.StackedClassifier else {"inference": "expected"}
    for at, weight in ((few, "learn"), (rows, 1), (rows, "learn")):
        start = time.perf_counter()
        clf = make(unlabelled=weight, random_state=0, **options).fit(X.iloc[at], y[at])
        yield clf, time.perf_counter() - start


def log_loss(clf: object, X: pd.DataFrame, y: np.ndarray) -> float:
    """Return the mean log loss, probabilities of 0 counted as 1e-12."""
    place = np.searchsorted(clf.classes_, y.astype(clf.classes_.dtype))
    proba = clf.predict_proba(X)[np.arange(len(y)), place]
    return float(-np.log(np.maximum(proba, 1e-12)).mean())


def suits(model: str, X: pd.DataFrame, y: np.ndarray, labels: int) -> bool:
    """Return whether a model takes a table, and every class has rows enough."""
    enough = np.unique(y, return_counts=True)[1].min() >= 2 * labels
    return enough and (model not in ("LDA", "QDA") or all(map(is_numeric_dtype, X.dtypes)))


def line(*cells: object) -> None:
    """Print a line of the table."""
    words = (f"{cell:.3f}" if isinstance(cell, float) else str(cell) for cell in cells)
    print(f"| {' | '.join(words)} |", flush=True)


def main() -> None:
    """Print a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=Path, metavar="DIR", help="folder of the open tables")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--labels", type=int, nargs="+", default=[3, 10, 30])
    parser.add_argument("--models", nargs="+", choices=list(MODELS), default=list(MODELS))
    parser.add_argument("--quick", action="store_true", help="one small table: does it run?")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    found = tables(arguments.tables)
    if arguments.quick:
        arguments.seeds, arguments.labels, arguments.models = 1, [4], ["naive Bayes"]
        found = {"iris": tables(None)["iris"]}
    names = ("table", "labels a class", "model", *WAYS, "mean weight", "seconds of learn")
    line(*names)
    line(*["---"] * len(names))
    means: dict[tuple[int, str], list[np.ndarray]] = {}
    for name, (X, y) in found.items():
        for labels in arguments.labels:
            for model in arguments.models:
                if not suits(model, X, y, labels):
                    continue
                lines = []
                for seed in range(arguments.seeds):
                    own, rows, test = marked(y, labels, seed)
                    each = list(fits(MODELS[model], X, own, rows))
                    losses = [log_loss(clf, X.iloc[test], y[test]) for clf, _ in each]
                    lines.append([*losses, each[-1][0].unlabelled_weight_, each[-1][1]])
                means.setdefault((labels, model), []).append(np.mean(lines, axis=0))
                line(name, labels, model, *means[labels, model][-1].tolist())
    for (labels, model), each in means.items():
        line(f"mean of {len(each)}", labels, model, *np.mean(each, axis=0).tolist())


if __name__ == "__main__":
    main()
