"""Inference about a population of unlabeled rows: prevalence and label shift."""

import contextlib

import numpy as np
from sklearn.utils import _safe_indexing

from bayesgen.errors import UnsupportedOperation
from bayesgen.estimators import validation
from bayesgen.estimators.estimator import Estimator
from bayesgen.estimators.training import check_rows_of_fit
from bayesgen.estimators.training_rows import UNLABELLED
from bayesgen.inference import Posterior
from bayesgen.prevalence import (
    Labeled,
    LeftOutRows,
    Populations,
    Prevalence,
    Request,
    estimated,
    require_prevalence,
    table_of_shift,
)
from bayesgen.typing import DataFrame


def prevalence(
    clf: Estimator, X_new: object, request: Request, *, checked: bool = True
) -> Prevalence:
    """Return the class frequencies of a population; see `Classifier.estimate_prevalence`.

    checked: whether label shift is.
    """
    posterior, encoded, n_rows = clf._encode_rows(X_new)
    weight = validation.weights_of(request.sample_weight, n_rows)
    counts = clf._fitted().state.statistics.count
    return estimated(
        request,
        posterior,
        encoded,
        weight,
        clf.classes_,
        counts,
        lambda: left_out_rows(clf),
        (lambda: populations(clf, X_new)) if checked else None,
    )


def populations(clf: Estimator, X_new: object) -> Populations:
    """Return the labeled rows of the fit beside new rows.

    Raises:
        UnsupportedOperation: the classifier does not keep the rows.
    """
    X, codes, weights = _labeled_rows(clf, *clf._rows_of_fit("estimate_prevalence"))
    return Populations(clf._read(X, reset=False), codes, weights, clf._read(X_new, reset=False))


def _labeled_rows(
    clf: Estimator, X: object, y: object, weight: object
) -> tuple[object, np.ndarray, np.ndarray]:
    """Return the rows that have a label and a weight above 0: X, class codes and weights."""
    codes = validation.class_codes(y, clf.classes_)
    weights = validation.weights_of(weight, len(codes))
    labeled = np.flatnonzero((codes != UNLABELLED) & (weights > 0))
    if len(labeled) < len(codes):
        X, codes, weights = _safe_indexing(X, labeled), codes[labeled], weights[labeled]
    return X, codes, weights


def left_out_rows(clf: Estimator) -> LeftOutRows:
    """Return predictions of the rows of the fit, each from the others.

    Raises:
        UnsupportedOperation: the posterior is not in closed form; the classifier does not keep the
            rows.
    """
    if clf._left_out is not None:
        return clf._left_out
    fitted = clf._fitted()
    fitted.posterior.components.require_leave_one_out("method='left_out'", "Pass method='density'")
    X, y, weight = clf._rows_of_fit("method='left_out'", "Pass method='density'.")
    _, encoded, n_rows = clf._encode_rows(X)
    codes = validation.class_codes(y, clf.classes_)
    return fitted.left_out_rows(encoded, codes, validation.weights_of(weight, n_rows))


def _leaves_rows_out(posterior: Posterior) -> bool:
    """Return whether rows can be left out, exactly or by reweighting draws."""
    try:
        posterior.components.require_loo()
    except UnsupportedOperation:
        return False
    return True


def label_shift(
    clf: Estimator, X_new: object, found: object, X: object, y: object, weight: object
) -> DataFrame:
    """Return whether more than class frequencies differs; see `Classifier.check_label_shift`."""
    if X is None or y is None:
        cure = "Pass check_label_shift(X_new, X=X, y=y)."
        X, y, weight = clf._rows_of_fit("check_label_shift", cure)
    if found is None:
        request = Request(1.0, "auto", 1000, None, random_state=0)
        found = prevalence(clf, X_new, request, checked=False)
    estimate = require_prevalence(found)
    other = clf.with_class_prior(estimate.draws.mean(axis=0))
    X, codes, weights = _labeled_rows(clf, X, y, weight)
    posterior, encoded, _ = other._encode_rows(X)
    joint = None
    if _leaves_rows_out(posterior):
        check_rows_of_fit(clf.classes_, clf._fitted().state.statistics.count, codes, weights)
        with contextlib.suppress(UnsupportedOperation):  # too few draws to smooth weights
            joint = other._fitted().left_out(encoded, codes, weights).joint
    fitted, new = other.predict_joint_log_proba(X), other.predict_joint_log_proba(X_new)
    labeled = Labeled(other._read(X, reset=False), codes, weights, joint, fitted)
    return table_of_shift(labeled, other._read(X_new, reset=False), new, estimate)
