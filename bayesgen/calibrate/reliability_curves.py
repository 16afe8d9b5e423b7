"""Reliability curves: observed frequency of an event against its stated probability.

A curve consists of the three small tables needed to plot it: the pooled blocks of the
recalibrated probabilities, the band in which they would lie if the stated probabilities were right,
and the counts of rows by stated probability.
"""

import dataclasses
from collections.abc import Hashable

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float

from bayesgen import arguments
from bayesgen.calibrate.scores import BrierDecomposition, bin_of, event_decomposition
from bayesgen.calibrate.targets import Classes, names, read

TOP_LABEL = "top label"
"""Name of the curve of the most probable class: its event is that this class is the true one."""

BAND_POINTS = 400
"""A band is kept at so many of the stated probabilities at most: more are not seen in a picture."""

HISTOGRAM_BINS = 20


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class ReliabilityCurve:
    """Frequency of an event, given its stated probability.

    Attributes:
        name: the class that the event stands for, against all others, or "top label".
        blocks: DataFrame, one row for each step of the recalibrated probabilities, from low to
            high: `lowest` and `highest` stated probability in it, `frequency` of the event, `rows`
            and `events`.
        band: DataFrame of the consistency band: at `probability`, the pointwise `lower` and `upper`
            ends between which the recalibrated probability would lie with probability `prob` if
            every stated probability were right. At most 400 of the stated probabilities.
        histogram: DataFrame of 20 bins of equal width: `rows` stated `above` < probability <=
            `upto` (the first bin holds 0 too).
        decomposition: of the event's Brier score, the mean of (p - event)^2.
        prob: the level of the band.
        rows: number of rows.
    """

    name: Hashable
    blocks: pd.DataFrame
    band: pd.DataFrame
    histogram: pd.DataFrame
    decomposition: BrierDecomposition
    prob: float
    rows: int

    def __repr__(self) -> str:
        """Return the event and its miscalibration in one line."""
        part = self.decomposition.miscalibration
        return f"ReliabilityCurve({self.name!r}, {self.rows:,} rows, miscalibration {part:.3f})"


def reliability(
    y_true: object,
    proba: object,
    classes: Classes = None,
    *,
    rng: np.random.Generator,
    prob: float = 0.9,
    resamples: int = 500,
) -> tuple[ReliabilityCurve, ...]:
    """Return a reliability curve for each class against the rest, and one for the top label last.

    For two classes only the second has a curve, since that of the first mirrors it.

    Args:
        y_true: labels, shape (row,).
        proba: class probabilities, shape (row, class).
        classes: the class of each column of proba, `clf.classes_`; None: the labels, sorted.
        rng: draws the events.
        prob: level of the bands.
        resamples: number of sets of events behind a band.

    Examples:
        >>> import numpy as np
        >>> from bayesgen.calibrate import reliability
        >>> p = np.array([[0.9, 0.1], [0.6, 0.4], [0.3, 0.7]])
        >>> curves = reliability(
        ...     ["dry", "dry", "rain"], p, ["dry", "rain"], rng=np.random.default_rng(0)
        ... )
        >>> [curve.name for curve in curves]
        ['rain', 'top label']
    """
    y, probability = read(y_true, proba, classes)
    named = names(y_true, probability.shape[1], classes)
    shown = range(1, 2) if len(named) == 2 else range(len(named))
    events = {named[k]: (y == k, probability[:, k]) for k in shown}
    events[TOP_LABEL] = (y == probability.argmax(axis=1), probability.max(axis=1))
    return tuple(
        reliability_curve(event, stated, name=name, rng=rng, prob=prob, resamples=resamples)
        for name, (event, stated) in events.items()
    )


def reliability_curve(
    event: Bool[np.ndarray, " row"],
    probability: Float[np.ndarray, " row"],
    *,
    name: Hashable,
    rng: np.random.Generator,
    prob: float = 0.9,
    resamples: int = 500,
) -> ReliabilityCurve:
    """Return the CORP reliability curve of one event, with its consistency band.

    The curve is the isotonic regression of the event on its stated probability, ties pooled: no bin
    is chosen by hand. The band is simulated: events are drawn with the stated probabilities, which
    stay as they are (the paper draws these anew too), each set is recalibrated in the same way, and
    at each probability the band holds the central `prob` of the results. With 500 resamples the
    level of a pointwise .9 band has a Monte Carlo standard error of .013.

    Args:
        event: whether it happened, shape (row,).
        probability: its stated probability, shape (row,).
        name: of the event.
        rng: draws the events.
        prob: level of the band, above 0 and below 1.
        resamples: number of simulated sets of events, at least 1.

    Raises:
        InvalidArgument: an invalid level or number of resamples.

    Source: Dimitriadis, Gneiting and Jordan (2021), PNAS 118(8), e2016191118; for the bands
    Bröcker and Smith (2007), Weather and Forecasting 22, 651-661.

    Examples:
        >>> import numpy as np
        >>> from bayesgen.calibrate import reliability_curve
        >>> rng = np.random.default_rng(0)
        >>> stated = rng.random(1000)
        >>> curve = reliability_curve(rng.random(1000) < stated, stated, name="rain", rng=rng)
        >>> curve.rows, curve.decomposition.miscalibration < 0.01
        (1000, True)
    """
    arguments.share("prob", prob)
    arguments.count("resamples", resamples, default=500)
    stated, place, rows = np.unique(probability, return_inverse=True, return_counts=True)
    events = np.bincount(place, event)
    return ReliabilityCurve(
        name=name,
        blocks=_blocks(stated, rows, events),
        band=_band(stated, rows, prob, resamples, rng),
        histogram=_histogram(probability),
        decomposition=event_decomposition(event, probability),
        prob=prob,
        rows=len(event),
    )


def _blocks(stated: np.ndarray, rows: np.ndarray, events: np.ndarray) -> pd.DataFrame:
    from scipy.optimize import isotonic_regression

    start = isotonic_regression(events / rows, weights=rows).blocks[:-1].astype(int)
    last = np.append(start[1:], len(stated)) - 1
    pooled_rows, pooled_events = np.add.reduceat(rows, start), np.add.reduceat(events, start)
    return pd.DataFrame(
        {
            "lowest": stated[start],
            "highest": stated[last],
            "frequency": pooled_events / pooled_rows,
            "rows": pooled_rows,
            "events": pooled_events.astype(int),
        }
    )


def _band(
    stated: np.ndarray, rows: np.ndarray, prob: float, resamples: int, rng: np.random.Generator
) -> pd.DataFrame:
    from scipy.optimize import isotonic_regression

    kept = np.unique(np.linspace(0, len(stated) - 1, BAND_POINTS).round().astype(int))
    # probabilities are sums to one only up to rounding
    right = np.clip(stated, 0.0, 1.0)
    curves = np.empty((resamples, len(kept)))
    for curve in curves:
        frequency = rng.binomial(rows, right) / rows
        curve[:] = isotonic_regression(frequency, weights=rows).x[kept]
    lower, upper = np.quantile(curves, [(1 - prob) / 2, (1 + prob) / 2], axis=0)
    return pd.DataFrame({"probability": stated[kept], "lower": lower, "upper": upper})


def _histogram(probability: np.ndarray) -> pd.DataFrame:
    edges = np.arange(HISTOGRAM_BINS + 1) / HISTOGRAM_BINS
    rows = np.bincount(bin_of(probability, HISTOGRAM_BINS), minlength=HISTOGRAM_BINS)
    return pd.DataFrame({"above": edges[:-1], "upto": edges[1:], "rows": rows})
