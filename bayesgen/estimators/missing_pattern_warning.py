"""Predictive value of the missing pattern alone, with a warning if it is large."""

import dataclasses

import numpy as np
from jaxtyping import Float

from bayesgen.classes import Spec
from bayesgen.errors import Cure, InformativePattern, warn
from bayesgen.estimators.judged_rows import judged_rows
from bayesgen.estimators.training import TrainingState
from bayesgen.estimators.training_rows import TrainingRows, one_each
from bayesgen.inference import leave_one_out as loo
from bayesgen.inference.scores import log_class_probabilities
from bayesgen.model import Reader
from bayesgen.table import Name
from bayesgen.typing import Joint, Labels, Parts, Weights

MUCH = 0.1
"""Share of the log loss of the class prior: .07 nat for two classes of equal size, several times
the .01 to .02 nat between the best classifiers of a table (docs/explanation/calibration.md). To
lose it would cost more than any choice among them gains."""


def warn_of(state: TrainingState, prior: Spec, reader: Reader, rows: TrainingRows) -> None:
    """Warn if the missing pattern alone predicts the class well.

    Args:
        state: of the fit.
        prior: of the classes.
        reader: of the posterior.
        rows: some that were fitted, of which some are predicted, each given all others.
    """
    blocks = [name for name in state.pattern_blocks() if name in reader.kept]
    if not blocks:
        return
    chosen = judged_rows([rows], state.classes)
    judged = chosen.rows
    schema = dataclasses.replace(state.schema, blocks={n: state.schema.blocks[n] for n in blocks})
    encoded = schema.encode(rows.table.take(judged))
    y, weight = rows.codes_among(state.classes)[judged], rows.weight[judged]
    names, parts = [], []
    for name in blocks:
        full, statistics, kept = reader.full[name], state.statistics.blocks[name], reader.kept[name]
        for j in range(encoded[name].shape[1]) if kept is None else kept.tolist():
            x = encoded[name][:, j]
            # few rows differ, and those that do not are predicted alike
            key = np.stack([np.nan_to_num(x, nan=-1.0), y, weight])
            _, first, which = np.unique(key, axis=1, return_index=True, return_inverse=True)
            once, size = one_each(weight[first]), len(state.classes)
            distinct = loo.Rows(x[first, None], y[first], weight[first], once, size)
            likelihood, column = state.likelihoods[name], np.array([j])
            whole, totals = full.take("feature", column), statistics.take("feature", column)
            scores = loo.leave_one_out(likelihood, whole, totals, distinct)
            parts.append(scores[which.ravel()])
            names.append(state.schema.blocks[name][j].reads)
    log_classes = state.classes_without(prior, y, one_each(weight))
    doubt = warning(names, np.stack(parts, axis=1), log_classes, y, chosen.weight)
    if doubt is not None:
        warn(doubt)


def warning(
    names: list[Name], parts: Parts, log_classes: Joint, y: Labels, weight: Weights
) -> InformativePattern | None:
    """Return a warning if the missing pattern alone predicts the class well.

    Args:
        names: columns with missing values.
        parts: log probabilities of each missing cell or observed one, the row left out,
            (row, column, class).
        log_classes: log P(y = k given the rows without i), (row, class).
        y: class codes.
        weight: of the rows.
    """
    before = mean_log(log_classes, np.zeros_like(log_classes), y, weight)
    after = mean_log(log_classes, parts.sum(axis=1), y, weight)
    gain = after - before
    if not gain > MUCH * -before:
        return None
    alone = np.array([mean_log(log_classes, part, y, weight) for part in parts.swapaxes(0, 1)])
    order = np.argsort(before - alone, kind="stable")
    first = [names[i] for i in order if alone[i] - before > MUCH * gain] or [names[order[0]]]
    return InformativePattern(
        "which cells of {columns:named column} are missing predicts the class by itself (log "
        "loss {after:.2f}, against {before:.2f} of the class prior); predictions will be wrong "
        "if the reason why cells are missing changes.",
        Cure("Pass missing='ignorable' if it may.", "If it may, use --model naive-bayes."),
        columns=first,
        before=-before,
        after=-after,
    )


def mean_log(
    log_classes: Joint, part: Float[np.ndarray, "row class"], y: Labels, weight: Weights
) -> float:
    """Return the weighted mean of log P(y_i given a part of row i)."""
    logs = log_class_probabilities(log_classes + part, log_classes)[np.arange(len(y)), y]
    return float(np.where(np.isfinite(logs), logs, 0.0) @ weight / weight.sum())
