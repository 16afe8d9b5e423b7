"""The No-U-Turn sampler, for composed models and for programs of users.

Composed models are sampled on statistics: a leapfrog step costs the same at any number of rows.
"""

import contextlib
import dataclasses
import functools
import itertools
import sys
import time
from collections.abc import Callable
from typing import Literal

import numpy as np

from bayesgen.errors import UnsupportedInference
from bayesgen.inference.convergence import agree, agreement
from bayesgen.inference.holes import complete_statistics
from bayesgen.inference.posterior import Draws
from bayesgen.inference.report import Report
from bayesgen.inference.target import (
    NUTS_TERMS,
    Target,
    model_target,
    nested,
    total,
)
from bayesgen.model import Model, ModelStatistics, Reader
from bayesgen.story import arrays
from bayesgen.typing import Traceable

CHUNK = 50
"""Steps between two looks at the progress bar."""

STATS = {
    "diverging": "diverging",
    "acceptance_rate": "accept_prob",
    "n_steps": "num_steps",
    "energy": "energy",
    "lp": "potential_energy",
}
"""arviz's names of what the sampler says of a draw, and numpyro's."""

Values = dict[str, np.ndarray]


@dataclasses.dataclass(frozen=True)
class NUTS:
    """Posterior draws by the No-U-Turn sampler (Hoffman and Gelman 2014), in numpyro.

    Args:
        draws: kept draws of each chain.
        warmup: draws of each chain that tune the sampler and are thrown away.
        chains: independent chains, run side by side.
        target_accept: acceptance rate aimed at; nearer to 1 takes smaller steps.
        progress: "auto" shows a bar on stderr in a terminal or a notebook; True or False force it.
    """

    draws: int = 1000
    warmup: int = 1000
    chains: int = 4
    target_accept: float = 0.8
    progress: bool | Literal["auto"] = "auto"

    def infer(self, model: Model, statistics: ModelStatistics, reader: Reader, seed: int) -> Draws:
        """Return draws of every parameter and the verdict on them."""
        for name, part in model.blocks.items():
            if getattr(part, "prior", None) == "reference":
                raise UnsupportedInference.because(
                    f"block {name!r}",
                    "prior='reference' is improper and cannot be sampled",
                    "Use prior='conjugate', or inference='exact'.",
                )
        tree = arrays(model, statistics, complete_statistics(model, statistics))
        values, stats, report = self.sample(model_target(model, statistics), tree, seed)
        params = nested(values, model)
        if model.classes.known:
            probs = params["class"]["probs"]
            params["class"]["probs"] = np.broadcast_to(probs, (self.chains, self.draws, len(probs)))
        return Draws(reader, report, params, model.blocks, stats)

    def sample(self, target: Target, tree: dict, seed: int) -> tuple[Values, Values, Report]:
        """Return parameters (chain, draw, ...) by site, what the sampler said, and the verdict."""
        import jax
        import jax.numpy as jnp

        run = _compiled(target, self.warmup, self.target_accept)
        with jax.enable_x64(True):
            tree = jax.tree.map(jnp.asarray, tree)
            keys = jax.random.split(jax.random.key(seed), self.chains)
            values, coordinates, stats, seconds = self._sample(run, keys, tree)
        report = _report(coordinates, stats, seconds)
        stats["lp"] = -stats["lp"]
        return values, stats, report

    def _sample(self, run: "Driver", keys: Traceable, tree: dict) -> tuple:
        import jax

        state = run.start(keys, tree)
        # compile before the clock starts: zero steps taken
        jax.block_until_ready(run.advance(state, tree, 0))
        began, kept = time.perf_counter(), []
        total = self.warmup + self.draws
        with self._bar(total) as bar:
            for begin, end in _chunks(self.warmup, total):
                state, (u, stats) = run.advance(state, tree, end - begin)
                if begin >= self.warmup:
                    kept.append(jax.device_get((run.values(u, tree), u, stats)))
                bar.update(end - begin)
        jax.block_until_ready(state)
        seconds = time.perf_counter() - began
        joined = jax.tree.map(
            lambda *parts: np.concatenate(parts)[: self.draws], *_trim(kept, self.draws)
        )
        values, coordinates, stats = jax.tree.map(lambda a: np.swapaxes(a, 0, 1), joined)
        return values, coordinates, stats, seconds

    def _bar(self, total: int) -> "contextlib.AbstractContextManager":
        from tqdm import tqdm

        # None: only where stderr is a terminal
        disable = None if self.progress == "auto" else not self.progress
        return tqdm(
            total=total, desc="NUTS", unit="draw", disable=disable, file=sys.stderr, leave=False
        )


@dataclasses.dataclass(frozen=True)
class Driver:
    """Compiled steps of the sampler for one target; every number travels as an argument.

    start(keys, tree) -> state of all chains. advance(state, tree, n) -> state after n <= CHUNK
    steps, and (coordinates, stats) of them. values(coordinates, tree) -> parameters.
    """

    start: Callable
    advance: Callable
    values: Callable


@functools.lru_cache(maxsize=32)
def _compiled(target: Target, warmup: int, target_accept: float) -> Driver:
    """Return jitted steps; numpyro's own MCMC would compile its loop again at every fit."""
    import jax
    import jax.numpy as jnp
    from numpyro.infer.hmc import HMCState, hmc

    def potential(tree: dict) -> Callable:
        return lambda u: -total(target.terms(tree, u), NUTS_TERMS)

    begin, step = hmc(potential_fn_gen=potential, algo="NUTS")

    def start_one(key: Traceable, tree: dict) -> HMCState:
        # dispersed starts: one posterior width around the centre
        centre = target.centre(tree)
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
        return jax.vmap(jax.vmap(lambda point: target.values(tree, point)))(u)

    start = jax.jit(jax.vmap(start_one, in_axes=(0, None)))
    return Driver(start, jax.jit(advance), jax.jit(values))


def _chunks(warmup: int, total: int) -> list[tuple[int, int]]:
    """Return the (begin, end) of runs of at most CHUNK steps, none of them across the warm-up."""
    edges = [*range(0, warmup, CHUNK), *range(warmup, total, CHUNK), total]
    return list(itertools.pairwise(edges))


def _trim(kept: list, draws: int) -> list:
    """Return the chunks, the last one cut to the steps that were taken."""
    import jax

    last = draws - CHUNK * (len(kept) - 1)
    return [*kept[:-1], jax.tree.map(lambda a: a[:last], kept[-1])]


def _report(coordinates: dict, stats: dict, seconds: float) -> Report:
    chains, draws = stats["diverging"].shape
    flat = np.concatenate([u.reshape(chains, draws, -1) for u in coordinates.values()], axis=2)
    details = agreement(flat)
    divergences = int(stats["diverging"].sum())
    details |= {"divergences": float(divergences), "steps": float(stats["n_steps"].sum())}
    told = f"r_hat {details['r_hat']:.3f}, {details['ess']:.0f} effective draws"
    if divergences:
        verdict = (
            f"{divergences} of {chains * draws} draws diverged: raise target_accept "
            "(NUTS(target_accept=0.95)) or state a stronger prior."
        )
    elif not agree(details, chains):
        verdict = (
            f"The chains do not agree yet ({told}): "
            f"ask for more, NUTS(draws={2 * draws}, warmup={2 * draws})."
        )
    else:
        verdict = f"{told} at least, no divergence."
    return Report("nuts", seconds, not divergences and agree(details, chains), verdict, details)
