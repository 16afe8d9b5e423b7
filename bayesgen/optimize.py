"""Optimizers: Newton's method, for many small problems or a large one; L-BFGS; EM, accelerated.

`newton` climbs many functions of few coordinates at once, with their Hessians. `newton_cg` climbs
one function of thousands of coordinates, by products with its Hessian. `at_rest` finds where steps
such as those of EM end. `lbfgs` needs gradients alone. `mixture_weights` are the proportions of a
mixture of known densities.
"""

import abc
import contextlib
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from bayesgen.typing import Params, Traceable, Weights

MAX_STEPS = 500
"""Steps of `newton_cg` and of `lbfgs` at most. Of 36 tables, with weights up to 1e5 and half of the
cells missing, the slowest takes `newton_cg` half as many."""
ROUNDING = 1e-13
"""Error of a log density by rounding, relative to the size of its terms: some 500 ulp."""

Flat = Float[np.ndarray, " coordinate"]
Points = Float[np.ndarray, "problem coordinate"]

# -- many small problems ---------------------------------------------------------------------------

NEWTON_STEPS = 100
"""Steps of `newton` at most; from moments of a distribution it takes 10 to 25 (measured)."""
NEGLIGIBLE = 1e-20
"""Rise that a step promises below which a problem is solved."""
FALL = 1e-12
"""Relative fall of a function that may be rounding."""
LEAST, DAMPING, MOST = 1e-12, 1e-2, 1e12
"""Levenberg's damping, in units of the curvature: the least, the least after a bad step, and the
greatest, which ends the search."""
SOFTER, HARDER = 0.1, 8.0
"""Factors of the damping after a good step, and after a bad one."""


class Quadratic(NamedTuple):
    """Functions around points to second order, or with another matrix in place of the Hessian.

    value: (problem,). gradient: (problem, coordinate). hessian: (problem, coordinate, coordinate).
    """

    value: Traceable
    gradient: Traceable
    hessian: Traceable


def while_loop(condition: Callable, body: Callable, state: tuple) -> tuple:
    """Return the state after the body of a loop has run as long as the condition holds."""
    while condition(state):
        state = body(state)
    return state


def newton(
    function: Callable[[Traceable], Quadratic],
    start: Traceable,
    *,
    low: Traceable | float = -np.inf,
    high: Traceable | float = np.inf,
    damping: float = LEAST,
    longest: float = np.inf,
    negligible: float = NEGLIGIBLE,
    loop: Callable = while_loop,
) -> tuple[Traceable, Quadratic]:
    """Maximize functions by damped Newton steps; return the maxima, and the functions there.

    A step s solves (damping D^2 - H) s = g, D^2 = |diag H|: with damping it leads uphill where a
    function is not concave, whatever the units. Steps that lead down are taken back. Runs on NumPy
    and, with `jax.lax.while_loop`, on traced arrays.

    Source: Levenberg (1944), Quarterly of Applied Mathematics 2, 164-168; Marquardt (1963), Journal
    of the Society for Industrial and Applied Mathematics 11, 431-441.

    Args:
        function: points -> values, gradients and Hessians.
        start: a point for each function.
        low: bound of the coordinates.
        high: the same.
        damping: at the start.
        longest: largest change of a coordinate in one step.
        negligible: rise that a step promises, below which it is not taken.
        loop: repeats the steps.
    """
    xp = start.__array_namespace__()
    n, size = start.shape

    def proceed(state: tuple) -> tuple:
        steps, point, best, strength, _, proposal = state
        moved = function(proposal)
        risen = moved.value >= best.value - FALL * (1 + xp.abs(best.value))
        for array in moved:
            risen &= xp.isfinite(array).reshape(n, -1).all(axis=1)
        best = Quadratic(
            xp.where(risen, moved.value, best.value),
            xp.where(risen[:, None], moved.gradient, best.gradient),
            xp.where(risen[:, None, None], moved.hessian, best.hessian),
        )
        point = xp.where(risen[:, None], proposal, point)
        softer, harder = xp.maximum(SOFTER * strength, LEAST), HARDER * strength
        strength = xp.where(risen, softer, xp.clip(harder, DAMPING, MOST))
        step = _damped_step(best, strength)
        length = xp.abs(step).max(axis=1, keepdims=True, initial=0.0)
        proposal = xp.clip(point + step / xp.maximum(length / longest, 1.0), low, high)
        promise = xp.abs(best.gradient * (proposal - point)).sum(axis=1)
        return steps + 1, point, best, strength, xp.where(risen, promise, xp.inf), proposal

    def unsolved(state: tuple) -> Traceable:
        steps, _, _, strength, promise, _ = state
        return (steps < NEWTON_STEPS) & ((promise > negligible) & (strength < MOST)).any()

    lowest = Quadratic(xp.full(n, -xp.inf), xp.zeros((n, size)), xp.zeros((n, size, size)))
    state = 0, start, lowest, xp.full(n, damping), xp.full(n, xp.inf), start
    _, point, best, *_ = loop(unsolved, proceed, state)
    return point, best


def _damped_step(function: Quadratic, damping: Traceable) -> Traceable:
    """Return the steps uphill, 0 along coordinates without effect."""
    xp = damping.__array_namespace__()
    size = xp.sqrt(xp.abs(xp.diagonal(function.hessian, axis1=1, axis2=2)))
    size = xp.where(size > 0, size, 1.0)
    matrix = damping[:, None, None] * xp.eye(size.shape[1])
    matrix = matrix - function.hessian / size[:, :, None] / size[:, None]
    step = xp.linalg.solve(matrix, (function.gradient / size)[..., None])[..., 0] / size
    return xp.where(xp.isfinite(step), step, 0.0)


# -- a large problem -------------------------------------------------------------------------------

LONGEST, SHORTEST = 2.0, 4.0**-10
"""Largest step of a coordinate, in the logarithm of a deviation or of a probability, and smallest
fraction of a step that the line search tries."""
LAST = 1e-9
"""Length of a last step, in deviations or logarithms: the error after it is about its square, or
rounding."""
MOST_PRODUCTS = 500
"""Hessian-vector products per step; 4 per coordinate reduce the gradient to 1e-10 of itself."""


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


def newton_cg(point: Point) -> tuple[Point, bool, int]:
    """Maximize by Newton steps until the expected gain is below rounding and stops falling.

    Complete rows determine the curvature of every coordinate; missing cells reduce it, almost to 0
    if most cells are missing. Each step solves the Newton equations by conjugate gradients,
    preconditioned by the curvature of complete rows: the first direction is that of EM (Fisher's
    identity), and each further one adds a direction in which most of the information is missing.
    EM and its accelerations need thousands of steps if weights differ by orders of magnitude. No
    step decreases the density by more than rounding.

    Source: Dempster, Laird and Rubin (1977) for the gradient; Nocedal and Wright, Numerical
    Optimization (2nd ed.), algorithm 7.1 (line search Newton-CG).

    Returns:
        The highest point; whether the search converged (if not, the line search failed, or the
        steps ran out); the number of steps.
    """
    best, least = point, np.inf
    for steps in range(1, MAX_STEPS + 1):
        noise = ROUNDING * point.scale
        norm = np.sqrt((point.gradient**2 / point.curvature).sum() / point.curvature.sum())
        direction = _direction(point, min(0.1, np.sqrt(norm)))
        if float(point.gradient @ direction) > 4 * noise:
            higher = _higher(point, direction, noise)
            if higher is None:
                return point, False, steps
            point = higher
            continue
        direction = _direction(point, 1e-10)
        gain = float(point.gradient @ direction)
        if gain >= least / 4:
            return best, True, steps
        best, least = point, gain
        moved = _higher(point, direction, -noise)
        if moved is None:
            return point, True, steps
        if np.abs(direction).max() <= LAST:
            return moved, True, steps
        point = moved
    return point, False, MAX_STEPS


def _direction(point: Point, tolerance: float) -> Flat:
    """Return the Newton direction, truncated where the curvature is not positive."""
    direction, residual = np.zeros_like(point.gradient), point.gradient
    conjugate = residual / point.curvature
    square = residual @ conjugate
    enough = tolerance**2 * square
    for _ in range(min(4 * len(residual), MOST_PRODUCTS)):
        if square <= enough:
            break
        product = point.product(conjugate)
        curvature = conjugate @ product
        if curvature <= 1e-14 * (conjugate**2 @ point.curvature):
            return direction if direction.any() else conjugate
        direction = direction + square / curvature * conjugate
        residual = residual - square / curvature * product
        scaled = residual / point.curvature
        before, square = square, residual @ scaled
        conjugate = scaled + square / before * conjugate
    return direction


def _higher(point: Point, direction: Flat, rise: float) -> Point | None:
    """Return a point along the direction that is higher by more than a rise, or None."""
    share = LONGEST / max(np.abs(direction).max(), LONGEST)
    while share > SHORTEST:
        with contextlib.suppress(np.linalg.LinAlgError), np.errstate(all="ignore"):
            moved = point.moved(share * direction)
            # infinite values come from matrices that are singular to rounding
            if np.isfinite(moved.value) and moved.value > point.value + rise:
                return moved
        share /= 4
    return None


# -- steps that come to rest -----------------------------------------------------------------------

MEMORY = 40
"""Earlier steps that are combined. A mode of a normal of 51 columns with a quarter of the cells
missing took 52, 39 and 26 steps with 5, 10 and 20, where EM had not come within 1e-4 after 200; one
under a weak prior 403, 408, 260 and 284 with 20, 30, 40 and 60."""
WORSE = 2.0
"""Factor by which a step is longer than the one before when earlier ones are forgotten."""
SHORT = 1e-6
"""Length of a step, or of its part that no other has, below which it tells nothing of the map."""
GROWTH = 1e-5
"""Relative growth of a direction by a step above which a point of rest is a saddle. Rates from the
last steps were within 2e-5 of those of the map at rest for rates near 1, whether .996 or 1.001."""
DEPENDENT = 1e-13
"""Singular value, relative to the largest, below which earlier steps depend on each other."""


class Chart(abc.ABC):
    """Coordinates of parameters around an origin, in which lengths have a meaning of their own.

    That of the Fisher information has no unit, and does not depend on how columns are ordered: the
    steps of `at_rest` are then the same for every order.
    """

    @abc.abstractmethod
    def coordinates(self, params: Params) -> Flat:
        """Return the coordinates of parameters; 0: the origin."""

    @abc.abstractmethod
    def params(self, coordinates: Flat) -> Params:
        """Return the parameters there.

        Raises:
            np.linalg.LinAlgError: there are none.
        """


class Rest(NamedTuple):
    """Where repeated steps come to rest.

    params: the parameters. steps: their number. distance: from there to the next parameters, or the
    length of the last step of the map if that is longer. away: a direction, of length 1 in the
    coordinates, in which the map leads away from there, as EM does from a saddle point; None:
    there is none among the directions of the last steps.
    """

    params: Params
    steps: int
    distance: float
    away: Flat | None = None


def at_rest(
    step: Callable[[Params], Params], start: Params, chart: Chart, *, steps: int, still: float
) -> Rest:
    """Return where repeated steps, such as those of EM, come to rest.

    Anderson's acceleration: with residuals f_i = g(x_i) - x_i of the map g, the next point is the
    combination sum of a_i g(x_i), sum of a_i = 1, whose residual is smallest if g is linear. There
    it is the search by generalized minimal residuals, which needs as many steps as g has directions
    of slow convergence. Points without parameters, and steps that become longer, start it anew.
    Combinations come to rest at saddle points too, which the map itself leaves: `Rest.away`.

    Source: Anderson (1965), Journal of the ACM 12, 547-560; Walker and Ni (2011), SIAM Journal on
    Numerical Analysis 49, 1715-1735; for EM Henderson and Varadhan (2019), Journal of Computational
    and Graphical Statistics 28, 834-846.

    Args:
        step: the map.
        start: of the steps.
        chart: coordinates of the parameters.
        steps: at most.
        still: distance that ends them, in these coordinates.
    """
    params, at = start, chart.coordinates(start)
    stepped, image, past = params, at, _Past(len(at))
    length, distance = np.inf, np.inf
    for taken in range(1, steps + 1):
        try:
            stepped = step(params)
        except np.linalg.LinAlgError:
            if past.image is None:
                raise
            # from a combination that is singular to rounding back to what it was made of
            past, params, at = _Past(len(at)), stepped, image
            continue
        image = chart.coordinates(stepped)
        before, length = length, float(np.linalg.norm(image - at))
        if length > WORSE * before:
            past = _Past(len(at))
        ahead = past.combined(image, image - at)
        # a first step says little about those that follow
        known = past.n_changes > 0 or length == 0
        try:
            params = chart.params(ahead)
        except np.linalg.LinAlgError:
            past, params, ahead, known = _Past(len(at)), stepped, image, False
        distance = max(length, float(np.linalg.norm(ahead - at))) if known else np.inf
        at = ahead
        if distance <= still:
            return Rest(params, taken, distance, past.growing())
    return Rest(params, steps, distance)


class _Past:
    """Earlier steps: how images and residuals changed from each to the next, in any order.

    n_changes: how often. image, residual: the last ones; None: there is none.
    """

    def __init__(self, size: int) -> None:
        self.image: Flat | None = None
        self.residual: Flat | None = None
        self.n_changes = 0
        self._moves, self._turns = np.empty((2, MEMORY, size))
        self._products = np.empty((MEMORY, MEMORY))

    def combined(self, image: Flat, residual: Flat) -> Flat:
        """Add a step; return the combination of images with the smallest residual."""
        if self.image is not None and self.residual is not None:
            self._add(image - self.image, residual - self.residual)
        self.image, self.residual = image, residual
        n = min(self.n_changes, MEMORY)
        size = np.sqrt(self._products.diagonal()[:n])
        unit = 1 / np.where(size > 0, size, 1.0)
        matrix = self._products[:n, :n] * unit[:, None] * unit
        share = np.linalg.lstsq(matrix, unit * (self._turns[:n] @ residual), rcond=DEPENDENT)[0]
        return image - (share * unit) @ self._moves[:n]

    def growing(self) -> Flat | None:
        """Return the direction in which the map g makes differences grow most; None: in none.

        Differences d of points turn into those J d of images, so that J is known in the space of
        the last steps, in which the directions of slow convergence and of growth are.
        """
        n = min(self.n_changes, MEMORY)
        points, turns = self._moves[:n] - self._turns[:n], self._turns[:n]
        size = np.linalg.norm(points, axis=1)[:, None]
        # shorter differences are rounding
        known = size[:, 0] > SHORT
        if not known.any():
            return None
        points, turns = points[known] / size[known], turns[known] / size[known]
        left, spread, basis = np.linalg.svd(points, full_matrices=False)
        kept = spread > SHORT * spread[0]
        rates, vectors = np.linalg.eig(basis[kept] @ turns.T @ left[:, kept] / spread[kept])
        most = np.argmax(rates.real)
        direction = vectors[:, most].real @ basis[kept]
        return direction / np.linalg.norm(direction) if rates[most].real > GROWTH else None

    def _add(self, move: Flat, turn: Flat) -> None:
        at = self.n_changes % MEMORY
        self.n_changes += 1
        n = min(self.n_changes, MEMORY)
        self._moves[at], self._turns[at] = move, turn
        self._products[at, :n] = self._products[:n, at] = self._turns[:n] @ turn


# -- gradients alone -------------------------------------------------------------------------------


def lbfgs(f: Callable[[Flat], tuple[float, Flat]], start: Flat, reach: float = np.inf) -> Flat:
    """Minimize a function from a start by SciPy's L-BFGS-B; return the lowest point found.

    No coordinate moves further than reach; the start is returned if its density is not finite.

    Source: Byrd, Lu, Nocedal and Zhu (1995), A limited memory algorithm for bound constrained
    optimization, SIAM Journal on Scientific Computing 16, 1190-1208.

    Args:
        f: u -> minus the log density and its gradient, in coordinates of about unit scale.
        start: near the minimum.
        reach: how far each coordinate may move.
    """
    from scipy.optimize import minimize

    wall = 1e3 * (1 + abs(f(start)[0]))
    if not (np.isfinite(wall) and start.size):
        return start

    def bounded(u: Flat) -> tuple[float, Flat]:
        value, slope = f(u)
        finite = np.isfinite(value) and np.isfinite(slope).all()
        # impossible: the line search turns back from there
        return (value, slope) if finite else (wall, np.zeros_like(u))

    # it ends where rounding does
    options = {"maxiter": MAX_STEPS, "maxcor": 20, "ftol": 1e-15, "gtol": 1e-9}
    bounds = [(at - reach, at + reach) for at in start] if np.isfinite(reach) else None
    return minimize(bounded, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options).x


# -- proportions of a mixture ----------------------------------------------------------------------

STILL = 1e-10
"""Change of every proportion that ends the steps of EM."""


def mixture_weights(
    density: Float[np.ndarray, "component row"],
    weight: Weights,
    prior: Float[np.ndarray, " component"] | float = 0.0,
    *,
    steps: int = 10_000,
) -> Float[np.ndarray, " component"]:
    """Maximize sum_i w_i log sum_k pi_k f_ki + sum_k c_k log pi_k by EM.

    From even proportions, pi_k <- c_k + sum_i w_i pi_k f_ki / sum_j pi_j f_ji, normalized.

    Source: Saerens, Latinne and Decaestecker (2002), Neural Computation 14, 21-41.

    Args:
        density: f_ki of each row.
        weight: w_i of the rows.
        prior: c_k.
        steps: at most; they end where no proportion changes by STILL.
    """
    proportions = np.full(len(density), 1 / len(density))
    for _ in range(steps):
        before = proportions
        proportions = before * (density @ (weight / (before @ density))) + prior
        proportions /= proportions.sum()
        if np.abs(proportions - before).max() < STILL:
            break
    return proportions
