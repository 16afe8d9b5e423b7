"""Cells of rows: of a column's values, and of scores, so that tied rows share one.

Leaving a row out of the fit changes its score a little, by about as much for each of many tied
rows. An edge at the score of these would have the labeled rows, each left out, on one side and all
of the new rows that are tied with them on the other.
"""

import numpy as np
from jaxtyping import Bool, Float, Int

from bayesgen.schema import as_numbers
from bayesgen.table import Name, Table, TableColumn
from bayesgen.typing import Joint

QUANTILES = 6
"""Cells of a column of numbers: sixths of the labeled rows."""
MOST_CELLS = 20
"""Cells of a column; the rarest levels share the last one."""
ROUNDING = 1e-9
"""Relative difference, at most, of scores of tied rows that are computed among other rows."""

Cells = Int[np.ndarray, "..."]
Scores = Float[np.ndarray, " row"]

# -- cells of columns ------------------------------------------------------------------------------


def cells_by_column(labeled: Table, new: Table) -> dict[Name, tuple[Cells, Cells]]:
    """Return the cells of labeled and of new rows in the columns that both tables have.

    None of sparse tables, which may have thousands.
    """
    if labeled.is_sparse or new.is_sparse:
        return {}
    columns = {column.name: column for column in new.columns}
    return {
        column.name: occurring(*_of_column(column, columns[column.name]))
        for column in labeled.columns
        if column.name in columns
    }


def occurring(labeled: Cells, new: Cells) -> tuple[Cells, Cells]:
    """Return cells without those in which no row lies; beyond MOST_CELLS the rarest share one."""
    every = np.concatenate([labeled, new])
    _, places, counts = np.unique(every, return_inverse=True, return_counts=True)
    if len(counts) > MOST_CELLS:
        rank = np.argsort(np.argsort(-counts, kind="stable"))
        places = np.minimum(rank, MOST_CELLS - 1)[places]
    return places[: len(labeled)], places[len(labeled) :]


def _of_column(labeled: TableColumn, new: TableColumn) -> tuple[Cells, Cells]:
    """Return the cells of a column; missing cells are one of their own."""
    if "level" in (labeled.kind, new.kind):  # of text, perhaps, that is read as numbers
        numbers = as_numbers(labeled), as_numbers(new)
        if numbers[0].kind == numbers[1].kind == "number":
            labeled, new = numbers
    if labeled.kind == "number" and new.kind == "number":
        edges = edges_between(labeled.values[~np.isnan(labeled.values)], QUANTILES)
        return _of_numbers(labeled.values, edges), _of_numbers(new.values, edges)
    places: dict[str, int] = {}
    return _of_levels(labeled, places), _of_levels(new, places)


def _of_numbers(values: Scores, edges: Float[np.ndarray, " edge"]) -> Cells:
    return np.where(np.isnan(values), 0, 1 + np.searchsorted(edges, values))


def _of_levels(column: TableColumn, places: dict[str, int]) -> Cells:
    """Return the places of levels, 0 where one is missing; levels without a place get the next."""
    codes, levels = column.values, column.levels
    if column.kind == "number":  # a column that is one of levels in the other table
        numbers, codes = np.unique(column.values, return_inverse=True)
        codes = np.where(np.isnan(column.values), -1, codes)
        levels = [f"{number:g}" for number in numbers[~np.isnan(numbers)]]
    cells = [0, *(places.setdefault(str(level), len(places) + 1) for level in levels)]
    return np.array(cells)[codes.astype(int) + 1]


# -- cells of scores -------------------------------------------------------------------------------


def cells_by_density(
    labeled: Joint, new: Float[np.ndarray, "other class"], fitted: Joint
) -> tuple[Cells, Cells]:
    """Return the cells of log p(x) of labeled rows and of new rows.

    Labeled rows are scored from the others, except that tied ones are scored from all, as the new
    rows that are tied with them are: the others of a group stand for the row anyway.

    Args:
        labeled: log p(x, y = k) of labeled rows, each from the others.
        new: of new rows.
        fitted: of labeled rows, from all.
    """
    left_out, others, whole = (np.logaddexp.reduce(x, axis=1) for x in (labeled, new, fitted))
    scores = np.where(are_tied(whole), whole, left_out)
    edges = edges_between(scores, QUANTILES)
    return occurring(np.searchsorted(edges, scores), np.searchsorted(edges, others))


def edges_between(scores: Scores, cells: int) -> Float[np.ndarray, " edge"]:
    """Return the edges, halfway between distinct scores, of so many about equal cells or fewer."""
    ordered = np.sort(scores)
    gaps = _gaps(ordered)
    if len(gaps):
        shares = np.arange(1, cells) / cells * len(ordered)
        gaps = np.unique(gaps[np.abs(1 + gaps - shares[:, None]).argmin(axis=1)])
    return ordered[gaps] / 2 + ordered[gaps + 1] / 2


def are_tied(scores: Scores) -> Bool[np.ndarray, " row"]:
    """Return which rows share their score with another row."""
    order = np.argsort(scores)
    group = np.zeros(len(scores), dtype=int)
    group[order[1:][_gaps(scores[order])]] = 1
    group[order] = np.cumsum(group[order])
    return np.bincount(group)[group] > 1


def _gaps(ordered: Scores) -> np.ndarray:
    """Return the places of scores, in rising order, whose next one is larger beyond rounding."""
    lower, upper = ordered[:-1], ordered[1:]
    return np.flatnonzero(lower < upper - ROUNDING * np.maximum(1.0, np.abs(upper)))
