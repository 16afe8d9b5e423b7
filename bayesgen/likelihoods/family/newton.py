"""Newton's method for the parameters of every class and column at once, compiled once a family."""

import dataclasses
import functools
from collections.abc import Callable

import numpy as np

from bayesgen.likelihoods.distinct_rows import Values
from bayesgen.likelihoods.family.declaration import Declaration
from bayesgen.typing import Traceable

STEPS = 100
"""Steps at most; from moments it takes 10 to 25 (measured)."""
NOTHING = 1e-20
"""Rise of the log density that a step promises, below which a group has arrived."""
ROUNDING = 1e-12
"""Relative fall of the log density that may be rounding."""
DAMPING, SOFTER, HARDER = 1e-2, 0.1, 8.0
"""Levenberg's damping, in units of the curvature, at the start; after a good step; after a bad."""


@dataclasses.dataclass(frozen=True, eq=False)
class Problem:
    """Where to start and what to add to the likelihood of each group (one class and column).

    start: (start, group, parameter), real coordinates. centre, precision: a normal density that is
    added, (group, parameter) and (group, parameter, parameter). low, high: bounds, (group,
    parameter). priors: whether stated priors are added.
    """

    start: np.ndarray
    centre: np.ndarray
    precision: np.ndarray
    low: np.ndarray
    high: np.ndarray
    priors: bool


@dataclasses.dataclass(frozen=True, eq=False)
class Summit:
    """The highest point found for each group.

    u: (group, parameter). information: minus the Hessian there.
    """

    u: np.ndarray
    information: np.ndarray


def newton_mode(
    declaration: Declaration, values: Values, group: np.ndarray, problem: Problem
) -> Summit:
    """Return the best of the summits that the starts lead to.

    values: all of them; group: that of each segment, (segment,).
    """
    import jax
    import jax.numpy as jnp

    with jax.enable_x64(True):
        fields = (getattr(problem, f.name) for f in dataclasses.fields(problem))
        told = (values.value, values.weight, group, *fields)
        found = jax.device_get(_compiled(declaration)(*map(jnp.asarray, told)))
    u, height, information = found
    best = np.argmax(np.where(np.isnan(height), -np.inf, height), axis=0)
    each = np.arange(len(best))
    return Summit(u[best, each], information[best, each])


@functools.lru_cache(maxsize=32)
def _compiled(declaration: Declaration) -> Callable:
    import jax
    import jax.numpy as jnp

    def segment(u: Traceable, value: Traceable, weight: Traceable) -> Traceable:
        return (weight * declaration.build(declaration.params(u)).log_prob(value)).sum()

    @jax.jit
    def run(
        value: Traceable,
        weight: Traceable,
        group: Traceable,
        start: Traceable,
        centre: Traceable,
        precision: Traceable,
        low: Traceable,
        high: Traceable,
        priors: Traceable,
    ) -> tuple:
        rows = jax.vmap(_derivatives(segment))
        stated = jax.vmap(_derivatives(lambda u: _log_priors(declaration, u)))

        def height(u: Traceable) -> tuple:
            sums = (jax.ops.segment_sum(a, group, len(u)) for a in rows(u[group], value, weight))
            top, slope, hessian = sums
            if declaration.stated.any():
                more = (jnp.where(priors, a, 0.0) for a in stated(u))
                top, slope, hessian = (
                    a + b for a, b in zip((top, slope, hessian), more, strict=True)
                )
            off = u - centre
            pull = jnp.einsum("gij,gj->gi", precision, off)
            return top - (off * pull).sum(-1) / 2, slope - pull, hessian - precision

        return jax.lax.map(lambda u: _walk(height, u, low, high), start)

    return run


def _derivatives(f: Callable) -> Callable:
    """Return a function that gives value, gradient and Hessian by the first argument."""
    import jax

    def derivatives(*args: Traceable) -> tuple:
        def slope(u: Traceable) -> tuple:
            top, gradient = jax.value_and_grad(f)(u, *args[1:])
            return gradient, (top, gradient)

        hessian, (top, gradient) = jax.jacfwd(slope, has_aux=True)(args[0])
        return top, gradient, hessian

    return derivatives


def _log_priors(declaration: Declaration, u: Traceable) -> Traceable:
    """Return the log density of stated priors against the scale-free measure."""
    total = 0.0
    for i, name in enumerate(declaration.names):
        prior, bijection = dict(declaration.priors).get(name), declaration.bijection(name)
        if prior is not None:
            value = bijection(u[i])
            total += prior.log_prob(value) + bijection.log_abs_det_jacobian(u[i], value)
    return total


def _walk(height: Callable, start: Traceable, low: Traceable, high: Traceable) -> tuple:
    """Return where Newton's method ends, how high that is, and the information there."""
    import jax
    import jax.numpy as jnp

    n, n_names = start.shape

    def step(state: tuple) -> tuple:
        i, point, best, damping, _, u = state
        there = height(u)
        finite = jnp.isfinite(there[0]) & jnp.isfinite(there[1]).all(-1)
        finite &= jnp.isfinite(there[2]).all((-1, -2))
        good = finite & (there[0] >= best[0] - ROUNDING * (1 + jnp.abs(best[0])))
        good |= finite & ~jnp.isfinite(best[0])
        best = tuple(
            jnp.where(good.reshape(n, *[1] * (new.ndim - 1)), new, old)
            for new, old in zip(there, best, strict=True)
        )
        point = jnp.where(good[:, None], u, point)
        damping = jnp.where(
            good, jnp.maximum(SOFTER * damping, 1e-12), jnp.minimum(HARDER * damping + 1e-6, 1e12)
        )
        target = jnp.clip(point + _damped(best[1], best[2], damping), low, high)
        promise = jnp.abs(best[1] * (target - point)).sum(-1)
        return i + 1, point, best, damping, jnp.where(good, promise, jnp.inf), target

    def go_on(state: tuple) -> Traceable:
        i, _, _, damping, promise, _ = state
        return (i < STEPS) & ((promise > NOTHING) & (damping < 1e12)).any()

    nothing = (jnp.full(n, -jnp.inf), jnp.zeros((n, n_names)), jnp.zeros((n, n_names, n_names)))
    begin = (0, start, nothing, jnp.full(n, DAMPING), jnp.full(n, jnp.inf), start)
    _, point, best, _, _, _ = jax.lax.while_loop(go_on, step, begin)
    return point, best[0], -best[2]


def _damped(slope: Traceable, hessian: Traceable, damping: Traceable) -> Traceable:
    """Return the step uphill, (group, parameter), from gradient, Hessian and damping of groups.

    Levenberg and Marquardt's damping, in units of the curvature of each coordinate, keeps it going
    uphill where the density is not concave and makes it the same in all units.
    """
    import jax.numpy as jnp

    size = jnp.sqrt(jnp.abs(jnp.diagonal(hessian, axis1=-2, axis2=-1)))
    # a parameter on which nothing depends stays where it is
    size = jnp.where(size > 0, size, 1.0)
    weight = damping[:, None, None] * jnp.eye(slope.shape[-1])
    matrix = weight - hessian / size[:, :, None] / size[:, None]
    move = jnp.linalg.solve(matrix, (slope / size)[..., None])[..., 0] / size
    return jnp.where(jnp.isfinite(move), move, 0.0)
