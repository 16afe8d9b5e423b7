"""The order of rows: labels and weights go by position, and may carry labels of an index."""

from typing import Any

from bayesgen.errors import InvalidData


def require_same_order(X: object, **beside: object) -> None:
    """Reject what has the index labels of the rows X in another order than X.

    Rows are matched by position, as in scikit-learn, so that a Series with an index of its own, as
    after reset_index, is as good as an array. But one with exactly the labels of X in another order
    contradicts itself: by position its values belong to other rows than by label. Labels that
    occur twice name no row, and are not compared.

    Args:
        X: rows, with an index if they are a pandas frame.
        beside: such as y=, values of the rows, with an index if they are a pandas Series or frame.

    Raises:
        InvalidData: names the argument.

    Examples:
        >>> import pandas as pd
        >>> X = pd.DataFrame({"a": [1.0, 2.0]}, index=["p", "q"])
        >>> require_same_order(X, y=pd.Series([0, 1], index=["r", "s"]))
        >>> require_same_order(X, y=pd.Series([0, 1], index=["q", "p"]))  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        ...
        bayesgen.errors.kinds.InvalidData: y has the index labels of X in another order, and ...
    """
    index = _index(X)
    if index is None:
        return
    for name, values in beside.items():
        other = _index(values)
        if other is None or len(other) != len(index) or index.equals(other):
            continue
        if index.is_unique and other.is_unique and index.isin(other).all():
            raise InvalidData(
                "{name} has the index labels of X in another order, and rows are matched by "
                "position, so its values would go to other rows than their labels say.",
                "Pass {name}.loc[X.index] if the labels are right, or {name}.to_numpy() if the "
                "order is.",
                name=name,
            )


def _index(rows: object) -> Any:
    """Return the index of a pandas object; None of what has none, such as a list."""
    index = getattr(rows, "index", None)
    return index if hasattr(index, "equals") and hasattr(index, "is_unique") else None
