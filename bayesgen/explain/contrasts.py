"""From log likelihoods of all classes to what they say for one against others."""

from collections.abc import Callable, Hashable

import numpy as np

from bayesgen.errors import InvalidArgument

Contrast = Callable[[np.ndarray], np.ndarray]
"""(..., class) -> (..., contrast)"""


def log_odds(target: int, against: int) -> Contrast:
    """Return the difference of two classes: a log Bayes factor; NaN where neither is possible."""

    def contrast(logs: np.ndarray) -> np.ndarray:
        with np.errstate(invalid="ignore"):
            return logs[..., target, None] - logs[..., against, None]

    return contrast


def centred(logs: np.ndarray) -> np.ndarray:
    """Return every class minus the mean of the classes that are possible."""
    possible = ~np.isneginf(logs)
    total = np.where(possible, logs, 0.0).sum(axis=-1, keepdims=True)
    return logs - total / np.maximum(possible.sum(axis=-1, keepdims=True), 1)


def contrast_of(classes: list, target: Hashable, against: Hashable) -> tuple[list, Contrast]:
    """Return the classes that a contrast has a column for, or [None] for one, and the contrast.

    Of two classes it is that of the second against the first unless told otherwise; of more, of
    every class, or of `target`, against their mean, unless both classes are named.

    Raises:
        InvalidArgument: no such class, one class against itself, or nobody to speak for.
    """
    for word, name in (("target", target), ("against", against)):
        others = [label for label in classes if label != against or word == "against"]
        if name is not None and name not in others:
            raise InvalidArgument.not_one_of(word, name, others)
    if against is None and len(classes) > 2:
        if target is None:
            return classes, centred
        t = classes.index(target)
        return [None], lambda logs: centred(logs)[..., [t]]
    others = [label for label in classes if label != against]
    if target is None:
        if len(others) > 1 and against is not None:
            raise InvalidArgument.not_one_of("target", target, others)
        target = others[-1]
    if against is None:
        against = next(label for label in classes if label != target)
    return [None], log_odds(classes.index(target), classes.index(against))
