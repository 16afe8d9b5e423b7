"""Validation of the rows, labels and weights that users pass."""

from collections.abc import Collection, Hashable, Sequence
from typing import Any, cast

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import column_or_1d, validate_data

from bayesgen.errors import Cure, InvalidData, UnsupportedOperation, Words, warn
from bayesgen.errors.arguments import not_one_of
from bayesgen.errors.data import TARGET, weights_out_of_range, wrong_length, zero_weights
from bayesgen.errors.dialect import KEPT, LABELS
from bayesgen.estimators.training_rows import TrainingRows
from bayesgen.membership import among
from bayesgen.schema import absent_columns, blank_text
from bayesgen.table import (
    Name,
    Names,
    Table,
    Target,
    check_declared,
    has_columns,
    is_frame,
    read_labels,
    read_sparse,
    read_table,
    read_target,
    require_container,
    require_same_order,
)
from bayesgen.typing import Labels, Membership, Weights

LEAST_WEIGHT, MOST_WEIGHT = 1e-300, 1e15
"""Sums of weights: the reciprocal of a smaller one is infinite; from 2^53 = 9e15 on, a count of
rows stays the same when a row is left out of it."""


def training_rows(
    table: Table,
    X: object,
    y: object,
    sample_weight: object,
    *,
    classes: np.ndarray | Sequence = (),
    marks: bool = True,
) -> TrainingRows:
    """Return validated training rows, including the table read from X.

    Args:
        table: read from X.
        X: as it was passed.
        y: labels, as they were passed.
        sample_weight: weights, as they were passed.
        classes: those of earlier calls, and declared ones.
        marks: whether rows may lack a label.

    Raises:
        BayesgenError: invalid rows, labels or weights. Messages keep the wording that
            scikit-learn's conformance suite expects.
    """
    require_same_order(X, y=y, sample_weight=sample_weight)
    weight, kept = weights_of(sample_weight, table.n_rows), None
    if sample_weight is not None and not weight.all():
        kept = np.flatnonzero(weight)
    options: dict = {"marks": marks, "n_rows": table.n_rows, "counted": kept}
    target = labels_of(y, classes, **options)
    if kept is not None:
        table, weight = table.only(kept), weight[kept]
    return TrainingRows(
        X,
        y,
        sample_weight,
        table,
        target.codes,
        weight,
        target.classes,
        kept,
        target.shares,
    )


def labels_of(
    y: object,
    classes: np.ndarray | Sequence = (),
    *,
    marks: bool = True,
    silent: bool = False,
    n_rows: int | None = None,
    counted: np.ndarray | None = None,
) -> Target:
    """Return labels of one type, or probabilities; arguments as `read_target`."""
    if isinstance(y, np.ndarray) and y.ndim == 2 and y.shape[1] == 1:
        y = column_or_1d(y, warn=True)
    options = {"marks": marks, "silent": silent, "n_rows": n_rows, "counted": counted}
    target = (read_labels if has_columns(y) else read_target)(y, classes, **options)
    classes = target.classes
    if classes.dtype.kind == "f":
        infinite = int(np.isinf(target.labels).sum())
        if infinite:
            raise InvalidData(
                "{target} is infinite in {count:,} of {n_rows:rows}; text, whole numbers and "
                "booleans are allowed.",
                Cure(
                    "Leave these rows out: keep = numpy.isfinite({labels}); fit({kept}).",
                    "Leave these rows out of the file.",
                ),
                count=infinite,
                n_rows=len(target.codes),
                target=TARGET,
                kept=KEPT,
                labels=LABELS,
            )
        fractions = target.labels[target.labels != np.floor(target.labels)]
        if len(fractions):
            raise InvalidData(
                "{target} holds {value!r}; text, whole numbers and booleans are allowed.",
                Cure(
                    "Pass {labels}.astype(str), or cut y into classes: pandas.cut(y, "
                    "2).astype(str).",
                    "Write classes into this column, such as low and high.",
                ),
                value=float(fractions[0]),
                target=Words("Unknown label type: continuous. y", "the column of classes"),
                labels=LABELS,
            )
    return target


def labels_to_score(
    y: object, predicted: np.ndarray, sample_weight: object, classes: np.ndarray
) -> tuple[np.ndarray, np.ndarray, object]:
    """Return labels, predicted labels and weights of the rows that have a label.

    Labels need not be classes of the fit.
    """
    target = read_target(y, classes, silent=True)
    if not target.n_missing:
        return target.labels, predicted, sample_weight
    if len(target.codes) != len(predicted):
        raise wrong_length(len(target.codes), len(predicted))
    if not len(target.classes):
        raise UnsupportedOperation(
            "y has no label in any of {n_rows:rows}, so nothing can be scored.",
            "Pass rows with labels.",
            n_rows=len(target.codes),
        )
    weight = None if sample_weight is None else np.asarray(sample_weight)[target.there]
    return target.labels, predicted[target.there], weight


def membership(y: object, classes: np.ndarray) -> Membership:
    """Return the position of each label in the classes of a fit, UNLABELLED without one.

    Of soft labels it is the share of each class, all 0 without a label.
    """
    target = labels_of(y, classes, silent=True)
    check_declared(target.classes, classes)
    return among(target.membership, np.searchsorted(classes, target.classes), len(classes))


def class_codes(y: object, classes: np.ndarray) -> Labels:
    """Return `membership` of rows that have a single class each."""
    codes = membership(y, classes)
    if codes.ndim == 2:
        raise UnsupportedOperation(
            "labels are probabilities, and one class for each row is needed here.",
            "Fit to the most probable: y.argmax(axis=1), or of a DataFrame y.idxmax(axis=1).",
        )
    return codes


def weights_of(sample_weight: object, n_rows: int) -> Weights:
    """Return one weight per row; a number applies to all rows, None means 1."""
    if sample_weight is None:
        return np.ones(n_rows)
    try:
        weight = np.asarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidData(
            "sample_weight holds {value!r}, which is not a number; one number of at least 0 is "
            "needed for each row.",
            "Pass None for equal weights.",
            value=sample_weight,
        ) from None
    if weight.ndim == 0:
        weight = np.full(n_rows, weight)
    if weight.shape != (n_rows,):
        raise InvalidData(
            "sample_weight has the shape {shape}, X has {n_rows:rows}; one weight for each "
            "row, the shape ({n_rows},), is needed (sample_weight.shape == ({n_rows},)).",
            "Pass None for equal weights.",
            shape=weight.shape,
            n_rows=n_rows,
        )
    wrong = int((~(np.isfinite(weight) & (weight >= 0))).sum())
    if wrong:
        raise InvalidData(
            "sample_weight is negative, infinite or NaN in {count:rows}; numbers of at least 0 "
            "are allowed (2 counts a row twice, 0 omits it).",
            "Pass numpy.clip(weight, 0, None).",
            count=wrong,
        )
    if not weight.any():
        raise zero_weights()
    with np.errstate(over="ignore"):
        total = float(weight.sum())
    if not LEAST_WEIGHT <= total <= MOST_WEIGHT:
        raise weights_out_of_range(total, LEAST_WEIGHT, MOST_WEIGHT)
    return weight


def read(
    estimator: BaseEstimator,
    X: object,
    *,
    reset: bool,
    only: Collection[object] | None = None,
    skip: Collection[Name] = (),
) -> Table:
    """Return the table of rows; `reset` records column names and number on the estimator.

    Args:
        estimator: the attributes n_features_in_ and feature_names_in_ are set on it.
        X: rows.
        reset: whether these are the first rows of a fit.
        only: names or positions of the columns to read; None: all.
        skip: names of columns not to read.

    Raises:
        BayesgenError: rows that cannot be read.

    Warns:
        CountsAsMissing: some cells of levels hold blanks alone.
    """
    if require_container(X) == "sparse":
        options = {"accept_sparse": "csr", "dtype": None, "ensure_all_finite": False}
        return read_sparse(validate_data(estimator, X, reset=reset, **options))
    table = read_table(X, only=only, skip=skip)
    blank = table.blank
    if table.container != "numpy" and reset:
        _note_names(estimator, table.names)
    elif table.container == "numpy" and (reset or not _is_like_fitted(estimator, X)):
        validate_data(estimator, X, skip_check_array=True, reset=reset)
    if blank:
        warn(blank_text(blank))
    return table


def _is_like_fitted(estimator: BaseEstimator, X: object) -> bool:
    """Return whether X is an array of numbers that scikit-learn would pass without a warning."""
    return (
        type(X) is np.ndarray
        and X.ndim == 2
        and X.dtype.kind in "fiu"
        and len(X) > 0
        and X.shape[1] == getattr(estimator, "n_features_in_", None)
        and getattr(estimator, "feature_names_in_", None) is None
    )


def _note_names(estimator: BaseEstimator, names: Names) -> None:
    """Set feature_names_in_ and n_features_in_ from a DataFrame; reject names of mixed types.

    scikit-learn records names only if all are strings.
    """
    texts = [name for name in names if isinstance(name, str)]
    if texts and len(texts) < len(names):
        number = next(name for name in names if not isinstance(name, str))
        raise InvalidData(
            "column {text!r} is named by text and column {number!r} by an integer; names of "
            "one type are allowed.",
            "Pass X.set_axis([str(c) for c in X.columns], axis=1).",
            text=texts[0],
            number=number,
        )
    vars(estimator).pop("feature_names_in_", None)
    vars(estimator)["n_features_in_"] = len(names)
    if texts:
        vars(estimator)["feature_names_in_"] = np.asarray(texts, dtype=object)


def index_of(X: object) -> object:
    """Return the index of a pandas frame, None of other tables."""
    return getattr(X, "index", None) if is_frame(X) else None


def check_complete(X: object, names: Names, used: Collection[Name], container: str) -> None:
    """Reject training rows that lack columns of earlier ones."""
    if require_container(X) == "frame":
        absent = absent_columns(names, used, container, read_table(X, only=()))
        if absent:
            raise UnsupportedOperation(
                "loo leaves out each row of the fit in turn, but X lacks the {absent:named "
                "column} of these rows.",
                "Pass exactly the rows of the fit.",
                absent=absent,
            )


def code_of(name: str, label: Hashable, classes: np.ndarray) -> int | None:
    """Return the code of one class, the argument `name`; None for None.

    Raises:
        InvalidArgument: it is not a class of the fit.
    """
    if label is None:
        return None
    every = classes.tolist()
    if np.ndim(cast(Any, label)) or label not in every:
        raise not_one_of(name, label, every)
    return every.index(label)
