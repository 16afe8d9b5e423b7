"""How long the fit of automatic members takes, from the sizes of the table."""

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np

from bayesgen.errors import BayesgenWarning, Words, warn
from bayesgen.estimators.stack.structures import Structure
from bayesgen.table import Table

LONG = 60.0
"""Seconds of a fit from which it is announced."""
FEW = ("naive", "linear", "naive_shared")
"""The members that are proposed instead."""
PER_MEMBER, PER_COLUMN, PER_CELL = 0.1, 4e-3, 4e-7
"""Seconds of a member, of each of its columns, and of each of its cells."""
PER_PAIR, PER_CUBE = 4.5e-7, 1e-7
"""Seconds of an incomplete row of a joint member: for each pair of columns, and times the cube of
its missing cells. All five on one core, where the fits
were estimated and measured at: 300 x 20, 20 % of
the cells missing 2.3 and 1.4 s; 1,000 x 20 3.0 and 2.5; 10,000 x 20 13.7 and 13.5; 2,000 x 50 18
and 13.5; 1,000 x 150, half of them text, 25 and 23; complete 50,000 x 20 5.2 and 4.1."""


@dataclasses.dataclass(frozen=True)
class Sizes:
    """What the duration of a fit depends on.

    rows, columns, numbers: numbers of these. incomplete: rows that lack a number. missing: the
    mean number of numbers that these lack.
    """

    rows: int
    columns: int
    numbers: int
    incomplete: int
    missing: float

    @classmethod
    def of(cls, table: Table) -> "Sizes":
        """Return the sizes of a table; columns that were never observed do not count."""
        observed = [column for column in table.columns if not column.is_missing]
        numbers = [column.missing for column in observed if column.kind == "number"]
        gaps = np.sum(numbers, axis=0) if numbers else np.zeros(table.n_rows)
        lacking = gaps[gaps > 0]
        mean = float(lacking.mean()) if len(lacking) else 0.0
        return cls(table.n_rows, len(observed), len(numbers), len(lacking), mean)

    def seconds(self, joint: Sequence[bool]) -> float:
        """Return about how long the fit of automatic members takes.

        joint: whether numbers depend on each other given the class, of each member; no missing
        number slows down the others.
        """
        member = PER_MEMBER + self.columns * (PER_COLUMN + PER_CELL * self.rows)
        gap = self.incomplete * (PER_PAIR * self.numbers**2 + PER_CUBE * self.missing**3)
        return len(joint) * member + sum(joint) * gap


def announce(table: Table, members: Mapping[str, Structure]) -> None:
    """Warn of a long fit before it starts, and say which members would take less."""
    sizes = Sizes.of(table)
    seconds = sizes.seconds([member.joint for member in members.values()])
    few = [name for name in FEW if name in members]
    if seconds < LONG or len(few) == len(members):
        return
    warn(
        BayesgenWarning(
            "the fit takes about {duration}, judging by the numbers of rows, columns and missing "
            "cells; {fewer} takes about {shorter}.",
            duration=in_words(seconds),
            fewer=Words(f"members={few}", "--model naive-bayes"),
            shorter=in_words(sizes.seconds([members[name].joint for name in few])),
        )
    )


def in_words(seconds: float) -> str:
    """Return a duration to two digits at most, in seconds, minutes or hours."""
    for unit, name in ((3600, "hour"), (60, "minute")):
        if seconds >= 1.5 * unit:
            return f"{float(f'{seconds / unit:.2g}'):,.0f} {name}s"
    return f"{max(float(f'{seconds:.1g}'), 1.0):,.0f} seconds"
