"""Ratios of Gamma functions, Gamma(a + n) / Gamma(a), of which Dirichlet-multinomials are made.

A difference of two `gammaln` loses digits where a is large: 1e-9 of log p at a million words.
"""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float, Int
from scipy.sparse import csr_array
from scipy.special import gammaln

from bayesgen.likelihoods.sparse_rows import SCORED_CELLS, Cells

Real = float | np.ndarray | np.floating
LARGE = 16.0
"""From here on five terms of Stirling's series are exact to the last bit or two."""
OFTEN = 4096
"""Features of which larger counts have lines of their own in the table of `rising_scores`."""
MOST_COUNTED = 32
"""Largest such count. By Zipf's law one count above 2 in 10,000 is beyond both (measured)."""


def log_rising_factorial(a: Real, n: Real) -> Real:
    """Return log of a (a + 1) ... (a + n - 1) = log Gamma(a + n) - log Gamma(a), broadcast.

    For a >= 16 by the difference of two Stirling series, in which what is large cancels on paper:
    (a - 1/2) log(1 + n / a) + n (log(a + n) - 1) + c(a + n) - c(a), c(z) = 1 / 12 z - ...
    Source: Abramowitz and Stegun, Handbook of Mathematical Functions, 6.1.41.

    Args:
        a: 0 or above; 0 only where n is 0, and then the answer is 0.
        n: 0 or above, whole or not: the t densities ask for halves.
    """
    a, n = np.broadcast_arrays(np.maximum(a, np.finfo(float).tiny), n)
    small = a < LARGE
    if not small.any():
        return _by_series(a, n)
    out = np.empty(a.shape)
    out[small] = gammaln(a[small] + n[small]) - gammaln(a[small])
    out[~small] = _by_series(a[~small], n[~small])
    return out


def _by_series(a: Real, n: Real) -> Real:
    whole = (a - 0.5) * np.log1p(n / a) + n * (np.log(a + n) - 1.0)
    return whole + _stirling(a + n) - _stirling(a)


def _stirling(z: Real) -> Real:
    """Return log Gamma(z) - ((z - 1/2) log z - z + log(2 pi) / 2) for z >= 16."""
    w = 1.0 / (z * z)
    tail = 1 / 1260 - w * (1 / 1680 - w / 1188)
    return (1 / 12 - w * (1 / 360 - w * tail)) / z


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
    known = np.maximum(a.T, np.finfo(float).tiny)
    often = np.argsort(-known.sum(axis=1), kind="stable")[:OFTEN]
    place = np.full(size, -1)
    place[often] = np.arange(len(often))
    table = _terms(known, often)
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
            rest = log_rising_factorial(known[words[beyond]] + 2, counts - 2.0)
            rest -= gammaln(counts + 1.0) - np.log(2.0)
            np.add.at(out, np.searchsorted(x.indptr, left, side="right") - 1, rest)
        return out

    return scores


def _terms(
    known: Float[np.ndarray, "feature class"], often: Int[np.ndarray, " often"]
) -> Float[np.ndarray, "line class"]:
    """Return log_rising_factorial(a, n) - log n! of features for n = 1, 2 and frequent larger n."""
    once = np.log(known)
    lines = [once, once + np.log((known + 1) / 2)]
    for i in range(2, MOST_COUNTED):
        before = lines[-1] if i > 2 else lines[-1][often]
        lines.append(before + np.log((known[often] + i) / (i + 1)))
    # the last line serves cells that are stored, but hold 0
    return np.concatenate([*lines, np.zeros((1, known.shape[1]))])


def rising_by_total(
    a: Float[np.ndarray, " class"], n: Float[np.ndarray, " row"]
) -> Float[np.ndarray, "row class"]:
    """Return log_rising_factorial(a, n) - log n! for whole numbers n, of which many are equal."""
    top = int(n.max(initial=0.0))
    if top >= len(n):
        return log_rising_factorial(a, n[:, None]) - gammaln(n + 1.0)[:, None]
    every = np.arange(top + 1.0)[:, None]
    return (log_rising_factorial(a, every) - gammaln(every + 1.0))[n.astype(np.int64)]
