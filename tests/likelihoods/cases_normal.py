"""Normals of one variance for all columns, and the numbers that all normals share."""

import dataclasses

import numpy as np
from case import N_CLASSES, Case, Table, some_classes

from bayesgen.likelihoods import (
    Likelihood,
    SphericalNormal,
)

UNITS, ORIGIN = np.array([1.0, 2.0, 10.0]), np.array([0.0, 5.0, -400.0])
MIX = np.array([[1.0, 0.0, 0.0], [0.6, 0.8, 0.0], [-0.3, 0.5, 0.9]])


def some_lengths(rng: np.random.Generator, n: int) -> Table:
    """Return three columns of one unit, the last one far from zero."""
    y = some_classes(rng, n)
    means = np.array([[0.0, 5.0, -40.0], [1.5, 4.0, -41.0], [-1.0, 5.5, -39.0]])
    spread = np.array([0.7, 1.0, 1.6])[y, None]
    return means[y] + spread * rng.standard_normal((n, 3)), y


def some_rows(rng: np.random.Generator, n: int) -> Table:
    """Return three correlated columns of different units, every seventh row far out."""
    y = some_classes(rng, n)
    means = np.array([[0.0, 1.0, 0.5], [1.5, 0.0, 0.0], [-1.0, 0.5, -1.0]])
    spread = np.array([0.7, 1.0, 1.6])[y, None] * np.where(np.arange(n) % 7 == 3, 4.0, 1.0)[:, None]
    return (means[y] + spread * rng.standard_normal((n, 3)) @ MIX.T) * UNITS + ORIGIN, y


def number_line(x: np.ndarray, j: int) -> tuple[np.ndarray, np.ndarray]:
    """Return nodes and weights of a quadrature over all numbers: Gauss-Legendre in t/(1 - t^2)."""
    t, weight = np.polynomial.legendre.leggauss(200)
    centre, spread = np.nanmean(x[:, j]), 2 * np.nanstd(x[:, j])
    return centre + spread * t / (1 - t**2), weight * spread * (1 + t**2) / (1 - t**2) ** 2


def other_lengths(x: np.ndarray, prior: Likelihood) -> tuple[np.ndarray, Likelihood]:
    """Return all columns in one other unit, one of them upside down, from other origins."""
    a, b = np.array([2.5, -2.5, 2.5]), np.array([-3.0, 7.0, 100.0])
    mean = None if prior.mean is None else prior.mean * a + b
    variance = None if prior.variance is None else prior.variance * 2.5**2
    return x * a + b, dataclasses.replace(prior, mean=mean, variance=variance)


LENGTHS = (some_lengths, np.nan, number_line, other_lengths)
LENGTH = np.array([[0.1, 4.0, -40.5], [1.0, 5.0, -40.0], [-0.5, 6.0, -39.5]])
MEAN = np.array([[0.1, 4.0, -405.0], [1.0, 5.0, -400.0], [-0.5, 6.0, -395.0]])
WORTH = np.array([[0.5, 1.0, 2.0], [1.5, 0.7, 1.0], [1.0, 2.0, 0.4]])
SCALE = np.array([[1.0, 0.5, 1.0], [0.5, 4.0, -3.0], [1.0, -3.0, 100.0]])
JOINT = {"mean": MEAN, "mean_rows": np.array([0.5, 1.0, 2.0])}

NORMALS = {
    "SphericalNormal": Case(
        SphericalNormal(
            mean=LENGTH,
            mean_rows=WORTH,
            variance=np.array([0.6, 1.0, 2.0]),
            variance_rows=np.array([2.0, 1.5, 3.0]),
        ),
        SphericalNormal(),
        *LENGTHS,
    ),
    "SphericalNormal shared": Case(
        SphericalNormal(
            mean=LENGTH, mean_rows=WORTH, variance=1.2, variance_rows=1.5, spread="shared"
        ),
        SphericalNormal(spread="shared"),
        *LENGTHS,
    ),
}
assert all(len(case.prior.mean) == N_CLASSES for case in NORMALS.values())
