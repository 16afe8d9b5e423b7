"""Columns of levels read as indicators: one column of 0 and 1 for each level but the first.

The first level is where all others are 0, so that nothing is lost and nothing is said twice. Which
one it is changes no prediction (see `likelihoods.multivariate_normal.indicators`). Levels are those
of rows: others, declared or not, have no indicator. A missing cell is missing in all indicators of
its column. A column of one level, or of none, has a single column that is 0 where it is observed:
the statistics then know which rows it is missing in when a second level arrives.
"""

import dataclasses
import itertools
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from jaxtyping import Float, Int

from bayesgen.schema.columns import Column
from bayesgen.table import Name, TableColumn


def indicators(name: Name, levels: tuple) -> tuple[Column, ...]:
    """Return the columns that indicate the levels of a column, all but the first."""
    names = [f"{name}={level}" for level in levels[1:]] or [name]
    return tuple(
        Column(label, "numbers", origin=0.0, source=name, known=levels, code=code)
        for code, label in enumerate(names, start=1)
    )


def of_rows(found: TableColumn) -> TableColumn:
    """Return a column of levels without those that no row has, declared or not."""
    if found.kind == "number":
        return found
    codes = np.unique(found.values[found.values >= 0])
    place = np.full(len(found.levels) + 1, -1)
    place[codes] = np.arange(len(codes))
    levels = tuple(found.levels[code] for code in codes.tolist())
    return dataclasses.replace(found, values=place[found.values], levels=levels, declared=False)


def by_source(columns: Sequence[Column]) -> Iterator[tuple[Name, list[Column]]]:
    """Yield the columns of a block source by source, with the name of each source."""
    for name, some in itertools.groupby(columns, key=lambda column: column.reads):
        yield name, list(some)


def regrouped(
    columns: Sequence[Column], levels: Callable[[Column], tuple | None]
) -> tuple[Column, ...]:
    """Return the columns of a block whose indicators are of other levels.

    levels: from a column with the levels that it had -> those that it has, or None if it turned out
    to hold numbers.
    """
    out: list[Column] = []
    for name, some in by_source(columns):
        known = some[0].known
        if known is None:
            out += some
            continue
        new = levels(Column(name, "levels", known))
        if new is None:
            out.append(Column(name, "numbers"))
        else:
            out += some if new == known else indicators(name, new)
    return tuple(out)


def with_rows(
    columns: Sequence[Column],
    count: Float[np.ndarray, " column"],
    sums: Float[np.ndarray, " column"],
    *,
    least: float,
) -> tuple[Column, ...]:
    """Return the columns of a block without the indicators of levels that have no rows.

    Args:
        columns: of the block.
        count: weight of the rows in which each is observed.
        sums: weight of the rows in which each is 1.
        least: share of the rows of a column below which the weight of a level is rounding.
    """
    places: dict[Name, list[int]] = {}
    for i, column in enumerate(columns):
        places.setdefault(column.reads, []).append(i)

    def present(source: Column) -> tuple:
        at = places[source.name]
        weight = [count[at[0]] - sums[at].sum(), *sums[at]]
        pairs = zip(source.levels, weight, strict=False)  # of one level the other is 0
        return tuple(level for level, rows in pairs if rows > least * count[at[0]])

    return regrouped(columns, present)


def variables(columns: Sequence[Column]) -> tuple[int, ...]:
    """Return the number of the variable that each column is an indicator of; -1: of none."""
    numbers: dict[Name, int] = {}
    return tuple(
        -1 if c.known is None else numbers.setdefault(c.reads, len(numbers)) for c in columns
    )


@dataclasses.dataclass(frozen=True, eq=False)
class Rewriting:
    """How the columns of a block are computed from those of an earlier one.

    New columns are matrix @ old ones + offset; each is observed where the column `like` was.
    """

    matrix: Float[np.ndarray, "new old"]
    offset: Float[np.ndarray, " new"]
    like: Int[np.ndarray, " new"]


def rewriting(before: Sequence[Column], after: Sequence[Column]) -> Rewriting:
    """Return how indicators of levels before become those of levels after.

    A level that is new is 0 in all rows so far. The first level before is 1 minus all others. A
    level that is no longer there must have had no rows. Origins may change too.
    """
    matrix, offset = np.zeros((len(after), len(before))), np.zeros(len(after))
    like = np.zeros(len(after), dtype=int)
    places: dict[Name, list[int]] = {}
    for i, column in enumerate(before):
        places.setdefault(column.reads, []).append(i)
    for j, column in enumerate(after):
        siblings = places[column.reads]
        like[j] = siblings[0]
        if column.known is None:
            matrix[j, like[j]] = 1.0
            if before[like[j]].known is None:
                offset[j] = np.nan_to_num(before[like[j]].origin - column.origin)
            continue
        known, level = before[like[j]].known or (), column.known[column.code : column.code + 1]
        if level and level[0] in known:
            code = known.index(level[0])
            matrix[j, siblings if code == 0 else siblings[code - 1]] = 1.0 if code else -1.0
            offset[j] = 0.0 if code else 1.0
    return Rewriting(matrix, offset, like)
