"""Newton's method for the density of what was observed where rows lack cells.

Complete rows give every coordinate a known curvature; missing cells take some of it away, nearly
all where much is missing. Each step solves for that with conjugate gradients in units of the
complete rows' curvature, so that the first direction is that of EM (Fisher's identity), and each
further one deals with another direction of which the missing cells hold most of the information.
EM by itself, and its accelerations, need thousands of steps where weights are far apart.

Source: Dempster, Laird and Rubin (1977) for the gradient; Nocedal and Wright, Numerical
Optimization (2nd ed.), algorithm 7.1 (line search Newton-CG).
"""

import abc
import dataclasses

import numpy as np
from jaxtyping import Float

from bayesgen.typing import Params

MAX_STEPS = 500
"""Twice what the slowest of 36 tables of weights up to 1e5, half of the cells missing, took."""
ROUNDING = 1e-13
"""Share of the terms of a log density by which rounding may move their sum: some 500 ulp."""
TRUST = 2.0
"""Largest step of a coordinate: in the logarithm of a deviation or of a probability."""
SHORTEST = 4.0**-10
"""Share of a step below which none is tried."""
SHORT = 1e-9
"""A last step in deviations or logarithms: where it leads is nearer than its square, or rounds."""
MOST_PRODUCTS = 500
"""Products with the Hessian of one step; 4 per coordinate are enough to 1e-10 of the gradient."""
STOPPED = (
    "The optimiser stopped before it converged: a column may hold too few observed cells; "
    "leave it out or use inference='exact'."
)

Flat = Float[np.ndarray, " coordinate"]


@dataclasses.dataclass(frozen=True)
class OptimumReport:
    """How the search for a mode or a maximum ended.

    converged: no step promises more than what rounding hides. iterations: Newton's steps.
    gradient_norm: of the log likelihood (or log posterior) of what was observed, per row, in
    coordinates whitened by the covariance, or in log-odds. log_likelihood: of what was observed, at
    the parameters returned.
    """

    converged: bool
    iterations: int
    gradient_norm: float
    log_likelihood: float

    def details(self, block: str) -> dict[str, float]:
        """Return the numbers of a report."""
        return {
            f"{block}.iterations": float(self.iterations),
            f"{block}.gradient_norm": float(self.gradient_norm),
            f"{block}.converged": float(self.converged),
        }


class Point(abc.ABC):
    """Parameters, and the log density of what was observed around them to second order.

    Coordinates are a family's own, 0 at the point, and without a unit: the logarithm of a
    deviation or a probability, or a mean in deviations.

    Attributes:
        params: where it is.
        value: log density.
        scale: the sum of the sizes of its terms.
        gradient: of the log density.
        curvature: minus the second derivatives that complete rows would have, all above 0.
    """

    params: Params
    value: float
    scale: float
    gradient: Flat
    curvature: Flat

    @property
    @abc.abstractmethod
    def gradient_norm(self) -> float:
        """Norm of the gradient, whatever coordinates are."""

    @abc.abstractmethod
    def product(self, direction: Flat) -> Flat:
        """Return minus the Hessian times a direction."""

    @abc.abstractmethod
    def moved(self, direction: Flat) -> "Point":
        """Return the point there.

        Raises:
            np.linalg.LinAlgError: rounding leaves no point there.
        """


def maximise(here: Point) -> tuple[Point, bool, int]:
    """Climb until no step promises more than rounding hides, and the promise no longer falls.

    Each step leads higher, but for rounding.

    Returns:
        the highest point, whether that is the end (else nothing higher was found, or the steps were
        too many), steps taken.
    """
    best, least = here, np.inf
    for steps in range(1, MAX_STEPS + 1):
        hidden = ROUNDING * here.scale
        norm = np.sqrt((here.gradient**2 / here.curvature).sum() / here.curvature.sum())
        direction = _newton(here, min(0.1, np.sqrt(norm)))
        gain = float(here.gradient @ direction)
        if gain > 4 * hidden:
            there = _higher(here, direction, hidden)
            if there is None:
                return here, False, steps
            here = there
            continue
        direction = _newton(here, 1e-10)
        gain = float(here.gradient @ direction)
        if gain >= least / 4:
            return best, True, steps
        best, least = here, gain
        there = _moved(here, direction)
        if there is None or not there.value >= here.value - hidden:
            return here, True, steps
        if np.abs(direction).max() <= SHORT:
            return there, True, steps
        here = there
    return here, False, MAX_STEPS


def _newton(here: Point, tolerance: float) -> Flat:
    """Return the way to the top of the parabola, or the first part of it that is surely uphill."""
    way, left = np.zeros_like(here.gradient), here.gradient
    scaled = left / here.curvature
    along, square = scaled, left @ scaled
    enough = tolerance**2 * square
    for _ in range(min(4 * len(left), MOST_PRODUCTS)):
        if square <= enough:
            break
        curved = here.product(along)
        curvature = along @ curved
        if curvature <= 1e-14 * (along**2 @ here.curvature):
            return way if way.any() else along
        way = way + square / curvature * along
        left = left - square / curvature * curved
        scaled = left / here.curvature
        before, square = square, left @ scaled
        along = scaled + square / before * along
    return way


def _higher(here: Point, direction: Flat, hidden: float) -> Point | None:
    """Return a point along the direction that is higher by more than rounding, if there is one."""
    share = min(1.0, TRUST / np.abs(direction).max())
    while share > SHORTEST:
        there = _moved(here, share * direction)
        if there is not None and there.value > here.value + hidden:
            return there
        share /= 4
    return None


def _moved(here: Point, direction: Flat) -> Point | None:
    """Return the point there, or None where rounding leaves none."""
    try:
        with np.errstate(all="ignore"):
            there = here.moved(direction)
    except np.linalg.LinAlgError:
        return None
    # infinitely high: a matrix that has rounded to a singular one
    return there if np.isfinite(there.value) else None
