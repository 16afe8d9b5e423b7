"""Enumeration of the values that a missing cell may take: levels, and counts up to a bound."""

import numpy as np

from bayesgen.explain.cells import Rows
from bayesgen.inference.components import take_rows
from bayesgen.table import Name

LEFT_OUT = 1e-9
"""Probability of the counts that a sum may leave out: an error of at most 1e-9 log(classes)."""
COUNTS, MOST_COUNTS = 64, 4096
"""Counts summed at a time, and in all; larger ones are simulated."""


def kept_codes(rows: Rows, name: Name) -> np.ndarray:
    """Return the codes of the values of a column, without levels that the model does not read."""
    ((block, j), _), *_ = rows.places(name)
    return rows.components.selection(block).codes(j, len(rows.listed(name)))


def log_joints(rows: Rows, asked: np.ndarray, name: Name, values: np.ndarray) -> np.ndarray:
    """Return the log joint with each of some values in a column, shape (value, row, class)."""
    many = np.tile(asked, len(values))
    encoded = rows.with_values(many, name, np.repeat(values, len(asked)))
    joint = rows.posterior.log_joint(encoded, len(many))
    return joint.reshape(len(values), len(asked), -1)


def log_joints_of_counts(
    rows: Rows, asked: np.ndarray, name: Name
) -> tuple[np.ndarray, np.ndarray]:
    """Return the log joint of the counts 0, 1, ..., and which rows may hold larger ones."""
    joint = rows.posterior.log_joint(take_rows(rows.encoded, asked), len(asked))
    blank = np.logaddexp.reduce(joint, axis=1)
    found, reached = [], np.zeros(len(asked))
    for first in range(0, MOST_COUNTS, COUNTS):
        counts = np.arange(first, first + COUNTS, dtype=float)
        found.append(log_joints(rows, asked, name, counts))
        with np.errstate(invalid="ignore"):
            reached += np.exp(np.logaddexp.reduce(found[-1], axis=2) - blank).sum(axis=0)
        short = reached < 1 - LEFT_OUT
        if not short.any():
            break
    return np.concatenate(found), np.flatnonzero(short)
