"""Sentences about tables, columns, labels and weights that are raised in several places."""

import csv
import io
import itertools
import shlex
from collections.abc import Iterable, Sequence

from bayesgen.errors.dialect import FINITE, Typed, coerced, with_names, without_texts
from bayesgen.errors.kinds import CountsAsMissing, InvalidData, NoAttribute
from bayesgen.errors.wording import Cells, Code, Count, Cure, Real, Words, assigned, shown

TABLE = Words("X", "the file")
TARGET = Words("y", "the column of classes")
DECLARE = "as a pandas Categorical or a polars Enum with all its levels"
UNSEEN = (
    "column {column!r} has the {levels:named level} in {count:,} of {n_rows:rows}; the fit had "
    "{existing:listed 10}."
)
"""A level is absent from the training rows."""
OTHER_MODEL = "Use --model naive-bayes, or leave the column out: --drop {column:option}."
SIMILAR_IN_FILE = (
    "If they mean the same, write them alike in the file; if not, give them names that differ by "
    "more."
)


# -- tables ----------------------------------------------------------------------------------------


def not_a_table(X: object) -> InvalidData:
    """X is neither a dataframe nor an array."""
    return InvalidData(
        "X is of type {kind}; a pandas or polars DataFrame, a pyarrow Table or a two-dimensional "
        "NumPy array is needed.",
        "Pass pandas.DataFrame({rows}).",
        kind=type(X).__name__,
        rows="X" if isinstance(X, Iterable) else "{'column': [1.0, 2.0]}",
    )


def paired(groups: Sequence[Sequence[object]], limit: int = 3) -> str:
    """Return "'male' and 'male '; 'no' and 'No'"."""
    text = "; ".join(" and ".join(map(shown, group)) for group in groups[:limit])
    more = len(groups) - limit
    return f"{text} and {more:,} more" if more > 0 else text


def sparse_refused() -> InvalidData:
    """X is sparse where it may not be."""
    return InvalidData("X is a sparse matrix, which is not supported here.", "Pass X.toarray().")


def sparse_for(family: str) -> InvalidData:
    """A family does not read sparse rows."""
    return InvalidData(
        "X is a sparse matrix, and {family} does not read sparse rows; Multinomial, Bernoulli and "
        "Poisson do.",
        "Pass X.toarray(), or read counts of words by bg.NaiveBayes(bg.Multinomial()).",
        family=family,
    )


def many_sparse_columns(what: str, count: Count, most: Count) -> InvalidData:
    """Sparse rows have too many columns to be shown one by one."""
    return InvalidData(
        "{what} shows the cells of a row one by one, and this fit has {count:,} columns of sparse "
        "rows, or words of texts; up to {most:,} are read.",
        "Fit fewer: BagOfWords(vectorizer=CountVectorizer(max_features={most})) keeps the most "
        "frequent words.",
        what=what,
        count=count,
        most=most,
    )


def not_two_dimensional(n_dimensions: Count, n_entries: Count = 1) -> InvalidData:
    """X has no axes of rows and columns. The first sentence is scikit-learn's."""
    if not n_entries:
        return InvalidData(
            f"Expected 2D array, got {n_dimensions}D array instead: X has no rows.",
            "Check the filter that produced it.",
        )
    cure = (
        "Reshape your data, a row for each entry: numpy.reshape(X, (len(X), -1))."
        if n_dimensions > 2
        else "Reshape your data either using numpy.reshape(X, (-1, 1)) if it is one feature, or "
        "numpy.reshape(X, (1, -1)) if it is one row."
    )
    return InvalidData(
        f"Expected 2D array, got {n_dimensions}D array instead: X needs rows and columns.", cure
    )


def no_rows_in_table(n_columns: Count) -> InvalidData:
    """X has columns but no rows. The first sentence is scikit-learn's."""
    return InvalidData(
        "Found array with 0 sample(s) (shape=(0, {n_columns})) while a minimum of 1 is required.",
        "X has no rows: check the filter that produced it.",
        n_columns=n_columns,
    )


def no_columns_in_table(n_rows: Count) -> InvalidData:
    """X has rows but no columns. The first sentence is scikit-learn's."""
    return InvalidData(
        "Found array with 0 feature(s) (shape=({n_rows}, 0)) while a minimum of 1 is required.",
        "X has no columns: check the selection that produced it.",
        n_rows=n_rows,
    )


def _distinct(names: Sequence) -> list:
    """Return names of which those that come again end in .1, .2 and so on."""
    taken, distinct = set(map(str, names)), []
    for i, name in enumerate(names):
        new = name
        if name in names[:i]:
            new = next(f"{name}.{k}" for k in itertools.count(1) if f"{name}.{k}" not in taken)
        taken.add(str(new))
        distinct.append(new)
    return distinct


def duplicate_names(names: Sequence, path: str | None = None) -> InvalidData:
    """Two columns have one name.

    Args:
        names: of all columns.
        path: of the CSV file whose columns these are.
    """
    distinct = _distinct(names)
    if len(names) > 30:
        cure = Cure("Rename them.", "Rename them in the file.")
    elif path is None:
        cure = Cure("Rename them: {in_X}.", "Rename them in the file.")
    else:
        cure = Cure(
            "Name the columns: bg.file_source({path!r}, names={distinct!r}).",
            "Name the columns: {typed}.",
        )
    with io.StringIO() as line:
        csv.writer(line, lineterminator="").writerow(distinct)
        typed = f"--names {shlex.quote(line.getvalue())}"
    return InvalidData(
        "{table} has more than one column named {names:listed}; column names must be unique.",
        cure,
        table=TABLE if path is None else repr(path),
        names=sorted({name for name in names if list(names).count(name) > 1}, key=str),
        in_X=with_names(distinct),
        path=path,
        distinct=distinct,
        typed=typed,
    )


def repeated_name(name: str) -> InvalidData:
    """Two columns of a file, of which only this is known, have one name."""
    return InvalidData(
        "the file has more than one column named {name!r}; column names must be unique.",
        "Rename it in the file.",
        name=name,
    )


def unknown_columns(names: Sequence, existing: Sequence) -> InvalidData:
    """Columns that an argument names are not in X."""
    return InvalidData(
        "X has no column {names:listed}; it has {existing:listed 20}.",
        "Name one of these, or give its position.",
        names=names,
        existing=existing,
    )


# -- columns and their cells -----------------------------------------------------------------------


def not_binary(column: object, value: object) -> InvalidData:
    """Bernoulli was specified for other numbers than 0 and 1."""
    return InvalidData(
        "column {column!r} holds {value!r}; Bernoulli takes booleans, the numbers 0 and 1, and "
        "declared categories of two levels.",
        "Pass {column:in_X} > 0, or use Normal: {column:by Normal}.",
        column=column,
        value=value,
    )


def levels_changed(column: object, before: Iterable, now: Iterable) -> InvalidData:
    """A later batch has levels of another type."""
    return InvalidData(
        "column {column!r} holds the levels {now:listed}, and held {before:listed} in earlier "
        "batches; all batches need one type.",
        "Pass {column:as str} in each.",
        column=column,
        before=before,
        now=now,
    )


def date_column(column: object, kind: str) -> InvalidData:
    """A column holds "dates", "times", "durations" or "periods"."""
    return InvalidData(
        "column {column!r} holds {kind}; numbers and categories are allowed.",
        Cure(
            "Extract the part that matters, such as {column:month}, or drop the column, "
            "{column:without}.",
            "Leave it out, --drop {column:option}, or write the part that matters, such as the "
            "month, into a column of its own.",
        ),
        column=column,
        kind=kind,
    )


def nested_column(column: object, kind: object) -> InvalidData:
    """A column holds lists or other objects. Some words are scikit-learn's."""
    return InvalidData(
        "column {column!r} holds values of type {kind}; every argument must be a string or a "
        "number (or a boolean).",
        Cure(
            "Unpack them into columns of their own, or drop the column.",
            "Unpack them into columns of their own, or leave it out by --drop.",
        ),
        column=column,
        kind=kind,
    )


def infinite_column(column: object, count: Count) -> InvalidData:
    """A column of numbers holds infinity."""
    return InvalidData(
        "column {column!r} holds infinity (inf or -inf) in {count:rows}; finite numbers and "
        "missing values (NaN) are allowed.",
        Cure(
            "If they mean missing, pass {finite}.",
            "If they mean missing, add --missing inf --missing=-inf.",
        ),
        column=column,
        count=count,
        finite=FINITE,
    )


def too_large_value(column: object, value: Real) -> InvalidData:
    """The square of a number would overflow."""
    return InvalidData(
        "column {column!r} holds {value:.3g}; magnitudes up to 1e150 are allowed, because their "
        "squares must be finite.",
        "Choose a larger unit: divide the column by a constant.",
        column=column,
        value=value,
    )


def complex_column(column: object) -> InvalidData:
    """A column holds complex numbers. The first words are scikit-learn's."""
    return InvalidData(
        "Complex data not supported: column {column!r} holds complex numbers; real ones are "
        "allowed.",
        "Pass its parts as two columns, numpy.real({column:in_X}) and numpy.imag({column:in_X}).",
        column=column,
    )


def complex_array(module: str = "numpy") -> InvalidData:
    """X holds complex numbers. The first words are scikit-learn's."""
    return InvalidData(
        "Complex data not supported: X holds complex numbers; real ones are allowed.",
        f"Pass their parts side by side: {module}.hstack([X.real, X.imag]).",
    )


def unseen_levels(
    column: object, levels: Sequence, count: Count, n_rows: Count, existing: Sequence
) -> CountsAsMissing:
    """Levels that are absent from the training rows count as missing."""
    return CountsAsMissing(
        f"{UNSEEN} These cells count as missing.",
        Cure(
            f'Declare the column before fitting, {DECLARE}, or pass unseen="error".',
            "Fit again with rows that have it.",
        ),
        column=column,
        levels=levels,
        count=count,
        n_rows=n_rows,
        existing=existing,
    )


def groups_of_another_type(
    column: object, levels: Sequence, count: Count, n_rows: Count, existing: Sequence
) -> CountsAsMissing:
    """Groups that are of another type than those of the training rows are new ones."""
    retyped = f"{{column:as {type(existing[0]).__name__}}}"
    return CountsAsMissing(
        f"{UNSEEN} They are of another type, and their rows count as rows of a new group.",
        Cure(
            "Give the column the type that it had, " + retyped + ".",
            "Write the groups as in the rows of the fit.",
        ),
        column=column,
        levels=levels,
        count=count,
        n_rows=n_rows,
        existing=existing,
    )


def to_numbers(
    column: object, cells: Cells, *, decorated: bool = False
) -> tuple[Cure, dict[str, object]]:
    """Return how cells that are not numbers become missing, and the fields of this cure.

    Args:
        column: its name.
        cells: their texts, and rows.
        decorated: whether the numbers beside them are not written as programs write them.
    """
    texts = list(dict.fromkeys(text for text, _ in cells))
    options = Code(" ".join(assigned(text, "--missing") for text in texts[:5]))
    more = " and so on" if len(texts) > 5 else ""
    cure = Cure(
        "If they mean missing, {code}; on the command line {options}{more} makes them so.",
        "If they mean missing, add {options}{more} to the command.",
    )
    code = Typed(lambda dialect: coerced(dialect, column))
    if decorated:
        code = Typed(lambda dialect: without_texts(dialect, column, texts[:20]))
    return cure, {"options": options, "more": more, "code": code}


def levels_for_a_program(name: object) -> InvalidData:
    """A program was given a column that does not hold numbers."""
    return InvalidData(
        "column {name!r} does not hold numbers, and a program takes numbers.",
        'Pass a dict of arrays with levels as codes 0, 1, ... and -1 where missing: {{"numbers": '
        'X[[...]].to_numpy(), "levels": codes}}.',
        name=name,
    )


# -- labels and weights ----------------------------------------------------------------------------


def no_target() -> InvalidData:
    """Labels are None. The words are scikit-learn's."""
    return InvalidData(
        "This classifier requires y to be passed, but the target y is None.",
        "Pass one label for each row: fit(X, y).",
    )


def wrong_length(n_labels: Count, n_rows: Count) -> InvalidData:
    """There are more or fewer labels than rows."""
    return InvalidData(
        "X has {n_rows:rows} and y has {n_labels:,} labels (inconsistent numbers of samples); one "
        "label for each row is needed.",
        "Select the same rows from both.",
        n_rows=n_rows,
        n_labels=n_labels,
    )


SELECTION = Cure("Check the selection of rows.", "Check the rows of the file, and --target.")
NAME_CLASSES = Cure(
    "Check the selection of rows, or name all classes in partial_fit(X, y, classes=[...]).",
    "Check the rows of the file, and --target.",
)
"""For `too_few_classes` where classes without rows may be declared."""


def too_few_classes(
    classes: Iterable,
    unlabelled: int = 0,
    n_rows: int = 0,
    *,
    kind: type[InvalidData] | type[NoAttribute] = InvalidData,
    where: str | Words = TARGET,
    cure: str | Cure = NAME_CLASSES,
) -> InvalidData | NoAttribute:
    """Labels have one class, or none.

    Args:
        classes: that rows have.
        unlabelled: number of the rows without a label.
        n_rows: number of the rows.
        kind: NoAttribute where the fit went well, and something was asked that needs two.
        where: what has these classes.
        cure: by default the classes that have no rows yet are named.
    """
    classes = list(classes)
    if not classes:
        any_row = "any of {n_rows:rows}" if n_rows else "any row"
        return kind(
            f"{{target}} has no label in {any_row}; labels of at least two classes are needed.",
            "Label at least one row of each class.",
            target=where,
            n_rows=n_rows,
        )
    without = f"{unlabelled:,} of {n_rows:,} rows are unlabeled; " if unlabelled else ""
    noun = "class" if len(classes) == 1 else "classes"
    return kind(
        "{target} has {classes:len} {noun}, {classes:listed}; {without}at least two are needed.",
        cure,
        target=where,
        classes=classes,
        noun=noun,
        without=without,
    )


def weights_out_of_range(total: float, least: float, most: float) -> InvalidData:
    """The weights of all rows are too large, or too small, to be counts of rows."""
    return InvalidData(
        "sample_weight sums to {total:.3g}; from {least:g} to {most:g} is allowed, beyond "
        "which a row more or less is lost in rounding.",
        "Pass sample_weight / numpy.max(sample_weight).",
        total=total,
        least=least,
        most=most,
    )


def zero_weights() -> InvalidData:
    """Every row has the weight 0."""
    return InvalidData(
        "sample_weight is zero in every row; at least one must be above 0.", "Pass None."
    )
