"""Fit of a classifier to batches of rows, with inference run once."""

from collections.abc import Iterable
from typing import TypeVar

import numpy as np

from bayesgen.errors import TooFewClasses
from bayesgen.estimators.classifier import Classifier

C = TypeVar("C", bound=Classifier)


def fit_batches(classifier: C, batches: Iterable[tuple[object, object]]) -> C:
    """Fit to batches of rows and labels; inference runs once, after the last batch.

    The result equals a single fit to all rows. Memory is needed for one batch and the statistics
    (the rows themselves, for families without sufficient statistics). New classes and levels may
    appear in any batch; columns and their types must be the same in every batch.

    Args:
        classifier: not fitted yet.
        batches: (X, y) pairs, as `fit` takes them.

    Raises:
        BayesgenError: as in `fit`, or there are no rows.
    """
    classes = np.empty(0, dtype=object)
    classifier._training = ()
    for X, y in batches:
        first = not hasattr(classifier, "state_")
        rows = classifier._training_rows(X, y, None, reset=first)
        classifier.state_, classifier._seed, classifier._training = classifier._accumulate(rows)
        classes = classifier.classes_ = classifier.state_.classes
    if len(classes) < 2:
        raise TooFewClasses.found(classes.tolist())
    classifier._finish_fit(classifier.state_, classifier._seed, classifier._training)
    return classifier
