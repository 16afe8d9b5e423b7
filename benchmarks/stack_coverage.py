"""Do 90 % intervals of a stack hold the true probability where the truth is one of its structures?

Two classes of four columns, 200 rows. Normal ones: naive (independent columns), linear (one
covariance), quadratic, also with ten columns, or with one mean, where covariances alone tell
classes apart.
Interacting levels: every combination of three levels a column has a probability of its own in each
class. Beside the stack, the true structure fitted alone. Standard errors are over tables.
"""

import argparse

import numpy as np
from scipy.stats import multivariate_normal

import bayesgen as bg

PROB = 0.9
COLUMNS, ROWS, FRESH = 4, 200, 100
MODELS = {
    "naive": bg.NaiveBayes,
    "linear": bg.LDA,
    "quadratic": bg.QDA,
    "quadratic, one mean": bg.QDA,
    "quadratic, 10 columns": bg.QDA,
    "interacting levels": bg.JointTable,
}
LEVELS = np.array(["a", "b", "c"], dtype=object)
Rows = tuple[np.ndarray, np.ndarray]


def normals(kind: str, rng: np.random.Generator) -> list[Rows]:
    """Return mean and covariance of two classes."""
    p = 10 if kind == "quadratic, 10 columns" else COLUMNS

    def covariance() -> np.ndarray:
        if kind == "naive":
            return np.diag(rng.gamma(4, 0.25, p))
        root = 0.5 * rng.standard_normal((p, p))
        return root @ root.T + 0.5 * np.eye(p)

    first = covariance()
    second = first if kind == "linear" else covariance()
    spread = 0.0 if kind == "quadratic, one mean" else 0.6
    return [(rng.normal(0, spread, p), cov) for cov in (first, second)]


def simulated(kind: str, rng: np.random.Generator) -> tuple[Rows, np.ndarray, np.ndarray]:
    """Return rows and labels to fit, fresh rows and their true P(y = 1 given x)."""
    if kind == "interacting levels":
        tables = rng.dirichlet(np.ones(len(LEVELS) ** COLUMNS), 2)
        shape = (len(LEVELS),) * COLUMNS

        def draw(n: int) -> tuple[np.ndarray, np.ndarray]:
            y = rng.integers(0, 2, n)
            cells = np.array([rng.choice(tables.shape[1], p=tables[k]) for k in y])
            return cells, y

        (cells, y), (fresh, _) = draw(ROWS), draw(FRESH)
        words = [LEVELS[np.stack(np.unravel_index(c, shape), 1)] for c in (cells, fresh)]
        return (words[0], y), words[1], tables[1][fresh] / tables[:, fresh].sum(axis=0)
    truth = normals(kind, rng)

    def rows(n: int) -> Rows:
        y = rng.integers(0, 2, n)
        return np.stack([rng.multivariate_normal(*truth[k]) for k in y]), y

    fitted, (fresh, _) = rows(ROWS), rows(FRESH)
    logs = [multivariate_normal.logpdf(fresh, *normal) for normal in truth]
    return fitted, fresh, 1 / (1 + np.exp(logs[0] - logs[1]))


def covered(kind: str, seed: int) -> tuple[float, float, float]:
    """Return the share of fresh rows inside, its mean width, and the share of the true model's."""
    (X, y), fresh, probability = simulated(kind, np.random.default_rng(seed))
    found = []
    for model in (bg.StackedClassifier(random_state=0), MODELS[kind](random_state=0)):
        low, high = np.moveaxis(model.fit(X, y).predict_interval(fresh, PROB)[:, 1], -1, 0)
        inside = ((low <= probability) & (probability <= high)).mean()
        found.append((float(inside), float((high - low).mean())))
    return *found[0], found[1][0]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("truths", nargs="*", metavar="TRUTH", help=f"of: {', '.join(MODELS)}")
    parser.add_argument("--tables", type=int, default=60)
    options = parser.parse_args()
    print("| truth | stack | mean width | true structure alone |")
    print("| --- | --- | --- | --- |")
    for kind in options.truths or MODELS:
        found = np.array([covered(kind, seed) for seed in range(options.tables)])
        error = found.std(axis=0, ddof=1) / np.sqrt(options.tables)
        (stack, width, alone), (first, _, last) = found.mean(axis=0), error
        cells = f"{stack:.3f} ± {first:.3f} | {width:.3f} | {alone:.3f} ± {last:.3f}"
        print(f"| {kind} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
