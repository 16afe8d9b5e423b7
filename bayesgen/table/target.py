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
    missing_labels,
    no_target,
    paired,
    wrong_length,
)
from bayesgen.table.columns import TableColumn, alike, checked_columns, is_blank
from bayesgen.table.reading import arrow_column, holds_objects
from bayesgen.typing import Labels


@dataclasses.dataclass(frozen=True, eq=False)
class Target:
    """Labels that were read.

    classes: the distinct labels, sorted, of one type. codes: the position among them of the label
    of each labeled row. there: which rows have a label; None: all.
    """

    classes: np.ndarray
    codes: Int[np.ndarray, " labelled"]
    there: Bool[np.ndarray, " row"] | None = None

    @classmethod
    def of(cls, labels: np.ndarray, there: Bool[np.ndarray, " row"] | None = None) -> "Target":
        """Return the target of labels of one type, which the labeled rows have."""
        classes = distinct(labels)
        return cls(classes, codes_of(labels, classes), there)

    @property
    def labels(self) -> np.ndarray:
        """The labels of the labeled rows."""
        return self.classes[self.codes]

    @property
    def n_rows(self) -> int:
        """The number of rows, with a label or without."""
        return len(self.codes) if self.there is None else len(self.there)


def read_target(y: object) -> np.ndarray:
    """Return labels as an array, refusing missing ones.

    Args:
        y: one label for each row: a Series, an array, an Arrow array or a list; text, numbers or
            booleans. A single column, shape (row, 1), is accepted.

    Returns:
        Shape (row,). Text from a list or an array of text has a text dtype, from a Series dtype
        object; nullable and object columns of numbers or booleans get the NumPy dtype.

    Raises:
        InvalidData: y is None, has more than one column, or mixes types; some labels are None, NaN
            or NA.

    Examples:
        >>> read_target(["no", "yes"])
        array(['no', 'yes'], dtype='<U3')
    """
    labels = _one_axis(y)
    _require_labels(_missing(labels), _blank(labels), len(labels))
    return _one_type(labels) if labels.dtype == object else labels


def read_marked_target(
    y: object,
    classes: Sequence | np.ndarray = (),
    *,
    marks: bool = True,
    silent: bool = False,
    n_rows: int | None = None,
    counted: Int[np.ndarray, " counted"] | None = None,
) -> Target:
    """Return the labels of the rows that have one.

    -1 marks a row without a label among text, and among whole numbers where at least two other
    labels are 0 or more and none is negative. It is a class where it is already one.

    Args:
        y: as in `read_target`, with marks.
        classes: those of earlier rows, and declared ones.
        marks: whether rows may lack a label; otherwise -1 is a class.
        silent: whether to omit the warnings.
        n_rows: the number of rows that need a label or a mark; None: as many as there are.
        counted: positions of the rows to read; None: all.

    Raises:
        InvalidData: y is None, has more than one column, mixes types, or is of another length; some
            labels are missing, and may not be.

    Warns:
        BayesgenWarning: -1 or blank text was taken for a mark; classes, not all of them of earlier
            rows, differ only by blanks or case.

    Examples:
        >>> found = read_marked_target(["no", None, "yes"])
        >>> found.labels.tolist(), found.there.tolist()
        (['no', 'yes'], [True, False, True])
    """
    text = _text_column(y)
    labels = _one_axis(y) if text is None else text.values
    if n_rows is not None and len(labels) != n_rows:
        raise wrong_length(len(labels), n_rows)
    if text is not None:
        some = text if counted is None else text.take(counted).with_found_levels()
        target = _text_target(some, marks=marks)
        if not silent:
            _note(target, classes, blank=some.blank)
        return target
    labels = labels if counted is None else labels[counted]
    missing, blank, size = _missing(labels), _blank(labels), len(labels)
    if not marks:
        _require_labels(missing, blank, size)
    if blank is not None:
        labels = labels.astype(object)
        labels[blank] = None
        missing = blank if missing is None else missing | blank
    if marks and labels.dtype == object:
        words = _words_marked(labels)
        missing = missing if words is None else words
    there = None if missing is None else ~missing
    labels = labels if there is None else labels[there]
    labels = _one_type(labels) if labels.dtype == object else labels
    marked = _numbers_marked(labels, np.asarray(classes)) if marks else None
    if marked is None:
        target = Target.of(labels, there)
        if not silent:
            _note(target, classes, blank=blank is not None)
        return target
    if not silent:
        others = np.unique(labels[~marked]).tolist()
        warn(
            BayesgenWarning(
                "{target} holds -1 in {count:,} of {n_rows:rows}, beside {others:listed}: these "
                "rows are read as unlabeled, as in scikit-learn.",
                Cure(
                    "If -1 is a class, pass numpy.asarray(y).astype(str) or unlabelled=None; "
                    "otherwise pass None in place of -1 to silence this warning.",
                    "If -1 is a class, write it as a word; otherwise leave these cells empty.",
                ),
                count=int(marked.sum()),
                n_rows=size,
                others=others,
                target=TARGET,
            )
        )
    every = np.ones(size, dtype=bool) if there is None else there
    every[np.flatnonzero(every)[marked]] = False
    return Target.of(labels[~marked], every)


def _text_column(y: object) -> TableColumn | None:
    """Return labels that are a column of text of a frame, as codes; None: others.

    A text becomes an object for each class and not for each row.
    """
    if isinstance(y, np.ndarray):
        return None
    series = nw.from_native(y, eager_only=True, allow_series=True, pass_through=True)
    if not isinstance(series, nw.Series) or series.dtype != nw.String or holds_objects(series):
        return None
    return checked_columns([arrow_column("y", series, declared=False)])[0]


def _text_target(column: TableColumn, *, marks: bool) -> Target:
    """Return the target of a column of text.

    Raises:
        InvalidData: some labels are missing, and may not be.
    """
    there, classes = column.values >= 0, np.array(column.levels, dtype=object)
    missing = len(there) - int(there.sum())
    if not missing:
        return Target(classes, column.values)
    if not marks:
        refusal = _blank_labels if column.blank else missing_labels
        raise refusal(missing, len(there))
    return Target(classes, column.values[there], there)


def _require_labels(
    missing: Bool[np.ndarray, " row"] | None, blank: Bool[np.ndarray, " row"] | None, n_rows: int
) -> None:
    """Reject labels some of which are missing, or blank text.

    Raises:
        InvalidData: with their number.
    """
    if missing is not None:
        raise missing_labels(int(missing.sum()), n_rows)
    if blank is not None:
        raise _blank_labels(int(blank.sum()), n_rows)


def _blank_labels(count: int, n_rows: int) -> InvalidData:
    """Return the error about blank text where every row needs a label."""
    return InvalidData(
        "{target} is blank text in {count:,} of {n_rows:rows}; every row needs a label.",
        Cure(
            "Leave these rows out, keep = pandas.Series(y).str.strip() != ''; fit(X[keep], "
            "y[keep]), or, if blank is a class, name it: "
            "pandas.Series(y).replace(r'^\\s*$', 'blank', regex=True).",
            "Leave these rows out, or, if blank is a class, name it in the file.",
        ),
        count=count,
        n_rows=n_rows,
        target=TARGET,
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


def _words_marked(labels: np.ndarray) -> Bool[np.ndarray, " row"] | None:
    """Return the whole numbers -1 among text, with missing labels; None where there are none."""
    import pandas as pd

    # of texts alone, or numbers, without a look at each
    if not pd.api.types.infer_dtype(labels, skipna=True).startswith("mixed"):
        return None
    number = np.fromiter((type(v) is int or isinstance(v, np.integer) for v in labels), bool)
    if not number.any() or not (labels[number] == -1).all():
        return None
    missing = np.asarray(pd.isna(labels))
    rest = labels[~number & ~missing]
    if not len(rest) or not all(isinstance(v, str) for v in rest):
        return None
    return number | missing


def _numbers_marked(labels: np.ndarray, classes: np.ndarray) -> Bool[np.ndarray, " row"] | None:
    """Return which labels are marks, -1 among numbers; None where -1 is a class or absent."""
    if labels.dtype.kind not in "if":
        return None
    marked = labels == -1
    if not marked.any() or classes.dtype.kind not in "iuf":
        return None
    if (classes == -1).any():
        return None
    others = np.unique(np.concatenate([labels[~marked], classes]))
    return marked if len(others) >= 2 and others[0] >= 0 else None


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


def distinct(labels: np.ndarray) -> np.ndarray:
    """Return the distinct labels in order: np.unique, by counting where they are whole numbers."""
    if labels.dtype == object:
        import pandas as pd

        # by their hash: text is sorted ten times as slowly
        return np.sort(pd.unique(labels))
    if labels.dtype.kind not in "iu" or not len(labels):
        return np.unique(labels)
    low, high = int(labels.min()), int(labels.max())
    if high - low > len(labels) or high > 2**62:
        return np.unique(labels)
    counts = np.bincount(labels.astype(np.int64, copy=False) - low)
    return (np.flatnonzero(counts) + low).astype(labels.dtype)


def codes_of(labels: np.ndarray, classes: np.ndarray) -> Labels:
    """Return the position of each label among the classes, which are sorted and hold them all."""
    if len(classes) and labels.dtype.kind in "iu" and classes.dtype.kind in "iu":
        low, high = int(classes[0]), int(classes[-1])
        if high - low == len(classes) - 1 and high < 2**62:
            # five times as fast as looking for them
            return labels.astype(np.int64, copy=False) - low
    if labels.dtype == object and classes.dtype == object:
        import pandas as pd

        return pd.Index(classes, dtype=object).get_indexer(labels)
    return np.searchsorted(classes, labels)


def check_declared(labels: np.ndarray, declared: np.ndarray) -> None:
    """Reject labels outside the classes, sorted, that the same call of partial_fit declares."""
    if labels.dtype == declared.dtype and np.array_equal(labels, declared):
        return
    strange = np.setdiff1d(distinct(labels), declared)
    if len(strange):
        raise InvalidData(
            "y has the classes {labels:listed}, but partial_fit was given "
            "classes={declared:listed}.",
            "Name all of them at the first call, partial_fit(X, y, classes=[...]), or leave "
            "classes out.",
            labels=strange.tolist(),
            declared=declared.tolist(),
        )


def _one_axis(y: object) -> np.ndarray:
    """Return labels as an array of one axis, with the missing ones.

    Raises:
        InvalidData: y is None or has more than one column.
    """
    if y is None:
        raise no_target()
    labels = _as_array(y)
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels.ravel()
    if labels.ndim != 1:
        raise InvalidData(
            "y should be a 1d array, got an array of shape {shape} instead; one label for each "
            "row is allowed.",
            "Pass one column, y[:, 0], or the class of each row, y.argmax(axis=1).",
            shape=labels.shape,
        )
    return labels


def _missing(labels: np.ndarray) -> Bool[np.ndarray, " row"] | None:
    """Return which labels are missing; None: none is."""
    import pandas as pd

    if labels.dtype.kind in "iub":
        return None
    missing = np.asarray(pd.isna(labels))
    return missing if missing.any() else None


def _blank(labels: np.ndarray) -> Bool[np.ndarray, " row"] | None:
    """Return which labels are text of blanks alone; None: none is."""
    if labels.dtype.kind not in "OU":
        return None
    blank = np.fromiter(map(is_blank, labels.tolist()), bool, len(labels))
    return blank if blank.any() else None


def _as_array(y: object) -> np.ndarray:
    import pandas as pd
    import pyarrow as pa
    from pandas.api.extensions import ExtensionArray

    if isinstance(y, np.ma.MaskedArray):
        labels = np.array(y.data, dtype=object)
        labels[np.ma.getmaskarray(y)] = None
        return labels
    if isinstance(y, np.ndarray):
        return np.asarray(y)
    if hasattr(y, "__arrow_c_array__") or isinstance(y, ExtensionArray):
        y = pd.Series(y) if isinstance(y, ExtensionArray) else pa.chunked_array([y])
    y = nw.from_native(y, eager_only=True, allow_series=True, pass_through=True)
    if isinstance(y, nw.DataFrame) and y.shape[1] == 1:
        y = y[y.columns[0]]
    if isinstance(y, nw.Series) and y.dtype.is_integer() and y.is_null().any():
        # beside nulls NumPy has whole numbers as fractions
        return np.array([None if label is None else label for label in y.to_list()], dtype=object)
    if isinstance(y, nw.Series | nw.DataFrame):
        return np.asarray(y.to_numpy())
    if isinstance(y, list | tuple):
        return _list_array(y)
    return np.asarray(y)


def _list_array(y: list | tuple) -> np.ndarray:
    try:
        values = np.asarray(y)
    except ValueError:  # rows of different lengths
        raise InvalidData(
            "y should be a 1d array, got lists of different lengths instead; one label for "
            "each row is allowed.",
            "Pass a list of labels.",
        ) from None
    if values.dtype.kind not in "US":
        return values
    # numpy.asarray turns the None, NaN and numbers that stand beside text into text
    return values if all(isinstance(v, str) for v in y) else np.asarray(y, dtype=object)


def _one_type(labels: np.ndarray) -> np.ndarray:
    import pandas as pd

    found = pd.api.types.infer_dtype(labels, skipna=False)
    if found in ("string", "empty"):
        return labels
    dtypes = {"boolean": np.bool_, "integer": np.int64, "floating": np.float64}
    if found not in dtypes and found != "mixed-integer-float":
        raise InvalidData(
            "Unknown label type: y holds labels of the types {found:joined}; text, numbers or "
            "booleans are allowed, all of one type.",
            "Pass y.astype(str).",
            found=sorted({type(label).__name__ for label in labels}),
        )
    return labels.astype(dtypes.get(found, np.float64))
