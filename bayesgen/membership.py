"""Membership of rows in classes: a class code for each, or its shares of several classes.

A row that belongs to classes in part is several entries, one for each class, of the row's weight
times its share. Its statistics are the sums over entries, its log score is the expected one,
sum_k share_k log P(y = k), and where a row is left out, so are all of its entries.
"""

import dataclasses
from collections.abc import Iterator, Sequence

import numpy as np
from jaxtyping import Float, Int

from bayesgen.typing import Joint, Labels, Membership, Traceable, Weights


@dataclasses.dataclass(frozen=True, eq=False)
class Entries:
    """Rows in one class each. row: position of each; code: its class; weight: in this class."""

    row: Int[np.ndarray, " entry"]
    code: Int[np.ndarray, " entry"]
    weight: Float[np.ndarray, " entry"]

    @classmethod
    def of(cls, y: Membership, weight: Weights) -> "Entries":
        """Return the entries of rows, row by row."""
        if y.ndim == 1:
            return cls(np.arange(len(y)), y, weight)
        row, code = np.nonzero(y)
        return cls(row, code, weight[row] * y[row, code])

    def of_rows(self, x: Traceable) -> Traceable:
        """Return the rows of the entries of one turn: x itself, uncopied, where these are all."""
        return x if len(self.row) == x.shape[0] else x[self.row]

    @classmethod
    def in_turn(cls, y: Membership, weight: Weights) -> "Iterator[Entries]":
        """Yield the entries of the largest share of every row, then those of the second, ..."""
        if y.ndim == 1:
            yield cls.of(y, weight)
            return
        for codes in np.argsort(-y, axis=1, kind="stable").T:
            share = y[np.arange(len(y)), codes]
            row = np.flatnonzero(share)
            if len(row):
                yield cls(row, codes[row], weight[row] * share[row])


def shares_of(y: Membership, n_classes: int) -> Joint:
    """Return the share of each row in each class."""
    return y if y.ndim == 2 else (y[:, None] == np.arange(n_classes)).astype(float)


def among(
    y: Labels | Float[np.ndarray, "row own"], place: Int[np.ndarray, " own"], n_classes: int
) -> Membership:
    """Return membership in more classes, given the place among them of each that y has.

    A row without a label keeps its code of -1, or its shares of 0.
    """
    if y.ndim == 1:
        return np.append(place, -1)[y]
    out = np.zeros((len(y), n_classes))
    out[:, place] = y
    return out


def concatenated(parts: Sequence[np.ndarray], n_classes: int) -> Membership:
    """Return the codes of several calls, or the shares where some are shares."""
    if len({part.ndim for part in parts}) > 1:
        parts = [shares_of(part, n_classes) for part in parts]
    return np.concatenate(parts)


def codes_of(y: Membership) -> Labels:
    """Return the class of the largest share of each row."""
    return y if y.ndim == 1 else y.argmax(axis=1)


def expected(
    log_proba: Float[np.ndarray, "*leading row class"], y: Membership
) -> Float[np.ndarray, "*leading row"]:
    """Return sum_k share_k log P(y = k) of rows: of a single class log P of that."""
    if y.ndim == 1:
        return log_proba[..., np.arange(len(y)), y]
    return (np.where(y > 0, log_proba, 0.0) * y).sum(axis=-1)
