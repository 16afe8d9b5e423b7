"""Fitted attributes that are computed on first access.

`partial_fit` adds statistics; of a hundred batches in a row nobody asks for ninety-nine posteriors.
"""

from typing import Any


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
        classifier._settle()
        if self.name not in vars(classifier):
            text = f"{type(classifier).__name__!r} object has no attribute {self.name!r}"
            raise AttributeError(text, name=self.name, obj=classifier)
        return vars(classifier)[self.name]


SETTLED = ("_posterior", "report_", "inference_")
"""The attributes that inference sets."""
CLOSED = ("exact", "mle")
"""Methods that wait: closed forms, which hardly fail and cannot be interrupted."""
