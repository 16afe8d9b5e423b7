r"""Misfit: by how much the log-odds of a model differ from the truth, from rows left out.

The difference is f = f_1 + f_2, each centered, normal, and of a variance v that is learned:

* f_1 is a sum of functions of single columns and of pairs of these,
* f_2 is constant in the leaves of a forest: what columns do together, wherever it changes.

Residuals r of left-out rows, labels minus probabilities, have E r_i r_j = v C_i C_j K_ij to first
order, with K the kernel of f (`residual_kernels.py`) and C_i the covariance of the label. A sum
over pairs of rows thus tells v (a score test of a random effect). Of f_1, v is multiplied by
c(v) = 1 / (1 + pi v / 8), what the logistic function loses when its argument has variance v; of
f_2 it is not, since the kernel of leaves is rougher than most functions, which overstates v. The
posterior of the standard deviation, whose prior is half-normal, is on a grid. f_2 is 0 with prior
probability 1/2: a model mostly has the interactions that matter.

Of independent functions that make up f, each with a share s of its variance, n rows leave the sum
of v s / (1 + v s h) unknown, with h the information of the rows: the variance of a Gaussian process
given them, on average. f_1 has functions of even shares; those of f_2 are the eigenvalues of its
kernel. Of f_2 the rows leave all if the forest has not joined the model, which then has learned
none of it.

Source: Lin (1997), Variance component testing in generalised linear models with random effects,
Biometrika 84, 309-326; MacKay (1992), Neural Computation 4, 720-736 (averages of the logistic
function); Rasmussen and Williams (2006), Gaussian Processes for Machine Learning, section 2.6.
"""

import dataclasses
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from jaxtyping import Float, Int
from scipy.special import ndtri

from bayesgen.inference.class_draws import ClassDraws, cached_rows, softmax
from bayesgen.inference.residual_kernels import (
    ColumnKernel,
    LeafKernel,
    PairSums,
    n_functions,
    pair_sums,
)
from bayesgen.interactions import Cell
from bayesgen.likelihoods.base import Arrays, is_missing
from bayesgen.membership import expected, shares_of
from bayesgen.typing import Encoded, Joint, Membership, Weights

SDS = np.linspace(0, 3, 61)
"""Standard deviations of log-odds that are averaged over."""
SCALE = 1.0
"""Standard deviation of their half-normal prior."""
ABSENT = 0.5
"""Prior probability that nothing is constant in leaves which the model lacks."""
LEVELS = 200
"""Standard deviations of the sum of both, evenly spaced in probability."""


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


def _flattening(variance: Float[np.ndarray, "..."] | float) -> Float[np.ndarray, "..."]:
    """Return how far a logistic curve is flattened by noise of its argument, squared."""
    return np.asarray(1 / (1 + np.pi / 8 * variance))


def learned_misfit(
    columns: Sequence[Int[np.ndarray, " row"]],
    log_proba: Joint,
    y: Membership,
    weight: Weights,
    leaves: LeafKernel | None = None,
    *,
    joined: bool = False,
) -> Misfit:
    """Return the misfit of a model.

    Args:
        columns: codes of the levels of each column, -1 of a missing cell.
        log_proba: log class probabilities of each row without it.
        y: class codes, or shares of the classes.
        weight: of the rows.
        leaves: which rows a forest has in its leaves together.
        joined: whether this forest has become a part of the model since.
    """
    proba, n_classes = np.exp(log_proba), log_proba.shape[1]
    # a row whose class is impossible without it is no residual of the others
    weight = np.where(expected(np.where(proba > 0, 0.0, -1.0), y) == 0, weight, 0.0)
    residual = shares_of(y, n_classes) - proba
    of_columns = ColumnKernel.of(columns, weight)
    kernels = [of_columns] if leaves is None else [of_columns, leaves]
    sums, *of_leaves = pair_sums(kernels, residual, proba, weight)
    # what the rows tell of the logit of a class
    information = float(weight @ (proba * (1 - proba)).sum(axis=1)) / (n_classes - 1)
    # whatever functions of columns f_1 is made of, a mean over pairs of f f' K is v
    share = _posterior(sums, sums.pairs * SDS**2 / 2 * _flattening(SDS**2))
    size = max(float(n_functions(of_columns.functions)), 1.0)
    sd = _unknown(information, np.array([1 / size]), size)
    if leaves is not None:
        present = _posterior(of_leaves[0], of_leaves[0].square * SDS**2 / 2, absent=ABSENT)
        left = _unknown(information, leaves.shares()) if joined else SDS
        sd, share = _of_sum(sd, share, left, present)
    return Misfit(sd, share, of_columns.functions)


def _unknown(
    information: float, shares: Float[np.ndarray, " function"], times: float = 1.0
) -> Float[np.ndarray, " sd"]:
    """Return what rows leave of SDS.

    shares: of independent functions in the variance. times: how often each stands there.
    """
    told = SDS**2 / 2 * information * _flattening(SDS**2)
    return SDS * np.sqrt(times * (shares / (1 + told[:, None] * shares)).sum(axis=1))


def _posterior(
    sums: PairSums, mean: Float[np.ndarray, " sd"], absent: float = 0.0
) -> Float[np.ndarray, " sd"]:
    """Return posterior weights of SDS.

    mean: of the sum of products of residuals, given each; two independent logits make log-odds of
    twice their variance. absent: prior probability of 0, beside the half-normal.
    """
    prior = np.exp(-0.5 * (SDS / SCALE) ** 2)
    prior *= (1 - absent) / prior.sum()
    prior[0] += absent
    log_posterior = np.log(prior)
    if sums.square > 0:
        log_posterior -= (sums.product - mean) ** 2 / (4 * sums.square)
    share = np.exp(log_posterior - log_posterior.max())
    return share / share.sum()


def _of_sum(
    one: Float[np.ndarray, " sd"],
    of_one: Float[np.ndarray, " sd"],
    other: Float[np.ndarray, " sd"],
    of_other: Float[np.ndarray, " sd"],
) -> tuple[Float[np.ndarray, " level"], Float[np.ndarray, " level"]]:
    """Return standard deviations of a sum, evenly spaced in probability.

    one, other: standard deviations of two functions. of_one, of_other: their weights.
    """
    sd, share = np.hypot(one[:, None], other).ravel(), np.outer(of_one, of_other).ravel()
    order = np.argsort(sd, kind="stable")
    level = (np.arange(LEVELS) + 0.5) / LEVELS
    at = np.minimum(np.searchsorted(share[order].cumsum(), level), len(sd) - 1)
    return sd[order][at], np.full(LEVELS, 1 / LEVELS)
