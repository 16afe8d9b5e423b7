"""Columns that do not suit their likelihood, differ from those of the fit, or look suspicious."""

import math
from collections.abc import Iterable, Mapping, Sequence

from bayesgen.errors.base import (
    BayesgenError,
    BayesgenWarning,
    Count,
    Real,
    in_rows,
    listed,
    rows,
    shown,
    to_numbers,
)


class NotNumeric(BayesgenError, ValueError):
    """A likelihood of numbers was asked for a column of levels."""

    @classmethod
    def column(cls, column: object, levels: Iterable) -> "NotNumeric":
        """The column holds `levels`."""
        return cls(
            f"column {shown(column)} holds the levels {listed(levels)}; its likelihood needs "
            f"numbers. Give it one for levels, likelihood={{{shown(column)}: bg.Categorical(), "
            "...}, or, if it is a number, pass X[column].astype(float)."
        )

    @classmethod
    def text(cls, column: object) -> "NotNumeric":
        """Every cell is a number, and all are text."""
        return cls(
            f"column {shown(column)} holds numbers that are written as text; its likelihood needs "
            f"numbers. Pass X.astype({{{shown(column)}: float}})."
        )

    @classmethod
    def cells(cls, column: object, cells: list[tuple[str, int]]) -> "NotNumeric":
        """Most cells are numbers, and `cells`, (text, row), are not."""
        return cls(
            f"column {shown(column)} holds {in_rows(cells)}; its likelihood needs numbers. "
            f"{to_numbers(column, cells)}."
        )


class NotLevels(BayesgenError, ValueError):
    """A likelihood of levels was asked for a column of numbers that are not whole."""

    @classmethod
    def fractions(cls, column: object, value: Real) -> "NotLevels":
        """The column holds a fraction."""
        return cls(
            f"column {shown(column)} holds {shown(value)}; its likelihood needs levels, and only "
            "whole numbers, text, booleans and categories are levels. Give it one for numbers, "
            f"likelihood={{{shown(column)}: bg.Normal(), ...}}, or cut it into levels, "
            "pandas.cut(X[column], 5)."
        )

    @classmethod
    def changed(cls, column: object, before: Iterable, now: Iterable) -> "NotLevels":
        """A batch has levels of another type than the batches before."""
        return cls(
            f"column {shown(column)} holds the levels {listed(now)}, and held {listed(before)} in "
            "earlier batches; all batches need one type. Pass X[column].astype(str) in each."
        )


class NotBinary(BayesgenError, ValueError):
    """Bernoulli was asked for a column that has not exactly two declared levels."""

    @classmethod
    def number(cls, column: object, value: Real) -> "NotBinary":
        """The column holds a number that is neither 0 nor 1."""
        return cls(
            f"column {shown(column)} holds {shown(value)}; Bernoulli takes booleans, the numbers 0 "
            f"and 1, and declared categories of two levels. Pass X[column] > 0, or use Normal: "
            f"likelihood={{{shown(column)}: bg.Normal(), ...}}."
        )

    @classmethod
    def levels(cls, column: object, levels: tuple) -> "NotBinary":
        """The column holds text, or categories that are not two."""
        return cls(
            f"column {shown(column)} holds {len(levels):,} levels, {listed(levels)}; Bernoulli "
            "takes booleans, the numbers 0 and 1, and declared categories of two levels. Use "
            f"Categorical: likelihood={{{shown(column)}: bg.Categorical(), ...}}."
        )


class NotCounts(BayesgenError, ValueError):
    """A likelihood of counts was asked for numbers that are negative or not whole."""

    @classmethod
    def number(cls, column: object, value: Real) -> "NotCounts":
        """The column holds no count. The first words about a negative one are scikit-learn's."""
        first = "Negative values in data: column" if value < 0 else "column"
        return cls(
            f"{first} {shown(column)} holds {shown(value)}; its likelihood needs counts: 0, 1, 2, "
            f"... (of texts those of CountVectorizer, no weights). For a measured number use "
            f"Normal: likelihood={{{shown(column)}: bg.Normal(), ...}}."
        )


class MissingCells(BayesgenError, ValueError):
    """Rows to fit miss cells, and their likelihood fits complete rows only."""

    @classmethod
    def at_fit(cls, family: str, column: object, count: Count, n_rows: Count) -> "MissingCells":
        """A column is missing (NaN) in `count` of `n_rows` rows."""
        return cls(
            f"column {shown(column)} is missing (NaN) in {count:,} of {rows(n_rows)}; {family} "
            "fits complete rows only, since the counts of a row share one total. Pass X.fillna(0) "
            "if absent means none, leave these rows out, or use Poisson: likelihood=Poisson()."
        )


class UnsupportedColumn(BayesgenError, TypeError):
    """A column has a type, or a name, that the library does not read."""

    @classmethod
    def date(cls, column: object, found: str) -> "UnsupportedColumn":
        """Cells are dates, times or durations."""
        return cls(
            f"column {shown(column)} holds dates or times ({found}); numbers and categories are "
            "allowed. Say what about the date matters, for example X[column].dt.month, or drop the "
            "column."
        )

    @classmethod
    def nested(cls, column: object, found: str) -> "UnsupportedColumn":
        """Cells hold something other than one number, text or boolean (scikit-learn's words)."""
        return cls(
            f"column {shown(column)} holds values of type {found}; every argument must be a string "
            "or a number (or a boolean). Unpack them into columns of their own, or drop the column."
        )

    @classmethod
    def mixed(
        cls, column: object, found: Iterable[str], texts: list[tuple[str, int]]
    ) -> "UnsupportedColumn":
        """Cells of one column are of several types; `texts` are (text, row)."""
        name = shown(column)
        where = f" ({in_rows(texts)})" if texts else ""
        return cls(
            f"column {name} mixes values of the types {', '.join(found)}{where}; one type is "
            f"allowed. For categories X[{name}] = X[{name}].astype(str), for numbers X[{name}] = "
            f"pandas.to_numeric(X[{name}], errors='coerce'), which makes other cells missing."
        )

    @classmethod
    def text_numbers(cls, column: object, levels: Iterable) -> "UnsupportedColumn":
        """An array of text holds what were numbers or missing values before NumPy made it text."""
        return cls(
            f"column {shown(column)} of an array of text holds {listed(levels)}: numpy.array turns "
            "numbers and missing values that stand beside text into text. Pass a DataFrame, or an "
            "array made with dtype=object (dtype=float if there are numbers only)."
        )

    @classmethod
    def name(cls, column: object) -> "UnsupportedColumn":
        """A column is named by something other than text or an integer."""
        return cls(
            f"column {shown(column)} is named by a {type(column).__name__}; text and integers are "
            "allowed. Pass X.set_axis([str(c) for c in X.columns], axis=1)."
        )

    @classmethod
    def mixed_names(cls, text: str, number: int) -> "UnsupportedColumn":
        """Some columns are named by text, and some by integers."""
        return cls(
            f"column {shown(text)} is named by text and column {shown(number)} by an integer; "
            "names of one type are allowed. Pass X.set_axis([str(c) for c in X.columns], axis=1)."
        )


class UnknownColumns(BayesgenError, ValueError):
    """Columns are named that a table has not, or a table has columns that fitting did not see."""

    @classmethod
    def not_in_table(cls, names: Iterable, existing: Iterable) -> "UnknownColumns":
        """A likelihood was given for columns that X has not."""
        return cls(
            f"X has no column {listed(names)}; it has {listed(existing, 20)}. Name one of these, "
            "or give its position."
        )

    @classmethod
    def two_numbers(cls, numbers: Iterable) -> "UnknownColumns":
        """A picture over two columns needs columns of numbers."""
        return cls(
            f"features needs two columns of numbers, such as two of {listed(numbers, 20)}. Pass "
            "features=(column, column), by name or by position."
        )

    @classmethod
    def twice(cls, names: Iterable) -> "UnknownColumns":
        """Columns are named in more than one entry of likelihood=."""
        return cls(
            f"likelihood= names column {listed(names)} more than once; each column has one "
            "likelihood. Leave one of the entries out."
        )

    @classmethod
    def left_out(cls, names: Iterable) -> "UnknownColumns":
        """Columns have no entry in likelihood=."""
        return cls(
            f"likelihood= leaves out column {listed(names)}; each column needs a likelihood. Add "
            'an entry for it, or pass remainder="auto" to read the rest by its kind, or '
            'remainder="drop" to ignore it.'
        )

    @classmethod
    def unseen(cls, unseen: tuple, absent: tuple, *, no_columns: bool = False) -> "UnknownColumns":
        """A frame has columns that fitting did not see (the first words are scikit-learn's).

        absent: fitted ones that it lacks. no_columns: the frame has no fitted column at all.
        """
        text = (
            "The feature names should match those that were passed during fit.\n"
            f"Feature names unseen at fit time:\n{_bullets(unseen)}"
        )
        cures = []
        if not no_columns:
            few = f"X.drop(columns=[{listed(unseen)}])"
            cures.append(few if len(unseen) <= 5 else "X.filter(items=clf.feature_names_in_)")
            cures[0] = f"leave out what fitting did not see, {cures[0]}"
        if absent:
            text += f"Feature names seen at fit time, yet now missing:\n{_bullets(absent)}"
            rename = f"X.rename(columns={{{shown(unseen[0])}: {shown(absent[0])}}})"
            cures.append(f"name columns as they were named at fit, {rename}")
        cure = ", or ".join(cures)
        return cls(f"{text}{cure[0].upper()}{cure[1:]}.")

    @classmethod
    def none_used(cls, there: Iterable, used: tuple) -> "UnknownColumns":
        """A frame has none of the columns that the classifier reads."""
        return cls(
            f"X has the columns {listed(there)} and none of those that the classifier reads, "
            f"{listed(used)}; at least one is needed. Add one, X.assign(**{{{shown(used[0])}: "
            "None}) if nothing is known of any row."
        )

    @classmethod
    def wrong_number(cls, found: int, expected: int, estimator: str) -> "UnknownColumns":
        """An array has another number of columns than the fitted one (scikit-learn's words)."""
        return cls(
            f"X has {found} features, but {estimator} is expecting {expected} features as input. "
            "Columns of an array are known by position; for missing columns pass a DataFrame."
        )


class TooManyCells(BayesgenError, ValueError):
    """A joint table over several columns of levels would be too large."""

    @classmethod
    def block(cls, n_levels: Mapping, most: Count) -> "TooManyCells":
        """`n_levels` says how many levels each column has; `most` cells are allowed."""
        sizes = [f"{shown(column)} ({n:,})" for column, n in n_levels.items()]
        more = f" and {len(sizes) - 10:,} more" if len(sizes) > 10 else ""
        cells = math.prod(max(n, 1) for n in n_levels.values())
        many = f"{cells:,}" if cells < 10**12 else f"10^{len(str(cells)) - 1}"
        first, *rest = (shown(column) for column in n_levels)
        return cls(
            f"a joint table over the columns (and numbers of levels) {', '.join(sizes[:10])}{more} "
            f"has {many} cells in each class; at most {most:,} are allowed. Leave columns out, "
            "merge rare levels, or let some columns stand alone or in a smaller table: "
            f"bg.GenerativeClassifier({{{first}: bg.Categorical(), "
            f"({', '.join(rest[:2])}): bg.JointCategorical(), ...}})."
        )


class UnseenLevelError(BayesgenError, ValueError):
    """A level was never seen at fit, and unseen="error" was asked for."""

    @classmethod
    def in_column(
        cls, column: object, levels: tuple, count: Count, n_rows: Count, existing: Iterable
    ) -> "UnseenLevelError":
        """`levels` stand in `count` of `n_rows` rows; fitting saw `existing`."""
        return cls(
            f"{_unseen(column, levels, count, n_rows, existing)} Declare it before fitting, "
            f"{_DECLARE}, "
            'or pass unseen="missing".'
        )


class UnseenLevel(BayesgenWarning):
    """A level was never seen at fit; it counts as missing."""

    @classmethod
    def in_column(
        cls, column: object, levels: tuple, count: Count, n_rows: Count, existing: Iterable
    ) -> "UnseenLevel":
        """`levels` stand in `count` of `n_rows` rows; fitting saw `existing`."""
        return cls(
            f"{_unseen(column, levels, count, n_rows, existing)} These cells count as missing. "
            "Declare it "
            f'before fitting, {_DECLARE}, or pass unseen="error".'
        )


class AbsentColumns(BayesgenWarning):
    """Rows lack columns of the fit; they count as missing."""

    @classmethod
    def named(cls, absent: tuple, n_columns: Count) -> "AbsentColumns":
        """`absent` are some of the `n_columns` that were fitted."""
        what = (
            f"the column {shown(absent[0])}"
            if len(absent) == 1
            else f"the columns {listed(absent)}"
        )
        many = "it counts" if len(absent) == 1 else "they count"
        text = (
            f"X lacks {len(absent):,} of the {n_columns:,} fitted columns, {what}; {many} as "
            "missing in every row. Add what is known"
        )
        if not all(isinstance(name, str) for name in absent):
            return cls(f"{text} to X.")
        return cls(
            f"{text} to X; X.reindex(columns=clf.feature_names_in_) adds empty columns "
            "without this warning."
        )


_DECLARE = "as a pandas Categorical or a polars Enum with all its levels"


def _unseen(column: object, levels: tuple, count: Count, n_rows: Count, existing: Iterable) -> str:
    noun = "level" if len(levels) == 1 else "levels"
    return (
        f"column {shown(column)} has the {noun} {listed(levels)} in {count:,} of {rows(n_rows)}; "
        f"fitting saw {listed(existing, 10)}."
    )


def _bullets(names: Iterable) -> str:
    names = sorted(names, key=str)
    return "".join(f"- {name}\n" for name in names[:5]) + ("- ...\n" if len(names) > 5 else "")


class OutOfSupport(BayesgenError, ValueError):
    """Fitted rows hold values that a distribution cannot give."""

    @classmethod
    def cell(
        cls,
        column: object,
        value: object,
        row: Count,
        *,
        count: Count,
        likelihood: str,
        support: str,
    ) -> "OutOfSupport":
        """`value` stands in row `row`, counted from 0 over rows with weight; `count` are like it.

        support: in words, what the likelihood allows ("numbers above 0").
        """
        are = "is" if count == 2 else "are"
        more = f" ({rows(count - 1)} more {are} like it)" if count > 1 else ""
        return cls(
            f"column {shown(column)} holds {shown(value)} in row {row:,}{more}; {likelihood} "
            f"allows {support} only. Correct these cells or make them missing, or choose another "
            f"likelihood, likelihood={{{shown(column)}: bg.Normal()}}."
        )


class UninformativeColumn(BayesgenWarning):
    """A column says nothing about the classes."""

    @classmethod
    def column(cls, column: object) -> "UninformativeColumn":
        """The column is constant or never observed."""
        return cls(
            f"column {shown(column)} is constant or never observed; it contributes nothing for any "
            f"class. Leave it out, X.drop(columns={shown(column)}), or state a prior variance."
        )

    @classmethod
    def columns(cls, columns: Sequence) -> "UninformativeColumn":
        """Many columns are constant or never observed."""
        return cls(
            f"{len(columns):,} columns ({listed(columns)}) are constant or never observed; they "
            "contribute nothing for any class. Leave them out, or state prior guesses for them."
        )


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
