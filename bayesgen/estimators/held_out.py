"""What a classifier says of rows that it has not seen: exactly where it can, else by folds."""

import numpy as np
from jaxtyping import Bool
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from bayesgen.errors import UnsupportedInference
from bayesgen.estimators import rows
from bayesgen.estimators.classifier import Classifier
from bayesgen.estimators.inferring import leave_one_out
from bayesgen.inference import Posterior, PowerPosterior
from bayesgen.inference.power_posterior import tempered
from bayesgen.typing import Joint

FOLDS = 10
Batches = tuple[tuple[object, object, object], ...]
"""Rows, labels and weights of each call of fit or partial_fit."""


def held_out(member: Classifier, batches: Batches, classes: np.ndarray) -> Joint:
    """Return log P(y = k given x_i, the rows without i), shape (row, class).

    By exact leave-one-out where the member has a closed form; otherwise each fold is predicted by a
    member fitted to the other nine. A row of weight 2 is the row twice: one of them is left out.

    Args:
        member: fitted to the batches.
        batches: its rows.
        classes: the classes of the answer; one that a fold's fit has not seen has probability 0.

    Raises:
        UnsupportedInference: rows came in several batches, and the member has no closed form.
    """
    if member.inference_ in ("exact", "expected"):
        return _left_out(member, batches)
    if len(batches) > 1:
        raise UnsupportedInference.because(
            f"partial_fit with a member {type(member).__name__}",
            "only closed forms can say what they would have said without a row",
            "Call fit with all rows.",
        )
    return _by_folds(member, *batches[0], classes)


def marginal(member: Classifier, batches: Batches) -> Bool[np.ndarray, " row"]:
    """Return for which rows a fitted member integrates over their missing values."""
    parts = (member._encode_rows(X) for X, _, _ in batches)
    return np.concatenate([posterior.is_marginal(x, n) for posterior, x, n in parts])


def _left_out(member: Classifier, batches: Batches) -> Joint:
    read = [member._encode_rows(X) for X, _, _ in batches]
    codes = np.concatenate([member._codes(y) for _, y, _ in batches])
    weight = np.concatenate(
        [rows.weights_of(w, n) for (_, _, n), (_, _, w) in zip(read, batches, strict=True)]
    )
    joint, of_classes = leave_one_out(
        member._state_,
        member.class_prior,
        rows.joined([encoded for _, encoded, _ in read]),
        codes,
        weight,
        rows.once(weight),
    )
    return _log_proba(member._fitted_posterior(), joint, of_classes)


def _log_proba(posterior: Posterior, joint: Joint, of_classes: Joint) -> Joint:
    if not isinstance(posterior, PowerPosterior):
        return tempered(of_classes, joint, 1.0)
    parts = [
        np.log(weight) + tempered(of_classes, joint, power)
        for power, weight in zip(posterior.powers, posterior.weights, strict=True)
    ]
    return np.logaddexp.reduce(parts, axis=0)


def _by_folds(
    member: Classifier, X: object, y: object, sample_weight: object, classes: np.ndarray
) -> Joint:
    # a third of what a fresh process loads for an exact fit, which has no use for it
    from sklearn.model_selection import KFold

    labels = rows.labels_of(y)
    weight = rows.weights_of(sample_weight, len(labels))
    out = np.full((len(labels), len(classes)), -np.inf)
    folds = KFold(min(FOLDS, len(labels)), shuffle=True, random_state=0)
    for others, fold in folds.split(labels):
        again = clone(member).fit(
            _safe_indexing(X, others), labels[others], sample_weight=weight[others]
        )
        with np.errstate(divide="ignore"):
            logs = np.log(again.predict_proba(_safe_indexing(X, fold)))
        out[np.ix_(fold, np.searchsorted(classes, again.classes_))] = logs
    return out
