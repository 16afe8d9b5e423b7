"""Labels and the probabilities of their classes, as all scores read them."""

from collections.abc import Collection, Hashable

import numpy as np

from bayesgen.errors import InvalidArgument, InvalidData
from bayesgen.typing import Joint, Membership

Classes = Collection | None
"""The class of each column of probabilities; None: those of the labels, sorted."""


def read(y_true: object, proba: object, classes: Classes = None) -> tuple[Membership, Joint]:
    """Return the class code of each row, or its shares of the classes, and the probabilities.

    Args:
        y_true: labels, shape (row,), or shares of the classes, shape (row, class).
        proba: class probabilities, shape (row, class).
        classes: the class of each column of proba, as `classes_` of the classifier; None: the
            labels, sorted, if there are as many as columns.

    Raises:
        InvalidData: there is not one row of probabilities for each label.
        InvalidArgument: classes are not one for each column, or lack a label.
    """
    proba, labels = np.asarray(proba, dtype=float), np.asarray(y_true)
    if proba.ndim != 2 or len(proba) != len(labels):
        raise InvalidData(
            "y_true has {count:,} labels and proba the shape {shape}; one row of class "
            "probabilities for each label is needed.",
            "Pass proba=clf.predict_proba(X), of the rows of the labels.",
            count=len(labels),
            shape=proba.shape,
        )
    size = proba.shape[1]
    if labels.ndim == 2:
        if labels.shape != proba.shape:
            raise InvalidData(
                "y_true has the shape {found} and proba {shape}; shares of the classes have the "
                "columns of proba.",
                "Pass labels, one for each row, or a share of each class.",
                found=labels.shape,
                shape=proba.shape,
            )
        return labels.astype(float), proba
    return _codes(labels, size, classes), proba


def names(y_true: object, size: int, classes: Classes) -> list[Hashable]:
    """Return the classes in the order of the columns of probabilities."""
    found = np.unique(np.asarray(y_true)) if classes is None else classes
    listed = found.tolist() if isinstance(found, np.ndarray) else list(found)
    if len(listed) != size:
        what = "y_true holds" if classes is None else "classes names"
        raise InvalidArgument(
            "{what} the classes {found:listed 10}, and proba has {size} columns.",
            "Pass the class of each column: classes=clf.classes_.",
            what=what,
            found=listed,
            size=size,
        )
    return listed


def _codes(labels: np.ndarray, size: int, classes: Classes) -> np.ndarray:
    counted = isinstance(classes, range) and classes == range(size) and labels.dtype.kind in "iu"
    if counted and labels.min(initial=0) >= 0 and labels.max(initial=0) < size:
        return labels
    place = {label: code for code, label in enumerate(names(labels, size, classes))}
    codes = np.array([place.get(label, -1) for label in labels.tolist()], dtype=int)
    if (codes < 0).any():
        raise InvalidArgument(
            "y_true holds {label!r}, which is none of the classes {existing:listed 10}.",
            "Pass the class of each column, classes=clf.classes_, or leave out rows of others.",
            label=labels[codes < 0].tolist()[0],
            existing=list(place),
        )
    return codes
