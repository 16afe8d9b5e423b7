"""Tables of more columns than rows: log loss and processor time, beside logistic regression.

Three kinds of 60 simulated rows of two classes. Two have independent columns of unit variance: in
"few" the classes differ by .9 standard deviations in 10 columns, in "all" by .15 in every one. In
"factors" columns are correlated by ten factors, of which classes differ in three small ones.
Log loss is that of 1,000 new rows, a mean over tables. Seconds are of the processor, for one fit.
With --ranks: of the 10 columns that tell the classes apart, the mean rank in `relevance()`.

    python benchmarks/wide_tables.py [--columns 500] [--tables 5] [--models stack average] [--ranks]
"""

import argparse
import time
import warnings
from collections.abc import Callable, Mapping

import numpy as np
from sklearn.linear_model import LogisticRegressionCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import bayesgen as bg

ROWS, NEW_ROWS = 60, 1000
KINDS: Mapping[str, tuple[float, int | None]] = {"few": (0.9, 10), "all": (0.15, None)}
"""Difference between the classes, in standard deviations, and in how many columns; None: in all."""
FACTORS = np.array([3, 3, 2, 2, 1, 1, 1, 0.5, 0.5, 0.5])
"""Sizes of the factors; classes differ by one standard deviation in the sixth to the eighth."""


def models() -> dict[str, Callable]:
    """Return what is compared, by name."""
    logistic = LogisticRegressionCV(Cs=10, scoring="neg_log_loss")
    return {
        "stack": bg.StackedClassifier,
        "average": lambda: bg.NaiveBayes(columns="average"),
        "column weights": lambda: bg.NaiveBayes(temper="columns"),
        "naive Bayes": bg.NaiveBayes,
        "logistic": lambda: make_pipeline(StandardScaler(), logistic),
    }


def simulated(kind: str, columns: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows of a table and new rows below them, and their labels."""
    rng = np.random.default_rng(seed)
    if kind == "factors":
        y = rng.integers(0, 2, ROWS + NEW_ROWS)
        loadings = rng.standard_normal((len(FACTORS), columns)) * FACTORS[:, None]
        factors = rng.standard_normal((len(y), len(FACTORS)))
        factors[:, 5:8] += y[:, None] - 0.5
        return factors @ loadings + 2 * rng.standard_normal((len(y), columns)), y
    size, number = KINDS[kind]
    difference = np.zeros(columns)
    difference[:number] = size
    y = rng.integers(0, 2, ROWS + NEW_ROWS)
    x = rng.standard_normal((len(y), columns))
    return x + (y[:, None] - 0.5) * difference, y


def measured(
    make: Callable, kind: str, columns: int, seed: int, *, ranks: bool
) -> tuple[float, float, float]:
    """Return the log loss of new rows, the seconds of the fit, and the mean rank, or NaN."""
    x, y = simulated(kind, columns, seed)
    start = time.process_time()
    fitted = make().fit(x[:ROWS], y[:ROWS])
    seconds = time.process_time() - start
    proba = fitted.predict_proba(x[ROWS:])[np.arange(NEW_ROWS), y[ROWS:]]
    rank, (_, number) = np.nan, KINDS.get(kind, (0.0, None))
    if ranks and number is not None and hasattr(fitted, "relevance"):
        places = {name: place for place, name in enumerate(fitted.relevance().index, start=1)}
        rank = float(np.mean([places[f"x{j}"] for j in range(number)]))
    return float(-np.log(np.maximum(proba, 1e-15)).mean()), seconds, rank


def main() -> None:
    """Print a line for each kind of table and model."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--columns", type=int, default=500)
    parser.add_argument("--tables", type=int, default=5)
    parser.add_argument("--models", nargs="+", default=list(models()), choices=list(models()))
    parser.add_argument("--ranks", action="store_true", help="some seconds a table")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print(f"{ROWS} rows, {options.columns:,} columns, mean of {options.tables} tables")
    for kind in (*KINDS, "factors"):
        for name in options.models:
            tables = range(options.tables)
            results = [
                measured(models()[name], kind, options.columns, seed, ranks=options.ranks)
                for seed in tables
            ]
            loss, seconds, rank = np.mean(results, axis=0)
            words = "" if np.isnan(rank) else f"  mean rank {rank:.1f}"
            print(
                f"{kind:7} {name:15} log loss {loss:.3f}  fit {seconds:6.2f} s{words}", flush=True
            )


if __name__ == "__main__":
    main()
