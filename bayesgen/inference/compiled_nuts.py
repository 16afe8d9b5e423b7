"""The sampler as compiled steps, which every fit of one shape shares."""

import dataclasses
import functools
from collections.abc import Callable

from bayesgen.inference.log_density import NUTS_TERMS, LogDensity, total
from bayesgen.inference.pytrees import Tree
from bayesgen.typing import Traceable

CHUNK = 50
"""Steps between two looks at the progress bar, the checkpoint and the keyboard."""

STATS = {
    "diverging": "diverging",
    "acceptance_rate": "accept_prob",
    "n_steps": "num_steps",
    "energy": "energy",
    "lp": "potential_energy",
}
"""arviz's names of what the sampler says of a draw, and numpyro's."""


@dataclasses.dataclass(frozen=True)
class CompiledNUTS:
    """Compiled steps of the sampler for one log density; every number travels as an argument.

    start(keys, tree) -> state of all chains. advance(state, tree, n) -> state after n <= CHUNK
    steps, and (coordinates, stats) of them. values(coordinates, tree) -> parameters.
    depths(state, tree) -> minus the log densities of all chains, and what the state says of them.
    """

    start: Callable
    advance: Callable
    values: Callable
    potential_energy: Callable

    def first(self, keys: Traceable, tree: dict) -> tuple:
        """Return the state of all chains and what one piece of draws looks like."""
        state = self.start(keys, tree)
        _, (u, stats) = self.advance(state, tree, 0)
        return state, (self.values(u, tree), u, stats)

    def taken(self, state: Tree, tree: dict, n: int, *, kept: bool) -> tuple:
        """Return the state after n <= CHUNK steps, and a tuple of what is kept of them, if it is.

        That is one tree: (parameters, coordinates, stats), (step, chain, ...).
        It waits until the steps are taken: Ctrl-C would else be heard after the last of them all.
        """
        import jax

        state, (u, stats) = self.advance(state, tree, n)
        draws = jax.device_get((self.values(u, tree), u, stats)) if kept else ()
        jax.block_until_ready(state)
        return state, (jax.tree.map(lambda array: array[:n], draws),) if kept else ()


@functools.lru_cache(maxsize=32)
def compiled(density: LogDensity, warmup: int, target_accept: float) -> CompiledNUTS:
    """Return jitted steps; numpyro's own MCMC would compile its loop again at every fit."""
    import jax
    import jax.numpy as jnp
    from numpyro.infer.hmc import HMCState, hmc

    def potential(tree: dict) -> Callable:
        return lambda u: -total(density.terms(tree, u), NUTS_TERMS)

    begin, step = hmc(potential_fn_gen=potential, algo="NUTS")

    def start_one(key: Traceable, tree: dict) -> HMCState:
        # dispersed starts: one posterior width around the centre
        centre = density.centre(tree)
        key, *site_keys = jax.random.split(key, len(centre) + 1)
        u = {
            site: jax.random.normal(site_key, zeros.shape)
            for site_key, (site, zeros) in zip(site_keys, centre.items(), strict=True)
        }
        return begin(u, warmup, target_accept_prob=target_accept, model_args=(tree,), rng_key=key)

    def one_step(state: HMCState, tree: dict) -> HMCState:
        return jax.vmap(lambda s: step(s, model_args=(tree,), model_kwargs={}))(state)

    def advance(state: HMCState, tree: dict, n: Traceable) -> tuple:
        def body(carry: HMCState, i: Traceable) -> tuple:
            carry = jax.lax.cond(i < n, lambda s: one_step(s, tree), lambda s: s, carry)
            return carry, (carry.z, {k: getattr(carry, v) for k, v in STATS.items()})

        return jax.lax.scan(body, state, jnp.arange(CHUNK))

    def values(u: dict, tree: dict) -> dict:
        return jax.vmap(jax.vmap(lambda point: density.values(tree, point)))(u)

    def potential_energy(state: HMCState, tree: dict) -> tuple[Traceable, Traceable]:
        return jax.vmap(potential(tree))(state.z), state.potential_energy

    start = jax.jit(jax.vmap(start_one, in_axes=(0, None)))
    return CompiledNUTS(start, jax.jit(advance), jax.jit(values), jax.jit(potential_energy))
