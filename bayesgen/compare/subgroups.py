"""Subgroups: the rows of each level of a column, which are scored apart."""

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
    def read(cls, by: object, table: Table) -> "Subgroups":
        """Return the subgroups of a table by a column's name, or by values, shape (row,).

        Subgroups that were read before are returned as they are.

        Raises:
            BayesgenError: no such column, not one value for each row, or more than 20 levels.
        """
        if isinstance(by, Subgroups):
            return by
        column = _column(by, table)
        codes, levels = column.values, column.levels
        cure = "Merge its levels, or pass a column that has fewer."
        if column.kind == "number":
            codes, levels = pd.factorize(column.values, sort=True)
            cure = "Pass by=pandas.cut(X[{name!r}], 4)."
        if (count := len(np.unique(codes[codes >= 0]))) > MOST:
            raise InvalidArgument(
                "column {name!r} has {count:,} values; up to {most} can be scored apart.",
                Cure(cure, "Write a coarser column into the file, and name it after --by."),
                name=column.name,
                count=count,
                most=MOST,
            )
        labels, missing = [str(level).removesuffix(".0") for level in levels], "(missing)"
        while missing in labels:
            missing = f"({missing})"
        codes = np.where(codes < 0, len(labels), codes)
        return cls(str(column.name), (*labels, missing), codes)

    def __iter__(self) -> Iterator[tuple[str, Bool[np.ndarray, " row"]]]:
        """Yield each label that has rows, and which rows these are."""
        for code in np.unique(self.codes).tolist():
            yield self.labels[code], self.codes == code

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
    return {"rows": len(y), **scores, **expected, "overconfidence": overconfidence(y, proba)}
