"""Scores of tied rows: which rows are tied, and edges of cells that do not separate them.

Leaving a row out of the fit changes its score a little, by about as much for each of many tied
rows. An edge at the score of these would have the labeled rows, each left out, on one side and all
of the new rows that are tied with them on the other.
"""

import numpy as np
from jaxtyping import Bool, Float

ROUNDING = 1e-9
"""Relative difference, at most, of scores of tied rows that are computed among other rows."""

Scores = Float[np.ndarray, " row"]


def edges_between(scores: Scores, cells: int) -> Float[np.ndarray, " edge"]:
    """Return the edges, halfway between distinct scores, of so many about equal cells or fewer."""
    ordered = np.sort(scores)
    gaps = _gaps(ordered)
    if len(gaps):
        shares = np.arange(1, cells) / cells * len(ordered)
        gaps = np.unique(gaps[np.abs(1 + gaps - shares[:, None]).argmin(axis=1)])
    return ordered[gaps] / 2 + ordered[gaps + 1] / 2


def are_tied(scores: Scores) -> Bool[np.ndarray, " row"]:
    """Return which rows share their score with another row."""
    order = np.argsort(scores)
    group = np.zeros(len(scores), dtype=int)
    group[order[1:][_gaps(scores[order])]] = 1
    group[order] = np.cumsum(group[order])
    return np.bincount(group)[group] > 1


def _gaps(ordered: Scores) -> np.ndarray:
    """Return the places of scores, in rising order, whose next one is larger beyond rounding."""
    lower, upper = ordered[:-1], ordered[1:]
    return np.flatnonzero(lower < upper - ROUNDING * np.maximum(1.0, np.abs(upper)))
