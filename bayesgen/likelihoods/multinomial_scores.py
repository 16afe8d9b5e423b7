"""Log densities of word counts given their total, at given, drawn or integrated-out probabilities.

Draws: if G_j ~ Gamma(a_j) for every word, then G_j / sum of G ~ Dirichlet(a). The sum over the
words absent from a text is one more Gamma variable, so a text needs one variable for each of its
words plus one, whatever the size of the vocabulary. The random numbers of each word are its own and
are shared by all texts.
"""

import functools
from collections.abc import Callable

import numpy as np
from jaxtyping import Float, Int
from scipy.sparse import csr_array
from scipy.special import gammaln

from bayesgen.likelihoods.dirichlet import log_gammas
from bayesgen.likelihoods.sparse import SCORED_CELLS, Cells, observed_sums, sparse_chunks
from bayesgen.likelihoods.special_functions import log_factorial, log_rising_factorial
from bayesgen.typing import Block

OFTEN = 4096
"""Number of features, those of largest a, for which counts above 2 are in the table of
`rising_scores`."""
MOST_COUNTED = 32
"""Largest such count. By Zipf's law one count above 2 in 10,000 is beyond both (measured)."""
CACHE_FLOATS = 4_000_000
"""Variables of words kept for the next text: 32 MB."""


def log_coefficients(cells: Cells, length: Float[np.ndarray, " row"]) -> Float[np.ndarray, " row"]:
    """Return log N! / (x_1! x_2! ...): the number of word orders with the same counts."""
    return gammaln(length + 1.0) - cells.sums(log_factorial(cells.data))


def averaged(
    concentration: Float[np.ndarray, "class feature"],
) -> Callable[[Block], Float[np.ndarray, "row class"]]:
    """Return x -> log Dirichlet-multinomial of the observed words given their total."""
    urns, rising = concentration.sum(axis=1), rising_scores(concentration)

    def log_predictive(x: Block) -> Float[np.ndarray, "row class"]:
        out, length = np.empty((x.shape[0], len(urns))), np.empty(x.shape[0])
        for rows, cells in sparse_chunks(x, SCORED_CELLS):
            length[rows] = cells.sums(cells.data)
            out[rows] = rising(cells)
            if cells.missing_cells is not None:
                # the probabilities without the missing words, renormalized
                n = length[rows, None]
                out[rows] += log_rising_factorial(urns, n)
                out[rows] -= log_rising_factorial(
                    observed_sums(concentration, cells.missing_cells), n
                )
        out -= rising_by_total(urns, length)
        return out

    return log_predictive


def given_urns(
    probs: Float[np.ndarray, "*draw class feature"],
) -> Callable[[Block], Float[np.ndarray, "row *draw class"]]:
    """Return x -> log p(x given N, probs); missing words are out of the urns."""
    # draws adjacent in memory, for the average is over them
    urns = np.moveaxis(probs, -2, 0)
    lead, flat = urns.shape[:-1], urns.reshape(-1, urns.shape[-1])
    impossible = flat == 0
    # in C order once: SciPy would copy it for every chunk
    weights = np.ascontiguousarray(np.log(np.where(impossible, 1.0, flat)).T)
    never = impossible.T.astype(float) if impossible.any() else None

    def log_density(x: Block) -> np.ndarray:
        out = np.empty((x.shape[0], len(flat)))
        for rows, cells in sparse_chunks(x):
            counts, length = cells.compressed(), cells.sums(cells.data)
            part = counts @ weights
            part += log_coefficients(cells, length)[:, None]
            if cells.missing_cells is not None:
                left = observed_sums(flat, cells.missing_cells)
                # if no probability remains, any further word already makes the row impossible
                part -= length[:, None] * np.log(np.where(left > 0, left, 1.0))
            if never is not None:
                part[(counts @ never) > 0] = -np.inf
            out[rows] = part
        return np.moveaxis(out.reshape(len(out), *lead), 1, -1)

    return log_density


def rising_scores(
    a: Float[np.ndarray, "class feature"],
) -> Callable[[Cells], Float[np.ndarray, "row class"]]:
    """Return x -> sum over counts of log_rising_factorial(a, x) - log x!, shape (row, class).

    The terms are in a table, one line for each feature and count, so that a text costs one product
    of a sparse and a dense matrix. Counts above 2 have lines for features of large a only: rare
    words are rarely repeated. Cells without a line are added one by one.
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
        # nearly all counts are 1, nearly all others 2: few cells need a look-up of their own
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
    # the last line is for stored cells that hold 0
    return np.concatenate([*lines, np.zeros((1, shape_parameter.shape[1]))])


def rising_by_total(
    a: Float[np.ndarray, " class"], n: Float[np.ndarray, " row"]
) -> Float[np.ndarray, "row class"]:
    """Return log_rising_factorial(a, n) - log n! for whole numbers n, many of them equal."""
    top = int(n.max(initial=0.0))
    if top >= len(n):
        return log_rising_factorial(a, n[:, None]) - gammaln(n + 1.0)[:, None]
    every = np.arange(top + 1.0)[:, None]
    return (log_rising_factorial(a, every) - gammaln(every + 1.0))[n.astype(np.int64)]


# -- drawn urns ------------------------------------------------------------------------------------


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
        others = rest(total - concentration[:, words].sum(axis=1))
        urn = np.logaddexp(np.logaddexp.reduce(logs, axis=0), others)
        return np.tensordot(counts, logs, axes=1) - counts.sum() * urn

    def log_density(x: Block, own: np.ndarray) -> Float[np.ndarray, "draw row class"]:
        out = np.zeros((*own.shape, n_classes))
        for rows, cells in sparse_chunks(x):
            totals = _totals(concentration, cells)
            for i, at in enumerate(range(rows.start, rows.stop)):
                row = slice(cells.indptr[i], cells.indptr[i + 1])
                there = cells.data[row] > 0
                if there.any():
                    words, counts = cells.indices[row][there], cells.data[row][there].astype(float)
                    out[:, at] = score(words, counts, totals[i], own[:, at])
            out[:, rows] += log_coefficients(cells, cells.sums(cells.data))[:, None]
        return out

    return log_density


def _totals(
    concentration: Float[np.ndarray, "class feature"], cells: Cells
) -> Float[np.ndarray, "row class"]:
    if cells.missing_cells is not None:
        return observed_sums(concentration, cells.missing_cells)
    return np.broadcast_to(concentration.sum(axis=1), (cells.shape[0], len(concentration)))
