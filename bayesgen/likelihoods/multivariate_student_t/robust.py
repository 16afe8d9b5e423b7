"""Guesses and centres that a wild row does not move: medians, and a few steps of EM for the t.

Nothing here is an answer: guesses enter the prior, centres say where an optimiser or a sampler
starts and how long its steps are.
"""

import dataclasses

import numpy as np
from jaxtyping import Float

from bayesgen.likelihoods.base import Likelihood
from bayesgen.likelihoods.distinct_rows import Rows
from bayesgen.likelihoods.multivariate_normal.marginal_density import by_pattern
from bayesgen.likelihoods.multivariate_student_t.density import constants

NORMAL_MAD = 1.4826
"""Standard deviation of a normal per median absolute deviation, 1 / Phi^-1(3/4)."""
STEPS = 20
GRID = np.geomspace(1.0, 200.0, 25)
"""Degrees of freedom among which EM chooses: heavier tails than Cauchy's make no sense as a start,
and from 200 on a t is all but normal."""

SHAPE, RATE = 2.0, 0.1
"""Of the Gamma prior on degrees of freedom, vague between Cauchy's tails and normal ones.
Source: Juarez and Steel, JBES 28 (2010) 52-66."""

Column = Float[np.ndarray, " feature"]


def guesses(rows: Rows) -> tuple[Column, Column]:
    """Return each column's overall median and a squared spread within classes.

    That is the squared median of distances from the class's median, those of 0 left out (half of
    the cells may be equal), made comparable to a variance; where all are 0, from the overall
    median; NaN where these are 0 too.
    """
    centre, variance = np.full((2, rows.x.shape[1]), np.nan)
    for j, cells in enumerate(rows.x.T):
        seen = ~np.isnan(cells)
        x, y, weight = cells[seen], rows.y[seen], rows.weight[seen]
        if not len(x):
            continue
        centre[j] = median(x, weight)
        own = class_medians(x, y, weight, rows.n_classes)
        for away in (np.abs(x - own[y]), np.abs(x - centre[j])):
            if away.any():
                variance[j] = (NORMAL_MAD * median(away[away > 0], weight[away > 0])) ** 2
                break
    return np.where(np.isnan(centre), 0.0, centre), variance


def median(x: np.ndarray, weight: np.ndarray) -> float:
    """Return the weighted median: the middle between the lower and the upper one."""
    order = np.argsort(x, kind="stable")
    total = np.cumsum(weight[order])
    at = [np.searchsorted(total, total[-1] / 2, side) for side in ("left", "right")]
    return float(x[order][np.minimum(at, len(x) - 1)].mean())


def class_medians(
    x: np.ndarray, y: np.ndarray, weight: np.ndarray, n_classes: int
) -> Float[np.ndarray, " class"]:
    """Return the median of each class, NaN where it has no cell."""
    parts = ((x[y == k], weight[y == k]) for k in range(n_classes))
    return np.array([median(*part) if len(part[0]) else np.nan for part in parts])


@dataclasses.dataclass(frozen=True)
class Centre:
    """Where a posterior sits.

    mean (class, feature) of mean_rows (class,); scale (class or 1, feature, feature) of scale_rows
    (class or 1,); log_degrees and its standard error.
    """

    mean: np.ndarray
    mean_rows: np.ndarray
    scale: np.ndarray
    scale_rows: np.ndarray
    log_degrees: float
    log_width: float


def centre(prior: Likelihood, rows: Rows) -> Centre:
    """Return about the mode of the posterior, from medians by 20 steps of EM.

    A row with o observed columns counts (v + o) / (v + d) times; missing cells are filled with
    their expectation, and its covariance joins the scatter. v, where it is not fixed, is the best
    on a grid given the distances d. Source: Lange, Little and Taylor (1989); Liu and Rubin (1995).
    """
    classes = [np.flatnonzero(rows.y == k) for k in range(len(prior.mean))]
    groups = [list(by_pattern(rows.x[index])) for index in classes]
    seen = (~np.isnan(rows.x)).sum(axis=1)
    known = prior.degrees is not None
    now = _start(prior, rows)
    for _ in range(STEPS):
        parts = [
            _filled(rows.x[index], rows.weight[index], groups[k], now, k)
            for k, index in enumerate(classes)
        ]
        squares = np.concatenate([part[2] for part in parts] or [np.zeros(0)])
        fit = (now.log_degrees, now.log_width) if known else _degrees(squares, seen, rows.weight)
        v = np.exp(fit[0])
        # rows come sorted by class
        count = rows.weight * (v + seen) / (v + squares)
        now = _updated(prior, now, [count[index] for index in classes], parts, fit)
    return now


def _start(prior: Likelihood, rows: Rows) -> Centre:
    _, variance = guesses(rows)
    guess = np.diagonal(prior.scale, axis1=1, axis2=2)
    scale = np.where(np.isnan(variance), guess, variance)[..., None] * np.eye(len(variance))
    mean = prior.mean.copy()
    for j, cells in enumerate(rows.x.T):
        seen = ~np.isnan(cells)
        own = class_medians(cells[seen], rows.y[seen], rows.weight[seen], len(mean))
        mean[:, j] = np.where(np.isnan(own), mean[:, j], own)
    total = np.bincount(rows.y, rows.weight, minlength=len(mean))
    n = total.sum(keepdims=True) if prior.shared else total
    scale_rows = prior.covariance_rows + n
    fixed = np.log(prior.degrees or 5.0)
    return Centre(mean, prior.mean_rows + total, scale, scale_rows, fixed, 0.5)


def _filled(x, weight, groups, now: Centre, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return filled rows of one class, the covariance of the filling, and distances."""
    mean, scale = now.mean[k], now.scale[min(k, len(now.scale) - 1)]
    filled, spread, squares = x.copy(), np.zeros_like(scale), np.zeros(len(x))
    for masks, members in groups:
        for mask, at in zip(masks, members, strict=True):
            root = np.linalg.inv(np.linalg.cholesky(scale[np.ix_(mask, mask)]))
            z = (x[np.ix_(at, mask)] - mean[mask]) @ root.T
            squares[at] = (z**2).sum(axis=1)
            slope = root @ scale[mask]
            if not mask.all():
                filled[at] = np.where(mask, x[at], mean + z @ slope)
                spread += weight[at].sum() * (scale - slope.T @ slope)
    return filled, spread, squares


def _updated(
    prior: Likelihood, now: Centre, counts: list, parts: list, fit: tuple[float, float]
) -> Centre:
    """Return the next centre: the conjugate update by rows that count differently."""
    mean, mean_rows, squares = [], [], []
    for k, (count, (filled, spread, _)) in enumerate(zip(counts, parts, strict=True)):
        total = count.sum()
        average = count @ filled / total if total > 0 else prior.mean[k]
        off, delta = filled - average, average - prior.mean[k]
        rows = prior.mean_rows[k] + total
        mean.append(prior.mean[k] + total / rows * delta)
        mean_rows.append(rows)
        pull = prior.mean_rows[k] * total / rows * np.outer(delta, delta)
        squares.append((off * count[:, None]).T @ off + spread + pull)
    scatter = np.array(squares)
    scatter = scatter.sum(axis=0, keepdims=True) if prior.shared else scatter
    scatter = scatter + prior.covariance_rows[:, None, None] * prior.scale
    scale = scatter / now.scale_rows[:, None, None]
    return Centre(np.array(mean), np.array(mean_rows), scale, now.scale_rows, *fit)


def _degrees(squares: np.ndarray, seen: np.ndarray, weight: np.ndarray) -> tuple[float, float]:
    """Return the log of the best degrees on the grid under the prior, and its standard error.

    Both by the parabola through the best and its neighbours.
    """
    table = constants(GRID, int(seen.max(initial=1)))
    power = (GRID[:, None] + seen) / 2
    height = (table[:, seen] - power * np.log1p(squares / GRID[:, None])) @ weight
    height = height + SHAPE * np.log(GRID) - RATE * GRID
    best = int(np.clip(height.argmax(), 1, len(GRID) - 2))
    left, top, right = height[best - 1 : best + 2]
    step, curve = np.log(GRID[1] / GRID[0]), min(left - 2 * top + right, -1e-3)
    shift = np.clip(0.5 * (left - right) / curve, -1.0, 1.0)
    return float(np.log(GRID[best]) + shift * step), float(min(step / np.sqrt(-curve), 1.0))
