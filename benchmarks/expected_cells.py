"""Expected statistics beside draws, where cells are missing in LDA and QDA.

Rows of a normal with correlated columns, three classes, cells missing completely at random from
the rows of the fit and from 4,000 new ones. Printed are the log loss of the new rows, the mean
width of the 90 % intervals of 200 of them, and processor seconds of the fit. Run with
OPENBLAS_NUM_THREADS=1.

python benchmarks/expected_cells.py
"""

import argparse
import time
import warnings

import numpy as np

import bayesgen as bg

SIZES = ((1000, 20, 0.15), (1000, 20, 0.05), (300, 20, 0.15), (300, 8, 0.3))
NEW, INTERVALS, CLASSES = 4000, 200, 3
SIGNAL = 2.3
"""Standard deviation of the class means of a column, times the square root of the columns."""


def rows(n: int, p: int, share: float, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return rows and classes; half of the variance of a column is due to three factors."""
    loads, means = rng.normal(size=(3, p)), SIGNAL * rng.normal(size=(CLASSES, p)) / np.sqrt(p)
    y = rng.permutation(np.arange(n + NEW) % CLASSES)
    X = rng.normal(size=(n + NEW, 3)) @ loads / np.sqrt(3) + rng.normal(size=(n + NEW, p))
    X += means[y]
    X[rng.random(X.shape) < share] = np.nan
    return X, y


def measured(clf: bg.LDA | bg.QDA, X: np.ndarray, y: np.ndarray, n: int) -> list[float]:
    """Return log loss of the rows after the first n, mean width of intervals, and seconds."""
    start = time.process_time()
    clf.fit(X[:n], y[:n])
    seconds = time.process_time() - start
    new = X[n:]
    loss = bg.calibrate.log_loss(y[n:], clf.predict_proba(new))
    width = np.diff(clf.predict_interval(new[:INTERVALS])).mean()
    return [float(loss), float(width), seconds]


def main() -> None:
    """Print a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--tables", type=int, default=1, help="of each size")
    parser.add_argument("--quick", action="store_true", help="one small table: does it run?")
    arguments = parser.parse_args()
    sizes = ((60, 3, 0.2),) if arguments.quick else SIZES
    warnings.simplefilter("ignore", bg.errors.LowSampleSize)
    names = "table, missing", "model", "log loss: drawn", "expected", "interval: drawn", "expected"
    names += ("fit: drawn", "expected")
    print(f"| {' | '.join(names)} |\n| {' | '.join(['---'] * len(names))} |")
    methods = bg.Augmentation(), bg.Expected()
    for n, p, share in sizes:
        for make in (bg.LDA, bg.QDA):
            found = []
            for seed in range(arguments.tables):
                X, y = rows(n, p, share, np.random.default_rng(seed))
                found.append(
                    [measured(make(inference=how, random_state=0), X, y, n) for how in methods]
                )
            (loss, width, drawn), (theirs, narrow, quick) = np.mean(found, axis=0)
            print(
                f"| {n:,} x {p}, {share:.0%} | {make.__name__} | {loss:.4f} | {theirs:.4f} "
                f"| {width:.4f} | {narrow:.4f} | {drawn:.1f} s | {quick:.2f} s |",
                flush=True,
            )


if __name__ == "__main__":
    main()
