"""Interactions of a stack: a forest and pairs of columns, learned from the rows that judge it."""

import dataclasses
from collections.abc import Iterator

import numpy as np
from jaxtyping import Float

from bayesgen.estimators.judged_rows import JudgedRows, labelled_rows
from bayesgen.estimators.stack.member import FittedMember
from bayesgen.estimators.training_rows import TrainingRows
from bayesgen.inference import BAYES, Misfit
from bayesgen.inference.misfit import learned_misfit
from bayesgen.inference.mixture import MemberScores
from bayesgen.inference.residual_kernels import LeafKernel
from bayesgen.inference.scores import Scores
from bayesgen.interactions import Cell, Discriminant, Forest, Pair, Term, begun, informative_pairs
from bayesgen.membership import expected
from bayesgen.schema.readings.bins import quantile_edges
from bayesgen.typing import Encoded, Joint, Labels, Membership, Weights

LEAST_GAIN = 1.0
"""Nats by which an interaction must raise the log score of all left-out rows."""


@dataclasses.dataclass(frozen=True, eq=False)
class JudgedCells:
    """The cells of the rows that judge a stack, from which its interactions are learned.

    reads: name of the member that reads them. cells: where its rows have each column, by name.
    encoded: by block. y: class codes, or shares of the classes. weight: of the rows. lost: the part
    of it that leaves with a row. scores: of the member, each row left out. wide: whether columns
    outnumber rows, so that none is a block of its own. unit: the weight here of a row that has
    weight 1 in the fit. seed: of a forest.
    """

    reads: str
    cells: dict[str, Cell]
    encoded: Encoded
    y: Membership
    weight: Weights
    lost: Weights
    scores: Scores
    wide: bool = False
    unit: float = 1.0
    seed: int = 0

    @classmethod
    def of(
        cls,
        name: str,
        member: FittedMember,
        scores: Scores,
        rows: TrainingRows,
        judged: JudgedRows,
        seed: int = 0,
    ) -> "JudgedCells":
        """Return the judged rows as a member reads them.

        A sample of the rows of a fit counts for as many rows as it has.

        Args:
            name: of the member.
            member: with a block for each column, or of more columns than rows.
            scores: what it says of the rows, each left out.
            rows: of the fit.
            judged: which of them.
            seed: of a forest.
        """
        state, read = member.state, member.fitted.own_rows(rows)
        labelled = labelled_rows(state, (read,), member.fitted.unseen, judged).left_out
        judged = judged.counted if judged.sampled else judged
        # in the order of the blocks, which is that of names: positions are in that of the table
        places = {place: name for name, place in state.column_positions().items()}
        cells = {
            str(places[block, j]): Cell.seen(block, j, len(column.levels), labelled.encoded)
            for block, columns in state.schema.blocks.items()
            for j, column in enumerate(columns)
            if (block, j) in places
        }
        wide = not member.asked.columns_apart
        unit = 1.0 if judged.sampled else judged.copies.counting
        encoded, y, weight, lost = labelled.encoded, labelled.y, judged.weight, judged.lost
        return cls(name, cells, encoded, y, weight, lost, scores, wide, unit, seed)

    def left_out(self, term: Term) -> Joint:
        """Return what a term says of each row without it."""
        return term.left_out(self.encoded, self.y, self.lost)

    def joints(self) -> Iterator[Forest | Discriminant]:
        """Yield terms of all columns, each to be tried where the one before it joins.

        A forest has few trees first, and all of them then. Where columns outnumber rows a
        discriminant stands in its place.
        """
        cells, n_classes = [*self.cells.values()], self.scores.joint.shape[1]
        if self.wide:
            yield Discriminant.of(cells, self.encoded, self.y, self.weight, n_classes)
            return
        growing = begun(cells, self.encoded, self.y, self.weight, n_classes, self.seed)
        yield Forest.of(growing, growing.few())
        yield Forest.of(growing, growing.all())

    def misfit(self, log_proba: Joint, joint: Term | None, *, joined: bool) -> Misfit:
        """Return by how much a model may be wrong.

        Args:
            log_proba: of each row without it, by the model without interactions.
            joint: the term of all columns that was tried last.
            joined: whether it has become a part of the model.
        """
        columns = [
            cell.of(self.encoded) if cell.levels else thirds(cell.of(self.encoded), self.weight)
            for cell in self.cells.values()
        ]
        leaves = None
        if isinstance(joint, Forest) and joint.splits:
            outside = joint.outside(self.encoded, self.y, self.lost)
            inside = joint.inside(self.encoded)
            leaves = LeafKernel.of(inside, outside, joint.root, self.weight)
        misfit = learned_misfit(columns, log_proba, self.y, self.weight, leaves, joined=joined)
        # of the stack, whose rows are those of all members
        cells = self.cells.values()
        places = [dataclasses.replace(cell, block=f"{self.reads}/{cell.block}") for cell in cells]
        return dataclasses.replace(misfit, cells=tuple(places))

    def judge(self, term: Term) -> MemberScores:
        """Return what a term predicts of each row without it."""
        return relative_scores(self.left_out(term), self.scores)

    def pairs(self, log_proba: Joint) -> tuple[Pair, ...]:
        """Return the pairs of columns of levels that say more than a model does.

        log_proba: log class probabilities of each row without it, by the model.
        """
        levels = {name: cell for name, cell in self.cells.items() if cell.levels}
        return tuple(
            informative_pairs(levels, self.encoded, self.y, self.weight, self.lost, log_proba)
        )


def thirds(x: Float[np.ndarray, " row"], weight: Weights) -> Labels:
    """Return in which third of a column each number lies, -1 of a missing one; those of -x too."""
    cuts = quantile_edges(x, weight, 3)
    return np.where(np.isnan(x), -1, np.searchsorted(cuts, x))


def relative_scores(log_density: Joint, scores: Scores) -> MemberScores:
    """Return the scores of a term with the class probabilities of a member's scores."""
    joint = np.broadcast_to(scores.log_classes, log_density.shape) + log_density
    return MemberScores(Scores(joint, scores.log_classes, log_density[:, None]), BAYES)


def gains(before: Joint, after: Joint, y: Membership, weight: Weights) -> bool:
    """Return whether the log score of left-out rows rises by more than its standard error.

    It must also rise by a nat: in a few rows that all gain a little, chance has no spread.

    before, after: log class probabilities of each row without it, (row, class).
    """
    earlier = expected(before, y)
    possible = np.isfinite(earlier)
    gain = np.where(possible, expected(after, y) - np.where(possible, earlier, 0.0), 0.0)
    total = weight @ gain
    error = np.sqrt(weight @ (gain - total / weight.sum()) ** 2)
    return bool(total > max(error, LEAST_GAIN))
