"""Predictive value of the missing pattern alone, with a warning if it is large."""

import numpy as np
from jaxtyping import Float

from bayesgen.classes import prior_of_learning
from bayesgen.errors import Cure, InformativePattern, warn
from bayesgen.estimators.fitted import Fitted
from bayesgen.estimators.judged_rows import judged_rows
from bayesgen.estimators.training_rows import TrainingRows
from bayesgen.inference.leave_one_out import LabelledRows, leave_one_out
from bayesgen.inference.scores import log_class_probabilities
from bayesgen.membership import expected
from bayesgen.typing import Joint, Membership, Weights

MUCH = 0.1
"""Share of the log loss of the class prior: .07 nat for two classes of equal size, several times
the .01 to .02 nat between the best classifiers of a table (docs/explanation/calibration.md). To
lose it would cost more than any choice among them gains."""


def warn_of(fitted: Fitted, rows: TrainingRows) -> None:
    """Warn if the missing pattern alone predicts the class well.

    Args:
        fitted: a model that reads the missing pattern.
        rows: some that were fitted, of which some are predicted, each given all others.
    """
    state = fitted.state
    columns = state.split_columns(state.pattern_blocks())
    problem = columns.problem(prior_of_learning(fitted.class_prior))
    if not problem.model.blocks:
        return
    judged = judged_rows([rows], state.classes)
    encoded = columns.schema.encode(rows.table.take(judged.rows))
    y, weight = rows.membership(state.classes)[judged.rows], rows.weight[judged.rows]
    away, content = judged.copies.away[judged.rows], judged.copies.content[judged.rows]
    known = rows.left_out_scores
    labelled = LabelledRows(encoded, y, weight, away, copies=content, known=known)
    scores = leave_one_out(problem, labelled)
    names = [columns.schema.blocks[block][0].reads for block in problem.model.blocks]
    log_classes, parts = scores.log_classes, scores.parts.swapaxes(0, 1)
    before = mean_log(log_classes, np.zeros_like(log_classes), y, judged.weight)
    after = mean_log(log_classes, scores.parts.sum(axis=1), y, judged.weight)
    gain = after - before
    if not gain > MUCH * -before:
        return
    alone = np.array([mean_log(log_classes, part, y, judged.weight) for part in parts])
    order = np.argsort(before - alone, kind="stable")
    first = [names[i] for i in order if alone[i] - before > MUCH * gain] or [names[order[0]]]
    warn(
        InformativePattern(
            "which cells of {columns:named column} are missing predicts the class by itself (log "
            "loss {after:.2f}, against {before:.2f} of the class prior); predictions will be wrong "
            "if the reason why cells are missing changes.",
            Cure("Pass missing='ignorable' if it may.", "If it may, use --model naive-bayes."),
            columns=first,
            before=-before,
            after=-after,
        )
    )


def mean_log(
    log_classes: Joint, part: Float[np.ndarray, "row class"], y: Membership, weight: Weights
) -> float:
    """Return the weighted mean of log P(y_i given a part of row i)."""
    logs = expected(log_class_probabilities(log_classes + part, log_classes), y)
    return float(np.where(np.isfinite(logs), logs, 0.0) @ weight / weight.sum())
