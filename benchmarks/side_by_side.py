"""Many fits of one shape by NUTS at once: the library's own compiled steps under `jax.vmap`.

Density, coordinates, starts and steps are those of `NUTS.infer`; what is ours is the loop.
"""

import dataclasses
import functools
from collections.abc import Callable, Sequence

import numpy as np

from bayesgen.inference.log_density import LogDensity, arrays, model_log_density
from bayesgen.inference.missing import complete_statistics
from bayesgen.inference.nuts import CHUNK, CompiledNUTS, compiled
from bayesgen.model import Model, ModelStatistics

Values = dict[str, np.ndarray]


@dataclasses.dataclass(frozen=True)
class Chains:
    """How every fit is sampled: one chain, of which every `thin`-th draw is kept.

    lanes: fits that run at once, each step as long as the longest of them; what is left over is
    filled by repetition, so that one program serves any number of fits.
    """

    draws: int = 63
    thin: int = 5
    warmup: int = 300
    lanes: int = 50
    target_accept: float = 0.8


def log_density_of(model: Model, statistics: ModelStatistics) -> tuple[LogDensity, dict]:
    """Return what NUTS samples of a model, and its numbers."""
    tree = arrays(model, statistics, complete_statistics(model, statistics))
    return model_log_density(model, statistics), tree


def sampled(
    fits: Sequence[tuple[Model, ModelStatistics]], chains: Chains, seed: int
) -> tuple[list[Values], int]:
    """Return the draws of every fit, by site, each of shape (draw, ...), and how many diverged.

    Fits of one shape run together.
    """
    import jax

    groups: dict[tuple, list[int]] = {}
    densities = [log_density_of(*fit) for fit in fits]
    for i, (density, tree) in enumerate(densities):
        shapes = tuple(np.shape(leaf) for leaf in jax.tree.leaves(tree))
        groups.setdefault((density, shapes), []).append(i)
    out: list[Values] = [{} for _ in fits]
    diverged = 0
    for (density, _), members in groups.items():
        for begin in range(0, len(members), chains.lanes):
            some = members[begin : begin + chains.lanes]
            trees = [densities[i][1] for i in some]
            seed += 1
            values, wild = _lanes(density, trees, chains, seed)
            diverged += wild
            for lane, i in enumerate(some):
                out[i] = {site: value[:, lane, 0] for site, value in values.items()}
    return out, diverged


def _lanes(density: LogDensity, trees: list[dict], chains: Chains, seed: int) -> tuple[Values, int]:
    """Return draws, (draw, fit, 1, ...), of as many fits as there are lanes, or fewer."""
    import jax

    used = len(trees)
    trees = [trees[i % used] for i in range(chains.lanes)]
    with jax.enable_x64(True):
        start, advance, values = side_by_side(
            compiled(density, chains.warmup, (("target_accept_prob", chains.target_accept),))
        )
        whole = jax.tree.map(lambda *leaves: np.stack([np.asarray(v) for v in leaves]), *trees)
        keys = jax.random.split(jax.random.key(seed), (chains.lanes, 1))
        state = start(keys, whole)
        for n in _chunks(chains.warmup):
            state, _ = advance(state, whole, n)
        kept, diverged = [], 0
        for n in _chunks(chains.draws * chains.thin):
            state, (u, stats) = advance(state, whole, n)
            kept.append(jax.tree.map(lambda a, n=n: np.asarray(a)[:, :n], u))
            diverged += int(np.asarray(stats["diverging"])[:used, :n].sum())
        u = jax.tree.map(lambda *parts: np.concatenate(parts, axis=1), *kept)
        thinned = jax.tree.map(lambda a: a[:, chains.thin - 1 :: chains.thin], u)
        drawn = jax.device_get(values(thinned, whole))
    return jax.tree.map(lambda a: np.swapaxes(a, 0, 1)[:, :used], drawn), diverged


@functools.cache
def side_by_side(run: CompiledNUTS) -> tuple[Callable, Callable, Callable]:
    """Return start, advance and values over fits: leading axes of keys, states and trees."""
    import jax

    advance = jax.jit(jax.vmap(run.advance, in_axes=(0, 0, None)))
    return jax.jit(jax.vmap(run.start)), advance, jax.jit(jax.vmap(run.values))


def _chunks(total: int) -> list[int]:
    return [min(CHUNK, total - begin) for begin in range(0, total, CHUNK)]
