"""Validate what users pass as rows, labels, weights and seeds."""

import dataclasses
import functools
from collections.abc import Collection, Mapping

import numpy as np
from sklearn.utils import _safe_indexing, check_random_state
from sklearn.utils.validation import column_or_1d, validate_data

from bayesgen import arguments
from bayesgen.errors import (
    InvalidTarget,
    InvalidWeights,
    NoRows,
    UnsupportedColumn,
    UnsupportedTable,
)
from bayesgen.inference import NUTS
from bayesgen.likelihoods import Likelihood
from bayesgen.schema import Schema, absent_columns
from bayesgen.table import (
    Name,
    Names,
    SparseTable,
    Table,
    Unread,
    check_labelled,
    is_frame,
    is_sparse,
    read_sparse,
    read_table,
    read_target,
    require_array,
    require_container,
)
from bayesgen.typing import Labels, Traceable, Weights


class TableEncoder:
    """A table whose columns are encoded once, however many schemas read them alike."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self._known: dict[object, Traceable] = {}

    def encode(self, schema: Schema, unseen: str, estimator: str) -> dict[str, Traceable]:
        """Return what `Schema.encode` returns; the arrays are shared: never write."""
        if not schema.blocks:  # of a program of the user's own
            return schema.encode(self.table, unseen, estimator=estimator)
        keys = {block: (columns, unseen) for block, columns in schema.blocks.items()}
        new = {block: key for block, key in keys.items() if key not in self._known}
        if new:
            part = dataclasses.replace(
                schema, blocks={block: schema.blocks[block] for block in new}
            )
            encoded = part.encode(self.table, unseen, estimator=estimator)
            self._known |= {key: encoded[block] for block, key in new.items()}
        return {block: self._known[key] for block, key in keys.items()}


@dataclasses.dataclass(frozen=True, eq=False)
class TrainingRows:
    """The rows of one call of fit or partial_fit.

    X, y, sample_weight: as they were passed. table, labels, weight: as they were read, those of
    weight 0 left out. classes: the distinct labels, sorted. kept: positions in X of the rows that
    were not left out; None: all.
    """

    X: object
    y: object
    sample_weight: object
    table: Table
    labels: np.ndarray
    weight: Weights
    classes: np.ndarray
    kept: np.ndarray | None = None

    def encode(
        self, schema: Schema, unseen: str, chunk: slice | None = None
    ) -> dict[str, Traceable]:
        """Return the rows, or a chunk of them, as `Schema.encode` does.

        Of all rows what was encoded before is shared: never write.
        """
        if chunk is not None:
            return schema.encode(self.table.take(chunk), unseen)
        return self._encoder.encode(schema, unseen, "Classifier")

    @functools.cached_property
    def _encoder(self) -> TableEncoder:
        return TableEncoder(self.table)

    def to_keep(self, *, table: bool) -> "TrainingRows":
        """Return the rows without what was encoded, and without their cells unless wanted."""
        return dataclasses.replace(self, table=self.table if table else Table((), 0, ""))

    def only(self, where: np.ndarray) -> "TrainingRows":
        """Return some of the rows, as if the others had never been read."""
        kept = where if self.kept is None else self.kept[where]
        labels = self.labels[where]
        parts = {"labels": labels, "weight": self.weight[where], "classes": distinct(labels)}
        return dataclasses.replace(self, table=self.table.only(where), kept=kept, **parts)

    def raw(self) -> object:
        """Return X without the rows that were left out."""
        return self.X if self.kept is None else _safe_indexing(self.X, self.kept)


def training_rows(table: Table, X: object, y: object, sample_weight: object) -> TrainingRows:
    """Return rows with the table that was read of X, checked.

    Raises:
        BayesgenError: what cannot be used; wordings that scikit-learn's conformance suite looks for
            are kept.
    """
    labels = labels_of(y)
    if len(labels) != table.n_rows:
        raise InvalidTarget.wrong_length(len(labels), table.n_rows)
    weight = weights_of(sample_weight, table.n_rows)
    rows = TrainingRows(X, y, sample_weight, table, labels, weight, distinct(labels))
    return rows if sample_weight is None or weight.all() else rows.only(np.flatnonzero(weight))


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


def labels_to_score(y: object, classes: np.ndarray) -> np.ndarray:
    """Return labels that may be others than the classes of a fit."""
    labels = read_target(y)
    check_labelled(np.union1d(classes, labels))
    return labels


def class_codes(y: object, classes: np.ndarray) -> Labels:
    """Return the position of each label in the classes of a fit."""
    labels = labels_of(y)
    check_labelled(np.union1d(classes, labels))
    check_declared(labels, classes)
    return np.searchsorted(classes, labels)


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


def index_of(X: object) -> object:
    """Return the index of a pandas frame, None of other tables."""
    return getattr(X, "index", None) if is_frame(X) else None


def check_complete(X: object, names: Names, used: Collection[Name], container: str) -> None:
    """Refuse rows of a fit that lack columns which they had."""
    if is_frame(X):
        absent = absent_columns(names, used, container, read_table(X, unread=lambda names: names))
        if absent:
            raise NoRows.without_columns(absent)


def drawn_seed(random_state: object) -> int:
    """Return a whole number drawn from a seed: the same one for the same whole number.

    Raises:
        InvalidArgument: random_state is no seed.
    """
    return int(check_random_state(arguments.seed(random_state)).randint(2**31 - 1))


def fit_seed(random_state: object, inference: object) -> int:
    """Return the seed of a fit: that of a checkpoint which NUTS goes on from, or one drawn."""
    if random_state is None and isinstance(inference, NUTS):
        kept = inference.kept_seed()
        if kept is not None:
            return kept
    return drawn_seed(random_state)


def generator(random_state: object) -> np.random.Generator:
    """Return a generator of random numbers from a seed.

    Raises:
        InvalidArgument: random_state is no seed.
    """
    return np.random.default_rng(drawn_seed(random_state))
