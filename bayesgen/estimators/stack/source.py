"""Fit of a stack to a source: structure and weights from a sample, statistics from all rows."""

import dataclasses
from typing import Any

from bayesgen import arguments
from bayesgen.errors import CountsAsMissing, InvalidData, deduplicate_warnings
from bayesgen.estimators import training
from bayesgen.estimators.classifier import Classifier
from bayesgen.estimators.held_out import Attempt, HeldOut
from bayesgen.estimators.judged_rows import judged_rows
from bayesgen.estimators.sources.fit import LabelledSource
from bayesgen.estimators.stack.reservoir import drawn
from bayesgen.estimators.training import TrainingState
from bayesgen.estimators.training_rows import TrainingRows

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
        InvalidData: the source can be read only once, or its rows changed between.
        BayesgenError: as in `fit`, with the part.
    """
    seed = arguments.drawn_seed(stack.random_state)
    labelled.source.require_again("a stack")
    sample = drawn(labelled, seed, stack.progress)
    rows = stack._training_rows(sample.X, sample.y, sample.own * sample.share, reset=True)
    if sample.is_whole:
        return stack._fit_stack(rows, rows.classes)
    members, wide = stack._new_members(rows)
    classes = rows.classes
    own, failed = stack._tried(members, lambda member: stack._fit_member(member, rows, classes))
    stack.members_ = {name: members[name] for name in own}
    stack.classes_, stack.left_out_ = classes, wide | failed
    add_all_rows(stack, labelled, sample.n_rows)
    judged = judged_rows((rows,), classes, len(rows.table.names))
    # a row is left out with the weight that it has in the statistics of all rows
    whole = dataclasses.replace(rows, weight=sample.own)

    def judge(member: Classifier) -> HeldOut:
        read = member._own_rows(whole if takes_all_rows(member) else rows, reset=False)
        return stack._judge(member, rows, read, classes, judged)

    held, more = stack._tried(stack.members_, judge)
    attempt = Attempt({name: members[name] for name in held}, held, judged, more)
    stack._finish_stack(attempt, rows, classes, stack.left_out_)
    details = {ALL: float(sample.n_rows), SAMPLED: float(len(sample.y))}
    outcome = stack.report_.outcome + (
        " The rows that weigh them, and those of kernels, are "
        f"{len(sample.y):,} drawn within classes from {sample.n_rows:,}; other statistics are of "
        "all rows."
    )
    report, stack._training = stack.report_, ()
    stack.report_ = dataclasses.replace(report, outcome=outcome, details=report.details | details)
    return stack


def takes_all_rows(member: Classifier) -> bool:
    """Return whether a fitted member is its statistics: a closed form, without rows kept."""
    learned = {*member._learned_from(())} - {"power_transform", "bins"}
    keeps = any(likelihood.keeps_rows for likelihood in member.state_.likelihoods.values())
    return member.inference_ in ("exact", "expected") and not learned and not keeps


def add_all_rows(stack: Any, labelled: LabelledSource, n_rows: int) -> None:
    """Give the fitted members of a stack the statistics of all rows, and all levels.

    Power transforms and bins stay those of the sample. A program of the user's own has no levels.

    Raises:
        InvalidData: there are not n_rows rows of weight above 0, as there were at first.
    """
    members = {n: m for n, m in stack.members_.items() if getattr(m, "story", None) is None}
    closed = {name for name, member in members.items() if takes_all_rows(member)}
    states = {name: member.state_ for name, member in members.items()}
    states |= {name: states[name].without_rows() for name in closed}
    read = 0
    with labelled.parts(stack.progress) as parts, deduplicate_warnings(CountsAsMissing):
        for part in parts:
            with part.located():
                rows = labelled.rows(stack, part, reset=False)
                if rows is None:
                    continue
                read += len(rows.codes)
                for name, member in members.items():
                    cells = member._own_rows(rows, reset=False)
                    states[name] = with_rows(member, states[name], cells, closed=name in closed)
    if read != n_rows:
        raise InvalidData(
            "{source!r} had {before:rows} when it was first read and {now:,} later; a stack reads "
            "it twice, and the rows must not change in between.",
            "Write it to a file first, and pass the path.",
            source=labelled.source.name,
            before=n_rows,
            now=read,
        )
    for name, member in members.items():
        if name in closed or states[name].schema != member.state_.schema:
            kept = () if name in closed else member._training
            member._finish_fit(states[name], member._seed, kept)


def with_rows(
    member: Classifier, state: TrainingState, rows: TrainingRows, *, closed: bool
) -> TrainingState:
    """Return the state of a member with more rows: their levels, and if closed their statistics."""
    schema = state.schema.merge(rows.table)
    if not closed:
        return state.under(schema, state.classes)
    return state + training.learn(
        rows, schema, state.likelihoods, state.classes, unseen=member.unseen
    )
