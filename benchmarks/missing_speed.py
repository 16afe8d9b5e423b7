"""What missing cells cost the stack: fit, predictions, intervals and memory beside complete rows.

Processor seconds on one core, both sides in turn within one process; medians of the ratios. Peak
memory is that of a process of its own, with Python and the libraries. The wide table has 1,000 rows
and 150 columns, half of them text. Run with OPENBLAS_NUM_THREADS=1.
"""

import argparse
import resource
import statistics
import subprocess
import sys
import time
import warnings
from collections.abc import Callable

import numpy as np
import pandas as pd
from sklearn.datasets import make_classification

import bayesgen as bg

CASES = (
    ("300 x 20", 0.2),
    ("1,000 x 10", 0.2),
    ("1,000 x 20", 0.05),
    ("1,000 x 20", 0.2),
    ("10,000 x 20", 0.2),
    ("wide", 0.2),
)
PREDICTED, INTERVALS = 1000, 100
EVIDENCE = (17, 200)
"""Numbers of columns of the tables one row of which is explained."""


def table(name: str) -> tuple[pd.DataFrame, np.ndarray]:
    """Return the rows and labels of a case."""
    if name == "wide":
        return wide()
    n, p = (int(number.replace(",", "")) for number in name.split(" x "))
    X, y = make_classification(n, p, n_informative=min(10, p - 2), n_classes=3, random_state=0)
    return pd.DataFrame(X).add_prefix("x"), y


def wide(n: int = 1000, p: int = 150) -> tuple[pd.DataFrame, np.ndarray]:
    """Return a table of which half the columns are text of two to six levels, with two classes."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, n)
    factors = rng.normal(size=(n, 5)) + 0.4 * y[:, None]
    cells = factors @ rng.normal(scale=0.5, size=(5, p)) + rng.normal(size=(n, p))
    columns: dict[str, object] = {f"number{j}": cells[:, j] for j in range(p // 2)}
    for j in range(p // 2, p):
        levels = int(rng.integers(2, 7))
        cuts = np.quantile(cells[:, j], np.arange(1, levels) / levels)
        columns[f"text{j}"] = np.array(list("abcdef"), dtype=object)[
            np.searchsorted(cuts, cells[:, j])
        ]
    return pd.DataFrame(columns), y


def removed(X: pd.DataFrame, share: float) -> pd.DataFrame:
    """Return the rows with a share of their cells missing completely at random."""
    return X.mask(np.random.default_rng(1).random(X.shape) < share)


def fitted(X: pd.DataFrame, y: np.ndarray) -> bg.StackedClassifier:
    """Return the default stack, fitted."""
    return bg.StackedClassifier(random_state=0, progress=False).fit(X, y)


def seconds(work: Callable[[], object]) -> float:
    """Return the processor seconds of one call."""
    start = time.process_time()
    work()
    return time.process_time() - start


def in_turn(
    ours: Callable[[], object], theirs: Callable[[], object], repeats: int
) -> tuple[float, float]:
    """Return the median seconds of `ours`, and the median ratio to those of `theirs`."""
    pairs = [(seconds(ours), seconds(theirs)) for _ in range(repeats)]
    return statistics.median(a for a, _ in pairs), statistics.median(a / b for a, b in pairs)


def peak(name: str, share: float) -> float:
    """Return the peak memory of a process that fits one case, in MB."""
    command = [sys.executable, __file__, "--peak", name, "--share", str(share)]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    return float(run.stdout)


def line(name: str, share: float, repeats: int) -> str:
    """Return one line of the table of fits and predictions."""
    X, y = table(name)
    gaps = removed(X, share)
    once = 1 if len(X) > 1000 or name == "wide" else repeats
    fit, longer = in_turn(lambda: fitted(gaps, y), lambda: fitted(X, y), once)
    ours, theirs = fitted(gaps, y), fitted(X, y)
    rows = np.arange(PREDICTED) % len(X)
    incomplete, complete = gaps.iloc[rows], X.iloc[rows]
    predict, slower = in_turn(
        lambda: ours.predict_proba(incomplete), lambda: theirs.predict_proba(complete), repeats
    )
    few = incomplete.iloc[:INTERVALS]
    interval = seconds(lambda: ours.predict_interval(few)) / len(few)
    cells = (
        f"{name}, {share:.0%}",
        f"{fit:.2f} s",
        f"{longer:.2f}",
        f"{peak(name, share):.0f} MB",
        f"{1e3 * predict:.0f} ms",
        f"{slower:.2f}",
        f"{1e3 * interval:.1f} ms",
    )
    return f"| {' | '.join(cells)} |"


def evidence(columns: int, repeats: int) -> str:
    """Return one line of the table of explanations of one row."""
    X, y = table(f"1,000 x {columns}")
    stack = fitted(X, y)
    whole = statistics.median(
        seconds(lambda: stack.evidence(X.iloc[:1], 1, 0)) for _ in range(repeats)
    )
    gaps = removed(X.iloc[:1], 0.2)
    part = statistics.median(seconds(lambda: stack.evidence(gaps, 1, 0)) for _ in range(repeats))
    return f"| {columns} | {1e3 * whole:.0f} ms | {1e3 * part:.0f} ms |"


def main() -> None:
    """Print two Markdown tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="one small table: does it run?")
    parser.add_argument("--only", nargs="+", metavar="TABLE", help="these tables")
    parser.add_argument("--peak", metavar="TABLE", help="print the peak memory of one fit, in MB")
    parser.add_argument("--share", type=float, default=0.2, help="of the cells missing (--peak)")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", bg.errors.BayesgenWarning)
    if arguments.peak:
        X, y = table(arguments.peak)
        fitted(removed(X, arguments.share), y)
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
        return
    quick = (("200 x 8", 0.2),), (8,)
    cases, explained = quick if arguments.quick else (CASES, EVIDENCE)
    if arguments.only:
        cases = tuple(case for case in cases if case[0] in arguments.only)
        explained = ()
    heads = (
        "table, missing",
        "fit",
        "over the complete fit",
        "peak memory",
        "predict 1,000 rows",
        "over complete rows",
        "interval, a row",
    )
    print(f"| {' | '.join(heads)} |\n| {' | '.join(['---'] * len(heads))} |")
    for name, share in cases:
        print(line(name, share, arguments.repeats), flush=True)
    if explained:
        print("\n| columns | evidence of one row | with 20 % missing |\n| --- | --- | --- |")
    for columns in explained:
        print(evidence(columns, arguments.repeats), flush=True)


if __name__ == "__main__":
    main()
