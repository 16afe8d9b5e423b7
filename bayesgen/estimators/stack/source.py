"""Statistics of all rows of a source, for members that were fitted to a sample of them."""

from collections.abc import Callable, Mapping

from bayesgen.errors import InvalidData
from bayesgen.estimators import fit
from bayesgen.estimators.sources.fit import LabelledSource
from bayesgen.estimators.stack.member import FittedMember
from bayesgen.estimators.state import TrainingState
from bayesgen.estimators.training_rows import TrainingRows
from bayesgen.progress_bar import Progress

SAMPLED, ALL = "rows that weigh", "rows"
"""Names of their numbers in `report_.details`."""


def add_all_rows(
    members: Mapping[str, FittedMember],
    labelled: LabelledSource,
    read: Callable[..., TrainingRows],
    n_rows: int,
    progress: Progress,
) -> dict[str, FittedMember]:
    """Return fitted members with the statistics of all rows, and all levels.

    Power transforms and bins stay those of the sample. A program of the user's own has no levels,
    and a member without a closed form gets the levels alone.

    Args:
        members: fitted to the sample.
        labelled: the source.
        read: features, labels and weights -> training rows.
        n_rows: the number of its rows of weight above 0 when it was first read.
        progress: whether a bar is shown.

    Raises:
        InvalidData: there is another number of rows now.
    """
    every = dict(members)
    members = {name: member for name, member in members.items() if not member.is_program}
    closed = {name for name, member in members.items() if member.takes_all_rows}
    states = {name: member.state for name, member in members.items()}
    states |= {name: states[name].without_rows() for name in closed}
    n_read = 0
    with labelled.parts(progress) as parts:
        for part in parts:
            with part.located():
                rows = labelled.rows(part, read)
                if rows is None:
                    continue
                n_read += len(rows.codes)
                for name, member in members.items():
                    own = member.fitted.own_rows(rows)
                    states[name] = with_rows(member, states[name], own, closed=name in closed)
    if n_read != n_rows:
        raise InvalidData(
            "{source!r} had {before:rows} when it was first read and {now:,} later; a stack reads "
            "it twice, and the rows must not change in between.",
            "Write it to a file first, and pass the path.",
            source=labelled.source.name,
            before=n_rows,
            now=n_read,
        )
    for name, member in members.items():
        if name in closed or states[name].schema != member.state.schema:
            every[name] = member.inferred_from(states[name])
    return every


def with_rows(
    member: FittedMember, state: TrainingState, rows: TrainingRows, *, closed: bool
) -> TrainingState:
    """Return the state of a member with more rows: their levels, and if closed their statistics."""
    schema = state.schema.merge(rows.table)
    if not closed:
        return state.under(schema, state.classes)
    unseen = member.fitted.unseen
    return state + fit.learn(rows, schema, state.likelihoods, state.classes, unseen=unseen)
