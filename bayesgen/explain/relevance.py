"""Relevance of columns: the mean size of the weight of evidence of their cells."""

import numpy as np
from jaxtyping import Float, Int

from bayesgen.explain.cells import Rows
from bayesgen.explain.evidence import PAIRS, centred, weights_of_evidence
from bayesgen.typing import Weights

ROWS = 300
"""Rows of the fit that are read: the standard error is .06 standard deviations of a cell's."""
CELLS = 4_000_000
"""Cells scored in sampled orders, by a stack in 6 s: of 300 rows of 20 columns in 30 orders."""


def evenly_spaced(weight: Weights) -> Int[np.ndarray, " few"]:
    """Return the positions of at most ROWS rows of positive weight, evenly spaced."""
    rows = np.flatnonzero(weight)
    few = min(len(rows), ROWS)
    return rows[np.arange(few) * len(rows) // few]


def mean_weights(
    rows: Rows, weight: Weights, rng: np.random.Generator
) -> Float[np.ndarray, " column"]:
    """Return the mean |weight of evidence| of columns, in nats (formula: `Classifier.relevance`).

    weight: of the rows. rng: random numbers of sampled orders.
    """
    pairs = CELLS // (2 * (len(rows.cells) + 1) * len(rows.cells) * rows.n_rows)
    pairs = min(max(pairs, 1), PAIRS)
    (parts,) = weights_of_evidence(rows, centred, "shapley", rng, pairs=pairs)
    size = np.abs(parts[1:]).sum(axis=2) / (parts.shape[2] - 1)
    return np.average(size, axis=1, weights=weight)
