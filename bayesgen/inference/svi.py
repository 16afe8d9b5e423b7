"""Stochastic variational inference with a point mass (AutoDelta): MLE and MAP of any model.

Adam's steps go by the sign of a slope rather than by its size, and so find the top from afar, along
the flattest ridge too; a quasi-Newton descent ends on it.
"""

import functools
from collections.abc import Callable

import numpy as np

from bayesgen.errors import UnsupportedInference
from bayesgen.inference.log_density import MAP_TERMS as MAP_TERMS
from bayesgen.inference.log_density import MLE_TERMS as MLE_TERMS
from bayesgen.inference.log_density import (
    ModelLogDensity,
    arrays,
    model_log_density,
    nested,
    total,
)
from bayesgen.inference.quasi_newton import Flat, lowest
from bayesgen.model import Model, ModelStatistics
from bayesgen.tracing import ONE_PROGRAM
from bayesgen.typing import Traceable

STEPS = 2000
FIRST_STEP, LAST_STEP = 0.2, 2e-6
"""Adam's step in units of the posterior's width: it decays from a fifth of it to a millionth, so
that the end is a point and not a cloud (a constant step of .01 was .046 off)."""
REACH = 1.0
"""How far the last descent may move each coordinate, in units of the posterior's width: a top, if
there is one, is near, and without one a slope leads to where rounding is all that is left."""
GRADIENT_TOLERANCE = 1e-2
"""Norm of the gradient in units of the posterior's width below which the end counts as reached."""


def optimise(
    model: Model, statistics: ModelStatistics, centres: ModelStatistics, objective: tuple[str, ...]
) -> tuple[dict[str, dict[str, np.ndarray]], float]:
    """Return parameters that maximise the sum of the named terms, and the gradient's norm there.

    The optimisers work in unit-scale coordinates around the moments of the data and start at their
    centre. Parameters come as {"class": {...}, block: {...}}.

    Raises:
        UnsupportedInference: no finite end.
    """
    import jax
    import jax.numpy as jnp

    run, look = _compiled(model_log_density(model, statistics), objective)
    with jax.enable_x64(True):
        tree = jax.tree.map(jnp.asarray, arrays(model, statistics, centres))
        values, gradient = _polished(look, tree, run(tree))
    if not np.isfinite(gradient):
        raise UnsupportedInference.because(
            "Optimising by gradients",
            "on these rows the most likely parameters lie where float64 ends, as where a level of "
            "next to no weight has a probability of 1e-300 and less",
            "Use solver='auto' where it has a closed form, or state a stronger prior.",
        )
    return nested(values, model), gradient


def _polished(look: Callable, tree: dict, start: Traceable) -> tuple[dict[str, np.ndarray], float]:
    """Return the parameters where a descent from these coordinates ends, and the slope there."""
    import jax

    def neg_log_density(u: Flat) -> tuple[float, Flat]:
        (height, _), slope = look(u, tree)
        return -float(height), -np.asarray(slope)

    end = lowest(neg_log_density, np.asarray(start), REACH)
    (_, values), slope = jax.device_get(look(end, tree))
    return values, float(np.linalg.norm(slope))


@functools.lru_cache(maxsize=32)
def _compiled(density: ModelLogDensity, objective: tuple[str, ...]) -> tuple[Callable, Callable]:
    """Return the run of Adam, tree -> coordinates, and the density, parameters and slope there.

    Coordinates of all sites are one array.
    """
    import jax
    from jax.flatten_util import ravel_pytree
    from numpyro.infer import SVI, Trace_ELBO
    from numpyro.infer.autoguide import AutoDelta
    from numpyro.infer.initialization import init_to_value
    from numpyro.optim import Adam

    def step_size(step: Traceable) -> Traceable:
        return FIRST_STEP * (LAST_STEP / FIRST_STEP) ** (step / STEPS)

    @jax.jit
    def run(tree: dict) -> Traceable:
        start = density.centre(tree)
        program = _program(density, tree, objective, start)
        guide = AutoDelta(program, init_loc_fn=init_to_value(values=start))
        svi = SVI(program, guide, Adam(step_size), Trace_ELBO())
        with ONE_PROGRAM:
            state = svi.init(jax.random.key(0))
            state, _ = jax.lax.scan(lambda s, _: svi.update(s), state, length=STEPS)
        fitted = svi.get_params(state)
        best = {site: fitted.get(f"{site}_auto_loc", value) for site, value in start.items()}
        return ravel_pytree(best)[0]

    def look(flat: Traceable, tree: dict) -> tuple:
        u = ravel_pytree(density.centre(tree))[1](flat)
        return total(density.terms(tree, u), objective), density.values(tree, u)

    return run, jax.jit(jax.value_and_grad(look, has_aux=True))


def _program(
    density: ModelLogDensity, tree: dict, objective: tuple[str, ...], start: dict
) -> Callable:
    import numpyro
    import numpyro.distributions as dist

    def program() -> None:
        # probabilities of a single level have no coordinates, and numpyro no sites of size 0
        u = start | {
            site: numpyro.sample(site, dist.ImproperUniform(dist.constraints.real, (), value.shape))
            for site, value in start.items()
            if value.size
        }
        numpyro.factor("objective", total(density.terms(tree, u), objective))

    return program
