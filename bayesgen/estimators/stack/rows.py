"""Rows as all members of a stack read them."""

import dataclasses
from collections.abc import Callable, Mapping

import numpy as np

from bayesgen import explain
from bayesgen.errors import BayesgenWarning, CountsAsMissing, deduplicate_warnings
from bayesgen.estimators.classifier import Classifier
from bayesgen.estimators.training_rows import TableEncoder
from bayesgen.schema import Column
from bayesgen.table import Name, Table, with_column
from bayesgen.typing import Encoded, Traceable


@dataclasses.dataclass(frozen=True, eq=False)
class StackEncoder:
    """Encoder of tables for all members of a stack; shared encodings are computed once."""

    members: Mapping[str, Classifier]

    def encode(self, table: Table, raw: Callable[[], object]) -> dict[str, Traceable]:
        """Return the rows of a table by "member/block".

        raw: the same rows as they were passed, for programs of the user's own.
        """
        shared, encoded = TableEncoder(table), {}
        with deduplicate_warnings(CountsAsMissing):  # which were warned of when the rows were read
            for name, member in self.members.items():
                own = member._own_table(table, raw, reset=False)
                encoder = shared if own is table else TableEncoder(own)
                kind = type(member).__name__
                rows = encoder.encode(member.state_.schema, member.unseen, kind)
                encoded |= {f"{name}/{block}": x for block, x in rows.items()}
        return encoded


@dataclasses.dataclass(frozen=True, eq=False)
class StackRows(explain.Rows):
    """Rows encoded for all members of a stack, with substitution of column values.

    columns: the encoded positions and kinds of the columns whose cells can be imputed. encoder: of
    the members.
    """

    columns: Mapping[Name, list[tuple[explain.Place, Column]]]
    encoder: StackEncoder

    def places(self, name: Name) -> list[tuple[explain.Place, Column]]:
        """Return the positions where a column can be imputed, with its schema column there."""
        return self.columns[name]

    @property
    def names(self) -> list[Name]:
        """The columns whose cells can be imputed."""
        return list(self.columns)

    def kind(self, name: Name) -> str:
        """Return the kind of a column for integration over its values; counts are simulated."""
        kind = super().kind(name)
        return "numbers" if kind == "counts" else kind

    def values(self, encoded: Encoded, name: Name) -> np.ndarray:
        """Return the cells of a column of imputed rows, in the user's units."""
        return self.decoded_column(encoded, name)

    def with_values(self, rows: np.ndarray, name: Name, values: np.ndarray) -> Encoded:
        """Return some of the encoded rows with other values or level codes in one column."""
        levels: tuple = self.places(name)[0][1].levels or self.listed(name)
        if levels and not any(isinstance(level, str | bool) for level in levels):
            # whole numbers, which other members may read as such
            values, levels = np.array(levels)[values], ()
        own = self.missing()[name][0]
        table = with_column(self.table.take(rows), own, values, levels)
        with deduplicate_warnings(
            BayesgenWarning
        ):  # levels that were not seen at fit have been warned of
            return self.encoder.encode(table, lambda: None)
