"""Terms: parts of a log-linear pool that read several columns at once."""

import abc
import dataclasses
from collections.abc import Callable, Mapping
from typing import TypeVar

import numpy as np
from jaxtyping import Float

from bayesgen.likelihoods.base import Arrays
from bayesgen.typing import Encoded, Joint, Membership, Weights

T = TypeVar("T", bound="Term")

SCALE = 0.8
"""Prior standard deviation of the weight of a term in a log-linear pool, around 0. With .4 the log
loss was higher by .003 to .007 on XOR of two numbers, 300 rows (standard error .001), by .003 on
glass (.002), by .001 on pairs of levels, 500 rows (.0006); lower by .001 on pima_te (.0004). With
1.6 it was the same within .001."""


@dataclasses.dataclass(frozen=True)
class Cell:
    """Where encoded rows have a column: its block, its position there, its number of levels.

    levels: 0 of a column of numbers. codes: those of the levels, where declared ones have no row: a
    term knows nothing of these, as of a missing cell; () if every level has rows.
    """

    block: str
    position: int
    levels: int
    codes: tuple[int, ...] = ()

    @classmethod
    def seen(cls, block: str, position: int, levels: int, encoded: Encoded) -> "Cell":
        """Return the cell of a column, with those of its levels that some row has."""
        codes = np.unique(encoded[block][:, position]) if levels else np.empty(0)
        codes = codes[codes >= 0].tolist()
        if len(codes) in (0, levels):
            return cls(block, position, levels)
        return cls(block, position, len(codes), tuple(codes))

    def of(self, encoded: Encoded) -> np.ndarray:
        """Return the cells of rows, shape (row,): numbers, or codes of levels, from 0."""
        x = encoded[self.block][:, self.position]
        if not self.codes:
            return x
        codes = np.array(self.codes)
        place = np.minimum(np.searchsorted(codes, x), len(codes) - 1)
        return np.where(codes[place] == x, place, -1)


class Term(Arrays, abc.ABC):
    """What several columns of a row say of its class, beyond what each says alone.

    A term is no density of rows: it gives log p(x given y = k) up to a constant of the row, which
    is all that a log-linear pool asks of its parts. Cells that are missing are summed over.
    """

    @property
    @abc.abstractmethod
    def title(self) -> str:
        """Its name beside the members of a stack."""

    @abc.abstractmethod
    def log_density(self, encoded: Encoded) -> Joint:
        """Return log p(x given y = k) up to a constant of the row, shape (row, class)."""

    @abc.abstractmethod
    def left_out(self, encoded: Encoded, y: Membership, away: Weights) -> Joint:
        """Return the same for rows of the fit, each without itself.

        Args:
            encoded: rows; those that are not among the rows of the fit have `log_density`.
            y: their class codes, or shares of the classes.
            away: the part of its weight that a row loses, in all of its classes.
        """

    @abc.abstractmethod
    def draws(
        self, rng: np.random.Generator, n: int
    ) -> Callable[[Encoded], Float[np.ndarray, "row class draw"]]:
        """Return rows -> the log density given each of n draws of the parameters."""

    def shifted(self: T, origin: Mapping[str, np.ndarray]) -> T:
        """Return the term of x + origin when this one is of x; origin: by block."""
        return self
