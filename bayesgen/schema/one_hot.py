"""One-hot encoding: one 0/1 column for each level but the first."""

import dataclasses
from collections.abc import Mapping

import numpy as np

from bayesgen.schema.level_codes import level_codes
from bayesgen.table import Name, Table, TableColumn


def indicators(
    table: Table, levels: Mapping[Name, tuple], *, alone: bool = False, keep: bool = False
) -> Table:
    """Return the table with "name=level" columns of 0 and 1 in place of columns of levels.

    A missing cell, and a level that is not among `levels`, is missing in all of them. A column of
    one level, or of none, is uninformative and has no column.

    alone: no column has a second level, and there are no other columns. They then stay as empty
        ones, so that there is a table.
    keep: whether columns of levels stay beside theirs.
    """
    columns: list[TableColumn] = []
    for column in table.columns:
        if alone:
            columns.append(TableColumn(column.name, "number", np.full(table.n_rows, np.nan)))
        elif column.name in levels:
            columns += [column] * keep + _indicated(column, levels[column.name])
        else:
            columns.append(column)
    return dataclasses.replace(table, columns=tuple(columns), matrix=None)


def _indicated(column: TableColumn, levels: tuple) -> list[TableColumn]:
    codes = level_codes(levels, column, "missing")
    return [
        TableColumn(f"{column.name}={level}", "number", np.where(codes < 0, np.nan, codes == code))
        for code, level in enumerate(levels)
        if code
    ]
