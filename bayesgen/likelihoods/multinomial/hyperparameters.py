"""The guess of urns: stated, the same for every word, or the fractions over all classes."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Num

from bayesgen.errors import InvalidPrior
from bayesgen.likelihoods.base import broadcast_guess

Probs = float | Num[np.ndarray, "..."] | Sequence[float] | str | None


def stated_urns(
    probs: Probs, count: Float[np.ndarray, "class feature"]
) -> tuple[Float[np.ndarray, "class feature"], Float[np.ndarray, "..."]]:
    """Return the guess of every class's urn, and how many words it holds.

    Args:
        probs: as in `Multinomial`.
        count: weight of each word within each class.

    Raises:
        InvalidPrior: probabilities of a wrong shape, or that do not sum to one.
    """
    guess = np.asarray(_guess(probs, count), dtype=float)
    urns = np.ascontiguousarray(broadcast_guess("Multinomial", "probs", guess, count.shape))
    # one guess for all classes is looked at once
    own = urns if guess.ndim > 1 else urns[:1]
    sums = own.sum(axis=1)
    unseen = (sums == 0) & (probs is None)
    if not np.allclose(sums[~unseen], 1.0, rtol=0, atol=1e-8):
        raise InvalidPrior.does_not_sum_to_one("Multinomial.probs", sums[~unseen])
    return urns, np.maximum(np.count_nonzero(own, axis=1), 1.0)


def _guess(probs: Probs, count: np.ndarray) -> object:
    if isinstance(probs, str):
        return 1.0 / count.shape[1]
    if probs is not None:
        return probs
    pooled = count.sum(axis=0)
    return pooled / max(pooled.sum(), np.finfo(float).tiny)
