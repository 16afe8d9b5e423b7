"""Rows on which a fit is scored by leave-one-out."""

import dataclasses
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Int

from bayesgen.estimators.training_rows import TrainingRows, together
from bayesgen.membership import codes_of
from bayesgen.table import row_keys, uniform
from bayesgen.typing import Labels, Weights

JUDGED, CELLS, FEWEST = 2000, 40_000, 500
"""Rows that judge a fit at most; where one costs more than 20 cells, as many as have so many cells,
but no fewer than the last number."""

ROWS_JUDGED = "rows judged"
"""Name of their number in `report_.details`."""


@dataclasses.dataclass(frozen=True, eq=False)
class JudgedRows:
    """Rows that judge a fit: their positions, ascending, and their weights in its score."""

    rows: Int[np.ndarray, " judged"]
    weight: Weights


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
    y, weight = together(seen, classes)
    codes = codes_of(y)
    most = most_judged(cells)
    if len(codes) <= most:
        return JudgedRows(np.arange(len(codes)), weight)
    keys = zip(*(row_keys(rows.labelled.table) for rows in seen), strict=True)
    order, identity = (np.concatenate(part) for part in keys)
    # rows are copies of each other if all of their shares are the same
    labels = codes if y.ndim == 1 else np.unique(y, axis=0, return_inverse=True)[1].ravel()
    rows, total = distinct_rows(identity, labels, weight)
    chosen, share = _priority_sample(uniform(order[rows]), codes[rows], total, most)
    rows, share = rows[chosen], share * total[chosen].sum()
    place = np.argsort(rows)
    return JudgedRows(rows[place], share[place])


def distinct_rows(
    identity: np.ndarray, codes: Labels, weight: Weights
) -> tuple[Int[np.ndarray, " distinct"], Float[np.ndarray, " distinct"]]:
    """Return a position of each distinct row of a class, and the sum of the weights of its copies.

    Of copies it is that of the largest weight, so that which of them comes first does not matter.
    """
    by_row = np.lexsort((-weight, codes, identity))
    first = np.flatnonzero(
        (np.diff(identity[by_row], prepend=~identity[by_row[:1]]) != 0)
        | (np.diff(codes[by_row], prepend=-1) != 0)
    )
    return by_row[first], np.add.reduceat(weight[by_row], first)


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
