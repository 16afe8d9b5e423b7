"""Do 90 % intervals of the default stack hold the true P(y given x), of rows that are in doubt?

Two classes, 100 and 500 rows. Linear and quadratic: four normal columns, with one covariance or
one of each class. Interacting: five or six columns of three levels, the log-odds a sum of two
tables of pairs. Mixed: three normal columns, whose variances differ between the classes, and three
columns of four levels, all independent given the class.

Rows in doubt are those whose true probability lies between .1 and .9, or all if none does. Standard
errors are over tables. The last column is the mean distance between `predict_proba` and the mean of
the draws.
"""

import argparse
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pandas as pd
from scipy.special import expit
from scipy.stats import multivariate_normal, norm

import bayesgen as bg
from bayesgen.inference import Misfit

PROB, DOUBT = 0.9, 0.1
SIZES, FRESH = (100, 500), 500
Truth = Callable[[int], tuple[pd.DataFrame, np.ndarray]]
"""Number of rows -> rows, and their true P(y = 1 given x)."""
Maker = Callable[[np.random.Generator], Truth]


def frame(numbers: np.ndarray, levels: np.ndarray) -> pd.DataFrame:
    """Return a table of columns of numbers and of levels."""
    columns = {f"x{j}": x for j, x in enumerate(numbers.T)}
    return pd.DataFrame(columns | {f"c{j}": x.astype(str) for j, x in enumerate(levels.T)})


def normals(rng: np.random.Generator, quadratic: bool) -> Truth:
    """Return four normal columns of one covariance, or of a covariance of each class."""
    p = 4
    covs = []
    for _ in range(2):
        root = 0.5 * rng.standard_normal((p, p))
        covs.append(root @ root.T + 0.5 * np.eye(p))
    covs[1] = covs[int(quadratic)]
    means = rng.normal(0, 0.6, (2, p))

    def rows(n: int) -> tuple[pd.DataFrame, np.ndarray]:
        y = rng.integers(0, 2, n)
        x = np.stack([rng.multivariate_normal(means[k], covs[k]) for k in y])
        logs = [multivariate_normal.logpdf(x, *normal) for normal in zip(means, covs, strict=True)]
        return frame(x, np.empty((n, 0))), expit(logs[1] - logs[0])

    return rows


def interacting(rng: np.random.Generator) -> Truth:
    """Return columns of three levels, whose log-odds are a sum of two tables of pairs."""
    p, tables = int(rng.integers(5, 7)), rng.normal(0, 1.5, (2, 3, 3))

    def rows(n: int) -> tuple[pd.DataFrame, np.ndarray]:
        x = rng.integers(0, 3, (n, p))
        log_odds = tables[0][x[:, 0], x[:, 1]] + tables[1][x[:, 2], x[:, 3]]
        return frame(np.empty((n, 0)), x), expit(log_odds)

    return rows


def mixed(rng: np.random.Generator) -> Truth:
    """Return columns of numbers and of levels, independent given the class."""
    means, scales = rng.normal(0, 0.5, (2, 3)), rng.gamma(8, 1 / 8, (2, 3))
    tables = rng.dirichlet(np.full(4, 3.0), (2, 3))

    def rows(n: int) -> tuple[pd.DataFrame, np.ndarray]:
        y = rng.integers(0, 2, n)
        x = rng.normal(means[y], scales[y])
        levels = np.stack([[rng.choice(4, p=tables[k, j]) for j in range(3)] for k in y])
        logs = [
            norm.logpdf(x, means[k], scales[k]).sum(axis=1)
            + np.log(tables[k, np.arange(3), levels]).sum(axis=1)
            for k in range(2)
        ]
        return frame(x, levels), expit(logs[1] - logs[0])

    return rows


TRUTHS: dict[str, Maker] = {
    "linear": lambda rng: normals(rng, quadratic=False),
    "quadratic": lambda rng: normals(rng, quadratic=True),
    "interacting": interacting,
    "mixed": mixed,
}


def simulated(
    make: Maker, n: int, seed: int
) -> tuple[pd.DataFrame, np.ndarray, pd.DataFrame, np.ndarray]:
    """Return rows and labels to fit, and fresh rows with their true P(y = 1 given x)."""
    rng = np.random.default_rng(seed)
    rows = make(rng)
    X, proba = rows(n)
    y = (rng.random(n) < proba).astype(int)
    return X, y, *rows(FRESH)


def covered(make: Maker, n: int, seed: int) -> tuple[float, float, float]:
    """Return the share of rows in doubt inside, the mean width, and the distance of the means."""
    X, y, fresh, truth = simulated(make, n, seed)
    stack = bg.StackedClassifier(random_state=0, progress=False).fit(X, y)
    low, high = np.moveaxis(stack.predict_interval(fresh, PROB)[:, 1], -1, 0)
    draws = stack.predict_draws(fresh).isel({"class": 1})
    mean = (draws * draws.weight).sum("draw").to_numpy()
    doubt = (truth > DOUBT) & (truth < 1 - DOUBT)
    if not doubt.any():
        doubt[:] = True
    inside = ((low <= truth) & (truth <= high))[doubt].mean()
    distance = np.abs(mean - stack.predict_proba(fresh)[:, 1]).mean()
    return float(inside), float((high - low)[doubt].mean()), float(distance)


def main() -> None:
    """Print the table."""
    tabulate(TRUTHS, SIZES, __doc__)


def tabulate(truths: Mapping[str, Maker], sizes: Sequence[int], words: str) -> None:
    """Print a table of truths and sizes, as the command states them; words: about the script."""
    parser = argparse.ArgumentParser(description=words.split("\n\n")[0])
    parser.add_argument("truths", nargs="*", metavar="TRUTH", help=f"of: {', '.join(truths)}")
    parser.add_argument("--tables", type=int, default=20)
    parser.add_argument("--rows", type=int, nargs="*", default=sizes)
    parser.add_argument("--without-misfit", action="store_true", help="draws as members have them")
    options = parser.parse_args()
    if options.without_misfit:
        Misfit.spread = lambda self, draws, observed, seed: draws
    print("| truth | rows | coverage | mean width | predict_proba to mean of draws |")
    print("| --- | --- | --- | --- | --- |")
    for kind in options.truths or truths:
        for n in options.rows:
            found = np.array([covered(truths[kind], n, seed) for seed in range(options.tables)])
            coverage, width, distance = found.mean(axis=0)
            error = found[:, 0].std(ddof=1) / np.sqrt(options.tables)
            cells = f"{coverage:.3f} ± {error:.3f} | {width:.3f} | {distance:.4f}"
            print(f"| {kind} | {n:,} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
