"""Which column of a table is which fitted one: frames by name, arrays by position."""

from collections.abc import Collection

from bayesgen.errors import AbsentColumns, UnknownColumns, warn
from bayesgen.table import SPARSE, Name, Names, Table, TableColumn


def check_columns(
    names: Names, read: Collection[Name], container: str, table: Table, estimator: str
) -> None:
    """Compare the columns of a table with the fitted ones: warn of absent ones, refuse others.

    Columns of a frame may stand in any order. An absent one is missing in every row, which one
    warning says of all of them.

    Args:
        names: the fitted columns.
        read: those of them that are used; others may be absent without a warning.
        container: what the fitted rows came in.
        table: the rows at hand. If either came in an array, columns are known by position.
        estimator: named in the error about a wrong number of columns.

    Raises:
        UnknownColumns: a name that fitting did not see; for arrays another number of columns.
    """
    if by_position(container, table):
        check_number(names, table, estimator)
        return
    absent, known = absent_columns(names, read, container, table), set(names)
    unseen = tuple(name for name in table.names if name not in known)
    if unseen:
        raise UnknownColumns.unseen(unseen, absent, no_columns=len(unseen) == len(table.names))
    if absent:
        warn(AbsentColumns.named(absent, len(read)))


def absent_columns(
    names: Names, read: Collection[Name], container: str, table: Table
) -> tuple[Name, ...]:
    """Return which of the fitted columns that are used a table lacks, in their order."""
    if by_position(container, table):
        return ()
    there = set(table.names)
    return tuple(name for name in names if name in read and name not in there)


def matched(
    names: Names, container: str, table: Table, estimator: str
) -> tuple[TableColumn | None, ...]:
    """Return the table's columns in the order of the fitted names; None for an absent one.

    Raises:
        UnknownColumns: for arrays another number of columns.
    """
    if by_position(container, table):
        check_number(names, table, estimator)
        return tuple(table.columns)
    by_name = {column.name: column for column in table.columns}
    return tuple(by_name.get(name) for name in names)


def by_position(container: str, table: Table) -> bool:
    """Say whether the columns of a table, or those of the fitted one, have no names."""
    return not {"numpy", *SPARSE}.isdisjoint((container, table.container))


def check_number(names: Names, table: Table, estimator: str) -> None:
    """Refuse another number of columns than that of the fitted names."""
    if len(table.columns) != len(names):
        raise UnknownColumns.wrong_number(len(table.columns), len(names), estimator)
