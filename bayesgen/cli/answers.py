"""Answers of `bayesgen predict`: their columns, and their scores where the classes are known."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from bayesgen.calibrate import accuracy, brier, log_loss
from bayesgen.cli import printing
from bayesgen.errors.wording import rows as in_rows
from bayesgen.sources import Source
from bayesgen.typing import Joint, Labels


def with_target(source: Source, target: str | None, classes: list) -> Source:
    """Return a source in which words such as "None" are classes where the model has them."""
    if target is None:
        return source
    with printing.noted_at_once():
        return source.with_classes(target, [target], classes)


def without(schema: pa.Schema, names: Sequence[str]) -> pa.Schema:
    """Return the schema of the other columns."""
    return pa.schema([field for field in schema if field.name not in names])


def probabilities(rows: pa.Table, classes: list) -> Joint:
    """Return the class probabilities among answers."""
    return np.column_stack([rows.column(f"probability_{label}").to_numpy() for label in classes])


class Scores:
    """Log loss, Brier score and accuracy of answers, added up part by part.

    column: that holds the classes.
    """

    def __init__(self, column: str, classes: np.ndarray) -> None:
        """Begin with no rows of these classes."""
        self.column, self.classes = column, classes.tolist()
        self.codes = {_key(label): code for code, label in enumerate(self.classes)}
        self.n_rows = self.without_class = 0
        self.sums, self.counts = np.zeros(3), np.zeros(len(classes))

    def add(self, rows: pa.Table) -> None:
        """Add answers beside the column of classes."""
        codes = self.codes_of(rows)
        self.counts += np.bincount(codes[codes >= 0], minlength=len(self.classes))
        y, proba = codes[codes >= 0], probabilities(rows, self.classes)[codes >= 0]
        self.without_class += len(codes) - len(y)
        if len(y):
            codes = range(len(self.classes))
            means = np.array([score(y, proba, codes) for score in (log_loss, brier, accuracy)])
            self.sums, self.n_rows = self.sums + len(y) * means, self.n_rows + len(y)

    def codes_of(self, rows: pa.Table) -> Labels:
        """Return the class codes of rows, -1 where their cell is no class of the model."""
        labels = rows.column(self.column).to_pylist()
        return np.array([self.codes.get(_key(label), -1) for label in labels], dtype=int)

    def facts(self) -> dict[str, Any]:
        """Return the means over the scored rows, NaN where there are none."""
        means = (self.sums / self.n_rows).tolist() if self.n_rows else [math.nan] * 3
        return {
            "target": self.column,
            "rows": self.n_rows,
            "without_class": self.without_class,
            **dict(zip(("log_loss", "brier", "accuracy"), means, strict=True)),
        }

    def in_words(self) -> str:
        """Return the scores as a line."""
        if not self.n_rows:
            return f"no row of column {self.column!r} holds a class of the model"
        facts, count = self.facts(), self.without_class
        others = f"; {in_rows(count)} without a class of the model" if count else ""
        return (
            f"against column {self.column!r}: log loss {facts['log_loss']:.3f}, accuracy "
            f"{facts['accuracy']:.1%}, Brier {facts['brier']:.3f} ({in_rows(self.n_rows)}{others})"
        )


def _key(label: object) -> str:
    """Return a label as text that files of any kind have in common: 1, 1.0 and "1" are one."""
    text = str(label).strip()
    if isinstance(label, bool) or text in ("True", "False"):
        return text.lower()
    return text.removesuffix(".0") if isinstance(label, float) else text
