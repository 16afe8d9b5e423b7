"""What a table holds: each column's kind, values and missing cells."""

import dataclasses

import numpy as np

from bayesgen.table import Table, TableColumn

MOST_LEVELS = 6


@dataclasses.dataclass(frozen=True)
class ColumnAccount:
    """One column in words: its name, kind, values, and how many cells are missing."""

    name: str
    kind: str
    values: str
    missing: int
    share: float


def accounts(table: Table) -> list[ColumnAccount]:
    """Return the account of every column, in the order of the table."""
    return [_account(column, table.n_rows) for column in table.columns]


def _account(column: TableColumn, n_rows: int) -> ColumnAccount:
    number = column.kind == "number"
    gone = np.isnan(column.values) if number else column.values < 0
    seen = column.values[~gone]
    missing = int(gone.sum())
    if not len(seen):
        values = "nothing observed"
    elif number:
        low, middle, high = np.quantile(seen, [0, 0.5, 1])
        values = f"{low:.5g} to {high:.5g}, median {middle:.5g}"
    else:
        count = np.bincount(seen, minlength=len(column.levels))
        order = np.argsort(-count, kind="stable")[:MOST_LEVELS]
        values = ", ".join(f"{column.levels[i]} ({count[i]:,})" for i in order)
        more = len(column.levels) - MOST_LEVELS
        values += f" and {more} more" if more > 0 else ""
    return ColumnAccount(str(column.name), column.kind, values, missing, missing / n_rows)
