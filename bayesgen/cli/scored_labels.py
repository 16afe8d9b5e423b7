"""Scores of predictions for a file that also contains the classes."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from bayesgen.calibrate import accuracy, brier, log_loss
from bayesgen.cli.data_file import DataFile

MOST_LABELS = 1000


class ScoredLabels:
    """Log loss, Brier score and accuracy of predictions, added up part by part.

    column: that holds the classes. n_rows: scored. without: rows whose class is missing, or none
    of the model.
    """

    def __init__(self, column: str, classes: Sequence) -> None:
        """Begin with no rows.

        Args:
            column: that holds the classes.
            classes: of the model.
        """
        self.column, self.names = column, [f"probability_{label}" for label in classes]
        self.codes = {_key(label): code for code, label in enumerate(classes)}
        self.n_rows = self.without = 0
        self.sums = np.zeros(3)

    def add(self, rows: pa.Table) -> None:
        """Add predictions beside the column of classes."""
        labels = rows.column(self.column).to_pylist()
        codes = np.array([self.codes.get(_key(label), -1) for label in labels])
        there = codes >= 0
        count = int(there.sum())
        self.without += len(codes) - count
        if count:
            columns = [rows.column(name).to_numpy() for name in self.names]
            y, proba = codes[there], np.column_stack(columns)[there]
            scores = log_loss(y, proba), brier(y, proba), accuracy(y, proba)
            self.sums, self.n_rows = self.sums + count * np.array(scores), self.n_rows + count

    def facts(self) -> dict[str, Any]:
        """Return the means over the scored rows."""
        means = dict.fromkeys(("log_loss", "brier", "accuracy"), math.nan)
        if self.n_rows:
            means = dict(zip(means, (self.sums / self.n_rows).tolist(), strict=True))
        return {"target": self.column, "rows": self.n_rows, "without_class": self.without, **means}

    def in_words(self) -> str:
        """Return the scores as a line."""
        found = self.facts()
        if not self.n_rows:
            return f"no row of column {self.column!r} holds a class of the model"
        rest = f"; {self.without:,} rows without a class of the model" if self.without else ""
        return (
            f"against column {self.column!r}: log loss {found['log_loss']:.3f}, accuracy "
            f"{found['accuracy']:.1%}, Brier {found['brier']:.3f} ({self.n_rows:,} rows{rest})"
        )


def column_of_classes(file: DataFile, classes: Sequence, read: Sequence[str]) -> str | None:
    """Return the one column that holds classes and nothing else in the first rows, if there is.

    Args:
        file: to predict.
        classes: of the model.
        read: columns that are features of the model.
    """
    others = [name for name in file.column_names if name not in read]
    part = next(file.source.parts(dict.fromkeys(others, "text")), None) if others else None
    if part is None:
        return None
    known, found = {_key(label) for label in classes}, []
    for name in others:
        values = pa.table(part.frame).column(name).unique().drop_null()
        if 0 < len(values) <= MOST_LABELS and {_key(v) for v in values.to_pylist()} <= known:
            found.append(name)
    return found[0] if len(found) == 1 else None


def _key(label: object) -> str:
    """Return a label as text that files of any kind have in common: 1, 1.0 and "1" are one."""
    text = str(label).strip()
    if isinstance(label, bool) or text in ("True", "False"):
        return text.lower()
    return text.removesuffix(".0") if isinstance(label, float) else text
