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
from collections.abc import Mapping

import numpy as np
from jaxtyping import Float, Int
from scipy.sparse import issparse

from bayesgen.inference.average import Average, averaged_scores
from bayesgen.inference.components import take_rows
from bayesgen.inference.exact import Expected
from bayesgen.inference.missing import FOLDS as FOLDS_OF_INCOMPLETE
from bayesgen.inference.missing import (
    IncompleteData,
    any_missing,
    missing_cells,
    modes,
    scored_without,
)
from bayesgen.inference.point_estimates import MAP
from bayesgen.inference.scores import Scores, log_class_probabilities
from bayesgen.inference.stacking import weights_of
from bayesgen.inference.unlabelled_rows import (
    WEIGHT,
    ExpectedLabels,
    Maximum,
    UnlabelledRows,
    first_shares,
    maximize,
    reported,
    with_one_prior,
)
from bayesgen.likelihoods import Likelihood, Statistics
from bayesgen.likelihoods.base import row_chunks
from bayesgen.model import ModelStatistics
from bayesgen.problem import Problem
from bayesgen.typing import Encoded, Joint, Labels, Params, Weights

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
BATCH_FLOATS = 500_000
"""Numbers in the statistics of all rows of a batch: 4 MB, which a third-level cache holds."""
DIGITS = 9
"""Decimals of scores above which they differ by more than rounding."""
FEWEST_DRAWS = 50
"""Draws of each weight at least."""


@dataclasses.dataclass(frozen=True, eq=False)
class LabelledRows:
    """Labeled rows, whose leave-one-out score determines the weight of the others.

    encoded: by block. y: class codes. weight: of each. away: the part of its weight that a row
    loses where it is left out.
    """

    encoded: Encoded
    y: Labels
    weight: Weights
    away: Weights

    def at(self, where: Int[np.ndarray, " some"]) -> "LabelledRows":
        """Return some of the rows."""
        encoded = take_rows(self.encoded, where)
        return LabelledRows(encoded, self.y[where], self.weight[where], self.away[where])


@dataclasses.dataclass(frozen=True, eq=False)
class Learned:
    """A posterior averaged over weights of unlabeled rows.

    components: the average. expected: what was made of the unlabeled rows. labels: P(y = k given
    x_i, all rows) of these.
    """

    components: Average
    expected: ExpectedLabels
    labels: Joint


def learned(
    method: Expected,
    problem: Problem,
    guesses: ModelStatistics,
    labelled: LabelledRows,
    rows: UnlabelledRows,
    seed: int,
) -> Learned:
    """Return the posterior averaged over the weights of unlabeled rows.

    Args:
        method: of the closed forms; its draws are shared out by weight.
        problem: of the labeled rows.
        guesses: by which the model was completed.
        labelled: rows that judge.
        rows: those without a label.
        seed: of draws.
    """
    start, reader = first_shares(problem, rows), problem.reader
    centers = modes(with_one_prior(problem.model, problem.statistics), problem.statistics)
    found = [Maximum(centers, start, [], converged=True)]
    likelihoods, added = reader.full, []
    for weight in GRID:
        some = rows.times(weight)
        if weight:
            # from the end at the weight before: two thirds of the steps (measured)
            before = found[-1]
            found.append(
                maximize(
                    MAP(),
                    problem,
                    some,
                    before.shares,
                    tolerance=TOLERANCE,
                    start=before.params,
                )
            )
        added.append(some.statistics(likelihoods, found[-1].shares))
    logs = np.array(
        [
            _logs(problem.plus(part), labelled, maximum.params)
            for part, maximum in zip(added, found, strict=True)
        ]
    )
    # known labels flatter a weight: one that is negligible with them would be so without
    larger = np.flatnonzero(_stacked(logs, labelled)[1:] > NEGLIGIBLE) + 1
    incomplete = any_missing(problem.model, problem.plus(added[-1]).statistics)
    scores = left_out(problem, labelled, centers)
    folds = _folds(scores, labelled, FOLDS_OF_INCOMPLETE if incomplete else FOLDS)
    for i in larger.tolist():
        weighted = rows.times(GRID[i])
        for fold in folds:
            logs[i, fold] = _logs_without(problem, labelled.at(fold), weighted, found[i])
    share = _stacked(logs, labelled)
    large = np.flatnonzero(share > NEGLIGIBLE)
    share = share[large] / share[large].sum()
    members = []
    for i, part in zip(large.tolist(), share.tolist(), strict=True):
        own = Expected(draws=max(FEWEST_DRAWS, round(method.draws * part)))
        members.append(own.infer(problem.plus(added[i]), seed))
    last = found[int(large[-1])]
    total = float(labelled.weight.sum())
    report = reported(members[-1], rows.n_rows, last)
    with_all = np.logaddexp.reduce(np.log(share)[:, None] + logs[large])
    report.details.update(
        {
            WEIGHT: float(share @ np.array(GRID)[large]),
            "unlabelled.loo_without": float(logs[0] @ labelled.weight) / total,
            "unlabelled.loo_with": float(with_all @ labelled.weight) / total,
        }
    )
    average = Average(reader, report, tuple(members), share)
    labels = np.tensordot(share, np.stack([found[i].shares for i in large.tolist()]), 1)
    labels /= labels.sum(axis=1, keepdims=True)
    expected = ExpectedLabels(guesses, tuple(added[i] for i in large.tolist()), share)
    return Learned(average, expected, labels)


def _stacked(
    logs: Float[np.ndarray, "weight row"], labelled: LabelledRows
) -> Float[np.ndarray, " weight"]:
    """Return the weight in the average of each weight of the grid."""
    return weights_of(logs, labelled.weight, prior_rows=PRIOR_ROWS)


def _logs(
    problem: Problem, labelled: LabelledRows, centers: Mapping[str, Params]
) -> Float[np.ndarray, " row"]:
    """Return log P(y_i given x_i, the other rows) of labeled rows.

    problem: of all rows; the responsibilities of those without a label stay. centers: parameters
    at which missing cells are expected, by block.
    """
    return own_logs(left_out(problem, labelled, centers), labelled)


def _logs_without(
    problem: Problem, fold: LabelledRows, rows: UnlabelledRows, whole: Maximum
) -> Float[np.ndarray, " row"]:
    """Return log P(y_i given x_i, the other rows) of the labeled rows of a fold, EM without it.

    rows: without a label, at the weight that is scored. whole: the end of EM with all labels.
    """
    away = dataclasses.replace(rows, encoded=fold.encoded, weight=fold.away)
    likelihoods = problem.reader.full
    maximum = maximize(
        MAP(),
        problem.minus(away.labelled(likelihoods, fold.y)),
        rows,
        whole.shares,
        tolerance=TOLERANCE,
        most_steps=STEPS,
        start=whole.params,
        cell_steps=CELL_STEPS,
    )
    added = rows.statistics(likelihoods, maximum.shares)
    return _logs(problem.plus(added), fold, maximum.params)


def _folds(scores: Scores, rows: LabelledRows, number: int) -> list[Int[np.ndarray, " fold"]]:
    """Return positions of the rows of each fold, which does not depend on the order of the rows.

    scores: of the rows, by whose log p(x_i, y_i) they are dealt to the folds in turn; where it is
        equal up to rounding, by the scores of all classes, and of the parts, in any order of these.
    number: of folds at most.
    """
    own = scores.joint[np.arange(len(rows.y)), rows.y]
    parts = np.square(scores.parts).sum(axis=1)
    order = np.lexsort(np.round([*parts.T, *scores.joint.T, own], DIGITS))
    return [order[start::number] for start in range(min(number, len(order)))]


def own_logs(scores: Scores, rows: LabelledRows) -> Float[np.ndarray, " row"]:
    """Return log P(y_i given x_i, the other rows); 0 where it is impossible without the row."""
    logs = log_class_probabilities(scores.joint, scores.log_classes)
    own = logs[np.arange(len(rows.y)), rows.y]
    return np.where(np.isneginf(own), 0.0, own)


def left_out_of_all(problem: Problem, expected: ExpectedLabels, rows: LabelledRows) -> Scores:
    """Return the scores of labeled rows, each left out of labeled and unlabeled rows.

    problem: of the labeled rows.
    """
    each = [left_out(problem.plus(part), rows) for part in expected.added]
    return averaged_scores(each, expected.shares)


def left_out(
    problem: Problem, rows: LabelledRows, centers: Mapping[str, Params] | None = None
) -> Scores:
    """Return the scores of labeled rows, each left out; parts are the blocks.

    The prior, with guesses from all rows, and the responsibilities of unlabeled rows stay.

    Args:
        problem: of labeled and unlabeled rows.
        rows: those to leave out, one at a time.
        centers: parameters at which missing cells are expected, by block; by default the mode.
    """
    statistics, reader = problem.statistics, problem.reader
    size = len(statistics.count)
    count = statistics.count - rows.away[:, None] * (rows.y[:, None] == np.arange(size))
    classes = problem.model.classes
    if classes.is_fixed:
        log_classes = np.broadcast_to(classes.log_predictive(), (len(rows.y), size))
    else:
        prior = classes.rows * classes.probs + np.maximum(count, 0.0)
        log_classes = np.log(prior / prior.sum(axis=1, keepdims=True))
    encoded = reader.read(rows.encoded)
    parts = [np.zeros((len(rows.y), 0, size))]
    for name, part in problem.model.blocks.items():
        center = None if centers is None else centers[name]
        scores = _block_left_out(part, statistics.blocks[name], encoded[name], rows, size, center)
        parts.append(scores[:, None])
    each = np.concatenate(parts, axis=1)
    joint = log_classes + each.sum(axis=1) + reader.log_abs_det_jacobian(rows.encoded)
    return Scores(joint, log_classes, each)


def _block_left_out(
    part: Likelihood,
    statistics: Statistics,
    x: np.ndarray,
    rows: LabelledRows,
    size: int,
    center: Params | None,
) -> Joint:
    """Return log p(x_i given y = k, the rows without i) of one block, shape (row, class).

    center: parameters at which missing cells are expected; None for the mode.
    """
    y, away = rows.y, rows.away
    incomplete = missing_cells(part, statistics)
    out = np.empty((len(y), size))
    n_levels = getattr(statistics, "n_levels", ())
    if not part.vectorised or issparse(x):
        for i in range(len(y)):
            one = slice(i, i + 1)
            sizes = {"n_classes": size, "n_levels": n_levels}
            rest = statistics - part.statistics(x[one], y[one], away[one], **sizes)
            filled = _filled(rest, missing_cells(part, rest), center)
            out[i] = part.posterior(filled).log_predictive(x[one])[0]
        return out
    whole = _filled(statistics, incomplete, center)
    width = sum(np.size(getattr(whole, name)) for name in whole.axes)
    for some in row_chunks(len(y), max(1, BATCH_FLOATS // max(width, 1))):
        if incomplete is not None:
            at = incomplete.center if center is None else center
            out[some] = scored_without(part, whole, x[some], y[some], away[some], at)
            continue
        alone = part.statistics_per_row(x[some], away[some], n_levels)
        rest = whole.without_each(alone, y[some])
        out[some] = part.log_predictive_updated(rest, x[some])
    return out


def _filled(
    statistics: Statistics, incomplete: IncompleteData | None, center: Params | None
) -> Statistics:
    """Return statistics of complete rows: missing cells, if any, are expected at the center.

    center: None for the mode.
    """
    if incomplete is None:
        return statistics
    return incomplete.expected()[0] if center is None else incomplete.filled(center)
