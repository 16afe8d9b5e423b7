"""Levels that interact in pairs: log loss above that of the true probabilities.

Simulated rows of five or six columns of three levels, two classes. In "pairs" the log-odds are a
sum of two tables of two columns each, with entries N(0, 1.5^2); in "columns" a sum of one table for
each column, N(0, .7^2), so that no column interacts. The mean over tables of the expected log loss
of 2,000 new rows, less the entropy of their classes, with its standard error.

    python benchmarks/interacting_levels.py [--rows 100 500] [--tables 20]
"""

import argparse
import itertools

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import bayesgen as bg

LEVELS, NEW_ROWS = 3, 2000
PAIRS = ((0, 1), (2, 3))
MODELS = {
    "stack": lambda: bg.StackedClassifier(random_state=0),
    "naive Bayes": bg.NaiveBayes,
    "logistic": lambda: make_pipeline(OneHotEncoder(), LogisticRegression()),
    "forest": lambda: make_pipeline(OneHotEncoder(), RandomForestClassifier(500, random_state=0)),
}


def simulated(kind: str, rows: int, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Return rows to fit with new rows below them, and the true P(y = 1 given x) of each."""
    rng = np.random.default_rng(seed)
    n_columns = 5 + seed % 2
    alone = kind == "columns"
    groups = [(j,) for j in range(n_columns)] if alone else PAIRS
    tables = [rng.normal(0, 0.7 if alone else 1.5, (LEVELS,) * len(group)) for group in groups]
    codes = rng.integers(LEVELS, size=(rows + NEW_ROWS, n_columns))
    odds = sum(
        table[tuple(codes[:, j] for j in group)]
        for group, table in zip(groups, tables, strict=True)
    )
    columns = [f"c{j}" for j in range(n_columns)]
    return pd.DataFrame(codes, columns=columns).astype(str), 1 / (1 + np.exp(-odds))


def excess(model: str, kind: str, rows: int, seed: int) -> float:
    """Return the expected log loss of new rows less the entropy of their classes."""
    table, true = simulated(kind, rows, seed)
    y = (np.random.default_rng([seed, 1]).random(rows) < true[:rows]).astype(int)
    fitted = MODELS[model]().fit(table[:rows], y)
    proba = np.maximum(fitted.predict_proba(table[rows:]), 1e-15)
    true = np.stack([1 - true[rows:], true[rows:]], axis=1)
    return float((true * (np.log(true) - np.log(proba))).sum(axis=1).mean())


def main() -> None:
    """Print Markdown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[100, 500], metavar="N")
    parser.add_argument("--tables", type=int, default=20, metavar="N")
    arguments = parser.parse_args()
    print(f"| log-odds of | rows | {' | '.join(MODELS)} |")
    print("| --- " * (2 + len(MODELS)) + "|")
    for kind, rows in itertools.product(("pairs", "columns"), arguments.rows):
        cells = []
        for model in MODELS:
            found = [excess(model, kind, rows, i) for i in range(arguments.tables)]
            error = np.std(found) / np.sqrt(max(len(found) - 1, 1))
            cells.append(f"{np.mean(found):.3f} ± {error:.3f}")
        print(f"| {kind} | {rows:,} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
