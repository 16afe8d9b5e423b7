"""All rooted forests over a few columns, one by one: the oracle of everything about trees."""

import itertools

import numpy as np


def rooted_forests(q: int) -> np.ndarray:
    """Return the parent of each column, its own position for a root: (q + 1)^(q - 1) rows."""
    return np.array([p for p in itertools.product(range(q), repeat=q) if not _circle(p)])


def _circle(parent: tuple[int, ...]) -> bool:
    at = list(range(len(parent)))
    for _ in parent:
        at = [parent[i] for i in at]
    return any(parent[i] != i for i in at)


def log_weights_of(forests: np.ndarray, log_weight: np.ndarray) -> np.ndarray:
    """Return the sum of log_weight[..., child, parent] over each forest's edges, forests first."""
    edges = forests != np.arange(forests.shape[1])
    return np.stack(
        [
            log_weight[..., np.flatnonzero(e), p[e]].sum(axis=-1)
            for p, e in zip(forests, edges, strict=True)
        ]
    )
