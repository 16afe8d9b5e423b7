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

import numpy as np
from jaxtyping import Float

from bayesgen.likelihoods.normal_statistics import NormalStatistics

ROUNDING = 1e-12
"""Share of a class below which a level has no row in it: what subtracting its rows leaves."""

Variables = tuple[int, ...]
"""Of each column of a block the variable that it is an indicator of, -1: of none; (): of none."""


def guess_of_levels(
    variance: Float[np.ndarray, "*lead level"], n_levels: np.ndarray | int
) -> Float[np.ndarray, "*lead indicator indicator"]:
    """Return the guess above at the indicators of all levels but the first.

    n_levels: number of levels with rows, (*lead,).
    """
    k = np.maximum(n_levels, 1)[..., None, None]
    total, v = variance.sum(axis=-1)[..., None, None], variance[..., 1:]
    own = v[..., None] + total / k
    return np.eye(v.shape[-1]) * own - (v[..., None] + v[..., None, :]) / k


def independent_levels(
    covariance: Float[np.ndarray, "indicator indicator"],
) -> Float[np.ndarray, "indicator indicator"]:
    """Return the guess that the variances in a covariance of the indicators of a variable give.

    That of the level without an indicator, which is 1 minus all others, is the sum of all entries.
    """
    variance = np.concatenate([[covariance.sum()], covariance.diagonal()])
    return guess_of_levels(variance, np.array(len(variance)))


def siblings(variables: Variables) -> list[np.ndarray]:
    """Return the positions of the indicators of each variable."""
    found: dict[int, list[int]] = {}
    for position, variable in enumerate(variables):
        if variable >= 0:
            found.setdefault(variable, []).append(position)
    return [np.array(positions) for positions in found.values()]


@dataclasses.dataclass(frozen=True, eq=False)
class Levels:
    """The levels of one variable, the one without an indicator first.

    at: positions of the indicators of the others. present: whether a level has rows, (*lead, 1 +
    indicator). variance: of every indicator within classes, 0 of levels without rows.
    """

    at: np.ndarray
    present: np.ndarray
    variance: np.ndarray

    @classmethod
    def of(cls, at: np.ndarray, columns: NormalStatistics) -> "Levels":
        """Return the levels of the indicators at some positions of columns of 0 and 1.

        As of any column the variance is that within classes, or that of all rows where it is 0.
        """
        count = columns.count[..., at[:1]]
        share = columns.mean[..., at]
        share = np.concatenate([1 - share.sum(axis=-1, keepdims=True), share], axis=-1)
        share = np.where(share < ROUNDING, 0.0, np.where(share > 1 - ROUNDING, 1.0, share))
        n = count.sum(axis=-2)
        safe = np.where(n > 0, n, 1.0)
        within = (count * share * (1 - share)).sum(axis=-2) / safe
        overall = (count * share).sum(axis=-2) / safe
        overall = np.where(overall > 1 - ROUNDING, 1.0, overall)
        variance = np.where(within > 0, within, overall * (1 - overall))
        return cls(at, variance > 0, variance)

    @property
    def read(self) -> np.ndarray:
        """Which indicators a normal reads, (*lead, indicator): of all levels with rows but one."""
        first = self.present & (np.cumsum(self.present, axis=-1) == 1)
        return (self.present & ~first)[..., 1:]

    def covariance(self, variance: np.ndarray | float | None = None) -> np.ndarray:
        """Return the guess above at the indicators, (*lead, indicator, indicator).

        NaN on the diagonal of indicators that are not read, 0 beside it.

        variance: of every indicator; None: those within classes.
        """
        v = np.where(self.present, self.variance if variance is None else variance, 0.0)
        out = guess_of_levels(v, self.present.sum(axis=-1))
        out = np.where(self.read[..., None] & self.read[..., None, :], out, 0.0)
        diagonal = np.arange(out.shape[-1])
        out[..., diagonal, diagonal] += np.where(self.read, 0.0, np.nan)
        return out

    @property
    def smoothed(self) -> np.ndarray:
        """The covariance of all indicators, also where levels have no rows or do not vary."""
        k = self.variance.shape[-1]
        even = np.where(self.variance.any(axis=-1, keepdims=True), self.variance, 1 / k)
        return guess_of_levels(even, np.array(k))

    @property
    def lost(self) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
        """Positions of the indicators and codes of the levels with rows, if some have none."""
        if self.present.ndim > 1 or self.present.all() or not self.present.any():
            return None
        return tuple(self.at.tolist()), tuple(np.flatnonzero(self.present).tolist())


def with_levels(
    scale: Float[np.ndarray, "*lead feature feature"],
    levels: list[Levels],
    variance: float | None = None,
) -> Float[np.ndarray, "*lead feature feature"]:
    """Return a diagonal guess with that of indicators (formula above) in place of theirs.

    variance: of every indicator; None: those within classes.
    """
    blocks = [each.covariance(variance) for each in levels]
    lead = np.broadcast_shapes(scale.shape[:-2], *(block.shape[:-2] for block in blocks))
    out = np.array(np.broadcast_to(scale, (*lead, *scale.shape[-2:])))
    for each, block in zip(levels, blocks, strict=True):
        out[..., each.at[:, None], each.at] = block
    return out


def with_first_levels(variables: Variables, n_columns: int) -> Float[np.ndarray, "all column"]:
    """Return the matrix from deviations of columns to these and those of levels without one."""
    rows = [np.eye(n_columns)]
    for at in siblings(variables):
        rows.append(-np.isin(np.arange(n_columns), at).astype(float)[None])
    return np.concatenate(rows)


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
