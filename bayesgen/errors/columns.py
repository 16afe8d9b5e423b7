"""Errors about columns: unsuitable for the likelihood, unlike those of the fit, or suspicious."""

import math
from collections.abc import Iterable, Mapping

from bayesgen.errors.base import (
    BayesgenError,
    BayesgenWarning,
    Count,
    Real,
    Sentence,
    in_rows,
    listed,
    paired,
    rows,
    shown,
    to_numbers,
)


class NotNumeric(BayesgenError, ValueError):
    """A likelihood of numbers was specified for a column of levels."""

    column = Sentence(
        "column {column!r} holds the levels {levels:listed}; its likelihood needs numbers. Give it "
        "one for levels, likelihood={{{column!r}: bg.Categorical(), ...}}, or, if it is a number, "
        "pass X[column].astype(float)."
    )
    discriminant = Sentence(
        "column {column!r} holds the levels {levels:listed}, and {estimator} needs numbers. Pass "
        "bg.{estimator}(levels='indicators'), which encodes levels as 0 and 1, or leave it out: "
        "X.drop(columns={column!r})."
    )
    text = Sentence(
        "column {column!r} holds numbers that are written as text; its likelihood needs numbers. "
        "Pass X.astype({{{column!r}: float}})."
    )

    @classmethod
    def cells(cls, column: object, cells: list[tuple[str, int]]) -> "NotNumeric":
        """Most cells are numbers, and `cells`, (text, row), are not."""
        return cls(
            f"column {shown(column)} holds {in_rows(cells)}; its likelihood needs numbers. "
            f"{to_numbers(column, cells)}."
        )


class NotLevels(BayesgenError, ValueError):
    """A likelihood of levels was specified for a column of numbers that are not whole."""

    fractions = Sentence(
        "column {column!r} holds {value!r}; its likelihood needs levels, and only whole numbers, "
        "text, booleans and categories are levels. Give it a likelihood for numbers, "
        "likelihood={{{column!r}: bg.Normal(), ...}}, or cut it into levels, "
        "pandas.cut(X[column], 5)."
    )
    changed = Sentence(
        "column {column!r} holds the levels {now:listed}, and held {before:listed} in earlier "
        "batches; all batches need one type. Pass X[column].astype(str) in each.",
        order="column before now",
    )


class NotBinary(BayesgenError, ValueError):
    """Bernoulli was specified for a column without exactly two declared levels."""

    number = Sentence(
        "column {column!r} holds {value!r}; Bernoulli takes booleans, the numbers 0 and 1, and "
        "declared categories of two levels. Pass X[column] > 0, or use Normal: "
        "likelihood={{{column!r}: bg.Normal(), ...}}."
    )
    levels = Sentence(
        "column {column!r} holds {levels:len} levels, {levels:listed}; Bernoulli takes booleans, "
        "the numbers 0 and 1, and declared categories of two levels. Use Categorical: "
        "likelihood={{{column!r}: bg.Categorical(), ...}}."
    )


class NotCounts(BayesgenError, ValueError):
    """A likelihood of counts was specified for numbers that are negative or not whole."""

    @classmethod
    def number(cls, column: object, value: Real) -> "NotCounts":
        """The column holds no count. The first words about a negative one are scikit-learn's."""
        first = "Negative values in data: column" if value < 0 else "column"
        return cls(
            f"{first} {shown(column)} holds {shown(value)}; its likelihood needs counts: 0, 1, 2, "
            "... (for texts, those of CountVectorizer, not TF-IDF weights). For measurements use "
            f"Normal: likelihood={{{shown(column)}: bg.Normal(), ...}}."
        )


class MissingCells(BayesgenError, ValueError):
    """Training rows have missing cells, but their likelihood requires complete rows."""

    at_fit = Sentence(
        "column {column!r} is missing (NaN) in {count:,} of {n_rows:rows}; {family} fits complete "
        "rows only, since the counts of a row share one total. Pass X.fillna(0) if a missing "
        "count means 0, leave these rows out, or use Poisson: likelihood=Poisson().",
        order="family column count n_rows",
    )


class UnsupportedColumn(BayesgenError, TypeError):
    """A column has an unsupported type or name."""

    date = Sentence(
        "column {column!r} holds dates or times ({found}); numbers and categories are allowed. "
        "Extract the part that matters, for example X[column].dt.month, or drop the column."
    )
    # the words are scikit-learn's
    nested = Sentence(
        "column {column!r} holds values of type {found}; every argument must be a string or a "
        "number (or a boolean). Unpack them into columns of their own, or drop the column."
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

    text_numbers = Sentence(
        "column {column!r} of an array of text holds {levels:listed}: numpy.array converts "
        "numbers and missing values to text when any cell is text. Pass a DataFrame, or an array "
        "made with dtype=object (dtype=float if there are numbers only)."
    )
    name = Sentence(
        "column {column!r} is named by a {column.__class__.__name__}; text and integers are "
        "allowed. Pass X.set_axis([str(c) for c in X.columns], axis=1)."
    )
    mixed_names = Sentence(
        "column {text!r} is named by text and column {number!r} by an integer; names of one type "
        "are allowed. Pass X.set_axis([str(c) for c in X.columns], axis=1)."
    )


class UnknownColumns(BayesgenError, ValueError):
    """Named columns missing from a table, or columns of a table absent from the fit."""

    not_in_table = Sentence(
        "X has no column {names:listed}; it has {existing:listed 20}. Name one of these, or give "
        "its position."
    )
    two_numbers = Sentence(
        "features must name two numeric columns, such as two of {numbers:listed 20}. Pass "
        "features=(column, column), by name or by position."
    )
    twice = Sentence(
        "likelihood= names column {names:listed} more than once; each column has one likelihood. "
        "Leave one of the entries out."
    )
    left_out = Sentence(
        "likelihood= leaves out column {names:listed}; each column needs a likelihood. Add an "
        'entry for it, or pass remainder="auto" to choose likelihoods by type for the rest, or '
        'remainder="drop" to ignore it.'
    )

    @classmethod
    def unseen(
        cls, unseen: tuple, absent: tuple, *, no_columns: bool = False, dicts: str = "none"
    ) -> "UnknownColumns":
        """A DataFrame has columns absent from the fit (the first words are scikit-learn's).

        Args:
            unseen: those columns.
            absent: fitted ones that it lacks.
            no_columns: whether the frame has no fitted column at all.
            dicts: whether rows came as a "dict", "dicts" in a list, or as "none".
        """
        text = (
            "The feature names should match those that were passed during fit.\n"
            f"Feature names unseen at fit time:\n{_bullets(unseen)}"
        )
        cures = []
        if not no_columns:
            few = f"X.drop(columns=[{listed(unseen)}])"
            drop = few if len(unseen) <= 5 else "X.filter(items=clf.feature_names_in_)"
            if dicts != "none":
                drop = "{name: row[name] for name in row if name in clf.feature_names_in_}"
                drop = f"[{drop} for row in X]" if dicts == "dicts" else drop.replace("row", "X")
            cures.append(f"leave out columns that the fit did not have, {drop}")
        if absent:
            text += f"Feature names seen at fit time, yet now missing:\n{_bullets(absent)}"
            rename = f"X.rename(columns={{{shown(unseen[0])}: {shown(absent[0])}}})"
            if dicts != "none":
                row = "X" if dicts == "dict" else "row"
                rename = f"{row}[{shown(absent[0])}] = {row}.pop({shown(unseen[0])}, None)"
                rename = rename if dicts == "dict" else f"for row in X: {rename}"
            cures.append(f"use the column names of the fit, {rename}")
        cure = ", or ".join(cures)
        return cls(f"{text}{cure[0].upper()}{cure[1:]}.")

    # the words are scikit-learn's
    wrong_number = Sentence(
        "X has {found} features, but {estimator} is expecting {expected} features as input. "
        "Columns of an array are matched by position; for missing columns pass a DataFrame.",
        order="found expected estimator",
    )


class TooManyCells(BayesgenError, ValueError):
    """A joint table over several columns of levels would be too large."""

    @classmethod
    def block(cls, n_levels: Mapping, most: Count) -> "TooManyCells":
        """`n_levels` has the number of levels of each column; `most` cells are allowed."""
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


_DECLARE = "as a pandas Categorical or a polars Enum with all its levels"
_UNSEEN = (
    "column {column!r} has the {levels:named level} in {count:,} of {n_rows:rows}; the fit had "
    "{existing:listed 10}."
)


class UnseenLevelError(BayesgenError, ValueError):
    """A level is absent from the training rows, and unseen="error" was specified."""

    in_column = Sentence(
        f'{_UNSEEN} Declare it before fitting, {_DECLARE}, or pass unseen="missing".'
    )


class UnseenLevel(BayesgenWarning):
    """A level is absent from the training rows and is treated as missing."""

    in_column = Sentence(
        f"{_UNSEEN} These cells count as missing. Declare it before fitting, {_DECLARE}, or pass "
        'unseen="error".'
    )


class AbsentColumns(BayesgenWarning):
    """Columns of the fit are absent from the rows and are treated as missing."""

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
            "without this warning, as None for each of them does in a dict."
        )


def _bullets(names: Iterable) -> str:
    names = sorted(names, key=str)
    return "".join(f"- {name}\n" for name in names[:5]) + ("- ...\n" if len(names) > 5 else "")


class OutOfSupport(BayesgenError, ValueError):
    """Training rows contain values outside the support of a distribution."""

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

        support: of the likelihood, in words ("numbers above 0").
        """
        are = "is" if count == 2 else "are"
        more = f" ({rows(count - 1)} more {are} like it)" if count > 1 else ""
        return cls(
            f"column {shown(column)} holds {shown(value)} in row {row:,}{more}; {likelihood} "
            f"allows {support} only. Correct these cells or make them missing, or choose another "
            f"likelihood, likelihood={{{shown(column)}: bg.Normal()}}."
        )


class UninformativeColumn(BayesgenWarning):
    """A column cannot distinguish the classes."""

    column = Sentence(
        "column {column!r} is constant or never observed, so it cannot distinguish the classes "
        "and is ignored. Leave it out, X.drop(columns={column!r}), or state a prior variance."
    )
    columns = Sentence(
        "{columns:len} columns ({columns:listed}) are constant or never observed, so they cannot "
        "distinguish the classes and are ignored. Leave them out, or state prior guesses for them."
    )


class InformativePattern(BayesgenWarning):
    """The missing pattern alone predicts the class well."""

    at_fit = Sentence(
        "which cells of {columns:named column} are missing predicts the class by itself (log loss "
        "{after:.2f}, against {before:.2f} of the class prior); predictions will be wrong if the "
        "reason why cells are missing changes. Pass missing='ignorable' if it may.",
        order="columns before after",
    )


class TextNumbers(BayesgenWarning):
    """Almost all cells of a text column contain numbers."""

    @classmethod
    def cells(cls, column: object, cells: list[tuple[str, int]], observed: Count) -> "TextNumbers":
        """`cells`, (text, row), of the `observed` ones are not numbers."""
        are = "is not a number" if len(cells) == 1 else "are not numbers"
        return cls(
            f"column {shown(column)} is read as text, because {len(cells):,} of its {observed:,} "
            f"cells {are}: {in_rows(cells)}. {to_numbers(column, cells)}. If it is meant as text, "
            f"pass X.astype({{{shown(column)}: 'category'}})."
        )


class BlankText(BayesgenWarning):
    """Cells of a column of levels hold blanks alone and are treated as missing."""

    in_columns = Sentence(
        "blank text in {columns:named column} is read as missing. If it is a level of its own, "
        "name it: X.replace(r'^\\s*$', 'blank', regex=True); X.replace(r'^\\s*$', None, "
        "regex=True) makes it missing without this warning."
    )


class SimilarLevels(BayesgenWarning):
    """Levels of a column differ only by blanks or case."""

    @classmethod
    def column(cls, column: object, groups: list[list]) -> "SimilarLevels":
        """`groups` of its levels differ only so."""
        name = shown(column)
        return cls(
            f"column {name} has levels that differ only by blanks or case: {paired(groups)}. If "
            f"they mean the same, write them alike: X[{name}] = "
            f"X[{name}].str.split().str.join(' ').str.lower(); if not, pass "
            f"X.astype({{{name}: 'category'}})."
        )


class IdentifierColumn(BayesgenWarning):
    """A column names or counts the rows, which does not help to classify new ones."""

    def __init__(self, text: str, column: object = None) -> None:
        super().__init__(text)
        self.subject = column

    @classmethod
    def column(cls, column: object, n_levels: Count, n_rows: Count) -> "IdentifierColumn":
        """Most rows have a level of their own."""
        return cls(
            f"column {shown(column)} has {n_levels:,} levels in {rows(n_rows)}; it looks like an "
            "identifier, and new rows will have levels that the fit did not have. "
            f"{_leave_out(column, first=False)}.",
            column,
        )

    @classmethod
    def unnamed(cls, column: object, *, first: bool) -> "IdentifierColumn":
        """The column has no name, as the index of a table that was written to a file."""
        return cls(
            f"column {shown(column)} has no name; it looks like an index that was written to the "
            "file, and it reveals the class if rows are sorted by class. "
            f"{_leave_out(column, first=first)}.",
            column,
        )

    @classmethod
    def ascending(cls, column: object, *, first: bool) -> "IdentifierColumn":
        """Integers rise from every row to the next."""
        return cls(
            f"column {shown(column)} holds integers that rise from every row to the next; it "
            "looks like a row number or a key, and it reveals the class if rows are sorted by "
            f"class. {_leave_out(column, first=first)}. If it is a measurement, pass "
            f"X.astype({{{shown(column)}: float}}).",
            column,
        )


def _leave_out(column: object, *, first: bool) -> str:
    index = ", or read the file by pandas.read_csv(path, index_col=0)" if first else ""
    return f"Leave it out: X.drop(columns={shown(column)}){index}"
