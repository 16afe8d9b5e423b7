"""Predictions of held-out rows, which determine the weights of stack members."""

import dataclasses
from typing import cast

import numpy as np
from jaxtyping import Bool, Float, Int
from sklearn.base import clone

from bayesgen import predict
from bayesgen.estimators.classifier import Classifier
from bayesgen.estimators.judged_rows import JudgedRows
from bayesgen.estimators.training_rows import TrainingRows
from bayesgen.inference import Posterior, class_probabilities
from bayesgen.inference.scores import Scores, likelihood_of
from bayesgen.typing import Joint, Labels

FOLDS = 10
"""Folds of rows by which members without a closed form are judged."""


@dataclasses.dataclass(frozen=True, eq=False)
class HeldOut:
    """Predictions of a member for rows that it was not fitted to.

    scores: of the rows. log_proba: log P(y = k given x_i, other rows), (row, class). able: the rows
    whose missing values the member integrates over.
    """

    scores: Scores
    log_proba: Joint
    able: Bool[np.ndarray, " row"]


@dataclasses.dataclass(frozen=True, eq=False)
class Attempt:
    """The members that could be fitted, and their predictions of held-out rows, by name.

    judged: the rows that are held out. failed: why other members could not be fitted.
    """

    members: dict[str, Classifier]
    held_out: dict[str, HeldOut]
    judged: JudgedRows
    failed: dict[str, str]


def fitted_posterior(member: Classifier) -> Posterior:
    """Return the posterior of a member fitted to at least two classes."""
    return cast(Posterior, member._posterior)


def held_out(
    member: Classifier,
    rows: TrainingRows,
    read: TrainingRows,
    classes: np.ndarray,
    judged: Int[np.ndarray, " judged"],
) -> HeldOut:
    """Return what a fitted member predicts of rows when it is fitted without them.

    Uses exact leave-one-out where the member has a closed form; otherwise each of ten folds is
    predicted by a member fitted to the other nine. Of a row of weight 2, weight 1 is left out.

    Args:
        member: fitted to the rows.
        rows: of the fit.
        read: the same, as the member reads them.
        classes: of the result; a class absent from a fold's training rows has probability 0.
        judged: positions of the rows to predict.
    """
    posterior = fitted_posterior(member)
    labelled = member.state_.labelled((read,), member.unseen).judging(judged)
    able = posterior.components.is_marginal(labelled.left_out.encoded, len(judged))
    if member.inference_ in ("exact", "expected"):
        scores = member.state_.leave_one_out(member.class_prior, labelled, posterior.reader)
        return HeldOut(scores, posterior.log_proba(scores), able)
    codes = labelled.y
    joint, log_classes = posterior.log_joint(labelled.encoded, len(codes)), posterior.log_classes()
    proba = class_probabilities(joint, log_classes)
    folds = folds_of(codes, proba[np.arange(len(codes)), codes], joint)
    again = rows.labelled if read.unlabelled is None else rows
    log_proba = _by_folds(member, again, classes, folds)[judged]
    parts = likelihood_of(log_proba, log_classes)[:, None]
    return HeldOut(Scores(log_proba, log_classes, parts), log_proba, able)


def folds_of(
    codes: Labels, proba: Float[np.ndarray, " row"], joint: Joint
) -> Int[np.ndarray, " row"]:
    """Return the fold of each row: rows of a class in turn, by how well the fit predicts them.

    It depends neither on the order of rows nor on units.

    Args:
        codes: class codes.
        proba: P(y_i given x_i and all rows).
        joint: log p(x_i, y = k given all rows), by which ties are broken.
    """
    folds = np.empty(len(codes), dtype=int)
    order = np.lexsort([*np.round([*joint.T, proba], 9), codes])
    folds[order] = np.arange(len(codes)) % FOLDS
    return folds


def _by_folds(
    member: Classifier,
    rows: TrainingRows,
    classes: np.ndarray,
    folds: Int[np.ndarray, " row"],
) -> Joint:
    """Return log P(y = k given x_i and the rows of the other folds), shape (row, class)."""
    labelled, unlabelled = (np.flatnonzero(a) for a in (rows.codes >= 0, rows.codes < 0))
    out = np.full((len(labelled), len(classes)), -np.inf)
    for number in np.unique(folds).tolist():
        fold, others = np.flatnonzero(folds == number), np.flatnonzero(folds != number)
        again = clone(member)
        fitted = again._own_rows(rows.only(np.union1d(labelled[others], unlabelled)), reset=True)
        again._fit_rows(fitted, fitted.classes)
        tested = again._own_rows(rows.only(labelled[fold]), reset=False)
        encoded = tested.encode(again.state_.schema, again.unseen)
        joint, log_classes = predict.joint_and_prior(fitted_posterior(again), encoded, len(fold))
        proba = class_probabilities(joint, log_classes)
        with np.errstate(divide="ignore"):
            out[np.ix_(fold, np.searchsorted(classes, again.classes_))] = np.log(proba)
    return out
