"""Laplace approximation of a log density: its mode, and scales from the curvature there.

The mode is found by a quasi-Newton method alone, with gradients by JAX. Each gradient of a user's
program costs a pass over all rows, too much for the thousands of steps that Adam takes on
statistics.
"""

import dataclasses
import functools
import itertools
from collections.abc import Callable, Mapping

import numpy as np

from bayesgen.inference.log_density import LogDensity, total
from bayesgen.optimize import Flat, lbfgs
from bayesgen.typing import Traceable

ROUNDS = 6
"""Rounds of descent; each measures the widths anew."""
ENOUGH = 1e-3
"""Norm of the gradient in units of the posterior's width that ends the rounds."""
PROBES = 100
"""Curvatures are measured one by one up to this many coordinates, and beyond by as many random
directions: sum of v (H v) over random signs v (Bekas, Kokiopoulou and Saad 2007)."""
PROBE_STEP = 1e-3
FLAT = 1e-9
"""Distance of the points between which a curvature is measured; curvature that counts as 0."""
STARTS = 20
"""Points that are tried where the middle of the priors is impossible."""
STEEP = 1.0
"""Norm of the gradient in units of the width, at the end, above which there is no mode."""
FALL = 100.0
"""Fall of the log density from the mode, per coordinate, to points one width from it, above which
they are no picture of the posterior; that of a normal density is 1/2."""

Coordinates = dict[str, np.ndarray]
NegLogDensity = Callable[[Flat, Flat, Flat], tuple[float, Flat]]
"""(u, centre, width) -> minus the log density at centre + width u, and its gradient by u."""


@dataclasses.dataclass(frozen=True, eq=False)
class LaplaceFit:
    """A Laplace approximation: center and width of coordinates, and parameters, by site.

    gradient: its norm there in units of the width, infinite where no start was possible.
    evaluations: number of density evaluations.
    is_mode: whether the density falls from the center as its widths say. It does not where a spread
    of the program tends to 0 and the density has no bound, as that of centered hierarchies.
    """

    centre: Coordinates
    width: Coordinates
    values: dict[str, np.ndarray]
    gradient: float
    evaluations: int
    is_mode: bool


def fit_laplace(density: LogDensity, tree: Mapping, objective: tuple[str, ...]) -> LaplaceFit:
    """Return the mode of the sum of the named terms, searched from the center of the tree.

    Args:
        density: over coordinates u with unconstrained value = center + width u.
        tree: its numbers, "centre" and "width" by site among them.
        objective: names of the terms.
    """
    import jax
    import jax.numpy as jnp
    from jax.flatten_util import ravel_pytree

    compiled = _compiled(density, objective)
    calls = itertools.count()
    with jax.enable_x64(True):
        tree = jax.tree.map(jnp.asarray, dict(tree))
        centre, unravel = ravel_pytree(tree.pop("centre"))
        width = ravel_pytree(tree.pop("width"))[0]

        def neg_log_density(u: Flat, centre: Flat, width: Flat) -> tuple[float, Flat]:
            next(calls)
            (value, _), slope = compiled(u, centre, width, tree)
            return -float(value), -np.asarray(slope)

        centre, width, gradient = _fit(neg_log_density, np.asarray(centre), np.asarray(width))
        (_, values), _ = compiled(np.zeros_like(centre), centre, width, tree)
        found = jax.device_get((unravel(jnp.asarray(centre)), unravel(jnp.asarray(width)), values))
        evaluations, is_mode = next(calls), gradient <= STEEP
        if "jacobian" in objective:  # samplers start there; a point estimate needs no widths
            is_mode = is_mode and _falls_evenly(neg_log_density, centre, width)
    return LaplaceFit(*found, gradient, evaluations, is_mode)


@functools.lru_cache(maxsize=32)
def _compiled(density: LogDensity, objective: tuple[str, ...]) -> Callable:
    import jax
    from jax.flatten_util import ravel_pytree

    with jax.enable_x64(True):
        unravel = ravel_pytree(density.centre({}))[1]

    def value(u: Traceable, centre: Traceable, width: Traceable, rest: Mapping) -> tuple:
        tree = {**rest, "centre": unravel(centre), "width": unravel(width)}
        return total(density.terms(tree, unravel(u)), objective), density.values(tree, unravel(u))

    return jax.jit(jax.value_and_grad(value, has_aux=True))


def _fit(f: NegLogDensity, centre: Flat, width: Flat) -> tuple[Flat, Flat, float]:
    """Return the mode, the widths there, and the gradient in units of them."""
    start = _possible(f, centre, width)
    if start is None:
        return centre, width, np.inf
    centre, gradient = start, np.inf
    for _ in range(ROUNDS):
        step = lbfgs(lambda u, c=centre, w=width: f(u, c, w), np.zeros_like(centre))
        centre = centre + width * step
        width, gradient = _curvature(f, centre, width)
        if gradient <= ENOUGH:
            break
    return centre, width, gradient


def _possible(f: NegLogDensity, centre: Flat, width: Flat) -> Flat | None:
    """Return a point of finite density near the center, if there is one."""
    rng = np.random.default_rng(0)
    for i in range(STARTS):
        start = centre + 0.2 * i * width * rng.standard_normal(centre.shape)
        value, slope = f(np.zeros_like(centre), start, width)
        if np.isfinite(value) and np.isfinite(slope).all():
            return start
    return None


def _falls_evenly(f: NegLogDensity, centre: Flat, width: Flat) -> bool:
    """Whether most points that are a width from a mode have densities near that of the mode."""
    points = np.random.default_rng(0).standard_normal((STARTS, len(centre)))
    heights = np.array([f(u, centre, width)[0] for u in points])
    return bool(np.median(heights) - f(0 * centre, centre, width)[0] <= FALL * len(centre))


def _curvature(f: NegLogDensity, centre: Flat, width: Flat) -> tuple[Flat, float]:
    """Return the widths at a point, from curvatures, and the gradient in units of them."""
    here, size = np.zeros_like(centre), len(centre)
    few = size <= PROBES
    random = np.random.default_rng(0).choice([-1.0, 1.0], (PROBES, size))
    curvature = np.zeros(size)
    for probe in np.eye(size) if few else random:
        after, before = (f(sign * PROBE_STEP * probe, centre, width)[1] for sign in (1, -1))
        with np.errstate(invalid="ignore", over="ignore"):
            curvature += probe * (after - before) / (2 * PROBE_STEP)
    curvature /= 1 if few else PROBES
    usable = np.isfinite(curvature) & (curvature > FLAT)
    # where it is flat the width stays
    unit = np.where(usable, 1 / np.sqrt(np.where(usable, curvature, 1.0)), 1.0)
    return width * unit, float(np.linalg.norm(f(here, centre, width)[1] * unit))
