"""Columns that say nothing of two classes: what the default stack loses to the class frequencies.

Columns are standard normal or of four levels, every second one where they are mixed, and classes
are drawn by a coin. The mean over tables of the expected log loss of new rows, less that of the
class frequencies of the rows of the fit, with its standard error; in how many tables an interaction
joined, which none should.

    python benchmarks/pure_noise.py [--tables 20]
"""

import argparse

import numpy as np
import pandas as pd

import bayesgen as bg

LEVELS, NEW_ROWS = 4, 500
SHAPES = (
    ("numbers", 60, 40),
    ("levels", 60, 40),
    ("mixed", 60, 40),
    ("numbers", 60, 8),
    ("numbers", 200, 8),
    ("numbers", 40, 100),
)
"""Kind of the columns, rows, columns."""


def noise(kind: str, rows: int, columns: int, rng: np.random.Generator) -> pd.DataFrame:
    """Return rows of columns that are independent of everything."""

    def column(j: int) -> np.ndarray:
        if kind == "levels" or (kind == "mixed" and j % 2):
            return rng.integers(LEVELS, size=rows).astype(str)
        return rng.standard_normal(rows)

    return pd.DataFrame({f"c{j}": column(j) for j in range(columns)})


def expected_loss(p: np.ndarray) -> float:
    """Return the mean log loss of probabilities (row, class) where every class is as likely."""
    return float(-np.log(p).mean())


def excess(kind: str, rows: int, columns: int, seed: int) -> tuple[float, bool]:
    """Return what the stack loses to the class frequencies, and whether an interaction joined."""
    rng = np.random.default_rng(seed)
    X, y = noise(kind, rows, columns, rng), rng.integers(2, size=rows)
    stack = bg.StackedClassifier(random_state=0, progress=False).fit(X, y)
    frequencies = np.bincount(y) / rows
    lost = expected_loss(stack.predict_proba(noise(kind, NEW_ROWS, columns, rng)))
    joined = set(stack.members_table().index) - set(stack.members_)
    return lost - expected_loss(frequencies), bool(joined)


def main() -> None:
    """Print Markdown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=20, metavar="N")
    arguments = parser.parse_args()
    print("| columns | rows x columns | above the frequencies | interactions joined |")
    print("| --- | --- | --- | --- |")
    for kind, rows, columns in SHAPES:
        found = [excess(kind, rows, columns, seed) for seed in range(arguments.tables)]
        lost, joined = np.transpose(found)
        error = lost.std() / np.sqrt(max(len(lost) - 1, 1))
        cells = f"{lost.mean():.3f} ± {error:.3f} | {joined.sum():.0f} of {len(joined)}"
        print(f"| {kind} | {rows} x {columns} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
