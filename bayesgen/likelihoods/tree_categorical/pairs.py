"""Dirichlet evidences and predictives of pairs of columns of levels.

A pair has the prior Dirichlet(rows probs_a probs_b), which implies Dirichlet(rows probs_a) for
either column: with n_ab rows the concentration of a cell is rows probs_a probs_b + n_ab, that of
level a in rows that show the other column rows probs_a + sum_b n_ab.
"""

import numpy as np
from jaxtyping import Float

from bayesgen.likelihoods.dirichlet import segments
from bayesgen.likelihoods.special_functions import log_rising_factorial

Probs = Float[np.ndarray, "*batch class level"]
Rows = Float[np.ndarray, "*batch class"]
Counts = Float[np.ndarray, "*batch class level level"]
Levels = tuple[int, ...]


def log_columns(probs: Probs, rows: Rows, count: Counts, n_levels: Levels) -> np.ndarray:
    """Return the log evidence of each column by itself, summed, (..., class)."""
    wide, own = segments(n_levels), np.diagonal(count, axis1=-2, axis2=-1)
    levels = log_rising_factorial(rows[..., None] * probs, own).sum(axis=-1)
    return levels - log_rising_factorial(rows[..., None], own @ wide).sum(axis=-1)


def log_ratios(probs: Probs, rows: Rows, count: Counts, n_levels: Levels) -> np.ndarray:
    """Return log evidence of each pair minus that of its columns, in rows that show both."""
    wide, worth = segments(n_levels), rows[..., None, None]
    cells = wide.T @ log_rising_factorial(_cells(probs, rows), count) @ wide
    shown = count @ wide
    margin = wide.T @ log_rising_factorial(rows[..., None, None] * probs[..., None], shown)
    return (
        cells - margin - np.swapaxes(margin, -1, -2) + log_rising_factorial(worth, wide.T @ shown)
    )


def log_cells(
    probs: Probs, rows: Rows, count: Counts, n_levels: Levels
) -> tuple[Probs, Float[np.ndarray, "*batch class level level"]]:
    """Return log p(b) of each level and log p(b given a) - log p(b), at [..., b, a]."""
    wide = segments(n_levels)
    own = rows[..., None] * probs + np.diagonal(count, axis1=-2, axis2=-1)
    seen = np.diagonal(count, axis1=-2, axis2=-1) @ wide
    with np.errstate(divide="ignore", invalid="ignore"):
        alone = np.log(own) - np.log(rows[..., None] + seen) @ wide.T
        joint = np.log(_cells(probs, rows) + count)
        # of level a in rows that show the column of b, [..., b, a]
        given = wide @ np.swapaxes(count @ wide, -1, -2) + (rows[..., None] * probs)[..., None, :]
        return alone, joint - np.log(given) - alone[..., None]


def _cells(probs: Probs, rows: Rows) -> Counts:
    return rows[..., None, None] * probs[..., :, None] * probs[..., None, :]
