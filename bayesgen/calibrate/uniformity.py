"""Tests of uniformity on (0, 1): chi-square, and simultaneous bands around the ECDF.

The bands of Säilynoja, Bürkner and Vehtari (2022), Statistics and Computing 32, 32: the number of
n uniform values below z is binomial(n, z), and the counts at rising z are a Markov chain, so that
the chance to leave pointwise bands anywhere is a sum, computed here without simulation.
"""

import functools

import numpy as np
from scipy.special import gammaln

POINTS = 50
"""Values of z at which counts are looked at."""
LEVELS = np.logspace(-10, 0, 31)
"""Pointwise levels at which the simultaneous ones are computed; between them they are read off."""


def chi_square(fractions: np.ndarray) -> float:
    """Return the p-value of equal counts in 10 bins, or 20 from 400 values on."""
    from scipy.stats import chisquare

    bins = 20 if len(fractions) >= 400 else 10
    counts = np.bincount((fractions * bins).astype(int), minlength=bins)
    return float(chisquare(counts).pvalue)


def ecdf(fractions: np.ndarray) -> float:
    """Return the probability that uniform values leave pointwise bands as far as these do."""
    n, z = len(fractions), _places()
    counts = np.searchsorted(np.sort(fractions), z, side="right")
    tails = 2 * _smaller_tail(counts, n, z)
    return float(_read(tails.min(), LEVELS, simultaneous(n)))


def bands(n: int, false_alarm: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return z and the ends of bands that uniform values leave with a stated probability."""
    level, z = _read(false_alarm, simultaneous(n), LEVELS), _places()
    low, high = _inside(n, level)
    return z, low / n, high / n


@functools.cache
def simultaneous(n: int) -> np.ndarray:
    """Return the chance that n uniform values leave the pointwise bands of each of LEVELS."""
    return np.maximum.accumulate([_leaving(n, level) for level in LEVELS])


def _leaving(n: int, level: float) -> float:
    z, (low, high) = _places(), _inside(n, level)
    if (low > high).any():
        return 1.0
    before, chance, place = np.zeros(1, int), np.ones(1), 0.0
    for i, here in enumerate(z):
        now = np.arange(low[i], high[i] + 1)
        # of the values above the last place, how many lie below this one
        more, left = now[:, None] - before, n - before
        chance = _binomial(more, left, (here - place) / (1 - place)) @ chance
        before, place = now, here
    return float(np.clip(1 - chance.sum(), 1e-12, 1.0))


def _binomial(k: np.ndarray, n: np.ndarray, prob: float) -> np.ndarray:
    possible = (k >= 0) & (k <= n)
    k = np.where(possible, k, 0)
    ways = gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)
    return np.where(possible, np.exp(ways + k * np.log(prob) + (n - k) * np.log1p(-prob)), 0.0)


def _inside(n: int, level: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the least and the greatest count at each place whose tails are above level / 2."""
    z, counts = _places()[:, None], np.arange(n + 1)
    inside = 2 * _smaller_tail(counts, n, z) > level
    none = ~inside.any(axis=1)
    low, high = inside.argmax(axis=1), n - inside[:, ::-1].argmax(axis=1)
    return np.where(none, 1, low), np.where(none, 0, high)


def _smaller_tail(counts: np.ndarray, n: int, z: np.ndarray) -> np.ndarray:
    """Return the chance of as few of n uniform values below z, or of as many, if that is less."""
    from scipy.stats import binom

    return np.minimum(binom.cdf(counts, n, z), binom.sf(counts - 1, n, z))


def _places() -> np.ndarray:
    return np.arange(1, POINTS) / POINTS


def _read(value: float, given: np.ndarray, wanted: np.ndarray) -> float:
    """Interpolate in logarithms."""
    return float(np.exp(np.interp(np.log(max(value, 1e-300)), np.log(given), np.log(wanted))))
