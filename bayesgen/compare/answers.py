"""One classifier fitted on the rows of one fold, and what it says about the rows left out."""

import dataclasses
import time
import warnings

import numpy as np
from jaxtyping import Shaped

from bayesgen.compare.folds import Fold
from bayesgen.compare.rows import take
from bayesgen.typing import Joint


@dataclasses.dataclass(frozen=True, eq=False)
class Answer:
    """What one fit brought.

    probability: shape (row, class), over all classes of the comparison.
    fit_seconds, predict_seconds: wall-clock time. method: `inference_`, empty if there is none.
    warnings: the texts of all warnings, in order.
    """

    probability: Joint
    fit_seconds: float
    predict_seconds: float
    method: str
    warnings: tuple[str, ...]


def answer(
    estimator: object,
    X: object,
    labels: Shaped[np.ndarray, " row"],
    fold: Fold,
    classes: Shaped[np.ndarray, " class"],
) -> Answer:
    """Fit a clone of a classifier to some rows and return what it says about others.

    Args:
        estimator: a scikit-learn classifier with predict_proba; it stays unfitted.
        X: dataframe or array, shape (row, feature).
        labels: one for each row.
        fold: positions of the rows to fit, and of those to predict.
        classes: all labels, sorted; those that the fitted rows do not show get probability 0.
    """
    from sklearn.base import clone

    rows, others = fold
    train, test, clf = take(X, rows), take(X, others), clone(estimator)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        start = time.perf_counter()
        clf.fit(train, labels[rows])
        fitted = time.perf_counter()
        probability = clf.predict_proba(test)
        end = time.perf_counter()
    aligned = np.zeros((len(others), len(classes)))
    aligned[:, np.searchsorted(classes, clf.classes_)] = probability
    texts = tuple(str(warning.message) for warning in caught)
    return Answer(aligned, fitted - start, end - fitted, getattr(clf, "inference_", ""), texts)


def seconds(answers: list[Answer]) -> dict[str, float]:
    """Return the mean seconds of a fold and their standard errors."""
    found = {}
    for name in ("fit_seconds", "predict_seconds"):
        each = np.array([getattr(a, name) for a in answers])
        error = each.std(ddof=1) / np.sqrt(len(each)) if len(each) > 1 else np.nan
        found[name], found[f"{name}_se"] = float(each.mean()), float(error)
    return found


def methods(answers: list[Answer]) -> str:
    """Return every method that ran, in order."""
    return "/".join(dict.fromkeys(a.method for a in answers))


def distinct_warnings(answers: list[Answer], notes: tuple[str, ...]) -> tuple[str, ...]:
    """Return each text once, in order; those that notes say of the whole table are left out."""
    texts = dict.fromkeys(text for a in answers for text in a.warnings)
    return tuple(text for text in texts if text not in notes)
