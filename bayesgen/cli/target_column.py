"""The target column of a file: the class of each row, and the rows that have none."""

import dataclasses
import math
from typing import Any

import numpy as np
import pyarrow as pa
from jaxtyping import Shaped

from bayesgen.cli.data_file import DataFile, UnusableData, counted
from bayesgen.cli.options import ALL_COLUMNS, Features
from bayesgen.errors import InvalidSource
from bayesgen.errors.base import listed
from bayesgen.table import is_blank, read_marked_target

LabelledBatch = tuple[pa.Table, Shaped[np.ndarray, " row"]]
"""Features, and one label for each row; None where it has no class."""


@dataclasses.dataclass(frozen=True, eq=False)
class TargetColumn:
    """The column of a file that holds the classes.

    name: of the column. counts: rows of each class. empty: rows whose cell is missing. marked: rows
    of -1 where it marks a row without a class, scikit-learn's mark, and is none itself.
    """

    name: str
    counts: dict[Any, int]
    empty: int
    marked: int

    @classmethod
    def read(cls, file: DataFile, name: str) -> "TargetColumn":
        """Count the labels of a whole file, which decide what -1 means in each of its rows."""
        count: dict[Any, int] = {}
        for part in file.source.parts({name: "any"}):
            for value, size in counted(part.frame.column(name)).items():
                label = None if _is_missing(value) else value
                count[label] = count.get(label, 0) + size
        empty = count.pop(None, 0)
        there = read_marked_target(np.array(list(count)), silent=True).there if count else None
        marked = 0 if there is None else count.pop(-1)
        return cls(name, dict(sorted(count.items())), empty, marked)

    @property
    def without_class(self) -> int:
        """The number of rows without a class."""
        return self.empty + self.marked

    def split(self, rows: pa.Table) -> LabelledBatch:
        """Return the features and the labels of rows."""
        labels, X = rows.column(self.name).to_pylist(), rows.drop_columns(self.name)
        if not self.without_class:
            return X, np.array(labels)
        missing = (_is_missing(label) or (self.marked and label == -1) for label in labels)
        known = [None if out else label for label, out in zip(labels, missing, strict=True)]
        return X, np.array(known, dtype=object)

    def require_classes(self, cure: str = "") -> None:
        """Reject rows without a class.

        cure: a further one.

        Raises:
            UnusableData: with how many there are.
        """
        if self.empty:
            n_rows = sum(self.counts.values()) + self.without_class
            raise UnusableData(
                f"column {self.name!r} is missing in {self.empty:,} of {n_rows:,} rows; every "
                f"row needs a class. Remove these rows from the file, or fill the column.{cure}"
            )
        if self.marked:
            raise UnusableData(
                f"column {self.name!r} holds -1 beside {listed(self.counts)}: -1 marks a row "
                "without a class, and every row needs one. Remove these rows from the file, or, "
                f"if -1 is a class, write it as a word.{cure}"
            )

    def notes(self) -> list[str]:
        """Return a sentence about rows of -1, which might have been meant as a class."""
        if not self.marked:
            return []
        return [
            f"column {self.name!r} holds -1 in {self.marked:,} rows, beside {listed(self.counts)}: "
            "these rows are taken as rows without a class. If -1 is a class, write it as a word; "
            "if not, leave these cells empty."
        ]


@dataclasses.dataclass(frozen=True, eq=False)
class LabelledRows:
    """All rows of a file.

    target: the column that held the classes. X: pyarrow Table of the features. y: one label for
    each row, None where it has no class, shape (row,). groups: that of each row, None where no
    column of groups was named.
    """

    target: TargetColumn
    X: pa.Table
    y: Shaped[np.ndarray, " row"]
    groups: list | None

    @classmethod
    def read(
        cls,
        file: DataFile,
        target: str | None = None,
        groups: str | None = None,
        features: Features = ALL_COLUMNS,
    ) -> "LabelledRows":
        """Return all rows of a file; the column of their groups is not a feature.

        Args:
            file: of rows.
            target: name of the column of classes; None: that of a bundled data set.
            groups: name of the column of groups.
            features: columns to leave out, or to use alone.

        Raises:
            InvalidSource: there are no rows, no column of the groups, or no other column.
        """
        name = file.target(target)
        file = file.with_features(features, name, groups)
        column = TargetColumn.read(file, name)
        tables = [part.frame for part in file.source.parts()]
        if not tables:
            raise InvalidSource.no_rows(file.name)
        X, y = column.split(pa.concat_tables(tables))
        if groups is None:
            return cls(column, X, y, None)
        if groups not in X.column_names:
            raise InvalidSource.no_column(file.name, groups, X.column_names)
        if X.num_columns == 1:
            raise InvalidSource.no_features(file.name, column.name)
        return cls(column, X.drop_columns(groups), y, X.column(groups).to_pylist())


def _is_missing(label: object) -> bool:
    return label is None or is_blank(label) or (isinstance(label, float) and math.isnan(label))
