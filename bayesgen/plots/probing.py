"""Rows for plotting marginals: some columns set, all others missing and so integrated out."""

from collections.abc import Mapping

import numpy as np
from jaxtyping import Float, Shaped

from bayesgen.errors.data import unknown_columns
from bayesgen.plots.fitted import FittedClassifier
from bayesgen.table import Name, Table, TableColumn, build_frame, read_target, require_same_order
from bayesgen.typing import Joint


def labels(X: object, y: object) -> Shaped[np.ndarray, " row"]:
    """Return the label of each row of X, None without one; InvalidData where y is no labels."""
    require_same_order(X, y=y)
    target = read_target(y, silent=True)
    return np.array([*target.classes.tolist(), None], dtype=object)[target.codes]


def named(table: Table, feature: object) -> TableColumn:
    """Return a column by name or by position; InvalidData where there is none."""
    for column in table.columns:
        if column.name == feature:
            return column
    if isinstance(feature, int) and 0 <= feature < len(table.columns):
        return table.columns[feature]
    raise unknown_columns([feature], table.names)


def probe(table: Table, values: Mapping[Name, np.ndarray]) -> object:
    """Return a frame like a table: columns hold `values`, the others nothing.

    values: column name -> numbers, or codes of its levels; all of one length.
    """
    n = len(next(iter(values.values()))) if values else 1
    columns, declared = {}, {}
    for column in table.columns:
        if column.kind == "number":
            columns[column.name] = np.asarray(values.get(column.name, np.full(n, np.nan)), float)
            continue
        cells = np.full(n, None, dtype=object)
        for i, code in enumerate(values.get(column.name, ())):
            cells[i] = column.levels[code]
        columns[column.name] = cells
        if column.declared:
            declared[column.name] = column.levels
    return build_frame(columns, table.container, declared=declared)


def log_class_density(
    clf: FittedClassifier, table: Table, values: Mapping[Name, np.ndarray]
) -> Joint:
    """Return log p(the set columns given y = k, data), shape (row, class), the rest summed out."""
    # the score of a row without observed cells is log P(y = k given data)
    log_prior = clf.predict_joint_log_proba(probe(table, {}))
    return clf.predict_joint_log_proba(probe(table, values)) - log_prior


def span(
    values: Float[np.ndarray, " row"], n: int, *, margin: float = 0.12
) -> Float[np.ndarray, " point"]:
    """Return n points over the observed values and a margin on both sides."""
    low, high = np.nanmin(values), np.nanmax(values)
    room = margin * (high - low) if high > low else 1.0
    return np.linspace(low - room, high + room, n)
