"""Which column of a table is which fitted one: frames by name, arrays by position."""

from bayesgen.errors import UnknownColumns
from bayesgen.table import SPARSE, Name, Names, Table, TableColumn


def matched(
    names: Names, read: set[Name], container: str, table: Table, estimator: str
) -> tuple[TableColumn | None, ...]:
    """Return the table's columns in the order of the fitted names; None for an absent one.

    Args:
        names: the fitted columns.
        read: those of them that blocks read; of the others none is missed.
        container: what the fitted rows came in.
        table: the rows at hand. If either came in an array, columns are known by position.
        estimator: named in the error about a wrong number of columns.

    Raises:
        UnknownColumns: unknown names, another order, or more than half of the read columns
            absent; for arrays another number of columns.
    """
    if by_position(container, table):
        check_number(names, table, estimator)
        return tuple(table.columns)
    by_name = {column.name: column for column in table.columns}
    known = set(names)
    unseen = tuple(name for name in by_name if name not in known)
    missing = tuple(name for name in names if name in read and name not in by_name)
    if unseen or 2 * len(missing) > len(read):
        raise UnknownColumns.mismatch(missing, unseen)
    if list(by_name) != [name for name in names if name in by_name]:
        raise UnknownColumns.wrong_order()
    return tuple(by_name.get(name) for name in names)


def by_position(container: str, table: Table) -> bool:
    """Say whether the columns of a table, or those of the fitted one, have no names."""
    return not {"numpy", *SPARSE}.isdisjoint((container, table.container))


def check_number(names: Names, table: Table, estimator: str) -> None:
    """Refuse another number of columns than that of the fitted names."""
    if len(table.columns) != len(names):
        raise UnknownColumns.wrong_number(len(table.columns), len(names), estimator)
