"""Sentences about columns that look like something other than a feature."""

from bayesgen.errors.base import BayesgenWarning, Count, in_rows, rows, shown, to_numbers


class TextNumbers(BayesgenWarning):
    """A column of text holds numbers in almost all of its cells."""

    @classmethod
    def cells(cls, column: object, cells: list[tuple[str, int]], observed: Count) -> "TextNumbers":
        """`cells`, (text, row), of the `observed` ones are not numbers."""
        are = "is not a number" if len(cells) == 1 else "are not numbers"
        return cls(
            f"column {shown(column)} is read as text, because {len(cells):,} of its {observed:,} "
            f"cells {are}: {in_rows(cells)}. {to_numbers(column, cells)}. If it is text all "
            f"the same, pass X.astype({{{shown(column)}: 'category'}})."
        )


class IdentifierColumn(BayesgenWarning):
    """A column names or counts the rows, and says nothing of new ones."""

    @classmethod
    def column(cls, column: object, n_levels: Count, n_rows: Count) -> "IdentifierColumn":
        """More than half of the rows have a level of their own."""
        return cls(
            f"column {shown(column)} has {n_levels:,} levels in {rows(n_rows)}; it looks like an "
            "identifier, and a new row will have a level that fitting never saw. Leave it out: "
            f"X.drop(columns={shown(column)})."
        )

    @classmethod
    def unnamed(cls, column: object, *, first: bool) -> "IdentifierColumn":
        """The column has no name, as the index of a table that was written to a file."""
        return cls(
            f"column {shown(column)} has no name of its own; it looks like the index of a table "
            "that was written to a file, and where rows are sorted by class it gives the classes "
            f"away. {_leave_out(column, first=first)}."
        )

    @classmethod
    def ascending(cls, column: object, *, first: bool) -> "IdentifierColumn":
        """Integers rise from every row to the next."""
        return cls(
            f"column {shown(column)} holds integers that rise from every row to the next; it looks "
            "like a row number or a key, and where rows are sorted by class it gives the classes "
            f"away. {_leave_out(column, first=first)}. If it was measured, pass "
            f"X.astype({{{shown(column)}: float}})."
        )


def _leave_out(column: object, *, first: bool) -> str:
    index = ", or read the file by pandas.read_csv(path, index_col=0)" if first else ""
    return f"Leave it out: X.drop(columns={shown(column)}){index}"
