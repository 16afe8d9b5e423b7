"""Fitted attributes that are computed on first access.

`partial_fit` adds statistics; of a hundred batches in a row nobody asks for ninety-nine posteriors.
"""

from collections.abc import Sequence
from typing import Any

from bayesgen.estimators.training import TrainingState
from bayesgen.estimators.training_rows import TrainingRows


def settled_later() -> Any:
    """Return the declaration of an attribute that inference sets."""
    return SettledLater()


class SettledLater:
    """An attribute of a classifier that inference sets: found by inference if it has not run."""

    def __set_name__(self, owner: type, name: str) -> None:
        """Remember the name of the attribute."""
        self.name = name

    def __get__(self, classifier: Any, owner: type | None = None) -> Any:
        """Return the attribute; asked for only where the classifier itself does not hold it.

        Raises:
            AttributeError: the classifier is not fitted, or its rows are of a single class.
        """
        if classifier is None:
            return self
        settle(classifier)
        if self.name not in vars(classifier):
            text = f"{type(classifier).__name__!r} object has no attribute {self.name!r}"
            raise AttributeError(text, name=self.name, obj=classifier)
        return vars(classifier)[self.name]


SETTLED = ("_posterior", "report_", "inference_")
"""The attributes that inference sets."""
CLOSED = ("exact", "mle")
"""Methods that wait: closed forms, which hardly fail and cannot be interrupted."""


def settle(classifier: Any) -> None:
    """Run inference if it waits for someone to ask for its result."""
    fitted = vars(classifier)
    if "state_" in fitted and "_posterior" not in fitted:
        classifier._finish_fit(classifier.state_, classifier._seed)


def leave_unsettled(
    classifier: Any, state: TrainingState, seed: int, seen: Sequence[TrainingRows]
) -> bool:
    """Set the attributes of a fit but for those of inference; return whether they can wait.

    They cannot where inference samples or searches, or reads rows as well as the state.
    """
    report = vars(classifier).get("report_")
    closed = report is None or report.method in CLOSED
    if seen or state.unlabelled is not None or not closed:
        return False
    for name in SETTLED:
        vars(classifier).pop(name, None)
    classifier.state_, classifier._seed, classifier._training = state.to_keep(), seed, ()
    classifier.classes_ = state.classes
    return True
