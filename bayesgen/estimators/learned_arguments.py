"""Arguments learned from the rows of a fit, which are kept for the next call."""

from collections.abc import Mapping, Sequence
from typing import Any

from bayesgen.errors import UnsupportedOperation
from bayesgen.errors.operations import ALL_ROWS
from bayesgen.estimators.training_rows import TrainingRows
from bayesgen.estimators.unlabelled_fit import LEARN
from bayesgen.inference import Posterior
from bayesgen.inference.unlabelled_rows import ROWS

LEARNED = frozenset({"temper", "missing", "power_transform", "bins"})
"""Arguments that may ask for rows."""


def learned_from_rows(classifier: Any, rows: Sequence[TrainingRows]) -> dict[str, object]:
    """Return the arguments, and their values, that are learned from the rows of all calls.

    If any row has no label all are kept, because inference starts from them again.
    """
    # not get_params, which reads the signature of the constructor again: a sixth of a small batch
    stated = {name: getattr(classifier, name) for name in LEARNED & classifier._parameters}
    wanted = {
        "temper": stated.get("temper") in ("learn", "columns"),
        "missing": stated.get("missing") == "learn",
        "power_transform": stated.get("power_transform", False),
        "bins": stated.get("bins") is not None,
        "unlabelled": any(part.unlabelled is not None for part in rows),
    }
    return {name: getattr(classifier, name) for name, asks in wanted.items() if asks}


def require_no_rows(asks: Mapping[str, object], before: Posterior | None) -> None:
    """Raise if an argument is learned from the rows of earlier calls, of which none was kept.

    At a stated weight rows without a label need no earlier row that has one.

    Args:
        asks: the arguments that are learned from rows, and their values.
        before: the posterior of the earlier calls.

    Raises:
        UnsupportedOperation: with the argument.
    """
    learned = "{}={!r}".format(*next(iter(asks.items()), ("", "")))
    unlabelled = before is not None and ROWS in before.report.details
    if unlabelled or (asks and list(asks) != ["unlabelled"]):
        raise UnsupportedOperation(
            "{what} is learned from all rows, and a classifier that was copied or loaded keeps "
            "none of them.",
            ALL_ROWS,
            what="a posterior given rows without a label" if unlabelled else learned,
        )
    if asks.get("unlabelled") == LEARN:
        raise UnsupportedOperation(
            "unlabelled='learn' weighs unlabeled rows by how well all labeled rows are "
            "predicted, but an earlier call kept no rows, because all of them had labels.",
            "Call fit with all rows, or state a weight: unlabelled=0.1.",
        )
