"""Leave-one-out scores of a fit, compared with those of the class frequencies."""

import dataclasses
from typing import Any

import numpy as np
import pyarrow as pa

from bayesgen.cli.data_file import DataFile
from bayesgen.cli.target_column import TargetColumn
from bayesgen.errors import BayesgenError
from bayesgen.estimators.classifier import Classifier
from bayesgen.estimators.judged_rows import ROWS_JUDGED
from bayesgen.table import read_table

MOST_ROWS = 20_000
"""Rows that are left out, each in turn: of more, every second, third, ... one."""


@dataclasses.dataclass(frozen=True)
class LeftOutScores:
    """Mean log loss (nats) and accuracy of rows, each predicted from all others.

    rows: how many were left out. frequencies: the same of the class frequencies alone.
    """

    log_loss: float
    accuracy: float
    rows: int
    frequencies_log_loss: float
    frequencies_accuracy: float

    @classmethod
    def of(
        cls, classifier: Classifier, file: DataFile, column: TargetColumn
    ) -> "LeftOutScores | None":
        """Return the scores of a classifier that was just fitted; None: it has no closed form."""
        found = _of_stack(classifier) or _of_closed_form(classifier, file, column)
        if found is None:
            return None
        labels = classifier.classes_.tolist()
        counts = np.array([column.counts.get(label, 0) for label in labels])
        # the others, and one more of each class, as the default prior of the classes has it
        share = counts / (counts.sum() - 1 + len(counts))
        return cls(
            *found,
            frequencies_log_loss=float(-(np.log(share) * counts).sum() / counts.sum()),
            frequencies_accuracy=float(counts.max() / counts.sum()),
        )

    def facts(self) -> dict[str, Any]:
        """Return the scores by name."""
        return dataclasses.asdict(self)

    def in_words(self) -> str:
        """Return the scores as a line."""
        return (
            f"log loss {self.log_loss:.3f}, accuracy {self.accuracy:.1%}; class frequencies: "
            f"{self.frequencies_log_loss:.3f}, {self.frequencies_accuracy:.1%}"
        )


def _of_stack(classifier: Classifier) -> tuple[float, float, int] | None:
    """Return log loss, accuracy and rows that a stack has found when it was fitted."""
    details = classifier.report_.details
    if "leave-one-out accuracy" not in details:
        return None
    scores = details["leave-one-out log loss"], details["leave-one-out accuracy"]
    return *scores, int(details[ROWS_JUDGED])


def _of_closed_form(
    classifier: Classifier, file: DataFile, column: TargetColumn
) -> tuple[float, float, int] | None:
    """Return log loss, accuracy and rows of a posterior from which rows can be subtracted."""
    if classifier.inference_ != "exact" or column.without_class:
        return None
    state, posterior = classifier.state_, classifier.posterior_
    X, y = _some_rows(file, column)
    codes = np.searchsorted(classifier.classes_, y)
    encoded = state.schema.encode(read_table(X), classifier.unseen)
    ones = np.ones(len(codes))
    try:
        scores = state.leave_one_out(
            classifier.class_prior, posterior.reader, encoded, codes, ones, ones
        )
    except BayesgenError:  # a class is too small to lose a row
        return None
    log_proba = posterior.log_proba(scores)
    loss = -log_proba[np.arange(len(codes)), codes].mean()
    return float(loss), float((log_proba.argmax(axis=1) == codes).mean()), len(codes)


def _some_rows(file: DataFile, column: TargetColumn) -> tuple[pa.Table, np.ndarray]:
    """Return at most MOST_ROWS rows, evenly spread over the file."""
    step = -(-sum(column.counts.values()) // MOST_ROWS)
    tables, start = [], 0
    for part in file.source.parts():
        rows = pa.table(part.frame)
        tables.append(rows.take(np.arange(-start % step, len(rows), step)))
        start += len(rows)
    return column.split(pa.concat_tables(tables))
