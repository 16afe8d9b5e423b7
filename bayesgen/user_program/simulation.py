"""Rows simulated by a program, and draws and densities of its priors."""

import functools
import inspect
from collections.abc import Callable, Mapping

import numpy as np

from bayesgen.errors import InvalidProgram
from bayesgen.typing import Traceable
from bayesgen.user_program.program import SINGLE, Site, UserProgram, log_prob


def simulate(
    program: UserProgram, values: Mapping[str, np.ndarray], seed: int, sizes: Mapping[str, int]
) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Return one row and its class for each set of parameters, values having a leading draw axis.

    Raises:
        InvalidProgram: the program does not run without rows, or does not return what it takes.
    """
    import jax

    with jax.enable_x64(True):
        n = len(next(iter(values.values())))
        keys = jax.random.split(jax.random.key(seed), n)
        try:
            rows, y = jax.device_get(_simulator(program, tuple(sizes.items()))(values, keys))
        except InvalidProgram:
            raise
        # a program of the user's own may stop in any way
        except Exception as error:
            raise InvalidProgram.cannot_simulate(error) from error
    return rows, y


def sample_prior(
    program: UserProgram, names: tuple[str, ...], x: Mapping, y: np.ndarray, seed: int, n: int
) -> dict[str, np.ndarray]:
    """Return n draws of the parameters `names` from their priors, by site.

    Rows x and labels y say how large everything is; what they hold does not count.
    """
    import jax

    with jax.enable_x64(True):
        keys = jax.random.split(jax.random.key(seed), n)
        return jax.device_get(_prior(program, names)(keys, dict(x), y))


def log_priors(
    program: UserProgram, values: Mapping[str, np.ndarray], x: Mapping, y: np.ndarray
) -> dict[str, np.ndarray]:
    """Return the log density of each parameter's prior at values (draw, ...), by site, (draw,).

    Rows x and labels y say how large everything is. Empty where a prior is improper.
    """
    import jax
    from numpyro import distributions as dist

    def one(point: Mapping, x: Mapping, y: Traceable) -> dict:
        trace = program.sites(x, y, lambda site: point.get(site["name"]))
        if any(isinstance(trace[name]["fn"], dist.ImproperUniform) for name in point):
            return {}
        return {name: log_prob(trace[name]).sum() for name in point}

    with jax.enable_x64(True):
        each = jax.vmap(one, in_axes=(0, None, None))
        return jax.device_get(jax.jit(each)(dict(values), dict(x), y))


@functools.lru_cache(maxsize=32)
def _prior(program: UserProgram, names: tuple[str, ...]) -> Callable:
    import jax

    def one(key: Traceable, x: Mapping, y: Traceable) -> dict:
        trace = program.run(x, y, key=key, value_of=_none)[0]
        return {name: trace[name]["value"] for name in names}

    return jax.jit(jax.vmap(one, in_axes=(0, None, None)))


@functools.lru_cache(maxsize=32)
def _simulator(program: UserProgram, sizes: tuple[tuple[str, int], ...]) -> Callable:
    import jax

    def one(values: Mapping, key: Traceable) -> tuple[dict, Traceable]:
        options = {"key": key, "value_of": lambda site: values.get(site["name"])}
        _, returned = program.run(None, None, **options, n_rows=1, **dict(sizes))
        rows, y = row_of(program, returned, InvalidProgram.wrong_simulation)
        return rows, y[0]

    return jax.jit(jax.vmap(one))


def row_of(
    program: UserProgram, returned: object, refused: Callable[[str], InvalidProgram]
) -> tuple[dict[str, Traceable], Traceable]:
    """Return the one row by array, and its label (1,), that a program returns.

    Raises:
        InvalidProgram: it returns something else.
    """
    if not (isinstance(returned, tuple) and len(returned) == 2):
        raise refused(f"it returned {type(returned).__name__}")
    x, y = returned
    rows = {SINGLE: x} if program.single else x
    if not isinstance(rows, Mapping) or any(np.shape(v)[:1] != (1,) for v in rows.values()):
        raise refused("they are not one row")
    return {name: value[0] for name, value in rows.items()}, y


def _none(site: Site) -> None:
    """Return no value: the site keeps its own."""


def size_keywords(program: UserProgram, shapes: Mapping[str, tuple[int, ...]]) -> dict[str, int]:
    """Return the keywords for sizes that x shows (shapes of a row) and the program leaves open."""
    wanted = inspect.signature(program.model).parameters.get("n_features")
    bound = wanted is None or (wanted.default is not wanted.empty and wanted.default is not None)
    if bound or not program.single or len(shapes[SINGLE]) != 1:
        return {}
    return {"n_features": shapes[SINGLE][0]}
