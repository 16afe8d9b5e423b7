"""Leave-one-out log loss of a fit, with a warning if that of the class frequencies is lower."""

import numpy as np

from bayesgen.calibrate import log_loss_at
from bayesgen.classes import is_stated
from bayesgen.errors import BayesgenError, Cure, WorseThanFrequencies, warn
from bayesgen.estimators.fitted import Fitted
from bayesgen.estimators.judged_rows import (
    ACCURACY,
    LOSS,
    LOSS_UNDER_PRIOR,
    ROWS_JUDGED,
    judged_rows,
)
from bayesgen.estimators.training_rows import TrainingRows
from bayesgen.inference import log_class_probabilities
from bayesgen.inference.leave_one_out import LabelledRows, indispensable
from bayesgen.likelihoods.protocols import Vectorised
from bayesgen.membership import expected, shares_of
from bayesgen.table import few_by_content

FEW = 20_000
"""Rows of a large table from which those that are scored are chosen."""
ENOUGH, ERRORS = 20, 1.0
"""Rows, and standard errors by which the class frequencies must be better, for a warning. In the
lectures' tables of 14 and 8 rows (play tennis, voters) they are better by .1 to 1.8 of them by
chance; in biopsy (699 rows) by 1.8 because its columns repeat each other."""


def scored(fitted: Fitted, rows: TrainingRows) -> dict[str, float] | None:
    """Return the leave-one-out log loss of a fit and of the class frequencies; None: not cheap.

    Both take the frequencies of the classes as they are in the rows, whatever prior is stated for
    others; where one is stated, the loss in a population that has it comes too. Exact: each judged
    row is given all other rows, judged or not.

    Args:
        fitted: the fit.
        rows: those of the fit.
    """
    state = fitted.state
    closed = all(isinstance(likelihood, Vectorised) for likelihood in state.likelihoods.values())
    if fitted.posterior.report.method != "exact" or not closed:
        return None
    if rows.table.is_sparse:
        return None
    n = len(rows.codes)
    # its fit reads every cell once, and a row left out costs many times as much, in every class
    cells = 2 * len(state.classes) * len(state.schema.used())
    few = few_by_content(rows.table, FEW)
    judged = judged_rows([rows if len(few) == n else rows.only(few)], state.classes, cells)
    positions, left_out = few[judged.rows], np.arange(len(judged.rows))
    y, weight = rows.membership(state.classes)[positions], rows.weight[positions]
    if len(positions) == n:
        encoded = rows.encode(state.schema, fitted.unseen)
    else:
        encoded = state.schema.encode(rows.table.take(positions), fitted.unseen)
        # a row that alone varies could not be subtracted, and the others are not at hand
        for name, likelihood in state.likelihoods.items():
            if likelihood.kind == "numbers":
                ones = np.ones(len(y))
                left_out = np.setdiff1d(left_out, indispensable(encoded[name], y, ones, ones))
        if not len(left_out):
            return None
    # each judged row stands for its share of the table: none is then the last of its kind
    share = weight * (n / len(y))
    away, content = judged.copies.away[judged.rows], judged.copies.content[judged.rows]
    labelled = LabelledRows(encoded, y, share, away, left_out, content)
    stated, classes = is_stated(fitted.class_prior), fitted.posterior.log_classes()
    try:
        scores = fitted.under_frequencies().leave_one_out(labelled)
    except BayesgenError:  # a class is too small to lose a row under an improper prior
        return None
    y, weight = y[left_out], judged.weight[left_out]
    log_proba = log_class_probabilities(scores.joint, scores.log_classes)
    loss, right = -expected(log_proba, y), shares_of(y, log_proba.shape[1])
    right = right[np.arange(len(y)), log_proba.argmax(axis=1)]
    frequencies = -expected(scores.log_classes, y)
    gap, total = loss - frequencies, weight.sum()
    excess = gap @ weight / total
    under_prior = {}
    if stated:
        later = scores.under_classes(classes)
        log_proba = log_class_probabilities(later.joint, later.log_classes)
        population = {"frequencies": np.exp(classes), "weight": weight}
        loss_there = log_loss_at(y, log_proba, range(len(classes)), **population)
        under_prior = {LOSS_UNDER_PRIOR: loss_there}
    return {
        LOSS: float(loss @ weight / total),
        "log loss of class frequencies": float(frequencies @ weight / total),
        "standard error of their difference": float(np.sqrt(weight @ (gap - excess) ** 2) / total),
        ACCURACY: float(right @ weight / total),
        ROWS_JUDGED: float(len(left_out)),
        **under_prior,
    }


def warn_of(estimator: str, details: dict[str, float]) -> None:
    """Warn if the class frequencies alone predict the rows better, by more than chance explains.

    That is, by more than ERRORS standard errors in at least ENOUGH rows.
    """
    excess = details[LOSS] - details["log loss of class frequencies"]
    chance = ERRORS * details["standard error of their difference"]
    if details[ROWS_JUDGED] >= ENOUGH and excess > chance:
        warn(
            WorseThanFrequencies(
                "{estimator}: the class frequencies alone predict the rows of the fit, each left "
                "out, better than this model does (report_.details has both log losses).",
                Cure(
                    "Use bg.StackedClassifier(), or {estimator}(temper='columns').",
                    "Use --model stacked.",
                ),
                estimator=estimator,
            )
        )
