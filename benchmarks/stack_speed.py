"""Fit and prediction of the stack beside those of a forest of 500 trees, on one core.

Both are timed in turn on the same rows; the figure is the ratio of medians of processor seconds,
to which other work on the machine adds little. Run with OPENBLAS_NUM_THREADS=1 for one thread of
matrix products.
"""

import argparse
import statistics
import time
import warnings
from collections.abc import Callable

import numpy as np
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier

import bayesgen as bg

SIZES = ((1000, 20), (1000, 60), (10_000, 20), (50_000, 20))
PREDICTED = 1000


def seconds(work: Callable) -> float:
    """Return the processor seconds of one call."""
    start = time.process_time()
    work()
    return time.process_time() - start


def in_turn(ours: Callable, theirs: Callable, repeats: int) -> tuple[float, float]:
    """Return the median seconds of both, timed in turn."""
    pairs = [(seconds(ours), seconds(theirs)) for _ in range(repeats)]
    mine, other = zip(*pairs, strict=True)
    return statistics.median(mine), statistics.median(other)


def main() -> None:
    """Print a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="one small table: does it run?")
    arguments = parser.parse_args()
    sizes, trees = (((200, 5),), 20) if arguments.quick else (SIZES, 500)
    names = "table", "fit", "over a forest's", "predict 1,000 rows", "over a forest's", "interval"
    print(f"| {' | '.join(names)} |\n| {' | '.join(['---'] * len(names))} |")
    for n, p in sizes:
        X, y = make_classification(n, p, n_informative=min(10, p - 2), n_classes=3, random_state=0)
        stack = bg.StackedClassifier(random_state=0).fit(X, y)
        forest = RandomForestClassifier(trees, n_jobs=1, random_state=0).fit(X, y)
        rows = X[np.arange(PREDICTED) % n]
        fits = in_turn(
            lambda X=X, y=y: bg.StackedClassifier(random_state=0).fit(X, y),
            lambda X=X, y=y: RandomForestClassifier(trees, n_jobs=1, random_state=0).fit(X, y),
            1 if n > 10_000 else arguments.repeats,
        )
        predictions = in_turn(
            lambda stack=stack, rows=rows: stack.predict_proba(rows),
            lambda forest=forest, rows=rows: forest.predict_proba(rows),
            3 * arguments.repeats,
        )
        interval = seconds(lambda stack=stack, rows=rows: stack.predict_interval(rows[:200])) / 0.2
        (fit, other), (predict, their) = fits, predictions
        print(
            f"| {n:,} x {p} | {fit:.2f} s | {fit / other:.2f} | {1e3 * predict:.0f} ms "
            f"| {predict / their:.2f} | {interval:.1f} ms a row |"
        )
    (n, p), *_ = sizes
    X, y = make_classification(n, p, n_informative=min(10, p - 2), n_classes=3, random_state=0)
    for cells in ([[3, 2]], [[3, 2], [17, 4]]):
        gaps = X.copy()
        gaps[*np.transpose(cells)] = np.nan
        for missing in ("learn", "ignorable"):
            stack = bg.StackedClassifier(random_state=0, missing=missing)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", bg.errors.BayesgenWarning)
                longer, whole = in_turn(
                    lambda stack=stack, gaps=gaps: stack.fit(gaps, y),
                    lambda stack=stack: stack.fit(X, y),
                    arguments.repeats,
                )
            print(f"{len(cells)} missing, missing={missing!r}: fit {longer / whole:.2f} of whole")


if __name__ == "__main__":
    main()
