r"""Normals of indicators: the prior that does not depend on which level has no indicator.

The K indicators of the levels of a variable sum to 1, so their covariance is singular and a normal
reads K - 1 of them. Normals and inverse Wisharts are affine equivariant: whichever level has no
indicator, predictives are the same if the guess is. A diagonal one is not: with the variances v
within classes, diag(v) of all indicators but one is another guess for each level left out. The
guess is the mean of these, a covariance of all K indicators whose rows sum to 0:

    v_i + V / K - 2 v_i / K on the diagonal,  -(v_i + v_j) / K beside it,  V = sum(v).

Of two levels it is v, the guess for one column of 0 and 1. Renaming or reordering levels permutes
its rows and columns, and changes nothing else. The same is done to one number for all variances.
"""

import dataclasses
import functools

import numpy as np
from jaxtyping import Bool, Float

from bayesgen.likelihoods.normal_statistics import NormalStatistics

ROUNDING = 1e-12
"""Share of a class below which a level has no row in it: what subtracting its rows leaves."""

Variables = tuple[int, ...]
"""Of each column of a block the variable that it is an indicator of, -1: of none; (): of none."""


def guess_of_levels(
    variance: Float[np.ndarray, "*lead indicator"],
    first: Float[np.ndarray, "*lead variable"],
    n_levels: np.ndarray,
    member: Bool[np.ndarray, "indicator variable"],
) -> Float[np.ndarray, "*lead indicator indicator"]:
    """Return the guess above at the indicators of several variables, 0 between two of these.

    Args:
        variance: of each indicator.
        first: of the level of each variable that has no indicator.
        n_levels: of each variable with its first one, (*lead, variable).
        member: of which variable each is an indicator.
    """
    one = member.astype(float)
    per_level = 1 / np.maximum(n_levels, 1)
    total = (variance @ one + first) * per_level
    own, share = variance + total @ one.T, per_level @ one.T
    pairs = -(variance[..., None] + variance[..., None, :]) * share[..., None] * (one @ one.T)
    diagonal = np.arange(len(member))
    pairs[..., diagonal, diagonal] += own
    return pairs


def independent_levels(
    covariance: Float[np.ndarray, "indicator indicator"], variables: Variables
) -> Float[np.ndarray, "indicator indicator"]:
    """Return the guess that the variances in a covariance of indicators give.

    That of a level without an indicator, which is 1 minus all others, is the sum of their entries.
    """
    member = members(variables)
    one = member.astype(float)
    first = np.diagonal(one.T @ covariance @ one)
    return guess_of_levels(covariance.diagonal(), first, 1 + member.sum(axis=0), member)


def members(variables: Variables) -> Bool[np.ndarray, "indicator variable"]:
    """Return of which variable each indicator is, without the columns that are none."""
    numbers = np.array([variable for variable in variables if variable >= 0], dtype=int)
    return numbers[:, None] == np.unique(numbers)


def siblings(variables: Variables) -> list[np.ndarray]:
    """Return the positions of the indicators of each variable."""
    found: dict[int, list[int]] = {}
    for position, variable in enumerate(variables):
        if variable >= 0:
            found.setdefault(variable, []).append(position)
    return [np.array(positions) for positions in found.values()]


@dataclasses.dataclass(frozen=True, eq=False)
class Levels:
    """The levels of the variables of a block, each of which has one level without an indicator.

    at: positions of the indicators. member: of which variable each is. variance: of each within
    classes, (*lead, indicator), 0 of levels without rows; first: of the levels without one, (*lead,
    variable).
    """

    at: np.ndarray
    member: np.ndarray
    variance: np.ndarray
    first: np.ndarray

    @classmethod
    def of(cls, variables: Variables, columns: NormalStatistics) -> "Levels":
        """Return the levels of the indicators among some columns.

        As of any column the variance is that within classes, or that of all rows where it is 0.
        """
        at = np.flatnonzero(np.array(variables) >= 0)
        member = members(variables)
        share, count = columns.mean[..., at], columns.count[..., at]
        some = np.argmax(member, axis=0)
        share = np.concatenate([share, 1 - share @ member], axis=-1)
        count = np.concatenate([count, count[..., some]], axis=-1)
        share = np.where(share < ROUNDING, 0.0, np.where(share > 1 - ROUNDING, 1.0, share))
        n = count.sum(axis=-2)
        safe = np.where(n > 0, n, 1.0)
        within = (count * share * (1 - share)).sum(axis=-2) / safe
        overall = (count * share).sum(axis=-2) / safe
        overall = np.where(overall > 1 - ROUNDING, 1.0, overall)
        variance = np.where(within > 0, within, overall * (1 - overall))
        return cls(at, member, variance[..., : len(at)], variance[..., len(at) :])

    @functools.cached_property
    def read(self) -> np.ndarray:
        """Which indicators a normal reads, (*lead, indicator): of all levels with rows but one."""
        present = self.variance > 0
        before = np.tril(self.member @ self.member.T)
        rank = present @ before.T.astype(float)
        lacks_first = ~(self.first > 0) @ self.member.T.astype(float) > 0
        return present & ~(lacks_first & (rank == 1))

    def covariance(self, variance: float | None = None) -> np.ndarray:
        """Return the guess above at the indicators, (*lead, indicator, indicator).

        NaN on the diagonal of indicators that are not read, 0 beside it.

        variance: of every indicator; None: those within classes.
        """
        present, first = self.variance > 0, self.first > 0
        stated = variance is not None
        values = variance * present if stated else self.variance
        firsts = variance * first if stated else self.first
        n_levels = present @ self.member.astype(float) + first
        out = guess_of_levels(values, firsts, n_levels, self.member)
        if not self.read.all():
            out = np.where(self.read[..., None] & self.read[..., None, :], out, 0.0)
            diagonal = np.arange(out.shape[-1])
            out[..., diagonal, diagonal] += np.where(self.read, 0.0, np.nan)
        return out

    @property
    def smoothed(self) -> np.ndarray:
        """The covariance of all indicators, also where levels have no rows or do not vary."""
        size = 1 + self.member.sum(axis=0)
        still = self.variance @ self.member.astype(float) + self.first == 0
        variance = np.where(still @ self.member.T.astype(float) > 0, 0.25, self.variance)
        return guess_of_levels(variance, np.where(still, 0.25, self.first), size, self.member)

    @property
    def lost(self) -> tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]:
        """Of each variable some levels of which have no rows: its positions, and codes with rows.

        Of none where there are several priors.
        """
        if self.variance.ndim > 1 or ((self.variance > 0).all() and (self.first > 0).all()):
            return ()
        found = []
        for j, some in enumerate(self.member.T):
            present = np.append(self.first[j], self.variance[some]) > 0
            if present.any() and not present.all():
                at = self.at[some].tolist()
                found.append((tuple(at), tuple(np.flatnonzero(present).tolist())))
        return tuple(found)


def with_levels(
    scale: Float[np.ndarray, "*lead feature feature"],
    levels: Levels,
    variance: float | None = None,
) -> Float[np.ndarray, "*lead feature feature"]:
    """Return a diagonal guess with that of indicators (formula above) in place of theirs.

    variance: of every indicator; None: those within classes.
    """
    block = levels.covariance(variance)
    out = np.array(np.broadcast_to(scale, (*block.shape[:-2], *scale.shape[-2:])))
    out[..., levels.at[:, None], levels.at] = block
    return out


@functools.cache
def with_first_levels(variables: Variables) -> Float[np.ndarray, "all column"]:
    """Return the matrix from deviations of columns to these and those of levels without one.

    Of two levels both have the same.
    """
    several = [at for at in siblings(variables) if len(at) > 1]
    first = [-np.isin(np.arange(len(variables)), at).astype(float) for at in several]
    return np.concatenate([np.eye(len(variables)), *(row[None] for row in first)])


def unknown_blank(
    x: Float[np.ndarray, "row feature"], lost: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]
) -> Float[np.ndarray, "row feature"]:
    """Return rows in which levels without rows in the fit are missing.

    Args:
        x: encoded rows.
        lost: of each variable with such levels, positions of its indicators and the codes of all
            other levels, 0 that of the first, which has none.
    """
    out = x
    for at, codes in lost:
        own = x[:, list(at)]
        code = np.where((own == 1).any(axis=1), (own == 1).argmax(axis=1) + 1, 0)
        unknown = np.flatnonzero(~np.isin(code, codes))
        if len(unknown):
            out = out.copy() if out is x else out
            out[np.ix_(unknown, list(at))] = np.nan
    return out
