"""Coverage and size of prediction sets on rows that were not fitted."""

from collections.abc import Hashable
from typing import Any, cast

import numpy as np
import pandas as pd
from jaxtyping import Bool
from scipy.special import betaincinv

from bayesgen import arguments
from bayesgen.calibrate.targets import Classes, read
from bayesgen.errors.data import wrong_length
from bayesgen.inference.conformal import Groups, in_set, left_out_p_values, odds
from bayesgen.membership import Entries
from bayesgen.table import Name, read_table, read_target, require_same_order

LEVEL = 0.95
"""Probability of the interval of a coverage."""
ALL, MISSING = "(all)", "(missing)"
"""Names of the line of all rows, and of rows whose value is missing."""


def set_coverage(
    clf: Any,
    X: object,
    y: object,
    coverage: float = 0.9,
    *,
    by: Hashable = None,
    method: str = "auto",
) -> pd.DataFrame:
    """Return how often prediction sets hold the true class, and how large they are.

    Arguments and errors are those of `predict_set`; y holds the labels of X, rows that were not
    fitted. Rows without one are ignored, and a class unknown to the fit is in no set.

    Returns:
        DataFrame, one line for all rows, "(all)", and one for each class, or, where by= names a
        column, for each of its values, by name. Columns are rows;
        coverage, the share of sets that hold the true class; lower and upper, its 95 % interval
        (Clopper and Pearson 1934, of this fit); size, the mean number of classes in a set;
        singletons and empty, the shares of sets of one and of no class; method, which ran.

    Examples:
        >>> import bayesgen as bg
        >>> X, y = bg.datasets.load_iris()
        >>> clf = bg.LDA().fit(X[::2], y[::2])
        >>> found = bg.calibrate.set_coverage(clf, X[1::2], y[1::2], method="full")
        >>> int(found.rows.iloc[0]), float(found.coverage.iloc[0]), found.method.iloc[0]
        (75, 0.92, 'full')
    """
    require_same_order(X, y=y)
    target, fitted = read_target(y, silent=True), clf.classes_.tolist()
    sets, ran = clf.predict_set(X, coverage, by=by, method=method, return_method=True)
    if len(target.codes) != len(sets):
        raise wrong_length(len(target.codes), len(sets))
    lines: dict[object, dict] = {}
    covered, labeled = np.zeros(len(sets), dtype=bool), target.codes >= 0
    for code, label in enumerate(target.classes.tolist()):
        rows = target.codes == code
        covered[rows] = sets[rows, fitted.index(label)] if label in fitted else False
        lines[label] = _line(covered[rows], sets[rows])
    name = "class"
    if by not in (None, "class"):
        name, values = by, _values(X, by)
        kept = {value: labeled & (values == value) for value in pd.unique(values[labeled])}
        lines = {value: _line(covered[rows], sets[rows]) for value, rows in kept.items()}
    lines = {ALL: _line(covered[labeled], sets[labeled]), **lines}
    return pd.DataFrame(lines.values(), index=pd.Index(lines, name=name)).assign(method=ran)


def _values(X: object, name: Hashable) -> np.ndarray:
    """Return the cells of a column, of which missing ones are one more value."""
    columns = {column.name: column for column in read_table(X, only=[cast(Name, name)]).columns}
    column = columns[cast(Name, name)]
    cells = column.values.astype(object)
    if column.kind == "level":
        cells = np.array([*column.levels, None], dtype=object)[column.values]
    return np.where(column.missing, MISSING, cells)


def _line(covered: Bool[np.ndarray, " row"], sets: Bool[np.ndarray, "row class"]) -> dict:
    n, hits, tail = len(covered), int(covered.sum()), (1 - LEVEL) / 2
    size = sets.sum(axis=1)
    return {
        "rows": n,
        "coverage": hits / n if n else np.nan,
        "lower": float(betaincinv(hits, n - hits + 1, tail)) if hits else 0.0,
        "upper": float(betaincinv(hits + 1, n - hits, 1 - tail)) if hits < n else 1.0,
        "size": size.mean() if n else np.nan,
        "singletons": (size == 1).mean() if n else np.nan,
        "empty": (size == 0).mean() if n else np.nan,
    }


def set_size(
    y_true: object, proba: object, classes: Classes = None, *, coverage: float = 0.9
) -> float:
    """Return the mean size of the smallest sets that hold the true class of a share of the rows.

    Sets are those of `predict_set(method="left_out")` with probabilities of rows that were not
    fitted in place of left-out ones, so that those of any classifiers can be compared.

    Args:
        y_true: labels, shape (row,), or shares of each class, shape (row, class): a row then
            counts in each class by its share.
        proba: class probabilities, shape (row, class).
        classes: the class of each column of proba, `clf.classes_`; None: the labels, sorted.
        coverage: above 0 and below 1; InvalidArgument if it is not.

    Examples:
        >>> import numpy as np
        >>> from bayesgen.calibrate import set_size
        >>> p = np.array([[0.9, 0.1], [0.8, 0.2], [0.6, 0.4], [0.3, 0.7]])
        >>> y = ["no", "no", "yes", "yes"]
        >>> set_size(y, p, coverage=0.6), set_size(y, p)
        (0.75, 2.0)
    """
    coverage = arguments.share("coverage", coverage)
    y, probability = read(y_true, proba, classes)
    with np.errstate(divide="ignore"):
        logs = np.log(probability)
    entries = Entries.of(y, np.ones(len(y)))
    groups = Groups(np.zeros_like(entries.row), np.zeros(probability.shape, dtype=int))
    scores = odds(logs[entries.row], entries.code)
    found = left_out_p_values(scores, entries.weight, logs, groups)
    return float(in_set(found, coverage).sum(axis=1).mean())
