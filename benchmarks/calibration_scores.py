"""Scores of the calibration benchmark: losses, paired differences, temperatures, noise floors."""

import dataclasses

import numpy as np
from calibration_cache import Answers
from scipy.optimize import minimize_scalar

from bayesgen.calibrate import BINS, calibration_error
from bayesgen.calibrate.scores import bin_of

CLIP = 1e-15
"""Smallest probability that a log loss counts: a true class given 0 costs 34.5 nats."""
SIMULATIONS = 200
"""Labels simulated for a noise floor; their 95 % point is good to some 5 %."""

Splits = dict[int, Answers]
"""What a classifier answered on the splits of one table."""


@dataclasses.dataclass(frozen=True)
class Difference:
    """Mean of a paired difference and its standard error, NaN for a single pair."""

    mean: float
    error: float

    @property
    def clear(self) -> bool:
        """Whether it is more than two standard errors from 0."""
        return abs(self.mean) > 2 * self.error


@dataclasses.dataclass(frozen=True)
class Calibration:
    """Calibration error, and what it would be if the stated probabilities were true.

    floor, limit: mean and 95 % point over labels simulated from the stated probabilities.
    """

    error: float
    floor: float
    limit: float


def losses(splits: Splits, by_row: bool) -> np.ndarray:
    """Return log losses: one for each row, the mean over the splits that score it, or each split's.

    Args:
        splits: answers.
        by_row: True for cross-validation, whose every row is scored as often; else splits.
    """
    found = [-_true(answers) for answers in splits.values()]
    if not by_row:
        return np.array([loss.mean() for loss in found])
    _, place = np.unique(np.concatenate([a.rows for a in splits.values()]), return_inverse=True)
    return np.bincount(place, np.concatenate(found)) / np.bincount(place)


def difference(ours: Splits, theirs: Splits, by_row: bool) -> Difference | None:
    """Return the mean difference in log loss over the splits that both have, None without one."""
    both = ours.keys() & theirs.keys()
    if not both:
        return None
    mine, other = ({s: splits[s] for s in sorted(both)} for splits in (ours, theirs))
    found = losses(mine, by_row) - losses(other, by_row)
    error = found.std(ddof=1) / np.sqrt(len(found)) if len(found) > 1 else np.nan
    return Difference(float(found.mean()), float(error))


def best_temperature(splits: Splits) -> float:
    """Return the temperature in .1 to 10 of the lowest log loss of p^(1 / temperature)."""
    log_p = np.maximum(np.concatenate([a.log_p for a in splits.values()]), np.log(CLIP))
    y = np.concatenate([a.y for a in splits.values()])
    rows = np.arange(len(y))

    def loss(log_temperature: float) -> float:
        tempered = log_p / np.exp(log_temperature)
        return float((np.logaddexp.reduce(tempered, axis=1) - tempered[rows, y]).mean())

    found = minimize_scalar(loss, bounds=(np.log(0.1), np.log(10)), method="bounded")
    return float(np.exp(found.x))


def calibration(splits: Splits) -> Calibration:
    """Return the top-label calibration error over the rows of all splits, and its noise floor.

    The floor simulates labels from the stated probabilities. A row that several splits score keeps
    one uniform number for all of them, so its labels agree as those of the table do.
    """
    p = np.exp(np.concatenate([a.log_p for a in splits.values()]))
    y = np.concatenate([a.y for a in splits.values()])
    _, row = np.unique(np.concatenate([a.rows for a in splits.values()]), return_inverse=True)
    top = p.argmax(axis=1)
    confidence = p[np.arange(len(p)), top]
    below = np.cumsum(p, axis=1)[np.arange(len(p)), top] - confidence
    place, rng = bin_of(confidence, BINS), np.random.default_rng(0)
    simulated = []
    for _ in range(SIMULATIONS):
        u = rng.random(row.max() + 1)[row]
        right = (below <= u) & (u < below + confidence)
        gaps = np.bincount(place, right - confidence, minlength=BINS)
        simulated.append(np.abs(gaps).sum() / len(p))
    floor, limit = float(np.mean(simulated)), float(np.quantile(simulated, 0.95))
    return Calibration(calibration_error(y, p, range(p.shape[1])), floor, limit)


def zeros(splits: Splits) -> float:
    """Return the share of rows whose true class was given probability 0."""
    return float(np.mean(np.concatenate([np.isneginf(_unclipped(a)) for a in splits.values()])))


def _unclipped(answers: Answers) -> np.ndarray:
    return answers.log_p[np.arange(len(answers.y)), answers.y]


def _true(answers: Answers) -> np.ndarray:
    return np.maximum(_unclipped(answers), np.log(CLIP))
