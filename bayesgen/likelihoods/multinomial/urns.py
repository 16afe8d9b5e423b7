"""Draws of word probabilities that look only at the words of a text, however many words there are.

If G_j ~ Gamma(a_j) for every word, then G_j / sum of G ~ Dirichlet(a). The sum over the words that
a text lacks is one more Gamma variable, so a text needs as many variables as it has words, and one.
Each word has random numbers of its own: they serve every text, and none needs the others.
"""

import functools
from collections.abc import Callable, Iterator

import numpy as np
from jaxtyping import Float

from bayesgen.likelihoods.dirichlet import log_gammas
from bayesgen.likelihoods.multinomial.statistics import log_coefficients
from bayesgen.likelihoods.sparse import Cells, observed_sums, row_blocks
from bayesgen.typing import Block

CACHE_FLOATS = 4_000_000
"""Variables of words kept for the next text: 32 MB."""


def urn_scores(
    concentration: Float[np.ndarray, "class feature"], rng: np.random.Generator, n: int
) -> Callable[[Block, np.ndarray], np.ndarray]:
    """Return (x, own) -> log p(x given y = k, N, theta), shape (draw, row, class).

    theta ~ Dirichlet(concentration), updated for class own[draw, row] alone by the row itself:
    Gamma(a + x) is Gamma(a) plus Gamma(x). Missing words are taken out of the urn.
    """
    seed, (n_classes, size) = int(rng.integers(2**63)), concentration.shape

    @functools.lru_cache(maxsize=max(64, CACHE_FLOATS // (n * n_classes)))
    def word(j: int) -> Float[np.ndarray, "draw class"]:
        return log_gammas(np.random.default_rng((seed, 0, j)), concentration[:, j], n)

    def added(j: int, count: float) -> Float[np.ndarray, " draw"]:
        return np.log(np.random.default_rng((seed, 1, j)).standard_gamma(count, n))

    def rest(a: Float[np.ndarray, " class"]) -> Float[np.ndarray, "draw class"]:
        there = a > 0
        logs = log_gammas(np.random.default_rng((seed, 2, size)), np.where(there, a, 1.0), n)
        return np.where(there, logs, -np.inf)

    def score(
        words: np.ndarray,
        counts: np.ndarray,
        total: Float[np.ndarray, " class"],
        own: np.ndarray,
    ) -> Float[np.ndarray, "draw class"]:
        logs = np.stack([word(int(j)) for j in words])
        plus = np.stack([added(int(j), c) for j, c in zip(words, counts, strict=True)])
        mine = own[:, None] == np.arange(n_classes)
        logs = np.logaddexp(logs, np.where(mine, plus[..., None], -np.inf))
        return _drawn_from(logs, rest(total - concentration[:, words].sum(axis=1)), counts)

    def log_density(x: Block, own: np.ndarray) -> Float[np.ndarray, "draw row class"]:
        out = np.zeros((*own.shape, n_classes))
        for rows, cells in row_blocks(x):
            totals = _totals(concentration, cells)
            for i, words, counts in _texts(cells):
                at = rows.start + i
                out[:, at] = score(words, counts, totals[i], own[:, at])
            out[:, rows] += log_coefficients(cells, cells.sums(cells.data))[:, None]
        return out

    return log_density


def _drawn_from(
    logs: Float[np.ndarray, "word draw class"],
    others: Float[np.ndarray, "draw class"],
    counts: Float[np.ndarray, " word"],
) -> Float[np.ndarray, "draw class"]:
    """Return the log probability of words in order, from logs of Gamma variables."""
    urn = np.logaddexp(np.logaddexp.reduce(logs, axis=0), others)
    return np.tensordot(counts, logs, axes=1) - counts.sum() * urn


def _texts(cells: Cells) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
    """Yield the position of each text that has words, its words and their counts."""
    for i in range(cells.shape[0]):
        row = slice(cells.indptr[i], cells.indptr[i + 1])
        there = cells.data[row] > 0
        if there.any():
            yield i, cells.indices[row][there], cells.data[row][there].astype(float)


def _totals(
    concentration: Float[np.ndarray, "class feature"], cells: Cells
) -> Float[np.ndarray, "row class"]:
    if cells.missing_cells is not None:
        return observed_sums(concentration, cells.missing_cells)
    return np.broadcast_to(concentration.sum(axis=1), (cells.shape[0], len(concentration)))
