"""Columns of a table matched with those of a fit: by name, or in an array by position."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

import numpy as np

from bayesgen.errors import CountsAsMissing, Cure, InvalidData, warn
from bayesgen.errors.data import TABLE
from bayesgen.errors.dialect import FITTED_COLUMNS, WITH_EMPTY, renamed
from bayesgen.table import SPARSE, Name, Names, Table, TableColumn
from bayesgen.table.columns import missing_column


@dataclass(frozen=True)
class MatchedTable:
    """A table by the names of the fit.

    position: name of a fitted column -> where the table has it; a column that it lacks is missing
    in every row, and not in here.
    """

    table: Table
    position: Mapping[Name, int]

    def column(self, name: Name) -> TableColumn:
        """Return one column, under its fitted name."""
        if name not in self.position:
            return missing_column(name, self.table.n_rows)
        column = self.table.columns[self.position[name]]
        return column if column.name == name else replace(column, name=name)

    def matrix(self, names: Names) -> np.ndarray | None:
        """Return some columns as one array, neighbors as a view; None if they lie in none."""
        matrix, positions = self.table.matrix, [self.position.get(name, -1) for name in names]
        if matrix is None or -1 in positions:
            return None
        first, last = positions[0], positions[-1] + 1
        neighbors = positions == list(range(first, last))
        return matrix[:, first:last] if neighbors else matrix[:, positions]


def matched(names: Names, container: str, table: Table, estimator: str) -> MatchedTable:
    """Return a table by the names of the fit; it may lack columns, and have others.

    Raises:
        InvalidData: for arrays another number of columns.
    """
    if by_position(container, table):
        check_number(names, table, estimator)
        return MatchedTable(table, {name: i for i, name in enumerate(names)})
    return MatchedTable(table, {name: i for i, name in enumerate(table.names)})


def check_columns(
    names: Names, read: Collection[Name], container: str, table: Table, estimator: str
) -> None:
    """Compare the columns of a table with the fitted ones: warn of absent ones, refuse others.

    Columns of a DataFrame may come in any order. Absent ones are missing in every row; one warning
    names them all.

    Args:
        names: the fitted columns.
        read: those of them that are used; others may be absent without a warning.
        container: type of the fitted table.
        table: the rows at hand. If either came in an array, columns are known by position.
        estimator: named in the error about a wrong number of columns.

    Raises:
        InvalidData: a name absent from the fit; for arrays, a different number of columns.
    """
    if by_position(container, table):
        check_number(names, table, estimator)
        return
    absent, known = absent_columns(names, read, container, table), set(names)
    unseen = tuple(name for name in table.names if name not in known)
    if unseen:
        no_columns = len(unseen) == len(table.names)
        raise _not_fitted(unseen, absent, no_columns=no_columns, dicts=table.dicts)
    if absent:
        warn(_absent_warning(absent, len(read)))


def _not_fitted(unseen: tuple, absent: tuple, *, no_columns: bool, dicts: str) -> InvalidData:
    """Return the error about columns absent from the fit; the first words are scikit-learn's.

    Args:
        unseen: those columns.
        absent: fitted ones that the frame lacks.
        no_columns: whether it has no fitted column at all.
        dicts: whether rows came as a "dict", "dicts" in a list, or as "none".
    """
    problem = (
        "The feature names should match those that were passed during fit.\n"
        "Feature names unseen at fit time:\n{unseen_lines}"
    )
    cures = []
    if not no_columns:
        few = "{few:without}" if len(unseen) <= 5 else "{known}"
        if dicts != "none":
            row = "X" if dicts == "dict" else "row"
            few = f"{{{{name: {row}[name] for name in {row} if name in clf.feature_names_in_}}}}"
            few = few if dicts == "dict" else f"[{few} for row in X]"
        cures.append(f"leave out columns that the fit did not have, {few}")
    if absent:
        problem += "Feature names seen at fit time, yet now missing:\n{absent_lines}"
        rename = "{renamed}"
        if dicts == "dict":
            rename = "X[{absent[0]!r}] = X.pop({unseen[0]!r}, None)"
        elif dicts == "dicts":
            rename = "for row in X: row[{absent[0]!r}] = row.pop({unseen[0]!r}, None)"
        cures.append(f"use the column names of the fit, {rename}")
    cure = ", or ".join(cures)
    return InvalidData(
        f"{problem}{cure[0].upper()}{cure[1:]}.",
        unseen=unseen,
        absent=absent,
        few=list(unseen),
        known=FITTED_COLUMNS,
        renamed=renamed(unseen[0], absent[0]) if absent else "",
        unseen_lines=_bullets(unseen),
        absent_lines=_bullets(absent),
    )


def _bullets(names: tuple) -> str:
    first = sorted(names, key=str)[:5]
    return "".join(f"- {name}\n" for name in first) + ("- ...\n" if len(names) > 5 else "")


def _absent_warning(absent: tuple, n_columns: int) -> CountsAsMissing:
    """Return the warning of some of the fitted columns, which a table lacks."""
    add = "Add what is known to X"
    if all(isinstance(name, str) for name in absent):
        add += (
            "; {with_empty} adds empty columns without this warning, as None for each of them does "
            "in a dict"
        )
    return CountsAsMissing(
        "{table} lacks {columns:len} of the {n_columns:,} fitted columns, the {columns:named "
        "column}; {count} as missing in every row.",
        Cure(f"{add}.", "Add what is known to the file."),
        table=TABLE,
        columns=absent,
        n_columns=n_columns,
        count="it counts" if len(absent) == 1 else "they count",
        with_empty=WITH_EMPTY,
    )


def absent_columns(
    names: Names, read: Collection[Name], container: str, table: Table
) -> tuple[Name, ...]:
    """Return which of the fitted columns that are used a table lacks, in their order."""
    if by_position(container, table):
        return ()
    there = set(table.names)
    return tuple(name for name in names if name in read and name not in there)


def by_position(container: str, table: Table) -> bool:
    """Return whether the columns of a table, or those of the fitted one, have no names."""
    return not {"numpy", *SPARSE}.isdisjoint((container, table.container))


def check_number(names: Names, table: Table, estimator: str) -> None:
    """Reject a number of columns other than that of the fit."""
    if len(table.columns) != len(names):
        raise InvalidData(
            "X has {found} features, but {estimator} is expecting {expected} features as input.",
            "Columns of an array are matched by position; for missing columns pass a DataFrame.",
            found=len(table.columns),
            expected=len(names),
            estimator=estimator,
        )
