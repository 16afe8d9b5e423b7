"""Powers of the likelihood of a fitted model, stated or learned from its rows, left out."""

from collections.abc import Sequence
from typing import Literal

import numpy as np

from bayesgen.errors.arguments import not_one_of
from bayesgen.estimators.fitted import Fitted
from bayesgen.estimators.judged_rows import (
    ROWS_JUDGED,
    JudgedRows,
    every_row,
    judged_rows,
    labelled_rows,
)
from bayesgen.estimators.training_rows import TrainingRows
from bayesgen.inference import Pooled, Tempered
from bayesgen.inference.pooling import column_priors, learned_pool, pattern_priors
from bayesgen.inference.powers import learned_powers, stated_powers
from bayesgen.inference.scores import Scores
from bayesgen.typing import Membership

Temper = Literal["learn", "columns"] | float | int | None
"""None: the model as it is; a power above 0; "learn"; or "columns", a power for each block."""


def tempered(fitted: Fitted, temper: Temper, seen: Sequence[TrainingRows]) -> Fitted:
    """Return the model tempered as `temper` specifies; None: the missing pattern alone.

    Powers are learned under the class frequencies of the rows, whatever the prior states.

    Args:
        fitted: the model.
        temper: the argument of the classifier.
        seen: the rows of each call of fit or partial_fit.

    Raises:
        InvalidArgument: neither None, "learn", "columns" nor a number above 0.
        UnsupportedOperation: a power is learned where the posterior is not a closed form.
    """
    if not isinstance(temper, str | None):
        return fitted.read_by(Tempered(*stated_powers(temper)))
    if temper not in ("learn", "columns", None):
        raise not_one_of("temper", temper, ["learn", "columns", None, 0.5])
    state, components = fitted.state, fitted.posterior.components
    if temper is None:
        if not any(block in components.reader.selections for block in state.pattern_blocks()):
            return fitted
        components.require_leave_one_out("missing='learn'", "Pass missing='informative'")
        judged = judged_rows(seen, state.classes, len(state.schema.used()))
    else:
        components.require_leave_one_out(f"temper={temper!r}", "State a power: temper=0.5")
        judged = every_row(seen, state.classes)
    fitted = fitted.with_details({ROWS_JUDGED: float(len(judged.rows))})
    rows = labelled_rows(state, seen, fitted.unseen, judged)
    scores = fitted.under_frequencies().leave_one_out(rows)
    y, weight = rows.left_out.y, judged.weight
    if temper is None:
        return with_pattern_power(fitted, scores, y, judged)
    if temper == "learn":
        return fitted.read_by(
            Tempered(*learned_powers(scores.log_classes, scores.joint, y, weight))
        )
    priors = column_priors(scores.parts)
    pool, _ = learned_pool(scores.parts, scores.log_classes, y, weight, judged.lost, **priors)
    return fitted.read_by(Pooled(pool))


def with_pattern_power(fitted: Fitted, scores: Scores, y: Membership, judged: JudgedRows) -> Fitted:
    """Return the model, its missing pattern with a learned power if it reads one.

    Args:
        fitted: the model.
        scores: of rows, each given the others.
        y: classes of these rows.
        judged: these rows.
    """
    read = list(fitted.posterior.reader.selections)
    pattern = np.isin(read, fitted.state.pattern_blocks())
    if not pattern.any():
        return fitted
    priors = pattern_priors(pattern)
    pool, _ = learned_pool(
        scores.parts, scores.log_classes, y, judged.weight, judged.lost, **priors
    )
    return fitted.read_by(Pooled(pool))
