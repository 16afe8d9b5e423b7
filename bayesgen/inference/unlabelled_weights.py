"""The weight of unlabeled rows, averaged by leave-one-out of the labeled ones.

Weight 1 is right under the model; under a wrong one unlabeled rows may pull classes away from
their labels (Cozman, Cohen and Cirelo 2003). Each weight lambda_l of a grid gives a closed form
after EM. Answers are the mean of their class probabilities P_l, weighted by the mode w of

    sum_i log sum_l w_l P_l(y_i given x_i, the other rows) + sum_l c_l log w_l

over labeled rows i: stacking, as of the members of a `StackedClassifier`.

Responsibilities that EM found with row i hold its label: unlabeled rows near it were assigned to
its class, and would predict it well under a wrong model too. So EM runs on without the labeled rows
of a fold before these are predicted; each row is then left out of the statistics on its own. There
EM over missing cells ends, too: they are expected without the rows of the fold.

Source: Yao, Vehtari, Simpson and Gelman (2018), Bayesian Analysis 13, 917-1007.
"""

import dataclasses

import numpy as np
from jaxtyping import Float, Int

from bayesgen.inference.exact import Expected
from bayesgen.inference.leave_one_out import FOLDS as FOLDS_OF_INCOMPLETE
from bayesgen.inference.leave_one_out import LabelledRows, leave_one_out
from bayesgen.inference.missing import modes, with_one_prior
from bayesgen.inference.mixture import Average
from bayesgen.inference.point_estimates import MAP
from bayesgen.inference.posterior import Posterior
from bayesgen.inference.scores import Scores, log_class_probabilities
from bayesgen.inference.stacking import weights_of
from bayesgen.inference.unlabelled_rows import (
    WEIGHT,
    Inferred,
    Maximum,
    UnlabelledRows,
    first_shares,
    maximize,
    reported,
)
from bayesgen.membership import expected
from bayesgen.problem import Problem

GRID = (0.0, 0.01, 0.03, 0.1, 0.3, 1.0)
PRIOR_ROWS = np.array([2.4, 0.12, 0.12, 0.12, 0.12, 0.12])
"""Weights of unlabeled rows, and the strength of their prior in rows: most at none, which cannot
hurt. The mean log loss of 74 pairs of a table and a model, with 3, 10 or 30 labels a class, is .661
and .570 on the halves of the tables, and .668 and .591 at weight 0; 3 to 8 rows, .7 to .9 of them
at none, differ by at most .004. Weights in proportion to prior times exp(score) of each lambda, as
in Bayesian model averaging, trust one of them too soon: .684 and .568, and on one of 43 pairs with
10 labels or more .11 worse than weight 0 (here .022)."""
NEGLIGIBLE = 1e-3
"""Share of a weight below which it is left out."""
TOLERANCE = 1e-4
"""Change of a responsibility below which EM at one of the weights has ended."""
FOLDS, STEPS = 10, 3
"""Folds of labeled rows, and steps of EM without each. With responsibilities kept, QDA of pima_te
with 30 labels a class seemed to gain .06 nat a row by weight .3, and lost .12. Each row a fold of
its own, 1, 2, 3 and 4 steps gave a mean log loss of .628, .621, .617 and .615 over 10 splits (kept:
.654; 10 folds and 3 steps: .622). Where cells of joint blocks are missing there are five folds, as
for left-out rows without unlabeled ones."""
CELL_STEPS = 2
"""Steps of EM over missing cells in each of these steps: six in all, where `missing` takes five."""
DIGITS = 9
"""Decimals of scores above which they differ by more than rounding."""
FEWEST_DRAWS = 50
"""Draws of each weight at least."""


def learned(
    method: Expected, problem: Problem, judges: LabelledRows, rows: UnlabelledRows, seed: int
) -> Inferred:
    """Return the posterior averaged over the weights of unlabeled rows.

    Args:
        method: of the closed forms; its draws are shared out by weight.
        problem: of the labeled rows.
        judges: labeled rows that judge.
        rows: those without a label.
        seed: of draws.
    """
    centers = modes(with_one_prior(problem.model, problem.statistics), problem.statistics)
    maxima = [Maximum(problem, rows.times(GRID[0]), centers, first_shares(problem, rows))]
    for weight in GRID[1:]:
        # from the end at the weight before: two thirds of the steps (measured)
        shares, params = maxima[-1].shares, maxima[-1].params
        weighted = rows.times(weight)
        maxima.append(maximize(MAP(), problem, weighted, shares, tolerance=TOLERANCE, start=params))
    problems = [problem.plus(maximum.added) for maximum in maxima]
    scores = [
        leave_one_out(whole, judges, maximum.params)
        for whole, maximum in zip(problems, maxima, strict=True)
    ]
    logs = np.array([own_logs(score, judges) for score in scores])
    # known labels flatter a weight: one that is negligible with them would be so without
    share = weights_of(logs, judges.weight, prior_rows=PRIOR_ROWS)
    larger = np.flatnonzero(share[1:] > NEGLIGIBLE) + 1
    incomplete = problems[-1].statistics.has_missing
    folds = _folds(scores[0], judges, FOLDS_OF_INCOMPLETE if incomplete else FOLDS)
    for i in larger.tolist():
        for fold in folds:
            logs[i, fold] = _logs_without(judges.at(fold), maxima[i])
    share = weights_of(logs, judges.weight, prior_rows=PRIOR_ROWS)
    large = np.flatnonzero(share > NEGLIGIBLE).tolist()
    share = share[large] / share[large].sum()
    closed = [
        Expected(max(FEWEST_DRAWS, round(method.draws * part))).infer(problems[i], seed)
        for i, part in zip(large, share.tolist(), strict=True)
    ]
    report, total = reported(closed[-1], maxima[large[-1]]), judges.weight.sum()
    logs_with = np.logaddexp.reduce(np.log(share)[:, None] + logs[large])
    report.details[WEIGHT] = float(share @ np.array(GRID)[large])
    report.details["unlabelled.loo_without"] = float(logs[0] @ judges.weight / total)
    report.details["unlabelled.loo_with"] = float(logs_with @ judges.weight / total)
    labels = np.tensordot(share, np.stack([maxima[i].shares for i in large]), 1)
    labels /= labels.sum(axis=1, keepdims=True)
    members = {f"{GRID[i]:g}": Posterior(one) for i, one in zip(large, closed, strict=True)}
    average = Average(problem.reader, report, members, share)
    return Inferred(average, labels, tuple(maxima[i].added for i in large), share)


def _logs_without(fold: LabelledRows, whole: Maximum) -> Float[np.ndarray, " row"]:
    """Return log P(y_i given x_i, the other rows) of the labeled rows of a fold, EM without it.

    whole: the end of EM with all labels, at the weight that is scored.
    """
    problem, rows = whole.problem, whole.rows
    lost = dataclasses.replace(rows, encoded=fold.encoded, weight=fold.away)
    maximum = maximize(
        MAP(),
        problem.minus(lost.labelled(problem.model.blocks, fold.y)),
        rows,
        whole.shares,
        tolerance=TOLERANCE,
        most_steps=STEPS,
        start=whole.params,
        cell_steps=CELL_STEPS,
    )
    return own_logs(leave_one_out(problem.plus(maximum.added), fold, maximum.params), fold)


def _folds(scores: Scores, rows: LabelledRows, number: int) -> list[Int[np.ndarray, " fold"]]:
    """Return positions of the rows of each fold, which does not depend on the order of the rows.

    scores: of the rows, by whose log p(x_i, y_i) they are dealt to the folds in turn; where it is
        equal up to rounding, by the scores of all classes, and of the parts, in any order of these.
    number: of folds at most.
    """
    own = expected(scores.joint, rows.y)
    # in the order of their size: that of classes is one of names
    joint = np.sort(scores.joint, axis=1)
    parts = np.sort(np.square(scores.parts).sum(axis=1), axis=1)
    order = np.lexsort(np.round([*parts.T, *joint.T, own], DIGITS))
    return [order[start::number] for start in range(min(number, len(order)))]


def own_logs(scores: Scores, rows: LabelledRows) -> Float[np.ndarray, " row"]:
    """Return log P(y_i given x_i, the other rows); 0 where it is impossible without the row."""
    logs = expected(log_class_probabilities(scores.joint, scores.log_classes), rows.y)
    return np.where(np.isneginf(logs), 0.0, logs)
