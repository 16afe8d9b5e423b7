"""How members become class probabilities: weights, powers and pools, learned from left-out rows."""

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float

from bayesgen.classes import Spec, is_stated, kept
from bayesgen.errors import Words
from bayesgen.estimators.judged_rows import (
    ACCURACY,
    LOSS,
    LOSS_UNDER_PRIOR,
    ROWS_JUDGED,
    JudgedRows,
)
from bayesgen.estimators.stack.fitted import Members, left_out_rows, loss_under_prior
from bayesgen.estimators.stack.interactions import JudgedCells, gains
from bayesgen.estimators.stack.member import FittedMember, split_in_pool
from bayesgen.estimators.stack.weighed import WeighedStack
from bayesgen.estimators.tempered import Temper
from bayesgen.estimators.training_rows import TrainingRows, together
from bayesgen.inference import (
    BAYES,
    Mixture,
    Pooled,
    Posterior,
    Readout,
    Report,
    Tempered,
    pooling,
    stacking,
)
from bayesgen.inference.mixture import MemberScores
from bayesgen.inference.powers import learned_powers, stated_powers
from bayesgen.inference.scores import Scores
from bayesgen.interactions import Interactions
from bayesgen.membership import Entries, expected, shares_of
from bayesgen.table import row_keys
from bayesgen.typing import Joint, Membership, Weights

VERDICT = "Members are weighed by leave-one-out scores."


@dataclasses.dataclass(frozen=True, eq=False)
class Weighing:
    """What a stack asks to be learned of its members.

    temper: of the linear pool, "learn", a power or None. pool: whether a log-linear pool stands
    beside it. interactions: whether they may join. seed: of draws. seed_of_trees: of a forest.
    class_prior: of the classes.
    """

    temper: Temper
    pool: bool
    interactions: bool
    seed: int
    seed_of_trees: int
    class_prior: Spec


@dataclasses.dataclass(frozen=True, eq=False)
class Judges:
    """The rows that weigh the members of a stack, and what is learned from them.

    y: class codes, or shares of the classes. weight: of the rows. lost: the part of it that leaves
    with a row. asked: what is learned. report: of the stack.
    """

    y: Membership
    weight: Weights
    lost: Weights
    asked: Weighing
    report: Report

    def powers(self, scores: Scores) -> Readout:
        """Return the readout of the mean of members under learned or stated powers, or none."""
        temper = self.asked.temper
        if temper is None:
            return BAYES
        if temper != "learn":
            return Tempered(*stated_powers(temper))
        return Tempered(*learned_powers(scores.log_classes, scores.joint, self.y, self.weight))

    def weighed(
        self,
        members: Members,
        judgements: Mapping[str, MemberScores],
        of_pairs: Sequence[Joint] = (),
    ) -> "Weighed":
        """Return the members, weighed.

        Args:
            members: of the stack, with interactions.
            judgements: what each member predicts of the rows.
            of_pairs: what each pair of columns says of them.
        """
        entries = Entries.of(self.y, self.weight)
        labels = entries.row, entries.code
        log_proba = np.stack([judgement.log_proba[labels] for judgement in judgements.values()])
        share = stacking.weights_of(log_proba, entries.weight)
        nearest = stacking.probabilities_of(log_proba, entries.weight, share)
        mixture = members.mixture(share, nearest, self.report)
        scores = mixture.scores_from(judgements, of_pairs)
        readout, interaction_weight = self.powers(scores), 0.0
        left_out = readout.log_proba(scores)
        if self.asked.pool:
            size, n_parts = len(judgements), scores.parts.shape[1]
            # a forest stands behind the members, and pairs are the last parts
            free = [*range(len(members.by_name), size), *range(n_parts - len(of_pairs), n_parts)]
            pool, pooled = pooling.learned_pool(
                scores.parts,
                scores.log_classes,
                self.y,
                self.weight,
                self.lost,
                **pooling.stack_priors(size, n_parts, free),
            )
            interaction_weight = float(pool.mean_weights[free].sum())
            candidates = np.stack([left_out[labels], pooled[labels]])
            part = stacking.weights_of(candidates, entries.weight, prior_rows=pooling.BLEND_ROWS)[1]
            readout = Pooled(pool, float(part), self.asked.seed, readout)
            left_out = np.logaddexp(np.log1p(-part) + left_out, np.log(part) + pooled)
        return Weighed(
            members,
            mixture,
            readout,
            dict(judgements),
            of_pairs,
            left_out,
            interaction_weight,
        )

    def with_interactions(self, simple: "Weighed", cells: JudgedCells) -> "Weighed":
        """Return the stack with interactions, each kind where the left-out log score gains by it.

        Its draws differ by the misfit of the stack without, as far as the rows leave it unknown.

        simple: the stack without.
        """
        members, best, joint = simple.members, simple, None
        for joint in cells.joints():
            if not joint.splits:
                break
            interactions = Interactions(cells.reads, joint, unit=cells.unit)
            richer = dataclasses.replace(members, interactions=interactions)
            judgements = {**simple.judgements, joint.title: cells.judge(joint)}
            best = self.better(simple, self.weighed(richer, judgements), cells.weight)
            if best is simple:
                break
        if cells.wide:
            return best
        if pairs := cells.pairs(best.left_out):
            kept = best.members.interactions.joint
            interactions = Interactions(cells.reads, kept, pairs, cells.unit)
            richer = dataclasses.replace(members, interactions=interactions)
            of_pairs = [cells.left_out(pair) for pair in pairs]
            best = self.better(best, self.weighed(richer, best.judgements, of_pairs), cells.weight)
        joined = best.members.interactions.joint is not None
        misfit = cells.misfit(simple.left_out, joint, joined=joined)
        return dataclasses.replace(best, readout=dataclasses.replace(best.readout, misfit=misfit))

    def better(self, simple: "Weighed", richer: "Weighed", weight: Weights) -> "Weighed":
        """Return the richer stack where it gains more than the standard error, else the simple.

        A stack that gains by a weight of interactions below 0 has learned which rows are left out:
        a class of a single row is then empty.

        weight: of the rows, of a sample in proportion to those that judge: rows that stand for
            others are no more rows.
        """
        gained = gains(simple.left_out, richer.left_out, self.y, weight)
        return richer if gained and richer.interaction_weight > 0 else simple


@dataclasses.dataclass(frozen=True, eq=False)
class Weighed:
    """A stack whose members are weighed.

    members: of the stack. mixture: their weighted mean. readout: how it becomes class
    probabilities. judgements: what each member predicts of the rows left out. of_pairs: what each
    pair of columns says of them. left_out: log class probabilities of the rows. interaction_weight:
    of all interactions in the log-linear pool.
    """

    members: Members
    mixture: Mixture
    readout: Readout
    judgements: dict[str, MemberScores]
    of_pairs: Sequence[Joint]
    left_out: Joint
    interaction_weight: float

    @property
    def posterior(self) -> Posterior:
        """The mixture and its readout."""
        return Posterior(self.mixture, self.readout)


def weighed_stack(
    members: Mapping[str, FittedMember],
    judgements: Mapping[str, MemberScores],
    judged: JudgedRows,
    rows: TrainingRows,
    classes: np.ndarray,
    asked: Weighing,
) -> WeighedStack:
    """Return members, weighed by rows that are left out.

    Args:
        members: fitted.
        judgements: what each predicts of the rows.
        judged: the rows.
        rows: all of the fit.
        classes: of the fit.
        asked: what is learned.
    """
    y, weight = together((rows,), classes)[0][judged.rows], judged.weight
    report = Report("stacked", converged=True, outcome=Words(VERDICT))
    judges = Judges(y, weight, judged.lost, asked, report)
    split = split_in_pool(members)
    models = {name: member.fitted for name, member in members.items()}
    stack = judges.weighed(Members(models, split), judgements)
    apart = [name for name, member in members.items() if member.asked.columns_apart]
    if y.ndim == 1:  # a discriminant leaves a row out of one class
        apart = apart or [name for name in members if name == "average"]
    if asked.interactions and apart:
        reader = members[apart[0]]
        scores = judgements[apart[0]].scores
        cells = JudgedCells.of(apart[0], reader, scores, rows, judged, asked.seed_of_trees)
        stack = judges.with_interactions(stack, cells)
    keys = row_keys(rows.labelled.table)[1][judged.rows]
    left_out = left_out_rows(stack.posterior, stack.judgements, stack.of_pairs, y, weight, keys)
    details = _scores(stack, judges)
    if any(is_stated(member.fitted.class_prior) for member in members.values()):
        details[LOSS_UNDER_PRIOR] = loss_under_prior(
            stack.posterior, stack.judgements, stack.of_pairs, y, weight
        )

    def by_name(of_members: Float[np.ndarray, " member"]) -> dict[str, float]:
        return dict(zip(stack.judgements, of_members.tolist(), strict=True))

    return WeighedStack(
        by_name(stack.mixture.weights),
        stack.readout,
        split,
        stack.members.interactions,
        left_out,
        dataclasses.replace(report, details=details),
        kept(asked.class_prior),
        by_name(stack.mixture.probabilities),
    )


def _scores(stack: Weighed, judges: Judges) -> dict[str, float]:
    """Return the scores of the rows left out, of the stack and of each member."""
    y, weight, left_out = judges.y, judges.weight, stack.left_out
    right = shares_of(y, left_out.shape[1])[np.arange(len(y)), left_out.argmax(axis=1)]
    share = stack.readout.share if isinstance(stack.readout, Pooled) else 0.0
    return {
        ROWS_JUDGED: float(len(y)),
        LOSS: -_mean(expected(left_out, y), weight),
        ACCURACY: _mean(right, weight),
        "share of the log-linear pool": share,
    } | {
        f"{LOSS} of {name}": -_mean(expected(judgement.log_proba, y), weight)
        for name, judgement in stack.judgements.items()
    }


def _mean(values: np.ndarray, weight: np.ndarray) -> float:
    return float(np.average(values, weights=weight))
