"""Do 90 % intervals of a kernel discriminant hold the smoothed probability, and the true one?

Its posterior is that of Dirichlet weights of rows, a Bayesian bootstrap (Rubin 1981, Annals of
Statistics 9, 130-134): with many rows intervals have their nominal coverage of the probability
under the smoothed classes, the true densities convolved with the kernels. What kernels smooth away
is no part of it, so they hold the true probability less often. Classes are mixtures of normals, so
both are known. Standard errors are over tables.
"""

import argparse
import dataclasses

import numpy as np
from scipy.special import logsumexp

import bayesgen as bg

PROB = 0.9
FRESH = 100
"""Rows of each table whose intervals are looked at."""


@dataclasses.dataclass(frozen=True)
class Truth:
    """Two classes, each an even mixture of normals: centers (class, component, column)."""

    centers: np.ndarray
    spread: float

    def rows(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Return rows and their classes."""
        y = rng.integers(0, 2, n)
        which = rng.integers(0, self.centers.shape[1], n)
        x = self.centers[y, which]
        return x + self.spread * rng.standard_normal(x.shape), y

    def probability(self, x: np.ndarray, kernel: np.ndarray | float = 0.0) -> np.ndarray:
        """Return P(y = 1 given x), densities convolved with normals of a covariance."""
        covariance = self.spread**2 * np.eye(x.shape[1]) + kernel
        inverse = np.linalg.inv(covariance)
        logs = []
        for centers in self.centers:
            away = x[:, None] - centers
            logs.append(logsumexp(-0.5 * ((away @ inverse) * away).sum(axis=-1), axis=1))
        return 1 / (1 + np.exp(logs[0] - logs[1]))


def rings() -> Truth:
    """Return two rings, blurred."""
    angle = np.linspace(0, 2 * np.pi, 400, endpoint=False)
    circle = np.column_stack([np.cos(angle), np.sin(angle)])
    return Truth(np.stack([circle, 2 * circle]), 0.5)


def normals(columns: int) -> Truth:
    """Return two round normals whose means are 1.5 standard deviations apart."""
    means = np.zeros((2, 1, columns))
    means[1, 0, 0] = 1.5
    return Truth(means, 1.0)


TRUTHS = {"two rings": rings(), "normal, 2 columns": normals(2), "normal, 5 columns": normals(5)}


def coverage(
    truth: Truth, bandwidth: float | str, n_rows: int, tables: int, rng: np.random.Generator
) -> dict[str, tuple[float, float]]:
    """Return shares of rows whose interval holds the smoothed and the true P, with their errors.

    The smoothed one only of a stated bandwidth: the kernels of a table are those it was fitted by.
    """
    inside: dict[str, list[float]] = {}
    for _ in range(tables):
        x, y = truth.rows(n_rows, rng)
        prior = bg.KernelDiscriminant(bandwidth)
        clf = bg.GenerativeClassifier(
            prior, class_prior="uniform", power_transform=False, random_state=0
        ).fit(x, y)
        fresh, _ = truth.rows(FRESH, rng)
        low, high = np.moveaxis(clf.predict_interval(fresh, PROB)[:, 1], -1, 0)
        targets = {"true": truth.probability(fresh)}
        if not isinstance(bandwidth, str):
            (family,) = clf.posterior_.families.values()
            targets["smoothed"] = truth.probability(fresh, bandwidth**2 * family.mixture.covariance)
        for name, target in targets.items():
            held = (low <= target) & (target <= high)
            inside.setdefault(name, []).append(float(held.mean()))
    root = np.sqrt(tables)
    return {
        name: (float(np.mean(each)), float(np.std(each, ddof=1) / root))
        for name, each in inside.items()
    }


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--tables", type=int, default=20)
    options = parser.parse_args()
    print("| truth | rows | h | holds the smoothed P | holds the true P |")
    print("| --- | --- | --- | --- | --- |")
    for name, truth in TRUTHS.items():
        for bandwidth, n_rows in (("learn", 400), (0.5, 400), (0.5, 2000)):
            rng = np.random.default_rng(7)
            found = coverage(truth, bandwidth, n_rows, options.tables, rng)
            cells = [
                "{:.3f} ± {:.3f}".format(*found[key]) if key in found else "-"
                for key in ("smoothed", "true")
            ]
            print(f"| {name} | {n_rows:,} | {bandwidth} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
