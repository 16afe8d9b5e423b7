r"""Misfit: by how much the log-odds of a model differ from the truth, from rows left out.

The difference f is a function of the columns, centered, main effects and products of two:

    f ~ GP(0, s K),  K(x, x') = sum_j k_j + sum_{i < j} k_i k_j,  k_j(x, x') = [x_j = x'_j] / p - 1,

with p the fraction of the level x_j; numbers are cut at their terciles. Residuals r of left-out
rows, labels minus probabilities, then have E r_i r_j = c(v) v_i v_j s K_ij to first order, so that
the variance v of f is estimated without bias by sums over pairs of rows (a score test of a random
effect), whatever products f is made of. c(v) = 1 / (1 + pi v / 8) is what the logistic function
loses when its argument has variance v. The posterior of v, a normal times a half-normal prior of
the standard deviation, is on a grid.

n rows leave v / (1 + v h / D) of it unknown: D functions, of which each has variance v / D and the
information h of the rows.

Source: Lin (1997), Variance component testing in generalised linear models with random effects,
Biometrika 84, 309-326; Durrande, Ginsbourger, Roustant and Carraro (2013), ANOVA kernels and RKHS
of zero mean functions, Journal of Multivariate Analysis 115, 57-67; MacKay (1992), Neural
Computation 4, 720-736 (averages of the logistic function).
"""

import dataclasses
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from jaxtyping import Float, Int
from scipy.special import ndtri

from bayesgen.inference.class_draws import ClassDraws, cached_rows, softmax
from bayesgen.interactions import Cell
from bayesgen.likelihoods.base import Arrays, is_missing, row_chunks
from bayesgen.membership import expected, shares_of
from bayesgen.typing import Encoded, Joint, Membership, Weights

SDS = np.linspace(0, 3, 61)
"""Standard deviations of log-odds that are averaged over."""
SCALE = 1.0
"""Standard deviation of their half-normal prior."""
PAIRED_FLOATS = 1_000_000
"""Pairs of rows that are held at once: 8 MB."""


@dataclasses.dataclass(frozen=True, eq=False)
class Misfit(Arrays):
    """Standard deviations of log-odds around those of a model, and their posterior weights.

    sd: of rows without a missing cell. weight: of each. functions: how many each column has in f.
    cells: where rows have the columns.
    """

    sd: Float[np.ndarray, " sd"]
    weight: Float[np.ndarray, " sd"]
    functions: Float[np.ndarray, " column"]
    cells: tuple[Cell, ...] = ()
    axes: ClassVar = {"sd": ("sd",), "weight": ("sd",), "functions": ("column",)}

    def observed(
        self, encoded: Encoded, rows: Int[np.ndarray, " row"]
    ) -> Float[np.ndarray, " row"]:
        """Return the share of the functions of f whose columns are observed: that of its variance.

        A row without cells has the class prior, about which f says nothing.

        rows: positions among the encoded rows.
        """
        seen = np.stack([~is_missing(cell.of(encoded)[rows]) for cell in self.cells], axis=1)
        return n_functions(seen * self.functions) / max(float(n_functions(self.functions)), 1.0)

    def spread(
        self, draws: ClassDraws, observed: Float[np.ndarray, " row"], seed: int
    ) -> ClassDraws:
        """Return draws whose log-odds vary by as much more, around about the same mean probability.

        The logits of a draw differ by the same normal numbers in every row, but for missing cells.

        observed: the share of the variance that the cells of each row leave.
        """
        from scipy.stats import qmc

        each = np.moveaxis(draws.probs, 0, -1)
        n_classes, n_draws = each.shape[1:]
        # evenly spread over the draws of any member, which are in the order of their probabilities
        *levels, level = qmc.Halton(n_classes + 1, seed=seed).random(n_draws).T
        sd = self.sd[np.searchsorted(self.weight.cumsum()[:-1], level)]
        noise = ndtri(np.stack(levels)) / np.sqrt(2)
        out = np.empty(each.shape)
        for rows in cached_rows(each):
            logs = out[rows]
            with np.errstate(divide="ignore"):
                np.log(each[rows], out=logs)
            sd_of_rows = sd * np.sqrt(observed[rows, None, None])
            # a mean over noise is nearer to even probabilities
            logs *= 1 / np.sqrt(_flattening(sd_of_rows**2))
            logs += noise * sd_of_rows
            softmax(logs)
        return dataclasses.replace(draws, probs=np.moveaxis(out, -1, 0))


def n_functions(of_columns: Float[np.ndarray, "*row column"]) -> Float[np.ndarray, "*row"]:
    """Return the number of functions of single columns and of pairs, from those of each column."""
    total = of_columns.sum(axis=-1)
    return np.asarray(total + (total**2 - (of_columns**2).sum(axis=-1)) / 2)


def _flattening(variance: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
    """Return how far a logistic curve is flattened by noise of its argument, squared."""
    return 1 / (1 + np.pi / 8 * variance)


def learned_misfit(
    columns: Sequence[Int[np.ndarray, " row"]], log_proba: Joint, y: Membership, weight: Weights
) -> Misfit:
    """Return the misfit of a model.

    Args:
        columns: codes of the levels of each column, -1 of a missing cell.
        log_proba: log class probabilities of each row without it.
        y: class codes, or shares of the classes.
        weight: of the rows.
    """
    proba, n_classes = np.exp(log_proba), log_proba.shape[1]
    # a row whose class is impossible without it is no residual of the others
    weight = np.where(expected(np.where(proba > 0, 0.0, -1.0), y) == 0, weight, 0.0)
    residual = shares_of(y, n_classes) - proba
    kernel = _Kernel.of(columns, weight)
    product, scale, square = kernel.sums(residual, proba, weight)
    information = weight @ (proba * (1 - proba)).sum(axis=1) / (n_classes - 1)
    # two independent logits make log-odds of twice the variance
    variance = SDS**2 / 2
    mean = scale * variance * _flattening(SDS**2)
    score = -((product - mean) ** 2) / (4 * square) if square > 0 else np.zeros(len(SDS))
    score -= 0.5 * (SDS / SCALE) ** 2
    share = np.exp(score - score.max())
    size = max(float(n_functions(kernel.functions)), 1.0)
    unknown = 1 + variance * information * _flattening(SDS**2) / size
    return Misfit(SDS / np.sqrt(unknown), share / share.sum(), kernel.functions)


@dataclasses.dataclass(frozen=True, eq=False)
class _Kernel:
    """The kernel K of rows: sums over columns of k_j and k_j^2 are products of these matrices.

    level: which level of which column a row has. observed: which columns. fraction: of each level.
    functions: how many each column has, of which K is the covariance.
    """

    level: Float[np.ndarray, "row level"]
    observed: Float[np.ndarray, "row column"]
    fraction: Float[np.ndarray, " level"]
    functions: Float[np.ndarray, " column"]

    @classmethod
    def of(cls, columns: Sequence[Int[np.ndarray, " row"]], weight: Weights) -> "_Kernel":
        """Return the kernel of rows of these columns."""
        levels, fractions, sizes = [np.empty((len(weight), 0))], [np.empty(0)], []
        for codes in columns:
            level = (codes[:, None] == np.arange(codes.max(initial=0) + 1)).astype(float)
            count = weight @ level
            seen = count > 0
            levels.append(level[:, seen])
            fractions.append(count[seen] / count.sum())
            sizes.append(max(seen.sum() - 1.0, 0.0))
        observed = np.stack([codes >= 0 for codes in columns], axis=1).astype(float)
        return cls(
            np.concatenate(levels, axis=1), observed, np.concatenate(fractions), np.array(sizes)
        )

    def sums(
        self,
        residual: Float[np.ndarray, "row class"],
        proba: Joint,
        weight: Weights,
    ) -> tuple[float, float, float]:
        """Return sums over pairs of rows: of K r r', of the covariances' C C', and of K^2 C C'.

        With C = diag(p) - p p' the sum of the entries of C_i times those of C_j is that of the
        diagonals and (p_i' p_j)^2 less its own diagonal. A row of weight w is w rows, which are
        pairs too.
        """
        sums, variance, own = np.zeros(3), proba * (1 - proba), proba**2
        diagonal, signed = np.hstack([variance, own]), np.hstack([variance, -own])
        odds, once = self.level / self.fraction, np.arange(len(weight))
        for part in row_chunks(len(weight), max(1, PAIRED_FLOATS // max(len(weight), 1))):
            both = self.observed[part] @ self.observed.T
            first = odds[part] @ self.level.T - both
            squares = (odds[part] * (1 / self.fraction - 2)) @ self.level.T + both
            kernel = first + (first**2 - squares) / 2
            pairs = weight[part, None] * weight
            pairs[once[: len(pairs)], once[part]] -= weight[part]
            products = (proba[part] @ proba.T) ** 2
            products += diagonal[part] @ signed.T
            products *= pairs
            sums += (
                (pairs * kernel * (residual[part] @ residual.T)).sum(),
                products.sum(),
                (products * kernel**2).sum(),
            )
        product, scale, square = sums.tolist()
        return product, scale, square
