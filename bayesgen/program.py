"""The model as a NumPyro program over sufficient statistics; draws and densities of its prior.

`bayesgen.inference.log_density` reads it for NUTS, MAP and MLE alike.
"""

import functools
import threading
from collections.abc import Callable, Mapping

import numpy as np

from bayesgen.errors.packages import require_package
from bayesgen.likelihoods import Likelihood
from bayesgen.likelihoods.protocols import Program, required
from bayesgen.model import Model, ModelStatistics
from bayesgen.typing import Traceable

ONE_PROGRAM = threading.RLock()
"""Held while a program runs under handlers, which NumPyro keeps on one stack for the whole process:
threads that run programs at once would meet each other's sites. Tracing, which JAX does once for
every shape, takes turns; compiled code runs in parallel. A program may run inside another."""


def program(model: Model, statistics: ModelStatistics) -> Callable[[], dict[str, dict]]:
    """Return the NumPyro program of the model, the rows given by their statistics.

    Sites are "class.probs" and "block.parameter"; the rows enter as factors "class.rows" and
    "block.rows", so that a gradient costs the same at 200 and at 2,000,000 rows.
    """

    def run() -> dict[str, dict]:
        import numpyro
        from jax.scipy.special import xlogy

        params = {"class": model.classes.story()}
        # xlogy: a class without rows may have the probability 0
        labels = xlogy(statistics.count, params["class"]["probs"]).sum()
        numpyro.factor("class.rows", labels)
        for name, likelihood in model.blocks.items():
            params[name] = required(likelihood, Program).story(name)
            rows = likelihood.log_likelihood(params[name], statistics.blocks[name])
            numpyro.factor(f"{name}.rows", rows)
        return params

    return run


def sample_prior(likelihood: Likelihood, name: str, rng: np.random.Generator, n: int) -> dict:
    """Return n draws of a block's parameters from its prior, as its program draws them."""
    require_package("numpyro", "draws from a prior without a closed form")
    import jax
    from numpyro import handlers

    def once(key: Traceable) -> dict:
        with ONE_PROGRAM, handlers.block(), handlers.seed(rng_seed=key):
            return required(likelihood, Program).story(name)

    with jax.enable_x64(True):
        keys = jax.random.split(jax.random.key(int(rng.integers(2**31))), n)
        return jax.device_get(jax.jit(jax.vmap(once))(keys))


def log_priors(model: Model, params: Mapping[str, Mapping]) -> dict[str, np.ndarray]:
    """Return the log density of each part's prior at draws of its parameters, each (draw,).

    The density is over the parameters of the program, including Cholesky factors of covariances.
    Parts without parameters, and known class probabilities, have none.

    Raises:
        UnsupportedOperation: a prior that cannot be written as a program.
        MissingPackage: numpyro is not installed.
    """
    require_package("numpyro", "log densities of priors")
    import jax
    from numpyro import handlers

    parts = {
        name: functools.partial(required(part, Program).story, name)
        for name, part in model.blocks.items()
    }
    programs = {"class": model.classes.story, **parts}

    def once(values: Mapping[str, Mapping]) -> dict[str, Traceable]:
        out = {}
        for owner, part in programs.items():
            data = {f"{owner}.{name}": value for name, value in values[owner].items()}
            with ONE_PROGRAM, handlers.block():
                trace = handlers.trace(handlers.substitute(part, data=data)).get_trace()
            sites = [site for site in trace.values() if site["type"] == "sample"]
            if sites:
                out[owner] = sum(site["fn"].log_prob(site["value"]).sum() for site in sites)
        return out

    with jax.enable_x64(True):
        # not compiled: for a single run compilation costs five times as much
        return jax.device_get(jax.vmap(once)({n: dict(params[n]) for n in programs}))
