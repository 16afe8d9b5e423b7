"""Columns of two levels as 0 and 1."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Float

from bayesgen.errors import Cure, InvalidData, UnsupportedOperation
from bayesgen.errors.data import not_binary
from bayesgen.schema.readings.levels import level_codes, levels_of_codes
from bayesgen.schema.readings.reading import Reading, Readings
from bayesgen.table import Name, TableColumn


@dataclass(frozen=True)
class Binary(Reading):
    """A column of booleans, of the numbers 0 and 1, or of declared categories of two levels.

    levels: the one that counts as 0 first; () of numbers.
    """

    kind: ClassVar[str] = "binary"

    name: Name
    levels: tuple = ()

    @property
    def declared(self) -> bool:
        """Whether the dtype of the column names the levels."""
        return bool(self.levels)

    @classmethod
    def learn(cls, found: TableColumn) -> Readings:
        """Return the column.

        Raises:
            InvalidData: it holds levels that are not two, or not declared.
        """
        if found.kind == "number":
            return (cls(found.name),)
        if len(found.levels) != 2 or not found.declared:
            raise InvalidData(
                "column {column!r} holds {levels:len} levels, {levels:listed}; Bernoulli takes "
                "booleans, the numbers 0 and 1, and declared categories of two levels.",
                "Use Categorical: {column:by Categorical}.",
                column=found.name,
                levels=found.levels,
            )
        numeric = all(isinstance(level, bool | int | float) for level in found.levels)
        return (cls(found.name, tuple(sorted(found.levels)) if numeric else found.levels),)

    def united(self, other: Reading) -> Readings:
        """Raise: they differ."""
        raise UnsupportedOperation(
            "column {column!r} holds 0 and 1 as the levels {one:listed} in one classifier and "
            "{other:listed} in the other.",
            Cure(
                "Declare them in the same order in both: pandas.CategoricalDtype([{one:listed}]) "
                "or polars.Enum([{one:listed}]).",
                "Fit both to files that hold all levels.",
            ),
            column=self.name,
            one=self.levels,
            other=other.levels,
        )

    def encode(self, found: TableColumn, unseen: str = "missing") -> Float[np.ndarray, " row"]:
        """Return cells as 0.0 and 1.0, NaN = missing.

        Raises:
            InvalidData: a number is neither 0 nor 1; a level absent from the fit, if unseen is
                "error".
        """
        levels = self.levels or (False, True)
        if found.kind == "number" and set(levels) == {0, 1}:
            values = found.values
            strange = ~((values == 0) | (values == 1) | np.isnan(values))
            if strange.any():
                raise not_binary(found.name, float(values[strange.argmax()]))
            return values.astype(float, copy=False)
        codes = level_codes(levels, found, unseen)
        return np.where(codes < 0, np.nan, codes)

    def decode(self, cells: Float[np.ndarray, " row"]) -> np.ndarray:
        """Return 0 and 1, or the levels that count as these."""
        if not self.levels:
            return cells
        return levels_of_codes(self.levels, np.where(np.isnan(cells), -1, cells))
