"""The border with scikit-learn: what users pass as rows, labels and weights, checked once."""

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d, validate_data

from bayesgen.errors import InvalidTarget, InvalidWeights
from bayesgen.estimators.fitted import Learned
from bayesgen.inference import Posterior
from bayesgen.table import Table, is_frame, read_table, read_target
from bayesgen.typing import Weights


def training_rows(
    estimator: object, X: object, y: object, sample_weight: object, *, reset: bool
) -> tuple[Table, np.ndarray, np.ndarray]:
    """Return the table, the labels and the weights of rows that have weight.

    Raises:
        BayesgenError: what cannot be used; wordings that scikit-learn's conformance suite looks for
            are kept.
    """
    if y is None:
        raise InvalidTarget.absent()
    table = _table(estimator, X, reset=reset)
    labels = labels_of(y)
    if len(labels) != table.n_rows:
        raise InvalidTarget.wrong_length(len(labels), table.n_rows)
    weight = weights_of(sample_weight, table.n_rows)
    present = weight > 0
    if present.all():
        return table, labels, weight
    where = np.flatnonzero(present)
    return table.take(where), labels[where], weight[where]


def labels_of(y: object) -> np.ndarray:
    """Return labels as a one-axis array of one type."""
    if isinstance(y, np.ndarray) and y.ndim == 2 and y.shape[1] == 1:
        y = column_or_1d(y, warn=True)
    labels = read_target(y)
    if labels.dtype.kind == "f":
        infinite = int(np.isinf(labels).sum())
        if infinite:
            raise InvalidTarget.infinite(infinite, len(labels))
        # only real numbers can be no classes; the check sorts all labels
        check_classification_targets(labels)
    return labels


def weights_of(sample_weight: object, n_rows: int) -> Weights:
    """Return one weight for each row; a number is the weight of all, None is 1."""
    weight = np.asarray(1.0 if sample_weight is None else sample_weight, dtype=np.float64)
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
    """Refuse labels outside the classes that the same call of partial_fit declares."""
    strange = np.setdiff1d(labels, declared)
    if len(strange):
        raise InvalidTarget.undeclared(strange.tolist(), declared.tolist())


def prediction_rows(estimator: object, X: object) -> Table:
    """Return the table of rows to predict; columns are matched by the schema."""
    return _table(estimator, X, reset=False)


def decoded(learned: Learned, posterior: Posterior, encoded: dict, n: int) -> object:
    """Return simulated rows as the kind of table that came in, left-out columns missing."""
    whole = {}
    for name, likelihood in learned.likelihoods.items():
        columns = learned.schema.blocks[name]
        blank = -1 if likelihood.kind == "levels" else np.nan
        whole[name] = np.full((n, len(columns)), blank)
        if name in posterior.reader.kept:
            kept = posterior.reader.kept[name]
            full = posterior.reader.full[name]
            rows = encoded[name]
            whole[name] = rows if kept is None else full.unview(rows, kept, whole[name])
    return learned.schema.decode(whole, n)


def _table(estimator: object, X: object, *, reset: bool) -> Table:
    if is_frame(X):
        table = read_table(X)
        if reset:
            validate_data(estimator, X, skip_check_array=True)
        return table
    # infinities are refused by read_table, which names the column
    array = validate_data(estimator, X, dtype=None, ensure_all_finite=False, reset=reset)
    return read_table(array)
