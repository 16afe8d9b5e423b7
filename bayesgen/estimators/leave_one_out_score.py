"""Leave-one-out log loss of a fit, with a warning if that of the class frequencies is lower."""

import numpy as np
from jaxtyping import Int

from bayesgen.classes import Spec
from bayesgen.errors import BayesgenError, Cure, WorseThanFrequencies, warn
from bayesgen.estimators.judged_rows import ROWS_JUDGED, judged_rows
from bayesgen.estimators.training import TrainingState
from bayesgen.estimators.training_rows import TrainingRows, one_each
from bayesgen.inference import Posterior, log_class_probabilities
from bayesgen.inference.components import take_rows
from bayesgen.likelihoods.normal_statistics import class_moments
from bayesgen.likelihoods.protocols import Vectorised
from bayesgen.table import SparseTable, few_by_content
from bayesgen.typing import Encoded, Labels

FEW = 20_000
"""Rows of a large table from which those that are scored are chosen."""
ENOUGH, ERRORS = 20, 1.0
"""Rows, and standard errors by which the class frequencies must be better, for a warning. In the
lectures' tables of 14 and 8 rows (play tennis, voters) they are better by .1 to 1.8 of them by
chance; in biopsy (699 rows) by 1.8 because its columns repeat each other."""


def scored(
    state: TrainingState, prior: Spec, posterior: Posterior, rows: TrainingRows, unseen: str
) -> dict[str, float] | None:
    """Return the leave-one-out log loss of a fit and of the class frequencies; None: not cheap.

    Both take the frequencies of the classes as they are in the rows, whatever prior is stated for
    others. Exact: each judged row is given all other rows, judged or not.

    Args:
        state: of the fit.
        prior: of the classes.
        posterior: of the fit.
        rows: those of the fit.
        unseen: the argument of the classifier.
    """
    closed = all(isinstance(likelihood, Vectorised) for likelihood in state.likelihoods.values())
    if posterior.report.method != "exact" or not closed or isinstance(rows.table, SparseTable):
        return None
    n = len(rows.codes)
    codes = rows.codes_among(state.classes)
    # its fit reads every cell once, and a row left out costs many times as much, in every class
    cells = 2 * len(state.classes) * len(state.schema.used())
    few = few_by_content(rows.table, FEW)
    some = rows if len(few) == n else rows.only(few)
    found = judged_rows([some], state.classes, cells)
    judged = few[found.rows]
    if len(judged) < n:
        encoded = state.schema.encode(rows.table.take(judged), unseen)
        safe = _subtractable(state, encoded, codes[judged])
        if not len(safe):
            return None
        encoded, judged, found = take_rows(encoded, safe), judged[safe], found.only(safe)
    else:
        encoded = rows.encode(state.schema, unseen)
    y, weight = codes[judged], found.weight
    # each judged row stands for its share of the table: none is then the last of its kind
    own = rows.weight[judged]
    share = own * (n / len(judged))
    counts = prior if isinstance(prior, int | float | np.number) else 1.0
    try:
        scores = state.leave_one_out(counts, posterior.reader, encoded, y, share, one_each(own))
    except BayesgenError:  # a class is too small to lose a row under an improper prior
        return None
    place = np.arange(len(y)), y
    loss = -log_class_probabilities(scores.joint, scores.log_classes)[place]
    frequencies = -scores.log_classes[place]
    mean, gap = float(loss @ weight / weight.sum()), loss - frequencies
    excess = float(gap @ weight / weight.sum())
    return {
        "leave-one-out log loss": mean,
        "log loss of class frequencies": float(frequencies @ weight / weight.sum()),
        "standard error of their difference": float(
            np.sqrt(weight @ (gap - excess) ** 2) / weight.sum()
        ),
        ROWS_JUDGED: float(len(judged)),
    }


def _subtractable(state: TrainingState, encoded: Encoded, y: Labels) -> Int[np.ndarray, " row"]:
    """Return the rows that do not alone hold the variance of a column within classes.

    To subtract such a row from the statistics would leave rounding error, and the other rows, by
    which it could be replaced, are not at hand.
    """
    safe = np.ones(len(y), dtype=bool)
    for name, likelihood in state.likelihoods.items():
        if likelihood.kind == "numbers":
            x = encoded[name]
            count, mean, scatter = class_moments(x, y, np.ones(len(y)), len(state.classes))
            held = np.nan_to_num((x - mean[y]) ** 2) * (count / np.maximum(count - 1, 1))[y]
            safe &= ~((held > 0) & (held >= (1 - 1e-9) * scatter.sum(axis=0))).any(axis=1)
    return np.flatnonzero(safe)


def warn_of(estimator: str, found: dict[str, float]) -> None:
    """Warn if the class frequencies alone predict the rows better, by more than chance explains.

    That is, by more than ERRORS standard errors in at least ENOUGH rows.
    """
    own, frequencies = found["leave-one-out log loss"], found["log loss of class frequencies"]
    chance = ERRORS * found["standard error of their difference"]
    if found[ROWS_JUDGED] >= ENOUGH and own - frequencies > chance:
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
