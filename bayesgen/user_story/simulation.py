"""Rows made up by a program, each from its own parameters."""

import functools
import inspect
from collections.abc import Callable, Mapping

import numpy as np

from bayesgen.errors import InvalidStory
from bayesgen.tracing import ONE_PROGRAM
from bayesgen.typing import Traceable
from bayesgen.user_story.program import SINGLE, UserStory, log_prob


def simulate(
    story: UserStory, values: Mapping[str, np.ndarray], seed: int, sizes: Mapping[str, int]
) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Return one row and its class for each set of parameters, values having a leading draw axis.

    Raises:
        InvalidStory: the program does not run without rows, or does not return what it takes.
    """
    import jax

    with jax.enable_x64(True):
        n = len(next(iter(values.values())))
        keys = jax.random.split(jax.random.key(seed), n)
        try:
            rows, y = jax.device_get(_simulator(story, tuple(sizes.items()))(values, keys))
        except InvalidStory:
            raise
        # a program of the user's own may stop in any way
        except Exception as error:
            raise InvalidStory.cannot_simulate(error) from error
    return rows, y


def prior(
    story: UserStory, names: tuple[str, ...], x: Mapping, y: np.ndarray, seed: int, n: int
) -> dict[str, np.ndarray]:
    """Return n draws of the parameters `names` from their priors, by site.

    Rows x and labels y say how large everything is; what they hold does not count.
    """
    import jax

    with jax.enable_x64(True):
        keys = jax.random.split(jax.random.key(seed), n)
        return jax.device_get(_prior(story, names)(keys, dict(x), y))


def log_priors(
    story: UserStory, values: Mapping[str, np.ndarray], x: Mapping, y: np.ndarray
) -> dict[str, np.ndarray]:
    """Return the log density of each parameter's prior at values (draw, ...), by site, (draw,).

    Rows x and labels y say how large everything is. Empty where a prior is improper.
    """
    import jax
    from numpyro import distributions as dist

    def one(point: Mapping, x: Mapping, y: Traceable) -> dict:
        trace = story.sites(x, y, lambda site: point.get(site["name"]))
        if any(isinstance(trace[name]["fn"], dist.ImproperUniform) for name in point):
            return {}
        return {name: log_prob(trace[name]).sum() for name in point}

    with jax.enable_x64(True):
        each = jax.vmap(one, in_axes=(0, None, None))
        return jax.device_get(jax.jit(each)(dict(values), dict(x), y))


@functools.lru_cache(maxsize=32)
def _prior(story: UserStory, names: tuple[str, ...]) -> Callable:
    import jax
    from numpyro import handlers

    def one(key: Traceable, x: Mapping, y: Traceable) -> dict:
        with (
            ONE_PROGRAM,
            handlers.block(),
            handlers.trace() as trace,
            handlers.seed(rng_seed=key),
        ):
            story.run(x, y)
        return {name: trace[name]["value"] for name in names}

    return jax.jit(jax.vmap(one, in_axes=(0, None, None)))


@functools.lru_cache(maxsize=32)
def _simulator(story: UserStory, sizes: tuple[tuple[str, int], ...]) -> Callable:
    import jax
    from numpyro import handlers

    def one(values: Mapping, key: Traceable) -> tuple[dict, Traceable]:
        with (
            ONE_PROGRAM,
            handlers.block(),
            handlers.seed(rng_seed=key),
            handlers.substitute(data=dict(values)),
        ):
            made = story.run(None, None, n_rows=1, **dict(sizes))
        if not (isinstance(made, tuple) and len(made) == 2):
            raise InvalidStory.wrong_simulation(f"it returned {type(made).__name__}")
        x, y = made
        rows = {SINGLE: x} if story.single else x
        if not isinstance(rows, Mapping) or any(np.shape(v)[:1] != (1,) for v in rows.values()):
            raise InvalidStory.wrong_simulation("they are not one row")
        return {name: value[0] for name, value in rows.items()}, y[0]

    return jax.jit(jax.vmap(one))


def sizes_of(story: UserStory, shapes: Mapping[str, tuple[int, ...]]) -> dict[str, int]:
    """Return the keywords for sizes that x shows (shapes of a row) and the program leaves open."""
    wanted = inspect.signature(story.program).parameters.get("n_features")
    bound = wanted is None or (wanted.default is not wanted.empty and wanted.default is not None)
    if bound or not story.single or len(shapes[SINGLE]) != 1:
        return {}
    return {"n_features": shapes[SINGLE][0]}
