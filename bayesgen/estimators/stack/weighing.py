"""How members become class probabilities: weights, powers and pools, learned from left-out rows."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from jaxtyping import Float

from bayesgen.estimators.stack.fitted import Members
from bayesgen.estimators.stack.interactions import JudgedCells, gains
from bayesgen.inference import Mixture, Pooled, Posterior, Readout, Report, pooling, stacking
from bayesgen.inference.mixture import MemberScores
from bayesgen.inference.scores import Scores
from bayesgen.interactions import Interactions
from bayesgen.membership import Entries
from bayesgen.typing import Joint, Membership, Weights


@dataclasses.dataclass(frozen=True, eq=False)
class Judges:
    """The rows that weigh the members of a stack, and what is learned from them.

    y: class codes, or shares of the classes. weight: of the rows. lost: the part of it that leaves
    with a row. powers: scores of the mean -> its
    readout. pool: whether a log-linear pool stands beside the mean. seed: of the draws of its
    weights. report: of the stack.
    """

    y: Membership
    weight: Weights
    lost: Weights
    powers: Callable[[Scores], Readout]
    pool: bool
    seed: int
    report: Report

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
        mixture = members.mixture(share, self.report)
        scores = mixture.scores_from(judgements, of_pairs)
        readout, interaction_weight = self.powers(scores), 0.0
        left_out = readout.log_proba(scores)
        if self.pool:
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
            readout = Pooled(pool, float(part), self.seed, readout)
            left_out = np.logaddexp(np.log1p(-part) + left_out, np.log(part) + pooled)
        return Weighed(
            members,
            mixture,
            readout,
            dict(judgements),
            of_pairs,
            share,
            left_out,
            interaction_weight,
        )

    def with_interactions(self, simple: "Weighed", cells: JudgedCells) -> "Weighed":
        """Return the stack with interactions, each kind where the left-out log score gains by it.

        Its draws differ by the misfit of the stack without, as far as the rows leave it unknown.

        simple: the stack without.
        """
        members, joint, best = simple.members, cells.joint(), simple
        if joint.splits:
            joined = dataclasses.replace(
                members, interactions=Interactions(cells.reads, joint, unit=cells.unit)
            )
            judgements = {**simple.judgements, joint.title: cells.judge(joint)}
            best = self.better(simple, self.weighed(joined, judgements), cells.weight)
        if cells.wide:
            return best
        if pairs := cells.pairs(best.left_out):
            joint = best.members.interactions.joint
            interactions = Interactions(cells.reads, joint, pairs, cells.unit)
            joined = dataclasses.replace(members, interactions=interactions)
            of_pairs = [cells.left_out(pair) for pair in pairs]
            best = self.better(best, self.weighed(joined, best.judgements, of_pairs), cells.weight)
        misfit = cells.misfit(simple.left_out)
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
    pair of columns says of them. share: weights of the members in the mean. left_out: log class
    probabilities of the rows. interaction_weight: of all interactions in the log-linear pool.
    """

    members: Members
    mixture: Mixture
    readout: Readout
    judgements: dict[str, MemberScores]
    of_pairs: Sequence[Joint]
    share: Float[np.ndarray, " member"]
    left_out: Joint
    interaction_weight: float

    @property
    def posterior(self) -> Posterior:
        """The mixture and its readout."""
        return Posterior(self.mixture, self.readout)
