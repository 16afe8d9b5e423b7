r"""Kernels of the functions that a model may lack, and sums of residuals over pairs of rows.

`ColumnKernel` is that of functions of single columns and of pairs,

    K(x, x') = sum_j k_j + sum_{i < j} k_i k_j,  k_j(x, x') = [x_j = x'_j] / p - 1,

with p the fraction of the level x_j; numbers are cut at their terciles. K / D, with D the number of
these functions, is the covariance of functions of variance 1, and a sum over pairs of f f' K has
the mean of f^2 whatever products f is made of.

`LeafKernel` is that of functions which are constant in the leaves of the trees of a forest: the
share of trees in which two rows are in one leaf, centered. Residuals are judged by trees that have
neither row in their bag, since leaves are grown until they have rows of one class.

Source: Durrande, Ginsbourger, Roustant and Carraro (2013), ANOVA kernels and RKHS of zero mean
functions, Journal of Multivariate Analysis 115, 57-67; Breiman (2000), Some infinity theory for
predictor ensembles, technical report 579, Berkeley (the kernel of a forest).
"""

import dataclasses
from collections.abc import Sequence
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float, Int
from scipy.sparse import csr_array

from bayesgen.likelihoods.base import row_chunks
from bayesgen.typing import Joint, Weights

SPECTRUM_ROWS = 600
"""Rows whose eigenvalues stand for those of all: .05 s."""
PAIRED_FLOATS = 1_000_000
"""Pairs of rows that are held at once: 8 MB."""


@runtime_checkable
class Kernel(Protocol):
    """Covariances of a function of rows, up to a factor."""

    def of_rows(self, part: slice) -> Float[np.ndarray, "part row"]:
        """Return those of some rows with all."""
        ...


class PairSums(NamedTuple):
    """Sums over pairs of rows, with C the covariance of a label and r its residual.

    product: of K r r'. pairs: of the products of the entries of C and C'. square: of K^2 times
    these.
    """

    product: float
    pairs: float
    square: float


def pair_sums(
    kernels: Sequence[Kernel],
    residual: Float[np.ndarray, "row class"],
    proba: Joint,
    weight: Weights,
) -> list[PairSums]:
    """Return sums over pairs of rows, of each kernel.

    With C = diag(p) - p p' the sum of the entries of C_i times those of C_j is that of the
    diagonals and (p_i' p_j)^2 less its own diagonal. A row of weight w is w rows, which are pairs
    too.
    """
    sums, variance, own = np.zeros((len(kernels), 3)), proba * (1 - proba), proba**2
    diagonal, signed = np.hstack([variance, own]), np.hstack([variance, -own])
    once = np.arange(len(weight))
    for part in row_chunks(len(weight), max(1, PAIRED_FLOATS // max(len(weight), 1))):
        pairs = weight[part, None] * weight
        pairs[once[: len(pairs)], once[part]] -= weight[part]
        covariances = (proba[part] @ proba.T) ** 2
        covariances += diagonal[part] @ signed.T
        covariances *= pairs
        pairs *= residual[part] @ residual.T
        total = covariances.sum()
        for row, kernel in zip(sums, kernels, strict=True):
            of_part = kernel.of_rows(part)
            row += (pairs * of_part).sum(), total, (covariances * of_part**2).sum()
    return [PairSums(*row) for row in sums.tolist()]


def n_functions(of_columns: Float[np.ndarray, "*row column"]) -> Float[np.ndarray, "*row"]:
    """Return the number of functions of single columns and of pairs, from those of each column."""
    total = of_columns.sum(axis=-1)
    return np.asarray(total + (total**2 - (of_columns**2).sum(axis=-1)) / 2)


@dataclasses.dataclass(frozen=True, eq=False)
class ColumnKernel:
    """The kernel of functions of single columns and of pairs.

    Sums over columns of k_j and k_j^2 are products of these matrices.

    level: which level of which column a row has. observed: which columns. fraction: of each level.
    functions: how many each column has.
    """

    level: Float[np.ndarray, "row level"]
    observed: Float[np.ndarray, "row column"]
    fraction: Float[np.ndarray, " level"]
    functions: Float[np.ndarray, " column"]

    @classmethod
    def of(cls, columns: Sequence[Int[np.ndarray, " row"]], weight: Weights) -> "ColumnKernel":
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

    def of_rows(self, part: slice) -> Float[np.ndarray, "part row"]:
        """Return K of some rows with all."""
        odds, both = self.level[part] / self.fraction, self.observed[part] @ self.observed.T
        first = odds @ self.level.T - both
        squares = (odds * (1 / self.fraction - 2)) @ self.level.T + both
        return first + (first**2 - squares) / 2


@dataclasses.dataclass(frozen=True, eq=False)
class LeafKernel:
    """The kernel of functions that are constant in the leaves of a forest's trees.

    covariance: of the function at each two rows, by the trees that have neither in their bag.
    weight: of the rows.
    """

    covariance: Float[np.ndarray, "row row"]
    weight: Weights

    @classmethod
    def of(
        cls,
        inside: csr_array,
        outside: Float[np.ndarray, "tree row"],
        root: Int[np.ndarray, " tree"],
        weight: Weights,
    ) -> "LeafKernel":
        """Return the kernel of the rows from which a forest was grown.

        Args:
            inside: which share of each row is in each leaf, (row, node).
            outside: how likely each row is out of the bag of each tree.
            root: first node of each tree.
            weight: of the rows.
        """
        entry = inside.tocoo()
        tree = np.searchsorted(root, entry.col, side="right") - 1
        spared = csr_array((entry.data * outside[tree, entry.row], entry.coords), inside.shape)
        trees = outside.T @ outside
        covariance = (spared @ spared.T).toarray() / np.where(trees > 0, trees, 1.0)
        means = covariance @ weight / weight.sum()
        covariance -= means
        covariance -= means[:, None]
        covariance += means @ weight / weight.sum()
        return cls(covariance, weight)

    def of_rows(self, part: slice) -> Float[np.ndarray, "part row"]:
        """Return the kernel of some rows with all."""
        return self.covariance[part]

    def shares(self) -> Float[np.ndarray, " function"]:
        """Return the share of each of independent functions in the variance, from some rows.

        They are the eigenvalues of the covariance, a row of weight w being w rows.
        """
        some = slice(None, None, max(1, -(-len(self.weight) // SPECTRUM_ROWS)))
        root = np.sqrt(self.weight[some])
        values = np.linalg.eigvalsh(root[:, None] * self.covariance[some, some] * root)
        values = values[values > 0]
        return values / values.sum() if values.size else np.ones(1)
