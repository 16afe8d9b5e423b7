"""The Brier score in three parts, by recalibration with isotonic regression (CORP)."""

import dataclasses

import numpy as np
from jaxtyping import Bool, Float

from bayesgen.typing import Joint, Labels


@dataclasses.dataclass(frozen=True)
class BrierDecomposition:
    """brier = miscalibration - discrimination + uncertainty; each is at least 0.

    miscalibration (MCB): what recalibration would gain. discrimination (DSC): what the recalibrated
    probabilities gain over the overall class fractions. uncertainty (UNC): the Brier score of those
    fractions.
    """

    miscalibration: float
    discrimination: float
    uncertainty: float


def brier_decomposition(y: Labels, probability: Joint) -> BrierDecomposition:
    """Return miscalibration, discrimination and uncertainty of the Brier score.

    Each class is taken against the rest (`event_decomposition`) and the parts are summed over
    classes, as `brier` sums them; for two classes that is twice the decomposition of the binary
    score.

    Args:
        y: class codes, shape (row,).
        probability: class probabilities, shape (row, class).

    Source: Dimitriadis, Gneiting and Jordan (2021), PNAS 118(8), e2016191118, equations 4 and 5.
    """
    classes = range(probability.shape[1])
    parts = [event_decomposition(y == k, probability[:, k]) for k in classes]
    return BrierDecomposition(
        sum(part.miscalibration for part in parts),
        sum(part.discrimination for part in parts),
        sum(part.uncertainty for part in parts),
    )


def event_decomposition(
    event: Bool[np.ndarray, " row"], probability: Float[np.ndarray, " row"]
) -> BrierDecomposition:
    """Return the three parts of the mean of (p - event)^2.

    With c the isotonic recalibration of p (`recalibrated`), f the share of events and S the mean
    squared difference from the events: miscalibration = S(p) - S(c), discrimination = S(f) - S(c),
    uncertainty = S(f) = f (1 - f).

    Args:
        event: whether it happened, shape (row,).
        probability: its stated probability, shape (row,).

    Source: Dimitriadis, Gneiting and Jordan (2021), PNAS 118(8), e2016191118, equations 4 and 5.
    """
    happened = event.astype(float)
    stated = np.square(probability - happened).mean()
    best = np.square(recalibrated(happened, probability) - happened).mean()
    constant = np.square(happened.mean() - happened).mean()
    return BrierDecomposition(float(stated - best), float(constant - best), float(constant))


def recalibrated(
    event: Float[np.ndarray, " row"], probability: Float[np.ndarray, " row"]
) -> Float[np.ndarray, " row"]:
    """Return the recalibrated probability of each row, by isotonic regression.

    The least-squares fit of the events that never falls as the probability rises (pool adjacent
    violators). Rows of equal probability are pooled first, so they get equal answers.

    Args:
        event: 1 where the event happened, else 0, shape (row,).
        probability: its stated probability, shape (row,).

    Source: Dimitriadis, Gneiting and Jordan (2021), PNAS 118(8), e2016191118.
    """
    from scipy.optimize import isotonic_regression

    _, place, count = np.unique(probability, return_inverse=True, return_counts=True)
    frequency = np.bincount(place, event) / count
    return isotonic_regression(frequency, weights=count).x[place]
