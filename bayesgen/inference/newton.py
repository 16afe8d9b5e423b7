"""Newton's method for the observed-data log density of incomplete rows.

Complete rows determine the curvature of every coordinate; missing cells reduce it, almost to 0 if
most cells are missing. Each step solves the Newton equations by conjugate gradients,
preconditioned by the curvature of complete rows: the first direction is that of EM (Fisher's
identity), and each further one adds a direction in which most of the information is missing. EM
and its accelerations need thousands of steps if weights differ by orders of magnitude.

Source: Dempster, Laird and Rubin (1977) for the gradient; Nocedal and Wright, Numerical
Optimization (2nd ed.), algorithm 7.1 (line search Newton-CG).
"""

import abc
import dataclasses

import numpy as np
from jaxtyping import Float

from bayesgen.errors import Words
from bayesgen.typing import Params

MAX_STEPS = 500
"""Twice the steps of the slowest of 36 tables, with weights up to 1e5 and half of the cells
missing."""
ROUNDING = 1e-13
"""Error of a log density by rounding, relative to the size of its terms: some 500 ulp."""
TRUST = 2.0
"""Largest step of a coordinate, in the logarithm of a deviation or of a probability."""
SHORTEST = 4.0**-10
"""Smallest fraction of a step that the line search tries."""
SHORT = 1e-9
"""Length of a last step, in deviations or logarithms: the error after it is about its square, or
rounding."""
MOST_PRODUCTS = 500
"""Hessian-vector products per step; 4 per coordinate reduce the gradient to 1e-10 of itself."""
STOPPED = Words(
    "The optimizer stopped before it converged: a column may hold too few observed cells; leave "
    "it out or use inference='exact'.",
    "The optimizer stopped before it converged: a column may hold too few observed cells; leave "
    "it out or use --inference exact.",
)

Flat = Float[np.ndarray, " coordinate"]


@dataclasses.dataclass(frozen=True)
class OptimumReport:
    """Report of the search for a mode or a maximum.

    converged: no step is expected to gain more than rounding. iterations: Newton steps.
    gradient_norm: of the log likelihood (or log posterior) of the observed cells, per row, in
    coordinates whitened by the covariance, or in log-odds. log_likelihood: of the observed cells,
    at the parameters returned.
    """

    converged: bool
    iterations: int
    gradient_norm: float
    log_likelihood: float

    def details(self, block: str) -> dict[str, float]:
        """Return the entries of `Report.details`."""
        return {
            f"{block}.iterations": float(self.iterations),
            f"{block}.gradient_norm": float(self.gradient_norm),
            f"{block}.converged": float(self.converged),
        }


class Point(abc.ABC):
    """Parameters, and the log density of the observed cells around them to second order.

    Each family chooses its coordinates, 0 at the point and without a unit: the logarithm of a
    deviation or a probability, or a mean in deviations.

    Attributes:
        params: the parameters.
        value: log density.
        scale: sum of the absolute values of its terms.
        gradient: of the log density.
        curvature: minus the second derivatives under complete rows, all above 0.
    """

    params: Params
    value: float
    scale: float
    gradient: Flat
    curvature: Flat

    @property
    @abc.abstractmethod
    def gradient_norm(self) -> float:
        """Norm of the gradient, independent of the choice of coordinates."""

    @abc.abstractmethod
    def product(self, direction: Flat) -> Flat:
        """Return minus the Hessian times a direction."""

    @abc.abstractmethod
    def moved(self, direction: Flat) -> "Point":
        """Return the point in that direction.

        Raises:
            np.linalg.LinAlgError: its covariance is singular to rounding.
        """


def maximise(here: Point) -> tuple[Point, bool, int]:
    """Maximize by Newton steps until the expected gain is below rounding and stops falling.

    No step decreases the density by more than rounding.

    Returns:
        The highest point; whether the search converged (if not, the line search failed, or the
        steps ran out); the number of steps.
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
    """Return the Newton direction, truncated where the curvature is not positive."""
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
    """Return a point along the direction that is higher by more than rounding, or None."""
    share = min(1.0, TRUST / np.abs(direction).max())
    while share > SHORTEST:
        there = _moved(here, share * direction)
        if there is not None and there.value > here.value + hidden:
            return there
        share /= 4
    return None


def _moved(here: Point, direction: Flat) -> Point | None:
    """Return the point in that direction, or None if its covariance is singular to rounding."""
    try:
        with np.errstate(all="ignore"):
            there = here.moved(direction)
    except np.linalg.LinAlgError:
        return None
    # infinite values come from matrices that are singular to rounding
    return there if np.isfinite(there.value) else None
