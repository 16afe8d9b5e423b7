"""Log densities of rows by class, and class probabilities, their logarithms and log-odds from them.

All come from the same relative logarithms, so that they cannot disagree.
"""

import dataclasses
import functools

import numpy as np
from jaxtyping import Float

from bayesgen.likelihoods.special_functions import log_sum_exp
from bayesgen.typing import Joint, Parts

RULED_OUT = 50.0
"""Log density ratio at which a part rules a class out: more of it counts as no more, so that one
part cannot veto a class that all others support."""

LogClasses = Float[np.ndarray, "... class"]


@dataclasses.dataclass(frozen=True, eq=False)
class Scores:
    """Log densities of rows, in total and by part, before any calibration.

    joint: log p(x, y = k given data), (row, class). log_classes: log P(y = k) within it, (class,)
    or (row, class). parts: log p(part of x given y = k), (row, part, class), up to a constant of
    each row and part: the blocks of a model, or the members of a mixture and the blocks of one.
    """

    joint: Joint
    log_classes: LogClasses
    parts: Parts

    def under_classes(self, log_classes: Float[np.ndarray, " class"]) -> "Scores":
        """Return the scores of the same rows under other class probabilities.

        log_classes: log P(y = k).
        """
        shape = self.joint.shape
        likelihood = likelihood_of(self.joint, np.broadcast_to(self.log_classes, shape))
        later = np.broadcast_to(log_classes, shape)
        return Scores(likelihood + later, later, self.parts)


def class_probabilities(joint: Joint, log_classes: LogClasses | None = None) -> Joint:
    """Return class probabilities; rows impossible under every class get the class prior.

    log_classes: log P(y = k); None: no row is impossible.
    """
    odds = _relative(joint, log_classes)
    # in place: fresh pages cost as much as the exponentials
    np.exp(odds, out=odds)
    odds /= functools.reduce(np.add, odds.T)[:, None]
    return odds


def log_class_probabilities(joint: Joint, log_classes: LogClasses | None = None) -> Joint:
    """Return the logs of `class_probabilities`, exact also where the probability underflows."""
    return normalized(_relative(joint, log_classes))


def log_odds(joint: Joint, log_classes: LogClasses | None = None) -> Float[np.ndarray, "row ..."]:
    """Return the logits of class probabilities: of the second of two, (row,), or of each."""
    logs = _relative(joint, log_classes)
    if logs.shape[1] == 2:
        return logs[:, 1] - logs[:, 0]
    rest = [np.logaddexp.reduce(np.delete(logs, k, axis=1), axis=1) for k in range(logs.shape[1])]
    return logs - np.stack(rest, axis=1)


def _relative(joint: Joint, log_classes: LogClasses | None) -> Joint:
    """Return log probabilities relative to the most probable class of each row, which has 0.

    Relative because at -1e9 a logarithm has only seven decimals left. A row impossible under every
    class has the class prior.
    """
    # class by class: NumPy reduces along a short last axis ten times as slowly (measured)
    top = functools.reduce(np.maximum, joint.T)[:, None]
    if log_classes is not None and (impossible := np.isneginf(top)).any():
        joint = np.where(impossible, log_classes, joint)
        top = np.where(impossible, log_classes.max(), top)
    return joint - top


def likelihood_of(joint: LogClasses, log_classes: LogClasses) -> LogClasses:
    """Return log p(x given y = k) up to a constant of the row; -inf for impossible classes."""
    possible = np.isfinite(log_classes)
    return np.where(possible, joint - np.where(possible, log_classes, 0.0), -np.inf)


def contrasts(parts: Float[np.ndarray, "... part class"]) -> Float[np.ndarray, "... class part"]:
    """Return each part's log densities relative to their mean over classes, parts last.

    The classes that a part rules out are RULED_OUT below its best one; a part that rules out every
    class contributes 0.
    """
    # class by class: NumPy reduces along a short last axis ten times as slowly (measured)
    top = functools.reduce(np.maximum, np.moveaxis(parts, -1, 0))
    top = np.where(np.isneginf(top), 0.0, top)
    ratio = np.subtract(np.swapaxes(parts, -1, -2), top[..., None, :], order="C")
    np.maximum(ratio, -RULED_OUT, out=ratio)
    ratio -= ratio.mean(axis=-2, keepdims=True)
    return ratio


def add_weighed(
    total: Float[np.ndarray, "row class draw"],
    part: Float[np.ndarray, "row class draw"],
    weight: Float[np.ndarray, "*#row draw"],
) -> None:
    """Add a part's log densities times weights, in place, bounded as in `contrasts`.

    Relative to the best class: contrasts up to a constant of the row and draw, for less work.
    """
    top = functools.reduce(np.maximum, np.swapaxes(part, 0, 1))
    ratio = part - np.where(np.isneginf(top), 0.0, top)[:, None]
    np.maximum(ratio, -RULED_OUT, out=ratio)
    ratio *= weight
    total += ratio


def normalized(logits: np.ndarray) -> np.ndarray:
    """Return logits minus their log sum of exponentials over classes."""
    return logits - log_sum_exp(logits)[..., None]
