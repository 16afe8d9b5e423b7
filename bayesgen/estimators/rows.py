"""The border with scikit-learn: what users pass as rows, labels and weights, checked once."""

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, column_or_1d, validate_data

from bayesgen.errors import InvalidTarget, InvalidWeights
from bayesgen.estimators.fitted import Learned
from bayesgen.inference import Posterior
from bayesgen.table import Table, is_frame, read_table, read_target


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
    weight = _check_sample_weight(sample_weight, labels, dtype=np.float64, ensure_non_negative=True)
    if not weight.any():
        raise InvalidWeights.all_zero()
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
    check_classification_targets(labels)
    return labels


def check_declared(labels: np.ndarray, declared: np.ndarray) -> None:
    """Refuse labels outside the classes that the first partial_fit declared."""
    if len(declared):
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
        if reset:
            validate_data(estimator, X, skip_check_array=True)
        return read_table(X)
    numeric = getattr(getattr(X, "dtype", None), "kind", "O") in "iufb"
    array = validate_data(
        estimator,
        X,
        dtype=None,
        ensure_all_finite="allow-nan" if numeric else False,
        reset=reset,
    )
    return read_table(array)
