"""Simulated rows for the benchmarks: normal classes with covariances of their own, and levels."""

import numpy as np


def normal_rows(n: int, p: int, n_classes: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return rows (row, feature) of normal classes and their labels 0, 1, ...

    The classes are the same for every n and seed of rows: those of one fixed generator.
    """
    world, rng = np.random.default_rng(20), np.random.default_rng(seed)
    mean = world.normal(size=(n_classes, p))
    factor = np.eye(p) + 0.3 * world.normal(size=(n_classes, p, p)) / np.sqrt(p)
    y = rng.integers(n_classes, size=n)
    X = rng.standard_normal((n, p))
    for k in range(n_classes):
        X[y == k] = X[y == k] @ factor[k].T + mean[k]
    return X, y


def level_rows(
    n: int, p: int, n_classes: int, n_levels: int, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Return integer codes (row, feature) whose frequencies differ by class, and labels."""
    world, rng = np.random.default_rng(21), np.random.default_rng(seed)
    steps = world.dirichlet(np.full(n_levels, 2.0), size=(n_classes, p)).cumsum(axis=2)[..., :-1]
    y = rng.integers(n_classes, size=n)
    u = rng.random((n, p))
    codes = np.zeros((n, p), dtype=np.int64)
    for k in range(n_classes):
        rows = y == k
        for level in range(n_levels - 1):
            codes[rows] += u[rows] >= steps[k, :, level]
    return codes, y
