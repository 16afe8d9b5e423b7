"""Rows on which a fit is scored by leave-one-out."""

import dataclasses
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Int

from bayesgen.estimators.state import TrainingState
from bayesgen.estimators.training_rows import TrainingRows, copies, joined, together
from bayesgen.inference import Report
from bayesgen.inference.leave_one_out import LabelledRows
from bayesgen.membership import codes_of
from bayesgen.table import Copies, row_keys, uniform
from bayesgen.typing import Labels, Weights

JUDGED, CELLS, FEWEST = 2000, 40_000, 500
"""Rows that judge a fit at most; where one costs more than 20 cells, as many as have so many cells,
but no fewer than the last number."""

ROWS_JUDGED = "rows judged"
"""Name of their number in `report_.details`."""

LOSS = "leave-one-out log loss"
"""Name of the log loss of the rows left out, under the class frequencies of the rows."""
ACCURACY = "leave-one-out accuracy"
"""Name of the accuracy of the rows left out, under the same frequencies."""
LOSS_UNDER_PRIOR = f"{LOSS} under class_prior"
"""Name of the log loss under class probabilities that are stated, in a population that has them."""


def without_loss_under_prior(report: Report) -> Report:
    """Return a report without the loss under class probabilities that are no longer stated."""
    if LOSS_UNDER_PRIOR not in report.details:
        return report
    details = {name: value for name, value in report.details.items() if name != LOSS_UNDER_PRIOR}
    return dataclasses.replace(report, details=details)


@dataclasses.dataclass(frozen=True, eq=False)
class JudgedRows:
    """Rows that judge a fit, each for all of its copies.

    rows: their positions, ascending. weight: in the score, where groups that leave together count
    as one row (see `Copies.counting`). lost: the part of it that leaves with a row. copies: of all
    labeled rows of the fit.
    """

    rows: Int[np.ndarray, " judged"]
    weight: Weights
    lost: Weights
    copies: Copies

    @property
    def counted(self) -> "JudgedRows":
        """The same rows where, as a sample of a fit, they count for as many rows as they are."""
        scale = len(self.rows) / self.weight.sum()
        return dataclasses.replace(self, weight=scale * self.weight, lost=scale * self.lost)

    @property
    def sampled(self) -> bool:
        """Whether they are some of the distinct rows of the fit."""
        return len(self.rows) < len(self.copies.first)


def every_row(seen: Sequence[TrainingRows], classes: np.ndarray) -> JudgedRows:
    """Return all labeled rows as judges: `judged_rows` without a sample."""
    return _judges(copies(seen, classes))


def most_judged(cells: int) -> int:
    """Return how many rows judge a fit at most; cells: what it costs to leave one out."""
    return min(JUDGED, max(CELLS // max(cells, 1), FEWEST))


def judged_rows(seen: Sequence[TrainingRows], classes: np.ndarray, cells: int = 1) -> JudgedRows:
    """Return the labeled rows that judge a fit: all, or a sample of JUDGED at most.

    They weigh the members of a stack, learn the power of a missing pattern, and score naive Bayes.
    A sample depends on the rows' content and weights alone, in no order. Copies of a row are one
    row of the sum of their weights, and every class has the share of the sample that it has of the
    distinct rows.

    Within a class it is a priority sample: rows are taken in the order of u / w, with w the weight
    and u a number between 0 and 1 that the content alone determines, and stand for max(w, 1 / t)
    rows, where t is the first u / w that is not taken. Source: Duffield, Lund and Thorup (2007),
    Priority sampling for estimation of arbitrary subset sums, Journal of the ACM 54, 32.

    Args:
        seen: the rows of each call of fit or partial_fit.
        classes: of the fit.
        cells: what it costs to leave one row out, in cells: more where the table is wide.

    Returns:
        Positions among the labeled rows of all calls. Weights of the sample have the sum of the
        weights that its rows have in the fit, and share it among classes as all rows do.
    """
    equal, most = copies(seen, classes), most_judged(cells)
    if len(equal.first) <= most:
        return _judges(equal)
    codes = codes_of(together(seen, classes)[0])
    order = np.concatenate([row_keys(rows.labelled.table)[0] for rows in seen])
    rows, total = equal.first, equal.total
    chosen, share = _priority_sample(uniform(order[rows]), codes[rows], total, most)
    weight = share * total[chosen].sum()
    return _judges(equal, chosen, weight)


def _judges(
    equal: Copies, chosen: Int[np.ndarray, " judged"] | None = None, weight: Weights | None = None
) -> JudgedRows:
    """Return judges of contents of a fit, all by default with their own weights, in order."""
    chosen = np.arange(len(equal.first)) if chosen is None else chosen
    weight = equal.counting * (equal.total if weight is None else weight)
    place = np.argsort(equal.first[chosen])
    chosen, weight = chosen[place], weight[place]
    return JudgedRows(
        equal.first[chosen], weight, weight * equal.leaving[chosen] / equal.total[chosen], equal
    )


def _priority_sample(
    chance: np.ndarray, codes: Labels, weight: Weights, most: int
) -> tuple[Int[np.ndarray, " chosen"], Float[np.ndarray, " chosen"]]:
    """Return the rows of a sample, and their shares of the weight of all rows.

    Args:
        chance: a uniform number of each row.
        codes: classes of the rows.
        weight: of the rows.
        most: size of the sample.
    """
    if len(codes) <= most:
        return np.arange(len(codes)), weight / weight.sum()
    ends = most * np.cumsum(np.bincount(codes)) // len(codes)
    chosen, shares = [], []
    for k, size in enumerate(np.diff(ends, prepend=0).tolist()):
        rows = np.flatnonzero(codes == k)
        if not len(rows):
            continue
        rank = chance[rows] / weight[rows]
        order, size = np.argsort(rank, kind="stable"), max(size, 1)
        chosen.append(rows[order[:size]])
        share = weight[chosen[-1]]
        if size < len(rows):
            share = np.maximum(share, 1 / rank[order[size]])
        shares.append(share / share.sum() * weight[rows].sum())
    return np.concatenate(chosen), np.concatenate(shares) / weight.sum()


def labelled_rows(
    state: TrainingState,
    seen: Sequence[TrainingRows],
    unseen: str,
    judged: JudgedRows | None = None,
) -> LabelledRows:
    """Return the labeled rows of a fit, each to be left out with its copies.

    Args:
        state: by whose schema rows are read.
        seen: the rows of each call of fit or partial_fit.
        unseen: the argument of the classifier.
        judged: which of them are left out, and what are copies; by default all, and rows that are
            equal in the columns of the model.
    """
    encoded = joined([rows.labelled.encode(state.schema, unseen) for rows in seen])
    y, weight = together(seen, state.classes)
    equal = copies(seen, state.classes) if judged is None else judged.copies
    left_out = None if judged is None else judged.rows
    return LabelledRows(encoded, y, weight, equal.away, left_out, equal.content)
