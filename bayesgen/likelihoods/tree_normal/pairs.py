"""Normal-inverse-Wishart evidences and predictives of pairs of columns.

A pair has mean given Sigma ~ N(mean, Sigma / mean_rows) and Sigma ~ inverse-Wishart(1 + rows,
rows diag(variance)), which implies the prior of `Normal` for either column. With n rows that show
both, mean_rows and rows grow by n and the matrix rows diag(variance) becomes psi.

Source: Gelman et al., Bayesian Data Analysis (3rd ed.), section 3.6; the conditional of a column
given the other follows by completing squares: t with rows + 1 degrees of freedom.
"""

import dataclasses

import numpy as np
from jaxtyping import Float

from bayesgen.likelihoods.normal_densities import log_student_t
from bayesgen.likelihoods.special_functions import log_rising_factorial

SMALLEST = 1e-15
"""Least share of a column's variance that another leaves: what rounding leaves of 1 - 1."""

Table = Float[np.ndarray, "*batch class feature feature"]


@dataclasses.dataclass(frozen=True, eq=False)
class Pairs:
    """Updated hyperparameters of all pairs, (..., class, feature, feature), laid out alike.

    mean_rows, rows: prior strengths. mean[i, j], psi[i, j]: of column j in the pair with i. phi[i,
    j]: off the diagonal of that pair's matrix. On the diagonal stand those of single columns.
    """

    mean_rows: Table
    rows: Table
    mean: Table
    psi: Table
    phi: Table

    def left(self) -> Table:
        """Return the share of a column's variance that the other of the pair leaves, symmetric."""
        # divided first: squares of phi overflow or underflow where psi itself does not
        together = (self.phi / self.psi) * (self.phi / np.swapaxes(self.psi, -1, -2))
        return np.maximum(1 - together, SMALLEST)

    def single(self, name: str) -> Float[np.ndarray, "*batch class feature"]:
        """Return one hyperparameter of single columns."""
        return np.diagonal(getattr(self, name), axis1=-2, axis2=-1)


def updated(
    mean: Float[np.ndarray, "*batch class feature"],
    mean_rows: Float[np.ndarray, "*batch class"],
    variance: Float[np.ndarray, "*batch class feature"],
    rows: Float[np.ndarray, "*batch class"],
    seen: tuple[Table, Table, Table, Table],
) -> Pairs:
    """Return the hyperparameters after rows with count, centre, square and cross `seen`."""
    count, centre, square, cross = seen
    worth = mean_rows[..., None, None] + count
    delta = centre - mean[..., None, :]
    share = count / worth
    between = mean_rows[..., None, None] * share * delta
    guess = (rows[..., None] * variance)[..., None, :]
    return Pairs(
        worth,
        rows[..., None, None] + count,
        mean[..., None, :] + share * delta,
        guess + square + between * delta,
        cross + between * np.swapaxes(delta, -1, -2),
    )


def log_columns(before: Pairs, after: Pairs) -> Float[np.ndarray, "*batch class"]:
    """Return the log evidence of each column by itself, summed."""
    (kappa, k), (nu, n) = (_both(before, after, name) for name in ("mean_rows", "rows"))
    old, new = _both(before, after, "psi")
    logs = 0.5 * np.log(kappa / k) - 0.5 * (n - nu) * np.log(np.pi)
    logs = (
        logs
        + log_rising_factorial(nu / 2, (n - nu) / 2)
        + nu / 2 * np.log(old)
        - n / 2 * np.log(new)
    )
    return logs.sum(axis=-1)


def _both(before: Pairs, after: Pairs, name: str) -> tuple[np.ndarray, np.ndarray]:
    return before.single(name), after.single(name)


def log_ratios(before: Pairs, after: Pairs) -> Table:
    """Return log evidence of each pair minus that of its columns, in rows that show both.

    With r rows, psi_i, psi_j and the share s that one leaves of the other:
    g(r) - (log psi_i + log psi_j) / 2 - (r + 1) / 2 log s, after minus before, where
    g(r) = log Gamma((r + 1) / 2) - log Gamma(r / 2).
    """
    size = np.log(after.psi) - np.log(before.psi)
    power = _gammas(after.rows) - _gammas(before.rows)
    leaves = (after.rows + 1) * np.log(after.left()) - (before.rows + 1) * np.log(before.left())
    found = power - 0.5 * (size + np.swapaxes(size, -1, -2) + leaves)
    # alike both ways to the last bit: next to 1e9 rows a bit in `left` would choose a direction
    return 0.5 * (found + np.swapaxes(found, -1, -2))


def _gammas(rows: np.ndarray) -> np.ndarray:
    return log_rising_factorial(rows / 2, np.array(0.5))


def log_cells(
    x: Float[np.ndarray, "#row #class feature"], after: Pairs, *, half: bool = False
) -> tuple:
    """Return log p(x_v), (row, class, feature), and log p(x_v given x_u) - log p(x_v), [v, u].

    half: only where u < v; the others are 0.
    """
    rows, mean_rows, mean, psi = (
        after.single(name) for name in ("rows", "mean_rows", "mean", "psi")
    )
    alone = log_student_t(x, mean, psi * (1 + 1 / mean_rows) / rows, rows)
    q = x.shape[-1]
    v, u = np.tril_indices(q, -1) if half else np.indices((q, q)).reshape(2, -1)
    # at [v, u] `after` holds the parent's mean and psi, at [u, v] the child's
    off = x[..., u] - after.mean[..., v, u]
    wide = 1 + off**2 / after.psi[..., v, u] + 1 / after.mean_rows[..., v, u]
    centre = after.mean[..., u, v] + (after.phi / after.psi)[..., v, u] * off
    degrees = after.rows[..., v, u] + 1
    scale2 = after.psi[..., u, v] * after.left()[..., v, u] * wide / degrees
    given = log_student_t(x[..., v], centre, scale2, degrees)
    out = np.zeros((*given.shape[:-1], q, q))
    out[..., v, u] = given - alone[..., v]
    return alone, out
