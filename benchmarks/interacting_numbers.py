"""Numbers that interact: log loss above that of the true probabilities.

Two classes whose log-odds are one of the functions of function_coverage.py. The mean over tables of
the expected log loss of new rows, less the entropy of their classes, with its standard error; in
parentheses what the stack has less, with the standard error of the difference. "Leaves of 5": a
forest of trees with at least five rows in a leaf.

    python benchmarks/interacting_numbers.py [TRUTH ...] [--rows 300 1500] [--tables 10]
"""

import argparse
import itertools

import numpy as np
from default_coverage import simulated
from function_coverage import TRUTHS
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier

import bayesgen as bg

MODELS = {
    "stack": lambda: bg.StackedClassifier(random_state=0, progress=False),
    "boosting": lambda: HistGradientBoostingClassifier(random_state=0),
    "boosting, stopped early": lambda: HistGradientBoostingClassifier(
        early_stopping=True, random_state=0
    ),
    "forest": lambda: RandomForestClassifier(500, random_state=0),
    "leaves of 5": lambda: RandomForestClassifier(500, min_samples_leaf=5, random_state=0),
}
INTERACTING = ("XOR of two", "XOR of three", "product", "slope")
LEAST = 1e-15


def excess(truth: str, rows: int, seed: int) -> list[float]:
    """Return the expected log loss of new rows less the entropy of their classes, by model."""
    X, y, fresh, proba = simulated(TRUTHS[truth], rows, seed)
    true, found = np.stack([1 - proba, proba], axis=1), []
    for make in MODELS.values():
        stated = np.maximum(make().fit(X, y).predict_proba(fresh), LEAST)
        found.append(float((true * (np.log(true) - np.log(stated))).sum(axis=1).mean()))
    return found


def main() -> None:
    """Print Markdown."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("truths", nargs="*", metavar="TRUTH", help=f"of: {', '.join(TRUTHS)}")
    parser.add_argument("--rows", type=int, nargs="+", default=[300, 1500], metavar="N")
    parser.add_argument("--tables", type=int, default=10, metavar="N")
    arguments = parser.parse_args()
    print(f"| log-odds | rows | {' | '.join(MODELS)} |")
    print("| --- " * (2 + len(MODELS)) + "|")
    for truth, rows in itertools.product(arguments.truths or INTERACTING, arguments.rows):
        found = np.array([excess(truth, rows, seed) for seed in range(arguments.tables)])
        less = found[:, :1] - found
        errors = [each.std(axis=0, ddof=1) / np.sqrt(len(found)) for each in (found, less)]
        cells = [f"{found[:, 0].mean():.3f} ± {errors[0][0]:.3f}"]
        for i in range(1, len(MODELS)):
            cells.append(f"{found[:, i].mean():.3f} ({less[:, i].mean():.3f} ± {errors[1][i]:.3f})")
        print(f"| {truth} | {rows:,} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
