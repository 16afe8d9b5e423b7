"""Texts that have not been counted yet: told from tables, and checked."""

import narwhals.stable.v2 as nw
import numpy as np

from bayesgen.errors import InvalidTexts


def read_texts(X: object) -> list[str] | None:
    """Return the texts of a list, an array or a Series of them, or None for anything else.

    Raises:
        InvalidTexts: one text alone, texts among other things, or missing ones.

    Examples:
        >>> read_texts(["king food", "proof"])
        ['king food', 'proof']
        >>> read_texts([[1, 0], [0, 2]])
    """
    if isinstance(X, str | bytes):
        raise InvalidTexts.one_text(X)
    found = _values(X)
    if found is None or not any(isinstance(text, str) for text in found):
        return None
    missing = [text is None or text != text for text in found]
    if any(missing):
        raise InvalidTexts.missing(sum(missing), len(found))
    strange = [type(text).__name__ for text in found if not isinstance(text, str)]
    if strange:
        raise InvalidTexts.mixed(strange[0], len(strange), len(found))
    return [str(text) for text in found]


def _values(X: object) -> list | None:
    """Return the entries of something with one axis."""
    if isinstance(X, list | tuple):
        return list(X)
    if isinstance(X, np.ndarray):
        return X.tolist() if X.ndim == 1 and X.dtype.kind in "OUT" else None
    if hasattr(type(X), "columns"):  # a table, whose names nobody has checked yet
        return None
    series = nw.from_native(X, eager_only=True, allow_series=True, pass_through=True)
    return series.to_list() if isinstance(series, nw.Series) else None
