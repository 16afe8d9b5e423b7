"""Fit of a stack to a source: structure and weights from a sample, statistics from all rows."""

import dataclasses
from typing import Any

from bayesgen import arguments
from bayesgen.errors import AbsentColumns, InvalidSource, deduplicate_warnings
from bayesgen.estimators import training
from bayesgen.estimators.classifier import Classifier
from bayesgen.estimators.held_out import Attempt, HeldOut
from bayesgen.estimators.judged_rows import judged_rows
from bayesgen.estimators.learned_arguments import learned_from_rows
from bayesgen.estimators.sources.fit import LabelledSource, finding
from bayesgen.estimators.stack.reservoir import drawn
from bayesgen.estimators.training import TrainingState
from bayesgen.estimators.training_rows import TrainingRows
from bayesgen.schema import Schema
from bayesgen.table.sources import Part

SAMPLED, ALL = "rows that weigh", "rows"
"""Names of their numbers in `report_.details`."""


@deduplicate_warnings()
def fit_stack(stack: Any, labelled: LabelledSource) -> Any:
    """Fit a stack to a source, which is read twice.

    First a stratified sample of 20,000 rows is drawn, and members are fitted to it: their
    structure, power transforms, bins and kernels are those of the sample. Then members with a
    closed form get the statistics of all rows. Weights, powers and the pool are learned from the
    rows of the sample, each left out of the statistics.

    Raises:
        InvalidSource: the source can be read only once, or its rows changed between.
        BayesgenError: as in `fit`, with the part.
    """
    seed = arguments.drawn_seed(stack.random_state)
    labelled.source.require_again("a stack")
    sample = drawn(labelled, seed, stack.progress)
    rows = stack._training_rows(sample.X, sample.y, sample.own * sample.share, reset=True)
    if sample.is_whole:
        return stack._fit_stack(rows, rows.classes)
    members, wide = stack._new_members(rows)
    classes, seen = rows.classes, (rows,)
    own, failed = stack._tried(members, lambda member: stack._fit_member(member, seen, classes))
    stack.members_ = {name: members[name] for name in own}
    stack.classes_, stack.left_out_ = classes, wide | failed
    add_all_rows(stack, labelled, sample.n_rows)
    judged = judged_rows(seen, classes, len(rows.table.names))
    # a row is left out with the weight that it has in the statistics of all rows
    whole = dataclasses.replace(rows, weight=sample.own)

    def judge(member: Classifier) -> HeldOut:
        one = whole if takes_all_rows(member) else rows
        return stack._judge(member, seen, [member._own_rows(one, reset=False)], classes, judged)

    held, more = stack._tried(stack.members_, judge)
    attempt = Attempt({name: members[name] for name in held}, held, judged, more)
    stack._finish_stack(attempt, seen, classes, stack.left_out_)
    details = {ALL: float(sample.n_rows), SAMPLED: float(len(sample.y))}
    verdict = (
        f"{stack.report_.verdict} The rows that weigh them, and those of kernels, are "
        f"{len(sample.y):,} drawn within classes from {sample.n_rows:,}; other statistics are of "
        "all rows."
    )
    report, stack._training = stack.report_, ()
    stack.report_ = dataclasses.replace(report, verdict=verdict, details=report.details | details)
    return stack


def takes_all_rows(member: Classifier) -> bool:
    """Return whether a fitted member is its statistics: a closed form, without rows kept."""
    learned = {*learned_from_rows(member, ())} - {"power_transform", "bins"}
    keeps = any(likelihood.keeps_rows for likelihood in member.state_.likelihoods.values())
    return member.inference_ in ("exact", "expected") and not learned and not keeps


def add_all_rows(stack: Any, labelled: LabelledSource, n_rows: int) -> None:
    """Give the fitted members of a stack the statistics of all rows, and all levels.

    Raises:
        InvalidSource: there are not n_rows rows of weight above 0, as there were at first.
    """
    members, read = stack.members_, 0
    states = {name: AllRows.of(member) for name, member in members.items()}

    def added(part: Part) -> tuple[dict[str, AllRows], int]:
        rows = labelled.rows(stack, part, reset=False)
        if rows is None:
            return states, 0
        return {n: one.added(members[n], rows) for n, one in states.items()}, len(rows.codes)

    with labelled.parts(stack.progress) as parts, deduplicate_warnings(AbsentColumns):
        for part in parts:
            with part.named(finding(part, added)):
                states, size = added(part)
            read += size
    if read != n_rows:
        raise InvalidSource.changed(labelled.source.name, n_rows, read)
    for name, one in states.items():
        one.give_to(members[name])


@dataclasses.dataclass(frozen=True, eq=False)
class AllRows:
    """Statistics of all rows read so far, for a member that was fitted to a sample.

    schema: with their levels; None: of a program of the user's own. state: of all of these rows;
    None: none was read yet, or the member keeps what it was fitted to.
    """

    schema: Schema | None
    state: TrainingState | None = None

    @classmethod
    def of(cls, member: Classifier) -> "AllRows":
        """Return what no row adds to a member."""
        return cls(None if getattr(member, "story", None) is not None else member.state_.schema)

    def added(self, member: Classifier, rows: TrainingRows) -> "AllRows":
        """Return the same with more rows, under the power transforms and bins of the member."""
        if self.schema is None:
            return self
        own = member._own_rows(rows, reset=False)
        schema = self.schema.merge(own.table)
        if not takes_all_rows(member):
            return AllRows(schema)
        parts = own, schema, member.state_.likelihoods, member.state_.classes
        state = training.learn_transformed(*parts, unseen=member.unseen)
        return AllRows(schema, state if self.state is None else self.state + state)

    def give_to(self, member: Classifier) -> None:
        """Set the statistics, or the levels, of a member, and infer its posterior anew."""
        if self.state is not None:
            member._finish_fit(self.state, member._seed)
        elif self.schema is not None and self.schema != member.state_.schema:
            state = member.state_.with_schema(self.schema)
            member._finish_fit(state, member._seed, member._training)
