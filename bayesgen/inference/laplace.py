"""Where the density of a program is highest, and how wide it is there: a program does not say.

By the quasi-Newton method alone, with gradients by JAX. A program's gradient costs a look at every
row, so that the thousands of steps which Adam takes on statistics (svi.py) would be too many.
"""

import dataclasses
import functools
import itertools
from collections.abc import Callable, Mapping

import numpy as np

from bayesgen.inference.quasi_newton import Flat, lowest
from bayesgen.inference.target import total
from bayesgen.typing import Traceable
from bayesgen.user_story import StoryTarget

ROUNDS = 6
"""Rounds of descent; each measures the coordinates anew."""
ENOUGH = 1e-3
"""Norm of the gradient in units of the posterior's width that ends the rounds."""
PROBES = 100
"""Curvatures are measured one by one up to this many coordinates, and beyond by as many random
directions: sum of v (H v) over random signs v (Bekas, Kokiopoulou and Saad 2007)."""
PROBE_STEP = 1e-3
FLAT = 1e-9
"""Distance of the points between which a curvature is measured, and what counts as none."""
STARTS = 20
"""Points that are tried where the middle of the priors is impossible."""

Coordinates = dict[str, np.ndarray]
Depth = Callable[[Flat, Flat, Flat], tuple[float, Flat]]
"""(u, centre, width) -> minus the log density at centre + width u, and its gradient by u."""


@dataclasses.dataclass(frozen=True, eq=False)
class LaplaceFit:
    """The highest point found: centre and width of coordinates, and the parameters, by site.

    gradient: its norm there in units of the width, infinite where no start was possible.
    evaluations: how often the density was evaluated.
    """

    centre: Coordinates
    width: Coordinates
    values: dict[str, np.ndarray]
    gradient: float
    evaluations: int


def fit_laplace(target: StoryTarget, tree: Mapping, objective: tuple[str, ...]) -> LaplaceFit:
    """Return the peak of the sum of the named terms, searched from the centre of the tree."""
    import jax
    import jax.numpy as jnp
    from jax.flatten_util import ravel_pytree

    compiled = _compiled(target, objective)
    calls = itertools.count()
    with jax.enable_x64(True):
        rows = jax.tree.map(jnp.asarray, {name: tree[name] for name in ("x", "y", "weight")})
        centre, parts = ravel_pytree(jax.tree.map(jnp.asarray, tree["centre"]))
        width = ravel_pytree(jax.tree.map(jnp.asarray, tree["width"]))[0]

        def depth(u: Flat, centre: Flat, width: Flat) -> tuple[float, Flat]:
            next(calls)
            (value, _), slope = compiled(u, centre, width, rows)
            return -float(value), -np.asarray(slope)

        centre, width, gradient = _mode(depth, np.asarray(centre), np.asarray(width))
        (_, values), _ = compiled(np.zeros_like(centre), centre, width, rows)
        found = jax.device_get((parts(jnp.asarray(centre)), parts(jnp.asarray(width)), values))
    return LaplaceFit(*found, gradient, next(calls))


@functools.lru_cache(maxsize=32)
def _compiled(target: StoryTarget, objective: tuple[str, ...]) -> Callable:
    import jax
    from jax.flatten_util import ravel_pytree

    with jax.enable_x64(True):
        parts = ravel_pytree(target.centre({}))[1]

    def density(u: Traceable, centre: Traceable, width: Traceable, rows: Mapping) -> tuple:
        tree = {**rows, "centre": parts(centre), "width": parts(width)}
        found, values = target.terms_and_values(tree, parts(u))
        return total(found, objective), values

    return jax.jit(jax.value_and_grad(density, has_aux=True))


def _mode(depth: Depth, centre: Flat, width: Flat) -> tuple[Flat, Flat, float]:
    """Return the centre of the peak, its width, and the gradient there in units of the width."""
    start = _possible(depth, centre, width)
    if start is None:
        return centre, width, np.inf
    centre, gradient = start, np.inf
    for _ in range(ROUNDS):
        centre = centre + width * lowest(_around(depth, centre, width), np.zeros_like(centre))
        width, gradient = _measure(depth, centre, width)
        if gradient <= ENOUGH:
            break
    return centre, width, gradient


def _possible(depth: Depth, centre: Flat, width: Flat) -> Flat | None:
    """Return a point of finite density near the centre, if there is one."""
    rng = np.random.default_rng(0)
    for i in range(STARTS):
        start = centre + 0.2 * i * width * rng.standard_normal(centre.shape)
        value, slope = depth(np.zeros_like(centre), start, width)
        if np.isfinite(value) and np.isfinite(slope).all():
            return start
    return None


def _around(depth: Depth, centre: Flat, width: Flat) -> Callable[[Flat], tuple[float, Flat]]:
    return lambda u: depth(u, centre, width)


def _measure(depth: Depth, centre: Flat, width: Flat) -> tuple[Flat, float]:
    """Return the width at a point, from curvatures, and the gradient in units of it."""
    here, size = np.zeros_like(centre), len(centre)
    few = size <= PROBES
    random = np.random.default_rng(0).choice([-1.0, 1.0], (PROBES, size))
    curvature = np.zeros(size)
    for probe in np.eye(size) if few else random:
        after, before = (depth(sign * PROBE_STEP * probe, centre, width)[1] for sign in (1, -1))
        with np.errstate(invalid="ignore", over="ignore"):
            curvature += probe * (after - before) / (2 * PROBE_STEP)
    curvature /= 1 if few else PROBES
    usable = np.isfinite(curvature) & (curvature > FLAT)
    # where it is flat the width stays
    unit = np.where(usable, 1 / np.sqrt(np.where(usable, curvature, 1.0)), 1.0)
    return width * unit, float(np.linalg.norm(depth(here, centre, width)[1] * unit))
