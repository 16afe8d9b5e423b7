"""Do 90 % intervals of a stack hold the true probability where the truth is one of its structures?

Two normal classes of four columns, 200 rows: naive (independent columns), linear (one covariance)
or quadratic. Beside the stack, the true structure fitted alone. Standard errors are over tables.
"""

import argparse

import numpy as np
from scipy.stats import multivariate_normal

import bayesgen as bg

PROB = 0.9
COLUMNS, ROWS, FRESH = 4, 200, 100
MODELS = {"naive": bg.NaiveBayes, "linear": bg.LDA, "quadratic": bg.QDA}


def classes(kind: str, rng: np.random.Generator) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return mean and covariance of two classes."""

    def covariance() -> np.ndarray:
        if kind == "naive":
            return np.diag(rng.gamma(4, 0.25, COLUMNS))
        root = 0.5 * rng.standard_normal((COLUMNS, COLUMNS))
        return root @ root.T + 0.5 * np.eye(COLUMNS)

    first = covariance()
    second = first if kind == "linear" else covariance()
    return [(rng.normal(0, 0.6, COLUMNS), each) for each in (first, second)]


def covered(kind: str, seed: int) -> tuple[float, float, float]:
    """Return the share of fresh rows inside, its mean width, and the share of the true model's."""
    rng = np.random.default_rng(seed)
    truth = classes(kind, rng)

    def rows(n: int) -> tuple[np.ndarray, np.ndarray]:
        y = rng.integers(0, 2, n)
        return np.stack([rng.multivariate_normal(*truth[k]) for k in y]), y

    (X, y), (fresh, _) = rows(ROWS), rows(FRESH)
    logs = [multivariate_normal.logpdf(fresh, *each) for each in truth]
    probability = 1 / (1 + np.exp(logs[0] - logs[1]))
    found = []
    for model in (bg.StackedClassifier(random_state=0), MODELS[kind](random_state=0)):
        low, high = np.moveaxis(model.fit(X, y).predict_interval(fresh, PROB)[:, 1], -1, 0)
        inside = ((low <= probability) & (probability <= high)).mean()
        found.append((float(inside), float((high - low).mean())))
    return *found[0], found[1][0]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--tables", type=int, default=60)
    options = parser.parse_args()
    print("| truth | stack | mean width | true structure alone |")
    print("| --- | --- | --- | --- |")
    for kind in MODELS:
        found = np.array([covered(kind, seed) for seed in range(options.tables)])
        error = found.std(axis=0, ddof=1) / np.sqrt(options.tables)
        (stack, width, alone), (first, _, last) = found.mean(axis=0), error
        cells = f"{stack:.3f} ± {first:.3f} | {width:.3f} | {alone:.3f} ± {last:.3f}"
        print(f"| {kind} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
