"""Log densities of word counts given their total: averaged over urns, or for stated urns."""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float

from bayesgen.likelihoods.rising import log_rising_factorial, rising_by_total, rising_scores
from bayesgen.likelihoods.sparse_rows import SCORED_CELLS, observed_sums, row_blocks
from bayesgen.typing import Block


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
