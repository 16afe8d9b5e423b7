"""Scores: log loss, Brier score and its decomposition, accuracy, calibration error, ROC AUC."""

import dataclasses

import numpy as np
from jaxtyping import Bool, Float, Int

from bayesgen.calibrate.targets import Classes, read
from bayesgen.membership import expected, shares_of
from bayesgen.typing import Joint, Membership, Weights

BINS = 15
"""Number of confidence bins of Guo et al. (2017)."""


def log_loss(y_true: object, proba: object, classes: Classes = None) -> float:
    """Return the mean of -log p(true class), in nats; 0 is perfect.

    It is infinite if a true class has probability 0. scikit-learn clips such a probability instead.

    Args:
        y_true: labels, shape (row,), or shares of the classes, shape (row, class).
        proba: class probabilities, shape (row, class).
        classes: the class of each column of proba, `clf.classes_`; None: the labels, sorted.

    Source: Good (1952), Journal of the Royal Statistical Society B 14, 107-114.

    Examples:
        >>> import numpy as np
        >>> from bayesgen.calibrate import log_loss
        >>> log_loss(["no", "yes"], np.array([[0.5, 0.5], [1.0, 0.0]]))
        inf
    """
    y, probability = read(y_true, proba, classes)
    with np.errstate(divide="ignore"):
        return float(-expected(np.log(probability), y).mean())


def log_loss_at(
    y_true: object,
    log_proba: object,
    classes: Classes = None,
    *,
    frequencies: Float[np.ndarray, " class"],
    weight: Weights | None = None,
) -> float:
    """Return the log loss in a population of other class frequencies, in nats.

    It is sum_k p_k times the mean of -log P(y = k) over the rows of class k, so that a row of class
    k counts p_k / f_k times, where f_k is the frequency of its class among the rows. Under label
    shift the rows of a class are a sample of that class there.

    Args:
        y_true: labels, shape (row,), or shares of the classes, shape (row, class).
        log_proba: log class probabilities, which are to be those of that population.
        classes: the class of each column of log_proba; None: the labels, sorted.
        frequencies: p, shape (class,), summing to one.
        weight: of the rows; None: 1.

    Returns:
        The loss; NaN where no row has a class of that population.

    Source: Saerens, Latinne and Decaestecker (2002), Neural Computation 14, 21-41, section 2.

    Examples:
        >>> import numpy as np
        >>> from bayesgen.calibrate import log_loss_at
        >>> log_proba = np.log([[0.9, 0.1], [0.2, 0.8], [0.2, 0.8]])
        >>> y = np.array([0, 1, 1])
        >>> round(log_loss_at(y, log_proba, frequencies=np.array([0.75, 0.25])), 6)
        0.134806
    """
    y, logs = read(y_true, log_proba, classes)
    share = shares_of(y, logs.shape[1])
    share = share if weight is None else share * weight[:, None]
    count, there = share.sum(axis=0), frequencies > 0
    loss = -(np.where(share > 0, logs, 0.0) * share).sum(axis=0)
    if (there & (count == 0)).any():
        return float("nan")
    return float(frequencies[there] @ (loss[there] / count[there]))


def brier(y_true: object, proba: object, classes: Classes = None) -> float:
    """Return the mean over rows of sum_k (p_k - [y = k])^2; 0 is perfect, 2 is the worst.

    This is Brier's own sum over all classes. For two classes it is twice the mean of (p - y)^2,
    which some libraries report.

    Args:
        y_true: labels, shape (row,), or shares of the classes, shape (row, class).
        proba: class probabilities, shape (row, class).
        classes: the class of each column of proba, `clf.classes_`; None: the labels, sorted.

    Source: Brier (1950), Monthly Weather Review 78, 1-3.

    Examples:
        >>> import numpy as np
        >>> from bayesgen.calibrate import brier
        >>> brier(np.array([0, 1]), np.array([[0.5, 0.5], [1.0, 0.0]]))
        1.25
    """
    y, probability = read(y_true, proba, classes)
    share = shares_of(y, probability.shape[1])
    return float((np.square(probability - share) + share * (1 - share)).sum(axis=1).mean())


def accuracy(y_true: object, proba: object, classes: Classes = None) -> float:
    """Return the share of rows whose most probable class is true; ties go to the first class.

    Args:
        y_true: labels, shape (row,), or shares of the classes, shape (row, class).
        proba: class probabilities, shape (row, class).
        classes: the class of each column of proba, `clf.classes_`; None: the labels, sorted.

    Examples:
        >>> import numpy as np
        >>> from bayesgen.calibrate import accuracy
        >>> accuracy(np.array([0, 1]), np.array([[0.5, 0.5], [1.0, 0.0]]))
        0.5
    """
    return float(_right(*read(y_true, proba, classes)).mean())


def _right(y: Membership, probability: Joint) -> Float[np.ndarray, " row"]:
    """Return the share of each row that its most probable class has."""
    return shares_of(y, probability.shape[1])[np.arange(len(y)), probability.argmax(axis=1)]


def calibration_error(
    y_true: object, proba: object, classes: Classes = None, *, bins: int = BINS
) -> float:
    """Return the top-label expected calibration error, between 0 and 1; 0 is perfect.

    The rows are put into bins of equal width by their confidence, the probability of the most
    probable class: bin b of B holds (b - 1)/B < confidence <= b/B. The error is

        sum_b rows_b / rows * |accuracy_b - mean confidence_b|.

    Equal confidences always share a bin, so the order of the rows does not matter. With few rows
    the error is mostly noise, and positive even for true probabilities: in simulations with
    uniformly distributed confidences, about .15 for 40 rows, .07 for 200 and .03 for 1,000. Choose
    between classifiers by log loss or Brier score.

    Args:
        y_true: labels, shape (row,), or shares of the classes, shape (row, class).
        proba: class probabilities, shape (row, class).
        classes: the class of each column of proba, `clf.classes_`; None: the labels, sorted.
        bins: number of bins, at least 1.

    Source: Guo, Pleiss, Sun and Weinberger (2017), ICML, equation 3.

    Examples:
        Two rows with confidence .75, and the label of one of them:

        >>> import numpy as np
        >>> from bayesgen.calibrate import calibration_error
        >>> calibration_error(np.array([0, 1]), np.array([[0.75, 0.25], [0.75, 0.25]]))
        0.25
    """
    y, probability = read(y_true, proba, classes)
    confidence = probability.max(axis=1)
    gap = _right(y, probability) - confidence
    place = bin_of(confidence, bins)
    return float(np.abs(np.bincount(place, gap, minlength=bins)).sum() / len(y))


def bin_of(probability: Float[np.ndarray, " row"], bins: int) -> Int[np.ndarray, " row"]:
    """Return the bin of equal width that holds each probability, its lower end left out."""
    # probabilities sum to one only to rounding: 1 + 1e-16 belongs to the last bin
    return np.clip(np.ceil(probability * bins).astype(int) - 1, 0, bins - 1)


def overconfidence(y_true: object, proba: object, classes: Classes = None) -> float:
    """Return how many standard errors the Brier score is above the one the probabilities expect.

    Above 0 the probabilities are too extreme, below 0 too cautious. If they are right, the result
    is about standard normal.

    Source: Spiegelhalter (1986), Statistics in Medicine 5, 421-433; here for several classes.

    Args:
        y_true: labels, shape (row,).
        proba: class probabilities, shape (row, class).
        classes: the class of each column of proba, `clf.classes_`; None: the labels, sorted.

    Examples:
        Of 100 rows of confidence .9, 80 are right:

        >>> import numpy as np
        >>> from bayesgen.calibrate import overconfidence
        >>> probability = np.tile([0.9, 0.1], (100, 1))
        >>> round(overconfidence(np.repeat([0, 1], [80, 20]), probability), 2)
        3.33
    """
    y, probability = read(y_true, proba, classes)
    # Brier score of a row if its class is k
    scores = (probability**2).sum(axis=1, keepdims=True) - 2 * probability + 1
    expected = (probability * scores).sum(axis=1)
    variance = np.maximum((probability * scores**2).sum(axis=1) - expected**2, 0.0).sum()
    excess = (scores[np.arange(len(y)), y] - expected).sum()
    if variance == 0:
        return 0.0 if abs(excess) < 1e-9 else float(np.sign(excess) * np.inf)
    return float(excess / np.sqrt(variance))


def area_under_roc(y_true: object, proba: object, classes: Classes = None) -> float:
    """Return the area under the ROC curve (AUC).

    Two classes: the share of pairs, one row of each, in which the row of the second class has the
    higher probability of it; ties count half. More classes: the mean over classes of this share
    for the class against the rest. 1 is perfect, 0.5 no information; NaN where a class has no row
    or all rows.

    Args:
        y_true: labels, shape (row,), or shares of the classes, shape (row, class).
        proba: class probabilities, shape (row, class).
        classes: the class of each column of proba, `clf.classes_`; None: the labels, sorted.

    Source: Hanley and McNeil (1982), Radiology 143, 29-36.

    Examples:
        >>> import numpy as np
        >>> from bayesgen.calibrate import area_under_roc
        >>> p = np.array([[0.9, 0.1], [0.6, 0.4], [0.6, 0.4]])
        >>> area_under_roc(np.array([0, 0, 1]), p)
        0.75
    """
    y, probability = read(y_true, proba, classes)
    size = probability.shape[1]
    share = shares_of(y, size)
    compared = range(1, 2) if size == 2 else range(size)
    return float(np.mean([_higher(share[:, k], probability[:, k]) for k in compared]))


def _higher(event: Float[np.ndarray, " row"], probability: Float[np.ndarray, " row"]) -> float:
    events, others = event.sum(), (1 - event).sum()
    if events == 0 or others == 0:
        return np.nan
    _, place = np.unique(probability, return_inverse=True)
    other = np.bincount(place, 1 - event)
    # ties count half
    below = np.cumsum(other) - other / 2
    return float((below[place] * event).sum() / (events * others))


@dataclasses.dataclass(frozen=True)
class BrierDecomposition:
    """Parts of a Brier score, which is miscalibration - discrimination + uncertainty.

    Attributes:
        miscalibration: what recalibration would gain (MCB), at least 0.
        discrimination: what the recalibrated probabilities gain over the overall class fractions
            (DSC), at least 0.
        uncertainty: the Brier score of those fractions (UNC).
    """

    miscalibration: float
    discrimination: float
    uncertainty: float


def brier_decomposition(
    y_true: object, proba: object, classes: Classes = None
) -> BrierDecomposition:
    """Return miscalibration, discrimination and uncertainty of the Brier score.

    Each class is taken against the rest (`event_decomposition`) and the parts are summed over
    classes, as `brier` sums them; for two classes that is twice the decomposition of the binary
    score.

    Args:
        y_true: labels, shape (row,), or shares of the classes, shape (row, class).
        proba: class probabilities, shape (row, class).
        classes: the class of each column of proba, `clf.classes_`; None: the labels, sorted.

    Source: Dimitriadis, Gneiting and Jordan (2021), PNAS 118(8), e2016191118, equations 4 and 5.

    Examples:
        >>> import numpy as np
        >>> from bayesgen.calibrate import brier_decomposition
        >>> p = np.array([[0.75, 0.25], [0.75, 0.25], [0.25, 0.75]])
        >>> parts = brier_decomposition(np.array([0, 0, 1]), p)
        >>> round(parts.miscalibration, 3), round(parts.discrimination, 3)
        (0.125, 0.444)
    """
    y, probability = read(y_true, proba, classes)
    size = probability.shape[1]
    share = shares_of(y, size)
    parts = [event_decomposition(share[:, k], probability[:, k]) for k in range(size)]
    return BrierDecomposition(
        sum(part.miscalibration for part in parts),
        sum(part.discrimination for part in parts),
        sum(part.uncertainty for part in parts),
    )


def event_decomposition(
    event: Bool[np.ndarray, " row"] | Float[np.ndarray, " row"],
    probability: Float[np.ndarray, " row"],
) -> BrierDecomposition:
    """Return the three parts of the mean of (p - event)^2.

    With c the isotonic recalibration of p (`recalibrated`), f the share of events and S the mean
    squared difference from the events: miscalibration = S(p) - S(c), discrimination = S(f) - S(c),
    uncertainty = S(f) = f (1 - f).

    Args:
        event: whether it happened, or with which probability, shape (row,).
        probability: its stated probability, shape (row,).

    Source: Dimitriadis, Gneiting and Jordan (2021), PNAS 118(8), e2016191118, equations 4 and 5.

    Examples:
        >>> import numpy as np
        >>> from bayesgen.calibrate import event_decomposition
        >>> event_decomposition(np.array([False, True]), np.array([0.5, 0.5]))
        BrierDecomposition(miscalibration=0.0, discrimination=0.0, uncertainty=0.25)
    """
    happened = event.astype(float)
    stated = np.square(probability - happened).mean()
    best = np.square(recalibrated(happened, probability) - happened).mean()
    constant = np.square(happened.mean() - happened).mean()
    # of an event that is itself uncertain
    chance = (happened * (1 - happened)).mean()
    return BrierDecomposition(
        float(stated - best), float(constant - best), float(constant + chance)
    )


def recalibrated(
    event: Float[np.ndarray, " row"], probability: Float[np.ndarray, " row"]
) -> Float[np.ndarray, " row"]:
    """Return the recalibrated probability of each row, by isotonic regression.

    The least-squares fit of the events that never falls as the probability rises (pool adjacent
    violators). Rows of equal probability are pooled first, so they get equal results.

    Args:
        event: 1 where the event happened, else 0, shape (row,).
        probability: its stated probability, shape (row,).

    Source: Dimitriadis, Gneiting and Jordan (2021), PNAS 118(8), e2016191118.

    Examples:
        >>> import numpy as np
        >>> from bayesgen.calibrate import recalibrated
        >>> recalibrated(np.array([0.0, 1.0, 0.0, 1.0]), np.array([0.1, 0.4, 0.6, 0.9]))
        array([0. , 0.5, 0.5, 1. ])
    """
    from scipy.optimize import isotonic_regression

    _, place, count = np.unique(probability, return_inverse=True, return_counts=True)
    frequency = np.bincount(place, event) / count
    return isotonic_regression(frequency, weights=count).x[place]
