"""From joint log densities of a row to its class probabilities, their logarithms and log-odds.

All readings start from the same logarithms, so that they cannot disagree.
"""

import functools

import numpy as np
from jaxtyping import Float

from bayesgen.typing import Joint

LogClasses = Float[np.ndarray, " class"]


def row_max(joint: Joint) -> Float[np.ndarray, " row"]:
    """Return the largest entry of each row."""
    # class by class: NumPy reduces along a short last axis ten times as slowly (measured)
    return functools.reduce(np.maximum, joint.T)


def class_probabilities(joint: Joint, log_classes: LogClasses) -> Joint:
    """Return class probabilities; a row impossible under every class gets the class prior."""
    odds = _relative(joint, log_classes)
    # in place: fresh pages cost as much as the exponentials
    np.exp(odds, out=odds)
    odds /= functools.reduce(np.add, odds.T)[:, None]
    return odds


def log_class_probabilities(joint: Joint, log_classes: LogClasses) -> Joint:
    """Return the logs of `class_probabilities`, exact also where the probability underflows."""
    logs = _relative(joint, log_classes)
    return logs - np.logaddexp.reduce(logs, axis=1, keepdims=True)


def log_odds(joint: Joint, log_classes: LogClasses) -> Float[np.ndarray, "row ..."]:
    """Return the logits of class probabilities: of the second of two, (row,), or of each."""
    logs = _relative(joint, log_classes)
    if logs.shape[1] == 2:
        return logs[:, 1] - logs[:, 0]
    rest = [np.logaddexp.reduce(np.delete(logs, k, axis=1), axis=1) for k in range(logs.shape[1])]
    return logs - np.stack(rest, axis=1)


def _relative(joint: Joint, log_classes: LogClasses) -> Joint:
    """Return log probabilities relative to the most probable class of each row, which has 0.

    Relative because at -1e9 a logarithm has seven digits behind the point left.
    A row impossible under every class says nothing, and the class prior stands.
    """
    top = row_max(joint)[:, None]
    impossible = np.isneginf(top)
    if impossible.any():
        joint = np.where(impossible, log_classes, joint)
        top = np.where(impossible, log_classes.max(), top)
    return joint - top
