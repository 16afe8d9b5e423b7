"""Labels of rows: reading, validation, and conversion to class codes.

A row without a label is marked by None, NaN, NaT, NA, a mask, a null of Arrow or text of blanks
alone, and, as in scikit-learn, by -1 where that cannot be a class.
"""

import dataclasses
from collections.abc import Sequence

import narwhals.stable.v2 as nw
import numpy as np
from jaxtyping import Bool, Int

from bayesgen.errors import BayesgenWarning, Cure, InvalidData, warn
from bayesgen.errors.data import (
    SIMILAR_IN_FILE,
    TARGET,
    no_target,
    paired,
    wrong_length,
)
from bayesgen.errors.dialect import KEPT, LABELS
from bayesgen.table.columns import (
    ZERO_WIDTH,
    TableColumn,
    alike,
    checked_columns,
    distinct_levels,
    is_blank,
    stripped,
)
from bayesgen.table.reading import arrow_column, holds_objects
from bayesgen.typing import Joint, Membership

PROBABILITIES = (
    " If these are probabilities of classes, fit takes them as a DataFrame or an array of numbers."
)


@dataclasses.dataclass(frozen=True, eq=False)
class Target:
    """Labels that were read.

    classes: the distinct labels, sorted, of one type. codes: of each row, the position of its label
    among them; -1: it has none. shares: of each row in each class, where labels are probabilities,
    0 in all of a row without one; codes are then those of the largest. None: one class each.
    """

    classes: np.ndarray
    codes: Int[np.ndarray, " row"]
    shares: Joint | None = None

    @property
    def membership(self) -> Membership:
        """The codes, or the shares where labels are probabilities."""
        return self.codes if self.shares is None else self.shares

    @property
    def there(self) -> Bool[np.ndarray, " row"]:
        """Which rows have a label."""
        return self.codes >= 0

    @property
    def labels(self) -> np.ndarray:
        """The labels of the labeled rows."""
        return self.classes[self.codes[self.there]]

    @property
    def n_missing(self) -> int:
        """The number of rows without a label."""
        return int((self.codes < 0).sum())


def has_columns(y: object) -> bool:
    """Return whether y has two axes, as a table of the probabilities of classes has."""
    return len(getattr(y, "shape", ())) == 2


def read_target(
    y: object,
    classes: Sequence | np.ndarray = (),
    *,
    marks: bool = True,
    silent: bool = False,
    n_rows: int | None = None,
    counted: Int[np.ndarray, " counted"] | None = None,
) -> Target:
    """Return the labels of rows, some of which may have none.

    -1 marks a row without a label among text, and among whole numbers where at least two other
    labels are 0 or more and none is negative. It is a class where it is already one.

    Args:
        y: one label for each row: a Series, an array, an Arrow array or a list; text, numbers or
            booleans. A single column, shape (row, 1), is accepted.
        classes: those of earlier rows, and declared ones.
        marks: whether rows may lack a label; otherwise -1 is a class.
        silent: whether to omit the warnings.
        n_rows: the number of rows that need a label or a mark; None: as many as there are.
        counted: positions of the rows to read; None: all.

    Returns:
        Classes of text have a text dtype if they come from a list or an array of text, from a
        Series dtype object; those of nullable and object columns of numbers or booleans have the
        NumPy dtype.

    Raises:
        InvalidData: y is None, has more than one column, mixes types, holds dates or durations, or
            is of another length; some labels are missing, and may not be.

    Warns:
        BayesgenWarning: -1 or blank text was taken for a mark; classes, not all of them of earlier
            rows, differ only by blanks or case.

    Examples:
        >>> target = read_target(["no", None, "yes"])
        >>> target.labels.tolist(), target.codes.tolist()
        (['no', 'yes'], [0, -1, 1])
    """
    labels = _one_axis(y)
    if n_rows is not None and len(labels) != n_rows:
        raise wrong_length(len(labels), n_rows)
    counted_labels = labels if counted is None else labels[counted]
    target, n_blank = _coded(counted_labels, np.asarray(classes).tolist(), marks=marks)
    n_missing = target.n_missing - n_blank
    if n_missing and not marks:
        raise InvalidData(
            "{target} is missing (NaN, None or NA) in {count:,} of {n_rows:rows}; every row needs "
            "a label.",
            Cure(
                "Leave these rows out: keep = pandas.notna(y); fit({kept}).",
                "Leave these rows out of the file.",
            ),
            kept=KEPT,
            target=TARGET,
            count=n_missing,
            n_rows=len(target.codes),
        )
    if n_blank and not marks:
        raise InvalidData(
            "{target} is blank text in {count:,} of {n_rows:rows}; every row needs a label.",
            Cure(
                "Leave these rows out, keep = pandas.Series(y).str.strip().to_numpy() != ''; "
                "fit({kept}), or, if blank is a class, name it: "
                "pandas.Series(y).replace(r'^\\s*$', 'blank', regex=True).",
                "Leave these rows out, or, if blank is a class, name it in the file.",
            ),
            kept=KEPT,
            count=n_blank,
            n_rows=len(target.codes),
            target=TARGET,
        )
    if marks and _is_marked(target.classes, np.asarray(classes)):
        if not silent:
            _warn_of_marks(target)
        # the mark is the lowest number, the class of code 0
        target = Target(target.classes[1:], np.maximum(target.codes - 1, -1))
    if not silent:
        _note(target, classes, blank=n_blank > 0)
    return target


def _coded(labels: nw.Series | np.ndarray, earlier: list, *, marks: bool) -> tuple[Target, int]:
    """Return labels, and how many of them are blank text, which is none.

    Args:
        labels: of rows. Those that differ only by blanks before or after are one.
        earlier: classes of earlier rows.
        marks: whether -1 among words is none either.

    Raises:
        InvalidData: labels of several types, or of one that is not allowed.
    """
    import pandas as pd

    if isinstance(labels, nw.Series):
        # a text becomes an object for each class and not for each row
        dtype, column = np.dtype(object), arrow_column("y", labels, declared=False)
    elif labels.dtype.kind not in "OU":
        codes, classes = pd.factorize(labels, sort=True)
        if labels.dtype.kind in NO_LABELS and len(classes):
            raise _several_types(labels)
        return Target(np.asarray(classes), codes), 0
    else:
        try:
            codes, distinct = pd.factorize(labels)
        except TypeError:  # lists, say, have no hash
            raise _several_types(labels) from None
        levels = _without_marks(distinct.tolist()) if marks else distinct.tolist()
        known = np.array([not (v is None or is_blank(v)) for v in levels] + [False])
        dtype = _one_type(labels[known[codes]]) if labels.dtype == object else labels.dtype
        column = TableColumn("y", "level", codes, tuple(levels))
    names = _without_blanks(column.levels, earlier)
    if names != column.levels:
        codes, names = distinct_levels(column.values.astype(np.int64), names)
        column = dataclasses.replace(column, values=codes, levels=names)
    blank = np.array([*map(is_blank, column.levels), False])[column.values]
    column = checked_columns([column], strip=False)[0]
    return Target(np.array(column.levels, dtype=dtype), column.values), int(blank.sum())


def _without_blanks(levels: tuple, earlier: list) -> tuple:
    """Return the name of each label: another label, if they differ by blanks before or after alone.

    That is the label without these, if there is one, or else that of earlier rows, or else the
    first. A label that no other is like keeps its blanks, so that all names are labels of rows.
    """
    texts = [v for v in (*levels, *earlier) if isinstance(v, str)]
    if not any({v[:1], v[-1:]} & {*ZERO_WIDTH} or v != v.strip() for v in texts):
        return levels
    names: dict[str, str] = {}
    for label in [*sorted({v for v in levels if isinstance(v, str)}, reverse=True), *earlier]:
        if isinstance(label, str) and names.get(stripped(label)) != stripped(label):
            names[stripped(label)] = label
    return tuple(
        names[stripped(v)] if isinstance(v, str) and not is_blank(v) else v for v in levels
    )


def _without_marks(levels: list) -> list:
    """Return distinct labels with None in place of -1 if all others are text."""
    words = [level for level in levels if isinstance(level, str)]
    marks = [v for v in levels if isinstance(v, int | np.integer) and v == -1]
    if all(map(is_blank, words)) or len(words) + len(marks) < len(levels):
        return levels
    return [level if isinstance(level, str) else None for level in levels]


def _is_marked(classes: np.ndarray, earlier: np.ndarray) -> bool:
    """Return whether -1 among numbers is a mark and not a class."""
    if classes.dtype.kind not in "if" or earlier.dtype.kind not in "iuf":
        return False
    if -1 in earlier or -1 not in classes:
        return False
    others = np.union1d(classes[classes != -1], earlier)
    return len(others) >= 2 and bool(others[0] >= 0)


def _warn_of_marks(target: Target) -> None:
    """Warn that the first class is taken for a mark."""
    warn(
        BayesgenWarning(
            "{target} holds -1 in {count:,} of {n_rows:rows}, beside {others:listed}: these "
            "rows are read as unlabeled, as in scikit-learn.",
            Cure(
                "If -1 is a class, pass numpy.asarray(y).astype(str) or unlabelled=None; "
                "otherwise pass None in place of -1 to silence this warning.",
                "If -1 is a class, write it as a word; otherwise leave these cells empty.",
            ),
            count=int((target.codes == 0).sum()),
            n_rows=len(target.codes),
            others=target.classes[1:].tolist(),
            target=TARGET,
        )
    )


def _note(target: Target, classes: Sequence | np.ndarray, *, blank: bool) -> None:
    """Warn of blank text among labels, and of classes that differ only by blanks or case.

    classes: of earlier rows, of which the user was told.
    """
    if blank:
        warn(
            BayesgenWarning(
                "some labels are blank text: these rows are read as unlabeled.",
                Cure(
                    "If blank is a class, name it: pandas.Series(y).replace(r'^\\s*$', 'blank', "
                    "regex=True); pandas.Series(y).replace(r'^\\s*$', None, regex=True) silences "
                    "this warning.",
                    "If blank is a class, name it in the file; leave these cells empty to silence "
                    "this warning.",
                ),
            )
        )
    if target.classes.dtype.kind not in "OU":
        return
    earlier = set(np.asarray(classes).tolist())
    groups = alike({*target.classes.tolist(), *earlier})
    if news := [group for group in groups if not earlier.issuperset(group)]:
        warn(
            BayesgenWarning(
                "classes differ only by blanks or case: {groups}.",
                Cure(
                    "If they mean the same, write them alike: "
                    "pandas.Series(y).str.split().str.join(' ').str.lower(); if not, give them "
                    "names that differ by more.",
                    SIMILAR_IN_FILE,
                ),
                groups=paired(news),
            )
        )


def check_mark(earlier: np.ndarray, every: np.ndarray) -> None:
    """Reject later labels beside which -1, a class of earlier rows, would have been a mark.

    Args:
        earlier: the classes before.
        every: the same with those of later rows.

    Raises:
        InvalidData: with the cure.
    """
    if earlier.dtype.kind not in "if" or not (earlier == -1).any() or (every < -1).any():
        return
    if np.count_nonzero(earlier >= 0) < 2 <= np.count_nonzero(every >= 0):
        raise InvalidData(
            "an earlier call read -1 in y as a class, but beside two or more labels of at "
            "least 0 it marks rows without a label.",
            "Pass None for rows without a label, or declare all classes in the first call: "
            "partial_fit(X, y, classes=[...]).",
        )


def check_declared(labels: np.ndarray, declared: np.ndarray) -> None:
    """Reject labels outside the classes, sorted, that the same call of partial_fit declares."""
    if labels.dtype == declared.dtype and np.array_equal(labels, declared):
        return
    strange = np.setdiff1d(labels, declared)
    if len(strange):
        raise InvalidData(
            "y has the classes {labels:listed}, but partial_fit was given "
            "classes={declared:listed}.",
            "Name all of them at the first call, partial_fit(X, y, classes=[...]), or leave "
            "classes out.",
            labels=strange.tolist(),
            declared=declared.tolist(),
        )


def _one_axis(y: object) -> nw.Series | np.ndarray:
    """Return labels as a column of text of a frame, or as an array of one axis.

    Raises:
        InvalidData: y is None or has more than one column.
    """
    import pandas as pd
    import pyarrow as pa
    from pandas.api.extensions import ExtensionArray

    if y is None:
        raise no_target()
    numbers = not isinstance(y, list | tuple | np.matrix)
    if isinstance(y, np.ma.MaskedArray):
        labels = np.array(y.data, dtype=object)
        labels[np.ma.getmaskarray(y)] = None
        y = labels
    elif isinstance(y, ExtensionArray):
        y = pd.Series(y)
    elif hasattr(y, "__arrow_c_array__"):
        y = pa.chunked_array([y])
    elif isinstance(y, list | tuple):
        y = _list_array(y)
    y = nw.from_native(y, eager_only=True, allow_series=True, pass_through=True)
    if isinstance(y, nw.DataFrame) and y.shape[1] == 1:
        y = y[y.columns[0]]
    if isinstance(y, nw.Series) and y.dtype == nw.String and not holds_objects(y):
        return y
    if isinstance(y, nw.Series) and y.dtype.is_integer() and y.is_null().any():
        # beside nulls NumPy has whole numbers as fractions
        y = np.array([None if label is None else label for label in y.to_list()], dtype=object)
    labels = np.asarray(y.to_numpy() if isinstance(y, nw.Series | nw.DataFrame) else y)
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels.ravel()
    if labels.ndim != 1:
        numbers = numbers and labels.dtype.kind in "fiub"
        raise InvalidData(
            "y should be a 1d array, got an array of shape {shape} instead; one label for each "
            "row is needed.",
            (
                "Pass the class of each row, y.idxmax(axis=1)."
                if isinstance(y, nw.DataFrame)
                else "Pass one column, y[:, 0], or the class of each row, y.argmax(axis=1)."
            )
            + ("" if numbers else PROBABILITIES),
            shape=getattr(y, "shape", labels.shape),
        )
    return labels


def _list_array(y: list | tuple) -> np.ndarray:
    try:
        values = np.asarray(y)
    except ValueError:  # rows of different lengths
        raise InvalidData(
            "y should be a 1d array, got lists of different lengths instead; one label for "
            "each row is needed.",
            "Pass a list of labels.",
        ) from None
    if values.dtype.kind not in "US":
        return values
    # numpy.asarray turns the None, NaN and numbers that stand beside text into text
    return values if all(isinstance(v, str) for v in y) else np.asarray(y, dtype=object)


def _one_type(labels: np.ndarray) -> np.dtype:
    """Return the dtype of objects, none of which is missing.

    Raises:
        InvalidData: they are of several types.
    """
    import pandas as pd

    kind = pd.api.types.infer_dtype(labels, skipna=False)
    if kind not in DTYPES:
        raise _several_types(labels)
    return np.dtype(DTYPES[kind])


DTYPES: dict[str, type] = {
    "string": object,
    "empty": object,
    "boolean": bool,
    "integer": np.int64,
    "floating": np.float64,
    "mixed-integer-float": np.float64,
}
"""Types of objects, as pandas names them -> their dtype in an array."""


NO_LABELS = "mMcSV"
"""Kinds of dtypes that are no labels: durations, dates, complex numbers, bytes and records."""


def _several_types(labels: np.ndarray) -> InvalidData:
    return InvalidData(
        "Unknown label type: y holds labels of the types {found:joined}; text, numbers or "
        "booleans are allowed, all of one type.",
        "Pass {labels}.astype(str).",
        labels=LABELS,
        found=sorted({type(label).__name__ for label in labels}),
    )
