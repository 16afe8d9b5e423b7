"""Do 90 % intervals of the default stack hold the true P(y given x) where log-odds are a function?

Two classes and five standard normal columns, unless stated otherwise. Some functions are none that
a member of the stack has: signs of products, a sine. "t": columns of three Student t distributions
of 2 degrees of freedom that are shifted between the classes, and of two that are not. "one in 33":
linear in three of 33 columns. "rare": a class of about 3 %. "counts": five columns of counts, whose
means differ between the classes.

Rows in doubt, standard errors and the last column are those of default_coverage.py.

python benchmarks/function_coverage.py --rows 300 1500
python benchmarks/function_coverage.py linear --rows 60 250 1000 4000
"""

from collections.abc import Callable

import numpy as np
import pandas as pd
from default_coverage import Maker, Truth, frame, tabulate
from scipy.special import expit
from scipy.stats import poisson, t

LogOdds = Callable[[np.ndarray], np.ndarray]
"""Rows (row, column) -> log-odds of the second class."""
SHIFT = 0.5
MEANS = np.array([[2.0, 3.0, 5.0, 1.0, 4.0], [3.0, 3.0, 6.5, 0.6, 4.0]])
"""Of counts, by class and column."""


def of_normals(log_odds: LogOdds, columns: int = 5) -> Maker:
    """Return the truth whose log-odds are a function of standard normal columns."""

    def make(rng: np.random.Generator) -> Truth:
        def rows(n: int) -> tuple[pd.DataFrame, np.ndarray]:
            x = rng.standard_normal((n, columns))
            return frame(x, np.empty((n, 0))), expit(log_odds(x.T))

        return rows

    return make


def given_classes(
    draw: Callable[[np.random.Generator, np.ndarray], np.ndarray], log_ratio: LogOdds
) -> Maker:
    """Return the truth of columns that are drawn given the class, of two equally frequent ones.

    draw: generator, classes -> rows. log_ratio: of the densities of the classes.
    """

    def make(rng: np.random.Generator) -> Truth:
        def rows(n: int) -> tuple[pd.DataFrame, np.ndarray]:
            x = draw(rng, rng.integers(0, 2, n))
            return frame(x, np.empty((n, 0))), expit(log_ratio(x))

        return rows

    return make


def heavy_tails(rng: np.random.Generator, y: np.ndarray) -> np.ndarray:
    """Return columns of t distributions, of which three are shifted."""
    return rng.standard_t(2, (len(y), 5)) + SHIFT * np.outer(2 * y - 1, [1, 1, 1, 0, 0])


def of_heavy_tails(x: np.ndarray) -> np.ndarray:
    """Return the log ratio of the densities of `heavy_tails`."""
    first = x[:, :3]
    return (t.logpdf(first, 2, SHIFT) - t.logpdf(first, 2, -SHIFT)).sum(axis=1)


def of_counts(x: np.ndarray) -> np.ndarray:
    """Return the log ratio of the probabilities of counts."""
    return (poisson.logpmf(x, MEANS[1]) - poisson.logpmf(x, MEANS[0])).sum(axis=1)


TRUTHS: dict[str, Maker] = {
    "XOR of two": of_normals(lambda x: 3 * np.sign(x[0] * x[1])),
    "XOR of three": of_normals(lambda x: 3 * np.sign(x[0] * x[1] * x[2])),
    "sine": of_normals(lambda x: 3 * np.sin(2 * x[0])),
    "product": of_normals(lambda x: 2 * x[0] * x[1]),
    "slope": of_normals(lambda x: 1.5 * x[0] + x[0] * x[2]),
    "t": given_classes(heavy_tails, of_heavy_tails),
    "linear": of_normals(lambda x: x[0] - x[1] + 0.5 * x[2]),
    "noise": of_normals(lambda x: np.zeros_like(x[0])),
    "dose response": of_normals(lambda x: 3 * np.tanh(1.5 * x[0])),
    "one in 33": of_normals(lambda x: x[0] - x[1] + 0.5 * x[2], columns=33),
    "rare": of_normals(lambda x: x[0] - x[1] + 0.5 * x[2] - 4.3),
    "counts": given_classes(lambda rng, y: rng.poisson(MEANS[y]).astype(float), of_counts),
}
"""The truths, by what makes them hard."""


def main() -> None:
    """Print the table."""
    tabulate(TRUTHS, (300, 1500), __doc__)


if __name__ == "__main__":
    main()
