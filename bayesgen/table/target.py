"""Labels of rows: reading, validation, and conversion to class codes."""

import narwhals.stable.v2 as nw
import numpy as np

from bayesgen.errors import InvalidTarget, MissingLabels, UnlabelledRows
from bayesgen.typing import Labels


def read_target(y: object) -> np.ndarray:
    """Return labels as an array, refusing missing ones.

    Args:
        y: one label for each row: a Series, an array, an Arrow array or a list; text, numbers or
            booleans. A single column, shape (row, 1), is accepted.

    Returns:
        Shape (row,). Text from a list or an array of text has a text dtype, from a Series dtype
        object; nullable and object columns of numbers or booleans get the NumPy dtype.

    Raises:
        InvalidTarget: y is None, has more than one column, or mixes types.
        MissingLabels: some labels are None, NaN or NA.

    Examples:
        >>> read_target(["no", "yes"])
        array(['no', 'yes'], dtype='<U3')
    """
    import pandas as pd

    if y is None:
        raise InvalidTarget.absent()
    labels = _as_array(y)
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels.ravel()
    if labels.ndim != 1:
        raise InvalidTarget.wrong_shape(labels.shape)
    missing = 0 if labels.dtype.kind in "iub" else int(pd.isna(labels).sum())
    if missing:
        raise MissingLabels.in_rows(missing, len(labels))
    return _one_type(labels) if labels.dtype == object else labels


def check_labelled(classes: np.ndarray) -> None:
    """Reject -1 among numbers that are labels, where it marks rows without one.

    It does where at least two labels are 0 or more; in {-1, 1} and {-1, k} it is a class.

    Args:
        classes: all distinct labels, or more of them than are distinct.

    Raises:
        UnlabelledRows: with the other labels.
    """
    if classes.dtype.kind not in "if" or not (classes == -1).any():
        return
    others = np.unique(classes[classes != -1])
    if np.count_nonzero(others >= 0) >= 2:
        raise UnlabelledRows.beside(others.tolist())


def distinct(labels: np.ndarray) -> np.ndarray:
    """Return the distinct labels in order: np.unique, by counting where they are whole numbers."""
    if labels.dtype.kind not in "iu" or not len(labels):
        return np.unique(labels)
    low, high = int(labels.min()), int(labels.max())
    if high - low > len(labels) or high > 2**62:
        return np.unique(labels)
    counts = np.bincount(labels.astype(np.int64, copy=False) - low)
    return (np.flatnonzero(counts) + low).astype(labels.dtype)


def codes_of(labels: np.ndarray, classes: np.ndarray) -> Labels:
    """Return the position of each label among the classes, which are sorted and hold them all."""
    if labels.dtype.kind in "iu" and classes.dtype.kind in "iu":
        low, high = int(classes[0]), int(classes[-1])
        if high - low == len(classes) - 1 and high < 2**62:
            # five times as fast as looking for them
            return labels.astype(np.int64, copy=False) - low
    return np.searchsorted(classes, labels)


def check_declared(labels: np.ndarray, declared: np.ndarray) -> None:
    """Reject labels outside the classes, sorted, that the same call of partial_fit declares."""
    found = distinct(labels)
    if found.dtype == declared.dtype and np.array_equal(found, declared):
        return
    strange = np.setdiff1d(found, declared)
    if len(strange):
        raise InvalidTarget.undeclared(strange.tolist(), declared.tolist())


def _as_array(y: object) -> np.ndarray:
    if isinstance(y, np.ma.MaskedArray):
        labels = np.array(y.data, dtype=object)
        labels[np.ma.getmaskarray(y)] = None
        return labels
    if isinstance(y, np.ndarray):
        return np.asarray(y)
    y = nw.from_native(y, eager_only=True, allow_series=True, pass_through=True)
    if isinstance(y, nw.Series | nw.DataFrame):
        return np.asarray(y.to_numpy())
    if isinstance(y, list | tuple):
        return _list_array(y)
    return np.asarray(y)


def _list_array(y: list | tuple) -> np.ndarray:
    try:
        values = np.asarray(y)
    except ValueError:  # rows of different lengths
        raise InvalidTarget.ragged() from None
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
        raise InvalidTarget.mixed(sorted({type(label).__name__ for label in labels}))
    return labels.astype(dtypes.get(found, np.float64))
