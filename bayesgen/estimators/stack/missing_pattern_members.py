"""The missing pattern in the members of a stack: how much it counts, and where its cells are."""

from collections.abc import Mapping
from typing import cast

from bayesgen import explain
from bayesgen.estimators.classifier import Classifier
from bayesgen.estimators.judged_rows import JudgedRows
from bayesgen.estimators.training_rows import TrainingRows, together
from bayesgen.inference import Posterior
from bayesgen.inference.scores import Scores
from bayesgen.table import Name


def pattern_power(
    member: Classifier,
    scores: Scores,
    read: TrainingRows,
    judged: JudgedRows,
) -> Posterior:
    """Return the posterior of a fitted member, its missing pattern with a learned power.

    Args:
        member: fitted to the rows.
        scores: of the judged rows, each given all others.
        read: the rows of the fit, as the member reads them.
        judged: the rows that the power is learned from.
    """
    posterior = cast(Posterior, member._posterior)
    codes = together((read,), member.classes_)[0][judged.rows]
    return member.state_.with_pattern_power(posterior, scores, codes, judged.weight)


def pattern_cells(members: Mapping[str, Classifier]) -> dict[Name, dict[Name, explain.Cell]]:
    """Return by column the name of its missing pattern, and the encoded positions of this."""
    found: dict[Name, tuple[Name, list[explain.Place]]] = {}
    for name, member in members.items():
        for source, (column, (block, j)) in member.state_.pattern_positions().items():
            if cast(Posterior, member._posterior).components.reads(block, j):
                found.setdefault(source, (column.name, []))[1].append((f"{name}/{block}", j))
    return {source: {own: tuple(places)} for source, (own, places) in found.items()}
