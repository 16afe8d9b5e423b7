"""Log densities of word counts given their total: averaged over urns, or for stated urns."""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float, Int
from scipy.sparse import csr_array
from scipy.special import gammaln

from bayesgen.likelihoods.sparse import SCORED_CELLS, Cells, observed_sums, row_blocks
from bayesgen.likelihoods.special_functions import log_rising_factorial
from bayesgen.typing import Block

OFTEN = 4096
"""Features of which larger counts have lines of their own in the table of `rising_scores`."""
MOST_COUNTED = 32
"""Largest such count. By Zipf's law one count above 2 in 10,000 is beyond both (measured)."""


def averaged(
    concentration: Float[np.ndarray, "class feature"],
) -> Callable[[Block], Float[np.ndarray, "row class"]]:
    """Return x -> log Dirichlet-multinomial of the observed words given their total."""
    urns, rising = concentration.sum(axis=1), rising_scores(concentration)

    def log_predictive(x: Block) -> Float[np.ndarray, "row class"]:
        out, length = np.empty((x.shape[0], len(urns))), np.empty(x.shape[0])
        for rows, cells in row_blocks(x, SCORED_CELLS):
            length[rows] = cells.sums(cells.data)
            out[rows] = rising(cells)
            if cells.missing_cells is not None:
                # the urn without the missing words, instead of the whole one
                n = length[rows, None]
                out[rows] += log_rising_factorial(urns, n)
                out[rows] -= log_rising_factorial(
                    observed_sums(concentration, cells.missing_cells), n
                )
        out -= rising_by_total(urns, length)
        return out

    return log_predictive


def given_urns(
    probs: Float[np.ndarray, "*batch feature"], score: Callable[[Block], np.ndarray]
) -> Callable[[Block], np.ndarray]:
    """Return x -> log p(x given N, probs), shape (row, *batch), missing words out of the urns.

    Args:
        probs: the urns.
        score: gives the same of complete rows; N log (sum of observed probs) is subtracted.
    """

    def log_density(x: Block) -> np.ndarray:
        out = score(x)
        for rows, cells in row_blocks(x):
            if cells.missing_cells is not None:
                left = observed_sums(probs, cells.missing_cells)
                length = cells.sums(cells.data).reshape(-1, *[1] * (left.ndim - 1))
                # where nothing is left in the urn, a word makes the row impossible already
                out[rows] -= length * np.log(np.where(left > 0, left, 1.0))
        return out

    return log_density


def rising_scores(
    a: Float[np.ndarray, "class feature"],
) -> Callable[[Cells], Float[np.ndarray, "row class"]]:
    """Return x -> sum over counts of log_rising_factorial(a, x) - log x!, shape (row, class).

    The terms stand in a table, one line for each feature and count, so that a text costs one
    product of a sparse and a dense matrix. Counts above 2 have lines for features of large a only:
    rare words are rarely repeated. What has no line is added by itself.
    """
    size = a.shape[1]
    # a feature that is never counted may have a = 0
    shape_parameter = np.maximum(a.T, np.finfo(float).tiny)
    often = np.argsort(-shape_parameter.sum(axis=1), kind="stable")[:OFTEN]
    place = np.full(size, -1)
    place[often] = np.arange(len(often))
    table = _terms(shape_parameter, often)
    ones = np.ones(SCORED_CELLS)

    def scores(x: Cells) -> Float[np.ndarray, "row class"]:
        # nearly all counts are 1, nearly all others 2: few cells are looked at by themselves
        two = x.data == 2
        line = two * x.indices.dtype.type(size)
        line += x.indices
        above = np.flatnonzero(~(two | (x.data == 1)))
        line[above] += size
        counts, words = x.data[above], x.indices[above]
        deep = place[words]
        reached = (counts > 0) & (deep >= 0) & (counts <= MOST_COUNTED)
        deeper = (counts[reached].astype(np.int64) - 3) * len(often)
        line[above[reached]] = 2 * size + deeper + deep[reached]
        line[above[counts == 0]] = len(table) - 1
        data = ones[: len(line)] if len(line) <= len(ones) else np.ones(len(line))
        out = csr_array((data, line, x.indptr), (x.shape[0], len(table))) @ table
        beyond = (counts > 0) & ~reached
        if beyond.any():
            left, counts = above[beyond], counts[beyond, None]
            rest = log_rising_factorial(shape_parameter[words[beyond]] + 2, counts - 2.0)
            rest -= gammaln(counts + 1.0) - np.log(2.0)
            np.add.at(out, np.searchsorted(x.indptr, left, side="right") - 1, rest)
        return out

    return scores


def _terms(
    shape_parameter: Float[np.ndarray, "feature class"], often: Int[np.ndarray, " often"]
) -> Float[np.ndarray, "line class"]:
    """Return log_rising_factorial(a, n) - log n! of features for n = 1, 2 and frequent larger n."""
    once = np.log(shape_parameter)
    lines = [once, once + np.log((shape_parameter + 1) / 2)]
    for i in range(2, MOST_COUNTED):
        before = lines[-1] if i > 2 else lines[-1][often]
        lines.append(before + np.log((shape_parameter[often] + i) / (i + 1)))
    # the last line serves cells that are stored, but hold 0
    return np.concatenate([*lines, np.zeros((1, shape_parameter.shape[1]))])


def rising_by_total(
    a: Float[np.ndarray, " class"], n: Float[np.ndarray, " row"]
) -> Float[np.ndarray, "row class"]:
    """Return log_rising_factorial(a, n) - log n! for whole numbers n, of which many are equal."""
    top = int(n.max(initial=0.0))
    if top >= len(n):
        return log_rising_factorial(a, n[:, None]) - gammaln(n + 1.0)[:, None]
    every = np.arange(top + 1.0)[:, None]
    return (log_rising_factorial(a, every) - gammaln(every + 1.0))[n.astype(np.int64)]
