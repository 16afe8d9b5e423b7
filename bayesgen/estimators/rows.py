"""The border with scikit-learn: what users pass as rows, labels and weights, checked once."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from scipy.sparse import csr_array, issparse, vstack
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import column_or_1d, validate_data

from bayesgen.errors import InvalidTarget, InvalidWeights, UnsupportedColumn, UnsupportedTable
from bayesgen.estimators.fitted import TrainingState
from bayesgen.inference import Posterior
from bayesgen.likelihoods import Likelihood
from bayesgen.table import (
    SPARSE,
    Names,
    SparseTable,
    Table,
    Unread,
    is_frame,
    is_sparse,
    read_sparse,
    read_table,
    read_target,
    require_array,
    require_container,
)
from bayesgen.typing import Encoded, Traceable, Weights


def training_rows(
    read: Callable[[], Table], y: object, sample_weight: object
) -> tuple[Table, np.ndarray, np.ndarray]:
    """Return the table that `read` gives, the labels and the weights of rows that have weight.

    Raises:
        BayesgenError: what cannot be used; wordings that scikit-learn's conformance suite looks for
            are kept.
    """
    if y is None:
        raise InvalidTarget.absent()
    table = read()
    labels = labels_of(y)
    if len(labels) != table.n_rows:
        raise InvalidTarget.wrong_length(len(labels), table.n_rows)
    weight = weights_of(sample_weight, table.n_rows)
    if sample_weight is None or weight.all():
        return table, labels, weight
    where = np.flatnonzero(weight)
    return table.only(where), labels[where], weight[where]


def labels_of(y: object) -> np.ndarray:
    """Return labels as a one-axis array of one type."""
    if isinstance(y, np.ndarray) and y.ndim == 2 and y.shape[1] == 1:
        y = column_or_1d(y, warn=True)
    labels = read_target(y)
    if labels.dtype.kind == "f":
        infinite = int(np.isinf(labels).sum())
        if infinite:
            raise InvalidTarget.infinite(infinite, len(labels))
        fractions = labels[labels != np.floor(labels)]
        if len(fractions):
            raise InvalidTarget.fractions(float(fractions[0]))
    return labels


def distinct(labels: np.ndarray) -> np.ndarray:
    """Return the distinct labels in order: np.unique, by counting where they are whole numbers."""
    if labels.dtype.kind not in "iu" or not len(labels):
        return np.unique(labels)
    low, high = int(labels.min()), int(labels.max())
    if high - low > len(labels) or high > 2**62:
        return np.unique(labels)
    counts = np.bincount(labels.astype(np.int64, copy=False) - low)
    return (np.flatnonzero(counts) + low).astype(labels.dtype)


def weights_of(sample_weight: object, n_rows: int) -> Weights:
    """Return one weight for each row; a number is the weight of all, None is 1."""
    if sample_weight is None:
        return np.ones(n_rows)
    weight = np.asarray(sample_weight, dtype=np.float64)
    if weight.ndim == 0:
        weight = np.full(n_rows, weight)
    if weight.shape != (n_rows,):
        raise InvalidWeights.wrong_shape(weight.shape, n_rows)
    wrong = int((~(np.isfinite(weight) & (weight >= 0))).sum())
    if wrong:
        raise InvalidWeights.values(wrong)
    if not weight.any():
        raise InvalidWeights.all_zero()
    return weight


def with_weight(X: object, y: object, sample_weight: object) -> tuple[object, object, object]:
    """Return the rows that weigh anything: whoever is left out, or judged, is one of these."""
    if sample_weight is None:
        return X, y, None
    labels = labels_of(y)
    weight = weights_of(sample_weight, len(labels))
    there = np.flatnonzero(weight > 0)
    if len(there) == len(weight):
        return X, y, weight
    return _safe_indexing(X, there), labels[there], weight[there]


def once(weight: Weights) -> Weights:
    """Return what is taken away where one row is left out: of a row of weight 3, one of three."""
    return np.minimum(weight, 1.0)


def joined(parts: Sequence[Encoded]) -> Encoded:
    """Return encoded rows of several calls below each other."""
    if len(parts) == 1:
        return parts[0]
    return {name: _below([part[name] for part in parts]) for name in parts[0]}


def _below(parts: list[Traceable]) -> Traceable:
    return vstack(parts, format="csr") if issparse(parts[0]) else np.concatenate(parts)


def check_declared(labels: np.ndarray, declared: np.ndarray) -> None:
    """Refuse labels outside the classes, sorted, that the same call of partial_fit declares."""
    found = distinct(labels)
    if found.dtype == declared.dtype and np.array_equal(found, declared):
        return
    strange = np.setdiff1d(found, declared)
    if len(strange):
        raise InvalidTarget.undeclared(strange.tolist(), declared.tolist())


def check_sparse(table: Table, likelihoods: Mapping[str, Likelihood]) -> None:
    """Refuse a sparse table for likelihoods that read none, naming the first of them.

    Raises:
        UnsupportedTable: with those that do.
    """
    if not isinstance(table, SparseTable):
        return
    for likelihood in likelihoods.values():
        if not likelihood.sparse:
            raise UnsupportedTable.sparse_for(type(likelihood).__name__)


def whole(
    learned: TrainingState, posterior: Posterior, simulated: dict, n: int
) -> dict[str, Traceable]:
    """Return simulated rows as encoding returns rows: columns that were left out are missing."""
    out = {}
    for name, likelihood in learned.likelihoods.items():
        shape, rows = (n, len(learned.schema.blocks[name])), simulated.get(name)
        compressed = issparse(rows) or (rows is None and learned.schema.container in SPARSE)
        missing = -1 if likelihood.kind == "levels" else np.nan
        blank = csr_array(shape) if compressed else np.full(shape, missing)
        kept = posterior.reader.kept.get(name)
        if rows is not None and kept is not None:
            rows = posterior.reader.full[name].restore(rows, kept, blank)
        out[name] = blank if rows is None else rows
    return out


def read(estimator: object, X: object, unread: Unread, *, reset: bool) -> Table:
    """Return the table of rows; with `reset` scikit-learn takes note of names and number.

    Raises:
        BayesgenError: what cannot be read.
    """
    require_container(X)
    if is_sparse(X):
        options = {"accept_sparse": "csr", "dtype": None, "ensure_all_finite": False}
        return read_sparse(validate_data(estimator, X, reset=reset, **options))
    if is_frame(X):
        table = read_table(X, unread)
        if reset:
            _check_names(table.names)
            validate_data(estimator, X, skip_check_array=True)
        return table
    # infinities are refused by read_table, which names the column
    if not reset and _is_like_fitted(estimator, X):
        return read_table(X, unread)
    require_array(X)
    array = validate_data(estimator, X, dtype=None, ensure_all_finite=False, reset=reset)
    return read_table(array, unread)


def _is_like_fitted(estimator: object, X: object) -> bool:
    """Say whether X is an array of numbers that scikit-learn would not say a word about."""
    return (
        type(X) is np.ndarray
        and X.ndim == 2
        and X.dtype.kind in "fiu"
        and len(X) > 0
        and X.shape[1] == getattr(estimator, "n_features_in_", None)
        and getattr(estimator, "feature_names_in_", None) is None
    )


def _check_names(names: Names) -> None:
    """Refuse names of two types, which scikit-learn takes no note of."""
    texts = [name for name in names if isinstance(name, str)]
    if texts and len(texts) < len(names):
        number = next(name for name in names if not isinstance(name, str))
        raise UnsupportedColumn.mixed_names(texts[0], number)
