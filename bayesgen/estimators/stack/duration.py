"""How long the fit of automatic members takes, from the sizes of the table."""

import dataclasses
import math
from collections.abc import Collection, Mapping

import numpy as np

from bayesgen.errors import Words
from bayesgen.estimators.judged_rows import most_judged
from bayesgen.estimators.stack.structures import Structure
from bayesgen.inference import duration
from bayesgen.likelihoods import JointCategorical, MultivariateNormal
from bayesgen.schema import reads_as_numbers
from bayesgen.table import Table

FEW = ("naive", "linear", "naive_shared")
"""The members that are proposed instead."""
PER_MEMBER, PER_COLUMN = 0.016, 3e-3
"""Seconds of a member, and of each of its columns."""
PER_BLOCK, PER_LEVEL = 1.3e-6, 6e-7
"""Seconds of a judged row under a class, for each block that the log-linear pool weighs, and for
each level that a member reads."""
PER_INDICATOR = 2e-8
"""Seconds of a judged row, for each prior of a normal over indicators and pair of columns of it."""
PER_CELL = 2.9e-6
"""Seconds of a judged row under a class, for each cell of a joint table of incomplete rows."""
PER_SPLIT = 1e-6
"""Seconds of n log n, n rows, of a forest, for the square root of the columns."""
PER_GAP, PER_PAIR = 1.1e-5, 8.5e-8
"""Seconds of an incomplete row of a joint member under a class, and for each pair of columns.

All nine are fitted to tables on one thread of a machine with other work. Rows x numbers + levels of
so many values, classes, share of missing cells; seconds of processor measured, and estimated:

    300 x 5, 2             .4    .3    300 x 20, 2, .2                1.0   1.0
    1,000 x 20, 2         1.1    .9    600 x 60, 2, .2                4.9   5.0
    5,000 x 20, 2         1.7   1.3    800 x 85 + 20 of 6, 2, .2     11    12
    20,000 x 10, 3        1.4   1.6    300 x 6, 40, .1                1.2   1.3
    500 x 90, 2           2.7   3.0    1,000 x 5, 30, .1              2.5   2.3
    2,000 x 10, 10        1.7   1.5    400 x 5, 80, .1                2.2   2.4
    2,000 x 30, 10        3.1   2.8    1,000 x 5 + 5 of 4, 2           .7   1.0
    1,000 x 4, 50         1.5   1.5    1,000 x 10 of 30, 2             .6    .5
    400 x 5, 80           1.0   1.2    2,000 x 20 of 5, 5             5.0   3.6
    1,000 x 20, 2, .2     2.2   1.6    900 x 2 + 2 of 40, 5           4.1   4.5
                                       1,000 x 3 + 2 of 10, 30, .1   16    16
"""


@dataclasses.dataclass(frozen=True)
class Sizes:
    """What the duration of a fit depends on.

    rows, columns, numbers, classes: numbers of these. judged: rows that are left out one by one.
    incomplete: rows that lack a number. levels: of each column that has them. gaps: whether a level
    is missing.
    """

    rows: int
    columns: int
    numbers: int
    incomplete: int
    classes: int
    judged: int
    levels: tuple[int, ...] = ()
    gaps: bool = False

    @classmethod
    def of(cls, table: Table, classes: int) -> "Sizes":
        """Return the sizes of a table; columns that were never observed do not count."""
        observed = [column for column in table.columns if not column.is_missing]
        numbers = [column.missing for column in observed if reads_as_numbers(column)]
        levels = [column for column in observed if not reads_as_numbers(column)]
        gaps = np.sum(numbers, axis=0) if numbers else np.zeros(table.n_rows)
        return cls(
            table.n_rows,
            len(observed),
            len(numbers),
            int((gaps > 0).sum()),
            classes,
            min(table.n_rows, most_judged(len(observed))),
            tuple(len(column.levels) for column in levels),
            any(bool(column.missing.any()) for column in levels),
        )

    def seconds(self, members: Collection[Structure]) -> float:
        """Return about how long the fit of automatic members takes."""
        splits = self.rows * math.log2(max(self.rows, 2)) * math.sqrt(self.columns)
        forest = any(member.columns_apart for member in members)
        return sum(map(self._of_member, members)) + PER_SPLIT * splits * forest

    def _of_member(self, member: Structure) -> float:
        """Return the seconds of fitting a member, and of its predictions of rows left out."""
        apart = sum(map(len, member.blocks)) if member.split_in_pool else 1
        scored = self.judged * self.classes * (PER_BLOCK * apart + PER_LEVEL * sum(self.levels))
        if member.indicators is not None:
            width = self.numbers + sum(self.levels) - len(self.levels)
            grid = MultivariateNormal.hyperparameter_grid["covariance_rows"]
            priors = len(grid) if member.indicators == "learn" else 1
            scored += PER_INDICATOR * self.judged * priors * width**2
        if self.gaps and any(isinstance(p, JointCategorical) for p in member.blocks.values()):
            scored += PER_CELL * self.judged * self.classes * math.prod(self.levels)
        # no missing number slows down the others
        if member.joint:
            scored += self.incomplete * self.classes * (PER_GAP + PER_PAIR * self.numbers**2)
        return PER_MEMBER + PER_COLUMN * self.columns + scored


def announce(table: Table, classes: int, members: Mapping[str, Structure]) -> None:
    """Warn of a long fit before it starts, and say which members would take less."""
    few = {name: members[name] for name in FEW if name in members}
    if len(few) == len(members):
        return
    sizes = Sizes.of(table, classes)
    duration.announce(
        sizes.seconds(members.values()),
        Words(f"members={list(few)}", "--model naive-bayes"),
        sizes.seconds(few.values()),
    )
