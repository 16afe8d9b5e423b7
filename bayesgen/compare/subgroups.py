"""Subgroups: the rows of each level of a column, which are scored separately."""

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any, cast

import numpy as np
import pandas as pd
from jaxtyping import Bool

from bayesgen.calibrate import overconfidence
from bayesgen.compare.scores import with_errors
from bayesgen.errors import Cure, InvalidArgument
from bayesgen.errors.arguments import not_one_of
from bayesgen.schema import as_numbers
from bayesgen.table import Table, TableColumn, read_table
from bayesgen.typing import Joint, Labels

MOST = 20
"""Levels of a column at most: of more, each has few rows, and one in 20 stands out by chance."""


@dataclasses.dataclass(frozen=True, eq=False)
class Subgroups:
    """Rows by the level of a column.

    name: of the column. labels: of its levels as text, that of missing cells the last. codes: the
    position among them of each row's label, shape (row,).
    """

    name: str
    labels: tuple[str, ...]
    codes: Labels

    @classmethod
    def read(cls, by: object, table: Table, X: object = None) -> "Subgroups":
        """Return the subgroups of a table by a column's name, or by values, shape (row,).

        Subgroups that were read before are returned as they are. X: the table as it came; a Series
        goes by the index of its rows.

        Raises:
            BayesgenError: no such column, not one value for each row, another index, or more than
                20 levels.
        """
        if isinstance(by, Subgroups):
            return by
        column = _column(_in_order(by, X), table)
        codes, levels = column.values, column.levels
        cure = "Merge its levels, or pass a column that has fewer."
        if (numbers := as_numbers(column)).kind == "number":
            codes, levels = pd.factorize(numbers.values, sort=True)
        if column.kind == "number":
            in_X = isinstance(by, str | int)
            cure = "Pass by={name:parts 4}." if in_X else "Pass by=pandas.cut(by, 4)."
        if (count := len(np.unique(codes[codes >= 0]))) > MOST:
            raise InvalidArgument(
                "column {name!r} has {count:,} values; up to {most} can be scored separately.",
                Cure(cure, "Write a coarser column into the file, and name it after --by."),
                name=column.name,
                count=count,
                most=MOST,
            )
        labels, missing = [str(level) for level in levels], "(missing)"
        if column.kind == "number":
            labels = [label.removesuffix(".0") for label in labels]
        elif numbers is not column:  # in their order, as they are written
            first = [int((codes == k).argmax()) for k in range(len(levels))]
            labels = [str(column.levels[column.values[row]]) for row in first]
        while missing in labels:
            missing = f"({missing})"
        codes = np.where(codes < 0, len(labels), codes)
        return cls(str(column.name), (*labels, missing), codes)

    def __iter__(self) -> Iterator[tuple[str, Bool[np.ndarray, " row"]]]:
        """Yield each label that has rows, and which rows these are."""
        for code in np.unique(self.codes).tolist():
            yield self.labels[code], self.codes == code

    def require_others(self, classes: Labels) -> None:
        """Reject the classes themselves: within one, no probability of it can be calibrated.

        Args:
            classes: codes of the rows, -1 where there is none.

        Raises:
            InvalidArgument: levels and classes are the same.
        """
        pairs = set(zip(self.codes[classes >= 0], classes[classes >= 0], strict=True))
        if len({level for level, _ in pairs}) == len({k for _, k in pairs}) == len(pairs):
            raise InvalidArgument(
                "column {name!r} holds the classes, which are no subgroups: in the rows of one "
                "class, no probability of it can be calibrated.",
                Cure(
                    "Leave by out; the confusion table has the accuracy in each class.",
                    "Leave --by out; the confusion table of a report has the accuracy in each "
                    "class.",
                ),
                name=self.name,
            )

    def scores(self, y: Labels, probabilities: Mapping[str, Joint]) -> pd.DataFrame:
        """Return the scores of each classifier in each subgroup; see `Comparison.subgroups`.

        Standard errors are over rows: over five folds, they would have four degrees of freedom.
        """
        lines = {
            (name, label): _scores(y[rows], proba[rows])
            for name, proba in probabilities.items()
            for label, rows in self
        }
        index = pd.MultiIndex.from_tuples(lines, names=["classifier", self.name])
        return pd.DataFrame(list(lines.values()), index=index)


def _in_order(by: object, X: object) -> object:
    """Return values of subgroups in the order of the rows of X, by their index if both have one.

    Raises:
        InvalidArgument: they are of other rows.
    """
    if not isinstance(by, pd.Series) or not isinstance(X, pd.DataFrame):
        return by
    if len(by) != len(X) or by.index.equals(X.index):
        return by
    if by.index.is_unique and X.index.is_unique and X.index.isin(by.index).all():
        return by.reindex(X.index)
    raise InvalidArgument(
        "by has another index than X: its rows cannot be told.",
        "Pass by=by.to_numpy(), if they are in the order of those of X.",
    )


def _column(by: object, table: Table) -> TableColumn:
    if isinstance(by, str | int):
        if by not in table.names:
            raise not_one_of("by", by, list(table.names))
        return table.columns[list(table.names).index(by)]
    shape = np.shape(cast(Any, by))
    if shape != (table.n_rows,):
        raise InvalidArgument(
            "by has the shape {shape}; the name of a column, or one value for each of {rows:rows}, "
            "is needed.",
            "Pass by={name!r}.",
            shape=shape,
            rows=table.n_rows,
            name=table.names[0],
        )
    name = getattr(by, "name", None)
    return read_table(pd.DataFrame({"subgroup" if name is None else name: by})).columns[0]


def _scores(y: Labels, proba: Joint) -> dict[str, float | int]:
    true = proba[np.arange(len(y)), y]
    with np.errstate(divide="ignore", invalid="ignore"):
        brier = (proba**2).sum(axis=1) - 2 * true + 1
        right = (proba.argmax(axis=1) == y).astype(float)
        rows = pd.DataFrame({"log_loss": -np.log(true), "brier": brier, "accuracy": right})
        scores = with_errors(rows.mean(), rows.sem())
    expected = {"expected_accuracy": proba.max(axis=1).mean()}
    z = overconfidence(y, proba, range(proba.shape[1]))
    return {"rows": len(y), **scores, **expected, "overconfidence": z}
